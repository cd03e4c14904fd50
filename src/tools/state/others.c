/* The tool others: who works on the same repository elsewhere, and what merges. */
#include "base/plural.h"
#include "base/quote.h"
#include "core/places/answers.h"
#include "tools/render.h"

static struct st_str text_of(yyjson_mut_val *object, const char *key) {
	yyjson_mut_val *value = yyjson_mut_obj_get(object, key);
	return value && yyjson_mut_is_str(value)
	           ? st_strn(yyjson_mut_get_str(value), yyjson_mut_get_len(value))
	           : st_str("");
}

static uint64_t number_of(yyjson_mut_val *object, const char *key) {
	return yyjson_mut_get_uint(yyjson_mut_obj_get(object, key));
}

static bool is_set(yyjson_mut_val *object, const char *key) {
	return yyjson_mut_get_bool(yyjson_mut_obj_get(object, key));
}

static void add_ago(struct st_buf *out, yyjson_mut_val *object) {
	st_add_ago(out, (int64_t)number_of(object, "secondsAgo"));
}

/* ---- who ---- */

/* ", line 5" or ", lines 5-7,12". */
static void add_lines(struct st_buf *out, yyjson_mut_val *file) {
	yyjson_mut_val *lines = yyjson_mut_obj_get(file, "lines");
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(lines);
	yyjson_mut_val *first = yyjson_mut_arr_get_first(lines);
	if (!first)
		return;
	bool one = yyjson_mut_arr_size(lines) == 1 &&
	           number_of(first, "start") == number_of(first, "end");
	const char *comma = one ? ", line " : ", lines ";
	for (yyjson_mut_val *span; (span = yyjson_mut_arr_iter_next(&items));) {
		uint64_t start = number_of(span, "start"), end = number_of(span, "end");
		st_buf_addf(out, "%s%llu", comma, (unsigned long long)start);
		if (end > start)
			st_buf_addf(out, "-%llu", (unsigned long long)end);
		comma = ",";
	}
	if (is_set(file, "linesLeftOut"))
		st_buf_adds(out, ",...");
}

static void add_file(struct st_buf *out, yyjson_mut_val *file) {
	st_buf_adds(out, "  ");
	st_quote_name(out, text_of(file, "path"));
	st_buf_adds(out, ": ");
	st_buf_add(out, text_of(file, "change"));
	if (text_of(file, "from").len) {
		st_buf_adds(out, " from ");
		st_quote_name(out, text_of(file, "from"));
	}
	st_buf_adds(out, " by ");
	st_quote_name_max(out, text_of(file, "by"), 100);
	st_buf_adds(out, " ");
	add_ago(out, file);
	add_lines(out, file);
	st_buf_adds(out, is_set(file, "editing") ? "; being edited\n" : "\n");
}

/* "/src/hello, on main (here)". */
static void add_place_name(struct st_buf *out, yyjson_mut_val *place) {
	struct st_str branch = text_of(place, "branch");
	st_quote_name(out, text_of(place, "path"));
	st_buf_adds(out, branch.len ? ", on " : ", on no branch");
	if (branch.len)
		st_quote_name_max(out, branch, 100);
	st_buf_adds(out, is_set(place, "here") ? " (here)" : "");
	st_buf_adds(out, is_set(place, "otherMachine") ? " (another machine)" : "");
}

static void add_place(struct st_buf *out, yyjson_mut_val *place) {
	yyjson_mut_arr_iter agents = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(place, "agents"));
	yyjson_mut_arr_iter files = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(place, "files"));
	uint64_t left_out = number_of(place, "filesLeftOut");
	add_place_name(out, place);
	st_buf_addc(out, '\n');
	for (yyjson_mut_val *agent; (agent = yyjson_mut_arr_iter_next(&agents));) {
		st_buf_adds(out, "  ");
		st_quote_name_max(out, text_of(agent, "name"), 100);
		st_buf_adds(out, ", active ");
		add_ago(out, agent);
		st_buf_addc(out, '\n');
	}
	for (yyjson_mut_val *file; (file = yyjson_mut_arr_iter_next(&files));)
		add_file(out, file);
	if (left_out > 0)
		st_buf_addf(out, "  ... and %llu more %s\n", (unsigned long long)left_out,
		            st_plural(left_out, "file", "files"));
}

static void add_who(struct st_call *call) {
	yyjson_mut_val *places = yyjson_mut_obj_get(call->result, "places");
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(places);
	if (text_of(call->result, "repository").len == 0)
		st_buf_adds(&call->text, "This directory is in no git repository: it has no other places.\n");
	else if (yyjson_mut_arr_size(places) == 0)
		st_buf_adds(&call->text, "No agent was active in any checkout of this repository yet.\n");
	for (yyjson_mut_val *place; (place = yyjson_mut_arr_iter_next(&items));)
		add_place(&call->text, place);
}

static int run_others(struct st_call *call, struct stet_error *err) {
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	int code = st_who_fill(call->session->ws->places, call->doc, call->result, err);
	if (code == 0)
		add_who(call);
	return code;
}

const struct st_tool st_others = {
	.name = "others",
	.title = "Other places",
	.description =
		"Who works in other checkouts (worktrees, clones) of this repository, and what they changed.",
	.params = (const struct st_param[]){ST_PARAM_SESSION, ST_PARAMS_END},
	.output_schema = ST_OUTPUT("\"repository\":{\"type\":[\"string\",\"null\"]},"
	                           "\"here\":{\"type\":\"integer\"},"
	                           "\"places\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_ALL,
	.run = run_others,
};
