#include "core/prompt/recall.h"

#include "core/prompt/call_files.h"
#include "text/find/definition.h"
#include "text/tokens/tokens.h"

/* The most files and commands, the most bytes of a command and of the names in a file. */
enum { ENTRIES_MAX = 200, COMMAND_MAX = 100, NAMES_MAX = 4000 };

/* A name that more files have is not listed; a file's line has at least so many tokens. */
enum { NAME_FILES = 2, LINE_MIN = 24 };

static const char names_title[] = "[Names in files]\n",
				  names_note[] =
					  "Names that lines in the messages seem to define; files may "
					  "have changed since.\n",
				  commands_title[] = "[Commands]\n",
				  commands_note[] = "Calls of a shell in this conversation, the last first.\n";

/* ---- lists, the last used at the end ---- */

/* Find an entry or add it, and move it to the end; NULL if out of memory. */
static struct st_recall_entry *touch_entry(struct st_recall_list *list, struct st_str text) {
	struct st_recall_entry entry = {0};
	size_t i = 0;
	while (i < list->count && !st_str_eq(st_str(list->items[i].text), text))
		i++;
	if (i < list->count) {
		entry = list->items[i];
		memmove(&list->items[i], &list->items[i + 1], (list->count - i - 1) * sizeof entry);
		list->items[list->count - 1] = entry;
		return &list->items[list->count - 1];
	}
	if (list->count == ENTRIES_MAX) {
		free(list->items[0].text);
		st_buf_release(&list->items[0].names);
		memmove(&list->items[0], &list->items[1], --list->count * sizeof entry);
	}
	struct st_recall_entry *items = reallocarray(list->items, list->count + 1, sizeof entry);
	if (items)
		list->items = items;
	entry.text = items ? strndup(text.ptr, text.len) : NULL;
	if (!entry.text)
		return NULL;
	list->items[list->count++] = entry;
	return &list->items[list->count - 1];
}

static void release_list(struct st_recall_list *list) {
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].text);
		st_buf_release(&list->items[i].names);
	}
	free(list->items);
	*list = (struct st_recall_list){0};
}

/* ---- names ---- */

/* Where a name stands in a list of names; NULL if it does not. */
static char *find_name(const struct st_buf *names, struct st_str name) {
	if (names->len == 0)
		return NULL;
	char *at = names->ptr, *end = names->ptr + names->len;
	while ((at = memmem(at, (size_t)(end - at), name.ptr, name.len))) {
		bool ends = at + name.len == end || at[name.len] == ' ';
		if (at > names->ptr && at[-1] == ' ' && ends)
			return at - 1;
		at++;
	}
	return NULL;
}

/* Put a name at the end of a list; the first ones go if it gets too long. */
static void add_name(struct st_buf *names, struct st_str name) {
	char *at = find_name(names, name);
	if (at) {
		size_t len = name.len + 1;
		size_t behind = names->len - (size_t)(at - names->ptr) - len;
		memmove(at, at + len, behind);
		st_buf_truncate(names, names->len - len);
	}
	st_buf_addc(names, ' ');
	st_buf_add(names, name);
	while (!names->failed && names->len > NAMES_MAX) {
		const char *next = memchr(names->ptr + 1, ' ', names->len - 1);
		size_t first = next ? (size_t)(next - names->ptr) : names->len;
		memmove(names->ptr, names->ptr + first, names->len - first);
		st_buf_truncate(names, names->len - first);
	}
}

/* The length of a line's number with the sign behind it, as tools print it; 0 if there is none. */
static size_t number_length(struct st_str line) {
	size_t at = 0;
	while (at < line.len && line.ptr[at] == ' ')
		at++;
	size_t digits = at;
	while (at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9')
		at++;
	if (at == digits || at == line.len)
		return 0;
	if (st_str_starts(st_str_slice(line, at, line.len), ST_STR("\xe2\x86\x92")))
		return at + 3;
	return strchr("\t:-|", line.ptr[at]) ? at + 1 : 0;
}

static void add_names(struct st_buf *names, struct st_str text) {
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = end ? (size_t)(end - text.ptr) : text.len;
		struct st_str line = st_str_slice(text, at, next);
		struct st_str name = st_definition(st_str_slice(line, number_length(line), line.len));
		if (name.len)
			add_name(names, name);
		at = next + 1;
	}
}

/* ---- calls ---- */

/* Whether a text can stand in a line of ours: without control characters. */
static bool is_one_line(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
			return false;
	}
	return text.len > 0;
}

struct reader {
	struct st_recall *recall;
	const struct st_message_call *call;
	/* How many files the call read. */
	size_t reads;
};

static bool count_read(void *data, struct st_str path, enum st_file_use use) {
	struct reader *reader = data;
	reader->reads += use == ST_USE_READ;
	return true;
}

/* The text that shows a file's names; empty if it is of several files, or the call does not tell. */
static struct st_str text_of(const struct reader *reader, enum st_file_use use) {
	if (use != ST_USE_READ)
		return st_call_new_text(reader->call);
	return reader->reads == 1 ? reader->call->text : ST_STR("");
}

static bool read_file(void *data, struct st_str path, enum st_file_use use) {
	struct reader *reader = data;
	path = st_str_trim(path);
	if (path.len > 1024 || !is_one_line(path) || memmem(path.ptr, path.len, ": ", 2) ||
	    use == ST_USE_DELETED)
		return true;
	struct st_recall_entry *file = touch_entry(&reader->recall->files, path);
	if (!file)
		return false;
	/* A write replaces everything that the file had. */
	if (use == ST_USE_WROTE)
		st_buf_clear(&file->names);
	add_names(&file->names, text_of(reader, use));
	return !file->names.failed;
}

/* Whether a command only shows something; the one behind "cd DIR &&" counts. */
static bool is_look(struct st_str command) {
	static const char *const looks[] = {"cat",  "grep", "rg", "sed",  "head", "tail", "ls",
	                                    "find", "wc",   "cd", "echo", "pwd",  "sleep"};
	const char *behind = memmem(command.ptr, command.len, "&& ", 3);
	if (behind && st_str_starts(command, ST_STR("cd ")))
		command = st_strn(behind + 3, command.len - (size_t)(behind + 3 - command.ptr));
	const char *space = memchr(command.ptr, ' ', command.len);
	struct st_str word = st_strn(command.ptr, space ? (size_t)(space - command.ptr) : command.len);
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
		if (st_str_eq(word, st_str(looks[i])))
			return true;
	}
	return false;
}

static bool read_command(struct st_recall *recall, struct st_str command) {
	command = st_str_trim(command);
	if (command.len > COMMAND_MAX || !is_one_line(command) || is_look(command))
		return true;
	return touch_entry(&recall->commands, command) != NULL;
}

/* ---- names that many files have ---- */

/* The next name of a list from an offset on, which advances; empty at the end. */
static struct st_str next_name(const struct st_buf *names, size_t *at) {
	size_t from = *at + (*at < names->len);
	const char *end = from < names->len ? memchr(names->ptr + from, ' ', names->len - from) : NULL;
	*at = end ? (size_t)(end - names->ptr) : names->len;
	return st_str_slice(st_buf_str(names), from, *at);
}

static int by_text(const void *a, const void *b) {
	return st_str_cmp(*(const struct st_str *)a, *(const struct st_str *)b);
}

/* How often a name is in a sorted array. */
static size_t count_name(const struct st_str *all, size_t count, struct st_str name) {
	const struct st_str *found = bsearch(&name, all, count, sizeof name, by_text);
	if (!found)
		return 0;
	const struct st_str *first = found, *last = found;
	while (first > all && st_str_eq(first[-1], name))
		first--;
	while (last + 1 < all + count && st_str_eq(last[1], name))
		last++;
	return (size_t)(last - first) + 1;
}

/* Forget the names that more than NAME_FILES files have. */
static int drop_common(struct st_recall *recall, struct stet_error *err) {
	size_t bytes = 0, count = 0;
	struct st_buf copies[ENTRIES_MAX] = {0};
	bool failed = false;
	for (size_t i = 0; i < recall->files.count; i++)
		bytes += recall->files.items[i].names.len;
	st_autofree struct st_str *all = calloc(bytes / 2 + 1, sizeof *all);
	if (!all)
		return st_fail_nomem(err);
	for (size_t i = 0; i < recall->files.count; i++) {
		st_buf_move(&copies[i], &recall->files.items[i].names);
		size_t at = 0;
		for (struct st_str name; (name = next_name(&copies[i], &at)).len;)
			all[count++] = name;
	}
	if (count)
		qsort(all, count, sizeof *all, by_text);
	for (size_t i = 0; i < recall->files.count; i++) {
		struct st_buf *names = &recall->files.items[i].names;
		size_t at = 0;
		for (struct st_str name; (name = next_name(&copies[i], &at)).len;) {
			if (count_name(all, count, name) > NAME_FILES)
				continue;
			st_buf_addc(names, ' ');
			st_buf_add(names, name);
		}
		failed |= names->failed;
	}
	for (size_t i = 0; i < recall->files.count; i++)
		st_buf_release(&copies[i]);
	return failed ? st_fail_nomem(err) : 0;
}

int st_recall_read(struct st_recall *recall, const struct st_message_calls *calls,
                   struct stet_error *err) {
	for (size_t i = 0; i < calls->count; i++) {
		struct reader reader = {.recall = recall, .call = &calls->items[i]};
		struct st_str command = st_call_shell(reader.call);
		bool good = !command.len || !reader.call->result || read_command(recall, command);
		(void)st_call_files(reader.call, count_read, &reader);
		if (!good || !st_call_files(reader.call, read_file, &reader))
			return st_fail_nomem(err);
	}
	return drop_common(recall, err);
}

/* ---- the sections ---- */

/* Append a line and count its tokens; false if there is no room. */
static bool add_line(struct st_buf *lines, const struct st_buf *line, size_t *room) {
	size_t cost = st_tokens(st_buf_str(line));
	if (cost > *room)
		return false;
	*room -= cost;
	st_buf_add(lines, st_buf_str(line));
	return true;
}

/* A file's line: its path and its names, the last seen first, within a number of tokens. */
static void write_file(const struct st_recall_entry *file, size_t tokens, struct st_buf *line) {
	st_buf_addf(line, "- %s:", file->text);
	size_t path = line->len;
	for (size_t from = file->names.len, end = from; from > 0; from--) {
		if (file->names.ptr[from - 1] != ' ')
			continue;
		st_buf_add(line, st_str_slice(st_buf_str(&file->names), from - 1, end));
		end = from - 1;
	}
	size_t len = st_tokens_prefix(st_buf_str(line), tokens);
	/* Whole names only, and no line without any. */
	while (len < line->len && len > path && line->ptr[len] != ' ')
		len--;
	st_buf_truncate(line, len > path ? len : 0);
	if (line->len)
		st_buf_addc(line, '\n');
}

/* Write the lines of all files, each within a number of tokens. Returns the tokens of all. */
static size_t write_lines(const struct st_recall *recall, size_t each, struct st_buf *lines) {
	st_buf_clear(lines);
	for (size_t i = recall->files.count; i > 0; i--) {
		st_auto(st_buf) line = ST_BUF_INIT;
		write_file(&recall->files.items[i - 1], each, &line);
		st_buf_add(lines, st_buf_str(&line));
		lines->failed |= line.failed;
	}
	return st_tokens(st_buf_str(lines));
}

/* Each file gets as much as lets all of them have something. */
static void write_files(const struct st_recall *recall, size_t room, struct st_buf *out) {
	st_auto(st_buf) lines = ST_BUF_INIT;
	size_t low = LINE_MIN, high = room;
	if (write_lines(recall, room, &lines) > room) {
		while (high > low + 4) {
			size_t middle = (low + high) / 2;
			if (write_lines(recall, middle, &lines) <= room)
				low = middle;
			else
				high = middle;
		}
		write_lines(recall, low, &lines);
	}
	if (lines.len) {
		st_buf_addf(out, "\n%s%s", names_title, names_note);
		/* The files used last, if not even the shortest lines of all fit. */
		size_t len = st_tokens_prefix(st_buf_str(&lines), room);
		const char *end = len < lines.len ? memrchr(lines.ptr, '\n', len) : lines.ptr + len - 1;
		st_buf_add(out, st_strn(lines.ptr, end ? (size_t)(end - lines.ptr) + 1 : 0));
	}
	out->failed |= lines.failed;
}

static void write_commands(const struct st_recall *recall, size_t room, struct st_buf *out) {
	st_auto(st_buf) lines = ST_BUF_INIT;
	for (size_t i = recall->commands.count; i > 0; i--) {
		st_auto(st_buf) line = ST_BUF_INIT;
		st_buf_addf(&line, "- %s\n", recall->commands.items[i - 1].text);
		lines.failed |= line.failed;
		if (!add_line(&lines, &line, &room))
			break;
	}
	if (lines.len)
		st_buf_addf(out, "\n%s%s%s", commands_title, commands_note, lines.ptr);
	out->failed |= lines.failed;
}

void st_recall_write(const struct st_recall *recall, size_t tokens, struct st_buf *out) {
	if (tokens < 60)
		return;
	write_commands(recall, tokens * 2 / 5, out);
	write_files(recall, tokens * 3 / 5, out);
}

/* ---- the sections of an earlier prompt ---- */

static bool again_file(struct st_recall *recall, struct st_str line) {
	const char *colon = memmem(line.ptr, line.len, ": ", 2);
	size_t len = colon ? (size_t)(colon - line.ptr) : 0;
	if (len == 0)
		return true;
	struct st_recall_entry *file = touch_entry(&recall->files, st_str_slice(line, 0, len));
	struct st_str names = st_str_slice(line, len + 1, line.len);
	/* The line has the last name first. */
	for (size_t end = names.len, from = end; file && from > 0; from--) {
		if (names.ptr[from - 1] != ' ')
			continue;
		if (end > from)
			add_name(&file->names, st_str_slice(names, from, end));
		end = from - 1;
	}
	return file && !file->names.failed;
}

static bool again_command(struct st_recall *recall, struct st_str line) {
	return touch_entry(&recall->commands, line) != NULL;
}

/* Read the lines of a section, the last first, as it lists the last used first. */
static bool again_section(struct st_recall *recall, struct st_str text, const char *title,
                          bool (*again)(struct st_recall *, struct st_str)) {
	const char *at = memmem(text.ptr, text.len, title, strlen(title));
	if (!at)
		return true;
	struct st_str body = st_str_slice(text, (size_t)(at - text.ptr) + strlen(title), text.len);
	const char *stop = memmem(body.ptr, body.len, "\n\n", 2);
	size_t end = stop ? (size_t)(stop - body.ptr) : body.len;
	while (end > 0) {
		const char *before = memrchr(body.ptr, '\n', end);
		size_t from = before ? (size_t)(before - body.ptr) + 1 : 0;
		struct st_str line = st_str_slice(body, from, end);
		if (st_str_starts(line, ST_STR("- ")) && !again(recall, st_str_slice(line, 2, line.len)))
			return false;
		end = from ? from - 1 : 0;
	}
	return true;
}

int st_recall_again(struct st_recall *recall, struct st_str text, struct stet_error *err) {
	bool good = again_section(recall, text, names_title, again_file) &&
	            again_section(recall, text, commands_title, again_command);
	return good ? 0 : st_fail_nomem(err);
}

void st_recall_release(struct st_recall *recall) {
	release_list(&recall->files);
	release_list(&recall->commands);
}
