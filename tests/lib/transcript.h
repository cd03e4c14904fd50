/**
 * Transcripts: what a client says and what the server answers, as text files
 * that can be read.
 *
 *     # A comment.
 *     $ --tools text          options of stet mcp; only the program is tried
 *     $ @CWD@                 started in the workspace, which it is not given
 *     ! printf one > a.txt    a command, in the workspace
 *     > {"jsonrpc": ...}      said by the client; anything, not only JSON
 *     < {"jsonrpc": ...}      what must come next
 *
 * `@ROOT@` stands for the workspace. In what must come, the string "*" is any
 * value, "~text" a string with that text in it, "^text" one without, and a member
 * "*" of an object allows members that are not named; an array that ends with "**" may go on.
 * Lines are joined if the next one begins with blanks.
 */
#ifndef STET_TESTS_LIB_TRANSCRIPT_H
#define STET_TESTS_LIB_TRANSCRIPT_H

#include "base/buf.h"
#include "lib/test.h"

/** The server of a transcript. Embed it. */
struct player {
	/** Take a line from the client; without its end. */
	void (*say)(struct player *player, struct st_str line);
	/** The next line from the server, within a few seconds, into out. False if none comes. */
	bool (*hear)(struct player *player, struct st_buf *out);
};

/** The options line of a transcript, "" if it has none. Fails the test if there is no such file. */
void transcript_options(const char *file, struct st_buf *out);

/** Play a transcript over a workspace, and fail the test with its line number where it differs. */
void transcript_play(const char *file, const char *root, struct player *player);

#endif
