/**
 * Claims that go over the table of tools: a new tool that forgets a rule fails in them.
 *
 *     for (size_t i = 0; st_tools[i]; i++) {
 *             int code = call_about(host, st_tools[i], "secret.exe");
 *             if (is_about_content(st_tools[i]))
 *                     assert_int_equal(code, STET_E_EXTENSION);
 *     }
 */
#ifndef STET_TESTS_LIB_EVERY_TOOL_H
#define STET_TESTS_LIB_EVERY_TOOL_H

#include "lib/tools.h"
#include "tools/tool.h"

/** Call a tool with a path for each parameter that is one, and something for each that is required. */
int call_about(struct host *host, const struct st_tool *tool, const char *path);

/** Whether a tool takes the path of a file and looks at its content or changes it. */
bool is_about_content(const struct st_tool *tool);

#endif
