/**
 * What a session was given of the instructions, and what it has to be given
 * now.
 *
 * A record says which text a path had when it was last looked at. Texts are
 * compared by hash, so that a link, a twin or a copy in another checkout comes
 * once: the first place where it was met is the one that gave it, and the
 * others are noted as known. A record whose directory is on the way but whose
 * file is no longer part of the chain is announced as gone, unless the same
 * text just goes by another name.
 */
#ifndef STET_CORE_SESSION_DELIVERED_H
#define STET_CORE_SESSION_DELIVERED_H

#include "core/instructions/list.h"
#include "core/session/tracker.h"

enum { ST_INSTRUCTIONS_RECORDS_MAX = 4096, ST_INSTRUCTIONS_SAID_MAX = 256 };

struct st_instructions_record {
	char *path;
	/** The directory whose file brought it; "" for the root. */
	char *owner;
	struct st_hash hash;
	/** This path gave the text; else another one did, or not all of it was sent so far. */
	bool delivered;
	/** How many bytes of a text that does not fit into one answer were sent; 0 for none or all. */
	size_t sent;
};

struct st_delivered {
	struct st_instructions_record *records;
	size_t count;
	/** Notices that were said. */
	struct st_lru said;
	/** Moves with every change of the above. */
	size_t changes;
};

void st_delivered_init(struct st_delivered *delivered);
void st_delivered_release(struct st_delivered *delivered);

/** Forget everything, so that it is given again. */
void st_delivered_clear(struct st_delivered *delivered);

/** The same but for what the root brought. */
void st_delivered_clear_nested(struct st_delivered *delivered);

/**
 * The directory whose instructions were sent in part, below the root ("" for
 * the root itself), so that the next answer goes on with them; NULL for none.
 */
const char *st_delivered_pending(const struct st_delivered *delivered);

/** Put back a record, or a notice that was said, from where it was stored. 0 or STET_E_NOMEM. */
[[nodiscard]] int st_delivered_add(struct st_delivered *delivered, struct st_str path,
                                   struct st_str owner, const struct st_hash *hash, bool gave,
                                   struct stet_error *err);
void st_delivered_say(struct st_delivered *delivered, struct st_str notice);

/**
 * Choose what of a chain is to be given.
 *
 * @tracker  What the session has read or written itself; a replacement that it
 *           knows from there is not repeated.
 * @shown    The hash of a text that the same answer shows anyway; may be NULL.
 * @list     Receives the entries and notices, not laid out yet.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_delivered_choose(struct st_delivered *delivered, struct st_tracker *tracker,
                                      const struct st_instructions_chain *chain, unsigned flags,
                                      const struct st_hash *in_answer,
                                      struct stet_instructions *list, struct stet_error *err);

/** Record what a list gives, once it is laid out. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_delivered_record(struct st_delivered *delivered,
                                      const struct st_instructions_chain *chain,
                                      const struct stet_instructions *list, struct stet_error *err);

#endif
