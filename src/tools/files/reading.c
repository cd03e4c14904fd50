#include "tools/files/reading.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "tools/render.h"

enum {
	/* Bytes that a line number and its tab take. */
	NUMBER_MAX = 9,
	/* A page has at least so many bytes, so that reading makes progress. */
	ROOM_MIN = 64,
};

/* One version of a file. */
struct content {
	/* Below the root. */
	const char *path;
	struct st_str bytes;
	struct st_version version;
	size_t lines;
	bool is_utf8;
};

struct page {
	size_t first, last, total;
	struct st_str text;
	/* The offset of the text in the file, and in its first line. */
	size_t start, byte;
	/* The page ends within a line; its offset in the file and its length. */
	bool open;
	size_t line_start, line_len;
};

static void choose_lines(const struct st_reading *what, size_t total, struct page *page) {
	size_t wanted = (size_t)(what->offset > 0 ? what->offset : 1);
	size_t count = what->limit > 0 ? (size_t)what->limit : total;
	if (what->tail >= 0) {
		count = (size_t)what->tail < total ? (size_t)what->tail : total;
		wanted = total - count + 1;
	}
	page->total = total;
	page->first = total && count ? wanted : 0;
	page->last = total && count ? total : 0;
	if (page->first && count <= total - page->first)
		page->last = page->first + count - 1;
}

/* The end of the last whole line that fits, with `label` bytes for each line number; 0 if none fits. */
static size_t whole_lines(struct st_str text, size_t room, size_t label, size_t *lines) {
	size_t most = room, end = 0;
	do {
		end = st_line_start(text, most < text.len ? most : text.len);
		*lines = st_line_ends(text, end);
		size_t need = end + *lines * label;
		if (need <= room)
			break;
		most = end > need - room ? end - (need - room) : 0;
	} while (most > 0);
	return most > 0 ? end : 0;
}

/* Cut a page to whole lines that fit, or to a part of its first line. */
static void fit_page(struct page *page, struct st_str bytes, size_t room, size_t label) {
	size_t lines = page->first ? page->last - page->first + 1 : 0;
	if (page->text.len + lines * label <= room)
		return;
	size_t end = whole_lines(page->text, room, label, &lines);
	page->open = end == 0;
	if (page->open) {
		page->last = page->first;
		end = st_utf8_cut(page->text, room > label ? room - label : 1);
		page->line_start = page->start - page->byte;
		struct st_str rest = st_str_slice(bytes, page->line_start, bytes.len);
		page->line_len = page->first < page->total ? st_line_offset(rest, 2) : rest.len;
	} else {
		page->last = page->first + lines - 1;
	}
	assert(end <= page->text.len && page->first <= page->last);
	page->text.len = end;
}

/* Skip the bytes of the first line that earlier pages had. */
static int skip_bytes(const struct st_reading *what, struct page *page, struct stet_error *err) {
	if (what->byte_offset <= 0)
		return 0;
	size_t byte = (size_t)what->byte_offset;
	size_t len = page->first < page->last ? st_line_offset(page->text, 2) : page->text.len;
	if (byte >= len)
		return st_fail(err, STET_E_INVALID,
		               "byteOffset %zu is out of range: line %zu of %s has %zu %s.", byte,
		               page->first, st_quoted(what->path), len, st_plural(len, "byte", "bytes"));
	page->byte = byte;
	page->start += byte;
	page->text = st_str_slice(page->text, byte, page->text.len);
	return 0;
}

static int find_page(const struct content *content, const struct st_reading *what, size_t room,
                     struct page *page, struct stet_error *err) {
	size_t total = content->lines;
	*page = (struct page){0};
	if (what->offset > 1 && (size_t)what->offset > total)
		return st_fail(err, STET_E_INVALID, "Line %lld is out of range: %s has %zu %s.",
		               (long long)what->offset, st_quoted(what->path), total,
		               st_plural(total, "line", "lines"));
	choose_lines(what, total, page);
	page->text = st_str("");
	if (page->first == 0)
		return 0;
	page->start = st_line_offset(content->bytes, page->first);
	page->text = st_str_slice(content->bytes, page->start, content->bytes.len);
	if (page->last < total)
		page->text.len = st_line_offset(page->text, page->last - page->first + 2);
	int code = skip_bytes(what, page, err);
	if (code == 0)
		fit_page(page, content->bytes, room, what->numbers ? NUMBER_MAX : 0);
	return code;
}

/* Take the line count and UTF-8 check from an earlier page of the same version, if there was one. */
static bool find_known_facts(struct stet_session *session, struct content *content) {
	const struct st_seen *seen = st_lru_peek(&session->tracker.files, st_str(content->path));
	if (!seen || !st_version_eq(&seen->version, &content->version) ||
	    !st_hash_eq(&seen->text, &content->version.hash))
		return false;
	content->lines = seen->total;
	content->is_utf8 = seen->is_utf8;
	return true;
}

static int load_content(struct stet_session *session, const char *path, struct st_excerpt *excerpt,
                        struct content *content, struct stet_error *err) {
	int code = st_session_load(session, path, &excerpt->place, &excerpt->file, err);
	if (code < 0)
		return code;
	*content = (struct content){
		.path = excerpt->place.path,
		.bytes = st_buf_str(&excerpt->file.bytes),
		.version = st_file_version(&excerpt->file),
	};
	if (find_known_facts(session, content))
		return 0;
	code = st_check_text(content->path, content->bytes, err);
	if (code < 0)
		return code;
	content->lines = st_line_count(content->bytes);
	content->is_utf8 = st_utf8_valid(content->bytes);
	return 0;
}

static int number_page(struct st_excerpt *excerpt, const struct page *page,
                       struct stet_error *err) {
	struct st_buf *text = &excerpt->numbered;
	st_auto(st_lines) lines = {0};
	int code = st_lines_init(&lines, page->text, err);
	for (size_t n = 1; code == 0 && n <= lines.count; n++) {
		st_buf_addf(text, "%6zu\t", page->first + n - 1);
		st_buf_add(text, st_lines_whole(&lines, n));
	}
	excerpt->text = st_buf_str(text);
	return code == 0 && text->failed ? st_fail_nomem(err) : code;
}

static bool has_more(const struct page *page) {
	return page->open || (page->last < page->total && page->last > 0);
}

static size_t next_offset(const struct page *page) {
	return page->open ? page->last : page->last + 1;
}

static size_t next_byte(const struct page *page) {
	return page->open ? page->start - page->line_start + page->text.len : 0;
}

static void render_page(struct st_call *call, yyjson_mut_val *data, const struct content *content,
                        const struct page *page, const char *hash) {
	st_render_path(call, data, "path", content->path);
	st_json_add_text(call->doc, data, "fileHash", st_str(hash));
	st_json_add_size(call->doc, data, "totalLines", page->total);
	st_json_add_size(call->doc, data, "startLine", page->first);
	st_json_add_size(call->doc, data, "endLine", page->last);
	bool truncated = page->last < page->total || page->open;
	st_json_add(call->doc, data, "truncated", yyjson_mut_bool(call->doc, truncated));
	if (has_more(page))
		st_json_add_size(call->doc, data, "nextOffset", next_offset(page));
	if (page->open)
		st_json_add_size(call->doc, data, "nextByteOffset", next_byte(page));
	if (!content->is_utf8 && !st_utf8_valid(page->text))
		st_json_add_true(call->doc, data, "lossy");
}

static bool is_whole(const struct page *page) {
	return page->first <= 1 && page->last == page->total && !page->open && !page->byte;
}

static void add_part(const struct page *page, struct st_buf *out) {
	bool one = page->first == page->last;
	if (one)
		st_buf_addf(out, ": line %zu of %zu", page->first, page->total);
	else
		st_buf_addf(out, ": lines %zu-%zu of %zu", page->first, page->last, page->total);
	if (page->open || page->byte)
		st_buf_addf(out, one ? " from byte %zu" : ", the first from byte %zu", page->byte);
}

static void add_range(const struct page *page, struct st_buf *out) {
	if (page->first == 0 && page->total > 0) {
		st_buf_addf(out, ": no lines of %zu", page->total);
	} else if (!is_whole(page)) {
		add_part(page, out);
	} else {
		st_buf_adds(out, ": ");
		st_buf_addu(out, page->total);
		st_buf_adds(out, st_plural(page->total, " line", " lines"));
	}
}

/* The line of facts: which lines these are, the hash, how to continue. */
static void add_facts(struct st_call *call, const struct content *content, const struct page *page,
                      const char *hash) {
	struct st_buf *out = &call->remark;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_call_spell(call, content->path, &path);
	st_buf_adds(out, "[");
	st_quote_name(out, st_buf_str(&path));
	add_range(page, out);
	st_buf_adds(out, ", fileHash ");
	st_buf_adds(out, hash);
	st_buf_adds(out, ".");
	if (has_more(page))
		st_buf_addf(out, " Continue with offset %zu", next_offset(page));
	if (page->open)
		st_buf_addf(out, " and byteOffset %zu (the line has %zu bytes)", next_byte(page),
		            page->line_len);
	if (!content->is_utf8 && !st_utf8_valid(page->text))
		st_buf_adds(out, has_more(page) ? ". Bytes that are not UTF-8 are shown as U+FFFD"
		                                : " Bytes that are not UTF-8 are shown as U+FFFD");
	st_buf_adds(out, has_more(page) ? ".]\n" : "]\n");
}

/* The lines, or parts of lines, in the answer count as seen. */
static void record_seen(struct st_seen *seen, const struct page *page) {
	size_t first = page->first, last = page->last;
	if (first == 0)
		return;
	if (page->byte > 0 && !page->open) {
		/* The page begins with the rest of a long line. */
		size_t rest = first < last ? st_line_offset(page->text, 2) : page->text.len;
		size_t end = page->byte + rest;
		st_seen_add_part(seen, first, page->byte, end, end);
		first++;
	}
	if (page->open)
		st_seen_add_part(seen, last, page->byte, next_byte(page), page->line_len);
	else if (first <= last)
		st_seen_add(seen, first, last);
}

int st_read_page(struct st_call *call, const struct st_reading *what, yyjson_mut_val *data,
                 struct st_excerpt *excerpt, struct stet_error *err) {
	struct st_reading how = *what;
	struct content content;
	struct page page;
	int code = load_content(call->session, what->path, excerpt, &content, err);
	if (code == 0)
		code = find_page(&content, &how, how.room, &page, err);
	if (code < 0)
		return code;

	/* Instructions may take half of the room; the page gets the rest. */
	bool in_answer = is_whole(&page) && page.text.len <= how.room / 2;
	size_t before = st_call_room(call);
	st_call_instruct(call, content.path, in_answer ? &content.version.hash : NULL, how.room / 2);
	size_t taken = before - st_call_room(call);
	how.room -= taken < how.room ? taken : how.room;
	/* Each invalid byte is sent as U+FFFD, which has three bytes. */
	if (!content.is_utf8)
		how.room /= 3;
	if (how.room < ROOM_MIN)
		how.room = ROOM_MIN;
	if (taken > 0 || !content.is_utf8)
		code = find_page(&content, &how, how.room, &page, err);
	excerpt->text = page.text;
	if (code == 0 && what->numbers)
		code = number_page(excerpt, &page, err);
	/*
	 * A cancelled call's answer does not reach the caller, so its lines must not count as
	 * seen. A small file is read before a cancellation can arrive.
	 */
	if (code == 0)
		code = st_cancel_check(content.bytes.len, err);
	if (code < 0)
		return code;

	st_bases_put(&call->session->ws->bases, &content.version.hash, content.bytes);
	struct st_seen *seen = st_session_record_version(call->session, what->path, content.path,
	                                                 &content.version, content.lines);
	if (!seen)
		return st_fail_nomem(err);
	seen->text = content.version.hash;
	seen->is_utf8 = content.is_utf8;
	record_seen(seen, &page);
	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&content.version.hash, hash, ST_HASH_SHORT);
	if (call->structured)
		render_page(call, data, &content, &page, hash);
	add_facts(call, &content, &page, hash);
	st_call_tell(call, content.path, &content.version.hash);
	return 0;
}

/* Refuse contradicting arguments. "head" with "offset" is allowed: it continues a page. */
static int check_range(const struct st_call *call, struct stet_error *err) {
	static const char *const names[] = {"offset", "limit", "head", "tail", "byteOffset"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_arg_int(call, names[i], 0) < 0)
			return st_fail(err, STET_E_INVALID, "\"%s\" of %s cannot be negative.", names[i],
			               call->tool->name);
	}
	bool head = st_arg(call, "head"), tail = st_arg(call, "tail");
	bool limit = st_arg(call, "limit"), range = limit || st_arg(call, "offset");
	if (tail && (head || range))
		return st_fail(err, STET_E_INVALID,
		               "Give %s \"tail\" alone: it cannot be combined with %s.", call->tool->name,
		               head ? "\"head\"" : "\"offset\" and \"limit\"");
	if (head && limit)
		return st_fail(err, STET_E_INVALID,
		               "\"head\" and \"limit\" of %s mean the same. Give one of them.",
		               call->tool->name);
	return 0;
}

int st_read_run(struct st_call *call, struct stet_error *err) {
	struct st_reading what = {
		.path = st_call_path(call, "path", err),
		.offset = st_arg_int(call, "offset", 0),
		.byte_offset = st_arg_int(call, "byteOffset", 0),
		.limit = st_arg_int(call, "limit", st_arg_int(call, "head", 0)),
		.tail = st_arg_int(call, "tail", -1),
		.numbers = st_arg_flag(call, "lineNumbers", false),
		.room = st_call_room(call),
	};
	if (!what.path)
		return err->code;
	int code = check_range(call, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	return st_read_page(call, &what, call->result, &call->excerpt, err);
}
