/** YAML front matter, as far as an editor must know it: where it ends, and its keys. */
#ifndef STET_TEXT_MARKDOWN_FRONTMATTER_H
#define STET_TEXT_MARKDOWN_FRONTMATTER_H

#include "text/lines/lines.h"

/**
 * The last line of the front matter, its closing `---` or `...`; 0 if the text
 * has none. It must begin in the first line, behind a byte order mark if there
 * is one, and its first line that is no comment must be a key.
 */
size_t st_frontmatter_end(const struct st_lines *lines);

/** The key of a line at the top level of YAML, without quotes; empty if it has none. */
struct st_str st_frontmatter_key(struct st_str line);

#endif
