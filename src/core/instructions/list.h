/**
 * A list of instruction files as its reader gets it; the contract is in
 * stet/instructions.h. Filled by a delivery or by an index.
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
	/** A file that was given before and has the same text now; NULL for none. */
	char *same_as;
	/** Its whole text, until it is laid out; NULL for none. */
	struct st_instructions_file *file;
	enum st_instructions_change change;
	/** Which directory brought it, counted from the root: the nearest gets room first. */
	size_t level;
	/** It is the root's own. */
	bool project;
	/** It had no room at all. */
	bool left_out;
	size_t size;
	size_t cut;
	/** The part of its text that is laid out, where it comes in parts; more follows if it goes on. */
	size_t from;
	size_t end;
	bool goes_on;
	bool has_hash;
	struct st_hash hash;
	char hex[ST_HASH_SHORT + 1];
	struct st_buf content;
	struct st_buf block;
	/** For an index: why it is not loaded; NULL if it is. */
	char *skipped;
};

struct stet_instructions {
	struct st_instructions_entry *entries;
	size_t count;
	char **notices;
	size_t notice_count;
};

/** A list without entries; NULL if memory is short. */
struct stet_instructions *st_instructions_list_new(void);

/** Add an entry; its path is copied, a reference on file (may be NULL) is taken. NULL if memory is short. */
struct st_instructions_entry *st_instructions_list_add(struct stet_instructions *list,
                                                       const char *path,
                                                       struct st_instructions_file *file);

/** Add a notice. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_instructions_list_notice(struct stet_instructions *list, const char *text,
                                              struct stet_error *err);

/** How much of a list may be laid out. */
struct st_instructions_room {
	/** All entries together. */
	size_t bytes;
	/** One text at all, however many parts it comes in. */
	size_t text_max;
	/** A text that does not fit goes on with the next list; else it is cut. */
	bool parts;
};

/**
 * Make content and block of every entry within a budget. Entries without room
 * are marked left_out and told of in a notice.
 *
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_instructions_list_lay_out(struct stet_instructions *list,
                                               const struct st_instructions_room *room,
                                               struct stet_error *err);

/** Take out the entries that were left out. */
void st_instructions_list_drop_left_out(struct stet_instructions *list);

/** Add a list's files to a JSON array. */
void st_instructions_list_render(const struct stet_instructions *list, yyjson_mut_doc *doc,
                                 yyjson_mut_val *files);

/** All instruction files of a workspace, with why one would not be loaded; as stet_instructions_index(). */
[[nodiscard]] int st_instructions_index(struct st_instructions_setup *setup,
                                        struct stet_instructions **out, struct stet_error *err);

#endif
