/* Finds the part of a file that the agent's read, or a shell command, sent to the model. */
#include <stdlib.h>

#include "base/utf8.h"
#include "hook/hook.h"
#include "text/lines/lines.h"

/* A line that an agent cuts has at least this many bytes. */
enum { CUT_LINE = 500 };

/* How much of a file is in a text that an agent sent. */
enum text_extent {
	TEXT_PART,
	TEXT_WHOLE,
	/* The whole file, unless it is something else. */
	TEXT_MAYBE,
};

/* ---- a text of a file ---- */

/* Whether a line of the text is one of the file. An agent may cut a long line: then it is not. */
static bool same_line(const struct st_lines *file, size_t n, const struct st_lines *text,
                      size_t m) {
	return n <= file->count && st_str_eq(st_lines_body(file, n), st_lines_body(text, m));
}

static bool is_cut(const struct st_lines *file, size_t n, const struct st_lines *text, size_t m) {
	struct st_str line = st_lines_body(text, m);
	return n <= file->count && line.len >= CUT_LINE &&
	       st_str_starts(st_lines_body(file, n), st_str_slice(line, 0, CUT_LINE));
}

/* Whether the file has the lines of the text, from line `first` on. */
static bool has_lines(const struct st_lines *file, const struct st_lines *text, size_t first) {
	for (size_t m = 1; m <= text->count; m++) {
		if (!same_line(file, first + m - 1, text, m) && !is_cut(file, first + m - 1, text, m))
			return false;
	}
	return true;
}

/* Record the version on the disk, and those of its lines that the text has whole. */
static void record_disk(struct st_hook_call *call, const char *path, const struct st_place *place,
                        const struct st_file *disk, const struct st_lines *file,
                        const struct st_lines *text, size_t first) {
	struct st_seen *seen = st_session_record(call->session, path, place->path, disk);
	for (size_t m = 1; seen && m <= text->count; m++) {
		if (same_line(file, first + m - 1, text, m))
			st_seen_add(seen, first + m - 1, first + m - 1);
	}
	/* An empty file has been seen whole. */
	if (seen && seen->total == 0)
		st_seen_add(seen, 1, 0);
}

/*
 * Record a version that is no longer on the disk: the lines of the text, and
 * around them the lines of the disk, which do not count as seen.
 */
static void record_earlier(struct st_hook_call *call, const char *path,
                           const struct st_place *place, const struct st_file *disk,
                           const struct st_lines *file, struct st_str text, size_t first,
                           bool whole) {
	st_auto(st_buf) base = ST_BUF_INIT;
	size_t count = st_line_count(text);
	if (!whole)
		st_buf_add(&base,
		           st_lines_range(file, 1, first - 1 < file->count ? first - 1 : file->count));
	/* Agents send CRLF as LF. */
	st_eol_convert(&base, text, st_eol_of_text(file->text));
	if (!whole && first + count <= file->count)
		st_buf_add(&base, st_lines_range(file, first + count, file->count));
	struct st_version version = st_file_version(disk);
	if (base.failed || st_hash_of(st_buf_str(&base), &version.hash, NULL) < 0)
		return;
	/* The stamp is the disk's, which has other bytes. */
	version.stamp.racy = true;
	st_bases_put(&call->session->ws->bases, &version.hash, st_buf_str(&base));
	struct st_seen *seen = st_session_record_version(call->session, path, place->path, &version,
	                                                 st_line_count(st_buf_str(&base)));
	if (seen)
		st_seen_add(seen, first, first + count - 1);
}

/* A text as agents show it: one U+FFFD for any number of invalid bytes in a row. */
static void add_as_sent(struct st_buf *out, struct st_str text) {
	static const char mark[] = "\xef\xbf\xbd";
	st_auto(st_buf) lossy = ST_BUF_INIT;
	st_utf8_add_lossy(&lossy, text);
	for (size_t at = 0; at < lossy.len; at++) {
		bool repeats = out->len >= 3 && lossy.len - at >= 3 &&
		               memcmp(lossy.ptr + at, mark, 3) == 0 &&
		               memcmp(out->ptr + out->len - 3, mark, 3) == 0;
		if (repeats)
			at += 2;
		else
			st_buf_addc(out, lossy.ptr[at]);
	}
}

/*
 * Record a text of a file that the model was sent, from line `first`: its lines count as
 * seen, in the version that they come from. If the file has other lines there by now, that
 * version is the one in the text, unless the text may be something else. Returns whether
 * the file has these lines.
 */
static bool record_text(struct st_hook_call *call, const char *path, struct st_str text,
                        size_t first, enum text_extent kind) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) disk = ST_FILE_INIT;
	st_auto(st_lines) file = {0};
	st_auto(st_lines) lines = {0};
	st_auto(st_buf) as_sent = ST_BUF_INIT;
	st_auto(st_buf) sent = ST_BUF_INIT;
	if (st_session_find(call->session, path, &place, &disk, NULL) < 0)
		return false;
	struct st_str bytes = st_buf_str(&disk.bytes);
	bool lossy = !st_utf8_valid(bytes);
	if (lossy) {
		add_as_sent(&as_sent, bytes);
		add_as_sent(&sent, text);
		bytes = st_buf_str(&as_sent);
		text = st_buf_str(&sent);
	}
	size_t bom = st_bom_len(bytes);
	/* Agents leave the byte order mark out. */
	bool skips = bom > 0 && st_bom_len(text) == 0;
	if (as_sent.failed || sent.failed || memchr(bytes.ptr, '\0', bytes.len) ||
	    st_lines_init(&file, skips ? st_str_slice(bytes, bom, bytes.len) : bytes, NULL) < 0 ||
	    st_lines_init(&lines, text, NULL) < 0)
		return false;
	/* The file has become so short that nobody knows what was above the text; or the number is nonsense. */
	if (first > file.count + 1)
		return false;
	bool whole = kind != TEXT_PART;
	bool same = has_lines(&file, &lines, first) && (!whole || lines.count == file.count);
	if (same)
		record_disk(call, path, &place, &disk, &file, &lines, first);
	else if (!skips && !lossy && kind != TEXT_MAYBE)
		record_earlier(call, path, &place, &disk, &file, text, first, whole);
	return same;
}

/* ---- the answers of the clients ---- */

/* A text that a model gets: a string, an object with a text, or a list of them. */
static void add_text(struct st_buf *out, yyjson_val *value, int depth) {
	static const char *const names[] = {"llmContent", "text", "output", "stdout", "content", NULL};
	if (depth > 4)
		return;
	if (yyjson_is_str(value)) {
		st_buf_add(out, st_json_str(value));
	} else if (yyjson_is_arr(value)) {
		yyjson_val *item;
		yyjson_arr_iter items = yyjson_arr_iter_with(value);
		while ((item = yyjson_arr_iter_next(&items)))
			add_text(out, item, depth + 1);
	} else if (yyjson_is_obj(value)) {
		for (size_t i = 0; names[i]; i++) {
			yyjson_val *member = yyjson_obj_get(value, names[i]);
			if (member) {
				add_text(out, member, depth + 1);
				return;
			}
		}
	}
}

/* Claude Code's answer has the text, its first line and the number of lines. */
static void record_claude(struct st_hook_call *call, const char *path, yyjson_val *file) {
	yyjson_val *content = yyjson_obj_get(file, "content");
	int64_t first = st_json_int(yyjson_obj_get(file, "startLine"));
	int64_t count = st_json_int(yyjson_obj_get(file, "numLines"));
	int64_t total = st_json_int(yyjson_obj_get(file, "totalLines"));
	bool whole = first <= 1 && count >= total;
	if (yyjson_is_str(content))
		record_text(call, path, st_json_str(content), first > 0 ? (size_t)first : 1,
		            whole ? TEXT_WHOLE : TEXT_PART);
}

/* "Showing lines 1-20 of 60": the first line of a part; 0 if the text says nothing of the kind. */
static size_t first_of_part(struct st_str text) {
	static const char mark[] = "lines ";
	const char *found = memmem(text.ptr, text.len < 400 ? text.len : 400, mark, sizeof mark - 1);
	return found ? (size_t)strtoul(found + sizeof mark - 1, NULL, 10) : 0;
}

/* Gemini CLI and Qwen Code put a note of some lines before a part of a file. */
static void record_part(struct st_hook_call *call, const char *path, struct st_str text) {
	static const char mark[] = "--- FILE CONTENT (truncated) ---\n";
	const char *found = memmem(text.ptr, text.len, mark, sizeof mark - 1);
	size_t first = first_of_part(text);
	if (!found) {
		/* Qwen Code: "Showing lines 1-20 of 60 total lines.\n\n---\n\nTEXT". */
		static const char rule[] = "\n---\n\n";
		found = memmem(text.ptr, text.len, rule, sizeof rule - 1);
		if (found && first > 0)
			found += sizeof rule - 1;
		else
			return;
	} else {
		found += sizeof mark - 1;
	}
	struct st_str part = st_strn(found, (size_t)(text.ptr + text.len - found));
	if (first > 0)
		record_text(call, path, part, first, TEXT_PART);
}

/* Whether the call asks for a part of the file. */
static bool asks_for_part(yyjson_val *input) {
	static const char *const names[] = {"offset", "limit", "start_line", "end_line"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_json_int(yyjson_obj_get(input, names[i])) > 0)
			return true;
	}
	return false;
}

static bool has_note(struct st_str text) {
	struct st_str head = st_str_slice(text, 0, text.len < 400 ? text.len : 400);
	return memmem(head.ptr, head.len, "truncated", 9) ||
	       memmem(head.ptr, head.len, "Showing lines", 13);
}

static void record_answer(struct st_hook_call *call, const char *path) {
	yyjson_val *file = yyjson_obj_get(call->event->response, "file");
	st_auto(st_buf) text = ST_BUF_INIT;
	if (yyjson_is_obj(file)) {
		record_claude(call, path, file);
		return;
	}
	add_text(&text, call->event->response, 0);
	if (text.failed || !call->event->response)
		return;
	/* A file may hold a text that looks like a note of the agent. */
	if (record_text(call, path, st_buf_str(&text), 1, TEXT_MAYBE))
		return;
	if (asks_for_part(call->event->input) || has_note(st_buf_str(&text)))
		record_part(call, path, st_buf_str(&text));
	else
		record_text(call, path, st_buf_str(&text), 1, TEXT_WHOLE);
}

void st_hook_after_read(struct st_hook_call *call) {
	st_auto(st_buf) path = ST_BUF_INIT;
	if (call->event->failed || !st_hook_path(call, call->event->path, &path))
		return;
	record_answer(call, st_buf_cstr(&path));
	st_hook_instruct(call, st_buf_cstr(&path));
	st_hook_tell(call, st_buf_cstr(&path));
}

/* ---- shell commands ---- */

/* How many files of a command, how many lines of its output, and how many places of a line are tried. */
enum { FILES_MAX = 16, OUTPUT_LINES_MAX = 20000, PLACES_MAX = 8, RUN_MIN = 3, LINE_MIN = 8 };

/* How many lines of the file follow each other in the output, from line n and m on. */
static size_t run_length(const struct st_lines *file, size_t n, const struct st_lines *out,
                         size_t m) {
	size_t len = 0;
	while (m + len <= out->count && same_line(file, n + len, out, m + len))
		len++;
	return len;
}

/* A run that proves that these very lines were printed. */
static bool is_proof(const struct st_lines *file, size_t n, size_t len, size_t places) {
	if (len == file->count || len >= RUN_MIN)
		return true;
	return places == 1 && st_str_trim(st_lines_body(file, n)).len >= LINE_MIN;
}

/* The longest run of the file's lines at line m of the output; `places` receives how many begin there. */
static size_t longest_run(const struct st_lines *file, const struct st_lines *out, size_t m,
                          size_t expected, size_t *start, size_t *places) {
	size_t best = expected ? run_length(file, expected, out, m) : 0;
	*start = expected;
	*places = best > 0;
	for (size_t n = 1; n <= file->count && best == 0 && *places < PLACES_MAX; n++) {
		if (!same_line(file, n, out, m))
			continue;
		size_t len = run_length(file, n, out, m);
		++*places;
		if (len > best || *start == 0)
			*start = n;
		best = len > best ? len : best;
	}
	return best;
}

/* Mark the lines of the file that the output has. */
static void find_runs(struct st_seen *seen, const struct st_lines *file,
                      const struct st_lines *out) {
	size_t compared = 0;
	for (size_t m = 1; m <= out->count && compared < (size_t)2 << 20;) {
		size_t start = 0, places = 0;
		size_t len = longest_run(file, out, m, 0, &start, &places);
		compared += file->count;
		if (len > 0 && is_proof(file, start, len, places))
			st_seen_add(seen, start, start + len - 1);
		m += len > 0 ? len : 1;
	}
}

static void record_output(struct st_hook_call *call, const char *path, struct st_str output) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) disk = ST_FILE_INIT;
	st_auto(st_lines) file = {0};
	st_auto(st_lines) out = {0};
	if (st_session_find(call->session, path, &place, &disk, NULL) < 0 ||
	    memchr(disk.bytes.ptr, '\0', disk.bytes.len) ||
	    st_lines_init(&file, st_buf_str(&disk.bytes), NULL) < 0 ||
	    st_lines_init(&out, output, NULL) < 0 || out.count > OUTPUT_LINES_MAX || file.count == 0)
		return;
	struct st_seen found = {.total = file.count};
	find_runs(&found, &file, &out);
	struct st_seen *seen =
		found.lines.count > 0 ? st_session_record(call->session, path, place.path, &disk) : NULL;
	for (size_t i = 0; seen && i < found.lines.count; i++)
		st_seen_add(seen, found.lines.items[i].first, found.lines.items[i].last);
	st_intervals_release(&found.lines);
}

static bool ends_word(char byte) {
	return st_is_space(byte) || strchr("'\"`;|&<>()=,", byte);
}

/* The next word of a command; false at its end. */
static bool next_word(struct st_str command, size_t *at, struct st_str *word) {
	while (*at < command.len && ends_word(command.ptr[*at]))
		++*at;
	size_t start = *at;
	while (*at < command.len && !ends_word(command.ptr[*at]))
		++*at;
	*word = st_str_slice(command, start, *at);
	return word->len > 0;
}

/* `cat FILE` alone: its output is the whole file. */
static bool is_cat(struct st_str command, struct st_str file) {
	command = st_str_trim(command);
	return st_str_starts(command, ST_STR("cat ")) &&
	       st_str_eq(st_str_trim(st_str_slice(command, 4, command.len)), file);
}

/* The most bytes of an output that every agent hands on whole. */
enum { WHOLE_OUTPUT = 16 << 10 };

/*
 * Whether the output of a command is nothing but what the command printed. Then a text that the disk does not have
 * is an earlier version of the file. Gemini CLI and Qwen Code add lines of their own; all of them cut long outputs.
 */
static bool prints_bare(const struct st_hook_event *event, struct st_str output) {
	bool bare = event->client == ST_HOOK_CLAUDE || event->client == ST_HOOK_CODEX;
	return bare && !event->failed && output.len <= WHOLE_OUTPUT &&
	       !memmem(output.ptr, output.len, "truncated", 9);
}

static void record_command(struct st_hook_call *call, struct st_str command, struct st_str output) {
	struct st_str word;
	size_t files = 0;
	for (size_t at = 0; files < FILES_MAX && next_word(command, &at, &word);) {
		st_auto(st_buf) path = ST_BUF_INIT;
		struct stat st;
		if (!st_hook_path(call, word, &path) ||
		    st_root_peek(&call->session->ws->root, path.ptr, &st, NULL) != 1 ||
		    !S_ISREG(st.st_mode))
			continue;
		files++;
		if (is_cat(command, word) && prints_bare(call->event, output))
			record_text(call, path.ptr, output, 1, TEXT_WHOLE);
		else
			record_output(call, path.ptr, output);
		st_hook_instruct(call, path.ptr);
	}
}

/* A command is a string, or a list of arguments. */
static void add_command(struct st_buf *out, yyjson_val *input) {
	static const char *const names[] = {"command", "cmd", NULL};
	yyjson_val *list = yyjson_obj_get(input, "command"), *item;
	st_buf_add(out, st_hook_member(input, names));
	if (!yyjson_is_arr(list))
		return;
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while ((item = yyjson_arr_iter_next(&items)))
		st_buf_addf(out, "%s ", yyjson_is_str(item) ? yyjson_get_str(item) : "");
}

/* Gemini CLI and Qwen Code send "Output: TEXT" between other lines. */
static struct st_str output_of(struct st_str text) {
	static const char mark[] = "Output: ";
	const char *found = memmem(text.ptr, text.len, mark, sizeof mark - 1);
	if (!found || !memmem(text.ptr, text.len, "Command: ", 9))
		return text;
	return st_str_slice(text, (size_t)(found - text.ptr) + sizeof mark - 1, text.len);
}

void st_hook_after_shell(struct st_hook_call *call) {
	st_auto(st_buf) command = ST_BUF_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	add_command(&command, call->event->input);
	add_text(&text, call->event->response, 0);
	if (command.failed || text.failed)
		return;
	if (command.len > 0 && text.len > 0) {
		struct st_str output = output_of(st_buf_str(&text));
		record_command(call, st_buf_str(&command), output);
	}
	st_hook_tell_changes(call, "Files that you have read changed during or before this command:");
}
