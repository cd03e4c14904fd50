#include "text/patch/property.h"

#include "base/quote.h"
#include "text/markdown/frontmatter.h"

/* How far items of a new list are indented, as Obsidian does it. */
enum { LIST_INDENT = 2 };

/* ---- values as YAML ---- */

static bool is_blank(char byte) {
	return byte == ' ' || byte == '\t';
}

/* Whether YAML takes a plain text for a number: digits with signs, dots and exponents. */
static bool looks_like_number(struct st_str s) {
	size_t digits = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr(i ? "0123456789.+-_eExXoabcdfABCDF:" : "0123456789.+-", s.ptr[i]))
			return false;
		digits += s.ptr[i] >= '0' && s.ptr[i] <= '9';
	}
	return digits > 0;
}

/* Dates are text in JSON and dates in Obsidian: 2024-01-31, 2024-01-31T10:30:00. */
static bool looks_like_date(struct st_str s) {
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	for (size_t i = 0; i < s.len && i < sizeof shape - 1; i++) {
		bool digit = s.ptr[i] >= '0' && s.ptr[i] <= '9';
		if (shape[i] == 'd' ? !digit : s.ptr[i] != shape[i])
			return false;
	}
	return s.len == 10 || s.len == 16 || s.len == 19;
}

static bool is_yaml_word(struct st_str s) {
	static const char *const names[] = {"true", "false", "yes", "no",   "on",
	                                    "off",  "null",  "~",   ".nan", ".inf"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strlen(names[i]) == s.len && strncasecmp(names[i], s.ptr, s.len) == 0)
			return true;
	}
	return false;
}

/* Whether a text means itself without quotes, in a list between brackets, too. */
static bool is_plain(struct st_str s) {
	if (s.len == 0 || strchr("-?:,[]{}#&*!|>'\"%@`", s.ptr[0]) || is_blank(s.ptr[0]) ||
	    is_blank(s.ptr[s.len - 1]) || s.ptr[s.len - 1] == ':')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char byte = (unsigned char)s.ptr[i];
		bool ends = (byte == ':' && i + 1 < s.len && is_blank(s.ptr[i + 1])) ||
		            (byte == '#' && i > 0 && is_blank(s.ptr[i - 1]));
		if (byte < ' ' || byte == 0x7f || strchr(",[]{}", byte) || ends)
			return false;
	}
	return looks_like_date(s) || (!is_yaml_word(s) && !looks_like_number(s));
}

static void add_text(struct st_buf *out, struct st_str text) {
	if (is_plain(text))
		st_buf_add(out, text);
	else
		st_json_quote(out, text);
}

/* JSON is YAML: write a value that is neither text nor a list of texts as JSON. */
static void add_json(struct st_buf *out, yyjson_val *value) {
	size_t len = 0;
	char *text = yyjson_val_write(value, 0, &len);
	if (text)
		st_buf_add(out, st_strn(text, len));
	out->failed |= !text;
	free(text);
}

static void add_scalar(struct st_buf *out, yyjson_val *value) {
	if (yyjson_is_str(value))
		add_text(out, st_json_str(value));
	else
		add_json(out, value);
}

static void add_flow(struct st_buf *out, yyjson_val *value) {
	size_t i, count;
	yyjson_val *item;
	if (!yyjson_is_arr(value)) {
		add_scalar(out, value);
		return;
	}
	st_buf_adds(out, "[");
	yyjson_arr_foreach(value, i, count, item) {
		st_buf_adds(out, i ? ", " : "");
		add_scalar(out, item);
	}
	st_buf_adds(out, "]");
}

/* ---- the key's place ---- */

/* A key and its value in the front matter. */
struct place {
	/* The lines; both 0 if the key is not there. */
	size_t first, last;
	/* The part of the first line before the value: the key, the colon and the blanks behind it. */
	struct st_str head;
	/* A comment behind the value, with the blanks before. */
	struct st_str remark;
	/* The value is a list, between brackets or with an item a line, indented by this. */
	bool flow, block;
	size_t indent;
};

static size_t skip_quoted(struct st_str s, size_t at) {
	char quote = s.ptr[at++];
	for (; at < s.len; at++) {
		/* A quote within: \" or ''. */
		bool escaped = quote == '"'
		                   ? s.ptr[at] == '\\'
		                   : s.ptr[at] == quote && at + 1 < s.len && s.ptr[at + 1] == quote;
		if (escaped)
			at++;
		else if (s.ptr[at] == quote)
			return at + 1;
	}
	return s.len;
}

/* The comment at the end of a value, with the blanks before it. */
static struct st_str find_remark(struct st_str value) {
	bool begins = true;
	for (size_t i = 0; i < value.len;) {
		char byte = value.ptr[i];
		if (begins && (byte == '"' || byte == '\'')) {
			i = skip_quoted(value, i);
			begins = false;
			continue;
		}
		if (byte == '#' && (i == 0 || is_blank(value.ptr[i - 1]))) {
			while (i > 0 && is_blank(value.ptr[i - 1]))
				i--;
			return st_str_slice(value, i, value.len);
		}
		begins = is_blank(byte) || byte == '[' || byte == ',' || byte == '{';
		i++;
	}
	return st_str("");
}

/* The length of a line up to its value. */
static size_t head_len(struct st_str line) {
	size_t at = line.ptr[0] == '"' || line.ptr[0] == '\'' ? skip_quoted(line, 0) : 0;
	while (at < line.len &&
	       !(line.ptr[at] == ':' && (at + 1 == line.len || is_blank(line.ptr[at + 1]))))
		at++;
	at = at < line.len ? at + 1 : at;
	while (at < line.len && is_blank(line.ptr[at]))
		at++;
	return at;
}

static void read_value(const struct st_lines *lines, struct place *place) {
	struct st_str line = st_lines_body(lines, place->first);
	place->head = st_str_slice(line, 0, head_len(line));
	struct st_str value = st_str_slice(line, place->head.len, line.len);
	place->remark = find_remark(value);
	place->flow = value.len > 0 && value.ptr[0] == '[';
	if (place->last == place->first)
		return;
	struct st_str item = st_lines_body(lines, place->first + 1);
	size_t indent = 0;
	while (indent < item.len && item.ptr[indent] == ' ')
		indent++;
	place->block = indent < item.len && item.ptr[indent] == '-';
	place->indent = indent;
}

/*
 * The last line of the value that begins in line n: it includes indented lines and the
 * items of a list.
 */
static size_t value_end(const struct st_lines *lines, size_t n, size_t end) {
	size_t last = n;
	for (size_t i = n + 1; i < end; i++) {
		struct st_str line = st_lines_body(lines, i);
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (!is_blank(line.ptr[0]) && !strchr("-]}", line.ptr[0]))
			break;
		if (st_str_trim(line).len > 0)
			last = i;
	}
	return last;
}

static int find_place(const struct st_property *property, const struct st_lines *lines, size_t end,
                      struct place *place, struct stet_error *err) {
	for (size_t n = 2; n < end; n++) {
		struct st_str line = st_lines_body(lines, n);
		if (line.len > 0 && line.ptr[0] == '{')
			return st_fail(err, STET_E_INVALID,
			               "The front matter is one value in braces (line %zu). Edit it as text.",
			               n);
		if (!st_str_eq(st_frontmatter_key(line), property->key))
			continue;
		if (place->first > 0)
			return st_fail(err, STET_E_AMBIGUOUS,
			               "The front matter has the key %.*s twice, in lines %zu and %zu. Edit it "
			               "as text.",
			               (int)property->key.len, property->key.ptr, place->first, n);
		place->first = n;
		place->last = value_end(lines, n, end);
	}
	if (place->first > 0)
		read_value(lines, place);
	return 0;
}

/* ---- the change ---- */

static void add_items(struct st_buf *out, const struct place *place, yyjson_val *list,
                      struct st_str eol) {
	size_t i, count, indent = place->block ? place->indent : LIST_INDENT;
	yyjson_val *item;
	yyjson_arr_foreach(list, i, count, item) {
		st_buf_add(out, eol);
		st_buf_addf(out, "%*s- ", (int)indent, "");
		add_scalar(out, item);
	}
}

/* The key with its new value, without the last line's ending. */
static void add_property(struct st_buf *out, const struct st_property *property,
                         const struct place *place, struct st_str eol) {
	bool items = yyjson_arr_size(property->value) > 0 && !place->flow;
	if (place->first > 0) {
		st_buf_add(out, place->head);
	} else {
		add_text(out, property->key);
		st_buf_adds(out, ":");
	}
	bool none = yyjson_is_null(property->value) || yyjson_equals_str(property->value, "");
	bool empty = items || none;
	while (empty && out->len > 0 && is_blank(out->ptr[out->len - 1]))
		st_buf_truncate(out, out->len - 1);
	if (!empty) {
		if (out->len > 0 && !is_blank(out->ptr[out->len - 1]))
			st_buf_adds(out, " ");
		add_flow(out, property->value);
	}
	if (place->remark.len > 0 && !is_blank(place->remark.ptr[0]) && empty)
		st_buf_adds(out, " ");
	st_buf_add(out, place->remark);
	if (items)
		add_items(out, place, property->value, eol);
}

static int check_key(struct st_str key, struct stet_error *err) {
	bool good = key.len > 0 && key.len <= 200;
	for (size_t i = 0; i < key.len; i++)
		good = good && (unsigned char)key.ptr[i] >= ' ' && key.ptr[i] != '"';
	return good ? 0
	            : st_fail(err, STET_E_INVALID,
	                      "A key has 1 to 200 bytes, without quotes and control characters.");
}

static struct st_str eol_for(const struct st_lines *lines, size_t line) {
	enum st_eol eol =
		line > 0 ? st_eol_of(st_lines_whole(lines, line)) : st_eol_of_text(lines->text);
	return st_eol_bytes(eol == ST_EOL_NONE ? ST_EOL_LF : eol);
}

/* Put front matter before a text that has none. */
static void add_front(struct st_buf *new, const struct st_property *property,
                      const struct st_lines *lines, struct st_interval *old, size_t *line) {
	struct st_str eol = eol_for(lines, 0);
	size_t bom = st_bom_len(lines->text);
	st_buf_add(new, st_str_slice(lines->text, 0, bom));
	st_buf_adds(new, "---");
	st_buf_add(new, eol);
	st_auto(st_buf) entry = ST_BUF_INIT;
	add_property(&entry, property, &(struct place){0}, eol);
	st_buf_add(new, st_buf_str(&entry));
	new->failed |= entry.failed;
	st_buf_add(new, eol);
	st_buf_adds(new, "---");
	st_buf_add(new, eol);
	st_buf_add(new, st_str_slice(lines->text, bom, lines->text.len));
	*old = (struct st_interval){1, 0};
	*line = 2;
}

/* Replace the lines of the place, or go before the end of the front matter. */
static void splice_front(struct st_buf *new, const struct st_property *property,
                         const struct st_lines *lines, size_t end, const struct place *place,
                         struct st_interval *old, size_t *line) {
	size_t first = place->first > 0 ? place->first : end;
	size_t next = place->first > 0 ? place->last + 1 : end;
	struct st_str eol = eol_for(lines, place->first > 0 ? place->last : 1);
	st_buf_add(new, st_str_slice(lines->text, 0, lines->starts[first - 1]));
	if (property->value) {
		st_auto(st_buf) entry = ST_BUF_INIT;
		add_property(&entry, property, place, eol);
		st_buf_add(new, st_buf_str(&entry));
		new->failed |= entry.failed;
		st_buf_add(new, eol);
	}
	st_buf_add(new, st_str_slice(lines->text, lines->starts[next - 1], lines->text.len));
	*old = (struct st_interval){first, next - 1};
	*line = property->value ? first : 0;
}

int st_property_apply(const struct st_property *property, struct st_str text, struct st_buf *new,
                      struct st_interval *old, size_t *line, struct stet_error *err) {
	st_auto(st_lines) lines = {0};
	struct place place = {0};
	int code = check_key(property->key, err);
	if (code == 0)
		code = st_lines_init(&lines, text, err);
	size_t end = code == 0 ? st_frontmatter_end(&lines) : 0;
	if (code == 0)
		code = find_place(property, &lines, end, &place, err);
	if (code < 0)
		return code;
	if (!property->value && place.first == 0)
		return st_fail(err, STET_E_NO_MATCH, "The front matter has no key %.*s; nothing to remove.",
		               (int)property->key.len, property->key.ptr);
	if (end == 0)
		add_front(new, property, &lines, old, line);
	else
		splice_front(new, property, &lines, end, &place, old, line);
	return new->failed ? st_fail_nomem(err) : 0;
}
