/**
 * A hash that is computed beside other work, on another core.
 *
 * Of a commit of a large text the hash is the longest part that needs no disk.
 * A thread computes it while the commit looks at the old file and writes the
 * new one:
 *
 *     struct st_hashing hashing;
 *     st_hashing_begin(&hashing, &hasher, bytes);
 *     ...
 *     code = st_hashing_end(&hashing, &hash, err);
 *     ...
 *     st_hashing_release(&hashing);
 *
 * There is no thread before the first such text, it has one text at a time,
 * and who wants a hash that the thread has not begun computes it himself:
 * nobody waits for a thread that sleeps.
 *
 * A hasher is safe to use from several threads.
 */
#ifndef STET_FS_HASHER_H
#define STET_FS_HASHER_H

#include <sched.h>

#include "base/thread.h"
#include "fs/hash.h"

/** Less is hashed sooner than a thread wakes up; for more, one might wait long if its core is wanted elsewhere. */
enum { ST_HASHER_MIN = 64 << 10, ST_HASHER_MAX = 4 << 20 };

enum st_hasher_state { ST_HASHER_FREE, ST_HASHER_ASKED, ST_HASHER_BUSY, ST_HASHER_DONE };

struct st_hasher {
	/** Guards everything below; bytes and hash belong to the thread while it is busy. */
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	/** Changed with the lock; who waits looks at it without, at first. */
	_Atomic enum st_hasher_state state;
	struct st_str bytes;
	struct st_hash hash;
	/** 0 or STET_E_NOMEM. */
	int code;
	bool stop;
	/** Where it may run. */
	cpu_set_t cores;
	struct st_worker worker;
};

void st_hasher_init(struct st_hasher *hasher);

/** End the thread. Nobody may be waiting for a hash. */
void st_hasher_release(struct st_hasher *hasher);

/** One hash in the making. */
struct st_hashing {
	struct st_str bytes;
	/** The hasher while it has the bytes; otherwise NULL. */
	struct st_hasher *hasher;
	/** Set when it is known. */
	bool known;
	struct st_hash hash;
};

/** Begin; bytes are borrowed until st_hashing_release(). */
void st_hashing_begin(struct st_hashing *hashing, struct st_hasher *hasher, struct st_str bytes);

/** The hash; may be asked for again. Returns 0, STET_E_NOMEM or STET_E_CANCELLED. */
[[nodiscard]] int st_hashing_end(struct st_hashing *hashing, struct st_hash *hash,
                                 struct stet_error *err);

/** Whether or not the hash was asked for: the bytes are needed no more. */
void st_hashing_release(struct st_hashing *hashing);

#endif
