/**
 * A strict decoder for chunked bodies: sizes of one to eight hexadecimal digits,
 * no extensions, no trailer.
 *
 *     struct st_chunks chunks = {0};
 *     while (bytes.len > 0 && !st_chunks_done(&chunks)) {
 *             if (!st_chunks_decode(&chunks, &bytes, &data))
 *                     return 400;
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
	/** The digits read of a size. */
	unsigned digits;
	/** The missing bytes of a chunk. */
	uint64_t left;
};

/**
 * Decode one byte of framing, or as much data as possible.
 *
 * @bytes  The input, not empty; receives the rest.
 * @data   Receives decoded data, perhaps empty.
 * @return False if the input is not valid chunked encoding.
 */
bool st_chunks_decode(struct st_chunks *chunks, struct st_str *bytes, struct st_str *data);

/** Whether the body is complete. */
static inline bool st_chunks_done(const struct st_chunks *chunks) {
	return chunks->state == ST_CHUNKS_DONE;
}

#endif
