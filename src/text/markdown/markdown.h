/**
 * The structure of a Markdown text: headings, code blocks, front matter,
 * anchors, each with the lines it stands on. CommonMark, through libcmark,
 * whose tree and whose slips in positions stay behind this header.
 *
 *     st_auto(st_markdown) md = {0};
 *     if (st_markdown_parse(&md, text, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < md.heading_count; i++)
 *             show(md.headings[i].line, md.headings[i].text);
 *
 * What counts, everywhere in stet:
 *
 * - A heading is a direct child of the document. Those in quotes, lists and
 *   code are not; they can be neither listed nor addressed.
 * - A section is a heading and what follows, up to the next heading of the
 *   same or a higher level (a smaller number).
 * - A code block is a fenced one, at top level or in lists, however deep; not
 *   in quotes, where each line has a `>` in front. Indented code has no fence
 *   to write between and does not count. So an index here, in text_inspect
 *   and in text_patch means the same block.
 * - Front matter is YAML from a first line `---` to a line `---` or `...`. It
 *   is not content: nothing in it is a heading. A text that merely begins
 *   with a rule is told apart by its second line: a key or a comment, never
 *   blank.
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
	/** What a reader sees: no markup, no hashes, trimmed. */
	struct st_str text;
	/** As written: with inline markup, without hashes or underline; may span lines. */
	struct st_str source;
	/** Its own lines: one for `# x`; text and underline for a setext heading. */
	size_t line;
	size_t end_line;
	/**
	 * Where the paragraph begins that an underline turned into this heading:
	 * before `line` if link definitions stand directly above it, else `line`.
	 */
	size_t block_line;
};

struct st_code {
	/** From the opening to the closing fence; without one, to the last line of the block. */
	size_t line;
	size_t end_line;
	/** The lines between the fences; last is first - 1 when there are none. */
	size_t first;
	size_t last;
	/** Whether there is a closing fence. */
	bool closed;
	/** How many bytes of the opening line are before the fence: indentation, list markers. */
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
 * Parse a text. Any bytes will do; those that are not UTF-8 pass through.
 *
 * @return 0; STET_E_TOO_BIG for a text of more than 64 MiB, one whose
 *         structure takes more than 256 MiB, or lists nested more than 100 deep
 *         in one line, which libcmark may need minutes for; STET_E_NOMEM.
 */
[[nodiscard]] int st_markdown_parse(struct st_markdown *md, struct st_str text,
                                    struct stet_error *err);
void st_markdown_release(struct st_markdown *md);

/** The heading that ends the section another one opens: its index, or heading_count at the end. */
size_t st_markdown_section_next(const struct st_markdown *md, size_t heading);

/** The last line of the section that a heading opens. */
size_t st_markdown_section_end(const struct st_markdown *md, size_t heading);

/** A title without the hashes that may close it, trimmed: "Setup" for "Setup ##". */
struct st_str st_markdown_title(struct st_str title);

/** The nearest heading at or above a line: its index, or heading_count if there is none. */
size_t st_markdown_heading_above(const struct st_markdown *md, size_t line);

#endif
