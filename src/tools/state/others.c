/* The tool others: who works on the same repository elsewhere, and what merges. */
#include <limits.h>

#include "base/plural.h"
#include "base/quote.h"
#include "core/places/answers.h"
#include "text/lines/lines.h"
#include "tools/host.h"
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
	bool one =
		yyjson_mut_arr_size(lines) == 1 && number_of(first, "start") == number_of(first, "end");
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

/* A name that was chosen at a place. */
static void add_name(struct st_buf *out, yyjson_mut_val *place, struct st_str name, size_t max) {
	(is_set(place, "otherMachine") ? st_quote_foreign : st_quote_name_max)(out, name, max);
}

static void add_file(struct st_buf *out, yyjson_mut_val *place, yyjson_mut_val *file) {
	st_buf_adds(out, "  ");
	add_name(out, place, text_of(file, "path"), PATH_MAX);
	st_buf_adds(out, ": ");
	st_buf_add(out, text_of(file, "change"));
	if (text_of(file, "from").len) {
		st_buf_adds(out, " from ");
		add_name(out, place, text_of(file, "from"), PATH_MAX);
	}
	st_buf_adds(out, " by ");
	add_name(out, place, text_of(file, "by"), 100);
	st_buf_adds(out, " ");
	add_ago(out, file);
	add_lines(out, file);
	st_buf_adds(out, is_set(file, "editing") ? "; being edited\n" : "\n");
}

/* "/src/hello, on main (here)". */
static void add_place_name(struct st_buf *out, yyjson_mut_val *place) {
	struct st_str branch = text_of(place, "branch");
	add_name(out, place, text_of(place, "path"), PATH_MAX);
	st_buf_adds(out, branch.len ? ", on " : ", on no branch");
	if (branch.len)
		add_name(out, place, branch, 100);
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
		add_name(out, place, text_of(agent, "name"), 100);
		st_buf_adds(out, ", active ");
		add_ago(out, agent);
		st_buf_addc(out, '\n');
	}
	for (yyjson_mut_val *file; (file = yyjson_mut_arr_iter_next(&files));)
		add_file(out, place, file);
	if (left_out > 0)
		st_buf_addf(out, "  ... and %llu more %s\n", (unsigned long long)left_out,
		            st_plural(left_out, "file", "files"));
}

static void add_who(struct st_call *call) {
	yyjson_mut_val *places = yyjson_mut_obj_get(call->result, "places");
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(places);
	if (text_of(call->result, "repository").len == 0)
		st_buf_adds(
			&call->text,
			"This directory is in no checkout of a git repository: it has no other places.\n");
	else if (yyjson_mut_arr_size(places) == 0)
		st_buf_adds(&call->text, "No agent was active in any checkout of this repository yet.\n");
	for (yyjson_mut_val *place; (place = yyjson_mut_arr_iter_next(&items));)
		add_place(&call->text, place);
}

/* ---- the forecast ---- */

static yyjson_mut_val *find_place(struct st_call *call, uint64_t id) {
	yyjson_mut_arr_iter items =
		yyjson_mut_arr_iter_with(yyjson_mut_obj_get(call->result, "places"));
	for (yyjson_mut_val *place; (place = yyjson_mut_arr_iter_next(&items));) {
		if (number_of(place, "id") == id)
			return place;
	}
	return NULL;
}

/* A mark before each line, as in a diff. */
static void add_marked(struct st_buf *out, char mark, yyjson_mut_val *side) {
	struct st_str rest = text_of(side, "text");
	while (rest.len > 0) {
		size_t len = st_lf_next(rest, 0);
		struct st_str line = st_str_slice(rest, 0, len);
		st_buf_addf(out, "      %c", mark);
		st_buf_add(out, line);
		if (line.ptr[line.len - 1] != '\n')
			st_buf_addc(out, '\n');
		rest = st_str_slice(rest, len, rest.len);
	}
	if (is_set(side, "cut"))
		st_buf_addf(out, "      %c...\n", mark);
}

static void add_overlap(struct st_buf *out, yyjson_mut_val *overlap) {
	yyjson_mut_val *a = yyjson_mut_obj_get(overlap, "a"), *b = yyjson_mut_obj_get(overlap, "b");
	st_buf_addf(out, "    < line %llu, > line %llu:\n", (unsigned long long)number_of(a, "start"),
	            (unsigned long long)number_of(b, "start"));
	add_marked(out, '<', a);
	add_marked(out, '>', b);
}

static void add_forecast_file(struct st_buf *out, yyjson_mut_val *file) {
	yyjson_mut_arr_iter overlaps = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(file, "overlaps"));
	struct st_str why = text_of(file, "why");
	struct st_str renamed = text_of(file, "renamedInA");
	if (renamed.len == 0)
		renamed = text_of(file, "renamedInB");
	st_buf_adds(out, "  ");
	st_quote_name(out, text_of(file, "path"));
	if (renamed.len) {
		st_buf_adds(out, " (renamed to ");
		st_quote_name(out, renamed);
		st_buf_adds(out, ")");
	}
	st_buf_adds(out, why.len ? " " : ": ");
	if (why.len)
		st_buf_add(out, why);
	else
		st_buf_add(out, text_of(file, "verdict"));
	st_buf_adds(out, "\n");
	for (yyjson_mut_val *overlap; (overlap = yyjson_mut_arr_iter_next(&overlaps));)
		add_overlap(out, overlap);
}

static void add_verdict(struct st_buf *out, yyjson_mut_val *pair) {
	struct st_str verdict = text_of(pair, "verdict");
	bool none = yyjson_mut_arr_size(yyjson_mut_obj_get(pair, "files")) == 0;
	if (st_str_eq(verdict, ST_STR("unknown")) && text_of(pair, "why").len) {
		st_buf_adds(out, ": not known. ");
		st_buf_add(out, text_of(pair, "why"));
	} else if (st_str_eq(verdict, ST_STR("merges")) && none) {
		st_buf_adds(out, ": merges; no file is changed in both");
	} else {
		st_buf_adds(out, ": ");
		st_buf_add(out, verdict);
	}
}

static void add_pair(struct st_call *call, yyjson_mut_val *pair) {
	yyjson_mut_val *a = find_place(call, number_of(pair, "a"));
	yyjson_mut_val *b = find_place(call, number_of(pair, "b"));
	yyjson_mut_arr_iter files = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(pair, "files"));
	uint64_t left_out = number_of(pair, "filesLeftOut");
	if (a && !is_set(a, "here")) {
		add_place_name(&call->text, a);
		st_buf_adds(&call->text, " <- ");
	}
	add_place_name(&call->text, b);
	add_verdict(&call->text, pair);
	st_buf_addc(&call->text, '\n');
	for (yyjson_mut_val *file; (file = yyjson_mut_arr_iter_next(&files));)
		add_forecast_file(&call->text, file);
	if (left_out > 0)
		st_buf_addf(&call->text, "  ... and %llu more %s\n", (unsigned long long)left_out,
		            st_plural(left_out, "file", "files"));
}

static int run_forecast(struct st_call *call, struct stet_error *err) {
	st_auto(st_buf) whole = ST_BUF_INIT;
	struct st_reach reach;
	struct st_forecast_request request = {.all = st_arg_flag(call, "all", false),
	                                      .reach = st_client_reach(call->client, &reach)};
	if (st_arg_str(call, "path").len > 0) {
		const char *path = st_call_path(call, "path", err);
		int code = path ? st_forecast_path(call->session->ws, path, &whole, err) : err->code;
		if (code < 0)
			return code;
		request.path = whole.ptr;
	}
	int code = st_forecast_fill(call->session->ws->places, &request, call->doc, call->result, err);
	yyjson_mut_val *pairs = yyjson_mut_obj_get(call->result, "pairs");
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(pairs);
	if (code < 0)
		return code;
	if (yyjson_mut_arr_size(pairs) == 0)
		st_buf_adds(&call->text,
		            text_of(call->result, "repository").len
		                ? "No agent was active in another checkout of this repository.\n"
		                : "This directory is in no checkout of a git repository: it has no other "
		                  "places.\n");
	for (yyjson_mut_val *pair; (pair = yyjson_mut_arr_iter_next(&items));)
		add_pair(call, pair);
	return 0;
}

static int run_others(struct st_call *call, struct stet_error *err) {
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	if (st_arg_flag(call, "forecast", false))
		return run_forecast(call, err);
	struct st_reach reach;
	int code = st_who_fill(call->session->ws->places, st_client_reach(call->client, &reach),
	                       call->doc, call->result, err);
	if (code == 0)
		add_who(call);
	return code;
}

static const struct st_param params[] = {
	{.name = "forecast",
     .type = ST_PARAM_BOOLEAN,
     .description = "Say whether their changes merge with those here, and where they overlap."},
	{.name = "path",
     .aliases = "filePath file_path",
     .description = "With forecast: only this file."},
	{.name = "all",
     .type = ST_PARAM_BOOLEAN,
     .description = "With forecast: compare all pairs of places, not only those with this one."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_others = {
	.name = "others",
	.title = "Other places",
	.description =
		"Who works in other checkouts (worktrees, clones) of this repository, what they changed, "
		"and whether it merges.",
	.params = params,
	.output_schema = ST_OUTPUT("\"repository\":{\"type\":[\"string\",\"null\"]},"
                               "\"here\":{\"type\":\"integer\"},"
                               "\"places\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"pairs\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.listed = ST_LISTED_ALL,
	.run = run_others,
};
