#include "core/prompt/epoch.h"

#include "base/plural.h"
#include "core/prompt/cut.h"
#include "core/prompt/key_places.h"
#include "core/prompt/learned.h"
#include "core/prompt/own.h"
#include "core/prompt/recall.h"
#include "core/prompt/working_set.h"
#include "text/tokens/tokens.h"

/* The most tokens of an old result, of the model's words before the last request, and of an old error. */
enum { RESULT_TOKENS = 400, ASK_TOKENS = 800, ERROR_TOKENS = 200, ERRORS_MAX = 2 };

/* An exchange is not cut to fewer tokens: too little of it would remain. */
enum { EXCHANGE_MIN = 300 };

/* The user's earlier requests get at most this part of the prompt: in a long run they would fill it. */
enum { REQUESTS_SHARE = 6 };

/* Smaller prompts have no room for a table of contents. */
enum { RECALL_FROM = 4000 };

/* Trying a text of a file copies its exchange, which may have thousands of calls: copy at most so many in all. */
enum { TRIED_MAX = 1'000'000 };

enum { ATTEMPTS = 5 };

/* The outcome for a unit of the list. */
struct fate {
	/** The messages in the prompt, an array; NULL if the unit is left out. */
	yyjson_mut_val *fitted;
	size_t cost;
	/** Only words of it are there, without its calls and results. */
	bool words_only;
	/** Calls of it are left out. */
	bool parted;
	/** Its old results are capped. */
	bool capped;
};

/* A part of the prompt: the tokens that it wants, its weight, the tokens that it gets. */
struct share {
	size_t want;
	size_t weight;
	size_t got;
};

struct epoch {
	const struct st_epoch_options *options;
	struct st_messages list;
	struct st_message_calls calls;
	struct st_learned learned;
	struct st_recall recall;
	struct st_working_set working;
	/** Calls that have results, by the sum of the call and of its file; those that did not fail. */
	struct st_key_places answered;
	struct st_key_places succeeded;
	struct st_cut cut;
	struct st_compact_report report;
	/** The counts that an earlier cut gave of what it left out. */
	struct st_compact_report before;
	struct fate *fates;
	/** Units; SIZE_MAX for none: the last request, the newest exchange, the model's words before the request. */
	size_t last;
	size_t newest;
	size_t ask;
	struct st_str ask_text;
	/** The prompt may have so many tokens, ... */
	size_t limit;
	/** ... and so many more for units that the model has not seen; so many of them are used. */
	size_t room;
	size_t unseen;
	/** How many calls were copied to try texts of files. */
	size_t tried;
	/** The first request may have so many: the same in every cut, so that the prefix stays. */
	size_t first_limit;
};

static void subtract(size_t *left, size_t cost) {
	*left -= cost < *left ? cost : *left;
}

static const struct st_unit *unit_at(const struct epoch *epoch, size_t i) {
	return &epoch->list.units[i];
}

static bool is_own(const struct epoch *epoch, size_t i) {
	const struct st_unit *unit = unit_at(epoch, i);
	return unit->role == ST_ROLE_USER && st_own_is(epoch->list.items[unit->first].value);
}

static bool is_request(const struct epoch *epoch, size_t i) {
	return unit_at(epoch, i)->role == ST_ROLE_USER && !is_own(epoch, i);
}

static bool is_exchange(const struct epoch *epoch, size_t i) {
	enum st_role role = unit_at(epoch, i)->role;
	return role == ST_ROLE_MODEL || role == ST_ROLE_RESULT;
}

/* ---- the landmarks of a list ---- */

/* The last text of the model in a unit; empty for none. */
static struct st_str model_text(const struct epoch *epoch, size_t i) {
	const struct st_unit *unit = unit_at(epoch, i);
	struct st_str text = ST_STR("");
	for (size_t j = unit->first; j < unit->first + unit->count; j++) {
		const struct st_message *message = &epoch->list.items[j];
		struct st_str said = st_messages_text(message->value);
		if (message->role == ST_ROLE_MODEL && st_str_trim(said).len)
			text = said;
	}
	return text;
}

/* Find what the model said before the user's last words; requests in a row count as one. */
static void find_ask(struct epoch *epoch) {
	size_t i = epoch->last == SIZE_MAX ? 0 : epoch->last;
	while (i > 0 && unit_at(epoch, i - 1)->role == ST_ROLE_USER)
		i--;
	for (; i > 0 && is_exchange(epoch, i - 1); i--) {
		epoch->ask_text = model_text(epoch, i - 1);
		if (epoch->ask_text.len) {
			epoch->ask = i - 1;
			return;
		}
	}
}

static void find_landmarks(struct epoch *epoch) {
	epoch->last = epoch->newest = epoch->ask = SIZE_MAX;
	for (size_t i = 0; i < epoch->list.unit_count; i++) {
		if (is_request(epoch, i))
			epoch->last = i;
		if (is_exchange(epoch, i))
			epoch->newest = i;
	}
	find_ask(epoch);
}

/* The texts in a message beside its results; nothing for other messages. */
static void add_user_words(const struct st_message *message, struct st_buf *out) {
	yyjson_val *part;
	size_t i, max;
	if (message->role != ST_ROLE_RESULT || st_messages_is_result(message->value))
		return;
	yyjson_arr_foreach(st_messages_parts(message->value), i, max, part) {
		struct st_str text = st_json_str(yyjson_obj_get(part, "text"));
		if (text.len == 0 || st_messages_is_result(part))
			continue;
		st_buf_adds(out, out->len ? "\n" : "");
		st_buf_add(out, text);
	}
}

/* The user's text in an exchange: Anthropic's and Gemini's messages have it beside results. */
static void find_user_words(const struct epoch *epoch, size_t i, struct st_buf *out) {
	const struct st_unit *unit = unit_at(epoch, i);
	for (size_t j = unit->first; is_exchange(epoch, i) && j < unit->first + unit->count; j++)
		add_user_words(&epoch->list.items[j], out);
}

/* ---- results that later calls supersede, errors that are open ---- */

static int by_address(const void *a, const void *b) {
	const struct st_cut_part *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value;
}

static struct st_str call_path(const struct st_message_call *call) {
	static const char *const keys[] = {"path", "file_path", "filePath", "absolute_path"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct st_str path = st_json_str(yyjson_obj_get(call->args, keys[i]));
		if (path.len)
			return path;
	}
	return ST_STR("");
}

/* Equal for calls of a tool for the same file, and other than the calls' own keys; 0 for no file. */
static uint64_t file_key(const struct st_message_call *call) {
	struct st_str path = call_path(call);
	return path.len ? st_str_sum(st_str_sum(~ST_STR_SUM, call->name), path) : 0;
}

/* List the calls that have results, by what they did. */
static int list_answered(struct epoch *epoch, struct stet_error *err) {
	bool good = true;
	for (size_t i = 0; good && i < epoch->calls.count; i++) {
		const struct st_message_call *call = &epoch->calls.items[i];
		if (!call->result)
			continue;
		good = st_key_places_add(&epoch->answered, call->key, i) &&
		       st_key_places_add(&epoch->answered, file_key(call), i) &&
		       (call->failed || st_key_places_add(&epoch->succeeded, call->key, i));
	}
	st_key_places_sort(&epoch->answered);
	st_key_places_sort(&epoch->succeeded);
	return good ? 0 : st_fail_nomem(err);
}

/* Whether a call was made again later, with another result or the same. */
static bool is_repeated(const struct epoch *epoch, size_t i) {
	return st_key_places_next(&epoch->succeeded, epoch->calls.items[i].key, i) != SIZE_MAX;
}

/* List all calls and results, and mark the results that later calls supersede. */
static int list_parts(struct epoch *epoch, struct stet_error *err) {
	const struct st_message_calls *calls = &epoch->calls;
	struct st_cut *cut = &epoch->cut;
	cut->parts = calloc(2 * calls->count + 1, sizeof *cut->parts);
	if (!cut->parts)
		return st_fail_nomem(err);
	for (size_t i = 0; i < calls->count; i++) {
		const struct st_message_call *call = &calls->items[i];
		if (call->value)
			cut->parts[cut->part_count++].value = call->value;
		if (call->result)
			cut->parts[cut->part_count++] = (struct st_cut_part){
				.value = call->result,
				.superseded = call->unit != epoch->newest && is_repeated(epoch, i)};
	}
	qsort(cut->parts, cut->part_count, sizeof *cut->parts, by_address);
	return 0;
}

/* Whether a call failed, and no later call of that tool for the same file, or the same call, has a result. */
static bool is_open(const struct epoch *epoch, size_t i) {
	const struct st_message_call *call = &epoch->calls.items[i];
	uint64_t file = file_key(call);
	return call->failed && st_key_places_next(&epoch->answered, call->key, i) == SIZE_MAX &&
	       (!file || st_key_places_next(&epoch->answered, file, i) == SIZE_MAX);
}

/* ---- shares ---- */

/* Divide tokens by weight; the others get those that one part does not want. Returns the rest. */
static size_t share_out(struct share *shares, size_t count, size_t tokens) {
	for (size_t round = 0; round < count; round++) {
		size_t weights = 0, handed = 0;
		for (size_t i = 0; i < count; i++)
			weights += shares[i].got < shares[i].want ? shares[i].weight : 0;
		for (size_t i = 0; weights && i < count; i++) {
			size_t missing = shares[i].want - shares[i].got;
			size_t part = tokens * shares[i].weight / weights;
			size_t more = missing < part ? missing : part;
			shares[i].got += more;
			handed += more;
		}
		tokens -= handed;
	}
	return tokens;
}

/* ---- fitting units ---- */

static size_t cost_of_unit(struct epoch *epoch, size_t i) {
	if (i == SIZE_MAX)
		return 0;
	return st_cut_count(&epoch->cut,
	                    st_cut_unit(&epoch->cut, &epoch->list, unit_at(epoch, i), SIZE_MAX / 256));
}

/* Put a unit into the prompt, cut to a limit. Returns its tokens. */
static size_t fit_unit(struct epoch *epoch, size_t i, size_t limit) {
	struct fate *fate = &epoch->fates[i];
	fate->fitted = st_cut_fit(&epoch->cut, &epoch->list, unit_at(epoch, i), limit);
	epoch->cut.failed |= !fate->fitted;
	if (fate->fitted && yyjson_mut_arr_size(fate->fitted) == 0)
		fate->fitted = NULL;
	fate->cost = st_cut_count(&epoch->cut, fate->fitted);
	return fate->cost;
}

/*
 * Put an exchange into the prompt. If it does not fit with its old results capped,
 * cut it, unless a part of it is there already. Returns whether it fits whole.
 */
static bool fit_exchange(struct epoch *epoch, size_t i, size_t left) {
	struct fate *fate = &epoch->fates[i], before = *fate;
	if (before.parted)
		return true;
	fate->words_only = false;
	fate->capped = true;
	bool happened = epoch->cut.happened;
	epoch->cut.result_tokens = RESULT_TOKENS;
	fate->fitted =
		st_cut_unit(&epoch->cut, &epoch->list, unit_at(epoch, i), 2 * (size_t)RESULT_TOKENS);
	epoch->cut.failed |= !fate->fitted;
	fate->cost = st_cut_count(&epoch->cut, fate->fitted);
	bool fits = fate->cost <= left;
	if (!fits) {
		epoch->cut.happened = happened;
		*fate = before;
		if (!before.fitted && left >= EXCHANGE_MIN)
			fit_unit(epoch, i, left);
	}
	epoch->cut.result_tokens = 0;
	return fits;
}

/* Give the tokens that nothing else needs to exchanges with capped results, the newest first. */
static void widen_exchanges(struct epoch *epoch, size_t left) {
	for (size_t i = epoch->list.unit_count; i > 0 && left >= EXCHANGE_MIN; i--) {
		struct fate *fate = &epoch->fates[i - 1], before = *fate;
		bool happened = epoch->cut.happened;
		if (!fate->fitted || !fate->capped)
			continue;
		fit_unit(epoch, i - 1, before.cost + left);
		if (fate->cost > before.cost) {
			subtract(&left, fate->cost - before.cost);
		} else {
			*fate = before;
			epoch->cut.happened = happened;
		}
	}
}

/* ---- the working set ---- */

static bool can_part(const struct st_message_call *call) {
	return call->value && call->result;
}

/* The first call of an exchange, given any of its calls: they are in a row. */
static size_t first_call(const struct epoch *epoch, size_t one) {
	const struct st_message_call *items = epoch->calls.items;
	while (one > 0 && items[one - 1].unit == items[one].unit)
		one--;
	return one;
}

/* How many calls the exchange of a call has. */
static size_t count_calls(const struct epoch *epoch, size_t one) {
	const struct st_message_call *items = epoch->calls.items;
	size_t first = first_call(epoch, one), end = one;
	while (end < epoch->calls.count && items[end].unit == items[one].unit)
		end++;
	return end - first;
}

/* Leave the calls of a call's exchange out, or put them back, with their results. */
static void drop_calls(struct epoch *epoch, size_t one, bool dropped) {
	size_t first = first_call(epoch, one), count = count_calls(epoch, one);
	for (size_t i = first; i < first + count; i++) {
		const struct st_message_call *call = &epoch->calls.items[i];
		if (!can_part(call))
			continue;
		st_cut_part_of(&epoch->cut, call->value)->dropped = dropped;
		st_cut_part_of(&epoch->cut, call->result)->dropped = dropped;
	}
}

/*
 * Put a text of a file into the prompt, with nothing else of its exchange but
 * words and other such texts. Returns its tokens, 0 if it does not fit.
 */
static size_t fit_text(struct epoch *epoch, const struct st_working_text *text, size_t left) {
	const struct st_message_call *call = &epoch->calls.items[text->call];
	struct fate *fate = &epoch->fates[call->unit], before = *fate;
	if (!can_part(call) || call->unit == epoch->newest || text->tokens > left ||
	    (fate->fitted && !fate->parted))
		return 0;
	struct st_cut_part *made = st_cut_part_of(&epoch->cut, call->value);
	struct st_cut_part *result = st_cut_part_of(&epoch->cut, call->result);
	bool happened = epoch->cut.happened;
	if (result->superseded)
		return 0;
	epoch->tried += count_calls(epoch, text->call);
	if (epoch->tried > TRIED_MAX)
		return 0;
	if (!fate->fitted)
		drop_calls(epoch, text->call, true);
	made->dropped = result->dropped = false;
	fate->parted = true;
	fate->fitted =
		st_cut_unit(&epoch->cut, &epoch->list, unit_at(epoch, call->unit), SIZE_MAX / 256);
	epoch->cut.failed |= !fate->fitted;
	fate->cost = st_cut_count(&epoch->cut, fate->fitted);
	if (fate->cost <= before.cost + left)
		return fate->cost - before.cost;
	*fate = before;
	epoch->cut.happened = happened;
	made->dropped = result->dropped = before.parted;
	if (!before.parted)
		drop_calls(epoch, text->call, false);
	return 0;
}

/* Put the texts of files into the prompt, the best first. Returns the tokens that are left. */
static size_t fit_working_set(struct epoch *epoch, size_t left) {
	for (size_t i = 0; i < epoch->working.count; i++)
		subtract(&left, fit_text(epoch, &epoch->working.items[i], left));
	return left;
}

/* Put whole exchanges into the prompt, the newest first, until one does not fit. Returns what is left. */
static size_t fit_exchanges(struct epoch *epoch, size_t left) {
	for (size_t i = epoch->newest == SIZE_MAX ? 0 : epoch->newest; i > 0; i--) {
		if (!is_exchange(epoch, i - 1))
			continue;
		if (epoch->fates[i - 1].fitted)
			left += epoch->fates[i - 1].cost;
		bool fits = fit_exchange(epoch, i - 1, left);
		subtract(&left, epoch->fates[i - 1].cost);
		if (!fits)
			break;
	}
	return left;
}

/* Put the newest open errors into the prompt. Returns what is left. */
static size_t fit_errors(struct epoch *epoch, size_t left) {
	size_t found = 0;
	for (size_t i = epoch->calls.count; i > 0 && found < ERRORS_MAX; i--) {
		size_t unit = epoch->calls.items[i - 1].unit;
		size_t limit = left / 4 < ERROR_TOKENS ? left / 4 : ERROR_TOKENS;
		if (!is_open(epoch, i - 1))
			continue;
		found++;
		if (!epoch->fates[unit].fitted && limit > 2 * ST_CUT_MIN)
			subtract(&left, fit_unit(epoch, unit, limit));
	}
	return left;
}

/* Put words of an exchange into the prompt, without its calls and results. Returns their tokens. */
static size_t fit_words(struct epoch *epoch, size_t i, const char *role, struct st_str said,
                        size_t limit) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct fate *fate = &epoch->fates[i];
	if (fate->fitted || limit < ST_CUT_MIN)
		return 0;
	st_cut_text(&epoch->cut, &text, said, limit > 30 ? limit - 20 : limit);
	epoch->cut.failed |= text.failed;
	fate->words_only = true;
	fate->fitted = yyjson_mut_arr(epoch->cut.doc);
	yyjson_mut_arr_append(
		fate->fitted, st_own_message(epoch->cut.doc, epoch->list.shape, role, st_buf_str(&text)));
	return fate->cost = st_cut_count(&epoch->cut, fate->fitted);
}

/* Put the model's words before the last request into the prompt. */
static size_t fit_ask(struct epoch *epoch, size_t limit) {
	if (epoch->ask == SIZE_MAX)
		return 0;
	return fit_words(epoch, epoch->ask, "assistant", epoch->ask_text, limit);
}

static void fit_request(struct epoch *epoch, size_t i, size_t limit, size_t *left) {
	st_auto(st_buf) said = ST_BUF_INIT;
	/* Short words fit where no text could be cut. */
	if (is_request(epoch, i) && i != epoch->last &&
	    (limit > ST_CUT_MIN || cost_of_unit(epoch, i) <= limit))
		subtract(left, fit_unit(epoch, i, limit));
	find_user_words(epoch, i, &said);
	epoch->cut.failed |= said.failed;
	if (said.len)
		subtract(left, fit_words(epoch, i, "user", st_buf_str(&said), limit));
}

/* Put the user's earlier requests into the prompt: the first, then the newest. Returns what is left. */
static size_t fit_requests(struct epoch *epoch, size_t left) {
	size_t first = 0, count = epoch->list.unit_count;
	while (first < count && !(is_request(epoch, first) && first != epoch->last))
		first++;
	if (first < count)
		fit_request(epoch, first, epoch->first_limit, &left);
	for (size_t i = count; i > first + 1 && left > 0; i--)
		fit_request(epoch, i - 1, left, &left);
	return left;
}

static size_t cost_of_requests(struct epoch *epoch) {
	size_t sum = 0;
	for (size_t i = 0; i < epoch->list.unit_count; i++) {
		st_auto(st_buf) said = ST_BUF_INIT;
		if (is_request(epoch, i) && i != epoch->last)
			sum += cost_of_unit(epoch, i);
		find_user_words(epoch, i, &said);
		sum += said.len ? st_tokens(st_buf_str(&said)) + 60 : 0;
	}
	return sum;
}

/* ---- our own message ---- */

static void add_section(struct epoch *epoch, struct st_buf *text, const char *name,
                        struct st_str body, size_t tokens) {
	if (body.len == 0)
		return;
	st_buf_addf(text, "%s[%s]\n", text->len ? "\n" : "", name);
	st_cut_text(&epoch->cut, text, body, tokens);
	if (!text->failed && text->ptr[text->len - 1] != '\n')
		st_buf_addc(text, '\n');
}

static void add_history(const struct epoch *epoch, struct st_buf *text) {
	const struct st_compact_report *report = &epoch->report;
	st_buf_addf(text,
	            "\n[History]\nLeft out here: %zu earlier %s, %zu tool %s, %zu %s; %zu %s that "
	            "changed nothing.",
	            report->replies, st_plural(report->replies, "reply", "replies"), report->results,
	            st_plural(report->results, "result", "results"), report->requests,
	            st_plural(report->requests, "request", "requests"), report->noops,
	            st_plural(report->noops, "call", "calls"));
	if (*epoch->cut.archive)
		st_buf_addf(text, " Archive: %s", epoch->cut.archive);
	st_buf_addc(text, '\n');
}

static void write_own(struct epoch *epoch, struct st_buf *text) {
	const struct st_compact_options *options = &epoch->options->prompt;
	size_t limit = epoch->limit;
	bool has_snapshot = !options->no_snapshot && options->snapshot.len;
	if (has_snapshot)
		add_section(epoch, text, "Repo Snapshot", options->snapshot, limit / 4);
	else
		st_buf_adds(text, "[Context]\nThis conversation was shortened.\n");
	add_history(epoch, text);
	st_learned_write(&epoch->learned, epoch->options->verified, limit / 10, text);
	if (limit >= RECALL_FROM)
		st_recall_write(&epoch->recall, limit / 8, text);
	add_section(epoch, text, "Delta Request", options->request, limit / 8);
	add_section(epoch, text, "Additional Context", options->additional, limit / 8);
}

/* ---- counting what is left out ---- */

static void read_before(struct epoch *epoch, struct st_str text) {
	static const char start[] = "\n[History]\nLeft out here: ";
	size_t *const numbers[] = {&epoch->before.replies, &epoch->before.results,
	                           &epoch->before.requests, &epoch->before.noops};
	const char *at = memmem(text.ptr, text.len, start, strlen(start));
	const char *end = text.ptr + text.len;
	at = at ? at + strlen(start) : end;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		while (at < end && (*at < '0' || *at > '9'))
			at++;
		for (; at < end && *at >= '0' && *at <= '9' && *numbers[i] < 100000000; at++)
			*numbers[i] = *numbers[i] * 10 + (size_t)(*at - '0');
	}
}

/* Read the facts in our own messages of earlier cuts. */
static int read_own(struct epoch *epoch, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < epoch->list.unit_count && code == 0; i++) {
		if (!is_own(epoch, i))
			continue;
		struct st_str text = st_messages_text(epoch->list.items[unit_at(epoch, i)->first].value);
		read_before(epoch, text);
		code = st_learned_again(&epoch->learned, text, err);
		if (code == 0)
			code = st_recall_again(&epoch->recall, text, err);
	}
	return code;
}

/* Whether a call's result is left out of the prompt. */
static bool is_result_left_out(const struct epoch *epoch, const struct st_message_call *call) {
	const struct fate *fate = &epoch->fates[call->unit];
	return call->result && (!fate->fitted || fate->words_only ||
	                        (fate->parted && st_cut_part_of(&epoch->cut, call->result)->dropped));
}

/* Whether a unit is a system message that no template replaces. */
static bool is_own_system(const struct epoch *epoch, size_t i) {
	return unit_at(epoch, i)->role == ST_ROLE_SYSTEM && !epoch->options->prompt.template.len;
}

static void count_left_out(struct epoch *epoch) {
	epoch->report.replies = epoch->before.replies;
	epoch->report.results = epoch->before.results;
	epoch->report.requests = epoch->before.requests;
	epoch->report.noops = epoch->before.noops;
	for (size_t i = 0; i < epoch->list.unit_count; i++) {
		bool there = epoch->fates[i].fitted != NULL;
		epoch->report.requests += !there && (is_request(epoch, i) || is_own_system(epoch, i));
		epoch->report.replies += is_exchange(epoch, i) && !there;
	}
	for (size_t i = 0; i < epoch->calls.count; i++)
		epoch->report.results += is_result_left_out(epoch, &epoch->calls.items[i]);
}

/* ---- the whole prompt ---- */

/* Whether a unit came after the model's last reply: it is not cut while the prompt stays below H. */
static bool is_unseen(const struct epoch *epoch, size_t i) {
	if (i == SIZE_MAX)
		return false;
	const struct st_unit *unit = unit_at(epoch, i);
	size_t last = unit->first + unit->count - 1;
	return epoch->list.items[last].role != ST_ROLE_MODEL && i + 1 == epoch->list.unit_count;
}

/* Take the tokens of an unseen unit out of the room above the prompt's limit. Returns how many. */
static size_t take_room(struct epoch *epoch, size_t i, struct share *share) {
	size_t room = epoch->room - epoch->unseen;
	size_t taken = share->want < room ? share->want : room;
	if (!is_unseen(epoch, i))
		return 0;
	epoch->unseen += taken;
	share->want -= taken;
	return taken;
}

/* Fit a unit to its share and the tokens it took beside it. Returns its cost to the share. */
static size_t fit_share(struct epoch *epoch, size_t i, const struct share *share, size_t taken) {
	size_t cost = i == SIZE_MAX ? 0 : fit_unit(epoch, i, share->got + taken);
	return cost > taken ? cost - taken : 0;
}

/* Choose what goes into the prompt, within a number of tokens. */
static void choose_units(struct epoch *epoch, size_t left) {
	size_t ask = st_tokens(epoch->ask_text) + 60, requests = cost_of_requests(epoch);
	size_t most = epoch->limit / REQUESTS_SHARE;
	struct share shares[] = {
		{.want = cost_of_unit(epoch, epoch->last), .weight = 4},
		{.want = cost_of_unit(epoch, epoch->newest), .weight = 4},
		{.want = epoch->ask == SIZE_MAX ? 0
	             : ask < ASK_TOKENS     ? ask
	                                    : ASK_TOKENS,
	     .weight = 2},
		{.want = requests < most ? requests : most, .weight = 2},
	};
	size_t used = 0;
	size_t last = take_room(epoch, epoch->last, &shares[0]);
	size_t newest = take_room(epoch, epoch->newest, &shares[1]);
	share_out(shares, sizeof shares / sizeof *shares, left);
	used += fit_share(epoch, epoch->last, &shares[0], last);
	used += fit_share(epoch, epoch->newest, &shares[1], newest);
	used += fit_ask(epoch, shares[2].got);
	used += shares[3].got - fit_requests(epoch, shares[3].got);
	subtract(&left, used);
	left = fit_errors(epoch, left);
	/* The thread of the work, texts that the next calls may need, older exchanges. */
	size_t thread = left / 2;
	left = left - thread + fit_exchanges(epoch, thread);
	left = fit_exchanges(epoch, fit_working_set(epoch, left));
	widen_exchanges(epoch, left);
}

static bool append_unit(yyjson_mut_val *to, struct fate *fate) {
	yyjson_mut_val *value;
	while (fate->fitted && (value = yyjson_mut_arr_remove_first(fate->fitted))) {
		if (!yyjson_mut_arr_append(to, value))
			return false;
	}
	return true;
}

/* Where our message stands: before the first exchange of the prompt and the last request. */
static size_t own_place(const struct epoch *epoch) {
	size_t place = epoch->last < epoch->list.unit_count ? epoch->last : epoch->list.unit_count;
	for (size_t i = 0; i < place; i++) {
		if (is_exchange(epoch, i) && epoch->fates[i].fitted)
			return i;
	}
	return place;
}

static yyjson_mut_val *assemble(struct epoch *epoch, struct st_str own) {
	yyjson_mut_val *list = yyjson_mut_arr(epoch->cut.doc);
	size_t place = own_place(epoch);
	yyjson_mut_val *message = st_own_message(epoch->cut.doc, epoch->list.shape, "user", own);
	for (size_t i = 0; i <= epoch->list.unit_count; i++) {
		if (i == place && !yyjson_mut_arr_append(list, message))
			return NULL;
		if (i < epoch->list.unit_count && !append_unit(list, &epoch->fates[i]))
			return NULL;
	}
	return list;
}

/*
 * Put the system messages into the prompt: the first, which is the system prompt, then
 * the newest, as some hosts add one in every turn. Returns their tokens.
 */
static size_t fit_system_messages(struct epoch *epoch, size_t limit) {
	size_t first = 0, count = epoch->list.unit_count;
	while (first < count && unit_at(epoch, first)->role != ST_ROLE_SYSTEM)
		first++;
	if (first == count)
		return 0;
	size_t used = fit_unit(epoch, first, limit > ST_CUT_MIN ? limit : ST_CUT_MIN);
	for (size_t i = count; i > first + 1 && limit > used + ST_CUT_MIN; i--) {
		if (unit_at(epoch, i - 1)->role == ST_ROLE_SYSTEM)
			used += fit_unit(epoch, i - 1, limit - used);
	}
	return used;
}

/* Put what the system says into the prompt; it is cut only beyond half of H. Returns its tokens. */
static size_t fit_system(struct epoch *epoch, size_t limit, yyjson_mut_val **beside) {
	const struct st_compact_options *options = &epoch->options->prompt;
	yyjson_val *root = yyjson_doc_get_root(epoch->list.doc);
	const char *key = epoch->list.system_key;
	yyjson_val *value = key ? yyjson_obj_get(root, key) : NULL;
	bool is_chat = epoch->list.shape == ST_SHAPE_CHAT;
	size_t used = 0;
	*beside = NULL;
	if (options->template.len && !is_chat)
		*beside = st_own_system(epoch->cut.doc, epoch->list.shape, options->template);
	else if (value)
		*beside = st_cut_value(&epoch->cut, value, limit);
	used += st_cut_count(&epoch->cut, *beside);
	if (options->template.len && is_chat)
		return used;
	return used + fit_system_messages(epoch, limit > used ? limit - used : 0);
}

/* Add the template as the first message of a chat. */
static bool add_template(struct epoch *epoch, yyjson_mut_val *list) {
	struct st_str template = epoch->options->prompt.template;
	if (template.len == 0 || epoch->list.shape != ST_SHAPE_CHAT)
		return true;
	return yyjson_mut_arr_prepend(
		list, st_own_message(epoch->cut.doc, epoch->list.shape, "system", template));
}

/* ---- marks of Anthropic's cache ---- */

static void mark_block(yyjson_mut_doc *doc, yyjson_mut_val *block) {
	static const char *const types[] = {"text", "tool_use", "tool_result", "image"};
	yyjson_mut_val *type = yyjson_mut_obj_get(block, "type");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (yyjson_mut_equals_str(type, types[i])) {
			yyjson_mut_val *mark = st_json_add_object(doc, block, "cache_control");
			st_json_add_text(doc, mark, "type", ST_STR("ephemeral"));
			return;
		}
	}
}

/* Turn a text into a list of one block. */
static yyjson_mut_val *as_blocks(yyjson_mut_doc *doc, yyjson_mut_val *content) {
	if (!yyjson_mut_is_str(content))
		return content;
	yyjson_mut_val *blocks = yyjson_mut_arr(doc), *block = yyjson_mut_obj(doc);
	st_json_add_text(doc, block, "type", ST_STR("text"));
	st_json_add_text(doc, block, "text",
	                 st_strn(yyjson_mut_get_str(content), yyjson_mut_get_len(content)));
	st_json_push(doc, blocks, block);
	return blocks;
}

/* Mark the ends of what is stable: the system prompt, across cuts; the new list, until the next one. */
static void mark_prefix(struct epoch *epoch, yyjson_mut_val *list, yyjson_mut_val **beside) {
	yyjson_mut_doc *doc = epoch->cut.doc;
	if (epoch->options->no_marks || epoch->list.shape != ST_SHAPE_ANTHROPIC)
		return;
	if (*beside && yyjson_mut_get_len(*beside) > 0) {
		*beside = as_blocks(doc, *beside);
		mark_block(doc, yyjson_mut_arr_get_last(*beside));
	}
	yyjson_mut_val *last = yyjson_mut_arr_get_last(list);
	yyjson_mut_val *content = yyjson_mut_obj_get(last, "content");
	if (!content || yyjson_mut_get_len(content) == 0)
		return;
	yyjson_mut_val *blocks = as_blocks(doc, content);
	if (blocks != content)
		yyjson_mut_obj_put(last, yyjson_mut_str(doc, "content"), blocks);
	mark_block(doc, yyjson_mut_arr_get_last(blocks));
}

/* ---- cutting ---- */

/* Make the prompt within a number of tokens. NULL if out of memory. */
static yyjson_mut_val *cut_once(struct epoch *epoch, size_t limit, size_t above) {
	st_auto(st_buf) own = ST_BUF_INIT;
	yyjson_mut_val *beside = NULL;
	memset(epoch->fates, 0, epoch->list.unit_count * sizeof *epoch->fates);
	epoch->cut.happened = false;
	for (size_t i = 0; i < epoch->cut.part_count; i++)
		epoch->cut.parts[i].dropped = false;
	epoch->limit = limit;
	epoch->unseen = 0;
	epoch->tried = 0;
	size_t system = fit_system(epoch, above / 2, &beside);
	write_own(epoch, &own);
	size_t fixed = system + st_tokens(st_buf_str(&own)) * 11 / 10 + 60;
	choose_units(epoch, limit > fixed + limit / 4 ? limit - fixed : limit / 4);
	count_left_out(epoch);
	st_buf_clear(&own);
	write_own(epoch, &own);
	yyjson_mut_val *list = own.failed ? NULL : assemble(epoch, st_buf_str(&own));
	if (!list || !add_template(epoch, list))
		return NULL;
	mark_prefix(epoch, list, &beside);
	epoch->report.tokens = st_cut_count(&epoch->cut, list) + st_cut_count(&epoch->cut, beside);
	return st_own_root(epoch->cut.doc, &epoch->list, list, beside);
}

static int cut_list(struct epoch *epoch, size_t to, size_t above, struct st_buf *out,
                    struct stet_error *err) {
	size_t limit = to;
	/* A third stays free, or the next turn would cut again. */
	epoch->room = above > to ? (above - to) * 2 / 3 : 0;
	epoch->first_limit = to / 5;
	for (int attempt = 1;; attempt++) {
		yyjson_mut_val *whole = cut_once(epoch, limit, above);
		if (!whole || epoch->cut.failed)
			return st_fail_nomem(err);
		size_t most = to + epoch->unseen;
		if (epoch->report.tokens <= most || attempt == ATTEMPTS || limit <= ST_EPOCH_TO_MIN / 2)
			return st_json_write(epoch->cut.doc, whole, out, err);
		subtract(&limit, epoch->report.tokens - most + limit / 50);
	}
}

size_t st_epoch_tokens(const struct st_messages *list) {
	yyjson_val *root = yyjson_doc_get_root(list->doc);
	yyjson_val *const values[] = {list->list,
	                              list->system_key ? yyjson_obj_get(root, list->system_key) : NULL};
	size_t tokens = 0;
	for (size_t i = 0; i < 2; i++) {
		size_t len = 0;
		char *json = values[i] ? yyjson_val_write(values[i], 0, &len) : NULL;
		tokens += json ? st_tokens(st_strn(json, len)) : 0;
		free(json);
	}
	return tokens;
}

static int start_epoch(struct epoch *epoch, struct st_str messages, struct stet_error *err) {
	struct st_hash hash;
	int code = st_hash_of(messages, &hash, err);
	epoch->fates = calloc(epoch->list.unit_count + 1, sizeof *epoch->fates);
	epoch->cut.doc = yyjson_mut_doc_new(NULL);
	if (code == 0 && (!epoch->fates || !epoch->cut.doc))
		code = st_fail_nomem(err);
	if (code < 0)
		return code;
	yyjson_mut_doc_set_root(epoch->cut.doc, yyjson_mut_null(epoch->cut.doc));
	st_hash_hex(&hash, epoch->report.archive, ST_HASH_SHORT);
	epoch->cut.archive = epoch->options->prompt.archived ? epoch->report.archive : "";
	epoch->cut.strip_marks = !epoch->options->no_marks;
	find_landmarks(epoch);
	code = st_message_calls_read(&epoch->calls, &epoch->list, err);
	if (code == 0)
		code = list_answered(epoch, err);
	if (code == 0)
		code = list_parts(epoch, err);
	if (code == 0)
		code = read_own(epoch, err);
	if (code == 0)
		code = st_learned_read(&epoch->learned, &epoch->calls, err);
	if (code == 0)
		code = st_recall_read(&epoch->recall, &epoch->calls, err);
	return code < 0 ? code : st_working_set_read(&epoch->working, &epoch->calls, err);
}

static void end_epoch(struct epoch *epoch) {
	st_learned_release(&epoch->learned);
	st_recall_release(&epoch->recall);
	st_working_set_release(&epoch->working);
	st_key_places_release(&epoch->answered);
	st_key_places_release(&epoch->succeeded);
	st_message_calls_release(&epoch->calls);
	st_cut_release(&epoch->cut);
	yyjson_mut_doc_free(epoch->cut.doc);
	st_messages_release(&epoch->list);
	free(epoch->fates);
}

/* A number of tokens in our estimate, for the model's own; 2 % less, as the estimate may be too low. */
static size_t own_tokens(const struct st_epoch_options *options, size_t tokens, size_t fallback) {
	unsigned percent = options->prompt.percent ? options->prompt.percent : 100;
	tokens = (tokens ? tokens : fallback) * 98 / percent;
	return tokens > options->overhead ? tokens - options->overhead : 0;
}

int st_epoch(struct st_str messages, const struct st_epoch_options *options, struct st_buf *out,
             struct st_compact_report *report, struct stet_error *err) {
	struct epoch epoch = {.options = options, .ask_text = ST_STR("")};
	size_t above = own_tokens(options, options->above, ST_EPOCH_ABOVE);
	size_t to = own_tokens(options, options->to, ST_EPOCH_TO);
	size_t from = out->len;
	if (to >= above)
		return st_fail(err, STET_E_INVALID,
		               "Cutting above %zu tokens to %zu leaves no room to grow, tool definitions "
		               "included. Give a larger number to cut above, or a smaller one to cut to.",
		               options->above ? options->above : (size_t)ST_EPOCH_ABOVE,
		               options->to ? options->to : (size_t)ST_EPOCH_TO);
	int code = st_messages_read(&epoch.list, messages, options->prompt.shape, err);
	if (code < 0)
		return code;
	size_t tokens = st_epoch_tokens(&epoch.list);
	bool is_long = tokens > above;
	if (is_long)
		code = start_epoch(&epoch, messages, err);
	if (is_long && code == 0)
		code = cut_list(&epoch, to < ST_EPOCH_TO_MIN ? ST_EPOCH_TO_MIN : to, above, out, err);
	/* Never larger than what came in. */
	bool is_cut =
		is_long && code == 0 && out->len - from < messages.len && epoch.report.tokens < tokens;
	if (code == 0 && !is_cut) {
		st_buf_truncate(out, from);
		st_buf_add(out, messages);
		epoch.report = (struct st_compact_report){.tokens = tokens};
	}
	epoch.report.cut = is_cut && epoch.cut.happened;
	if (report)
		*report = epoch.report;
	end_epoch(&epoch);
	return code < 0 ? code : out->failed ? st_fail_nomem(err) : is_cut;
}
