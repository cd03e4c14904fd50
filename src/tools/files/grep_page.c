#include "tools/files/grep_page.h"

#include "base/array.h"
#include "base/cancel.h"
#include "base/quote.h"
#include "base/utf8.h"

/* How many bytes of a line to show, and how many of them before a match that begins further right. */
enum { LINE_MAX_BYTES = 500, LEAD = 60 };

/* A line that matches: its number, where it begins, and where its first match begins in it. */
struct hit {
	size_t line;
	size_t start;
	size_t column;
};

/* One file of the page. */
struct source {
	const char *path;
	struct st_buf label;
	struct st_place place;
	struct st_file file;
	/* The lines to show and those around them, and how many there are before them. */
	struct st_lines lines;
	size_t lines_before;
	struct hit *hits;
	size_t count;
	/* Lines are counted up to here, which is the start of one. */
	size_t counted_to, counted;
	/* Look for no more of them. */
	size_t most;
	/* The session's record of it; NULL until a line is sent. */
	struct st_seen *seen;
	/* The last line sent; 0 for none. */
	size_t last;
	/* What is being added. */
	struct st_buf text;
};

static void source_release(struct source *source) {
	st_buf_release(&source->label);
	st_buf_release(&source->text);
	st_place_release(&source->place);
	st_file_release(&source->file);
	st_lines_release(&source->lines);
	free(source->hits);
}

void st_grep_add_path(struct st_call *call, struct st_buf *out, const char *path) {
	const char *root = call->session->ws->root.path;
	if (call->session != call->sessions[0])
		st_buf_addf(out, "%s/", strcmp(root, "/") == 0 ? "" : root);
	st_buf_adds(out, path);
}

/* ---- searching ---- */

/* Count lines from one hit to the next: an index of a large file takes longer than the search. */
static size_t number_of(struct source *source, size_t start) {
	struct st_str rest = st_buf_str(&source->file.bytes);
	rest = st_str_slice(rest, source->counted_to, rest.len);
	source->counted += st_line_ends(rest, start - source->counted_to);
	source->counted_to = start;
	return source->counted + 1;
}

static int add_hits(struct source *source, struct st_span lines, struct st_span match,
                    struct stet_error *err) {
	struct st_str text = st_buf_str(&source->file.bytes);
	for (size_t start = lines.start, end; start < lines.end; start = end) {
		if (!st_array_room(&source->hits, source->count, sizeof *source->hits))
			return st_fail_nomem(err);
		end = st_line_end(text, start);
		bool holds = match.start >= start && match.start < end;
		source->hits[source->count++] =
			(struct hit){number_of(source, start), start, holds ? match.start - start : 0};
	}
	return 0;
}

/* Find the matching lines; where a limit ends the search, those found so far. */
static int find_hits(struct st_grep_page *page, struct source *source, struct stet_error *err) {
	struct st_span lines, match;
	int code = 0;
	st_grep_begin(page->grep, st_buf_str(&source->file.bytes), ST_GREP_FILE_MS, NULL);
	while (source->count < source->most && (code = st_grep_next(page->grep, &lines, &match)) > 0) {
		code = add_hits(source, lines, match, err);
		if (code < 0)
			return code;
	}
	return code == 0 || st_matcher_limit(code) ? 0 : st_matcher_fail(code, err);
}

/* Index the lines of some hits, and those around them. */
static int index_lines(const struct st_grep_page *page, struct source *source, size_t first,
                       size_t end, struct stet_error *err) {
	struct st_str text = st_buf_str(&source->file.bytes);
	size_t from = source->hits[first].start, to = st_line_end(text, source->hits[end - 1].start);
	source->lines_before = source->hits[first].line - 1;
	for (size_t i = 0; i < page->context && from > 0; i++, source->lines_before--)
		from = st_line_start(text, from - 1);
	for (size_t i = 0; i < page->context && to < text.len; i++)
		to = st_line_end(text, to);
	return st_lines_init(&source->lines, st_str_slice(text, from, to), err);
}

/* Whether a line is one of the hits, which are sorted. */
static bool is_hit(const struct source *source, size_t n) {
	size_t low = 0, high = source->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (source->hits[middle].line < n)
			low = middle + 1;
		else
			high = middle;
	}
	return low < source->count && source->hits[low].line == n;
}

/* ---- one line ---- */

static struct st_str line_text(const struct source *source, size_t n) {
	struct st_str body = st_lines_body(&source->lines, n - source->lines_before);
	return n == 1 ? st_str_slice(body, st_bom_len(body), body.len) : body;
}

/* The part of a line to show: all of it, or what is around the column. */
static struct st_span visible(struct st_str line, size_t column) {
	if (line.len <= LINE_MAX_BYTES)
		return (struct st_span){0, line.len};
	size_t from = 0;
	if (column + LEAD > LINE_MAX_BYTES)
		from = st_utf8_cut(line, column < line.len ? column - LEAD : line.len - LEAD);
	struct st_str rest = st_str_slice(line, from, line.len);
	return (struct st_span){from, from + st_utf8_cut(rest, LINE_MAX_BYTES)};
}

/* Add "path:12:text". @return Whether the line is sent as it is. */
static bool add_line(struct st_grep_page *page, struct source *source, size_t n, char mark,
                     size_t column) {
	struct st_buf *out = &source->text;
	struct st_str line = line_text(source, n);
	struct st_span part = visible(line, column);
	bool cut = part.end - part.start < line.len;
	st_buf_add(out, st_buf_str(&source->label));
	st_buf_addf(out, "%c%zu%c%s", mark, n, mark, part.start > 0 ? "[...]" : "");
	bool lossy = st_utf8_add_lossy(out, st_str_slice(line, part.start, part.end));
	st_buf_adds(out, part.end < line.len ? "[...]\n" : "\n");
	page->cut |= cut;
	page->lossy |= lossy;
	return !cut && !lossy;
}

/* ---- a hit with its context ---- */

/* The lines to show for a hit: up to the next hit, which brings its own. */
static struct st_interval around(const struct st_grep_page *page, const struct source *source,
                                 size_t at, bool is_last) {
	size_t n = source->hits[at].line, total = source->lines_before + source->lines.count;
	size_t first = n > page->context ? n - page->context : 1;
	size_t last = total - n > page->context ? n + page->context : total;
	if (first <= source->last)
		first = source->last + 1;
	if (!is_last && last >= source->hits[at + 1].line)
		last = source->hits[at + 1].line - 1;
	return (struct st_interval){first, last < n ? n : last};
}

/* Add the lines of a hit to source->text; `whole` receives those that are sent as they are. */
static bool add_group(struct st_grep_page *page, struct source *source, size_t at,
                      struct st_interval lines, struct st_intervals *whole) {
	bool ok = true;
	st_buf_clear(&source->text);
	bool is_apart = source->last == 0 || lines.first != source->last + 1;
	if (page->context > 0 && page->begun && is_apart)
		st_buf_adds(&source->text, "--\n");
	for (size_t n = lines.first; n <= lines.last; n++) {
		bool here = n == source->hits[at].line;
		char mark = is_hit(source, n) ? ':' : '-';
		if (add_line(page, source, n, mark, here ? source->hits[at].column : 0))
			ok &= st_intervals_add(whole, n, n);
	}
	return ok && !source->text.failed;
}

static void add_match_data(struct st_grep_page *page, const struct source *source, size_t n) {
	if (!page->list)
		return;
	yyjson_mut_doc *doc = page->call->doc;
	yyjson_mut_val *item = yyjson_mut_obj(doc);
	st_auto(st_buf) path = ST_BUF_INIT, text = ST_BUF_INIT;
	st_grep_add_path(page->call, &path, source->path);
	struct st_str line = line_text(source, n);
	st_utf8_add_lossy(&text, st_str_slice(line, 0, st_utf8_cut(line, LINE_MAX_BYTES)));
	st_json_add(doc, item, "path", path.failed ? NULL : st_json_text(doc, st_buf_str(&path)));
	st_json_add_size(doc, item, "line", n);
	st_json_add_text(doc, item, "text", st_buf_str(&text));
	st_json_push(doc, page->list, text.failed ? NULL : item);
}

/* Attach the instructions that newly apply to the file, up to half of the answer in all. */
static void add_instructions(struct st_grep_page *page, const struct source *source) {
	struct st_call *call = page->call;
	size_t most = page->instructions_room < page->room ? page->instructions_room : page->room;
	size_t before = st_call_room(call);
	st_call_instruct(call, source->place.path, NULL, most);
	size_t taken = before - st_call_room(call);
	page->room -= taken < page->room ? taken : page->room;
	page->instructions_room -= taken < most ? taken : most;
}

/* The session has seen lines of the file. */
static int record_lines(struct st_grep_page *page, struct source *source,
                        const struct st_intervals *lines, bool is_first, struct stet_error *err) {
	/* The answer of a cancelled call does not reach the caller. */
	if (is_first && st_cancel_check_now(err) < 0)
		return STET_E_CANCELLED;
	if (is_first)
		source->seen =
			st_session_record(page->call->session, source->path, source->place.path, &source->file);
	if (!source->seen)
		return st_fail_nomem(err);
	for (size_t i = 0; i < lines->count; i++)
		st_seen_add(source->seen, lines->items[i].first, lines->items[i].last);
	if (is_first)
		add_instructions(page, source);
	return 0;
}

/* Show a hit, if there is room. The first of a page is sent in any case, if need be without context. */
static int show_hit(struct st_grep_page *page, struct source *source, size_t at, bool is_last,
                    struct stet_error *err) {
	size_t n = source->hits[at].line;
	struct st_interval lines = around(page, source, at, is_last);
	st_auto(st_intervals) whole = {0};
	bool ok = add_group(page, source, at, lines, &whole);
	if (ok && source->text.len > page->room && !page->begun) {
		st_intervals_clear(&whole);
		lines = (struct st_interval){n, n};
		ok = add_group(page, source, at, lines, &whole);
	}
	if (!ok)
		return st_fail_nomem(err);
	page->full = source->text.len > page->room && page->begun;
	if (page->full)
		return 0;
	bool is_first = source->last == 0;
	page->room -= source->text.len < page->room ? source->text.len : page->room;
	page->begun = true;
	source->last = lines.last;
	st_buf_add(&page->call->text, st_buf_str(&source->text));
	add_match_data(page, source, n);
	return page->is_recorded ? record_lines(page, source, &whole, is_first, err) : 0;
}

/* ---- one file ---- */

/* Load the file, with its hash if the session records it. */
static int load_source(const struct st_grep_page *page, struct source *source,
                       struct stet_error *err) {
	struct stet_session *session = page->call->session;
	if (page->is_recorded)
		return st_session_load(session, source->path, &source->place, &source->file, err);
	int code = st_root_locate(&session->ws->root, st_str(source->path), &source->place, err);
	if (code < 0)
		return code;
	st_autofd fd = st_file_open(&source->place, err);
	return fd < 0 ? fd : st_file_fetch(fd, source->path, session->ws->max_file, &source->file, err);
}

/* Load the file and find its hits. @return 1, 0 if it is no longer what was searched, or a code. */
static int open_source(struct st_grep_page *page, struct source *source, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	int code = load_source(page, source, err);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return code;
	if (code < 0 || st_grep_kind(st_buf_str(&source->file.bytes)) != ST_GREP_SEARCHED)
		return 0;
	code = find_hits(page, source, err);
	if (code < 0)
		return code;
	st_grep_add_path(page->call, &path, source->path);
	st_quote_name(&source->label, st_buf_str(&path));
	return path.failed || source->label.failed ? st_fail_nomem(err) : 1;
}

int st_grep_page_add(struct st_grep_page *page, const struct st_grep_file *file, size_t first,
                     size_t count, size_t *sent, struct stet_error *err) {
	st_auto(source) source = {.path = file->path,
	                          .label = ST_BUF_INIT,
	                          .place = ST_PLACE_INIT,
	                          .file = ST_FILE_INIT,
	                          .text = ST_BUF_INIT};
	/* Where the search stopped early, it would do so again. */
	source.most = file->state == ST_GREP_STOPPED ? file->lines : SIZE_MAX;
	*sent = 0;
	int code = open_source(page, &source, err);
	if (code < 0)
		return code;
	if (code == 0 || source.count <= first) {
		page->changed++;
		return 0;
	}
	size_t end = count < source.count - first ? first + count : source.count;
	code = index_lines(page, &source, first, end, err);
	if (code < 0)
		return code;
	for (size_t at = first; at < end && !page->full; at++) {
		code = show_hit(page, &source, at, at + 1 == end, err);
		if (code < 0)
			return code;
		*sent += !page->full;
	}
	return 0;
}
