/**
 * The file that the torture tests fight over.
 *
 *     ext 00000012                         the slot of a writer in place
 *     stet 00000034 sum 0123456789abcdef   stet's line
 *     ...                                  the body, up to the wanted size
 *     end
 *     +ext 00000013                        records that were appended
 *
 * Slot and line have fixed widths, so that a writer in place and stet can each
 * keep to their own bytes. The sum covers stet's number and the body: a file
 * that is half of one version and half of another does not add up. An external
 * update is a record, `ext N`, in the slot or at the end.
 */
#ifndef STET_TESTS_TORTURE_PAGE_H
#define STET_TESTS_TORTURE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { PAGE_SLOT_LEN = 13, PAGE_LINE_LEN = 34 };

/** What a page says. */
struct page {
	unsigned slot;
	unsigned number;
	/** Where the body starts and ends. */
	size_t body, end;
};

/** Make a page of about size bytes; each number has a body of its own. */
void page_make(struct st_buf *out, size_t size, unsigned number);

/** Read a page; false if it is torn. */
bool page_parse(struct st_str bytes, struct page *page);

/** stet's line in a page, without the newline. */
struct st_str page_line(struct st_str bytes);

/** The line for another number and the same body; to has room for PAGE_LINE_LEN + 1. */
void page_next_line(struct st_str line, unsigned number, char *to);

/** Put another number, and a body that belongs to it, into a page. */
void page_rewrite(struct st_buf *bytes, unsigned number);

/** Mark the records below count that are in some bytes, of a page or not. */
void page_mark_records(struct st_str bytes, bool *marks, unsigned count);

/** The slot's or an appended line's text for a record. */
void page_slot_text(unsigned record, char text[PAGE_SLOT_LEN + 1]);
void page_record_text(unsigned record, char text[PAGE_SLOT_LEN + 2]);

/** Read a whole file by its path; false if it is not there. */
bool file_load(const char *path, struct st_buf *out);

/** Write all of it to a descriptor; a failure ends the process. */
void write_all(int fd, struct st_str bytes);

#endif
