/**
 * Find the anchors in a piece of HTML: `id` attributes, and the `name` of an `<a>`.
 *
 *     struct st_html_anchors cursor;
 *     st_html_anchors_init(&cursor, html);
 *     while (st_html_anchors_next(&cursor))
 *             show(cursor.id);
 */
#ifndef STET_TEXT_MARKDOWN_HTML_H
#define STET_TEXT_MARKDOWN_HTML_H

#include "base/str.h"

struct st_html_anchors {
	/** Tags, text and comments; it may end anywhere. */
	struct st_str html;
	/** The anchor's name, a view of html, never empty; and the offset of its tag. */
	struct st_str id;
	size_t tag;
	/** Where to continue: inside a tag of this element, or before the next tag. */
	size_t at;
	bool inside;
	struct st_str element;
};

void st_html_anchors_init(struct st_html_anchors *cursor, struct st_str html);

/** Step to the next anchor. False if there is none. */
bool st_html_anchors_next(struct st_html_anchors *cursor);

#endif
