#include "cli/setup/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 4 };

/* A dotted name, such as mcp_servers.stet; parts that are too many or too long are only counted. */
struct name {
	char parts[PARTS_MAX][64];
	size_t count;
};

/* The kind of a line, or of several that belong together. */
struct line {
	enum { BLANK, HEADER, ARRAY_HEADER, PAIR, BAD } kind;
	size_t from;
	/** After its line end. */
	size_t to;
	struct name name;
	/** The value of a PAIR. */
	size_t value;
	size_t value_end;
};

/* ---- reading ---- */

static size_t line_end(const char *text, size_t i) {
	i += strcspn(text + i, "\n");
	return text[i] ? i + 1 : i;
}

static size_t skip_spaces(const char *text, size_t i) {
	return i + strspn(text + i, " \t");
}

static bool is_three(const char *text, size_t i) {
	return text[i + 1] == text[i] && text[i + 2] == text[i];
}

/* Skip a string of any of the four kinds. Returns 0 if it does not end. */
static size_t skip_string(const char *text, size_t i) {
	char quote = text[i];
	bool three = is_three(text, i);
	i += three ? 3 : 1;
	for (; text[i]; i++) {
		if (text[i] == '\n' && !three)
			return 0;
		if (quote == '"' && text[i] == '\\' && text[i + 1])
			i++;
		else if (text[i] == quote && !three)
			return i + 1;
		else if (text[i] == quote && is_three(text, i))
			return i + 3 + strspn(text + i + 3, (char[]){quote, '\0'});
	}
	return 0;
}

/* Skip a value up to the end of its last line or a comment. Returns 0 if it does not end. */
static size_t skip_value(const char *text, size_t i) {
	size_t depth = 0, end = i;
	while (text[i] && (depth > 0 || (text[i] != '\n' && text[i] != '#'))) {
		char c = text[i];
		if (c == '"' || c == '\'') {
			i = skip_string(text, i);
			if (i == 0)
				return 0;
			end = i;
			continue;
		}
		if (c == '#') {
			i += strcspn(text + i, "\n");
			continue;
		}
		if ((c == ']' || c == '}') && depth == 0)
			return 0;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		i++;
		end = strchr(" \t\r\n", c) ? end : i;
	}
	return depth == 0 ? end : 0;
}

/* Read a part of a name. Returns 0 if there is none. */
static size_t read_part(const char *text, size_t i, struct name *name) {
	bool quoted = text[i] == '"' || text[i] == '\'';
	size_t end = quoted ? (is_three(text, i) ? 0 : skip_string(text, i))
	                    : i + strspn(text + i,
	                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                 "0123456789_-");
	if (end <= i)
		return 0;
	if (name->count < PARTS_MAX)
		snprintf(name->parts[name->count], sizeof name->parts[0], "%.*s",
		         (int)(end - i) - 2 * quoted, text + i + quoted);
	name->count++;
	return end;
}

/* Read a dotted name. Returns the offset after it and blanks, or 0. */
static size_t read_name(const char *text, size_t i, struct name *name) {
	for (;;) {
		i = read_part(text, skip_spaces(text, i), name);
		if (i == 0)
			return 0;
		i = skip_spaces(text, i);
		if (text[i] != '.')
			return i;
		i++;
	}
}

/* Whether the rest of a line is blank or a comment. */
static bool is_rest(const char *text, size_t i) {
	i += strspn(text + i, " \t\r");
	return !text[i] || text[i] == '\n' || text[i] == '#';
}

static void read_header(const char *text, size_t i, struct line *line) {
	bool array = text[i + 1] == '[';
	i = read_name(text, i + 1 + array, &line->name);
	bool closed = i > 0 && text[i] == ']' && (!array || text[i + 1] == ']');
	if (!closed || !is_rest(text, i + 1 + array))
		return;
	line->kind = array ? ARRAY_HEADER : HEADER;
	line->to = line_end(text, i);
}

static void read_pair(const char *text, size_t i, struct line *line) {
	i = read_name(text, i, &line->name);
	if (i == 0 || text[i] != '=')
		return;
	line->value = skip_spaces(text, i + 1);
	line->value_end = skip_value(text, line->value);
	if (line->value_end <= line->value || !is_rest(text, line->value_end))
		return;
	line->kind = PAIR;
	line->to = line_end(text, line->value_end);
}

/* Read the line at an offset. Returns false at the end of the text. */
static bool read_line(const char *text, size_t at, struct line *line) {
	size_t i = skip_spaces(text, at);
	*line = (struct line){.kind = BAD, .from = at, .to = line_end(text, at)};
	if (!text[at])
		return false;
	if (is_rest(text, i))
		line->kind = BLANK;
	else if (text[i] == '[')
		read_header(text, i, line);
	else
		read_pair(text, i, line);
	return true;
}

static size_t text_start(const char *text) {
	return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool begins_with(const struct name *name, const char *outer, const char *inner) {
	return name->count >= 2 && strcmp(name->parts[0], outer) == 0 &&
	       strcmp(name->parts[1], inner) == 0;
}

static bool is_table(const struct line *line, const char *outer, const char *inner) {
	return line->kind == HEADER && line->name.count == 2 && begins_with(&line->name, outer, inner);
}

/* ---- the table ---- */

/* The table: from its header to the end of its last pair. */
struct table_span {
	bool found;
	size_t from;
	size_t to;
	/** The pair that the search found. */
	bool has_pair;
	struct line pair;
};

static struct table_span find_table(const char *text, const char *outer, const char *inner,
                                    const char *key) {
	struct table_span span = {0};
	struct line line;
	bool inside = false;
	for (size_t at = text_start(text); read_line(text, at, &line); at = line.to) {
		if (line.kind == HEADER || line.kind == ARRAY_HEADER) {
			inside = is_table(&line, outer, inner);
			if (inside) {
				span.found = true;
				span.from = line.from;
				span.to = line.to;
			}
		} else if (inside && line.kind == PAIR) {
			span.to = line.to;
			if (key && line.name.count == 1 && strcmp(line.name.parts[0], key) == 0) {
				span.has_pair = true;
				span.pair = line;
			}
		}
	}
	return span;
}

/* Whether a pair defines the table in another way than by a header of its own. */
static bool is_inline(const struct line *pair, const struct name *table, const char *outer,
                      const char *inner) {
	const struct name *name = &pair->name;
	if (table->count == 0)
		return strcmp(name->parts[0], outer) == 0;
	return table->count == 1 && strcmp(table->parts[0], outer) == 0 &&
	       strcmp(name->parts[0], inner) == 0;
}

const char *toml_refusal(const char *text, const char *outer, const char *inner) {
	struct line line;
	struct name table = {0};
	size_t count = 0;
	for (size_t at = text_start(text); read_line(text, at, &line); at = line.to) {
		if (line.kind == BAD)
			return "a line that stet does not understand";
		if (line.kind == PAIR && is_inline(&line, &table, outer, inner))
			return "its servers as values, not as tables of their own";
		if (line.kind == ARRAY_HEADER && strcmp(line.name.parts[0], outer) == 0)
			return "its servers as an array of tables";
		if (line.kind == HEADER || line.kind == ARRAY_HEADER)
			table = line.name;
		count += is_table(&line, outer, inner);
	}
	return count > 1 ? "the table of stet twice" : NULL;
}

bool toml_has(const char *text, const char *outer, const char *inner) {
	return find_table(text, outer, inner, NULL).found;
}

char *toml_get(const char *text, const char *outer, const char *inner, const char *key) {
	struct table_span span = find_table(text, outer, inner, key);
	if (!span.has_pair)
		return NULL;
	return strndup(text + span.pair.value, span.pair.value_end - span.pair.value);
}

/* ---- writing ---- */

static const char *eol_of(const char *text) {
	return strstr(text, "\r\n") ? "\r\n" : "\n";
}

static char *splice(const char *text, size_t from, size_t to, const char *with) {
	char *out = NULL;
	return asprintf(&out, "%.*s%s%s", (int)from, text, with, text + to) < 0 ? NULL : out;
}

/* Add a pair after the last of the table. */
static char *add_pair(const char *text, const struct table_span *span, const char *key,
                      const char *value) {
	const char *eol = eol_of(text);
	char *pair = NULL, *out = NULL;
	bool ended = text[span->to - 1] == '\n';
	if (asprintf(&pair, "%s%s = %s%s", ended ? "" : eol, key, value, ended ? eol : "") < 0)
		return NULL;
	out = splice(text, span->to, span->to, pair);
	free(pair);
	return out;
}

/* Add the table at the end of the text, after an empty line. */
static char *add_table(const char *text, const char *outer, const char *inner, const char *key,
                       const char *value) {
	const char *eol = eol_of(text);
	size_t len = strlen(text);
	bool empty = len == text_start(text), ended = empty || text[len - 1] == '\n';
	char *out = NULL;
	if (asprintf(&out, "%s%s%s[%s.%s]%s%s = %s%s", text, ended ? "" : eol, empty ? "" : eol, outer,
	             inner, eol, key, value, eol) < 0)
		return NULL;
	return out;
}

char *toml_set(const char *text, const char *outer, const char *inner, const char *key,
               const char *value) {
	struct table_span span = find_table(text, outer, inner, key);
	if (!span.found)
		return add_table(text, outer, inner, key, value);
	if (!span.has_pair)
		return add_pair(text, &span, key, value);
	return splice(text, span.pair.value, span.pair.value_end, value);
}

/* The blank lines right before an offset: the start of the first. Comments stay. */
static size_t blanks_before(const char *text, size_t at) {
	while (at > 0) {
		size_t start = at - 1;
		while (start > 0 && text[start - 1] != '\n')
			start--;
		if (strspn(text + start, " \t\r\n") < at - start)
			break;
		at = start;
	}
	return at;
}

/* Find the first table [outer.inner] or [outer.inner.*]: from its header to the end of its last pair. */
static bool find_any(const char *text, const char *outer, const char *inner, size_t *from,
                     size_t *to) {
	struct line line;
	bool inside = false;
	for (size_t at = text_start(text); read_line(text, at, &line); at = line.to) {
		if (line.kind == HEADER || line.kind == ARRAY_HEADER) {
			if (inside)
				return true;
			inside = begins_with(&line.name, outer, inner);
			*from = line.from;
		}
		*to = inside && line.kind != BLANK ? line.to : *to;
	}
	return inside;
}

char *toml_remove(const char *text, const char *outer, const char *inner) {
	char *out = strdup(text);
	size_t from = 0, to = 0;
	while (out && find_any(out, outer, inner, &from, &to)) {
		char *next = splice(out, blanks_before(out, from), to, "");
		free(out);
		out = next;
	}
	return out;
}
