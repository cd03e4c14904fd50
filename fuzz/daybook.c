/*
 * The daybook: whatever is in it, its entries are read without a step beyond
 * their bytes, and each that is taken comes back the same when it is written and
 * read once more. Input: a page, whose checksums are put right.
 */
#include "core/daybook.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

/* A page in a block of just its size, so that a step beyond it shows. */
static struct st_daybook_page page_of(struct st_str bytes) {
	struct st_daybook_page page = {.id = 1};
	page.bytes.ptr = malloc(bytes.len ? bytes.len : 1);
	must(page.bytes.ptr != NULL);
	memcpy(page.bytes.ptr, bytes.ptr, bytes.len);
	page.bytes.len = page.bytes.cap = bytes.len;
	return page;
}

/* Behind the title, an entry begins with its checksum and, after that, its size. */
enum { TITLE = 16, HEAD = 12 };

static void put_right(const struct st_daybook_page *page) {
	size_t left = page->bytes.len > TITLE ? page->bytes.len - TITLE : 0;
	char *entry = page->bytes.ptr + TITLE;
	uint32_t size;
	for (; left >= HEAD; entry += size, left -= size) {
		memcpy(&size, entry + 8, sizeof size);
		if (size < HEAD || size > left)
			return;
		uint64_t sum = st_str_sum(ST_STR_SUM, st_strn(entry + 8, size - 8));
		memcpy(entry, &sum, sizeof sum);
	}
}

static bool is_same_text(const char *a, const char *b) {
	return a && b ? strcmp(a, b) == 0 : a == b;
}

struct taken {
	struct st_deed deed;
	const char *session;
	int count;
};

static int compare(void *data, const struct st_deed *deed, const char *session,
                   struct stet_error *err) {
	struct taken *taken = data;
	const struct st_deed *wanted = &taken->deed;
	(void)err;
	must(is_same_text(deed->path, wanted->path) && is_same_text(deed->to, wanted->to) &&
	     is_same_text(session, taken->session));
	must(deed->wrote == wanted->wrote && deed->had == wanted->had && deed->has == wanted->has);
	must(deed->foreign == wanted->foreign && deed->below == wanted->below);
	must(st_stamp_eq(&deed->stamp, &wanted->stamp) && deed->stamp.racy == wanted->stamp.racy);
	must(st_hash_eq(&deed->before, &wanted->before) && st_hash_eq(&deed->after, &wanted->after));
	must(deed->at == wanted->at && deed->undoes == wanted->undoes);
	taken->count++;
	return 0;
}

static int take(void *data, const struct st_deed *deed, const char *session,
                struct stet_error *err) {
	static const char title[TITLE] = {0};
	struct taken taken = {.deed = *deed, .session = session};
	struct st_buf bytes = ST_BUF_INIT;
	(void)data;
	must(*deed->path != '\0');
	st_buf_add(&bytes, st_strn(title, sizeof title));
	st_daybook_write(&bytes, deed, session);
	struct st_daybook_page page = page_of(st_buf_str(&bytes));
	must(st_daybook_each(&page, 0, compare, &taken, err) == 0 && taken.count == 1);
	st_daybook_page_release(&page);
	st_buf_release(&bytes);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_daybook_page page = page_of(st_strn((const char *)data, len));
	put_right(&page);
	must(st_daybook_each(&page, 0, take, NULL, NULL) == 0);
	st_daybook_page_release(&page);
	return 0;
}
