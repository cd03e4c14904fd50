#include "core/agents_given.h"
#include "base/array.h"

/* ---- records ---- */

static void record_release(struct st_agents_record *record) {
	free(record->path);
	free(record->owner);
}

static void drop(struct st_agents_given *given, size_t index) {
	record_release(&given->records[index]);
	given->count--;
	given->changes++;
	memmove(&given->records[index], &given->records[index + 1],
	        (given->count - index) * sizeof *given->records);
}

void st_agents_given_init(struct st_agents_given *given) {
	*given = (struct st_agents_given){0};
	st_lru_init(&given->said, ST_AGENTS_SAID_MAX, ST_AGENTS_SAID_MAX, NULL);
}

void st_agents_given_clear(struct st_agents_given *given) {
	while (given->count > 0)
		record_release(&given->records[--given->count]);
	given->changes++;
	st_lru_clear(&given->said);
}

void st_agents_given_clear_nested(struct st_agents_given *given) {
	for (size_t i = given->count; i > 0; i--) {
		if (*given->records[i - 1].owner)
			drop(given, i - 1);
	}
	st_lru_clear(&given->said);
}

void st_agents_given_release(struct st_agents_given *given) {
	st_agents_given_clear(given);
	free(given->records);
	st_lru_release(&given->said);
}

static struct st_agents_record *by_path(const struct st_agents_given *given, const char *path) {
	for (size_t i = 0; i < given->count; i++) {
		if (strcmp(given->records[i].path, path) == 0)
			return &given->records[i];
	}
	return NULL;
}

/* The record that gave a text; NULL if none did. */
static struct st_agents_record *by_text(const struct st_agents_given *given,
                                        const struct st_hash *hash) {
	for (size_t i = 0; i < given->count; i++) {
		if (given->records[i].given && st_hash_eq(&given->records[i].hash, hash))
			return &given->records[i];
	}
	return NULL;
}

/* The directory that brought an item: as many components of the chain's as its level says. */
static struct st_str owner_of(const struct st_agents_chain *chain,
                              const struct st_agents_item *item) {
	struct st_str dir = st_buf_str(&chain->dir);
	size_t len = 0;
	for (size_t level = item->level; level > 0; level--) {
		size_t from = len + (len > 0);
		const char *slash = memchr(dir.ptr + from, '/', dir.len - from);
		len = slash ? (size_t)(slash - dir.ptr) : dir.len;
	}
	return st_strn(dir.ptr, len);
}

static int make_room(struct st_agents_given *given, struct stet_error *err) {
	if (given->count == ST_AGENTS_RECORDS_MAX)
		drop(given, 0);
	return st_array_room(&given->records, given->count, sizeof *given->records)
	           ? 0
	           : st_fail_nomem(err);
}

int st_agents_given_add(struct st_agents_given *given, struct st_str path, struct st_str owner,
                        const struct st_hash *hash, bool gave, struct stet_error *err) {
	int code = make_room(given, err);
	if (code < 0)
		return code;
	struct st_agents_record new = {
		.path = strndup(path.ptr, path.len),
		.owner = strndup(owner.ptr, owner.len),
		.hash = *hash,
		.given = gave,
	};
	if (!new.path || !new.owner) {
		record_release(&new);
		return st_fail_nomem(err);
	}
	given->records[given->count++] = new;
	given->changes++;
	return 0;
}

const char *st_agents_given_pending(const struct st_agents_given *given) {
	for (size_t i = 0; i < given->count; i++) {
		if (given->records[i].sent > 0)
			return given->records[i].owner;
	}
	return NULL;
}

void st_agents_given_say(struct st_agents_given *given, struct st_str notice) {
	st_lru_put(&given->said, notice, given, 1);
	given->changes++;
}

/* Note which text a path has now, and whether it gave it. */
static int note(struct st_agents_given *given, const struct st_agents_chain *chain,
                const struct st_agents_item *item, bool gave, struct stet_error *err) {
	struct st_agents_record *record = by_path(given, item->path);
	if (!record)
		return st_agents_given_add(given, st_str(item->path), owner_of(chain, item),
		                           &item->file->hash, gave, err);
	given->changes += record->given != gave || !st_hash_eq(&record->hash, &item->file->hash);
	record->hash = item->file->hash;
	record->given = gave;
	record->sent = 0;
	return 0;
}

/* ---- what is gone ---- */

static const struct st_agents_item *item_by_path(const struct st_agents_chain *chain,
                                                 const char *path) {
	for (size_t i = 0; i < chain->count; i++) {
		if (strcmp(chain->items[i].path, path) == 0)
			return &chain->items[i];
	}
	return NULL;
}

/* Whether a directory is one that the chain passes, or the last one if only that counts. */
static bool is_passed(const struct st_agents_chain *chain, const char *owner, bool alone) {
	struct st_str dir = st_buf_str(&chain->dir), own = st_str(owner);
	if (alone || own.len == 0)
		return !alone || st_str_eq(dir, own);
	return st_str_starts(dir, own) && (dir.len == own.len || dir.ptr[own.len] == '/');
}

/* The item that has a text under a name which is not known yet: the file was renamed. */
static const struct st_agents_item *renamed(const struct st_agents_given *given,
                                            const struct st_agents_chain *chain,
                                            const struct st_hash *hash) {
	for (size_t i = 0; i < chain->count; i++) {
		const struct st_agents_item *item = &chain->items[i];
		if (!item->bridge && st_hash_eq(&item->file->hash, hash) && !by_path(given, item->path))
			return item;
	}
	return NULL;
}

/* Those who relied on a text given elsewhere have to be given it when they are met again. */
static void forget_twins(struct st_agents_given *given, const struct st_hash *hash) {
	for (size_t i = given->count; i > 0; i--) {
		if (!given->records[i - 1].given && st_hash_eq(&given->records[i - 1].hash, hash))
			drop(given, i - 1);
	}
}

static int announce_gone(struct st_agents_given *given, size_t index, struct stet_agents *list,
                         struct stet_error *err) {
	struct st_hash hash = given->records[index].hash;
	bool gave = given->records[index].given;
	struct st_agents_entry *entry =
		gave ? st_agents_list_add(list, given->records[index].path, NULL) : NULL;
	if (gave && !entry)
		return st_fail_nomem(err);
	drop(given, index);
	if (gave) {
		entry->change = ST_AGENTS_REMOVED;
		forget_twins(given, &hash);
	}
	return 0;
}

static int find_gone(struct st_agents_given *given, const struct st_agents_chain *chain, bool alone,
                     struct stet_agents *list, struct stet_error *err) {
	for (size_t i = 0; i < given->count;) {
		struct st_agents_record *record = &given->records[i];
		const struct st_agents_item *item = item_by_path(chain, record->path);
		if ((item && !item->bridge) || !is_passed(chain, record->owner, alone)) {
			i++;
			continue;
		}
		item = renamed(given, chain, &record->hash);
		bool gave = record->given;
		if (item)
			drop(given, i);
		int code = item ? note(given, chain, item, gave, err) : announce_gone(given, i, list, err);
		if (code < 0)
			return code;
		/* Dropping a twin may have moved what comes next. */
		i = 0;
	}
	return 0;
}

/* ---- what is to be given ---- */

static struct st_agents_entry *entry_by_text(struct stet_agents *list, const struct st_hash *hash) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].file && st_hash_eq(&list->entries[i].hash, hash))
			return &list->entries[i];
	}
	return NULL;
}

static int give(const struct st_agents_item *item, enum st_agents_change change,
                const char *same_as, struct stet_agents *list, struct stet_error *err) {
	struct st_agents_entry *entry =
		st_agents_list_add(list, item->path, same_as ? NULL : item->file);
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
static bool has_read(struct st_tracker *tracker, const struct st_agents_item *item) {
	const struct st_seen *seen = st_tracker_find(tracker, item->real);
	return seen && st_hash_eq(&seen->version.hash, &item->file->hash) && st_seen_all(seen);
}

static int choose_one(struct st_agents_given *given, struct st_tracker *tracker,
                      const struct st_agents_chain *chain, const struct st_agents_item *item,
                      const struct st_hash *shown, struct stet_agents *list,
                      struct stet_error *err) {
	const struct st_hash *hash = &item->file->hash;
	struct st_agents_entry *entry = entry_by_text(list, hash);
	struct st_agents_record *record = by_path(given, item->path), *giver = by_text(given, hash);
	bool gave = record && record->given;
	if (entry) {
		/* It comes now, at another place: with the urgency of the nearer one. */
		entry->level = entry->level > item->level ? entry->level : item->level;
		return gave ? 0 : note(given, chain, item, false, err);
	}
	if (gave && st_hash_eq(&record->hash, hash))
		return 0;
	if (shown && st_hash_eq(shown, hash))
		return note(given, chain, item, true, err);
	if (giver && !gave)
		return note(given, chain, item, false, err);
	if (gave && has_read(tracker, item))
		return note(given, chain, item, true, err);
	int code = give(item, gave ? ST_AGENTS_REPLACED : ST_AGENTS_NEW, giver ? giver->path : NULL,
	                list, err);
	if (code == 0 && record && st_hash_eq(&record->hash, hash))
		list->entries[list->count - 1].from = record->sent;
	return code;
}

static int choose_all(const struct st_agents_item *item, struct stet_agents *list,
                      struct stet_error *err) {
	struct st_agents_entry *entry = entry_by_text(list, &item->file->hash);
	if (!entry)
		return give(item, ST_AGENTS_NEW, NULL, list, err);
	entry->level = entry->level > item->level ? entry->level : item->level;
	return 0;
}

static int take_notices(struct st_agents_given *given, const struct st_agents_chain *chain,
                        struct stet_agents *list, struct stet_error *err) {
	struct st_str all = st_buf_str(&chain->notices);
	for (size_t at = 0; at < all.len; at += strlen(all.ptr + at) + 1) {
		struct st_str text = st_str(all.ptr + at);
		if (st_lru_get(&given->said, text))
			continue;
		int code = st_agents_list_notice(list, text.ptr, err);
		if (code < 0)
			return code;
		st_agents_given_say(given, text);
	}
	return 0;
}

int st_agents_given_choose(struct st_agents_given *given, struct st_tracker *tracker,
                           const struct st_agents_chain *chain, unsigned flags,
                           const struct st_hash *shown, struct stet_agents *list,
                           struct stet_error *err) {
	int code = find_gone(given, chain, flags & ST_AGENTS_ALONE, list, err);
	for (size_t i = 0; code == 0 && i < chain->count; i++) {
		const struct st_agents_item *item = &chain->items[i];
		if (item->bridge || item->masked || (flags & ST_AGENTS_NESTED && item->level == 0))
			continue;
		code = flags & ST_AGENTS_ALL ? choose_all(item, list, err)
		                             : choose_one(given, tracker, chain, item, shown, list, err);
	}
	return code < 0 ? code : take_notices(given, chain, list, err);
}

int st_agents_given_record(struct st_agents_given *given, const struct st_agents_chain *chain,
                           const struct stet_agents *list, struct stet_error *err) {
	for (size_t i = 0; i < list->count; i++) {
		const struct st_agents_entry *entry = &list->entries[i];
		const struct st_agents_item *item = item_by_path(chain, entry->path);
		if (entry->left_out || entry->change == ST_AGENTS_REMOVED || !item)
			continue;
		int code = note(given, chain, item, !entry->same_as && !entry->goes_on, err);
		if (code < 0)
			return code;
		struct st_agents_record *record = entry->goes_on ? by_path(given, item->path) : NULL;
		if (record)
			record->sent = entry->end;
	}
	return 0;
}
