/** YAML front matter at the start of a Markdown text: where it ends, and its keys. */
#ifndef STET_TEXT_MARKDOWN_FRONTMATTER_H
#define STET_TEXT_MARKDOWN_FRONTMATTER_H

#include "text/lines/lines.h"

/**
 * The last line of the front matter, its closing `---` or `...`; 0 if there is
 * none. Front matter begins in the first line, maybe after a byte order mark, and
 * its first line that is not a comment is a key.
 */
size_t st_frontmatter_end(const struct st_lines *lines);

/** The key of a line at the top level of YAML, without quotes; empty if it has none. */
struct st_str st_frontmatter_key(struct st_str line);

#endif
