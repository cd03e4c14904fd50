#include "eval/strategies.h"

#include "core/prompt/epoch.h"
#include "text/tokens/tokens.h"

enum { MASK_LAST = 10, CLEAR_ABOVE = 100000, CLEAR_LAST = 3 };

const char *st_strategy_name(enum st_strategy strategy) {
	static const char *const names[] = {
		"full history", "mask all but the last 10 results", "clear results at 100,000, keep 3",
		"last tokens",  "last exchange in every turn",      "epochs"};
	return names[strategy];
}

bool st_strategy_rewrites(enum st_strategy strategy) {
	return strategy == ST_MASK || strategy == ST_TAIL || strategy == ST_STRICT;
}

static void release_own(struct st_shortener *shortener) {
	for (size_t i = 0; i < shortener->own_count; i++)
		st_passage_release(&shortener->own[i]);
	free(shortener->own);
	shortener->own = NULL;
	shortener->own_count = 0;
}

void st_shortener_release(struct st_shortener *shortener) {
	release_own(shortener);
	free(shortener->prompt);
	free(shortener->before);
	st_buf_release(&shortener->list);
	*shortener = (struct st_shortener){0};
}

/* ---- prompts out of the history's passages ---- */

/* A result without its text. */
static const struct st_passage *stub_of(const struct st_passage *passage) {
	static const struct st_passage stub = {.sum = 1, .tokens = 24, .role = ST_ROLE_RESULT};
	return passage->tokens > stub.tokens ? &stub : passage;
}

/* How many results there are before an index. */
static size_t count_results(const struct st_history *history) {
	size_t count = 0;
	for (size_t i = 0; i < history->count; i++)
		count += history->items[i].role == ST_ROLE_RESULT;
	return count;
}

/* All messages, the first results without their text. */
static void take_all(struct st_shortener *shortener, const struct st_history *history,
                     size_t masked) {
	shortener->tokens = 0;
	for (size_t i = 0; i < history->count; i++) {
		const struct st_passage *passage = &history->items[i];
		if (passage->role == ST_ROLE_RESULT && masked > 0) {
			passage = stub_of(passage);
			masked--;
		}
		shortener->prompt[i] = passage;
		shortener->tokens += passage->tokens;
	}
	shortener->count = history->count;
}

static void clear_results(struct st_shortener *shortener, const struct st_history *history) {
	size_t results = count_results(history);
	take_all(shortener, history, shortener->cleared);
	if (shortener->tokens < CLEAR_ABOVE || results < shortener->cleared + CLEAR_LAST)
		return;
	shortener->cleared = results - CLEAR_LAST;
	take_all(shortener, history, shortener->cleared);
}

static int take_tail(struct st_shortener *shortener, const struct st_history *history,
                     struct stet_error *err) {
	size_t from = history->count, left = shortener->tail;
	while (from > 0 && history->items[from - 1].tokens <= left)
		left -= history->items[--from].tokens;
	shortener->count = 0;
	shortener->tokens = shortener->tail - left;
	if (from > 0 && left > 0) {
		shortener->own = calloc(1, sizeof *shortener->own);
		if (!shortener->own)
			return st_fail_nomem(err);
		shortener->own_count = 1;
		if (st_passage_end(&history->items[from - 1], left, shortener->own, err) < 0)
			return STET_E_NOMEM;
		shortener->prompt[shortener->count++] = shortener->own;
		shortener->tokens += shortener->own->tokens;
	}
	for (; from < history->count; from++)
		shortener->prompt[shortener->count++] = &history->items[from];
	return 0;
}

/* ---- prompts that are JSON ---- */

static int read_prompt(struct st_shortener *shortener, struct st_str json, struct stet_error *err) {
	yyjson_doc *doc = NULL;
	yyjson_val *message;
	size_t i, max;
	int code = st_json_parse(json, "The prompt", &doc, err);
	if (code < 0)
		return code;
	yyjson_val *list = yyjson_doc_get_root(doc);
	size_t count = yyjson_arr_size(list);
	const struct st_passage **prompt =
		reallocarray(shortener->prompt, count + 1, sizeof(struct st_passage *));
	if (prompt)
		shortener->prompt = prompt;
	shortener->own = calloc(count + 1, sizeof *shortener->own);
	if (!prompt || !shortener->own)
		code = st_fail_nomem(err);
	shortener->count = shortener->tokens = 0;
	yyjson_arr_foreach(list, i, max, message) {
		if (code < 0)
			break;
		shortener->own_count++;
		code = st_passage_read(&shortener->own[i], message, err);
		shortener->prompt[shortener->count++] = &shortener->own[i];
		shortener->tokens += shortener->own[i].tokens;
	}
	yyjson_doc_free(doc);
	return code;
}

/* Go on with the list of the last turn, as a host does. */
static int cut_list(struct st_shortener *shortener, const struct st_turn *turn,
                    struct stet_error *err) {
	struct st_buf *list = &shortener->list;
	st_auto(st_buf) next = ST_BUF_INIT;
	const struct st_epoch_options options = {
		.above = shortener->above,
		.to = shortener->to,
		.verified = turn->verified,
		.prompt = {.snapshot = turn->snapshot, .shape = ST_SHAPE_CHAT},
	};
	struct st_str delta = turn->delta;
	if (list->len)
		st_buf_truncate(list, list->len - 1);
	else
		st_buf_addc(list, '[');
	if (delta.len && delta.ptr[0] == ',' && list->len == 1)
		delta = st_str_slice(delta, 1, delta.len);
	st_buf_add(list, delta);
	st_buf_addc(list, ']');
	int code = st_epoch(st_buf_str(list), &options, &next, NULL, err);
	if (code < 0)
		return code;
	shortener->cuts += code == 1;
	st_buf_move(list, &next);
	return list->failed ? st_fail_nomem(err) : read_prompt(shortener, st_buf_str(list), err);
}

/* ---- a turn ---- */

/* Count the tokens that the prompt begins with as the last one did, and remember it. */
static int compare_with_last(struct st_shortener *shortener, struct stet_error *err) {
	bool same = true;
	shortener->cached = 0;
	uint64_t *sums = calloc(shortener->count + 1, sizeof *sums);
	if (!sums)
		return st_fail_nomem(err);
	for (size_t i = 0; i < shortener->count; i++) {
		sums[i] = shortener->prompt[i]->sum;
		same &= i < shortener->before_count && shortener->before[i] == sums[i];
		shortener->cached += same ? shortener->prompt[i]->tokens : 0;
	}
	free(shortener->before);
	shortener->before = sums;
	shortener->before_count = shortener->count;
	return 0;
}

int st_shortener_turn(struct st_shortener *shortener, const struct st_history *history,
                      const struct st_turn *turn, struct stet_error *err) {
	int code = 0;
	size_t results = count_results(history);
	release_own(shortener);
	const struct st_passage **prompt =
		reallocarray(shortener->prompt, history->count + 2, sizeof(struct st_passage *));
	if (!prompt)
		return st_fail_nomem(err);
	shortener->prompt = prompt;
	if (shortener->strategy == ST_FULL)
		take_all(shortener, history, 0);
	else if (shortener->strategy == ST_MASK)
		take_all(shortener, history, results > MASK_LAST ? results - MASK_LAST : 0);
	else if (shortener->strategy == ST_CLEAR)
		clear_results(shortener, history);
	else if (shortener->strategy == ST_TAIL)
		code = take_tail(shortener, history, err);
	else if (shortener->strategy == ST_STRICT)
		code = read_prompt(shortener, turn->strict, err);
	else
		code = cut_list(shortener, turn, err);
	return code < 0 ? code : compare_with_last(shortener, err);
}
