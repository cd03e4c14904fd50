/**
 * A list of instruction files, as callers of stet/instructions.h receive it.
 * core/session/deliver.c fills it for a session, index.c for a whole workspace.
 */
#ifndef STET_CORE_INSTRUCTIONS_LIST_H
#define STET_CORE_INSTRUCTIONS_LIST_H

#include "base/json.h"
#include "core/instructions/chain.h"
#include "stet/instructions.h"

enum st_instructions_change {
	ST_INSTRUCTIONS_NEW,
	ST_INSTRUCTIONS_REPLACED,
	ST_INSTRUCTIONS_REMOVED,
	ST_INSTRUCTIONS_LISTED,
};

struct st_instructions_entry {
	char *path;
	char *importer;
	/** The session already has the same text, from this file; NULL for none. */
	char *same_as;
	/** Its whole text; NULL for a removed file. */
	struct st_instructions_file *file;
	enum st_instructions_change change;
	/** As in st_instructions_item; the budget goes to the deepest level first. */
	size_t level;
	/** It is the root's own file. */
	bool project;
	/** The budget had no room for any of it. */
	bool left_out;
	size_t size;
	size_t cut;
	/** With ST_INSTRUCTIONS_PARTS: the part laid out here; if goes_on, the next delivery has more. */
	size_t from;
	size_t end;
	bool goes_on;
	bool has_hash;
	struct st_hash hash;
	char hex[ST_HASH_SHORT + 1];
	struct st_buf content;
	struct st_buf block;
	/** In an index: why stet does not load it; NULL if it does. */
	char *skipped;
};

struct stet_instructions {
	struct st_instructions_entry *entries;
	size_t count;
	char **notices;
	size_t notice_count;
};

/** Make an empty list. Returns NULL if memory is short. */
struct stet_instructions *st_instructions_list_new(void);

/** Add an entry: copies the path, takes a reference to file (may be NULL). Returns NULL if memory is short. */
struct st_instructions_entry *st_instructions_list_add(struct stet_instructions *list,
                                                       const char *path,
                                                       struct st_instructions_file *file);

/** Add a notice. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_instructions_list_notice(struct stet_instructions *list, const char *text,
                                              struct stet_error *err);

/** The budget for laying out a list. */
struct st_instructions_room {
	/** Bytes for all entries together. */
	size_t bytes;
	/** Bytes for one text, counted over all its parts. */
	size_t text_max;
	/** Continue a text that does not fit in the next list, instead of cutting it. */
	bool parts;
};

/**
 * Write content and block of every entry, within a budget. Entries that do not
 * fit are marked left_out, and a notice names them.
 *
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_instructions_list_lay_out(struct stet_instructions *list,
                                               const struct st_instructions_room *room,
                                               struct stet_error *err);

/** Remove the entries marked left_out. */
void st_instructions_list_drop_left_out(struct stet_instructions *list);

/** Add a list's files to a JSON array. */
void st_instructions_list_render(const struct stet_instructions *list, yyjson_mut_doc *doc,
                                 yyjson_mut_val *files);

/** As stet_instructions_index(). */
[[nodiscard]] int st_instructions_index(struct st_instructions_setup *setup,
                                        struct stet_instructions **out, struct stet_error *err);

#endif
