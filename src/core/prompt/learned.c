#include "core/prompt/learned.h"

#include "base/plural.h"
#include "base/quote.h"
#include "core/prompt/call_files.h"
#include "text/tokens/tokens.h"

/* The most files that are remembered. */
enum { FILES_MAX = 2000 };

static const char title[] = "[Files in the messages]\n";
static const char commands_line[] = "- shell commands: ",
				  failed_line[] = "- calls whose results read like failures, or that have none: ",
				  at_least[] = "at least ";
static const char *const uses[] = {"read", "wrote", "edited", "deleted"};

/* ---- files ---- */

static bool add_file(void *data, struct st_str path, enum st_file_use use) {
	struct st_learned *learned = data;
	path = st_str_trim(path);
	if (path.len == 0 || path.len > 1024 || memchr(path.ptr, '\0', path.len) ||
	    memchr(path.ptr, '\n', path.len))
		return true;
	uint64_t sum = st_str_sum(ST_STR_SUM, path);
	for (size_t i = 0; i < learned->count; i++) {
		struct st_learned_file *file = &learned->files[i];
		if (file->sum != sum || !st_str_eq(st_str(file->path), path))
			continue;
		bool outlasts = use == ST_USE_READ && file->use != ST_USE_DELETED;
		bool stays = use == ST_USE_EDITED && file->use == ST_USE_WROTE;
		file->use = outlasts || stays ? file->use : use;
		file->last = learned->calls;
		return true;
	}
	if (learned->count == FILES_MAX)
		return true;
	struct st_learned_file *files = reallocarray(learned->files, learned->count + 1, sizeof *files);
	if (!files)
		return false;
	learned->files = files;
	char *copy = strndup(path.ptr, path.len);
	if (copy)
		files[learned->count++] = (struct st_learned_file){
			.path = copy, .sum = sum, .use = use, .last = learned->calls, .proof = ST_STR("")};
	return copy != NULL;
}

/* ---- calls ---- */

static void set_proof(struct st_learned *learned, const struct st_message_call *call) {
	struct st_str text = st_call_new_text(call);
	for (size_t i = 0; i < learned->count; i++) {
		struct st_learned_file *file = &learned->files[i];
		if (file->last == learned->calls &&
		    (file->use == ST_USE_WROTE || file->use == ST_USE_EDITED))
			file->proof = text;
	}
}

static bool learn_call(struct st_learned *learned, const struct st_message_call *call) {
	bool is_shell = st_call_shell(call).len > 0;
	learned->calls++;
	learned->failed += call->failed || !call->result;
	learned->commands += is_shell;
	if (!st_call_files(call, add_file, learned))
		return false;
	if (!is_shell && !call->failed && call->result && !st_messages_is_noop(call->result))
		set_proof(learned, call);
	return true;
}

int st_learned_read(struct st_learned *learned, const struct st_message_calls *calls,
                    struct stet_error *err) {
	for (size_t i = 0; i < calls->count; i++) {
		if (!learn_call(learned, &calls->items[i]))
			return st_fail_nomem(err);
	}
	return 0;
}

/* ---- the section ---- */

static bool is_verified(struct st_str verified, const char *path) {
	size_t len = strlen(path);
	for (size_t at = 0; at < verified.len;) {
		const char *end = memchr(verified.ptr + at, '\n', verified.len - at);
		size_t next = end ? (size_t)(end - verified.ptr) : verified.len;
		if (next - at == len && memcmp(verified.ptr + at, path, len) == 0)
			return true;
		at = next + 1;
	}
	return false;
}

static int by_last_use(const void *a, const void *b) {
	const struct st_learned_file *x = a, *y = b;
	if (x->last != y->last)
		return x->last < y->last ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* Append the files of one use, as far as the room allows. Returns how many did not fit. */
static size_t write_use(const struct st_learned *learned, struct st_str verified,
                        enum st_file_use use, size_t *room, struct st_buf *out) {
	size_t named = 0, left_out = 0;
	for (size_t i = 0; i < learned->count; i++) {
		const struct st_learned_file *file = &learned->files[i];
		size_t cost = st_tokens(st_str(file->path)) + 1;
		if (file->use != use || is_verified(verified, file->path))
			continue;
		/* A name with the separator in it could not be told from two. */
		if (cost > *room || strstr(file->path, "; ")) {
			left_out++;
			continue;
		}
		*room -= cost;
		st_buf_addf(out, "%s", named++ ? "; " : "");
		if (named == 1)
			st_buf_addf(out, "- %s: ", uses[use]);
		st_quote_name(out, st_str(file->path));
	}
	if (named)
		st_buf_addc(out, '\n');
	return left_out;
}

/* Append a line with a number. Which calls an earlier prompt kept is not known, so that it may be larger. */
static void write_number(struct st_buf *out, const char *start, size_t now, size_t before,
                         const char *end) {
	if (now + before)
		st_buf_addf(out, "%s%s%zu%s\n", start, before ? at_least : "", now > before ? now : before,
		            end);
}

void st_learned_write(const struct st_learned *learned, struct st_str verified, size_t tokens,
                      struct st_buf *out) {
	static const enum st_file_use order[] = {ST_USE_EDITED, ST_USE_WROTE, ST_USE_DELETED,
	                                         ST_USE_READ};
	size_t room = tokens > 60 ? tokens - 60 : 0, left_out = 0;
	st_auto(st_buf) lines = ST_BUF_INIT;
	if (learned->count)
		qsort(learned->files, learned->count, sizeof *learned->files, by_last_use);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		left_out += write_use(learned, verified, order[i], &room, &lines);
	if (left_out)
		st_buf_addf(&lines, "- and %zu more %s\n", left_out, st_plural(left_out, "file", "files"));
	size_t commands = learned->commands + learned->commands_before;
	if (lines.len == 0 && commands + learned->failed + learned->failed_before == 0)
		return;
	st_buf_addf(out, "%s%s", out->len ? "\n" : "", title);
	if (lines.len)
		st_buf_adds(out, "As tool calls in the messages have it; not verified on the disk:\n");
	st_buf_add(out, st_buf_str(&lines));
	write_number(out, commands_line, learned->commands, learned->commands_before,
	             "; what else they changed is not known");
	write_number(out, failed_line, learned->failed, learned->failed_before, "");
	out->failed |= lines.failed;
}

/* ---- the section of an earlier prompt ---- */

static bool read_names(struct st_learned *learned, struct st_str names, enum st_file_use use) {
	while (names.len) {
		const char *end = memmem(names.ptr, names.len, "; ", 2);
		size_t len = end ? (size_t)(end - names.ptr) : names.len;
		if (!add_file(learned, st_str_slice(names, 0, len), use))
			return false;
		names = st_str_slice(names, end ? len + 2 : len, names.len);
	}
	return true;
}

/* The number of a line of write_number(). */
static size_t read_number(struct st_str line, const char *start) {
	size_t number = 0;
	struct st_str text = st_str_slice(line, strlen(start), line.len);
	if (st_str_starts(text, st_str(at_least)))
		text = st_str_slice(text, strlen(at_least), text.len);
	for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && i < 9; i++)
		number = number * 10 + (size_t)(text.ptr[i] - '0');
	return number;
}

static bool read_line(struct st_learned *learned, struct st_str line) {
	if (st_str_starts(line, st_str(commands_line)))
		learned->commands_before = read_number(line, commands_line);
	if (st_str_starts(line, st_str(failed_line)))
		learned->failed_before = read_number(line, failed_line);
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
		char start[32];
		int len = snprintf(start, sizeof start, "- %s: ", uses[i]);
		if (st_str_starts(line, st_str(start)))
			return read_names(learned, st_str_slice(line, (size_t)len, line.len),
			                  (enum st_file_use)i);
	}
	return true;
}

int st_learned_again(struct st_learned *learned, struct st_str text, struct stet_error *err) {
	const char *at = memmem(text.ptr, text.len, title, strlen(title));
	if (!at)
		return 0;
	struct st_str rest = st_str_slice(text, (size_t)(at - text.ptr) + strlen(title), text.len);
	while (rest.len && rest.ptr[0] != '\n' && rest.ptr[0] != '[') {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		if (!read_line(learned, st_str_slice(rest, 0, len)))
			return st_fail_nomem(err);
		rest = st_str_slice(rest, end ? len + 1 : len, rest.len);
	}
	return 0;
}

void st_learned_release(struct st_learned *learned) {
	for (size_t i = 0; i < learned->count; i++)
		free(learned->files[i].path);
	free(learned->files);
	*learned = (struct st_learned){0};
}
