#include "text/markdown/html.h"

#include "base/cancel.h"

#include <strings.h>

static bool is_letter(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool name_is(struct st_str name, const char *word) {
	return name.len == strlen(word) && strncasecmp(name.ptr, word, name.len) == 0;
}

static bool names_anchor(struct st_str element, struct st_str attribute) {
	return name_is(attribute, "id") || (name_is(attribute, "name") && name_is(element, "a"));
}

static size_t skip_spaces(struct st_str html, size_t at) {
	while (at < html.len && st_is_space(html.ptr[at]))
		at++;
	return at;
}

/* The word at an offset, up to a space, a ">" or one of the given characters. */
static struct st_str word_at(struct st_str html, size_t at, const char *ends) {
	size_t end = at;
	while (end < html.len && !st_is_space(html.ptr[end]) && html.ptr[end] != '>' &&
	       !(html.ptr[end] && strchr(ends, html.ptr[end])))
		end++;
	return st_str_slice(html, at, end);
}

static size_t part_end(struct st_str html, struct st_str part) {
	return (size_t)(part.ptr + part.len - html.ptr);
}

/* The value after an attribute's name, or an empty one; moves *at past it. */
static struct st_str value_at(struct st_str html, size_t *at) {
	size_t from = skip_spaces(html, *at);
	if (from == html.len || html.ptr[from] != '=')
		return st_str("");
	from = skip_spaces(html, from + 1);
	if (from < html.len && (html.ptr[from] == '"' || html.ptr[from] == '\'')) {
		const char *end = memchr(html.ptr + from + 1, html.ptr[from], html.len - from - 1);
		*at = end ? (size_t)(end + 1 - html.ptr) : html.len;
		return end ? st_str_slice(html, from + 1, (size_t)(end - html.ptr)) : st_str("");
	}
	struct st_str value = word_at(html, from, "");
	*at = part_end(html, value);
	return value;
}

/* The next `<` that opens a tag; html.len if there is none. */
static size_t find_tag(struct st_str html, size_t at) {
	while (at < html.len) {
		const char *open = memchr(html.ptr + at, '<', html.len - at);
		if (!open)
			break;
		at = (size_t)(open - html.ptr);
		if (st_str_starts(st_str_slice(html, at, html.len), ST_STR("<!--"))) {
			const char *end = memmem(open, html.len - at, "-->", 3);
			at = end ? (size_t)(end - html.ptr) : html.len;
		} else if (at + 1 < html.len && is_letter(open[1])) {
			return at;
		} else {
			at++;
		}
	}
	return html.len;
}

/* Step to the next attribute of a tag; false at the tag's end. */
static bool next_attribute(struct st_str html, size_t *at, struct st_str *name,
                           struct st_str *value) {
	for (;;) {
		*at = skip_spaces(html, *at);
		if (*at >= html.len || html.ptr[*at] == '>')
			return false;
		*name = word_at(html, *at, "=/");
		if (name->len)
			break;
		++*at;
	}
	*at = part_end(html, *name);
	*value = value_at(html, at);
	return true;
}

void st_html_anchors_init(struct st_html_anchors *cursor, struct st_str html) {
	*cursor = (struct st_html_anchors){.html = html};
}

bool st_html_anchors_next(struct st_html_anchors *cursor) {
	struct st_str html = cursor->html;
	for (;;) {
		if (!cursor->inside) {
			cursor->tag = find_tag(html, cursor->at);
			if (cursor->tag == html.len)
				return false;
			cursor->element = word_at(html, cursor->tag + 1, "/");
			cursor->at = part_end(html, cursor->element);
			cursor->inside = true;
		}
		struct st_str name;
		size_t from = cursor->tag;
		while (next_attribute(html, &cursor->at, &name, &cursor->id)) {
			st_cancel_progress(cursor->at - from);
			from = cursor->at;
			if (cursor->id.len > 0 && names_anchor(cursor->element, name))
				return true;
		}
		st_cancel_progress(cursor->at - from);
		cursor->inside = false;
	}
}
