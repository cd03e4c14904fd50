#include "cli/jsonc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of the text. */
struct span {
	size_t from;
	size_t to;
};

/* An object, as far as changing it needs to know. */
struct object {
	/** Behind the opening bracket, and at the closing one. */
	struct span inside;
	bool members;
	/** Where the first member begins, and the last one's value ends; inside.from if there is none. */
	size_t first;
	size_t last;
	bool trailing_comma;
	/** The value of the member that was looked for. */
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

/* Look through the object that begins at a bracket, for a member. */
static struct object look(const char *text, size_t len, size_t at, const char *key) {
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

/* The blanks before the first character of the line that a place is in. */
static struct span indent_of(const char *text, size_t at) {
	size_t from = at;
	while (from > 0 && text[from - 1] != '\n')
		from--;
	size_t to = from;
	while (text[to] == ' ' || text[to] == '\t')
		to++;
	return (struct span){from, to};
}

static void copy(FILE *out, const char *text, size_t from, size_t to) {
	fwrite(text + from, 1, to - from, out);
}

/* Where what is in the object ends: behind the last member, its comma, and comments. */
static size_t end_of(const char *text, const struct object *object) {
	size_t end = object->inside.to;
	while (end > object->last && strchr(" \t\r\n", text[end - 1]))
		end--;
	return end;
}

/* A line of its own behind the last member, in the indentation of the first. */
static void add_line(FILE *out, const char *text, size_t len, const struct object *object,
                     const char *key, const char *value) {
	struct span indent = indent_of(text, object->first);
	size_t end = end_of(text, object);
	copy(out, text, 0, object->last);
	fputs(object->trailing_comma ? "" : ",", out);
	copy(out, text, object->last, end);
	fputc('\n', out);
	copy(out, text, indent.from, indent.to);
	fprintf(out, "\"%s\": %s%s", key, value, object->trailing_comma ? "," : "");
	copy(out, text, end, len);
}

/* The only member, one step further in than the bracket's line. */
static void add_first(FILE *out, const char *text, size_t len, const struct object *object,
                      const char *key, const char *value) {
	struct span indent = indent_of(text, object->inside.from);
	size_t end = end_of(text, object);
	copy(out, text, 0, end);
	fputc('\n', out);
	copy(out, text, indent.from, indent.to);
	fprintf(out, "  \"%s\": %s\n", key, value);
	copy(out, text, indent.from, indent.to);
	copy(out, text, object->inside.to, len);
}

static void add_member(FILE *out, const char *text, size_t len, const struct object *object,
                       const char *key, const char *value) {
	size_t before = object->first - object->inside.from;
	if (!object->members) {
		add_first(out, text, len, object, key, value);
	} else if (memchr(text + object->inside.from, '\n', before)) {
		add_line(out, text, len, object, key, value);
	} else {
		copy(out, text, 0, object->last);
		fprintf(out, ", \"%s\": %s", key, value);
		copy(out, text, object->last, len);
	}
}

static void replace(FILE *out, const char *text, size_t len, struct span span, const char *value) {
	copy(out, text, 0, span.from);
	fputs(value, out);
	copy(out, text, span.to, len);
}

static void set(FILE *out, const char *text, size_t len, const char *outer, const char *inner,
                const char *value) {
	size_t at = skip_blank(text, len, len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	if (at >= len || text[at] != '{') {
		copy(out, text, 0, len);
		fprintf(out, "{\n  \"%s\": {\n    \"%s\": %s\n  }\n}\n", outer, inner, value);
		return;
	}
	struct object root = look(text, len, at, outer);
	if (!root.found || text[root.value.from] != '{') {
		char *whole = NULL;
		if (asprintf(&whole, "{\"%s\": %s}", inner, value) < 0)
			return;
		if (root.found)
			replace(out, text, len, root.value, whole);
		else
			add_member(out, text, len, &root, outer, whole);
		free(whole);
		return;
	}
	struct object object = look(text, len, root.value.from, inner);
	if (object.found)
		replace(out, text, len, object.value, value);
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
	set(out, text, len, outer, inner, value);
	if (ferror(out) | (fclose(out) == EOF)) {
		free(made);
		return NULL;
	}
	return made;
}
