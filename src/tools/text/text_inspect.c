/* text_inspect: show a text's structure, search it, or show some of its lines. */
#include <stdio.h>
#include <strings.h>

#include "base/utf8.h"
#include "text/lines/line_ranges.h"
#include "text/markdown/markdown.h"
#include "text/markdown/outline.h"
#include "text/find/search.h"
#include "tools/render.h"

/* Bytes kept free for the rest of the answer: names, counts, the hash, a note. */
enum { FRAME_BYTES = 1024 };

struct subject {
	const char *path;
	struct st_str text;
	struct st_lines lines;
	bool markdown;
	struct st_seen *seen;
	/* How many bytes of JSON there is room for. */
	size_t room;
};

static bool take_room(struct subject *subject, size_t bytes) {
	if (bytes > subject->room)
		return false;
	subject->room -= bytes;
	return true;
}

/* Add an item to a list if there is room; false if there is not. */
static bool add_item(struct st_call *call, struct subject *subject, yyjson_mut_val *list,
                     yyjson_mut_val *item) {
	st_auto(st_buf) json = ST_BUF_INIT;
	if (!item || st_json_write(call->doc, item, &json, NULL) < 0) {
		/* Out of memory: mark the document as failed, so that writing it reports the error. */
		st_json_push(call->doc, list, NULL);
		return true;
	}
	if (!take_room(subject, json.len + 1))
		return false;
	st_json_push(call->doc, list, item);
	return true;
}

/* Invalid UTF-8 shows as U+FFFD, and the answer says so with "lossy". */
static yyjson_mut_val *quote_text(struct st_call *call, struct st_str text) {
	if (!st_utf8_valid(text) && !yyjson_mut_obj_get(call->result, "lossy"))
		st_json_add_true(call->doc, call->result, "lossy");
	return st_json_text(call->doc, text);
}

/* As quote_text(), cut to a preview: a name may be as long as the file. */
static yyjson_mut_val *printable_name(struct st_call *call, struct st_str name) {
	if (name.len <= ST_PREVIEW_CHARS)
		return quote_text(call, name);
	st_auto(st_buf) start = ST_BUF_INIT;
	st_preview_add(&start, name);
	return start.failed ? NULL : quote_text(call, st_buf_str(&start));
}

/* A line without its line end and byte order mark. */
static struct st_str line_text(const struct subject *subject, size_t n) {
	struct st_str body = st_lines_body(&subject->lines, n);
	return n == 1 ? st_str_slice(body, st_bom_len(body), body.len) : body;
}

/* A line counts as seen if the answer shows it unchanged: not cut, not lossy. */
static void record_line(const struct subject *subject, size_t n, struct st_str in_answer) {
	if (st_str_eq(line_text(subject, n), in_answer))
		st_seen_add(subject->seen, n, n);
}

/* Note that a list has only its first items. */
static void note_cut(struct st_call *call, size_t listed, size_t count, const char *what) {
	if (listed == count || yyjson_mut_obj_get(call->result, "note"))
		return;
	st_auto(st_buf) note = ST_BUF_INIT;
	st_buf_addf(&note, "The first %zu of %zu %s are listed.", listed, count, what);
	st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
}

/* ---- structure ---- */

/* Make the n-th item of a list in the struct that `of` points to. */
typedef yyjson_mut_val *make_item(struct st_call *call, const void *of, size_t n);

/* Add a list to an object: as many items as there is room for, and a note if some are left out. */
static void add_list(struct st_call *call, struct subject *subject, yyjson_mut_val *object,
                     const char *key, const char *what, make_item *make, const void *of,
                     size_t count) {
	yyjson_mut_val *list = st_json_add_array(call->doc, object, key);
	size_t listed = 0;
	while (listed < count && add_item(call, subject, list, make(call, of, listed)))
		listed++;
	note_cut(call, listed, count, what);
}

static yyjson_mut_val *key_item(struct st_call *call, const void *of, size_t n) {
	return printable_name(call, ((const struct st_markdown *)of)->keys[n]);
}

static yyjson_mut_val *heading_item(struct st_call *call, const void *of, size_t n) {
	const struct st_heading *heading = &((const struct st_markdown *)of)->headings[n];
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add_size(call->doc, item, "level", (size_t)heading->level);
	st_json_add(call->doc, item, "text", printable_name(call, heading->text));
	st_json_add_size(call->doc, item, "line", heading->line);
	return item;
}

static yyjson_mut_val *code_item(struct st_call *call, const void *of, size_t n) {
	const struct st_code *code = &((const struct st_markdown *)of)->codes[n];
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add_size(call->doc, item, "startLine", code->line);
	st_json_add_size(call->doc, item, "endLine", code->end_line);
	if (code->language.len > 0)
		st_json_add(call->doc, item, "language", printable_name(call, code->language));
	return item;
}

static yyjson_mut_val *anchor_item(struct st_call *call, const void *of, size_t n) {
	const struct st_anchor *anchor = &((const struct st_markdown *)of)->anchors[n];
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add(call->doc, item, "id", printable_name(call, anchor->id));
	st_json_add_size(call->doc, item, "line", anchor->line);
	return item;
}

static void add_frontmatter(struct st_call *call, struct subject *subject,
                            yyjson_mut_val *structure, const struct st_markdown *md) {
	yyjson_mut_val *front = st_json_add_object(call->doc, structure, "frontmatter");
	st_json_add_size(call->doc, front, "startLine", 1);
	st_json_add_size(call->doc, front, "endLine", md->front_end);
	add_list(call, subject, front, "keys", "front matter keys", key_item, md, md->key_count);
}

static int add_markdown(struct st_call *call, yyjson_mut_val *structure, struct subject *subject,
                        struct stet_error *err) {
	st_auto(st_markdown) md = {0};
	int code = st_markdown_parse(&md, subject->text, err);
	if (code < 0)
		return code;
	if (md.front_end > 0)
		add_frontmatter(call, subject, structure, &md);
	add_list(call, subject, structure, "headings", "headings", heading_item, &md, md.heading_count);
	add_list(call, subject, structure, "codeBlocks", "code blocks", code_item, &md, md.code_count);
	if (md.anchor_count > 0)
		add_list(call, subject, structure, "anchors", "anchors", anchor_item, &md, md.anchor_count);
	return 0;
}

static yyjson_mut_val *section_item(struct st_call *call, const void *of, size_t n) {
	const struct st_section *section = &((const struct st_outline *)of)->sections[n];
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add(call->doc, item, "marker", printable_name(call, section->marker));
	st_json_add_size(call->doc, item, "line", section->line);
	return item;
}

static yyjson_mut_val *group_item(struct st_call *call, const void *of, size_t n) {
	return yyjson_mut_uint(call->doc, ((const struct st_outline *)of)->groups[n]);
}

static int add_outline(struct st_call *call, yyjson_mut_val *structure, struct subject *subject,
                       struct stet_error *err) {
	st_auto(st_outline) outline = {0};
	int code = st_outline_init(&outline, &subject->lines, err);
	if (code < 0)
		return code;
	if (outline.section_count > 0)
		add_list(call, subject, structure, "sections", "sections", section_item, &outline,
		         outline.section_count);
	if (outline.group_count > 0)
		add_list(call, subject, structure, "blankLineGroups", "groups", group_item, &outline,
		         outline.group_count);
	return 0;
}

/* "812B", "1.2KB", "3.4MB", rounded down. */
static void add_size(struct st_call *call, size_t bytes) {
	char text[32];
	if (bytes < 1024)
		snprintf(text, sizeof text, "%zuB", bytes);
	else if (bytes < 1 << 20)
		snprintf(text, sizeof text, "%zu.%zuKB", bytes >> 10, (bytes & 1023) * 10 >> 10);
	else
		snprintf(text, sizeof text, "%zu.%zuMB", bytes >> 20, (bytes >> 10 & 1023) * 10 >> 10);
	st_json_add_text(call->doc, call->result, "fileSize", st_str(text));
}

static int inspect_structure(struct st_call *call, struct subject *subject,
                             struct stet_error *err) {
	st_json_add_size(call->doc, call->result, "totalLines", subject->lines.count);
	add_size(call, subject->text.len);
	st_json_add_text(call->doc, call->result, "format",
	                 subject->markdown ? ST_STR("markdown") : ST_STR("text"));
	yyjson_mut_val *structure = st_json_add_object(call->doc, call->result, "structure");
	return subject->markdown ? add_markdown(call, structure, subject, err)
	                         : add_outline(call, structure, subject, err);
}

/* ---- search ---- */

static void add_context(struct st_call *call, yyjson_mut_val *item,
                        const struct st_search_match *match) {
	yyjson_mut_val *context = st_json_add_object(call->doc, item, "context");
	yyjson_mut_val *before = st_json_add_array(call->doc, context, "before");
	for (size_t i = 0; i < match->before_count; i++)
		st_json_push(call->doc, before, st_json_text(call->doc, match->before[i]));
	yyjson_mut_val *after = st_json_add_array(call->doc, context, "after");
	for (size_t i = 0; i < match->after_count; i++)
		st_json_push(call->doc, after, st_json_text(call->doc, match->after[i]));
}

static yyjson_mut_val *match_object(struct st_call *call, const struct st_search_match *match,
                                    const struct st_markdown *md, bool context) {
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add_size(call->doc, item, "line", match->line);
	st_json_add_size(call->doc, item, "column", match->column);
	st_json_add_text(call->doc, item, "text", match->text);
	if (context)
		add_context(call, item, match);
	size_t heading = md ? st_markdown_heading_above(md, match->line) : 0;
	if (md && heading < md->heading_count)
		st_json_add(call->doc, item, "nearestHeading", heading_item(call, md, heading));
	return item;
}

/* The lines that the answer shows of a match count as seen. */
static void record_match(const struct subject *subject, const struct st_search_match *match) {
	record_line(subject, match->line, match->text);
	for (size_t k = 0; k < match->before_count; k++)
		record_line(subject, match->line - match->before_count + k, match->before[k]);
	for (size_t k = 0; k < match->after_count; k++)
		record_line(subject, match->line + 1 + k, match->after[k]);
}

static int inspect_search(struct st_call *call, struct subject *subject, struct stet_error *err) {
	struct st_search search = {
		.query = st_arg_str(call, "query"),
		.regex = st_arg_flag(call, "regex", false),
		.context = 0,
	};
	int64_t context = st_arg_int(call, "context", 0);
	if (context < 0 || context > ST_SEARCH_MAX_CONTEXT)
		return st_fail(err, STET_E_INVALID,
		               "\"context\" of text_inspect must be from 0 to %d lines.",
		               ST_SEARCH_MAX_CONTEXT);
	search.context = (size_t)context;
	st_auto(st_arena) arena;
	st_arena_init(&arena, (size_t)64 << 20);
	st_auto(st_markdown) md = {0};
	struct st_search_result found;
	int code = st_search_run(&search, &subject->lines, &arena, &found, err);
	if (code == 0 && subject->markdown && found.count > 0)
		code = st_markdown_parse(&md, subject->text, err);
	if (code < 0)
		return code;

	st_json_add_text(call->doc, call->result, "query", search.query);
	st_json_add(call->doc, call->result, "isRegex", yyjson_mut_bool(call->doc, search.regex));
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "matches");
	size_t displayed_count = 0;
	for (; displayed_count < found.count; displayed_count++) {
		const struct st_search_match *match = &found.matches[displayed_count];
		if (!add_item(call, subject, list,
		              match_object(call, match, subject->markdown ? &md : NULL, context > 0)))
			break;
		record_match(subject, match);
	}
	st_json_add_size(call->doc, call->result, "totalMatches", found.total);
	if (displayed_count < found.count)
		note_cut(call, displayed_count, found.total, "matches");
	if (found.lossy)
		st_json_add_true(call->doc, call->result, "lossy");
	if (found.note.len > 0 && !yyjson_mut_obj_get(call->result, "note"))
		st_json_add_text(call->doc, call->result, "note", found.note);
	return 0;
}

/* ---- lines ---- */

static yyjson_mut_val *line_object(struct st_call *call, size_t n, struct st_str text) {
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add_size(call->doc, item, "number", n);
	st_json_add(call->doc, item, "text", quote_text(call, text));
	return item;
}

/* Add the beginning of a line that is too long. A quarter of the room is enough for it, escapes included. */
static bool add_long_line(struct st_call *call, struct subject *subject, yyjson_mut_val *list,
                          size_t n, struct st_str text) {
	text.len = st_utf8_cut(text, subject->room / 4);
	return text.len > 0 && add_item(call, subject, list, line_object(call, n, text));
}

/* Add lines while there is room. If the first one is too long, add its beginning. */
static void add_wanted_lines(struct st_call *call, struct subject *subject, yyjson_mut_val *list,
                             const struct st_intervals *wanted, struct st_buf *note) {
	size_t count = 0;
	for (size_t i = 0; i < wanted->count; i++) {
		for (size_t n = wanted->items[i].first; n <= wanted->items[i].last; n++, count++) {
			struct st_str text = line_text(subject, n);
			if (add_item(call, subject, list, line_object(call, n, text))) {
				if (st_utf8_valid(text))
					st_seen_add(subject->seen, n, n);
				continue;
			}
			if (count == 0 && add_long_line(call, subject, list, n, text))
				st_buf_addf(note, "Line %zu is cut; read_file shows it in parts.", n);
			else
				st_buf_addf(note, "Cut here; ask for \"%zu-\" to continue.", n);
			return;
		}
	}
}

static int inspect_lines(struct st_call *call, struct subject *subject, struct stet_error *err) {
	st_auto(st_intervals) wanted = {0};
	st_auto(st_buf) note = ST_BUF_INIT;
	int code = st_line_ranges_parse(st_arg_str(call, "query"), subject->lines.count, &wanted, err);
	if (code < 0)
		return code;
	st_json_add_size(call->doc, call->result, "totalLines", subject->lines.count);
	add_wanted_lines(call, subject, st_json_add_array(call->doc, call->result, "lines"), &wanted,
	                 &note);
	if (note.len > 0)
		st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
	return note.failed ? st_fail_nomem(err) : 0;
}

/* ---- the call ---- */

typedef int inspect_mode(struct st_call *call, struct subject *subject, struct stet_error *err);

static int inspect(struct st_call *call, struct subject *subject, inspect_mode *mode,
                   struct stet_error *err) {
	struct stet_session *session = call->session;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_session_load(session, subject->path, &place, &file, err);
	if (code == 0)
		code = st_check_text(place.path, st_buf_str(&file.bytes), err);
	if (code == 0)
		code = st_lines_init(&subject->lines, st_buf_str(&file.bytes), err);
	if (code < 0)
		return code;
	subject->text = st_buf_str(&file.bytes);
	subject->markdown = st_is_markdown(place.path);
	subject->seen = st_session_record(session, subject->path, place.path, &file);
	if (!subject->seen)
		return st_fail_nomem(err);
	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&file.hash, hash, ST_HASH_SHORT);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "filePath", place.path);
	st_call_instruct(call, place.path, NULL, call->page / 2);
	size_t room = st_call_room(call);
	subject->room = room > FRAME_BYTES ? room - FRAME_BYTES : 0;
	code = mode(call, subject, err);
	st_json_add_text(call->doc, call->result, "fileHash", st_str(hash));
	return code;
}

static int run_text_inspect(struct st_call *call, struct stet_error *err) {
	struct subject subject = {.path = st_call_path(call, "filePath", err)};
	if (!subject.path)
		return err->code;
	struct st_str mode = st_arg_str(call, "mode");
	bool search = strcasecmp(mode.ptr, "search") == 0, lines = strcasecmp(mode.ptr, "lines") == 0;
	if ((search || lines) && !st_arg(call, "query"))
		return st_fail(err, STET_E_INVALID, "text_inspect needs \"query\" in mode \"%s\": %s.",
		               mode.ptr,
		               search ? "the text or expression to look for"
		                      : "lines such as \"50-60\" or \"1,5-8,90-\"");
	int code = inspect(call, &subject,
	                   search  ? inspect_search
	                   : lines ? inspect_lines
	                           : inspect_structure,
	                   err);
	st_lines_release(&subject.lines);
	return code < 0 ? code : st_json_write(call->doc, call->result, &call->text, err);
}

/* Parts of the output schema. */
#define STRING "{\"type\":\"string\"}"
#define INTEGER "{\"type\":\"integer\"}"
#define LIST(items) "{\"type\":\"array\",\"items\":" items "}"
#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define HEADING_SCHEMA OBJECT("\"level\":" INTEGER ",\"text\":" STRING ",\"line\":" INTEGER)
#define CODE_SCHEMA OBJECT("\"startLine\":" INTEGER ",\"endLine\":" INTEGER ",\"language\":" STRING)
#define FRONT_SCHEMA \
	OBJECT("\"startLine\":" INTEGER ",\"endLine\":" INTEGER ",\"keys\":" LIST(STRING))
#define STRUCTURE_SCHEMA \
	OBJECT("\"frontmatter\":" FRONT_SCHEMA ",\"headings\":" LIST(HEADING_SCHEMA)             \
	       ",\"codeBlocks\":" LIST(CODE_SCHEMA)                                               \
	       ",\"anchors\":" LIST(OBJECT("\"id\":" STRING ",\"line\":" INTEGER))                \
	       ",\"sections\":" LIST(OBJECT("\"marker\":" STRING ",\"line\":" INTEGER))           \
	       ",\"blankLineGroups\":" LIST(INTEGER))
#define MATCH_SCHEMA \
	OBJECT("\"line\":" INTEGER ",\"column\":" INTEGER ",\"text\":" STRING \
	       ",\"context\":" OBJECT("\"before\":" LIST(STRING) ",\"after\":" LIST( \
			   STRING)) ",\"nearestHeading\":" HEADING_SCHEMA)

static const struct st_param params[] = {
	ST_PARAM_FILE_PATH,
	{.name = "mode",
     .choices = "structure|search|lines",
     .description = "structure (default): headings, code blocks, front matter; search; lines."},
	{.name = "query",
     .blank = true,
     .description = "search: a text, in any case. lines: such as 50-60 or 1,5-8,90-."},
	{.name = "regex",
     .type = ST_PARAM_BOOLEAN,
     .description = "The query is a regular expression."},
	{.name = "context",
     .type = ST_PARAM_INTEGER,
     .description = "search: lines around each match."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_text_inspect = {
	.name = "text_inspect",
	.alias = "TextInspect",
	.title = "Inspect text",
	.description = "See parts of a text file: its structure, matching lines, or lines by number.",
	.params = params,
	.output_schema = ST_OUTPUT(
		"\"filePath\":{\"type\":\"string\"},\"totalLines\":{\"type\":\"integer\"},\"fileSize\":{"
		"\"type\":\"string\"},\"format\":{\"enum\":[\"markdown\",\"text\"]},"
		"\"structure\":" STRUCTURE_SCHEMA
		",\"query\":{\"type\":\"string\"},\"isRegex\":{\"type\":\"boolean\"},\"matches\":" LIST(
			MATCH_SCHEMA) ",\"totalMatches\":{\"type\":\"integer\"},\"lines\":" ST_SCHEMA_LINES
						  ",\"lossy\":{\"type\":\"boolean\"},\"note\":{\"type\":\"string\"},"
						  "\"fileHash\":{\"type\":\"string\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_TEXT,
	.listed = ST_LISTED_DEFAULT,
	.run = run_text_inspect,
};
