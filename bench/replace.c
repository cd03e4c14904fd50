/* Replacing text in 100 KB and 10 MB, against the minimum: memmem() over all of it and a copy. */
#include "text/patch/replace.h"

#include <stdint.h>

#include "lib/bench.h"

/* One kind of text, and what to replace in it. */
struct shape {
	const char *name;
	size_t size;
	enum st_eol eol;
	/* How many bytes lie between two occurrences; 0 for a single one. */
	size_t every;
	const char *old_text;
	const char *new_text;
	enum st_which which;
	size_t rounds;
	size_t batch;
};

static const struct shape shapes[] = {
	{"100 KB, one place", 100000, ST_EOL_LF, 0, "NEEDLE", "thread", ST_FIRST, 301, 20},
	{"10 MB, one place", 10000000, ST_EOL_LF, 0, "NEEDLE", "thread", ST_FIRST, 101, 1},
	{"10 MB, two lines", 10000000, ST_EOL_LF, 0, "NEEDLE\nin", "thread\nin a", ST_FIRST, 101, 1},
	{"10 MB, two lines, CRLF", 10000000, ST_EOL_CRLF, 0, "NEEDLE\nin", "thread\nin a", ST_FIRST,
     101, 1},
	{"10 MB, all of 10000", 10000000, ST_EOL_LF, 1000, "NEEDLE", "a longer thread", ST_ALL, 101, 1},
};

struct task {
	struct st_buf text;
	/* What stet gets. */
	struct st_replace request;
	/* The floor's texts: the same with the line endings of `text`. */
	struct st_buf old_text;
	struct st_buf new_text;
	/* The length of the result. */
	size_t len;
};

static void make_text(struct st_buf *text, const struct shape *shape) {
	struct st_str eol = st_eol_bytes(shape->eol);
	uint32_t seed = 1;
	size_t next = shape->every ? shape->every : shape->size * 3 / 4;
	for (size_t line = 0; text->len < shape->size; line++) {
		if (text->len >= next) {
			st_buf_addf(text, "here is a NEEDLE%sin the hay%s", eol.ptr, eol.ptr);
			next = shape->every ? next + shape->every : SIZE_MAX;
		}
		seed = seed * 1664525u + 1013904223u;
		st_buf_addf(text, "%.*s line %zu of some length or other;%s", (int)(seed >> 28), "\t\t\t\t",
		            line, eol.ptr);
	}
}

/* Find every occurrence and copy the text between them. */
static void run_floor(void *context) {
	struct task *task = context;
	struct st_str text = st_buf_str(&task->text);
	bool all = task->request.occurrence.which == ST_ALL;
	char *out = malloc(task->len);
	size_t copied = 0, len = 0, count = 0;

	bench_check(out != NULL, "malloc");
	for (const char *at = text.ptr;; at += task->old_text.len) {
		at = memmem(at, (size_t)(text.ptr + text.len - at), task->old_text.ptr, task->old_text.len);
		if (!at)
			break;
		if (count++ > 0 && !all)
			continue;
		size_t start = (size_t)(at - text.ptr);
		memcpy(out + len, text.ptr + copied, start - copied);
		len += start - copied;
		memcpy(out + len, task->new_text.ptr, task->new_text.len);
		len += task->new_text.len;
		copied = start + task->old_text.len;
	}
	memcpy(out + len, text.ptr + copied, text.len - copied);
	bench_check(len + text.len - copied == task->len, "the floor's result has the right length");
	/* Keep the compiler from dropping the copy because nothing reads it. */
	__asm__ volatile("" : : "r"(out) : "memory");
	free(out);
}

static void run_stet(void *context) {
	struct task *task = context;
	static struct st_replaced done;
	memset(&done, 0, sizeof done);
	bench_check(st_replace_apply(st_buf_str(&task->text), &task->request, &done, NULL) == 0,
	            "st_replace_apply");
	bench_check(task->len == 0 || done.text.len == task->len, "stet's result has the right length");
	task->len = done.text.len;
	st_replaced_release(&done);
}

static void measure(const struct shape *shape) {
	struct task task = {
		.request = {st_str(shape->old_text), st_str(shape->new_text), {.which = shape->which}, 0},
	};
	struct bench_case cases[] = {
		{.name = "memmem and copy", .run = run_floor, .context = &task, .batch = shape->batch},
		{.name = "replace",
	     .run = run_stet,
	     .context = &task,
	     .batch = shape->batch,
	     .target = 1.5},
	};
	make_text(&task.text, shape);
	st_eol_convert(&task.old_text, task.request.old_text, shape->eol);
	st_eol_convert(&task.new_text, task.request.new_text, shape->eol);
	run_stet(&task);
	bench_run(shape->name, cases, 2, shape->rounds);
	st_buf_release(&task.text);
	st_buf_release(&task.old_text);
	st_buf_release(&task.new_text);
}

int main(void) {
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		measure(&shapes[i]);
	return 0;
}
