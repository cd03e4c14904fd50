#include "tools/files/grep_page.h"

#include <unistd.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "fs/path/sys.h"

enum {
	/* How many bytes of a line to show, and how many of them before a match that begins further right. */
	LINE_MAX_BYTES = 500,
	LEAD = 60,
	/* Of a large file, read so much at once, and so much around it at first. */
	PART = 64 << 10,
	MARGIN = 4 << 10,
};

/* One file of the page. */
struct source {
	const char *path;
	struct st_buf label;
	struct st_place place;
	struct st_file file;
	/* The open file, if only parts of it are read. */
	int fd;
	/* The part that is in memory, where it begins, and whether the file ends with it. */
	struct st_str text;
	size_t text_at;
	bool at_end;
	/* The lines to show and those around them, and how many there are before them. */
	struct st_lines lines;
	size_t lines_before;
	/* Those of the search, or those found here, which are `own`. */
	struct st_grep_hit *hits, *own;
	size_t count;
	/* The search's; NULL if it remembered none. */
	const struct st_grep_hits *searched;
	/* The lines of the hits up to this one are in memory. */
	size_t prepared;
	/* Lines are counted up to here, which is the start of one. */
	size_t counted_to, counted;
	/* Look for no more of them. */
	size_t most;
	/* The session's record of it; NULL until a line is sent. */
	struct st_seen *seen;
	/* The last line sent; 0 for none. */
	size_t last;
	/* The text that is being added to the answer. */
	struct st_buf added;
};

static void source_release(struct source *source) {
	st_buf_release(&source->label);
	st_buf_release(&source->added);
	st_place_release(&source->place);
	st_file_release(&source->file);
	st_lines_release(&source->lines);
	st_close_at(&source->fd);
	free(source->own);
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
		if (!st_array_room(&source->own, source->count, sizeof *source->own))
			return st_fail_nomem(err);
		end = st_line_end(text, start);
		bool holds = match.start >= start && match.start < end;
		source->own[source->count++] =
			(struct st_grep_hit){number_of(source, start), start, holds ? match.start - start : 0};
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
	source->hits = source->own;
	return code == 0 || st_matcher_limit(code) ? 0 : st_matcher_fail(code, err);
}

/* ---- a part of the file ---- */

/* Whether the file is still the version that was searched. */
static bool is_searched(const struct source *source, const struct st_stamp *stamp) {
	struct stat st;
	if (st_retry(fstat(source->fd, &st)) < 0)
		return false;
	const struct st_stamp now = st_stamp_of(&st);
	return st_stamp_eq(&now, stamp);
}

/* Read a part of the open file. @return 1, 0 if it is another version by now, or a code. */
static int read_part(struct source *source, size_t from, size_t to, struct stet_error *err) {
	const struct st_stamp *stamp = &source->searched->stamp;
	struct st_buf *bytes = &source->file.bytes;
	to = to < stamp->size ? to : stamp->size;
	st_buf_clear(bytes);
	if (!st_buf_reserve(bytes, to - from))
		return st_fail_nomem(err);
	while (bytes->len < to - from) {
		ssize_t len = st_retry(pread(source->fd, bytes->ptr + bytes->len, to - from - bytes->len,
		                             (off_t)(from + bytes->len)));
		if (len <= 0)
			return 0;
		bytes->len += (size_t)len;
	}
	source->text = st_buf_str(bytes);
	source->text_at = from;
	source->at_end = to == stamp->size;
	return is_searched(source, stamp);
}

/* Index the lines of some hits, and those around them. @return 1, 0 if more of the file is needed, or a code. */
static int index_lines(const struct st_grep_page *page, struct source *source, size_t first,
                       size_t end, struct stet_error *err) {
	struct st_str text = source->text;
	size_t from = source->hits[first].start - source->text_at, before = 0;
	size_t to = st_line_end(text, source->hits[end - 1].start - source->text_at);
	for (; before < page->context && from > 0; before++)
		from = st_line_start(text, from - 1);
	for (size_t i = 0; i < page->context && to < text.len; i++)
		to = st_line_end(text, to);
	if ((from == 0 && source->text_at > 0) || (to == text.len && !source->at_end))
		return 0;
	source->lines_before = source->hits[first].line - 1 - before;
	st_lines_release(&source->lines);
	int code = st_lines_init(&source->lines, st_str_slice(text, from, to), err);
	return code < 0 ? code : 1;
}

/* Read the part of the file that has some hits, and the lines around them. As read_part(). */
static int read_lines(const struct st_grep_page *page, struct source *source, size_t first,
                      size_t end, struct stet_error *err) {
	size_t start = source->hits[first].start, last = source->hits[end - 1].start;
	for (size_t margin = MARGIN;; margin *= 4) {
		int code = read_part(source, start > margin ? start - margin : 0, last + margin, err);
		if (code == 1)
			code = index_lines(page, source, first, end, err);
		else
			return code;
		if (code != 0)
			return code;
	}
}

/*
 * Whether the lines in memory can be those that the search found, by their numbers. A program that writes to the
 * file through a mapping need not change its times.
 */
static bool has_hits(const struct st_grep_page *page, const struct source *source, size_t first,
                     size_t end) {
	size_t above = source->hits[first].line - 1, last = source->hits[end - 1].line;
	size_t context = above < page->context ? above : page->context;
	return source->lines_before == above - context &&
	       last <= source->lines_before + source->lines.count;
}

/* Make the lines of a hit available, with those of some hits behind it. As read_part(). */
static int prepare_hit(const struct st_grep_page *page, struct source *source, size_t at,
                       size_t end, struct stet_error *err) {
	if (at < source->prepared)
		return 1;
	size_t last = at + 1;
	while (last < end && source->hits[last].start - source->hits[at].start < PART)
		last++;
	source->prepared = last;
	int code = source->fd >= 0 ? read_lines(page, source, at, last, err)
	                           : index_lines(page, source, at, last, err);
	return code == 1 && !has_hits(page, source, at, last) ? 0 : code;
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
	struct st_buf *out = &source->added;
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

/* Add the lines of a hit to source->added; `whole` receives those that are sent as they are. */
static bool add_group(struct st_grep_page *page, struct source *source, size_t at,
                      struct st_interval lines, struct st_intervals *whole) {
	bool ok = true;
	st_buf_clear(&source->added);
	bool is_apart = source->last == 0 || lines.first != source->last + 1;
	if (page->context > 0 && page->begun && is_apart)
		st_buf_adds(&source->added, "--\n");
	for (size_t n = lines.first; n <= lines.last; n++) {
		bool here = n == source->hits[at].line;
		char mark = is_hit(source, n) ? ':' : '-';
		if (add_line(page, source, n, mark, here ? source->hits[at].column : 0))
			ok &= st_intervals_add(whole, n, n);
	}
	return ok && !source->added.failed;
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
	if (ok && source->added.len > page->room && !page->begun) {
		st_intervals_clear(&whole);
		lines = (struct st_interval){n, n};
		ok = add_group(page, source, at, lines, &whole);
	}
	if (!ok)
		return st_fail_nomem(err);
	page->full = source->added.len > page->room && page->begun;
	if (page->full)
		return 0;
	bool is_first = source->last == 0;
	page->room -= source->added.len < page->room ? source->added.len : page->room;
	page->begun = true;
	source->last = lines.last;
	st_buf_add(&page->call->text, st_buf_str(&source->added));
	add_match_data(page, source, n);
	return page->is_recorded ? record_lines(page, source, &whole, is_first, err) : 0;
}

/* ---- one file ---- */

/* Open the file to read parts of it, if it still is what was searched and the session does not record it. */
static bool open_parts(const struct st_grep_page *page, struct source *source) {
	const struct st_grep_hits *searched = source->searched;
	if (page->is_recorded || !searched)
		return false;
	const struct st_root *root = &page->call->session->ws->root;
	if (st_root_locate(root, st_str(source->path), &source->place, NULL) == 0)
		source->fd = st_file_open(&source->place, NULL);
	if (source->fd < 0 || !is_searched(source, &searched->stamp))
		return false;
	source->hits = searched->list;
	source->count = searched->count;
	return true;
}

/* Load the whole file, with its hash if the session records it. */
static int load_source(const struct st_grep_page *page, struct source *source,
                       struct stet_error *err) {
	struct stet_session *session = page->call->session;
	st_close_at(&source->fd);
	st_place_release(&source->place);
	if (page->is_recorded)
		return st_session_load(session, source->path, &source->place, &source->file, err);
	int code = st_root_locate(&session->ws->root, st_str(source->path), &source->place, err);
	if (code < 0)
		return code;
	st_autofd fd = st_file_open(&source->place, err);
	return fd < 0 ? fd : st_file_fetch(fd, source->path, session->ws->max_file, &source->file, err);
}

/* Find the hits in the loaded file, unless it is what was searched. @return 1, 0 if it is no text, or a code. */
static int find_in_loaded(struct st_grep_page *page, struct source *source,
                          struct stet_error *err) {
	const struct st_grep_hits *searched = source->searched;
	source->text = st_buf_str(&source->file.bytes);
	source->at_end = true;
	if (searched && source->file.stamped && st_stamp_eq(&searched->stamp, &source->file.stamp)) {
		source->hits = searched->list;
		source->count = searched->count;
		return 1;
	}
	if (st_grep_kind(source->text) != ST_GREP_SEARCHED)
		return 0;
	int code = find_hits(page, source, err);
	return code < 0 ? code : 1;
}

static int open_whole(struct st_grep_page *page, struct source *source, struct stet_error *err) {
	int code = load_source(page, source, err);
	if (code == 0)
		return find_in_loaded(page, source, err);
	return code == STET_E_NOMEM || code == STET_E_CANCELLED ? code : 0;
}

/* Open the file, and find its hits. @return 1, 0 if it is no longer what was searched, or a code. */
static int open_source(struct st_grep_page *page, struct source *source, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	int code = open_parts(page, source) ? 1 : open_whole(page, source, err);
	if (code <= 0)
		return code;
	st_grep_add_path(page->call, &path, source->path);
	st_quote_name(&source->label, st_buf_str(&path));
	return path.failed || source->label.failed ? st_fail_nomem(err) : 1;
}

/* Show hits of an open file. */
static int show_hits(struct st_grep_page *page, struct source *source, size_t first, size_t end,
                     size_t *sent, struct stet_error *err) {
	for (size_t at = first; at < end && !page->full; at++) {
		int code = prepare_hit(page, source, at, end, err);
		if (code == 0) {
			page->changed++;
			return 0;
		}
		if (code > 0)
			code = show_hit(page, source, at, at + 1 == end, err);
		if (code < 0)
			return code;
		*sent += !page->full;
	}
	return 0;
}

int st_grep_page_add(struct st_grep_page *page, const struct st_grep_file *file, size_t first,
                     size_t count, size_t *sent, struct stet_error *err) {
	st_auto(source) source = {.path = file->path,
	                          .label = ST_BUF_INIT,
	                          .place = ST_PLACE_INIT,
	                          .file = ST_FILE_INIT,
	                          .fd = -1,
	                          .searched = file->hits,
	                          .added = ST_BUF_INIT};
	/* Where the search stopped early, it would do so again. */
	source.most = file->why ? file->lines : SIZE_MAX;
	*sent = 0;
	int code = open_source(page, &source, err);
	if (code < 0)
		return code;
	if (code == 0 || source.count <= first) {
		page->changed++;
		return 0;
	}
	size_t end = count < source.count - first ? first + count : source.count;
	return show_hits(page, &source, first, end, sent, err);
}
