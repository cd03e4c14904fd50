#include "core/prompt/compact.h"

#include "base/plural.h"
#include "core/prompt/cut.h"
#include "core/prompt/own.h"
#include "text/tokens/tokens.h"

static const char default_request[] =
	"Your plan has been approved. Complete the remaining open tasks and invoke 'done' when "
	"finished.";

static const char do_not_recreate[] =
	"DO NOT recreate files that already exist. Use read_file to verify state before writing.";

struct compaction {
	const struct st_compact_options *options;
	struct st_messages list;
	struct st_compact_report report;
	size_t budget;
	struct st_cut cut;
	/** The units of the last exchange and of the user's last request; SIZE_MAX for none. */
	size_t exchange;
	size_t last;
};

/* ---- the parts of the prompt ---- */

static void subtract(size_t *left, size_t cost) {
	*left -= cost < *left ? cost : *left;
}

static int drop_if_noop(struct compaction *compaction, yyjson_val *result, struct stet_error *err) {
	struct st_str id = st_messages_result_id(result);
	if (id.len == 0 || !st_messages_is_noop(result))
		return 0;
	compaction->report.noops++;
	return st_cut_drop(&compaction->cut, id, err);
}

/* Drop the calls of a unit that changed nothing, with their results. */
static int drop_noops(struct compaction *compaction, const struct st_unit *unit,
                      struct stet_error *err) {
	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		yyjson_val *value = compaction->list.items[i].value, *part;
		size_t j, max;
		int code = drop_if_noop(compaction, value, err);
		yyjson_arr_foreach(yyjson_obj_get(value, "content"), j, max, part) code =
			code < 0 ? code : drop_if_noop(compaction, part, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Count a result that is not dropped, and drop it if it is one of the first `drop_first`. */
static int count_result(struct compaction *compaction, yyjson_val *value, size_t drop_first,
                        size_t *count, struct stet_error *err) {
	struct st_str id = st_messages_result_id(value);
	if (id.len == 0 || st_cut_is_dropped(&compaction->cut, id))
		return 0;
	return ++*count <= drop_first ? st_cut_drop(&compaction->cut, id, err) : 0;
}

/* Count the results of a unit that are not dropped, and drop the first `drop_first` of them. */
static int count_results(struct compaction *compaction, const struct st_unit *unit,
                         size_t drop_first, size_t *count, struct stet_error *err) {
	*count = 0;
	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		yyjson_val *value = compaction->list.items[i].value, *part;
		size_t j, max;
		int code = count_result(compaction, value, drop_first, count, err);
		yyjson_arr_foreach(yyjson_obj_get(value, "content"), j, max, part) code =
			code < 0 ? code : count_result(compaction, part, drop_first, count, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Fit the last exchange. If it has too many calls, drop the earlier ones. */
static yyjson_mut_val *fit_exchange(struct compaction *compaction, const struct st_unit *unit,
                                    size_t limit, struct stet_error *err) {
	yyjson_mut_val *array = st_cut_fit(&compaction->cut, &compaction->list, unit, limit);
	size_t left = 0;
	compaction->cut.failed |= count_results(compaction, unit, 0, &left, err) < 0;
	while (array && yyjson_mut_arr_size(array) == 0 && left > 1) {
		size_t half = (left + 1) / 2;
		if (count_results(compaction, unit, half, &left, err) < 0)
			return NULL;
		left -= half;
		compaction->report.results += half;
		array = st_cut_fit(&compaction->cut, &compaction->list, unit, limit);
	}
	return array;
}

static void find_tail(struct compaction *compaction) {
	compaction->exchange = SIZE_MAX;
	compaction->last = SIZE_MAX;
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		const struct st_unit *unit = &compaction->list.units[i];
		bool ours = st_own_is(compaction->list.items[unit->first].value);
		if (unit->role == ST_ROLE_MODEL || unit->role == ST_ROLE_RESULT)
			compaction->exchange = i;
		if (unit->role == ST_ROLE_USER && !ours)
			compaction->last = i;
	}
}

static bool is_request(const struct compaction *compaction, size_t i) {
	const struct st_unit *unit = &compaction->list.units[i];
	return unit->role == ST_ROLE_USER && i != compaction->last &&
	       !st_own_is(compaction->list.items[unit->first].value);
}

/* Append the elements of one array to another. */
static bool append(yyjson_mut_val *to, yyjson_mut_val *from) {
	yyjson_mut_val *value;
	while (from && (value = yyjson_mut_arr_remove_first(from))) {
		if (!yyjson_mut_arr_append(to, value))
			return false;
	}
	return from != NULL;
}

/* Fit one request, if there is room, and subtract its tokens from `left`. */
static yyjson_mut_val *fit_request(struct compaction *compaction, size_t i, size_t share,
                                   size_t *left) {
	if (!is_request(compaction, i) || share <= ST_CUT_MIN)
		return NULL;
	yyjson_mut_val *fitted =
		st_cut_fit(&compaction->cut, &compaction->list, &compaction->list.units[i], share);
	subtract(left, st_cut_count(&compaction->cut, fitted));
	return fitted;
}

/* Fit the first request, then the newest ones while there is room; returns them in their order. */
static yyjson_mut_val *fit_requests(struct compaction *compaction, size_t left) {
	size_t count = compaction->list.unit_count;
	size_t first = 0;
	yyjson_mut_val *array = yyjson_mut_arr(compaction->cut.doc);
	st_autofree yyjson_mut_val **fitted = calloc(count + 1, sizeof(yyjson_mut_val *));
	if (!fitted)
		return NULL;
	while (first < count && !is_request(compaction, first))
		first++;
	if (first < count)
		fitted[first] = fit_request(compaction, first, left * 2 / 3, &left);
	for (size_t i = count; i > first + 1; i--)
		fitted[i - 1] = fit_request(compaction, i - 1, left, &left);
	for (size_t i = first; i < count; i++) {
		if (fitted[i] && yyjson_mut_arr_size(fitted[i]))
			append(array, fitted[i]);
		else
			compaction->report.requests += is_request(compaction, i);
	}
	return array;
}

/* ---- our own message ---- */

static void add_history(const struct compaction *compaction, struct st_buf *text) {
	const struct st_compact_report *report = &compaction->report;
	if (!report->replies && !report->results && !report->requests && !report->noops &&
	    !compaction->cut.happened)
		return;
	st_buf_addf(
		text,
		"\n[History]\nLeft out here: %zu earlier %s, %zu tool %s, %zu %s; %zu %s that changed "
		"nothing.",
		report->replies, st_plural(report->replies, "reply", "replies"), report->results,
		st_plural(report->results, "result", "results"), report->requests,
		st_plural(report->requests, "request", "requests"), report->noops,
		st_plural(report->noops, "call", "calls"));
	if (*compaction->cut.archive)
		st_buf_addf(text, " Archive: %s", compaction->cut.archive);
	st_buf_addc(text, '\n');
}

static void add_section(struct compaction *compaction, struct st_buf *text, const char *title,
                        struct st_str body, size_t tokens) {
	st_buf_addf(text, "%s[%s]\n", text->len ? "\n" : "", title);
	st_cut_text(&compaction->cut, text, body, tokens);
	if (!text->failed && text->ptr[text->len - 1] != '\n')
		st_buf_addc(text, '\n');
}

/* The host's request; or the default one if tasks are open and the user has not said anything. */
static struct st_str delta_request(const struct compaction *compaction) {
	const struct st_compact_options *options = compaction->options;
	if (options->request.len)
		return options->request;
	bool is_open = compaction->last == SIZE_MAX && st_own_open_tasks(options->snapshot) > 0;
	return is_open ? st_str(default_request) : ST_STR("");
}

static void build_text(struct compaction *compaction, struct st_buf *text, size_t limit) {
	const struct st_compact_options *options = compaction->options;
	struct st_str none = ST_STR("No state is recorded yet.");
	if (!options->no_snapshot)
		add_section(compaction, text, "Repo Snapshot",
		            options->snapshot.len ? options->snapshot : none, limit / 2);
	add_history(compaction, text);
	struct st_str request = delta_request(compaction);
	if (request.len)
		add_section(compaction, text, "Delta Request", request, limit / 4);
	st_buf_addf(text, "%s%s\n", text->len ? "\n" : "", do_not_recreate);
	if (options->additional.len)
		add_section(compaction, text, "Additional Context", options->additional, limit / 4);
}

/* ---- the whole prompt ---- */

/* Count all replies and results except those of the last exchange. */
static void count_squashed(struct compaction *compaction) {
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		const struct st_unit *unit = &compaction->list.units[i];
		if (i == compaction->exchange || unit->role == ST_ROLE_USER || unit->role == ST_ROLE_SYSTEM)
			continue;
		size_t results = 0;
		compaction->cut.failed |= count_results(compaction, unit, 0, &results, NULL) < 0;
		compaction->report.replies++;
		compaction->report.results += results;
	}
}

/* Fit the system prompt: the template, or the list's own. */
static yyjson_mut_val *fit_system(struct compaction *compaction, size_t limit) {
	st_auto(st_buf) text = ST_BUF_INIT;
	yyjson_mut_val *array = yyjson_mut_arr(compaction->cut.doc);
	if (compaction->options->template.len) {
		st_cut_text(&compaction->cut, &text, compaction->options->template, limit);
		compaction->cut.failed |= text.failed;
		yyjson_mut_arr_append(array, st_own_message(compaction->cut.doc, compaction->list.shape,
		                                            "system", st_buf_str(&text)));
		return array;
	}
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		if (compaction->list.units[i].role != ST_ROLE_SYSTEM)
			continue;
		yyjson_mut_val *fitted =
			st_cut_fit(&compaction->cut, &compaction->list, &compaction->list.units[i], limit);
		subtract(&limit, st_cut_count(&compaction->cut, fitted));
		if (!append(array, fitted))
			return NULL;
	}
	return array;
}

/* Fit the system prompt that is a member beside the list; NULL if there is none. */
static yyjson_mut_val *fit_beside(struct compaction *compaction, size_t limit) {
	yyjson_val *root = yyjson_doc_get_root(compaction->list.doc);
	const char *key = compaction->list.system_key;
	yyjson_val *value = key ? yyjson_obj_get(root, key) : NULL;
	st_auto(st_buf) text = ST_BUF_INIT;
	if (compaction->options->template.len && compaction->list.shape != ST_SHAPE_CHAT) {
		st_cut_text(&compaction->cut, &text, compaction->options->template, limit);
		compaction->cut.failed |= text.failed;
		return st_own_system(compaction->cut.doc, compaction->list.shape, st_buf_str(&text));
	}
	if (!value)
		return NULL;
	yyjson_mut_val *whole = st_cut_value(&compaction->cut, value, limit);
	for (size_t share = limit;
	     whole && st_cut_count(&compaction->cut, whole) > limit && share > ST_CUT_MIN; share /= 2)
		whole = st_cut_value(&compaction->cut, value, share / 2);
	compaction->cut.failed |= !whole;
	return whole;
}

/* Assemble the prompt, with a share of the budget for each part. NULL if memory is short. */
static yyjson_mut_val *assemble(struct compaction *compaction, size_t budget,
                                yyjson_mut_val **beside, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	yyjson_mut_val *list = yyjson_mut_arr(compaction->cut.doc);
	bool is_chat = compaction->list.shape == ST_SHAPE_CHAT;
	size_t ours = st_tokens(compaction->options->snapshot) +
	              st_tokens(compaction->options->additional) +
	              st_tokens(compaction->options->request) + 250;
	size_t left = budget - (ours < budget / 2 ? ours : budget / 2);

	*beside = fit_beside(compaction, left * 3 / 5);
	subtract(&left, st_cut_count(&compaction->cut, *beside));
	yyjson_mut_val *system = is_chat || !compaction->options->template.len
	                             ? fit_system(compaction, left * 3 / 5)
	                             : yyjson_mut_arr(compaction->cut.doc);
	subtract(&left, st_cut_count(&compaction->cut, system));
	yyjson_mut_val *last = yyjson_mut_arr(compaction->cut.doc);
	if (compaction->last != SIZE_MAX)
		last = st_cut_fit(&compaction->cut, &compaction->list,
		                  &compaction->list.units[compaction->last], left * 2 / 3);
	subtract(&left, st_cut_count(&compaction->cut, last));
	yyjson_mut_val *exchange = yyjson_mut_arr(compaction->cut.doc);
	if (compaction->exchange != SIZE_MAX)
		exchange = fit_exchange(compaction, &compaction->list.units[compaction->exchange],
		                        left * 4 / 5, err);
	subtract(&left, st_cut_count(&compaction->cut, exchange));
	yyjson_mut_val *requests = fit_requests(compaction, left);
	build_text(compaction, &text, budget / 2);
	yyjson_mut_val *message =
		st_own_message(compaction->cut.doc, compaction->list.shape, "user", st_buf_str(&text));

	bool last_is_new = compaction->last != SIZE_MAX && compaction->exchange != SIZE_MAX &&
	                   compaction->last > compaction->exchange;
	/* Nothing of ours stands behind the user's last words. */
	bool good = !text.failed && append(list, system) && append(list, requests) &&
	            yyjson_mut_arr_append(list, message) &&
	            append(list, last_is_new ? exchange : last) &&
	            append(list, last_is_new ? last : exchange);
	return good ? list : NULL;
}

static int compact_list(struct compaction *compaction, struct st_buf *out, struct stet_error *err) {
	size_t budget = compaction->budget;
	const struct st_compact_report fresh = compaction->report;
	find_tail(compaction);
	for (int attempt = 0; attempt < 6; attempt++) {
		yyjson_mut_val *beside = NULL;
		compaction->report = fresh;
		compaction->cut.happened = false;
		compaction->cut.dropped_count = 0;
		if (compaction->exchange != SIZE_MAX &&
		    drop_noops(compaction, &compaction->list.units[compaction->exchange], err) < 0)
			return STET_E_NOMEM;
		count_squashed(compaction);
		yyjson_mut_val *list = assemble(compaction, budget, &beside, err);
		yyjson_mut_val *whole =
			list ? st_own_root(compaction->cut.doc, &compaction->list, list, beside) : NULL;
		compaction->report.tokens =
			st_cut_count(&compaction->cut, list) + st_cut_count(&compaction->cut, beside);
		compaction->report.cut = compaction->cut.happened;
		if (!whole || compaction->cut.failed)
			return st_fail_nomem(err);
		if (compaction->report.tokens <= compaction->budget || attempt == 5)
			return st_json_write(compaction->cut.doc, whole, out, err);
		subtract(&budget, compaction->report.tokens - compaction->budget + budget / 50);
	}
	return 0;
}

int st_compact(struct st_str messages, const struct st_compact_options *options, struct st_buf *out,
               struct st_compact_report *report, struct stet_error *err) {
	struct st_hash hash;
	struct compaction compaction = {.options = options};
	unsigned percent = options->percent ? options->percent : 100;
	size_t budget = options->budget ? options->budget : ST_COMPACT_BUDGET;
	/* A margin, because the estimate may be too low. */
	compaction.budget = budget * 98 / percent;
	if (compaction.budget < ST_COMPACT_BUDGET_MIN)
		compaction.budget = ST_COMPACT_BUDGET_MIN;
	int code = st_messages_read(&compaction.list, messages, options->shape, err);
	if (code == 0)
		code = st_hash_of(messages, &hash, err);
	if (code < 0) {
		st_messages_release(&compaction.list);
		return code;
	}
	st_hash_hex(&hash, compaction.report.archive, ST_HASH_SHORT);
	compaction.cut.archive = options->archived ? compaction.report.archive : "";
	compaction.cut.doc = yyjson_mut_doc_new(NULL);
	if (compaction.cut.doc)
		yyjson_mut_doc_set_root(compaction.cut.doc, yyjson_mut_null(compaction.cut.doc));
	code = compaction.cut.doc ? compact_list(&compaction, out, err) : st_fail_nomem(err);
	if (report)
		*report = compaction.report;
	st_cut_release(&compaction.cut);
	yyjson_mut_doc_free(compaction.cut.doc);
	st_messages_release(&compaction.list);
	return code;
}
