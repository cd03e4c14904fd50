/** Read a page of a text file for an answer: the common part of the tools that read. */
#ifndef STET_TOOLS_FILES_READING_H
#define STET_TOOLS_FILES_READING_H

#include "tools/render.h"

/** The lines to read, and the form of the answer. */
struct st_reading {
	/** From st_call_path(), which has also set call->session. */
	const char *path;
	/** The first line, from 1; 0 for the beginning. */
	int64_t offset;
	/** How many lines; 0 for all. */
	int64_t limit;
	/** How many bytes of the first line to skip: a line longer than a page comes in parts. */
	int64_t byte_offset;
	/** How many of the last lines to read, instead of offset and limit; -1 for none. */
	int64_t tail;
	/** Put a number before each line. */
	bool numbers;
	/** The most bytes of text and instructions. */
	size_t room;
};

/**
 * Read a page. Its lines count as seen, and instructions that newly apply are
 * attached to the answer.
 *
 * @data     Receives path, fileHash, totalLines, startLine and so on.
 * @excerpt  Receives the text; the facts about it go into call->remark.
 * @return   0, STET_E_INVALID (out of range), or the error of reading the file.
 */
[[nodiscard]] int st_read_page(struct st_call *call, const struct st_reading *what,
                               yyjson_mut_val *data, struct st_excerpt *excerpt,
                               struct stet_error *err);

/** Schema members of the data that st_read_page() fills in. */
#define ST_SCHEMA_PAGE \
	"\"path\":{\"type\":\"string\"},\"fileHash\":{\"type\":\"string\"}," \
	"\"totalLines\":{\"type\":\"integer\"},\"startLine\":{\"type\":\"integer\"}," \
	"\"endLine\":{\"type\":\"integer\"},\"truncated\":{\"type\":\"boolean\"}," \
	"\"nextOffset\":{\"type\":\"integer\"},\"nextByteOffset\":{\"type\":\"integer\"}," \
	"\"lossy\":{\"type\":\"boolean\"}"

/** The run function of read_file and read_text_file. */
int st_read_run(struct st_call *call, struct stet_error *err);

#define ST_PARAM_LINE_OFFSET \
	{ .name = "offset", .type = ST_PARAM_INTEGER, .description = "First line, from 1." }
#define ST_PARAM_LINE_LIMIT \
	{ .name = "limit", .type = ST_PARAM_INTEGER, .description = "How many lines." }
#define ST_PARAM_BYTE_OFFSET \
	{ \
		.name = "byteOffset", .aliases = "byte_offset", .type = ST_PARAM_INTEGER, \
		.description = "Where to go on in a long line." \
	}
#define ST_PARAM_HEAD \
	{ \
		.name = "head", .type = ST_PARAM_INTEGER, .unlisted = true, \
		.description = "Only the first N lines." \
	}
#define ST_PARAM_TAIL \
	{ .name = "tail", .type = ST_PARAM_INTEGER, .description = "Only the last N lines." }

#endif
