/**
 * Names and texts from outside, shown so that a reader sees all of them.
 *
 * One table says which characters a reader cannot see, or which change how the
 * text around them looks: st_char_kind(). Everything that shows a name of a
 * file, of a session or of a writer goes through one of the functions here, so
 * that a name stays a name, whatever it holds.
 *
 *     return st_fail(err, STET_E_KIND, "%s is a directory.", st_quoted(path));
 *     st_quote_name(&listing, st_str(entry->name));
 *
 * Escapes are those of JSON, so that a reader can copy a quoted name into a
 * request: \" \\ \n \r \t, \uHHHH, above U+FFFF a pair of surrogates. Only a
 * byte that is not UTF-8, which JSON cannot hold, is \xHH.
 */
#ifndef STET_BASE_QUOTE_H
#define STET_BASE_QUOTE_H

#include <stdint.h>

#include "base/buf.h"

/**
 * Kinds of characters that do not show what they are.
 *
 * All characters of the categories Cc, Cf, Cs, Co, Zl and Zp, all that have
 * the property Default_Ignorable_Code_Point, all noncharacters, and all
 * spaces but U+0020. A character that Unicode has not assigned is shown as it
 * is: screens show a box.
 */
enum st_char_kind {
	ST_CHAR_PLAIN,
	/** C0, DEL and C1, which terminals obey. */
	ST_CHAR_CONTROL,
	/** U+2028 and U+2029, which end a line. */
	ST_CHAR_SEPARATOR,
	/** Changes the direction of the text around it. */
	ST_CHAR_BIDI,
	/** U+E0000 to U+E0FFF without the variation selectors: text that only a program reads. */
	ST_CHAR_TAG,
	/** Variation selectors, which can carry hidden text, too. */
	ST_CHAR_SELECTOR,
	/** A letter or mark that shows nothing, such as the Hangul fillers. */
	ST_CHAR_FILLER,
	/** Joiners, soft hyphens, and other characters for formatting. */
	ST_CHAR_FORMAT,
	/** Private use, surrogates, noncharacters: nobody knows what a screen shows. */
	ST_CHAR_UNDEFINED,
	/** A space that is not U+0020. */
	ST_CHAR_BLANK,
};

enum st_char_kind st_char_kind(uint32_t point);

/** Whether a character takes no room on a screen and is no control: a reader cannot see it. */
bool st_char_is_invisible(uint32_t point);

/**
 * Whether a name must be quoted: it holds a character that is not plain
 * (U+3000 is, in a name: it is wide, and usual in names) or a byte that is not
 * UTF-8, it begins or ends with a space, begins with a double quote, or is empty.
 */
bool st_quote_needed(struct st_str name);

/** Append a name: as it is, or in double quotes if it must be. */
void st_quote_name(struct st_buf *out, struct st_str name);

/** The same, but in at most about max bytes; a longer name is cut, and its length stated. */
void st_quote_name_max(struct st_buf *out, struct st_str name, size_t max);

/**
 * Append a name as git quotes it in the header of a diff: if it holds a
 * character that is not plain, a double quote or a backslash, the whole is in
 * double quotes, with C's escapes and octal bytes.
 *
 * @prefix  What stands before the name and inside the quotes, such as "a/".
 */
void st_quote_git(struct st_buf *out, const char *prefix, struct st_str name);

/**
 * Append a text in double quotes, so that blanks and line ends can be seen.
 * Bytes that are not UTF-8 come out as U+FFFD: this is for texts to be copied
 * into a request, which cannot hold them.
 *
 * @max  How many bytes the quotation may take, at least 8.
 */
void st_quote_text(struct st_buf *out, struct st_str text, size_t max);

/**
 * Append somebody's words on one line: line ends and other blanks become one
 * space, characters that cannot be seen are left out.
 *
 * @max  How many bytes it may take; a longer text is cut, and its length stated.
 */
void st_quote_line(struct st_buf *out, struct st_str text, size_t max);

/**
 * Append JSON with everything in it that is not plain escaped. It stays the
 * same JSON: outside of strings all of it is ASCII.
 */
void st_quote_json(struct st_buf *out, struct st_str json);

/**
 * Append a text for a terminal: line ends and tabs stay, other controls are
 * ^X or <9B>, marks of direction and tag characters <U+202E>, bytes that are
 * not UTF-8 <FF>. Joiners and variation selectors stay: letters and emoji need
 * them.
 */
void st_quote_screen(struct st_buf *out, struct st_str text);

/** Room for a name in a sentence; a longer name is cut, which three dots show. */
struct st_quoted {
	char text[1024];
};

/** Write a name into the room, always in double quotes. @return room->text. */
const char *st_quoted_into(struct st_quoted *room, struct st_str name);

/** The same in a room that lasts until the end of the block; name is a string, or a view. */
#define st_quoted(name) st_quoted_into(&(struct st_quoted){0}, st_str(name))
#define st_quoted_str(name) st_quoted_into(&(struct st_quoted){0}, name)

#endif
