#include "cli/jsonc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range of the text. */
struct span {
	size_t from;
	size_t to;
};

/* The parts of an object that matter for changing it. */
struct object {
	/** From after the opening bracket to the closing one. */
	struct span inside;
	bool members;
	/** The start of the first member, and the end of the last value; inside.from if there are none. */
	size_t first;
	size_t last;
	bool trailing_comma;
	/** Whether the object has the wanted member, and its value. */
	bool found;
	struct span value;
};

static size_t skip_comment(const char *text, size_t len, size_t i) {
	bool line = text[i + 1] == '/';
	const char *end =
		line ? memchr(text + i, '\n', len - i) : memmem(text + i + 2, len - i - 2, "*/", 2);
	return end ? (size_t)(end - text) + (line ? 0 : 2) : len;
}

static size_t skip_blank(const char *text, size_t len, size_t i) {
	while (i < len) {
		if (strchr(" \t\r\n", text[i]) && text[i])
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

/* Scan the object whose bracket is at an offset, and find a member. */
static struct object scan_object(const char *text, size_t len, size_t at, const char *key) {
	struct object object = {.inside = {at + 1, at + 1}, .last = at + 1, .first = at + 1};
	size_t i = skip_blank(text, len, at + 1);
	object.members = i < len && text[i] == '"';
	object.first = object.members ? i : at + 1;
	while (i < len && text[i] == '"') {
		struct span name = {i + 1, skip_string(text, len, i)};
		size_t from = skip_blank(text, len, skip_blank(text, len, name.to) + 1);
		size_t to = skip_value(text, len, from);
		if (strlen(key) == name.to - 1 - name.from &&
		    memcmp(text + name.from, key, strlen(key)) == 0) {
			object.found = true;
			object.value = (struct span){from, to};
		}
		object.last = to;
		i = skip_blank(text, len, to);
		object.trailing_comma = i < len && text[i] == ',';
		if (object.trailing_comma)
			i = skip_blank(text, len, i + 1);
	}
	object.inside.to = i;
	return object;
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

static void copy_range(FILE *out, const char *text, size_t from, size_t to) {
	fwrite(text + from, 1, to - from, out);
}

/* The end of the object's contents: after the last member, its comma, and comments. */
static size_t contents_end(const char *text, const struct object *object) {
	size_t end = object->inside.to;
	while (end > object->last && strchr(" \t\r\n", text[end - 1]))
		end--;
	return end;
}

/* Add a member on a new line after the last one, with the first one's indentation. */
static void add_member_line(FILE *out, const char *text, size_t len, const struct object *object,
                            const char *key, const char *value) {
	struct span indent = indent_of(text, object->first);
	size_t end = contents_end(text, object);
	copy_range(out, text, 0, object->last);
	fputs(object->trailing_comma ? "" : ",", out);
	copy_range(out, text, object->last, end);
	fputc('\n', out);
	copy_range(out, text, indent.from, indent.to);
	fprintf(out, "\"%s\": %s%s", key, value, object->trailing_comma ? "," : "");
	copy_range(out, text, end, len);
}

/* Add the only member, indented two blanks more than the bracket's line. */
static void add_first(FILE *out, const char *text, size_t len, const struct object *object,
                      const char *key, const char *value) {
	struct span indent = indent_of(text, object->inside.from);
	size_t end = contents_end(text, object);
	copy_range(out, text, 0, end);
	fputc('\n', out);
	copy_range(out, text, indent.from, indent.to);
	fprintf(out, "  \"%s\": %s\n", key, value);
	copy_range(out, text, indent.from, indent.to);
	copy_range(out, text, object->inside.to, len);
}

static void add_member(FILE *out, const char *text, size_t len, const struct object *object,
                       const char *key, const char *value) {
	size_t before = object->first - object->inside.from;
	if (!object->members) {
		add_first(out, text, len, object, key, value);
	} else if (memchr(text + object->inside.from, '\n', before)) {
		add_member_line(out, text, len, object, key, value);
	} else {
		copy_range(out, text, 0, object->last);
		fprintf(out, ", \"%s\": %s", key, value);
		copy_range(out, text, object->last, len);
	}
}

static void replace_value(FILE *out, const char *text, size_t len, struct span span,
                          const char *value) {
	copy_range(out, text, 0, span.from);
	fputs(value, out);
	copy_range(out, text, span.to, len);
}

static void write_changed(FILE *out, const char *text, size_t len, const char *outer,
                          const char *inner, const char *value) {
	size_t at = skip_blank(text, len, len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	if (at >= len || text[at] != '{') {
		copy_range(out, text, 0, len);
		fprintf(out, "{\n  \"%s\": {\n    \"%s\": %s\n  }\n}\n", outer, inner, value);
		return;
	}
	struct object root = scan_object(text, len, at, outer);
	if (!root.found || text[root.value.from] != '{') {
		char *whole = NULL;
		if (asprintf(&whole, "{\"%s\": %s}", inner, value) < 0)
			return;
		if (root.found)
			replace_value(out, text, len, root.value, whole);
		else
			add_member(out, text, len, &root, outer, whole);
		free(whole);
		return;
	}
	struct object object = scan_object(text, len, root.value.from, inner);
	if (object.found)
		replace_value(out, text, len, object.value, value);
	else
		add_member(out, text, len, &object, inner, value);
}

char *jsonc_set(const char *text, size_t len, const char *outer, const char *inner,
                const char *value) {
	char *made = NULL;
	size_t made_len = 0;
	FILE *out = open_memstream(&made, &made_len);
	if (!out)
		return NULL;
	write_changed(out, text, len, outer, inner, value);
	if (ferror(out) | (fclose(out) == EOF)) {
		free(made);
		return NULL;
	}
	return made;
}
