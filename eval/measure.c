#include "eval/measure.h"

/* An identifier in more messages than this is not rare. */
enum { RARE_MAX = 10 };

/* So many bytes of the beginning and of the end of the model's text have to be in view. */
enum { ASK_PART = 200 };

/* How many messages of the history contain each identifier: a hash table. */
struct tally {
	uint64_t *sums;
	uint32_t *counts;
	size_t room;
	size_t used;
};

struct st_measure {
	struct st_history history;
	struct tally tally;
	struct st_shortener shorteners[ST_STRATEGIES];
	struct st_figures figures[ST_STRATEGIES];
	/** Whether a strategy missed something in this turn. */
	bool missed[ST_STRATEGIES];
	bool is_open;
};

/* ---- the identifiers of the history ---- */

static size_t slot_of(const struct tally *tally, uint64_t sum) {
	size_t at = (size_t)(sum * 0x9e3779b97f4a7c15u >> 20) & (tally->room - 1);
	while (tally->counts[at] && tally->sums[at] != sum)
		at = (at + 1) & (tally->room - 1);
	return at;
}

static bool grow_tally(struct tally *tally) {
	struct tally next = {.room = tally->room ? 2 * tally->room : 4096, .used = tally->used};
	next.sums = calloc(next.room, sizeof *next.sums);
	next.counts = calloc(next.room, sizeof *next.counts);
	if (!next.sums || !next.counts) {
		free(next.sums);
		free(next.counts);
		return false;
	}
	for (size_t i = 0; i < tally->room; i++) {
		if (!tally->counts[i])
			continue;
		size_t at = slot_of(&next, tally->sums[i]);
		next.sums[at] = tally->sums[i];
		next.counts[at] = tally->counts[i];
	}
	free(tally->sums);
	free(tally->counts);
	*tally = next;
	return true;
}

static bool count_words(struct tally *tally, const struct st_words *words) {
	for (size_t i = 0; i < words->count; i++) {
		if (2 * tally->used >= tally->room && !grow_tally(tally))
			return false;
		size_t at = slot_of(tally, words->sums[i]);
		tally->used += tally->counts[at] == 0;
		tally->sums[at] = words->sums[i];
		tally->counts[at]++;
	}
	return true;
}

static bool is_rare(const struct tally *tally, uint64_t sum) {
	size_t count = tally->room ? tally->counts[slot_of(tally, sum)] : 0;
	return count > 0 && count <= RARE_MAX;
}

/* ---- the history ---- */

static int add_message(struct st_measure *measure, yyjson_val *message, struct stet_error *err) {
	struct st_history *history = &measure->history;
	if ((history->count & (history->count + 1)) == 0) {
		struct st_passage *items =
			reallocarray(history->items, 2 * history->count + 2, sizeof *items);
		if (!items)
			return st_fail_nomem(err);
		history->items = items;
	}
	struct st_passage *passage = &history->items[history->count++];
	*passage = (struct st_passage){0};
	int code = st_passage_read(passage, message, err);
	if (code == 0 && !count_words(&measure->tally, &passage->words))
		code = st_fail_nomem(err);
	return code;
}

static int add_messages(struct st_measure *measure, struct st_str delta, struct stet_error *err) {
	st_auto(st_buf) list = ST_BUF_INIT;
	yyjson_doc *doc = NULL;
	yyjson_val *message;
	size_t i, max;
	bool comma = delta.len && delta.ptr[0] == ',';
	st_buf_addc(&list, '[');
	st_buf_add(&list, st_str_slice(delta, comma, delta.len));
	st_buf_addc(&list, ']');
	int code = list.failed ? st_fail_nomem(err)
	                       : st_json_parse(st_buf_str(&list), "The new messages", &doc, err);
	yyjson_arr_foreach(doc ? yyjson_doc_get_root(doc) : NULL, i, max, message) {
		if (code == 0)
			code = add_message(measure, message, err);
	}
	yyjson_doc_free(doc);
	return code;
}

size_t st_measure_tokens(const struct st_measure *measure) {
	size_t tokens = 0;
	for (size_t i = 0; i < measure->history.count; i++)
		tokens += measure->history.items[i].tokens;
	return tokens;
}

/* ---- passages in view ---- */

static bool has_text(const struct st_shortener *prompt, struct st_str text) {
	for (size_t i = prompt->count; i > 0; i--) {
		if (st_passage_has(prompt->prompt[i - 1], text))
			return true;
	}
	return false;
}

static bool has_word(const struct st_shortener *prompt, uint64_t sum) {
	for (size_t i = prompt->count; i > 0; i--) {
		if (st_words_has(&prompt->prompt[i - 1]->words, sum))
			return true;
	}
	return false;
}

static bool count_case(struct st_proxy *proxy, bool hit) {
	proxy->cases++;
	proxy->hits += hit;
	return hit;
}

static const struct st_shortener *full_prompt(const struct st_measure *measure) {
	return &measure->shorteners[ST_FULL];
}

/* Count a text that the history has, for each strategy. */
static void check_text(struct st_measure *measure, struct st_str text, bool is_path) {
	if (text.len == 0 || !has_text(full_prompt(measure), text))
		return;
	for (size_t i = 0; i < ST_STRATEGIES; i++) {
		struct st_figures *figures = &measure->figures[i];
		struct st_proxy *proxy = is_path ? &figures->paths : &figures->edits;
		if (!count_case(proxy, has_text(&measure->shorteners[i], text)))
			measure->missed[i] = true;
	}
}

static void check_words(struct st_measure *measure, const struct st_words *words) {
	size_t cases = 0, hits[ST_STRATEGIES] = {0};
	for (size_t j = 0; j < words->count; j++) {
		if (!is_rare(&measure->tally, words->sums[j]))
			continue;
		cases++;
		for (size_t i = 0; i < ST_STRATEGIES; i++)
			hits[i] += i == ST_FULL || has_word(&measure->shorteners[i], words->sums[j]);
	}
	for (size_t i = 0; cases && i < ST_STRATEGIES; i++) {
		struct st_figures *figures = &measure->figures[i];
		figures->identifiers.cases += cases;
		figures->identifiers.hits += hits[i];
		if (!count_case(&figures->grounded, hits[i] > 0))
			measure->missed[i] = true;
	}
}

/* The model's text right before the user's last request; NULL for none. */
static const struct st_passage *find_ask(const struct st_history *history) {
	size_t i = history->count;
	while (i > 0 && history->items[i - 1].role != ST_ROLE_USER)
		i--;
	while (i > 0 && history->items[i - 1].role == ST_ROLE_USER)
		i--;
	for (; i > 0 && history->items[i - 1].role != ST_ROLE_USER; i--) {
		const struct st_passage *passage = &history->items[i - 1];
		if (passage->role == ST_ROLE_MODEL && passage->said.len > 1)
			return passage;
	}
	return NULL;
}

static void check_ask(struct st_measure *measure) {
	const struct st_passage *ask = find_ask(&measure->history);
	if (!ask)
		return;
	struct st_str said = st_str_trim(st_buf_str(&ask->said));
	size_t part = said.len < ASK_PART ? said.len : ASK_PART;
	for (size_t i = 0; i < ST_STRATEGIES; i++) {
		const struct st_shortener *prompt = &measure->shorteners[i];
		count_case(&measure->figures[i].ask,
		           has_text(prompt, st_str_slice(said, 0, part)) &&
		               has_text(prompt, st_str_slice(said, said.len - part, said.len)));
	}
}

/* ---- turns ---- */

static double cost_of(const struct st_shortener *prompt, bool missed) {
	double tokens = (double)prompt->tokens, cached = (double)prompt->cached;
	double cost = tokens - cached + cached * ST_MEASURE_CACHED;
	if (!missed)
		return cost;
	/* One more turn: an append-only prompt is in the cache by then, a rewritten one is not. */
	double again = st_strategy_rewrites(prompt->strategy) ? cost : tokens * ST_MEASURE_CACHED;
	return cost + again + ST_MEASURE_LOOKUP;
}

void st_measure_end(struct st_measure *measure) {
	for (size_t i = 0; measure->is_open && i < ST_STRATEGIES; i++) {
		const struct st_shortener *prompt = &measure->shorteners[i];
		struct st_figures *figures = &measure->figures[i];
		figures->turns++;
		figures->tokens += prompt->tokens;
		figures->most = prompt->tokens > figures->most ? prompt->tokens : figures->most;
		figures->misses += measure->missed[i];
		figures->cost += cost_of(prompt, measure->missed[i]);
	}
	measure->is_open = false;
}

int st_measure_turn(struct st_measure *measure, const struct st_turn *turn,
                    struct stet_error *err) {
	st_measure_end(measure);
	memset(measure->missed, 0, sizeof measure->missed);
	int code = add_messages(measure, turn->delta, err);
	for (size_t i = 0; i < ST_STRATEGIES && code == 0; i++)
		code = st_shortener_turn(&measure->shorteners[i], &measure->history, turn, err);
	if (code < 0)
		return code;
	measure->is_open = true;
	check_ask(measure);
	return 0;
}

/* The old text of an edit, in the words of different tools. */
static struct st_str old_text(yyjson_val *args) {
	static const char *const keys[] = {"old_string", "oldText", "oldString", "old_str", "search"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct st_str text = st_json_str(yyjson_obj_get(args, keys[i]));
		if (text.len)
			return text;
	}
	return ST_STR("");
}

int st_measure_call(struct st_measure *measure, struct st_str path, yyjson_val *args, bool edits,
                    struct stet_error *err) {
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_words words = {0};
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	if (slash)
		path = st_str_slice(path, (size_t)(slash - path.ptr) + 1, path.len);
	if (edits)
		st_passage_plain(old_text(args), &old);
	st_passage_texts(args, &text);
	if (old.failed || text.failed)
		return st_fail_nomem(err);
	int code = st_words_find(&words, st_buf_str(&text), err);
	if (code == 0) {
		check_text(measure, path, true);
		check_text(measure, st_str_trim(st_buf_str(&old)), false);
		check_words(measure, &words);
	}
	st_words_release(&words);
	return code;
}

struct st_measure *st_measure_new(const struct st_measure_options *options,
                                  struct stet_error *err) {
	struct st_measure *measure = calloc(1, sizeof *measure);
	if (!measure) {
		st_fail_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < ST_STRATEGIES; i++)
		measure->shorteners[i] = (struct st_shortener){.strategy = (enum st_strategy)i,
		                                               .tail = options->tail,
		                                               .above = options->above,
		                                               .to = options->to};
	return measure;
}

void st_measure_free(struct st_measure *measure) {
	if (!measure)
		return;
	for (size_t i = 0; i < measure->history.count; i++)
		st_passage_release(&measure->history.items[i]);
	for (size_t i = 0; i < ST_STRATEGIES; i++)
		st_shortener_release(&measure->shorteners[i]);
	free(measure->history.items);
	free(measure->tally.sums);
	free(measure->tally.counts);
	free(measure);
}

const struct st_figures *st_measure_figures(const struct st_measure *measure,
                                            enum st_strategy strategy) {
	return &measure->figures[strategy];
}

const struct st_shortener *st_measure_prompt(const struct st_measure *measure,
                                             enum st_strategy strategy) {
	return &measure->shorteners[strategy];
}
