#include "core/prompt/working_set.h"

#include "base/array.h"
#include "core/prompt/call_files.h"
#include "core/prompt/key_places.h"
#include "text/tokens/tokens.h"

/* About the tokens of a call around its text; ranks differ less the older the files are. */
enum { CALL_TOKENS = 80, RANK_BASE = 2 };

/* A text is compared with so many later ones of its file. */
enum { COMPARED_MAX = 32 };

struct reader {
	struct st_working_set *set;
	const struct st_message_calls *calls;
	size_t call;
	/* The call's text is in the set. */
	bool has_text;
	/* The files of the texts, and those of the texts that replace earlier ones. */
	struct st_key_places files;
	struct st_key_places wholes;
};

static void reader_release(struct reader *reader) {
	st_key_places_release(&reader->files);
	st_key_places_release(&reader->wholes);
}

/* The first new text of a list of edits. */
static struct st_str first_edit(const struct st_message_call *call) {
	static const char *const keys[] = {"newText", "new_string", "newString"};
	yyjson_val *edit = yyjson_arr_get_first(yyjson_obj_get(call->args, "edits"));
	struct st_str text = ST_STR("");
	for (size_t i = 0; text.len == 0 && i < sizeof keys / sizeof *keys; i++)
		text = st_json_str(yyjson_obj_get(edit, keys[i]));
	return text;
}

/* The text by which a call shows or changes a file; empty if it has none. */
static struct st_str text_of(const struct st_message_call *call, enum st_file_use use) {
	struct st_str text = st_call_new_text(call);
	if (use == ST_USE_DELETED)
		return ST_STR("");
	/* A write that changed nothing counts as a read: the file has the text already. */
	if (use == ST_USE_READ && (text.len == 0 || !st_messages_is_noop(call->result)))
		return call->text;
	if (text.len == 0)
		text = st_call_patch(call);
	return text.len ? text : first_edit(call);
}

/*
 * Take the text of a call for the first of its files. Earlier texts of a file that it
 * wrote or deleted are no longer true.
 */
static bool add_text(void *data, struct st_str path, enum st_file_use use) {
	struct reader *reader = data;
	struct st_working_set *set = reader->set;
	const struct st_message_call *call = &reader->calls->items[reader->call];
	struct st_str text = text_of(call, use);
	bool whole = use == ST_USE_WROTE || use == ST_USE_DELETED;
	uint64_t file = st_str_sum(ST_STR_SUM, path);
	if (reader->has_text)
		text = ST_STR("");
	if (!whole && text.len == 0)
		return true;
	if (!st_array_room(&set->items, set->count, sizeof *set->items) ||
	    !st_key_places_add(&reader->files, file, set->count) ||
	    (whole && !st_key_places_add(&reader->wholes, file, set->count)))
		return false;
	reader->has_text |= text.len > 0;
	set->items[set->count++] =
		(struct st_working_text){.call = reader->call, .text = text, .file = file};
	return true;
}

/* Whether a later text of the file replaces this one or has all of it. */
static bool is_replaced(const struct reader *reader, size_t i) {
	const struct st_working_text *items = reader->set->items;
	struct st_str text = st_str_trim(items[i].text);
	if (st_key_places_next(&reader->wholes, items[i].file, i) != SIZE_MAX)
		return true;
	size_t later = i;
	for (size_t n = 0; n < COMPARED_MAX; n++) {
		later = st_key_places_next(&reader->files, items[i].file, later);
		if (later == SIZE_MAX)
			return false;
		if (memmem(items[later].text.ptr, items[later].text.len, text.ptr, text.len))
			return true;
	}
	return false;
}

/* Rank each text by how many other files were used after the last use of its file. */
static void rank_texts(const struct reader *reader) {
	struct st_working_set *set = reader->set;
	size_t files = 0;
	for (size_t i = set->count; i > 0; i--) {
		struct st_working_text *text = &set->items[i - 1];
		size_t later = st_key_places_next(&reader->files, text->file, i - 1);
		text->rank = later != SIZE_MAX ? set->items[later].rank : files++;
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

/* Remove the texts that are empty or replaced, and count the tokens of the others. */
static void remove_replaced(const struct reader *reader) {
	struct st_working_set *set = reader->set;
	size_t remaining = 0;
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i].text.len == 0 || is_replaced(reader, i))
			continue;
		set->items[remaining] = set->items[i];
		set->items[remaining].tokens = st_tokens(set->items[remaining].text);
		remaining++;
	}
	set->count = remaining;
}

int st_working_set_read(struct st_working_set *set, const struct st_message_calls *calls,
                        struct stet_error *err) {
	st_auto(reader) reader = {.set = set, .calls = calls};
	for (; reader.call < calls->count; reader.call++) {
		reader.has_text = false;
		if (!st_call_files(&calls->items[reader.call], add_text, &reader))
			return st_fail_nomem(err);
	}
	st_key_places_sort(&reader.files);
	st_key_places_sort(&reader.wholes);
	rank_texts(&reader);
	remove_replaced(&reader);
	if (set->count)
		qsort(set->items, set->count, sizeof *set->items, by_worth);
	return 0;
}

void st_working_set_release(struct st_working_set *set) {
	free(set->items);
	*set = (struct st_working_set){0};
}
