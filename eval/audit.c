#include "eval/audit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "core/prompt/messages.h"
#include "core/prompt/snapshot.h"

/* Numbers of messages by kind: those in a list, or those that a prompt says it left out. */
struct tally {
	size_t system;
	size_t requests;
	size_t replies;
	size_t results;
	size_t noops;
};

/* The beginning of the message with the snapshot, and the words before the numbers left out. */
static const char own_mark[] = "[Repo Snapshot]\n";
static const char left_out[] = "\n[History]\nLeft out here: ";

static struct st_str content_of(const struct st_message *message) {
	return st_json_str(yyjson_obj_get(message->value, "content"));
}

static bool is_own(const struct st_message *message) {
	return message->role == ST_ROLE_USER && st_str_starts(content_of(message), st_str(own_mark));
}

static struct tally count_messages(const struct st_messages *list) {
	struct tally tally = {0};
	for (size_t i = 0; i < list->count; i++) {
		const struct st_message *message = &list->items[i];
		tally.system += message->role == ST_ROLE_SYSTEM;
		tally.requests += message->role == ST_ROLE_USER && !is_own(message);
		tally.replies += message->role == ST_ROLE_MODEL;
		tally.results += message->role == ST_ROLE_RESULT;
	}
	return tally;
}

/* Read "3 earlier replies, 4 tool results, 0 requests; 1 calls that changed nothing." */
static struct tally read_tally(struct st_str text) {
	struct tally said = {0};
	size_t *const numbers[] = {&said.replies, &said.results, &said.requests, &said.noops};
	const char *at = memmem(text.ptr, text.len, left_out, strlen(left_out));
	const char *end = text.ptr + text.len;
	at = at ? at + strlen(left_out) : end;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		while (at < end && (*at < '0' || *at > '9'))
			at++;
		for (; at < end && *at >= '0' && *at <= '9'; at++)
			*numbers[i] = *numbers[i] * 10 + (size_t)(*at - '0');
	}
	return said;
}

static struct tally find_tally(const struct st_messages *prompt) {
	for (size_t i = 0; i < prompt->count; i++) {
		if (is_own(&prompt->items[i]))
			return read_tally(content_of(&prompt->items[i]));
	}
	return (struct tally){0};
}

static size_t count_missing(size_t was, size_t there, size_t said) {
	return was > there + said ? was - there - said : 0;
}

static bool has_mark(yyjson_val *message) {
	size_t len = 0;
	char *json = yyjson_val_write(message, 0, &len);
	bool marked =
		json && (memmem(json, len, " bytes cut", 10) || memmem(json, len, " bytes left out", 15));
	free(json);
	return marked;
}

static bool is_in(const struct st_messages *history, yyjson_val *message) {
	for (size_t i = history->count; i > 0; i--) {
		if (yyjson_equals(history->items[i - 1].value, message))
			return true;
	}
	return false;
}

static void compare_messages(const struct st_messages *history, const struct st_messages *prompt,
                             struct st_audit *audit) {
	struct tally was = count_messages(history), there = count_messages(prompt);
	struct tally said = find_tally(prompt);
	/* A reply whose calls all changed nothing is left out together with them. */
	audit->messages += count_missing(was.system, there.system, 0) +
	                   count_missing(was.requests, there.requests, said.requests) +
	                   count_missing(was.replies, there.replies, said.replies + said.noops) +
	                   count_missing(was.results, there.results, said.results + said.noops);
	for (size_t i = 0; i < prompt->count; i++) {
		const struct st_message *message = &prompt->items[i];
		bool lost_calls = message->role == ST_ROLE_MODEL && said.noops + said.results > 0;
		audit->texts += !is_own(message) && !lost_calls && !is_in(history, message->value) &&
		                !has_mark(message->value);
	}
}

int st_audit_prompt(struct st_str history, struct st_str prompt, struct st_audit *audit,
                    struct stet_error *err) {
	struct st_messages before = {0}, after = {0};
	int code = st_messages_read(&before, history, ST_SHAPE_CHAT, err);
	if (code == 0)
		code = st_messages_read(&after, prompt, ST_SHAPE_CHAT, err);
	if (code == 0)
		compare_messages(&before, &after, audit);
	st_messages_release(&before);
	st_messages_release(&after);
	return code;
}

/* ---- files ---- */

/* The number in a line such as "  • and 40 unchanged: src/ (40)"; 0 for a line of names. */
static size_t counted_in(const char *line) {
	static const char *const words[] = {
		" changed by others: ", " changed in this story: ", " unchanged: "};
	char *end;
	line += strncmp(line, "and ", 4) == 0 ? 4 : 0;
	size_t number = strtoul(line, &end, 10);
	for (size_t i = 0; end != line && i < sizeof words / sizeof *words; i++) {
		if (strncmp(end, words[i], strlen(words[i])) == 0)
			return number;
	}
	return 0;
}

static size_t count_counted(const char *text) {
	static const char bullet[] = "\n  \xe2\x80\xa2 ";
	size_t sum = 0;
	while ((text = strstr(text, bullet))) {
		text += strlen(bullet);
		sum += counted_in(text);
	}
	return sum;
}

static bool contains_name(const char *text, struct st_str name, struct st_buf *quoted) {
	st_buf_clear(quoted);
	st_snapshot_add_name(quoted, name);
	return strstr(text, st_buf_cstr(quoted)) != NULL;
}

/* Whether a text names a file, by its path or by its name alone. */
static bool is_named(const char *text, const char *path, struct st_buf *quoted) {
	const char *slash = strrchr(path, '/');
	return contains_name(text, st_str(path), quoted) ||
	       (slash && contains_name(text, st_str(slash + 1), quoted));
}

void st_audit_files(struct st_str snapshot, const struct st_repo_state *state,
                    struct st_audit *audit) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) quoted = ST_BUF_INIT;
	char total[64];
	size_t unnamed = 0, there = 0;
	st_buf_add(&text, snapshot);
	for (size_t i = 0; i < state->file_count; i++) {
		if (state->files[i].status == ST_FILE_DELETED)
			continue;
		there++;
		unnamed += !is_named(st_buf_cstr(&text), state->files[i].path, &quoted);
	}
	snprintf(total, sizeof total, "Existing Files (%zu):", there);
	size_t counted = count_counted(st_buf_cstr(&text));
	audit->files += count_missing(unnamed, 0, counted) + !strstr(st_buf_cstr(&text), total);
}

size_t st_audit_unsaid(const struct st_audit *audit) {
	return audit->messages + audit->texts + audit->files;
}
