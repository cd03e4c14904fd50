/**
 * Tool calls on a host (lib/session.h), and a look at what they answer.
 *
 *     dir_write(host->dir, "a.md", "# One\n");
 *     call(host, "text_replace", "{'filePath': 'a.md', 'oldText': 'One', 'newText': 'Two'}");
 *     expect_str("preview.after", "Two");
 *     refuse(host, STET_E_NO_MATCH, "text_replace", "{'filePath': 'a.md', ...}");
 *     expect_text("Nothing was changed");
 *
 * Arguments are JSON with ' in place of "; %s and the like are filled in
 * first, and quoted() makes a text into a JSON string for that.
 *
 * Each call checks what holds for every answer: it is valid JSON in the shape
 * of an MCP tool result, the data keeps to the tool's output schema, a
 * failure is a sentence, and a fileHash is that of the file on the disk.
 */
#ifndef STET_TESTS_LIB_TOOLS_H
#define STET_TESTS_LIB_TOOLS_H

#include "base/json.h"
#include "lib/session.h"
#include "stet/tools.h"

/**
 * Run a tool and check the answer, which is then the last one: what the
 * functions below look at, until the next call.
 *
 * @return The code of stet_call().
 */
__attribute__((format(printf, 3, 4))) int try_call(struct host *host, const char *tool,
                                                   const char *args, ...);

/** The same with the arguments as they are, in any bytes. */
int try_call_raw(struct host *host, const char *tool, struct st_str args);

/** Run a tool that must succeed. */
__attribute__((format(printf, 3, 4))) void call(struct host *host, const char *tool,
                                                const char *args, ...);

/** Run a tool that must fail with a code. */
__attribute__((format(printf, 4, 5))) void refuse(struct host *host, int code, const char *tool,
                                                  const char *args, ...);

/** A text as a JSON string, for the arguments; one of a ring of eight static buffers. */
const char *quoted(struct st_str text);

/**
 * A part of the last answer's structuredContent by its path, such as
 * "context.beforeLines.0.text"; NULL if there is none.
 */
yyjson_val *look(const char *path);

/** What the last answer says: the text of its n-th content block (from 0), NULL beyond the last. */
const char *said(size_t block);

/** The last answer as it came. */
struct st_str whole_answer(void);

/** Checks of parts of the last answer. */
void expect_str(const char *path, const char *value);
void expect_int(const char *path, int64_t value);
void expect_true(const char *path);
void expect_none(const char *path);
void expect_count(const char *path, size_t count);
/** A string that contains another. */
void expect_part(const char *path, const char *part);
/** A list of integers, written as "3 5 8". */
void expect_list(const char *path, const char *numbers);
/** {start, end} at a path. */
void expect_span(const char *path, int64_t start, int64_t end);
/** The text contains a part, or does not. */
void expect_text(const char *part);
void expect_no_text(const char *part);

/** The bytes of a file in the host's directory, which hold no NUL, are these. */
void expect_file(const struct host *host, const char *name, const char *text);

/** A copy of the string at a path, or the fileHash, in a ring of eight static buffers. */
const char *copy_of(const char *path);
const char *hash_of_answer(void);

#endif
