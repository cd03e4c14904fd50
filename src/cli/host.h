/** What the servers, stet mcp and stet serve, begin with: a desk over some directories. */
#ifndef STET_CLI_HOST_H
#define STET_CLI_HOST_H

#include "cli/output.h"

/** The options of both, for their tables. */
#define HOST_OPTIONS \
	{"--tools", "LISTS", \
	 "which tools to list, separated by commas: default, core, all, or groups (files, text, " \
	 "state)"}, \
		{"--structured", NULL, "send structuredContent too, for programs that read it"}, \
		{"--page-bytes", "BYTES", "the most bytes of text in an answer; 20000 by default"}, \
		{"--agents", "all|nested|none", \
	     "which AGENTS.md to deliver: nested for clients that load the root's themselves"}, \
		{"--ext", "ENDINGS", "allow files of these types only, as .md,.txt"}, \
		{"--read-only", NULL, "serve no tool that writes, and keep no state"}, \
		{"--require-read", NULL, "refuse edits of files that the session has not read"}, \
		{"--on-stale", "refuse|merge", \
	     "what to do by default if others changed a file since it was read"}, \
		{"--durability", "full|relaxed", \
	     "whether a write is on the disk when it is acknowledged; full by default"}, \
		{"--state-dir", "NAME", "where state is kept below each directory; .stet by default"}, \
		{"--log", "FILE", "append every snapshot that is given to FILE, as a line of JSON"}, \
		{"--max-file", "BYTES", "the largest file that is read or written"}, \
		{"--max-bases", "BYTES", "how much of old versions is remembered for diffs"}, \
		{"--no-agents", NULL, "the same as --agents none"}, { \
		"--agents-names", "NAMES", "further names of such files, separated by commas" \
	}

/**
 * Open the directories that were given, or the root if there is none.
 *
 * @return DONE, or the status of a failure after saying why.
 */
int host_open(const struct options *options, const struct arguments *args, struct stet_host **out);

/** What the options of a workspace that is opened later come from. */
struct host_roots {
	const struct options *options;
	const struct arguments *args;
};

/**
 * Let the client's roots say where to work, if no directory was given.
 *
 * @roots  Lives as long as the desk.
 */
void host_follow(struct stet_host *host, struct host_roots *roots);

/** Say the notices that are left, and close it. NULL is fine. */
void host_close(struct stet_host *host);

#endif
