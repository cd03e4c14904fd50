#include "core/prompt/working_set.h"

#include "core/prompt/call_files.h"
#include "text/tokens/tokens.h"

/* About the tokens of a call around its text; ranks differ less the older the files are. */
enum { CALL_TOKENS = 80, RANK_BASE = 2 };

struct reader {
	struct st_working_set *set;
	const struct st_message_calls *calls;
	size_t call;
};

/* Take the first file of a call; if there are more, they share one text. */
static bool add_text(void *data, struct st_str path, enum st_file_use use) {
	struct reader *reader = data;
	const struct st_message_call *call = &reader->calls->items[reader->call];
	struct st_str text = use == ST_USE_READ ? call->text : st_call_new_text(call);
	if (use != ST_USE_DELETED && text.len == 0)
		return true;
	reader->set->items[reader->set->count++] = (struct st_working_text){
		.call = reader->call,
		.text = use == ST_USE_DELETED ? ST_STR("") : text,
		.file = st_str_sum(ST_STR_SUM, path),
		.whole = use == ST_USE_WROTE || use == ST_USE_DELETED,
	};
	return false;
}

/* Whether a later text of the file replaces this one or has all of it. */
static bool is_replaced(const struct st_working_set *set, size_t i) {
	struct st_str text = st_str_trim(set->items[i].text);
	for (size_t j = i + 1; j < set->count; j++) {
		const struct st_working_text *later = &set->items[j];
		if (later->file != set->items[i].file)
			continue;
		if (later->whole || memmem(later->text.ptr, later->text.len, text.ptr, text.len))
			return true;
	}
	return false;
}

/* Rank each text by how many other files were used after the last use of its file. */
static void rank_texts(struct st_working_set *set) {
	size_t files = 0;
	for (size_t i = set->count; i > 0; i--) {
		struct st_working_text *text = &set->items[i - 1];
		size_t later = i;
		while (later < set->count && set->items[later].file != text->file)
			later++;
		text->rank = later < set->count ? set->items[later].rank : files++;
	}
}

/* By likelihood per token. */
static int by_worth(const void *a, const void *b) {
	const struct st_working_text *x = a, *y = b;
	size_t price_x = (x->rank + RANK_BASE) * (x->tokens + CALL_TOKENS);
	size_t price_y = (y->rank + RANK_BASE) * (y->tokens + CALL_TOKENS);
	if (price_x != price_y)
		return price_x < price_y ? -1 : 1;
	return x->call > y->call ? -1 : x->call < y->call;
}

int st_working_set_read(struct st_working_set *set, const struct st_message_calls *calls,
                        struct stet_error *err) {
	set->items = calloc(calls->count + 1, sizeof *set->items);
	if (!set->items)
		return st_fail_nomem(err);
	for (size_t i = 0; i < calls->count; i++) {
		struct reader reader = {.set = set, .calls = calls, .call = i};
		(void)st_call_files(&calls->items[i], add_text, &reader);
	}
	rank_texts(set);
	size_t remaining = 0, count = set->count;
	for (size_t i = 0; i < count; i++) {
		if (set->items[i].text.len == 0 || is_replaced(set, i))
			continue;
		set->items[remaining] = set->items[i];
		set->items[remaining].tokens = st_tokens(set->items[remaining].text);
		remaining++;
	}
	set->count = remaining;
	if (remaining)
		qsort(set->items, remaining, sizeof *set->items, by_worth);
	return 0;
}

void st_working_set_release(struct st_working_set *set) {
	free(set->items);
	*set = (struct st_working_set){0};
}
