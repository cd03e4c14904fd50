/** Reading a file for an answer, page by page: what the tools that read text share. */
#ifndef STET_TOOLS_FILES_READING_H
#define STET_TOOLS_FILES_READING_H

#include "tools/render.h"

/** What to read. */
struct st_reading {
	/** As the caller spells it; the call is about its session (st_call_path()). */
	const char *path;
	/** The first line, from 1, and how many; 0 for the beginning, and for all. */
	int64_t offset;
	int64_t limit;
	/** How many bytes of the first line to skip: a line longer than a page comes in parts. */
	int64_t byte_offset;
	/** Instead of these: so many of the last lines; -1 for none. */
	int64_t tail;
	/** Put a number before each line. */
	bool numbers;
	/** No more bytes of it, instructions included. */
	size_t room;
};

/**
 * Read a page. What is shown counts as seen, and instructions that newly
 * apply are added to the answer.
 *
 * @data     Receives path, fileHash, totalLines, startLine and so on.
 * @excerpt  Receives the text; what has to be said beside it is a remark of the call.
 * @return   0, STET_E_INVALID (beyond the end), or why the file cannot be read.
 */
[[nodiscard]] int st_read_page(struct st_call *call, const struct st_reading *what,
                               yyjson_mut_val *data, struct st_excerpt *excerpt,
                               struct stet_error *err);

/** What st_read_page() puts into its data, as members of a schema. */
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
	{ .name = "head", .type = ST_PARAM_INTEGER, .description = "Only the first N lines." }
#define ST_PARAM_TAIL \
	{ .name = "tail", .type = ST_PARAM_INTEGER, .description = "Only the last N lines." }

#endif
