#include "text/find/definition.h"

#include <stdbool.h>

/* Longer lines are data or minified; a method is indented by at most so many columns. */
enum { LINE_MAX_BYTES = 400, METHOD_INDENT = 4 };

/* Words that may come before the keyword of a definition. */
static const char *const modifiers[] = {
	"export",   "default", "public",   "private", "protected", "internal", "static", "async",
	"abstract", "final",   "override", "virtual", "inline",    "extern",   "pub",    "unsafe",
	"declare",  "const",   "sealed",   "partial", "open",      "data"};

/* Words that a name follows. */
static const char *const kinds[] = {
	"function", "def",       "defp",  "defmodule", "defmacro", "class",    "struct",
	"enum",     "interface", "trait", "type",      "fn",       "func",     "fun",
	"module",   "namespace", "union", "record",    "object",   "protocol", "impl"};

/* Words before a parenthesis that are no names of functions. */
static const char *const controls[] = {"if",     "for",   "while", "switch",  "catch", "return",
                                       "else",   "with",  "using", "match",   "case",  "do",
                                       "unless", "elsif", "elif",  "foreach", "sizeof"};

static bool is_one_of(struct st_str word, const char *const *list, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (st_str_eq(word, st_str(list[i])))
			return true;
	}
	return false;
}

#define IS_ONE_OF(word, list) is_one_of(word, list, sizeof(list) / sizeof *(list))

static bool is_name_byte(char byte) {
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_' || byte == '$';
}

/* The length of the name at the beginning of a text; a dot or :: may join its parts. */
static size_t name_length(struct st_str text) {
	size_t len = 0;
	while (len < text.len) {
		bool joins = len > 0 && len + 1 < text.len &&
		             (text.ptr[len] == '.' || text.ptr[len] == ':') &&
		             (is_name_byte(text.ptr[len + 1]) || text.ptr[len + 1] == ':');
		if (!is_name_byte(text.ptr[len]) && !joins)
			break;
		len++;
	}
	return len;
}

static size_t indent_of(struct st_str line) {
	size_t columns = 0;
	for (size_t i = 0; i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t'); i++)
		columns += line.ptr[i] == '\t' ? METHOD_INDENT : 1;
	return columns;
}

static struct st_str skip_word(struct st_str text, size_t len) {
	return st_str_trim(st_str_slice(text, len, text.len));
}

/* The name behind a word such as "class"; a receiver in parentheses, as in Go, is skipped. */
static struct st_str name_behind(struct st_str text) {
	const char *close = text.len && text.ptr[0] == '(' ? memchr(text.ptr, ')', text.len) : NULL;
	if (close)
		text = skip_word(text, (size_t)(close - text.ptr) + 1);
	if (text.len && text.ptr[0] == '*')
		text = skip_word(text, 1);
	return st_str_slice(text, 0, name_length(text));
}

/* Whether a name is the type of what a function returns, as in "struct row *next_row(void) {". */
static bool is_result_type(struct st_str name, struct st_str line) {
	struct st_str rest =
		st_str_trim(st_str_slice(line, (size_t)(name.ptr + name.len - line.ptr), line.len));
	bool goes_on = rest.len && (rest.ptr[0] == '*' || is_name_byte(rest.ptr[0]));
	return goes_on && memchr(rest.ptr, '(', rest.len);
}

/* The name before the first parenthesis of a line that opens a body. */
static struct st_str name_before_body(struct st_str line, struct st_str text) {
	const char *open = memchr(text.ptr, '(', text.len);
	if (!open || text.ptr[text.len - 1] != '{' || indent_of(line) > METHOD_INDENT)
		return ST_STR("");
	size_t end = (size_t)(open - text.ptr), from = end;
	while (from > 0 && is_name_byte(text.ptr[from - 1]))
		from--;
	struct st_str name = st_str_slice(text, from, end);
	/* A call on an object, or a value: x.map(y => { */
	bool is_member = from > 0 && strchr(".=(,!", text.ptr[from - 1]);
	bool assigns = memchr(text.ptr, '=', from) != NULL;
	struct st_str first = st_str_slice(text, 0, name_length(text));
	return is_member || assigns || IS_ONE_OF(first, controls) || IS_ONE_OF(name, controls)
	           ? ST_STR("")
	           : name;
}

struct st_str st_definition(struct st_str line) {
	struct st_str text = st_str_trim(line);
	if (text.len == 0 || text.len > LINE_MAX_BYTES)
		return ST_STR("");
	struct st_str rest = text;
	for (size_t i = 0; i < 6; i++) {
		size_t len = name_length(rest);
		struct st_str word = st_str_slice(rest, 0, len);
		bool spaced = len < rest.len && (rest.ptr[len] == ' ' || rest.ptr[len] == '(');
		if (spaced && IS_ONE_OF(word, kinds)) {
			struct st_str name = name_behind(skip_word(rest, len));
			if (!is_result_type(name, text))
				return name.len > 1 ? name : ST_STR("");
			break;
		}
		if (!spaced || !IS_ONE_OF(word, modifiers))
			break;
		rest = skip_word(rest, len);
	}
	struct st_str name = name_before_body(line, text);
	return name.len > 1 ? name : ST_STR("");
}
