#include "core/prompt/cut.h"

#include "text/tokens/tokens.h"

/* Replaces a result that a later call supersedes. */
static const char superseded[] = "[superseded: the same call was made again later]";

/* ---- dropped calls ---- */

/* The index of an id among the dropped ones, or where to insert it. */
static size_t place_of(const struct st_cut *cut, struct st_str id) {
	size_t low = 0, high = cut->dropped_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (st_str_cmp(cut->dropped[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool st_cut_is_dropped(const struct st_cut *cut, struct st_str id) {
	size_t place = id.len ? place_of(cut, id) : cut->dropped_count;
	return place < cut->dropped_count && st_str_eq(cut->dropped[place], id);
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

/* ---- cutting ---- */

static void add_archive(const struct st_cut *cut, struct st_buf *out) {
	if (*cut->archive)
		st_buf_addf(out, "; archive %s", cut->archive);
}

void st_cut_text(struct st_cut *cut, struct st_buf *out, struct st_str text, size_t tokens) {
	size_t room = tokens > ST_CUT_MIN ? tokens - ST_CUT_MIN / 2 : ST_CUT_MIN / 2;
	size_t head = st_tokens_prefix(text, tokens);
	if (head == text.len) {
		st_buf_add(out, text);
		return;
	}
	head = st_tokens_prefix(text, room * 2 / 3);
	struct st_str tail = longest_suffix(st_str_slice(text, head, text.len), room / 3);
	st_buf_add(out, st_str_slice(text, 0, head));
	st_buf_addf(out, " [... %zu of %zu bytes cut", text.len - head - tail.len, text.len);
	add_archive(cut, out);
	st_buf_adds(out, " ...] ");
	st_buf_add(out, tail);
	cut->happened = true;
}

static yyjson_mut_val *copy_value(struct st_cut *cut, yyjson_val *value, const char *key,
                                  size_t tokens);

/* The arguments of a call are JSON in a string, and must stay valid JSON. */
static yyjson_mut_val *copy_arguments(struct st_cut *cut, struct st_str text, size_t tokens) {
	st_auto(st_buf) out = ST_BUF_INIT;
	yyjson_doc *doc = NULL;
	yyjson_mut_val *value = NULL;
	if (st_tokens_prefix(text, tokens) == text.len)
		return yyjson_mut_strncpy(cut->doc, text.ptr, text.len);
	int parsed = st_json_parse(text, "The arguments", &doc, NULL);
	cut->failed |= parsed == STET_E_NOMEM;
	if (parsed == 0)
		value = copy_value(cut, yyjson_doc_get_root(doc), "", tokens);
	cut->failed |= parsed == 0 && !value;
	if (!value) {
		st_cut_text(cut, &out, text, tokens);
		value = yyjson_mut_obj(cut->doc);
		st_json_add_text(cut->doc, value, "cut", st_buf_str(&out));
		st_buf_clear(&out);
	}
	int code = st_json_write(cut->doc, value, &out, NULL);
	yyjson_doc_free(doc);
	cut->failed |= code < 0;
	return code < 0 ? NULL : st_json_text(cut->doc, st_buf_str(&out));
}

/* Whether a member identifies or classifies a message, and so must not be cut. */
static bool is_structural(const char *key) {
	static const char *const names[] = {
		"id",   "call_id", "tool_use_id", "tool_call_id", "type",
		"role", "name",    "status",      "is_error",     "thoughtSignature"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(key, names[i]) == 0)
			return true;
	}
	return false;
}

static yyjson_mut_val *copy_text(struct st_cut *cut, yyjson_val *value, const char *key,
                                 size_t tokens) {
	struct st_str text = st_json_str(value);
	if (strcmp(key, "arguments") == 0)
		return copy_arguments(cut, text, tokens);
	if (is_structural(key) && (text.len < 512 || strcmp(key, "thoughtSignature") == 0))
		return yyjson_mut_strncpy(cut->doc, text.ptr, text.len);
	if (cut->collapse && text.len > strlen(superseded))
		return yyjson_mut_str(cut->doc, superseded);
	st_auto(st_buf) out = ST_BUF_INIT;
	st_cut_text(cut, &out, text, tokens);
	return out.failed ? NULL : st_json_text(cut->doc, st_buf_str(&out));
}

/* Whether a part would break if it were cut: images, and signed or encrypted reasoning. */
static bool is_uncuttable(yyjson_val *part) {
	static const char *const keys[] = {"source",      "image_url",  "file",
	                                   "file_data",   "signature",  "encrypted_content",
	                                   "input_audio", "inlineData", "fileData"};
	if (st_messages_is_call(part) || st_messages_is_result(part))
		return false;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (yyjson_obj_get(part, keys[i]))
			return true;
	}
	return yyjson_equals_str(yyjson_obj_get(part, "type"), "redacted_thinking");
}

static yyjson_mut_val *copy_uncuttable(struct st_cut *cut, yyjson_val *part, size_t tokens) {
	size_t len = 0;
	char *json = yyjson_val_write(part, 0, &len);
	if (!json)
		return NULL;
	bool fits = st_tokens_prefix(st_strn(json, len), tokens) == len;
	free(json);
	if (fits)
		return yyjson_val_mut_copy(cut->doc, part);
	st_auto(st_buf) note = ST_BUF_INIT;
	struct st_str type = st_json_str(yyjson_obj_get(part, "type"));
	if (type.len > 40 || type.len == 0)
		type = ST_STR("data");
	st_buf_addf(&note, "[%.*s of %zu bytes left out", (int)type.len, type.ptr, len);
	add_archive(cut, &note);
	st_buf_addc(&note, ']');
	yyjson_mut_val *text = yyjson_mut_obj(cut->doc);
	bool input = st_str_starts(type, ST_STR("input_"));
	/* Gemini's parts have no type. */
	if (yyjson_obj_get(part, "type"))
		st_json_add_text(cut->doc, text, "type", st_str(input ? "input_text" : "text"));
	st_json_add_text(cut->doc, text, "text", st_buf_str(&note));
	cut->failed |= note.failed;
	cut->happened = true;
	return text;
}

struct st_cut_part *st_cut_part_of(const struct st_cut *cut, const yyjson_val *value) {
	size_t low = 0, high = cut->part_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (cut->parts[middle].value == value)
			return &cut->parts[middle];
		if (cut->parts[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Whether a message or a part of one is left out. */
static bool is_left_out(const struct st_cut *cut, yyjson_val *value) {
	const struct st_cut_part *part = st_cut_part_of(cut, value);
	return (part && part->dropped) || st_cut_is_dropped(cut, st_messages_call_id(value)) ||
	       st_cut_is_dropped(cut, st_messages_result_id(value));
}

static yyjson_mut_val *copy_members(struct st_cut *cut, yyjson_val *value, size_t tokens) {
	yyjson_val *key, *member;
	size_t i, max;
	yyjson_mut_val *object = yyjson_mut_obj(cut->doc);
	yyjson_obj_foreach(value, i, max, key, member) {
		if (cut->strip_marks && yyjson_equals_str(key, "cache_control"))
			continue;
		yyjson_mut_val *name =
			yyjson_mut_strncpy(cut->doc, yyjson_get_str(key), yyjson_get_len(key));
		yyjson_mut_val *there = copy_value(cut, member, yyjson_get_str(key), tokens);
		if (!name || !there || !yyjson_mut_obj_add(object, name, there))
			return NULL;
	}
	return object;
}

static yyjson_mut_val *copy_object(struct st_cut *cut, yyjson_val *value, size_t tokens) {
	if (is_uncuttable(value))
		return copy_uncuttable(cut, value, tokens);
	bool is_result = st_messages_is_result(value), was = cut->collapse;
	const struct st_cut_part *part = st_cut_part_of(cut, value);
	if (is_result && cut->result_tokens && cut->result_tokens < tokens)
		tokens = cut->result_tokens;
	cut->collapse |= is_result && part && part->superseded;
	yyjson_mut_val *object = copy_members(cut, value, tokens);
	cut->collapse = was;
	return object;
}

static yyjson_mut_val *copy_array(struct st_cut *cut, yyjson_val *value, const char *key,
                                  size_t tokens) {
	yyjson_val *element;
	size_t i, max;
	yyjson_mut_val *array = yyjson_mut_arr(cut->doc);
	yyjson_arr_foreach(value, i, max, element) {
		if (is_left_out(cut, element))
			continue;
		yyjson_mut_val *there = copy_value(cut, element, key, tokens);
		if (!there || !yyjson_mut_arr_append(array, there))
			return NULL;
	}
	return array;
}

/* Copy a value, with each text in it cut to so many tokens. Recurses at most ST_JSON_DEPTH levels. */
static yyjson_mut_val *copy_value(struct st_cut *cut, yyjson_val *value, const char *key,
                                  size_t tokens) {
	if (yyjson_is_str(value))
		return copy_text(cut, value, key, tokens);
	if (yyjson_is_obj(value))
		return copy_object(cut, value, tokens);
	if (yyjson_is_arr(value))
		return copy_array(cut, value, key, tokens);
	return yyjson_val_mut_copy(cut->doc, value);
}

yyjson_mut_val *st_cut_value(struct st_cut *cut, yyjson_val *value, size_t tokens) {
	return copy_value(cut, value, "", tokens);
}

/* ---- fitting a unit into a budget ---- */

size_t st_cut_count(struct st_cut *cut, yyjson_mut_val *value) {
	st_auto(st_buf) out = ST_BUF_INIT;
	if (!value)
		return 0;
	cut->failed |= st_json_write(cut->doc, value, &out, NULL) < 0;
	return st_tokens(st_buf_str(&out));
}

/* Whether all calls or parts of a message were dropped. */
static bool is_empty(yyjson_mut_val *message, yyjson_val *original) {
	yyjson_mut_val *calls = yyjson_mut_obj_get(message, "tool_calls");
	yyjson_mut_val *content = yyjson_mut_obj_get(message, "content");
	if (!content)
		content = yyjson_mut_obj_get(message, "parts");
	if (calls && yyjson_mut_arr_size(calls) == 0) {
		yyjson_mut_obj_remove_key(message, "tool_calls");
		return yyjson_mut_is_arr(content)
		           ? yyjson_mut_arr_size(content) == 0
		           : !content || yyjson_mut_is_null(content) || yyjson_mut_equals_str(content, "");
	}
	return yyjson_mut_is_arr(content) && yyjson_mut_arr_size(content) == 0 &&
	       yyjson_arr_size(st_messages_parts(original)) > 0;
}

yyjson_mut_val *st_cut_unit(struct st_cut *cut, const struct st_messages *list,
                            const struct st_unit *unit, size_t tokens) {
	yyjson_mut_val *array = yyjson_mut_arr(cut->doc);
	for (size_t i = unit->first; i < unit->first + unit->count; i++) {
		yyjson_val *value = list->items[i].value;
		if (is_left_out(cut, value))
			continue;
		yyjson_mut_val *message = copy_value(cut, value, "", tokens);
		if (!message || !yyjson_mut_is_obj(message))
			return NULL;
		if (!is_empty(message, value) && !yyjson_mut_arr_append(array, message))
			return NULL;
	}
	return array;
}

yyjson_mut_val *st_cut_fit(struct st_cut *cut, const struct st_messages *list,
                           const struct st_unit *unit, size_t limit) {
	bool was_cut = cut->happened;
	yyjson_mut_val *best = st_cut_unit(cut, list, unit, limit);
	size_t low = ST_CUT_MIN, high = limit;
	cut->failed |= !best;
	if (!best || st_cut_count(cut, best) <= limit)
		return best;
	best = st_cut_unit(cut, list, unit, ST_CUT_MIN);
	if (!best || st_cut_count(cut, best) > limit) {
		cut->happened = was_cut;
		return best ? yyjson_mut_arr(cut->doc) : NULL;
	}
	while (high > low + low / 32 + 1) {
		size_t middle = (low + high) / 2;
		yyjson_mut_val *trial = st_cut_unit(cut, list, unit, middle);
		if (!trial)
			return NULL;
		if (st_cut_count(cut, trial) <= limit) {
			best = trial;
			low = middle;
		} else {
			high = middle;
		}
	}
	return best;
}

int st_cut_drop(struct st_cut *cut, struct st_str id, struct stet_error *err) {
	struct st_str *dropped = reallocarray(cut->dropped, cut->dropped_count + 1, sizeof *dropped);
	if (!dropped)
		return st_fail_nomem(err);
	cut->dropped = dropped;
	size_t place = place_of(cut, id);
	memmove(&dropped[place + 1], &dropped[place], (cut->dropped_count++ - place) * sizeof id);
	dropped[place] = id;
	return 0;
}

void st_cut_release(struct st_cut *cut) {
	free(cut->dropped);
	free(cut->parts);
	cut->dropped = NULL;
	cut->parts = NULL;
	cut->dropped_count = cut->part_count = 0;
}
