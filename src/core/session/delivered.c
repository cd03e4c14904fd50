#include "core/session/delivered.h"
#include "base/array.h"

/* ---- records ---- */

static void record_release(struct st_instructions_record *record) {
	free(record->path);
	free(record->owner);
}

static void drop(struct st_delivered *delivered, size_t index) {
	record_release(&delivered->records[index]);
	delivered->count--;
	delivered->changes++;
	memmove(&delivered->records[index], &delivered->records[index + 1],
	        (delivered->count - index) * sizeof *delivered->records);
}

void st_delivered_init(struct st_delivered *delivered) {
	*delivered = (struct st_delivered){0};
	st_lru_init(&delivered->said, ST_INSTRUCTIONS_SAID_MAX, ST_INSTRUCTIONS_SAID_MAX, NULL);
}

void st_delivered_clear(struct st_delivered *delivered) {
	while (delivered->count > 0)
		record_release(&delivered->records[--delivered->count]);
	delivered->changes++;
	st_lru_clear(&delivered->said);
}

void st_delivered_clear_nested(struct st_delivered *delivered) {
	for (size_t i = delivered->count; i > 0; i--) {
		if (*delivered->records[i - 1].owner)
			drop(delivered, i - 1);
	}
	st_lru_clear(&delivered->said);
}

void st_delivered_release(struct st_delivered *delivered) {
	st_delivered_clear(delivered);
	free(delivered->records);
	st_lru_release(&delivered->said);
}

static struct st_instructions_record *by_path(const struct st_delivered *delivered,
                                              const char *path) {
	for (size_t i = 0; i < delivered->count; i++) {
		if (strcmp(delivered->records[i].path, path) == 0)
			return &delivered->records[i];
	}
	return NULL;
}

/* The record that gave a text; NULL if none did. */
static struct st_instructions_record *by_text(const struct st_delivered *delivered,
                                              const struct st_hash *hash) {
	for (size_t i = 0; i < delivered->count; i++) {
		if (delivered->records[i].delivered && st_hash_eq(&delivered->records[i].hash, hash))
			return &delivered->records[i];
	}
	return NULL;
}

/* The directory that brought an item: as many components of the chain's as its level says. */
static struct st_str owner_of(const struct st_instructions_chain *chain,
                              const struct st_instructions_item *item) {
	struct st_str dir = st_buf_str(&chain->dir);
	size_t len = 0;
	for (size_t level = item->level; level > 0; level--) {
		size_t from = len + (len > 0);
		const char *slash = memchr(dir.ptr + from, '/', dir.len - from);
		len = slash ? (size_t)(slash - dir.ptr) : dir.len;
	}
	return st_strn(dir.ptr, len);
}

static int make_room(struct st_delivered *delivered, struct stet_error *err) {
	if (delivered->count == ST_INSTRUCTIONS_RECORDS_MAX)
		drop(delivered, 0);
	return st_array_room(&delivered->records, delivered->count, sizeof *delivered->records)
	           ? 0
	           : st_fail_nomem(err);
}

int st_delivered_add(struct st_delivered *delivered, struct st_str path, struct st_str owner,
                     const struct st_hash *hash, bool gave, struct stet_error *err) {
	int code = make_room(delivered, err);
	if (code < 0)
		return code;
	struct st_instructions_record new = {
		.path = strndup(path.ptr, path.len),
		.owner = strndup(owner.ptr, owner.len),
		.hash = *hash,
		.delivered = gave,
	};
	if (!new.path || !new.owner) {
		record_release(&new);
		return st_fail_nomem(err);
	}
	delivered->records[delivered->count++] = new;
	delivered->changes++;
	return 0;
}

const char *st_delivered_pending(const struct st_delivered *delivered) {
	for (size_t i = 0; i < delivered->count; i++) {
		if (delivered->records[i].sent > 0)
			return delivered->records[i].owner;
	}
	return NULL;
}

void st_delivered_say(struct st_delivered *delivered, struct st_str notice) {
	st_lru_put(&delivered->said, notice, delivered, 1);
	delivered->changes++;
}

/* Note which text a path has now, and whether it gave it. */
static int note(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                const struct st_instructions_item *item, bool gave, struct stet_error *err) {
	struct st_instructions_record *record = by_path(delivered, item->path);
	if (!record)
		return st_delivered_add(delivered, st_str(item->path), owner_of(chain, item),
		                        &item->file->hash, gave, err);
	delivered->changes +=
		record->delivered != gave || !st_hash_eq(&record->hash, &item->file->hash);
	record->hash = item->file->hash;
	record->delivered = gave;
	record->sent = 0;
	return 0;
}

/* ---- what is gone ---- */

static const struct st_instructions_item *item_by_path(const struct st_instructions_chain *chain,
                                                       const char *path) {
	for (size_t i = 0; i < chain->count; i++) {
		if (strcmp(chain->items[i].path, path) == 0)
			return &chain->items[i];
	}
	return NULL;
}

/* Whether a directory is one that the chain passes, or the last one if only that counts. */
static bool is_passed(const struct st_instructions_chain *chain, const char *owner, bool alone) {
	struct st_str dir = st_buf_str(&chain->dir), own = st_str(owner);
	if (alone || own.len == 0)
		return !alone || st_str_eq(dir, own);
	return st_str_starts(dir, own) && (dir.len == own.len || dir.ptr[own.len] == '/');
}

/* The item that has a text under a name which is not known yet: the file was renamed. */
static const struct st_instructions_item *renamed(const struct st_delivered *delivered,
                                                  const struct st_instructions_chain *chain,
                                                  const struct st_hash *hash) {
	for (size_t i = 0; i < chain->count; i++) {
		const struct st_instructions_item *item = &chain->items[i];
		if (!item->bridge && st_hash_eq(&item->file->hash, hash) && !by_path(delivered, item->path))
			return item;
	}
	return NULL;
}

/* Those who relied on a text given elsewhere have to be given it when they are met again. */
static void forget_twins(struct st_delivered *delivered, const struct st_hash *hash) {
	for (size_t i = delivered->count; i > 0; i--) {
		if (!delivered->records[i - 1].delivered &&
		    st_hash_eq(&delivered->records[i - 1].hash, hash))
			drop(delivered, i - 1);
	}
}

static int announce_gone(struct st_delivered *delivered, size_t index,
                         struct stet_instructions *list, struct stet_error *err) {
	struct st_hash hash = delivered->records[index].hash;
	bool gave = delivered->records[index].delivered;
	struct st_instructions_entry *entry =
		gave ? st_instructions_list_add(list, delivered->records[index].path, NULL) : NULL;
	if (gave && !entry)
		return st_fail_nomem(err);
	drop(delivered, index);
	if (gave) {
		entry->change = ST_INSTRUCTIONS_REMOVED;
		forget_twins(delivered, &hash);
	}
	return 0;
}

static int find_gone(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                     bool alone, struct stet_instructions *list, struct stet_error *err) {
	for (size_t i = 0; i < delivered->count;) {
		struct st_instructions_record *record = &delivered->records[i];
		const struct st_instructions_item *item = item_by_path(chain, record->path);
		if ((item && !item->bridge) || !is_passed(chain, record->owner, alone)) {
			i++;
			continue;
		}
		item = renamed(delivered, chain, &record->hash);
		bool gave = record->delivered;
		if (item)
			drop(delivered, i);
		int code =
			item ? note(delivered, chain, item, gave, err) : announce_gone(delivered, i, list, err);
		if (code < 0)
			return code;
		/* Dropping a twin may have moved what comes next. */
		i = 0;
	}
	return 0;
}

/* ---- what is to be given ---- */

static struct st_instructions_entry *entry_by_text(struct stet_instructions *list,
                                                   const struct st_hash *hash) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].file && st_hash_eq(&list->entries[i].hash, hash))
			return &list->entries[i];
	}
	return NULL;
}

static int give(const struct st_instructions_item *item, enum st_instructions_change change,
                const char *same_as, struct stet_instructions *list, struct stet_error *err) {
	struct st_instructions_entry *entry =
		st_instructions_list_add(list, item->path, same_as ? NULL : item->file);
	if (!entry)
		return st_fail_nomem(err);
	entry->change = change;
	entry->level = item->level;
	entry->project = item->level == 0 && !item->importer;
	entry->importer = item->importer ? strdup(item->importer) : NULL;
	entry->same_as = same_as ? strdup(same_as) : NULL;
	return (item->importer && !entry->importer) || (same_as && !entry->same_as) ? st_fail_nomem(err)
	                                                                            : 0;
}

/* Whether the session has read all of this version, or wrote it. */
static bool has_read(struct st_tracker *tracker, const struct st_instructions_item *item) {
	const struct st_seen *seen = st_tracker_find(tracker, item->real);
	return seen && st_hash_eq(&seen->version.hash, &item->file->hash) && st_seen_all(seen);
}

static int choose_one(struct st_delivered *delivered, struct st_tracker *tracker,
                      const struct st_instructions_chain *chain,
                      const struct st_instructions_item *item, const struct st_hash *in_answer,
                      struct stet_instructions *list, struct stet_error *err) {
	const struct st_hash *hash = &item->file->hash;
	struct st_instructions_entry *entry = entry_by_text(list, hash);
	struct st_instructions_record *record = by_path(delivered, item->path),
								  *giver = by_text(delivered, hash);
	bool gave = record && record->delivered;
	if (entry) {
		/* It comes now, at another place: with the urgency of the nearer one. */
		entry->level = entry->level > item->level ? entry->level : item->level;
		return gave ? 0 : note(delivered, chain, item, false, err);
	}
	if (gave && st_hash_eq(&record->hash, hash))
		return 0;
	if (in_answer && st_hash_eq(in_answer, hash))
		return note(delivered, chain, item, true, err);
	if (giver && !gave)
		return note(delivered, chain, item, false, err);
	if (gave && has_read(tracker, item))
		return note(delivered, chain, item, true, err);
	int code = give(item, gave ? ST_INSTRUCTIONS_REPLACED : ST_INSTRUCTIONS_NEW,
	                giver ? giver->path : NULL, list, err);
	if (code == 0 && record && st_hash_eq(&record->hash, hash))
		list->entries[list->count - 1].from = record->sent;
	return code;
}

static int choose_all(const struct st_instructions_item *item, struct stet_instructions *list,
                      struct stet_error *err) {
	struct st_instructions_entry *entry = entry_by_text(list, &item->file->hash);
	if (!entry)
		return give(item, ST_INSTRUCTIONS_NEW, NULL, list, err);
	entry->level = entry->level > item->level ? entry->level : item->level;
	return 0;
}

static int take_notices(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                        struct stet_instructions *list, struct stet_error *err) {
	struct st_str all = st_buf_str(&chain->notices);
	for (size_t at = 0; at < all.len; at += strlen(all.ptr + at) + 1) {
		struct st_str text = st_str(all.ptr + at);
		if (st_lru_get(&delivered->said, text))
			continue;
		int code = st_instructions_list_notice(list, text.ptr, err);
		if (code < 0)
			return code;
		st_delivered_say(delivered, text);
	}
	return 0;
}

int st_delivered_choose(struct st_delivered *delivered, struct st_tracker *tracker,
                        const struct st_instructions_chain *chain, unsigned flags,
                        const struct st_hash *in_answer, struct stet_instructions *list,
                        struct stet_error *err) {
	int code = find_gone(delivered, chain, flags & ST_INSTRUCTIONS_ALONE, list, err);
	for (size_t i = 0; code == 0 && i < chain->count; i++) {
		const struct st_instructions_item *item = &chain->items[i];
		if (item->bridge || item->masked || (flags & ST_INSTRUCTIONS_NESTED && item->level == 0))
			continue;
		code = flags & ST_INSTRUCTIONS_ALL
		           ? choose_all(item, list, err)
		           : choose_one(delivered, tracker, chain, item, in_answer, list, err);
	}
	return code < 0 ? code : take_notices(delivered, chain, list, err);
}

int st_delivered_record(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                        const struct stet_instructions *list, struct stet_error *err) {
	for (size_t i = 0; i < list->count; i++) {
		const struct st_instructions_entry *entry = &list->entries[i];
		const struct st_instructions_item *item = item_by_path(chain, entry->path);
		if (entry->left_out || entry->change == ST_INSTRUCTIONS_REMOVED || !item)
			continue;
		int code = note(delivered, chain, item, !entry->same_as && !entry->goes_on, err);
		if (code < 0)
			return code;
		struct st_instructions_record *record =
			entry->goes_on ? by_path(delivered, item->path) : NULL;
		if (record)
			record->sent = entry->end;
	}
	return 0;
}
