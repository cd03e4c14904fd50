#include "lib/transcript.h"

#include "base/json.h"

/* ---- comparing ---- */

static bool matches(yyjson_val *wanted, yyjson_val *got);

static bool is_string(yyjson_val *value, const char *text) {
	return yyjson_is_str(value) && st_str_eq(st_json_str(value), st_str(text));
}

static bool object_matches(yyjson_val *wanted, yyjson_val *got) {
	bool open = yyjson_obj_get(wanted, "*");
	if (!yyjson_is_obj(got) || (!open && yyjson_obj_size(wanted) != yyjson_obj_size(got)))
		return false;
	yyjson_obj_iter members = yyjson_obj_iter_with(wanted);
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&members));) {
		yyjson_val *other = yyjson_obj_get(got, yyjson_get_str(key));
		if (is_string(key, "*"))
			continue;
		if (!other || !matches(yyjson_obj_iter_get_val(key), other))
			return false;
	}
	return true;
}

static bool array_matches(yyjson_val *wanted, yyjson_val *got) {
	size_t count = yyjson_arr_size(wanted);
	bool open = is_string(yyjson_arr_get_last(wanted), "**");
	if (!yyjson_is_arr(got) || (!open && yyjson_arr_size(got) != count))
		return false;
	for (size_t i = 0; i < count - open; i++) {
		if (!yyjson_arr_get(got, i) || !matches(yyjson_arr_get(wanted, i), yyjson_arr_get(got, i)))
			return false;
	}
	return true;
}

static bool matches(yyjson_val *wanted, yyjson_val *got) {
	struct st_str text = st_json_str(wanted), other = st_json_str(got);
	if (is_string(wanted, "*"))
		return true;
	if (yyjson_is_str(wanted) && text.len > 1 && text.ptr[0] == '~')
		return memmem(other.ptr, other.len, text.ptr + 1, text.len - 1);
	if (yyjson_is_str(wanted) && text.len > 1 && text.ptr[0] == '^')
		return yyjson_is_str(got) && !memmem(other.ptr, other.len, text.ptr + 1, text.len - 1);
	if (yyjson_is_obj(wanted))
		return object_matches(wanted, got);
	return yyjson_is_arr(wanted) ? array_matches(wanted, got) : yyjson_equals(wanted, got);
}

static bool line_matches(struct st_str wanted, struct st_str got) {
	yyjson_doc *a = yyjson_read(wanted.ptr, wanted.len, 0);
	yyjson_doc *b = yyjson_read(got.ptr, got.len, 0);
	bool same = a && b && matches(yyjson_doc_get_root(a), yyjson_doc_get_root(b));
	yyjson_doc_free(a);
	yyjson_doc_free(b);
	return same;
}

/* ---- the file ---- */

static char *slurp(const char *file) {
	FILE *in = fopen(file, "r");
	if (!in)
		fail_msg("%s: %s", file, strerror(errno));
	struct st_buf text = ST_BUF_INIT;
	char part[4096];
	for (size_t len; (len = fread(part, 1, sizeof part, in)) > 0;)
		st_buf_add(&text, st_strn(part, len));
	fclose(in);
	assert_false(text.failed || text.len == 0);
	return text.ptr;
}

void transcript_options(const char *file, struct st_buf *out) {
	char *text = slurp(file), *line = strstr(text, "\n$ ");
	st_buf_adds(out, "");
	if (line)
		st_buf_add(out, st_strn(line + 3, strcspn(line + 3, "\n")));
	free(text);
}

/* A line with @ROOT@ filled in. */
static void fill(struct st_buf *out, struct st_str line, const char *root) {
	static const char mark[] = "@ROOT@";
	while (line.len > 0) {
		const char *at = memmem(line.ptr, line.len, mark, sizeof mark - 1);
		size_t len = at ? (size_t)(at - line.ptr) : line.len;
		st_buf_add(out, st_strn(line.ptr, len));
		if (at) {
			st_buf_adds(out, root);
			len += sizeof mark - 1;
		}
		line = st_str_slice(line, len, line.len);
	}
}

/* The next line with those that continue it; advances *text and *number. False at the end. */
static bool next_line(const char **text, int *number, const char *root, struct st_buf *out) {
	st_buf_clear(out);
	if (!**text)
		return false;
	do {
		size_t len = strcspn(*text, "\n");
		fill(out, st_strn(*text, len), root);
		*text += len + ((*text)[len] == '\n');
		++*number;
	} while (**text == ' ' || **text == '\t');
	return true;
}

static void run(const char *root, const char *command, const char *file, int number) {
	st_auto(st_buf) line = ST_BUF_INIT;
	st_buf_addf(&line, "cd '%s' && { %s\n}", root, command);
	if (system(line.ptr) != 0)
		fail_msg("%s:%d: the command failed", file, number);
}

static void expect(struct player *player, struct st_str wanted, const char *file, int number) {
	st_auto(st_buf) got = ST_BUF_INIT;
	if (!player->hear(player, &got))
		fail_msg("%s:%d: nothing came, but this was expected: %s", file, number, wanted.ptr);
	if (!line_matches(wanted, st_buf_str(&got)))
		fail_msg("%s:%d: expected %s\nbut got %s", file, number, wanted.ptr, got.ptr);
}

void transcript_play(const char *file, const char *root, struct player *player) {
	char *owned = slurp(file);
	const char *text = owned;
	st_auto(st_buf) line = ST_BUF_INIT;
	for (int number = 0; next_line(&text, &number, root, &line);) {
		struct st_str rest =
			line.len > 2 ? st_str_slice(st_buf_str(&line), 2, line.len) : ST_STR("");
		switch (st_buf_cstr(&line)[0]) {
		case '!':
			run(root, rest.ptr, file, number);
			break;
		case '>':
			player->say(player, rest);
			break;
		case '<':
			expect(player, rest, file, number);
			break;
		case '#':
		case '$':
		case '\0':
			break;
		default:
			fail_msg("%s:%d: what is this line?", file, number);
		}
	}
	free(owned);
}
