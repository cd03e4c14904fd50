/*
 * The head and the chunked body of an HTTP request: the result does not depend on
 * how the bytes are split, and an accepted request has only one reading. Input: a
 * request as it comes from the network.
 */
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "base/auto.h"
#include "base/buf.h"
#include "net/chunks.h"
#include "net/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

/* Find the end of the head with the bytes coming one by one. */
static ssize_t slow_end(struct st_str bytes) {
	size_t scanned = 0;
	ssize_t end = 0;
	for (size_t len = 1; len <= bytes.len && end == 0; len++)
		end = st_head_end(st_str_slice(bytes, 0, len), &scanned);
	return end;
}

static bool is_single_line(const char *text) {
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' && *text != '\t')
			return false;
	}
	return true;
}

static size_t count(const struct st_head *head, const char *name) {
	size_t found = 0;
	for (size_t i = 0; i < head->field_count; i++)
		found += strcasecmp(head->fields[i].name, name) == 0;
	return found;
}

static void check(const struct st_head *head) {
	must(head->path[0] == '/' && is_single_line(head->path));
	must(count(head, "Host") == 1 || (head->old && count(head, "Host") == 0));
	must(count(head, "Content-Length") + count(head, "Transfer-Encoding") <= 1);
	must(head->chunked == (count(head, "Transfer-Encoding") == 1));
	must(!head->chunked || (head->length == 0 && !head->old));
	must(head->length == 0 || count(head, "Content-Length") == 1);
	for (size_t i = 0; i < head->field_count; i++) {
		must(head->fields[i].name[0] && !strpbrk(head->fields[i].name, " \t:"));
		must(is_single_line(head->fields[i].value));
	}
}

/* Read the body, `step` bytes at a time. @return How many bytes are left; negative if refused. */
static ssize_t take(struct st_str bytes, size_t step, struct st_buf *body) {
	struct st_chunks chunks = {0};
	while (bytes.len > 0 && !st_chunks_done(&chunks)) {
		struct st_str some = st_str_slice(bytes, 0, step < bytes.len ? step : bytes.len), piece;
		size_t before = some.len;
		if (!st_chunks_decode(&chunks, &some, &piece))
			return -1;
		must(some.len < before);
		st_buf_add(body, piece);
		bytes = st_str_slice(bytes, before - some.len, bytes.len);
	}
	return st_chunks_done(&chunks) ? (ssize_t)bytes.len : -2;
}

static void check_chunks(struct st_str bytes) {
	st_auto(st_buf) whole = ST_BUF_INIT;
	st_auto(st_buf) slow = ST_BUF_INIT;
	must(take(bytes, bytes.len, &whole) == take(bytes, 1, &slow));
	must(st_str_eq(st_buf_str(&whole), st_buf_str(&slow)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str bytes = st_strn((const char *)data, len);
	st_auto(st_head) head = {0};
	const char *problem = NULL;
	size_t scanned = 0;
	ssize_t end = st_head_end(bytes, &scanned);
	must(end == slow_end(bytes) && end <= (ssize_t)len);
	check_chunks(bytes);
	if (end <= 0)
		return 0;
	int status = st_head_read(&head, st_str_slice(bytes, 0, (size_t)end), &problem);
	must((status == 0) == (problem == NULL));
	if (status == 0)
		check(&head);
	check_chunks(st_str_slice(bytes, (size_t)end, len));
	return 0;
}
