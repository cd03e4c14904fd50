/**
 * Quoting: names and texts from outside, with their invisible characters made
 * visible.
 *
 * st_char_kind() knows the characters that a reader cannot see, or that change
 * the look of the text around them. Every output of a file's, session's or
 * process's name uses one of these functions, so that no name can disturb the
 * text around it.
 *
 *     return st_fail(err, STET_E_KIND, "%s is a directory.", st_quoted(path));
 *     st_quote_name(&listing, st_str(entry->name));
 *
 * The escapes are JSON's, so that a quoted name can be copied into a request:
 * \" \\ \n \r \t, \uHHHH, above U+FFFF a pair of surrogates. Only a byte that is
 * not UTF-8, which JSON cannot hold, is \xHH.
 */
#ifndef STET_BASE_QUOTE_H
#define STET_BASE_QUOTE_H

#include <stdint.h>

#include "base/buf.h"

/**
 * Kinds of characters. Not plain are the categories Cc, Cf, Cs, Co, Zl and Zp,
 * the property Default_Ignorable_Code_Point, noncharacters, and spaces except
 * U+0020. Unassigned characters are plain: screens show a box for them.
 */
enum st_char_kind {
	ST_CHAR_PLAIN,
	/** C0, DEL and C1, which control terminals. */
	ST_CHAR_CONTROL,
	/** U+2028 and U+2029, which end a line. */
	ST_CHAR_SEPARATOR,
	/** Changes the direction of the text around it. */
	ST_CHAR_BIDI,
	/** U+E0000 to U+E0FFF except variation selectors: invisible text that models read. */
	ST_CHAR_TAG,
	/** Variation selectors, which can carry hidden text too. */
	ST_CHAR_SELECTOR,
	/** An invisible letter or mark, such as the Hangul fillers. */
	ST_CHAR_FILLER,
	/** Joiners, soft hyphens and other formatting characters. */
	ST_CHAR_FORMAT,
	/** Private use, surrogates, noncharacters: their look depends on the screen. */
	ST_CHAR_UNDEFINED,
	/** A space that is not U+0020. */
	ST_CHAR_BLANK,
};

enum st_char_kind st_char_kind(uint32_t point);

/** Whether a character, other than a control character, takes no room on a screen. */
bool st_char_is_invisible(uint32_t point);

/**
 * Whether a name must be quoted: it is empty, begins or ends with a space, begins
 * with a double quote, or has a byte that is not UTF-8 or a character that is not
 * plain (except U+3000, a wide space that is common in names).
 */
bool st_quote_needed(struct st_str name);

/** Append a name, in double quotes if st_quote_needed(). */
void st_quote_name(struct st_buf *out, struct st_str name);

/** Like st_quote_name(), but truncate after about max bytes and append the name's length. */
void st_quote_name_max(struct st_buf *out, struct st_str name, size_t max);

/**
 * Append a name that a stranger chose, such as another machine's user: quoted too if
 * it is more than two words of plain ASCII, so that no sentence in it stands as ours.
 */
void st_quote_foreign(struct st_buf *out, struct st_str name, size_t max);

/**
 * Append a name as git quotes it in a diff header: if it has a character that is
 * not plain, a double quote or a backslash, in double quotes with C's escapes and
 * octal bytes.
 *
 * @prefix  Text to put before the name, inside the quotes, such as "a/".
 */
void st_quote_git(struct st_buf *out, const char *prefix, struct st_str name);

/**
 * Append a text in double quotes, so that blanks and line ends are visible, for
 * readers to copy into a request. Bytes that are not UTF-8 become U+FFFD.
 *
 * @max  The most bytes to append, at least 8.
 */
void st_quote_text(struct st_buf *out, struct st_str text, size_t max);

/**
 * Append a text on one line: each run of line ends and blanks becomes one space,
 * and invisible characters are dropped.
 *
 * @max  The most bytes; a longer text is truncated and followed by its length.
 */
void st_quote_line(struct st_buf *out, struct st_str text, size_t max);

/**
 * Append JSON with all characters escaped that are not plain. They can only occur
 * in strings, so the JSON keeps its meaning.
 */
void st_quote_json(struct st_buf *out, struct st_str json);

/** Room for a name in a sentence; a longer name ends in three dots. */
struct st_quoted {
	char text[1024];
};

/** Write a name, always in double quotes, to room->text. Returns room->text. */
const char *st_quoted_into(struct st_quoted *room, struct st_str name);

/** A quoted string, or view, that is valid until the end of the block. */
#define st_quoted(name) st_quoted_into(&(struct st_quoted){0}, st_str(name))
#define st_quoted_str(name) st_quoted_into(&(struct st_quoted){0}, name)

#endif
