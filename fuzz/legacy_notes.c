/*
 * The note file of stet 0.1.0: the reader never reads past its end, and each entry
 * has a path. Input: a note file; the target corrects its checksums first.
 */
#include "core/state/legacy_notes.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* After the title, each entry begins with a checksum and its size. */
enum { TITLE = 16, HEAD = 12 };

static void put_right(char *bytes, size_t len) {
	size_t left = len > TITLE ? len - TITLE : 0;
	char *entry = bytes + TITLE;
	uint32_t size;
	for (; left >= HEAD; entry += size, left -= size) {
		memcpy(&size, entry + 8, sizeof size);
		if (size < HEAD || size > left)
			return;
		uint64_t sum = st_str_sum(ST_STR_SUM, st_strn(entry + 8, size - 8));
		memcpy(entry, &sum, sizeof sum);
	}
}

static int check(void *data, const struct st_file_event *event, struct stet_error *err) {
	size_t *texts = data;
	(void)err;
	if (*event->path == '\0')
		abort();
	*texts += strlen(event->path) + (event->moved_to ? strlen(event->moved_to) : 0) +
	          (event->who ? strlen(event->who) : 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_legacy_notes notes = ST_LEGACY_NOTES_INIT;
	size_t texts = 0;
	/* Allocate exactly their size, so that the sanitizers see a read past the end. */
	notes.bytes.ptr = malloc(len ? len : 1);
	if (!notes.bytes.ptr)
		return 0;
	memcpy(notes.bytes.ptr, data, len);
	notes.bytes.len = notes.bytes.cap = len;
	put_right(notes.bytes.ptr, len);
	if (st_legacy_notes_each(&notes, 0, check, &texts, NULL) != 0 || texts > len)
		abort();
	st_legacy_notes_release(&notes);
	return 0;
}
