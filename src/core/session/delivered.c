#include "core/session/delivered.h"
#include "base/array.h"

/* ---- records ---- */

static void record_release(struct st_instructions_record *record) {
	free(record->path);
	free(record->owner);
}

static void drop_record(struct st_delivered *delivered, size_t index) {
	record_release(&delivered->records[index]);
	delivered->count--;
	delivered->changes++;
	memmove(&delivered->records[index], &delivered->records[index + 1],
	        (delivered->count - index) * sizeof *delivered->records);
}

void st_delivered_init(struct st_delivered *delivered) {
	*delivered = (struct st_delivered){0};
	st_lru_init(&delivered->notices, ST_INSTRUCTIONS_NOTICES_MAX, ST_INSTRUCTIONS_NOTICES_MAX,
	            NULL);
}

void st_delivered_clear(struct st_delivered *delivered) {
	while (delivered->count > 0)
		record_release(&delivered->records[--delivered->count]);
	delivered->changes++;
	st_lru_clear(&delivered->notices);
}

void st_delivered_clear_nested(struct st_delivered *delivered) {
	for (size_t i = delivered->count; i > 0; i--) {
		if (*delivered->records[i - 1].owner)
			drop_record(delivered, i - 1);
	}
	st_lru_clear(&delivered->notices);
}

void st_delivered_release(struct st_delivered *delivered) {
	st_delivered_clear(delivered);
	free(delivered->records);
	st_lru_release(&delivered->notices);
}

static struct st_instructions_record *record_by_path(const struct st_delivered *delivered,
                                                     const char *path) {
	for (size_t i = 0; i < delivered->count; i++) {
		if (strcmp(delivered->records[i].path, path) == 0)
			return &delivered->records[i];
	}
	return NULL;
}

/* The record as which a text was delivered; NULL if it was not. */
static struct st_instructions_record *record_by_text(const struct st_delivered *delivered,
                                                     const struct st_hash *hash) {
	for (size_t i = 0; i < delivered->count; i++) {
		if (delivered->records[i].delivered && st_hash_eq(&delivered->records[i].hash, hash))
			return &delivered->records[i];
	}
	return NULL;
}

/* The directory that an item belongs to: the first `level` components of the chain's. */
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

static int make_record_room(struct st_delivered *delivered, struct stet_error *err) {
	if (delivered->count == ST_INSTRUCTIONS_RECORDS_MAX)
		drop_record(delivered, 0);
	return st_array_room(&delivered->records, delivered->count, sizeof *delivered->records)
	           ? 0
	           : st_fail_nomem(err);
}

int st_delivered_add(struct st_delivered *delivered, struct st_str path, struct st_str owner,
                     const struct st_hash *hash, bool was_delivered, struct stet_error *err) {
	int code = make_record_room(delivered, err);
	if (code < 0)
		return code;
	struct st_instructions_record new = {
		.path = strndup(path.ptr, path.len),
		.owner = strndup(owner.ptr, owner.len),
		.hash = *hash,
		.delivered = was_delivered,
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

void st_delivered_add_notice(struct st_delivered *delivered, struct st_str notice) {
	st_lru_put(&delivered->notices, notice, delivered, 1);
	delivered->changes++;
}

bool st_delivered_add_new_notice(struct st_delivered *delivered, struct st_str notice) {
	if (st_lru_get(&delivered->notices, notice))
		return false;
	st_delivered_add_notice(delivered, notice);
	return true;
}

/* Record the text that a path has now, and whether it was delivered as this path's. */
static int record_item(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                       const struct st_instructions_item *item, bool was_delivered,
                       struct stet_error *err) {
	struct st_instructions_record *record = record_by_path(delivered, item->path);
	if (!record)
		return st_delivered_add(delivered, st_str(item->path), owner_of(chain, item),
		                        &item->file->hash, was_delivered, err);
	delivered->changes +=
		record->delivered != was_delivered || !st_hash_eq(&record->hash, &item->file->hash);
	record->hash = item->file->hash;
	record->delivered = was_delivered;
	record->sent = 0;
	return 0;
}

/* ---- files that are gone ---- */

static const struct st_instructions_item *item_by_path(const struct st_instructions_chain *chain,
                                                       const char *path) {
	for (size_t i = 0; i < chain->count; i++) {
		if (strcmp(chain->items[i].path, path) == 0)
			return &chain->items[i];
	}
	return NULL;
}

/* Whether the chain covers a directory; with `alone`, only its last one. */
static bool is_passed(const struct st_instructions_chain *chain, const char *owner, bool alone) {
	struct st_str dir = st_buf_str(&chain->dir), own = st_str(owner);
	if (alone || own.len == 0)
		return !alone || st_str_eq(dir, own);
	return st_str_starts(dir, own) && (dir.len == own.len || dir.ptr[own.len] == '/');
}

/* Find a renamed file: an item with the same text, under a path that has no record. */
static const struct st_instructions_item *renamed(const struct st_delivered *delivered,
                                                  const struct st_instructions_chain *chain,
                                                  const struct st_hash *hash) {
	for (size_t i = 0; i < chain->count; i++) {
		const struct st_instructions_item *item = &chain->items[i];
		if (!item->bridge && st_hash_eq(&item->file->hash, hash) &&
		    !record_by_path(delivered, item->path))
			return item;
	}
	return NULL;
}

/* A text is gone: forget the paths that did not get it delivered because another one had. */
static void forget_twins(struct st_delivered *delivered, const struct st_hash *hash) {
	for (size_t i = delivered->count; i > 0; i--) {
		if (!delivered->records[i - 1].delivered &&
		    st_hash_eq(&delivered->records[i - 1].hash, hash))
			drop_record(delivered, i - 1);
	}
}

static int announce_gone(struct st_delivered *delivered, size_t index,
                         struct stet_instructions *list, struct stet_error *err) {
	struct st_hash hash = delivered->records[index].hash;
	bool was_delivered = delivered->records[index].delivered;
	struct st_instructions_entry *entry =
		was_delivered ? st_instructions_list_add(list, delivered->records[index].path, NULL) : NULL;
	if (was_delivered && !entry)
		return st_fail_nomem(err);
	drop_record(delivered, index);
	if (was_delivered) {
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
		bool was_delivered = record->delivered;
		if (item)
			drop_record(delivered, i);
		int code = item ? record_item(delivered, chain, item, was_delivered, err)
		                : announce_gone(delivered, i, list, err);
		if (code < 0)
			return code;
		/* Dropping records moves the others: start over. */
		i = 0;
	}
	return 0;
}

/* ---- files to deliver ---- */

static struct st_instructions_entry *entry_by_text(struct stet_instructions *list,
                                                   const struct st_hash *hash) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].file && st_hash_eq(&list->entries[i].hash, hash))
			return &list->entries[i];
	}
	return NULL;
}

static int add_to_list(const struct st_instructions_item *item, enum st_instructions_change change,
                       const char *same_as, struct stet_instructions *list,
                       struct stet_error *err) {
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

/* Whether the session has read or written all of this version itself. */
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
	struct st_instructions_record *record = record_by_path(delivered, item->path),
								  *same_text = record_by_text(delivered, hash);
	bool was_delivered = record && record->delivered;
	if (entry) {
		/* The list has the text already: lay it out with the priority of the deeper path. */
		entry->level = entry->level > item->level ? entry->level : item->level;
		return was_delivered ? 0 : record_item(delivered, chain, item, false, err);
	}
	if (was_delivered && st_hash_eq(&record->hash, hash))
		return 0;
	if (in_answer && st_hash_eq(in_answer, hash))
		return record_item(delivered, chain, item, true, err);
	if (same_text && !was_delivered)
		return record_item(delivered, chain, item, false, err);
	if (was_delivered && has_read(tracker, item))
		return record_item(delivered, chain, item, true, err);
	int code = add_to_list(item, was_delivered ? ST_INSTRUCTIONS_REPLACED : ST_INSTRUCTIONS_NEW,
	                       same_text ? same_text->path : NULL, list, err);
	if (code == 0 && record && st_hash_eq(&record->hash, hash))
		list->entries[list->count - 1].from = record->sent;
	return code;
}

static int choose_all(const struct st_instructions_item *item, struct stet_instructions *list,
                      struct stet_error *err) {
	struct st_instructions_entry *entry = entry_by_text(list, &item->file->hash);
	if (!entry)
		return add_to_list(item, ST_INSTRUCTIONS_NEW, NULL, list, err);
	entry->level = entry->level > item->level ? entry->level : item->level;
	return 0;
}

static int take_notices(struct st_delivered *delivered, const struct st_instructions_chain *chain,
                        struct stet_instructions *list, struct stet_error *err) {
	struct st_str all = st_buf_str(&chain->notices);
	for (size_t at = 0; at < all.len; at += strlen(all.ptr + at) + 1) {
		struct st_str text = st_str(all.ptr + at);
		if (st_lru_get(&delivered->notices, text))
			continue;
		int code = st_instructions_list_notice(list, text.ptr, err);
		if (code < 0)
			return code;
		st_delivered_add_notice(delivered, text);
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
		int code = record_item(delivered, chain, item, !entry->same_as && !entry->goes_on, err);
		if (code < 0)
			return code;
		struct st_instructions_record *record =
			entry->goes_on ? record_by_path(delivered, item->path) : NULL;
		if (record)
			record->sent = entry->end;
	}
	return 0;
}
