#include "torture/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char end_mark[] = "end\n";

static uint64_t digest(const char *bytes, size_t len) {
	uint64_t sum = 14695981039346656037u;
	for (; len >= 8; bytes += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, bytes, 8);
		sum = (sum ^ word) * 1099511628211u;
		sum ^= sum >> 29;
	}
	for (; len > 0; bytes++, len--)
		sum = (sum ^ (unsigned char)*bytes) * 1099511628211u;
	return sum;
}

/* The number is added to the body's digest, so that it can be changed without the body. */
static void line_text(unsigned number, uint64_t body, char *to) {
	snprintf(to, PAGE_LINE_LEN + 1, "stet %08u sum %016llx", number,
	         (unsigned long long)(body + number));
}

static void fill_body(char *to, size_t len, unsigned number) {
	char text[64];
	int width =
		snprintf(text, sizeof text, "body of version %08u, one line of very many\n", number);
	for (size_t at = 0; at < len; at += (size_t)width)
		memcpy(to + at, text, len - at < (size_t)width ? len - at : (size_t)width);
	if (len > 0)
		to[len - 1] = '\n';
}

void page_make(struct st_buf *out, size_t size, unsigned number) {
	size_t head = PAGE_SLOT_LEN + PAGE_LINE_LEN + 1;
	size_t body = size - head - strlen(end_mark);
	st_buf_clear(out);
	st_buf_reserve(out, size);
	page_slot_text(0, out->ptr);
	fill_body(out->ptr + head, body, number);
	line_text(number, digest(out->ptr + head, body), out->ptr + PAGE_SLOT_LEN);
	out->ptr[head - 1] = '\n';
	memcpy(out->ptr + head + body, end_mark, strlen(end_mark));
	st_buf_truncate(out, size);
}

/* After the end mark there are whole records and nothing else. */
static bool is_tail(struct st_str tail) {
	for (size_t at = 0; at < tail.len; at += PAGE_SLOT_LEN + 1) {
		if (tail.len - at < PAGE_SLOT_LEN + 1 || memcmp(tail.ptr + at, "+ext ", 5) != 0 ||
		    tail.ptr[at + PAGE_SLOT_LEN] != '\n')
			return false;
	}
	return true;
}

bool page_parse(struct st_str bytes, struct page *page) {
	char head[PAGE_SLOT_LEN + PAGE_LINE_LEN + 2];
	if (bytes.len < sizeof head)
		return false;
	memcpy(head, bytes.ptr, sizeof head - 1);
	head[sizeof head - 1] = '\0';
	unsigned long long sum;
	int used = 0;
	if (sscanf(head, "ext %8u\nstet %8u sum %16llx%n", &page->slot, &page->number, &sum, &used) !=
	        3 ||
	    used != PAGE_SLOT_LEN + PAGE_LINE_LEN || head[used] != '\n')
		return false;
	page->body = sizeof head - 1;
	const char *end = memmem(bytes.ptr + page->body, bytes.len - page->body, "\nend\n", 5);
	if (!end || !is_tail(st_strn(end + 5, (size_t)(bytes.ptr + bytes.len - end - 5))))
		return false;
	page->end = (size_t)(end + 1 - bytes.ptr);
	return sum == digest(bytes.ptr + page->body, page->end - page->body) + page->number;
}

struct st_str page_line(struct st_str bytes) {
	return st_str_slice(bytes, PAGE_SLOT_LEN, PAGE_SLOT_LEN + PAGE_LINE_LEN);
}

void page_next_line(struct st_str line, unsigned number, char *to) {
	unsigned old;
	unsigned long long sum;
	char text[PAGE_LINE_LEN + 1];
	memcpy(text, line.ptr, PAGE_LINE_LEN);
	text[PAGE_LINE_LEN] = '\0';
	if (sscanf(text, "stet %8u sum %16llx", &old, &sum) != 2)
		abort();
	line_text(number, sum - old, to);
}

void page_rewrite(struct st_buf *bytes, unsigned number) {
	struct page page;
	if (!page_parse(st_buf_str(bytes), &page))
		abort();
	char line[PAGE_LINE_LEN + 1];
	fill_body(bytes->ptr + page.body, page.end - page.body, number);
	line_text(number, digest(bytes->ptr + page.body, page.end - page.body), line);
	memcpy(bytes->ptr + PAGE_SLOT_LEN, line, PAGE_LINE_LEN);
}

void page_mark_records(struct st_str bytes, bool *marks, unsigned count) {
	const char *end = bytes.ptr + bytes.len, *at = bytes.ptr;
	while ((at = memmem(at, (size_t)(end - at), "ext ", 4))) {
		unsigned record = 0;
		const char *p = at += 4;
		while (p < end && *p >= '0' && *p <= '9')
			record = record * 10 + (unsigned)(*p++ - '0');
		if (p - at == 8 && p < end && *p == '\n' && record < count)
			marks[record] = true;
	}
}

void page_slot_text(unsigned record, char text[PAGE_SLOT_LEN + 1]) {
	snprintf(text, PAGE_SLOT_LEN + 1, "ext %08u\n", record);
}

void page_record_text(unsigned record, char text[PAGE_SLOT_LEN + 2]) {
	snprintf(text, PAGE_SLOT_LEN + 2, "+ext %08u\n", record);
}

bool file_load(const char *path, struct st_buf *out) {
	st_buf_clear(out);
	st_autofd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	for (size_t want = (size_t)st.st_size + 1;; want = 65536) {
		st_buf_reserve(out, want);
		ssize_t got = read(fd, out->ptr + out->len, want);
		if (got <= 0)
			return got == 0;
		st_buf_truncate(out, out->len + (size_t)got);
	}
}

void write_all(int fd, struct st_str bytes) {
	while (bytes.len > 0) {
		ssize_t put = write(fd, bytes.ptr, bytes.len);
		if (put < 0)
			abort();
		bytes = st_str_slice(bytes, (size_t)put, bytes.len);
	}
}
