#include "cli/setup/jsonc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range of the text. */
struct span {
	size_t from;
	size_t to;
};

/* An item of an object or array: a member with its name, or an element. */
struct item {
	size_t from;
	struct span value;
	/** The end of the item before it; 0 if it is the first. */
	size_t previous;
	/** After its comma; the end of its value if it has none. */
	size_t after;
};

/* The parts of an object or array that matter for changing it. */
struct container {
	/** From after the opening bracket to the closing one. */
	struct span inside;
	size_t count;
	/** The start of the first item, and the end of the last value; inside.from if there are none. */
	size_t first;
	size_t last;
	bool trailing_comma;
	/** Whether it has the wanted item. */
	bool found;
	struct item item;
};

/* The value to find: a member if the name is not NULL, else an element. */
struct wanted {
	const char *name;
	size_t index;
};

/* ---- reading ---- */

static size_t skip_comment(const char *text, size_t len, size_t i) {
	bool line = text[i + 1] == '/';
	const char *end =
		line ? memchr(text + i, '\n', len - i) : memmem(text + i + 2, len - i - 2, "*/", 2);
	return end ? (size_t)(end - text) + (line ? 0 : 2) : len;
}

static bool is_blank(char c) {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blank(const char *text, size_t len, size_t i) {
	while (i < len) {
		if (is_blank(text[i]))
			i++;
		else if (text[i] == '/' && i + 1 < len && (text[i + 1] == '/' || text[i + 1] == '*'))
			i = skip_comment(text, len, i);
		else
			break;
	}
	return i;
}

static size_t skip_string(const char *text, size_t len, size_t i) {
	for (i++; i < len && text[i] != '"'; i++)
		i += text[i] == '\\';
	return i < len ? i + 1 : len;
}

static size_t skip_value(const char *text, size_t len, size_t i) {
	size_t depth = 0;
	do {
		i = skip_blank(text, len, i);
		if (i >= len)
			return len;
		char c = text[i];
		if (c == '"') {
			i = skip_string(text, len, i);
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth > 0;
		bool word = !strchr("{}[],:", c);
		i++;
		while (word && i < len && !strchr(" \t\r\n{}[],:\"/", text[i]))
			i++;
	} while (depth > 0);
	return i;
}

static bool is_wanted(const char *text, struct span name, size_t index,
                      const struct wanted *wanted) {
	if (!wanted->name)
		return index == wanted->index;
	return strlen(wanted->name) == name.to - name.from &&
	       memcmp(text + name.from, wanted->name, name.to - name.from) == 0;
}

/* Scan the object or array whose bracket is at an offset, and find an item. */
static struct container scan_container(const char *text, size_t len, size_t at,
                                       const struct wanted *wanted) {
	struct container found = {.inside = {at + 1, at + 1}, .last = at + 1, .first = at + 1};
	bool object = text[at] == '{';
	size_t i = skip_blank(text, len, at + 1), previous = 0;
	while (i < len && text[i] != '}' && text[i] != ']') {
		struct item item = {.from = i, .previous = previous};
		struct span name = {i + 1, i + 1};
		if (object) {
			size_t end = skip_string(text, len, i);
			name.to = end > name.from ? end - 1 : end;
			i = skip_blank(text, len, skip_blank(text, len, end) + 1);
		}
		item.value = (struct span){i, skip_value(text, len, i)};
		previous = item.after = item.value.to;
		i = skip_blank(text, len, item.value.to);
		found.trailing_comma = i < len && text[i] == ',';
		if (found.trailing_comma) {
			item.after = i + 1;
			i = skip_blank(text, len, i + 1);
		}
		if (is_wanted(text, name, found.count, wanted)) {
			found.found = true;
			found.item = item;
		}
		found.first = found.count == 0 ? item.from : found.first;
		found.last = item.value.to;
		found.count++;
	}
	found.inside.to = i < len ? i : len;
	return found;
}

/* The offset of the outermost bracket. */
static size_t root_at(const char *text, size_t len) {
	return skip_blank(text, len, len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* The indentation of the line that contains an offset. */
static struct span indent_of(const char *text, size_t at) {
	size_t from = at;
	while (from > 0 && text[from - 1] != '\n')
		from--;
	size_t to = from;
	while (text[to] == ' ' || text[to] == '\t')
		to++;
	return (struct span){from, to};
}

/* ---- writing ---- */

struct writer {
	FILE *out;
	const char *text;
	size_t len;
	/** The line end of the text, and one step of indentation. */
	const char *eol;
	struct span unit;
};

static void copy_range(const struct writer *to, size_t from, size_t end) {
	if (end > from)
		fwrite(to->text + from, 1, end - from, to->out);
}

static bool is_on_lines(const char *text, const struct container *found) {
	return found->count > 0 &&
	       memchr(text + found->inside.from, '\n', found->first - found->inside.from);
}

/* The text's step of indentation: that of the first member of the outermost object. */
static struct span unit_of(const char *text, size_t len) {
	size_t at = root_at(text, len);
	struct container root = scan_container(text, len, at, &(struct wanted){.index = SIZE_MAX});
	struct span indent = indent_of(text, root.first);
	return is_on_lines(text, &root) ? indent : (struct span){0, 0};
}

static void write_unit(const struct writer *to) {
	if (to->unit.to > to->unit.from)
		copy_range(to, to->unit.from, to->unit.to);
	else
		fputs("  ", to->out);
}

static void write_indent(const struct writer *to, struct span indent, size_t steps) {
	fputs(to->eol, to->out);
	copy_range(to, indent.from, indent.to);
	for (size_t i = 0; i < steps; i++)
		write_unit(to);
}

/* Write a value inside of the missing objects of a path: on lines of their own, or on one line. */
static void write_nested(const struct writer *to, const char *const *path, const char *value,
                         bool lines, struct span indent, size_t steps) {
	if (!path[0]) {
		fputs(value, to->out);
		return;
	}
	fputc('{', to->out);
	if (lines)
		write_indent(to, indent, steps + 1);
	fprintf(to->out, "\"%s\": ", path[0]);
	write_nested(to, path + 1, value, lines, indent, steps + 1);
	if (lines)
		write_indent(to, indent, steps);
	fputc('}', to->out);
}

/* The end of the container's contents: after the last item, its comma, and comments. */
static size_t contents_end(const char *text, const struct container *found) {
	size_t end = found->inside.to;
	while (end > found->last && is_blank(text[end - 1]))
		end--;
	return end;
}

/* Write a new item: `path` begins with its name, or is empty for an element of an array. */
static void write_item(const struct writer *to, bool element, const char *const *path,
                       const char *value, bool lines, struct span indent, size_t steps) {
	if (!element)
		fprintf(to->out, "\"%s\": ", path[0]);
	write_nested(to, element ? path : path + 1, value, lines, indent, steps);
}

/* Add an item after the last one, in the layout of the others. */
static void add_item(const struct writer *to, const struct container *found, bool element,
                     const char *const *path, const char *value) {
	bool lines = is_on_lines(to->text, found);
	struct span indent = indent_of(to->text, found->first);
	size_t end = lines ? contents_end(to->text, found) : found->last;
	copy_range(to, 0, found->last);
	fputs(lines && found->trailing_comma ? "" : ",", to->out);
	copy_range(to, found->last, end);
	if (lines)
		write_indent(to, indent, 0);
	else
		fputc(' ', to->out);
	write_item(to, element, path, value, lines, indent, 0);
	fputs(lines && found->trailing_comma ? "," : "", to->out);
	copy_range(to, end, to->len);
}

/* Add the only item: an element between its brackets, a member on a line of its own. */
static void add_first(const struct writer *to, const struct container *found, bool element,
                      const char *const *path, const char *value) {
	struct span indent = indent_of(to->text, found->inside.from);
	size_t end = contents_end(to->text, found);
	bool lines = !element || end > found->inside.from;
	copy_range(to, 0, end);
	if (lines)
		write_indent(to, indent, 1);
	write_item(to, element, path, value, true, indent, 1);
	if (lines)
		write_indent(to, indent, 0);
	copy_range(to, found->inside.to, to->len);
}

static void replace_value(const struct writer *to, struct span span, const char *value) {
	copy_range(to, 0, span.from);
	fputs(value, to->out);
	copy_range(to, span.to, to->len);
}

/* Whether nothing but a line end follows on the line. */
static bool ends_line(const char *text, size_t at) {
	at += strspn(text + at, " \t\r");
	return text[at] == '\n';
}

/* Remove the found item, with its comma and its line. */
static void remove_item(const struct writer *to, const struct container *found) {
	const struct item *item = &found->item;
	bool last = found->last == item->value.to;
	size_t from = item->from, end = item->after;
	while (from > found->inside.from && is_blank(to->text[from - 1]))
		from--;
	bool lines = memchr(to->text + from, '\n', item->from - from) != NULL;
	/* Without a line end behind it, a comment before the item would swallow what follows. */
	if (lines && !ends_line(to->text, end)) {
		from = item->from;
		lines = false;
	}
	if (!last && !lines) {
		from = item->from;
		end = skip_blank(to->text, to->len, end);
	}
	if (last && item->previous > 0 && item->after == item->value.to) {
		size_t comma = skip_blank(to->text, to->len, item->previous);
		copy_range(to, 0, comma);
		copy_range(to, comma + 1, from);
	} else {
		copy_range(to, 0, from);
	}
	bool empty = found->count == 1 && from == found->inside.from &&
	             strspn(to->text + end, " \t\r\n") == found->inside.to - end;
	copy_range(to, empty ? found->inside.to : end, to->len);
}

/* ---- the path ---- */

/* Follow the path as far as it exists. Returns how many names were found; *at is the bracket or value there. */
static size_t follow_path(const char *text, size_t len, const char *const *path, size_t *at) {
	size_t depth = 0;
	while (path[depth] && text[*at] == '{') {
		struct wanted wanted = {.name = path[depth]};
		struct container object = scan_container(text, len, *at, &wanted);
		if (!object.found)
			break;
		*at = object.item.value.from;
		depth++;
	}
	return depth;
}

enum change { SET, APPEND, REPLACE, REMOVE, REMOVE_AT };

/* Change the array or value at the end of a path that exists. */
static bool change_found(const struct writer *to, size_t at, enum change change, size_t index,
                         const char *value) {
	struct wanted wanted = {.index = index};
	struct span span = {at, skip_value(to->text, to->len, at)};
	if (change == SET) {
		replace_value(to, span, value);
		return true;
	}
	if (to->text[at] != '[')
		return false;
	struct container array = scan_container(to->text, to->len, at, &wanted);
	const char *const none[] = {NULL};
	if (change == APPEND)
		(array.count ? add_item : add_first)(to, &array, true, none, value);
	else if (!array.found)
		copy_range(to, 0, to->len);
	else if (change == REPLACE)
		replace_value(to, array.item.value, value);
	else
		remove_item(to, &array);
	return true;
}

/* Add what is missing of a path below the object at an offset. */
static bool add_missing(const struct writer *to, size_t at, const char *const *path,
                        enum change change, const char *value) {
	char *made = NULL;
	struct wanted wanted = {.name = path[0]};
	if (to->text[at] != '{')
		return false;
	struct container object = scan_container(to->text, to->len, at, &wanted);
	if (change == APPEND && asprintf(&made, "[%s]", value) < 0)
		return false;
	(object.count ? add_item : add_first)(to, &object, false, path, made ? made : value);
	free(made);
	return true;
}

static bool remove_member(const struct writer *to, const char *const *path) {
	size_t depth = 0, at = root_at(to->text, to->len);
	const char *parents[8] = {NULL};
	while (path[depth + 1] && depth < 7) {
		parents[depth] = path[depth];
		depth++;
	}
	struct wanted wanted = {.name = path[depth]};
	if (follow_path(to->text, to->len, parents, &at) < depth || to->text[at] != '{') {
		copy_range(to, 0, to->len);
		return true;
	}
	struct container object = scan_container(to->text, to->len, at, &wanted);
	if (object.found)
		remove_item(to, &object);
	else
		copy_range(to, 0, to->len);
	return true;
}

static bool write_changed(const struct writer *to, const char *const *path, enum change change,
                          size_t index, const char *value) {
	size_t at = root_at(to->text, to->len);
	if (change == REMOVE)
		return remove_member(to, path);
	size_t depth = follow_path(to->text, to->len, path, &at);
	if (!path[depth])
		return change_found(to, at, change, index, value);
	if (change == SET || change == APPEND)
		return add_missing(to, at, path + depth, change, value);
	copy_range(to, 0, to->len);
	return true;
}

static char *change_text(const char *text, const char *const *path, enum change change,
                         size_t index, const char *value) {
	char *made = NULL;
	size_t made_len = 0, len = strlen(text);
	if (root_at(text, len) >= len || text[root_at(text, len)] != '{') {
		text = "{}\n";
		len = 3;
	}
	FILE *out = open_memstream(&made, &made_len);
	if (!out)
		return NULL;
	struct writer to = {out, text, len, strstr(text, "\r\n") ? "\r\n" : "\n", unit_of(text, len)};
	bool done = write_changed(&to, path, change, index, value);
	if (ferror(out) | (fclose(out) == EOF) || !done) {
		free(made);
		return NULL;
	}
	return made;
}

char *jsonc_set(const char *text, const char *const *path, const char *value) {
	return change_text(text, path, SET, 0, value);
}

char *jsonc_append(const char *text, const char *const *path, const char *value) {
	return change_text(text, path, APPEND, 0, value);
}

char *jsonc_replace(const char *text, const char *const *path, size_t index, const char *value) {
	return change_text(text, path, REPLACE, index, value);
}

char *jsonc_remove(const char *text, const char *const *path) {
	return change_text(text, path, REMOVE, 0, NULL);
}

char *jsonc_remove_at(const char *text, const char *const *path, size_t index) {
	return change_text(text, path, REMOVE_AT, index, NULL);
}
