/**
 * A body that comes in chunks, taken apart strictly: sizes of one to eight
 * hexadecimal digits and nothing else, no extensions, no trailer.
 *
 *     struct st_chunks chunks = {0};
 *     while (bytes.len > 0 && !st_chunks_done(&chunks)) {
 *             if (!st_chunks_take(&chunks, &bytes, &data))
 *                     ...400
 *             st_buf_add(&body, data);
 *     }
 */
#ifndef STET_NET_CHUNKS_H
#define STET_NET_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum st_chunks_state {
	ST_CHUNKS_SIZE,
	ST_CHUNKS_SIZE_LF,
	ST_CHUNKS_DATA,
	ST_CHUNKS_DATA_CR,
	ST_CHUNKS_DATA_LF,
	ST_CHUNKS_LAST_CR,
	ST_CHUNKS_LAST_LF,
	ST_CHUNKS_DONE,
};

struct st_chunks {
	enum st_chunks_state state;
	/** Of the size: digits read. */
	unsigned digits;
	/** Of the chunk: bytes still to come. */
	uint64_t left;
};

/**
 * Take what can be taken at once, at least one byte.
 *
 * @bytes  What has come, not empty; receives the rest.
 * @data   Receives the part of the body that was in it; maybe empty.
 * @return False if it is not made of chunks.
 */
bool st_chunks_take(struct st_chunks *chunks, struct st_str *bytes, struct st_str *data);

/** Whether the body has come to its end. */
static inline bool st_chunks_done(const struct st_chunks *chunks) {
	return chunks->state == ST_CHUNKS_DONE;
}

#endif
