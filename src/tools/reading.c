#include "tools/reading.h"

#include "base/quote.h"
#include "base/utf8.h"
#include "core/view.h"
#include "tools/instructions.h"

struct page {
	size_t first, last, total;
	struct st_str text;
	/* One line alone was larger than a page, so that only its beginning is shown. */
	bool cut;
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

/* As many whole lines as there is room for; of a first line that is longer, its beginning. */
static void fit(struct page *page, size_t room) {
	if (page->text.len <= room)
		return;
	size_t end = st_line_start(page->text, room);
	page->cut = end == 0;
	if (page->cut) {
		page->last = page->first;
		end = st_utf8_cut(page->text, room);
	} else {
		page->last = page->first + st_line_ends(page->text, end) - 1;
	}
	page->text.len = end;
}

static int find_page(const struct st_view *view, const struct st_reading *what, struct page *page,
                     struct stet_error *err) {
	size_t total = view->total_lines;
	*page = (struct page){0};
	if (what->offset > 1 && (size_t)what->offset > total)
		return st_fail(err, STET_E_INVALID, "%s has %zu lines; line %lld is beyond its end.",
		               st_shown(what->path), total, (long long)what->offset);
	choose_lines(what, total, page);
	page->text = st_str("");
	if (page->first == 0)
		return 0;
	size_t start = st_line_offset(view->bytes, page->first);
	page->text = st_str_slice(view->bytes, start, view->bytes.len);
	if (page->last < total)
		page->text.len = st_line_offset(page->text, page->last - page->first + 2);
	fit(page, what->room);
	return 0;
}

/* The page of a version that is there: of the one that the session knows if it still is. */
static int look(struct stet_session *session, const struct st_reading *what, struct st_view *view,
                struct page *page, struct stet_error *err) {
	bool known = st_view_recall(view, session, what->path) &&
	             find_page(view, what, page, NULL) == 0 && st_view_holds(view, page->text);
	int code = known ? 0 : st_view_load(view, session, what->path, err);
	if (code == 0)
		code = st_check_text(view->path, view->is_text ? st_str("") : view->bytes, err);
	if (code == 0 && !view->is_text)
		view->is_utf8 = st_utf8_valid(view->bytes);
	return code < 0 || known ? code : find_page(view, what, page, err);
}

static int number_lines(struct st_excerpt *excerpt, const struct page *page,
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

static void render(struct st_call *call, yyjson_mut_val *data, const struct st_view *view,
                   const struct page *page) {
	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&view->hash, hash, ST_HASH_SHORT);
	st_render_path(call, data, "path", view->path);
	st_json_add_text(call->doc, data, "fileHash", st_str(hash));
	st_json_add_size(call->doc, data, "totalLines", page->total);
	st_json_add_size(call->doc, data, "startLine", page->first);
	st_json_add_size(call->doc, data, "endLine", page->last);
	bool more = page->last < page->total;
	st_json_add(call->doc, data, "truncated", yyjson_mut_bool(call->doc, more || page->cut));
	if (more && page->last > 0)
		st_json_add_size(call->doc, data, "nextOffset", page->last + 1);
	if (!view->is_utf8 && !st_utf8_valid(page->text))
		st_json_add_true(call->doc, data, "lossy");
}

/* What a reader of the text alone has to know; not part of it. */
static void add_remark(struct st_call *call, const struct st_reading *what,
                       const struct page *page) {
	const char *name = what->among_others ? st_shown(what->path) : "";
	const char *part = what->among_others ? ": " : "";
	if (page->cut)
		st_buf_addf(&call->remark, "[%s%sLine %zu is longer than %zu bytes and is cut.]\n", name,
		            part, page->first, what->room);
	if (page->last < page->total && page->last > 0)
		st_buf_addf(&call->remark, "[%s%sLines %zu-%zu of %zu. Continue with offset %zu.]\n", name,
		            part, page->first, page->last, page->total, page->last + 1);
}

int st_read_page(struct st_call *call, const struct st_reading *what, yyjson_mut_val *data,
                 struct st_excerpt *excerpt, struct stet_error *err) {
	struct st_view *view = &excerpt->view;
	struct page page;
	int code = look(call->session, what, view, &page, err);
	if (code < 0)
		return code;
	excerpt->text = page.text;
	if (what->numbers && (code = number_lines(excerpt, &page, err)) < 0)
		return code;

	struct st_seen *seen = st_view_meet(view, call->session);
	if (!seen)
		return st_fail_nomem(err);
	seen->text = view->hash;
	seen->is_utf8 = view->is_utf8;
	if (!page.cut)
		st_seen_add(seen, page.first, page.last);
	render(call, data, view, &page);
	add_remark(call, what, &page);
	/* Instructions that the answer shows anyway are not repeated. */
	bool whole = page.first <= 1 && page.last == page.total && !page.cut;
	return st_call_instruct(call, view->path, whole ? &view->hash : NULL, err);
}

/* Lines from the back, or from some line on. A head with an offset is how a page of it goes on. */
static int check_range(const struct st_call *call, struct stet_error *err) {
	static const char *const names[] = {"offset", "limit", "head", "tail"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_arg_int(call, names[i], 0) < 0)
			return st_fail(err, STET_E_INVALID, "\"%s\" of %s counts lines and cannot be negative.",
			               names[i], call->tool->name);
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
		.limit = st_arg_int(call, "limit", st_arg_int(call, "head", 0)),
		.tail = st_arg_int(call, "tail", -1),
		.numbers = st_arg_flag(call, "lineNumbers", false),
		.room = ST_PAGE_MAX,
	};
	if (!what.path)
		return err->code;
	int code = check_range(call, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	return st_read_page(call, &what, call->result, &call->excerpt, err);
}
