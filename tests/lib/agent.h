/**
 * An MCP client over HTTP for the tests, and a server to talk to.
 *
 *     struct served served;
 *     struct agent agent;
 *     assert_true(served_start(&served, dir->path, (const char *[]){"--relaxed", NULL}));
 *     assert_true(agent_open(&agent, served.url, AGENT_LEGACY));
 *     int code = agent_call(&agent, "edit_file", "{\"path\":\"a.c\",...}");
 *
 * Nothing here fails the test by itself: agents may be threads, and processes
 * that get killed.
 */
#ifndef STET_TESTS_LIB_AGENT_H
#define STET_TESTS_LIB_AGENT_H

#include <sys/types.h>

#include "base/json.h"
#include "lib/http.h"

/** The token that it asks for, which agents have. */
#define SERVED_TOKEN "a-token-of-the-tests"

/** A stet serve that runs as a child. */
struct served {
	pid_t pid;
	char url[128];
	int out;
};

/** Start it over a directory, with further arguments up to NULL. False if it does not come up. */
bool served_start(struct served *served, const char *dir, const char *const *args);

/** The same, with so few descriptors; 0 for as many as there are. */
bool served_start_with(struct served *served, const char *dir, const char *const *args,
                       size_t descriptors);

/** Have it end. True if it ended as it should. */
bool served_stop(struct served *served);

/** Its resident memory, in bytes. */
size_t served_memory(const struct served *served);

enum agent_era {
	/** A session of the server. */
	AGENT_LEGACY,
	/** Every call stands alone. */
	AGENT_MODERN,
};

struct agent {
	struct client client;
	enum agent_era era;
	char header[128];
	unsigned id;
	/** The answer to the last call, until the next; and its structuredContent, or NULL. */
	yyjson_doc *doc;
	yyjson_val *structured;
};

/** Connect, and begin a session if the era has them. */
bool agent_open(struct agent *agent, const char *url, enum agent_era era);
void agent_close(struct agent *agent);

/** What agent_call() returns if the server does not answer, or not as it should. */
enum { AGENT_BROKEN = -1000 };

/** Call a tool. Returns 0, the STET_E_* that it failed with, or AGENT_BROKEN. */
int agent_call(struct agent *agent, const char *tool, const char *args);

/** A member of the last answer's structuredContent as text; "" if it is not there. */
const char *agent_text(const struct agent *agent, const char *name);

/** The text of the last answer's first content block. */
struct st_str agent_content(const struct agent *agent);

#endif
