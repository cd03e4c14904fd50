/**
 * Patterns for names and paths, as minimatch has them, which most tools that
 * models know take their globs by.
 *
 *     *             any run of characters of a name
 *     ?             one character
 *     [a-z] [!a-z]  one of these, or another; [[:alpha:]] as Unicode has it
 *     **            any number of directories
 *     {a,b} {1..3}  one of these
 *     ?(a|b)        one of these, or nothing
 *     @(a|b)        one of these
 *     *(a|b) +(a|b) any number of them, or at least one
 *     !(a|b)        whatever does not begin a match of these with the rest of the name
 *     !pattern      what the pattern does not match
 *     \x            x itself
 *
 * A pattern with a slash is matched against the whole path, one without
 * against its last name. A slash at the end stands for directories alone.
 *
 *     struct st_glob *glob = NULL;
 *     if (st_glob_new(ST_STR("src/!(*.test).c"), &glob, err) < 0)
 *             return err->code;
 *     if (st_glob_match(glob, ST_STR("src/main.c"), false))
 *             ...
 *     st_glob_free(glob);
 *
 * A match takes time in proportion to the pattern and the square of the name
 * at worst, whatever the pattern is.
 */
#ifndef STET_TEXT_FIND_GLOB_H
#define STET_TEXT_FIND_GLOB_H

#include "base/error.h"
#include "base/str.h"

enum {
	/** A longer pattern is refused. */
	ST_GLOB_MAX = 4096,
	/** So is one whose parentheses are nested deeper. */
	ST_GLOB_DEPTH_MAX = 4,
	/** And one that holds more of `!(...)` in one name. */
	ST_GLOB_NOTS_MAX = 16,
	/** A longer name is matched by `**` alone. */
	ST_GLOB_NAME_MAX = 1023,
};

struct st_glob;

/**
 * Compile a pattern.
 *
 * @pattern  Any bytes; what is no pattern stands for itself.
 * @out      Receives it, to be freed.
 * @return   0, STET_E_INVALID (beyond the limits above, or of st_braces_expand()), STET_E_NOMEM.
 */
[[nodiscard]] int st_glob_new(struct st_str pattern, struct st_glob **out, struct stet_error *err);

/** NULL is fine. */
void st_glob_free(struct st_glob *glob);

/**
 * Whether a path is matched. From several threads at once.
 *
 * @path    Relative, without a slash at either end, without `.` and `..`.
 * @is_dir  Whether it is a directory.
 */
bool st_glob_match(const struct st_glob *glob, struct st_str path, bool is_dir);

/** Whether a text is more than a name: it holds something that a pattern gives a meaning to. */
bool st_glob_is_pattern(struct st_str text);

#endif
