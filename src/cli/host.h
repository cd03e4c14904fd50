/** Opening the host of stet mcp and stet serve, over some directories. */
#ifndef STET_CLI_HOST_H
#define STET_CLI_HOST_H

#include "cli/output.h"

/** The options of both commands, for their tables. */
#define HOST_OPTIONS \
	{"--tools", "LISTS", \
	 "which tools to list, separated by commas: default, core, all, or groups (files, text, " \
	 "state)"}, \
		{"--structured", NULL, "send structuredContent too, for programs that read it"}, \
		{"--page-bytes", "BYTES", "the most bytes of text in an answer; 20000 by default"}, \
		{"--agents", "all|nested|none", \
	     "which AGENTS.md to deliver: nested for clients that load the root's themselves"}, \
		{"--ext", "ENDINGS", "allow only files with these endings, such as .md,.txt"}, \
		{"--vault", NULL, \
	     "the directories are vaults of notes: Markdown only, .obsidian and comments stay"}, \
		{"--read-only", NULL, "serve no tool that writes, and keep no state"}, \
		{"--require-read", NULL, "refuse edits of files that the session has not read"}, \
		{"--on-stale", "refuse|merge", \
	     "what to do by default if a file changed since it was read"}, \
		{"--durability", "full|relaxed", \
	     "whether a write is on the disk when it is acknowledged; full by default"}, \
		{"--state-dir", "NAME", "the state directory below each directory; .stet by default"}, \
		{"--log", "FILE", "append every snapshot that a client gets to FILE, as a line of JSON"}, \
		{"--max-file", "BYTES", "the largest file to read or write"}, \
		{"--max-bases", "BYTES", "how many bytes of old versions to remember for diffs"}, \
		{"--no-agents", NULL, "the same as --agents none"}, { \
		"--agents-names", "NAMES", "more names of instruction files, separated by commas" \
	}

/**
 * Open the directories that the user named, or else the root.
 *
 * @return DONE, or the exit status after reporting an error.
 */
int host_open(const struct options *options, const struct arguments *args, struct stet_host **out);

/** The options for workspaces that the host opens later. */
struct host_roots {
	const struct options *options;
	const struct arguments *args;
};

/**
 * If the user named no directory, let the client's roots be the workspaces.
 *
 * @roots  Must live as long as the host.
 */
void host_follow(struct stet_host *host, struct host_roots *roots);

/** Print the remaining notices and close a host. NULL is fine. */
void host_close(struct stet_host *host);

#endif
