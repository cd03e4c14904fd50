/* read_file: lines of a file, which from then on count as seen. */
#include <stdio.h>

#include "base/utf8.h"
#include "core/agents.h"
#include "tools/render.h"

/* An answer never grows beyond this; the rest is a matter of another call. */
#define PAGE_MAX ((size_t)256 << 10)

struct page {
	size_t first, last, total;
	struct st_str text;
	/* One line alone was larger than a page, so that only its beginning is shown. */
	bool cut;
};

/* As many of the lines as a page takes. */
static int find_page(struct st_str bytes, int64_t offset, int64_t limit, const char *path,
                     struct page *page, struct stet_error *err) {
	st_auto(st_lines) lines = {0};
	int code = st_lines_init(&lines, bytes, err);
	if (code < 0)
		return code;
	page->total = lines.count;
	if (offset > 1 && (size_t)offset > lines.count)
		return st_fail(err, STET_E_INVALID, "%s has %zu lines; line %lld is beyond its end.",
		               st_shown(path), lines.count, (long long)offset);
	page->first = lines.count ? (size_t)(offset > 0 ? offset : 1) : 0;
	page->last = lines.count;
	if (limit > 0 && (size_t)limit <= lines.count - page->first)
		page->last = page->first + (size_t)limit - 1;
	if (lines.count == 0) {
		page->text = st_str("");
		return 0;
	}
	while (page->last > page->first &&
	       st_lines_range(&lines, page->first, page->last).len > PAGE_MAX) {
		size_t end = lines.starts[page->first - 1] + PAGE_MAX;
		size_t fits = st_lines_number(&lines, end) - 1;
		page->last = fits > page->first ? fits : page->first;
	}
	page->text = st_lines_range(&lines, page->first, page->last);
	page->cut = page->text.len > PAGE_MAX;
	if (page->cut)
		page->text.len = st_utf8_cut(page->text, PAGE_MAX);
	return 0;
}

static int add_text(struct st_call *call, const struct page *page, bool numbers,
                    struct stet_error *err) {
	if (!numbers) {
		st_buf_add(&call->text, page->text);
		return 0;
	}
	st_auto(st_lines) lines = {0};
	int code = st_lines_init(&lines, page->text, err);
	for (size_t n = 1; code == 0 && n <= lines.count; n++) {
		st_buf_addf(&call->text, "%6zu\t", page->first + n - 1);
		st_buf_add(&call->text, st_lines_whole(&lines, n));
	}
	return code;
}

static void render(struct st_call *call, const char *path, const struct st_file *file,
                   const struct page *page) {
	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&file->hash, hash, ST_HASH_SHORT);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", path);
	st_json_add_text(call->doc, call->result, "fileHash", st_str(hash));
	st_json_add_size(call->doc, call->result, "totalLines", page->total);
	st_json_add_size(call->doc, call->result, "startLine", page->first);
	st_json_add_size(call->doc, call->result, "endLine", page->last);
	bool more = page->last < page->total;
	st_json_add(call->doc, call->result, "truncated",
	            yyjson_mut_bool(call->doc, more || page->cut));
	if (more)
		st_json_add_size(call->doc, call->result, "nextOffset", page->last + 1);
	if (!st_utf8_valid(page->text))
		st_json_add_true(call->doc, call->result, "lossy");
}

/* What a reader of the text alone has to know; not part of it. */
static void add_remark(struct st_call *call, const struct page *page) {
	if (page->cut)
		st_buf_addf(&call->remark, "[Line %zu is longer than %zu bytes and is cut.]\n", page->first,
		            PAGE_MAX);
	if (page->last < page->total)
		st_buf_addf(&call->remark, "[Lines %zu-%zu of %zu. Continue with offset %zu.]\n",
		            page->first, page->last, page->total, page->last + 1);
}

/* The instructions that newly apply. A text that the answer shows anyway is not repeated. */
static int add_agents(struct st_call *call, const char *path, const struct st_file *file,
                      const struct page *page, struct stet_error *err) {
	if (!call->session->ws->agents.deliver)
		return 0;
	bool whole = page->first <= 1 && page->last == page->total && !page->cut;
	struct stet_agents *agents = NULL;
	struct stet_error why = {0};
	int code = st_agents_deliver(call->session, path, 0, whole ? &file->hash : NULL, &agents, &why);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code < 0)
		st_buf_addf(&call->remark, "[The instructions for this file could not be looked for. %s]\n",
		            why.message);
	else
		st_render_agents(call, agents);
	stet_agents_free(agents);
	return 0;
}

static int run(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return STET_E_INVALID;
	int64_t offset = st_arg_int(call, "offset", 0), limit = st_arg_int(call, "limit", 0);
	if (offset < 0 || limit < 0)
		return st_fail(err, STET_E_INVALID,
		               "\"offset\" and \"limit\" of read_file count lines and cannot be negative.");
	struct stet_session *session = call->session;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code =
		st_file_load(&session->ws->root, st_str(path), session->ws->max_file, &place, &file, err);
	if (code == 0)
		code = st_workspace_check_text(session->ws, place.path, st_buf_str(&file.bytes), err);
	struct page page = {0};
	if (code == 0)
		code = find_page(st_buf_str(&file.bytes), offset, limit, path, &page, err);
	if (code == 0)
		code = add_text(call, &page, st_arg_flag(call, "lineNumbers", false), err);
	if (code < 0)
		return code;

	struct st_seen *seen = st_session_meet(session, place.path, &file);
	if (!seen)
		return st_fail_nomem(err);
	if (!page.cut)
		st_seen_add(seen, page.first, page.last);
	render(call, place.path, &file, &page);
	add_remark(call, &page);
	return add_agents(call, place.path, &file, &page, err);
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .required = true,
     .description = "The file, relative to the workspace."},
	{.name = "offset", .type = ST_PARAM_INTEGER, .description = "First line to read, from 1."},
	{.name = "limit",
     .type = ST_PARAM_INTEGER,
     .description = "How many lines to read; all by default."},
	{.name = "lineNumbers",
     .aliases = "line_numbers",
     .type = ST_PARAM_BOOLEAN,
     .description = "Put the number and a tab before each line. They are not part of the file."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.description =
		"Read a text file, or some lines of it. What you read is remembered: later edits are "
		"refused if somebody else "
		"changes the file meanwhile. Long files come in pages; the answer says where to continue. "
		"Instructions "
		"(AGENTS.md) that apply to the file are added when they are new to you.",
	.params = params,
	.output_schema =
		"{\"type\":\"object\",\"properties\":{" ST_SCHEMA_STATUS
		",\"path\":{\"type\":\"string\"},\"fileHash\":{\"type\":\"string\"},\"totalLines\":{"
		"\"type\":\"integer\"},"
		"\"startLine\":{\"type\":\"integer\"},\"endLine\":{\"type\":\"integer\"},\"truncated\":{"
		"\"type\":\"boolean\"},"
		"\"nextOffset\":{\"type\":\"integer\"},\"lossy\":{\"type\":\"boolean\"},"
		"\"agents\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"notices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," ST_SCHEMA_FAILURE
		"},\"required\":[\"status\"]}",
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run,
};
