/**
 * Usage: which tools sessions called, and how many tokens they were sent, for
 * people to look at (core/page).
 *
 * A call adds to counts in memory. The background worker stores them within half
 * a second, so that a call costs no transaction of its own. If there is no state
 * directory, the counts wait for one.
 */
#ifndef STET_CORE_STATE_USAGE_H
#define STET_CORE_STATE_USAGE_H

#include "core/session/session.h"
#include "core/state/store.h"

/** The name under which usage counts the turns of a host, which are not calls of a tool. */
#define ST_USAGE_TURN "turn"

enum { ST_USAGE_STORE_MS = 500, ST_USAGE_WAITING_MAX = 1024 };

/** Counts of one session and tool that are not stored yet; owns its strings. */
struct st_usage_count {
	char *session, *tool, *path;
	int64_t calls, failures, tokens, instructions, at;
};

struct st_usage {
	struct stet_workspace *ws;
	struct st_store *store;
	struct st_background_task task;
	/** Guards the counts. */
	pthread_mutex_t lock;
	struct st_usage_count *waiting;
	size_t count;
};

void st_usage_init(struct st_usage *usage, struct stet_workspace *ws, struct st_store *store);

/** Store what waits. The background worker must have ended. */
void st_usage_release(struct st_usage *usage);

/** One call, or what an agent was sent otherwise. */
struct st_usage_call {
	/** The tool's name, such as "read_file". */
	const char *tool;
	/** The file, below the root; NULL for none. */
	const char *path;
	bool failed;
	/** Tokens of the answer, and how many of these were instructions (AGENTS.md). */
	size_t tokens, instructions;
};

/** About how many tokens a text has, by its length: every call waits for this. */
size_t st_usage_tokens(struct st_str text);

/** Count a call of a session. Without memory it is not counted. */
void st_usage_record(struct stet_session *session, const struct st_usage_call *call);

#endif
