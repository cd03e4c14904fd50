/**
 * The structure of a Markdown text: headings, code blocks, front matter and
 * anchors, each with its lines.
 *
 * The folder text/markdown holds everything that knows a markup: CommonMark (parsed
 * by libcmark, whose tree and whose wrong positions no other code sees), front
 * matter, HTML anchors, Obsidian comments, imports, and the outline of plain text.
 *
 *     st_auto(st_markdown) md = {0};
 *     if (st_markdown_parse(&md, text, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < md.heading_count; i++)
 *             show(md.headings[i].line, md.headings[i].text);
 *
 * Definitions, for all of stet:
 *
 * - A heading is a direct child of the document. Headings in quotes and lists do
 *   not count: no tool lists them or finds them.
 * - A section is a heading and all lines up to the next heading of the same or a
 *   higher level (a smaller number).
 * - A code block is fenced, at top level or in lists, however deep. Code in quotes,
 *   where each line has a `>` in front, and indented code do not count. So an index
 *   here, in text_inspect and in text_patch means the same block.
 * - Front matter is YAML from a first line `---` to a line `---` or `...`. It is
 *   not content: nothing in it is a heading. Its second line is a key or a comment,
 *   never blank; otherwise the text merely begins with a rule.
 * - Obsidian's comments, `%% ... %%`, are not content either (text/markdown/obsidian.h).
 * - An anchor is an `id` in HTML, the `name` of an `<a>`, or `{#id}` at the
 *   end of a heading.
 */
#ifndef STET_TEXT_MARKDOWN_MARKDOWN_H
#define STET_TEXT_MARKDOWN_MARKDOWN_H

#include "base/arena.h"
#include "base/error.h"
#include "text/lines/lines.h"

struct st_heading {
	/** 1 to 6. */
	int level;
	/** As a reader sees it: no markup, no hashes, trimmed. */
	struct st_str text;
	/** As written: with inline markup, without hashes or underline; may span lines. */
	struct st_str source;
	/** Its own lines: one for `# x`; text and underline for a setext heading. */
	size_t line;
	size_t end_line;
	/** Where its paragraph begins: before `line` if link definitions are directly above it, else `line`. */
	size_t block_line;
};

struct st_code {
	/** From the opening to the closing fence, or to the last line of an unclosed block. */
	size_t line;
	size_t end_line;
	/** The lines between the fences; last is first - 1 when there are none. */
	size_t first;
	size_t last;
	/** Whether there is a closing fence. */
	bool closed;
	/** How many bytes precede the fence in its line: indentation, list markers. */
	size_t column;
	/** The first word after the fence; empty if there is none. */
	struct st_str language;
};

struct st_anchor {
	struct st_str id;
	size_t line;
};

/** A parsed text. It borrows the text and owns everything else. */
struct st_markdown {
	struct st_lines lines;
	struct st_heading *headings;
	size_t heading_count;
	struct st_code *codes;
	size_t code_count;
	struct st_anchor *anchors;
	size_t anchor_count;
	/** Front matter is lines 1 to this one; 0 if there is none. */
	size_t front_end;
	/** The names at its top level, in order. */
	struct st_str *keys;
	size_t key_count;
	/** Holds the strings that are not views of the text. */
	struct st_arena arena;
};

/**
 * Parse a text. It may hold any bytes; invalid UTF-8 passes through.
 *
 * @return 0; STET_E_TOO_BIG for a text of more than 64 MiB, a structure of more
 *         than 256 MiB, or more than 100 nested lists in one line, which could
 *         keep libcmark busy for minutes; STET_E_NOMEM.
 */
[[nodiscard]] int st_markdown_parse(struct st_markdown *md, struct st_str text,
                                    struct stet_error *err);
void st_markdown_release(struct st_markdown *md);

/** The index of the heading that ends a heading's section; heading_count at the end of the text. */
size_t st_markdown_section_next(const struct st_markdown *md, size_t heading);

/** The last line of the section that a heading opens. */
size_t st_markdown_section_end(const struct st_markdown *md, size_t heading);

/** A title without closing hashes, trimmed: "Setup" for "Setup ##". */
struct st_str st_markdown_title(struct st_str title);

/** The index of the nearest heading at or above a line; heading_count if there is none. */
size_t st_markdown_heading_above(const struct st_markdown *md, size_t line);

#endif
