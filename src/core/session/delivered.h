/**
 * Which instructions a session has received, and which ones it needs next.
 *
 * A record has the hash of the text that a path had when it was last checked.
 * Equal texts are delivered once, be they links, copies, or files of another
 * checkout: the record of the first path is marked `delivered`, those of the
 * others are not. If a recorded file is no longer in the chain, the session is
 * told that it is gone, unless it was only renamed.
 */
#ifndef STET_CORE_SESSION_DELIVERED_H
#define STET_CORE_SESSION_DELIVERED_H

#include "core/instructions/list.h"
#include "core/session/tracker.h"

enum { ST_INSTRUCTIONS_RECORDS_MAX = 4096, ST_INSTRUCTIONS_NOTICES_MAX = 256 };

struct st_instructions_record {
	char *path;
	/** The directory of the file, or of the file that imports it; "" for the root. */
	char *owner;
	struct st_hash hash;
	/** The text was delivered as this path's. Else as another's, or not all of it was sent yet. */
	bool delivered;
	/** How many bytes of a text that is delivered in parts were sent; 0 for none or all. */
	size_t sent;
};

struct st_delivered {
	struct st_instructions_record *records;
	size_t count;
	/** The notices that the session has received. */
	struct st_lru notices;
	/** Incremented with every change of the above, for core/state/saving.c. */
	size_t changes;
};

void st_delivered_init(struct st_delivered *delivered);
void st_delivered_release(struct st_delivered *delivered);

/** Forget everything, so that it is delivered again. */
void st_delivered_clear(struct st_delivered *delivered);

/** The same, except for the root's instructions. */
void st_delivered_clear_nested(struct st_delivered *delivered);

/**
 * The directory whose instructions were sent in part, below the root ("" for
 * the root itself): the next answer continues them. NULL for none.
 */
const char *st_delivered_pending(const struct st_delivered *delivered);

/** Add a record, or a notice, that was loaded from the store. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_delivered_add(struct st_delivered *delivered, struct st_str path,
                                   struct st_str owner, const struct st_hash *hash,
                                   bool was_delivered, struct stet_error *err);
void st_delivered_add_notice(struct st_delivered *delivered, struct st_str notice);

/** Add a notice that the session gets now. Returns false if it got the notice before. */
bool st_delivered_add_new_notice(struct st_delivered *delivered, struct st_str notice);

/**
 * Choose the instructions of a chain that the session needs.
 *
 * @tracker  What the session has read or written itself: a changed file that it
 *           knows from there is not delivered again.
 * @in_answer  The hash of a text that the same answer contains in full; may be NULL.
 * @list     Receives the entries and notices, not laid out yet.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_delivered_choose(struct st_delivered *delivered, struct st_tracker *tracker,
                                      const struct st_instructions_chain *chain, unsigned flags,
                                      const struct st_hash *in_answer,
                                      struct stet_instructions *list, struct stet_error *err);

/** Record the entries of a list as delivered, once it is laid out. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_delivered_record(struct st_delivered *delivered,
                                      const struct st_instructions_chain *chain,
                                      const struct stet_instructions *list, struct stet_error *err);

#endif
