#include "core/prompt/compact.h"

#include <limits.h>

#include "base/plural.h"
#include "text/tokens/tokens.h"

/* The first line of our own message, to recognise it in a later history. */
static const char mark[] = "[Repo Snapshot]\n";

static const char default_request[] =
	"Your plan has been approved. Complete the remaining open tasks and invoke 'done' when "
	"finished.";

static const char do_not_recreate[] =
	"DO NOT recreate files that already exist. Use read_file to verify state before writing.";

/* No text is cut to fewer tokens: a few words and the mark. */
enum { CUT_MIN = 48 };

struct compaction {
	const struct st_compact_options *options;
	struct st_messages list;
	struct st_compact_report report;
	size_t budget;
	yyjson_mut_doc *doc;
	/** Memory ran out. */
	bool failed;
	/** The ids of calls that are dropped with their results, sorted. */
	struct st_str *dropped;
	size_t dropped_count;
	/** The units of the last exchange and of the user's last request; SIZE_MAX for none. */
	size_t exchange;
	size_t last;
};

/* ---- cutting ---- */

/* The index of an id among the dropped ones, or where to insert it. */
static size_t place_of(const struct compaction *compaction, struct st_str id) {
	size_t low = 0, high = compaction->dropped_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (st_str_cmp(compaction->dropped[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_dropped(const struct compaction *compaction, struct st_str id) {
	size_t place = id.len ? place_of(compaction, id) : compaction->dropped_count;
	return place < compaction->dropped_count && st_str_eq(compaction->dropped[place], id);
}

/* The longest suffix of a text with at most so many tokens; reads only as much as that needs. */
static struct st_str longest_suffix(struct st_str text, size_t tokens) {
	size_t window = tokens * 64;
	size_t from = text.len > window ? text.len - window : 0;
	while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
		from++;
	struct st_str end = st_str_slice(text, from, text.len);
	size_t len = st_tokens_suffix(end, tokens);
	return st_str_slice(end, end.len - len, end.len);
}

/* Append a text cut to so many tokens: its beginning, a mark that says how much is missing, and its end. */
static void add_cut(struct compaction *compaction, struct st_buf *out, struct st_str text,
                    size_t tokens) {
	size_t room = tokens > CUT_MIN ? tokens - CUT_MIN / 2 : CUT_MIN / 2;
	size_t head = st_tokens_prefix(text, tokens);
	if (head == text.len) {
		st_buf_add(out, text);
		return;
	}
	head = st_tokens_prefix(text, room * 2 / 3);
	struct st_str tail = longest_suffix(st_str_slice(text, head, text.len), room / 3);
	st_buf_add(out, st_str_slice(text, 0, head));
	st_buf_addf(out, " [... %zu of %zu bytes cut; archive %s ...] ", text.len - head - tail.len,
	            text.len, compaction->report.archive);
	st_buf_add(out, tail);
	compaction->report.cut = true;
}

static yyjson_mut_val *copy_value(struct compaction *compaction, yyjson_val *value, const char *key,
                                  size_t tokens);

/* The arguments of a call are JSON in a string, and must stay valid JSON. */
static yyjson_mut_val *copy_arguments(struct compaction *compaction, struct st_str text,
                                      size_t tokens) {
	st_auto(st_buf) out = ST_BUF_INIT;
	yyjson_doc *doc = NULL;
	yyjson_mut_val *value = NULL;
	if (st_tokens_prefix(text, tokens) == text.len)
		return yyjson_mut_strncpy(compaction->doc, text.ptr, text.len);
	int parsed = st_json_parse(text, "The arguments", &doc, NULL);
	compaction->failed |= parsed == STET_E_NOMEM;
	if (parsed == 0)
		value = copy_value(compaction, yyjson_doc_get_root(doc), "", tokens);
	compaction->failed |= parsed == 0 && !value;
	if (!value) {
		add_cut(compaction, &out, text, tokens);
		value = yyjson_mut_obj(compaction->doc);
		st_json_add_text(compaction->doc, value, "cut", st_buf_str(&out));
		st_buf_clear(&out);
	}
	int code = st_json_write(compaction->doc, value, &out, NULL);
	yyjson_doc_free(doc);
	compaction->failed |= code < 0;
	return code < 0 ? NULL : st_json_text(compaction->doc, st_buf_str(&out));
}

/* Whether a member identifies or classifies a message, and so must not be cut. */
static bool is_structural(const char *key) {
	static const char *const names[] = {"id",   "call_id", "tool_use_id", "tool_call_id", "type",
	                                    "role", "name",    "status",      "is_error"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(key, names[i]) == 0)
			return true;
	}
	return false;
}

static yyjson_mut_val *copy_text(struct compaction *compaction, yyjson_val *value, const char *key,
                                 size_t tokens) {
	struct st_str text = st_json_str(value);
	if (strcmp(key, "arguments") == 0)
		return copy_arguments(compaction, text, tokens);
	if (is_structural(key) && text.len < 512)
		return yyjson_mut_strncpy(compaction->doc, text.ptr, text.len);
	st_auto(st_buf) out = ST_BUF_INIT;
	add_cut(compaction, &out, text, tokens);
	return out.failed ? NULL : st_json_text(compaction->doc, st_buf_str(&out));
}

/* Whether a part would break if it were cut: images, and signed or encrypted reasoning. */
static bool is_uncuttable(yyjson_val *part) {
	static const char *const keys[] = {"source",    "image_url",         "file",       "file_data",
	                                   "signature", "encrypted_content", "input_audio"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (yyjson_obj_get(part, keys[i]))
			return true;
	}
	return yyjson_equals_str(yyjson_obj_get(part, "type"), "redacted_thinking");
}

static yyjson_mut_val *copy_uncuttable(struct compaction *compaction, yyjson_val *part,
                                       size_t tokens) {
	size_t len = 0;
	char *json = yyjson_val_write(part, 0, &len);
	if (!json)
		return NULL;
	bool fits = st_tokens_prefix(st_strn(json, len), tokens) == len;
	free(json);
	if (fits)
		return yyjson_val_mut_copy(compaction->doc, part);
	char note[128];
	struct st_str type = st_json_str(yyjson_obj_get(part, "type"));
	snprintf(note, sizeof note, "[%.*s of %zu bytes left out; archive %s]",
	         (int)(type.len < 40 ? type.len : 40), type.ptr, len, compaction->report.archive);
	yyjson_mut_val *text = yyjson_mut_obj(compaction->doc);
	bool input = st_str_starts(type, ST_STR("input_"));
	st_json_add_text(compaction->doc, text, "type", st_str(input ? "input_text" : "text"));
	st_json_add_text(compaction->doc, text, "text", st_str(note));
	compaction->report.cut = true;
	return text;
}

static yyjson_mut_val *copy_object(struct compaction *compaction, yyjson_val *value,
                                   size_t tokens) {
	yyjson_val *key, *member;
	size_t i, max;
	if (is_uncuttable(value))
		return copy_uncuttable(compaction, value, tokens);
	yyjson_mut_val *object = yyjson_mut_obj(compaction->doc);
	yyjson_obj_foreach(value, i, max, key, member) {
		yyjson_mut_val *name =
			yyjson_mut_strncpy(compaction->doc, yyjson_get_str(key), yyjson_get_len(key));
		yyjson_mut_val *there = copy_value(compaction, member, yyjson_get_str(key), tokens);
		if (!name || !there || !yyjson_mut_obj_add(object, name, there))
			return NULL;
	}
	return object;
}

static yyjson_mut_val *copy_array(struct compaction *compaction, yyjson_val *value, const char *key,
                                  size_t tokens) {
	yyjson_val *element;
	size_t i, max;
	yyjson_mut_val *array = yyjson_mut_arr(compaction->doc);
	yyjson_arr_foreach(value, i, max, element) {
		if (is_dropped(compaction, st_messages_call_id(element)) ||
		    is_dropped(compaction, st_messages_result_id(element)))
			continue;
		yyjson_mut_val *there = copy_value(compaction, element, key, tokens);
		if (!there || !yyjson_mut_arr_append(array, there))
			return NULL;
	}
	return array;
}

/* Copy a value, with each text in it cut to so many tokens. Recurses at most ST_JSON_DEPTH levels. */
static yyjson_mut_val *copy_value(struct compaction *compaction, yyjson_val *value, const char *key,
                                  size_t tokens) {
	if (yyjson_is_str(value))
		return copy_text(compaction, value, key, tokens);
	if (yyjson_is_obj(value))
		return copy_object(compaction, value, tokens);
	if (yyjson_is_arr(value))
		return copy_array(compaction, value, key, tokens);
	return yyjson_val_mut_copy(compaction->doc, value);
}

/* ---- fitting a unit into a budget ---- */

/* The tokens of a value as JSON; 0 for NULL. */
static size_t count_tokens(struct compaction *compaction, yyjson_mut_val *value) {
	st_auto(st_buf) out = ST_BUF_INIT;
	if (!value)
		return 0;
	compaction->failed |= st_json_write(compaction->doc, value, &out, NULL) < 0;
	return st_tokens(st_buf_str(&out));
}

static void subtract(size_t *left, size_t cost) {
	*left -= cost < *left ? cost : *left;
}

/* Whether all calls or parts of a message were dropped. */
static bool is_empty(yyjson_mut_val *message, yyjson_val *original) {
	yyjson_mut_val *calls = yyjson_mut_obj_get(message, "tool_calls");
	yyjson_mut_val *content = yyjson_mut_obj_get(message, "content");
	if (calls && yyjson_mut_arr_size(calls) == 0) {
		yyjson_mut_obj_remove_key(message, "tool_calls");
		return !content || yyjson_mut_is_null(content) || yyjson_mut_equals_str(content, "");
	}
	return yyjson_mut_is_arr(content) && yyjson_mut_arr_size(content) == 0 &&
	       yyjson_arr_size(yyjson_obj_get(original, "content")) > 0;
}

/* Copy the messages of a unit, with each text cut to so many tokens. */
static yyjson_mut_val *copy_unit(struct compaction *compaction, const struct st_unit *unit,
                                 size_t tokens) {
	yyjson_mut_val *array = yyjson_mut_arr(compaction->doc);
	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		yyjson_val *value = compaction->list.items[i].value;
		if (is_dropped(compaction, st_messages_call_id(value)) ||
		    is_dropped(compaction, st_messages_result_id(value)))
			continue;
		yyjson_mut_val *message = copy_value(compaction, value, "", tokens);
		if (!message || !yyjson_mut_is_obj(message))
			return NULL;
		if (!is_empty(message, value) && !yyjson_mut_arr_append(array, message))
			return NULL;
	}
	return array;
}

/* Copy a unit with texts as long as the limit allows. An empty array if even the shortest are too long. */
static yyjson_mut_val *fit_unit(struct compaction *compaction, const struct st_unit *unit,
                                size_t limit) {
	bool was_cut = compaction->report.cut;
	yyjson_mut_val *best = copy_unit(compaction, unit, limit);
	size_t low = CUT_MIN, high = limit;
	compaction->failed |= !best;
	if (!best || count_tokens(compaction, best) <= limit)
		return best;
	best = copy_unit(compaction, unit, CUT_MIN);
	if (!best || count_tokens(compaction, best) > limit) {
		compaction->report.cut = was_cut;
		return best ? yyjson_mut_arr(compaction->doc) : NULL;
	}
	while (high > low + low / 32 + 1) {
		size_t middle = (low + high) / 2;
		yyjson_mut_val *trial = copy_unit(compaction, unit, middle);
		if (!trial)
			return NULL;
		if (count_tokens(compaction, trial) <= limit) {
			best = trial;
			low = middle;
		} else {
			high = middle;
		}
	}
	return best;
}

/* ---- the parts of the prompt ---- */

static bool is_ours(yyjson_val *message) {
	yyjson_val *content = yyjson_obj_get(message, "content");
	if (yyjson_is_arr(content))
		content = yyjson_obj_get(yyjson_arr_get_first(content), "text");
	return st_str_starts(st_json_str(content), st_str(mark));
}

static int drop_call(struct compaction *compaction, struct st_str id, struct stet_error *err) {
	struct st_str *dropped =
		reallocarray(compaction->dropped, compaction->dropped_count + 1, sizeof *dropped);
	if (!dropped)
		return st_fail_nomem(err);
	compaction->dropped = dropped;
	size_t place = place_of(compaction, id);
	memmove(&dropped[place + 1], &dropped[place],
	        (compaction->dropped_count++ - place) * sizeof id);
	dropped[place] = id;
	return 0;
}

static int drop_if_noop(struct compaction *compaction, yyjson_val *result, struct stet_error *err) {
	struct st_str id = st_messages_result_id(result);
	if (id.len == 0 || !st_messages_is_noop(result))
		return 0;
	compaction->report.noops++;
	return drop_call(compaction, id, err);
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
	if (id.len == 0 || is_dropped(compaction, id))
		return 0;
	return ++*count <= drop_first ? drop_call(compaction, id, err) : 0;
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
	yyjson_mut_val *array = fit_unit(compaction, unit, limit);
	size_t left = 0;
	compaction->failed |= count_results(compaction, unit, 0, &left, err) < 0;
	while (array && yyjson_mut_arr_size(array) == 0 && left > 1) {
		size_t half = (left + 1) / 2;
		if (count_results(compaction, unit, half, &left, err) < 0)
			return NULL;
		left -= half;
		compaction->report.results += half;
		array = fit_unit(compaction, unit, limit);
	}
	return array;
}

static void find_tail(struct compaction *compaction) {
	compaction->exchange = SIZE_MAX;
	compaction->last = SIZE_MAX;
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		const struct st_unit *unit = &compaction->list.units[i];
		bool ours = is_ours(compaction->list.items[unit->first].value);
		if (unit->role == ST_ROLE_MODEL || unit->role == ST_ROLE_RESULT)
			compaction->exchange = i;
		if (unit->role == ST_ROLE_USER && !ours)
			compaction->last = i;
	}
}

static bool is_request(const struct compaction *compaction, size_t i) {
	const struct st_unit *unit = &compaction->list.units[i];
	return unit->role == ST_ROLE_USER && i != compaction->last &&
	       !is_ours(compaction->list.items[unit->first].value);
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
	if (!is_request(compaction, i) || share <= CUT_MIN)
		return NULL;
	yyjson_mut_val *fitted = fit_unit(compaction, &compaction->list.units[i], share);
	subtract(left, count_tokens(compaction, fitted));
	return fitted;
}

/* Fit the first request, then the newest ones while there is room; returns them in their order. */
static yyjson_mut_val *fit_requests(struct compaction *compaction, size_t left) {
	size_t count = compaction->list.unit_count;
	size_t first = 0;
	yyjson_mut_val *array = yyjson_mut_arr(compaction->doc);
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
	if (!report->replies && !report->results && !report->requests && !report->noops && !report->cut)
		return;
	st_buf_addf(
		text,
		"\n[History]\nLeft out here: %zu earlier %s, %zu tool %s, %zu %s; %zu %s that changed "
		"nothing. The state above is what came of them. Archive: %s\n",
		report->replies, st_plural(report->replies, "reply", "replies"), report->results,
		st_plural(report->results, "result", "results"), report->requests,
		st_plural(report->requests, "request", "requests"), report->noops,
		st_plural(report->noops, "call", "calls"), report->archive);
}

static void add_section(struct compaction *compaction, struct st_buf *text, const char *title,
                        struct st_str body, size_t tokens) {
	st_buf_addf(text, "%s[%s]\n", text->len ? "\n" : "", title);
	add_cut(compaction, text, body, tokens);
	if (!text->failed && text->ptr[text->len - 1] != '\n')
		st_buf_addc(text, '\n');
}

static void build_text(struct compaction *compaction, struct st_buf *text, size_t limit) {
	const struct st_compact_options *options = compaction->options;
	struct st_str none = ST_STR("No state is recorded yet.");
	if (!options->no_snapshot)
		add_section(compaction, text, "Repo Snapshot",
		            options->snapshot.len ? options->snapshot : none, limit / 2);
	add_history(compaction, text);
	add_section(compaction, text, "Delta Request",
	            options->request.len ? options->request : st_str(default_request), limit / 4);
	st_buf_addf(text, "\n%s\n", do_not_recreate);
	if (options->additional.len)
		add_section(compaction, text, "Additional Context", options->additional, limit / 4);
}

static yyjson_mut_val *new_message(struct compaction *compaction, const char *role,
                                   struct st_str text) {
	yyjson_mut_val *message = yyjson_mut_obj(compaction->doc);
	st_json_add_text(compaction->doc, message, "role", st_str(role));
	st_json_add_text(compaction->doc, message, "content", text);
	return message;
}

/* ---- the whole prompt ---- */

/* Count all replies and results except those of the last exchange. */
static void count_squashed(struct compaction *compaction) {
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		const struct st_unit *unit = &compaction->list.units[i];
		if (i == compaction->exchange || unit->role == ST_ROLE_USER || unit->role == ST_ROLE_SYSTEM)
			continue;
		size_t results = 0;
		compaction->failed |= count_results(compaction, unit, 0, &results, NULL) < 0;
		compaction->report.replies++;
		compaction->report.results += results;
	}
}

/* Fit the system prompt: the template, or the list's own. */
static yyjson_mut_val *fit_system(struct compaction *compaction, size_t limit) {
	st_auto(st_buf) text = ST_BUF_INIT;
	yyjson_mut_val *array = yyjson_mut_arr(compaction->doc);
	if (compaction->options->template.len) {
		add_cut(compaction, &text, compaction->options->template, limit);
		compaction->failed |= text.failed;
		yyjson_mut_arr_append(array, new_message(compaction, "system", st_buf_str(&text)));
		return array;
	}
	for (size_t i = 0; i < compaction->list.unit_count; i++) {
		if (compaction->list.units[i].role != ST_ROLE_SYSTEM)
			continue;
		yyjson_mut_val *fitted = fit_unit(compaction, &compaction->list.units[i], limit);
		subtract(&limit, count_tokens(compaction, fitted));
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
		add_cut(compaction, &text, compaction->options->template, limit);
		compaction->failed |= text.failed;
		return st_json_text(compaction->doc, st_buf_str(&text));
	}
	if (!value)
		return NULL;
	yyjson_mut_val *whole = copy_value(compaction, value, "", limit);
	for (size_t share = limit; whole && count_tokens(compaction, whole) > limit && share > CUT_MIN;
	     share /= 2)
		whole = copy_value(compaction, value, "", share / 2);
	compaction->failed |= !whole;
	return whole;
}

/* Assemble the prompt, with a share of the budget for each part. NULL if memory is short. */
static yyjson_mut_val *assemble(struct compaction *compaction, size_t budget,
                                yyjson_mut_val **beside, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	yyjson_mut_val *list = yyjson_mut_arr(compaction->doc);
	bool is_chat = compaction->list.shape == ST_SHAPE_CHAT;
	size_t ours = st_tokens(compaction->options->snapshot) +
	              st_tokens(compaction->options->additional) +
	              st_tokens(compaction->options->request) + 250;
	size_t left = budget - (ours < budget / 2 ? ours : budget / 2);

	*beside = fit_beside(compaction, left * 3 / 5);
	subtract(&left, count_tokens(compaction, *beside));
	yyjson_mut_val *system = is_chat || !compaction->options->template.len
	                             ? fit_system(compaction, left * 3 / 5)
	                             : yyjson_mut_arr(compaction->doc);
	subtract(&left, count_tokens(compaction, system));
	yyjson_mut_val *last = yyjson_mut_arr(compaction->doc);
	if (compaction->last != SIZE_MAX)
		last = fit_unit(compaction, &compaction->list.units[compaction->last], left * 2 / 3);
	subtract(&left, count_tokens(compaction, last));
	yyjson_mut_val *exchange = yyjson_mut_arr(compaction->doc);
	if (compaction->exchange != SIZE_MAX)
		exchange = fit_exchange(compaction, &compaction->list.units[compaction->exchange],
		                        left * 4 / 5, err);
	subtract(&left, count_tokens(compaction, exchange));
	yyjson_mut_val *requests = fit_requests(compaction, left);
	build_text(compaction, &text, budget / 2);
	yyjson_mut_val *message = new_message(compaction, "user", st_buf_str(&text));

	bool last_is_new = compaction->last != SIZE_MAX && compaction->exchange != SIZE_MAX &&
	                   compaction->last > compaction->exchange;
	bool good = !text.failed && append(list, system) && append(list, requests) &&
	            (last_is_new || append(list, last)) && yyjson_mut_arr_append(list, message) &&
	            append(list, exchange) && (!last_is_new || append(list, last));
	return good ? list : NULL;
}

/* The original root with the new list in it, or the list alone. */
static yyjson_mut_val *wrap_list(struct compaction *compaction, yyjson_mut_val *list,
                                 yyjson_mut_val *beside) {
	const char *key = compaction->list.system_key;
	yyjson_val *root = yyjson_doc_get_root(compaction->list.doc), *name, *member;
	yyjson_mut_val *whole = yyjson_mut_obj(compaction->doc);
	size_t i, max;
	bool responses = compaction->list.shape == ST_SHAPE_RESPONSES;
	if (!compaction->list.list_key && !beside)
		return list;
	if (beside && !key) {
		key = responses ? "instructions" : "system";
		st_json_add(compaction->doc, whole, key, beside);
	}
	if (!compaction->list.list_key) {
		st_json_add(compaction->doc, whole, responses ? "input" : "messages", list);
		return whole;
	}
	yyjson_obj_foreach(root, i, max, name, member) {
		bool is_list = yyjson_equals_str(name, compaction->list.list_key);
		bool is_system = beside && yyjson_equals_str(name, key);
		yyjson_mut_val *value = is_list     ? list
		                        : is_system ? beside
		                                    : yyjson_val_mut_copy(compaction->doc, member);
		if (!value || !yyjson_mut_obj_add(whole, yyjson_val_mut_copy(compaction->doc, name), value))
			return NULL;
	}
	return whole;
}

static int compact_list(struct compaction *compaction, struct st_buf *out, struct stet_error *err) {
	size_t budget = compaction->budget;
	const struct st_compact_report fresh = compaction->report;
	find_tail(compaction);
	for (int attempt = 0; attempt < 6; attempt++) {
		yyjson_mut_val *beside = NULL;
		compaction->report = fresh;
		compaction->dropped_count = 0;
		if (compaction->exchange != SIZE_MAX &&
		    drop_noops(compaction, &compaction->list.units[compaction->exchange], err) < 0)
			return STET_E_NOMEM;
		count_squashed(compaction);
		yyjson_mut_val *list = assemble(compaction, budget, &beside, err);
		yyjson_mut_val *whole = list ? wrap_list(compaction, list, beside) : NULL;
		compaction->report.tokens =
			count_tokens(compaction, list) + count_tokens(compaction, beside);
		if (!whole || compaction->failed)
			return st_fail_nomem(err);
		if (compaction->report.tokens <= compaction->budget || attempt == 5)
			return st_json_write(compaction->doc, whole, out, err);
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
	compaction.doc = yyjson_mut_doc_new(NULL);
	if (compaction.doc)
		yyjson_mut_doc_set_root(compaction.doc, yyjson_mut_null(compaction.doc));
	code = compaction.doc ? compact_list(&compaction, out, err) : st_fail_nomem(err);
	if (report)
		*report = compaction.report;
	free(compaction.dropped);
	yyjson_mut_doc_free(compaction.doc);
	st_messages_release(&compaction.list);
	return code;
}
