/**
 * The notes of stet 0.1.0 (core/state/legacy_notes.h), as 0.1.0 wrote them.
 *
 *     st_auto(st_buf) notes = ST_BUF_INIT;
 *     legacy_begin(&notes, 7);
 *     legacy_add(&notes, &event);
 *     dir_write_bytes(dir, ".stet/daybook", notes.ptr, notes.len);
 */
#ifndef STET_TESTS_LIB_LEGACY_H
#define STET_TESTS_LIB_LEGACY_H

#include "base/buf.h"
#include "core/session/file_event.h"

/** Where they are. */
#define LEGACY_NOTES ".stet/daybook"

/** How many bytes come before the first entry. */
enum { LEGACY_TITLE = 16 };

/** Begin notes of a number. */
void legacy_begin(struct st_buf *out, int64_t id);

/** Add an entry. */
void legacy_add(struct st_buf *out, const struct st_file_event *event);

#endif
