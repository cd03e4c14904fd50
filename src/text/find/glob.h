/**
 * Glob patterns for paths, in the dialect of minimatch: most tools that models
 * know use it.
 *
 *     *             any run of characters of a name
 *     ?             one character
 *     [a-z] [!a-z]  a character in this set, or not in it; [[:alpha:]] by Unicode
 *     **            any number of directories
 *     {a,b} {1..3}  one of these
 *     ?(a|b)        one of these, or nothing
 *     @(a|b)        one of these
 *     *(a|b) +(a|b) any number of them, or at least one
 *     !(a|b)        anything, unless one of these and the rest of the pattern match here
 *     !pattern      any path that the pattern does not match
 *     \x            x itself
 *
 * A pattern with a slash matches the whole path, a pattern without one matches
 * its last name. A slash at the end matches directories only.
 *
 *     struct st_glob *glob = NULL;
 *     if (st_glob_new(ST_STR("src/!(*.test).c"), &glob, err) < 0)
 *             return err->code;
 *     if (st_glob_match(glob, ST_STR("src/main.c"), false))
 *             ...
 *     st_glob_free(glob);
 *
 * At worst a match takes time proportional to the length of the pattern and the
 * square of the length of the name.
 */
#ifndef STET_TEXT_FIND_GLOB_H
#define STET_TEXT_FIND_GLOB_H

#include "base/error.h"
#include "base/str.h"

enum {
	/** The longest pattern, in bytes. */
	ST_GLOB_MAX = 4096,
	/** How deep parentheses may nest. */
	ST_GLOB_DEPTH_MAX = 4,
	/** How many `!(...)` one name of a pattern may hold. */
	ST_GLOB_NOTS_MAX = 16,
	/** Only `**` and literal names match a name of more bytes. */
	ST_GLOB_NAME_MAX = 1023,
};

struct st_glob;

/**
 * Compile a pattern.
 *
 * @pattern  Any bytes; an incomplete construct is literal.
 * @out      Receives the glob; free it with st_glob_free().
 * @return   0, STET_E_INVALID (beyond the limits above, or those of st_braces_expand()),
 *           STET_E_NOMEM.
 */
[[nodiscard]] int st_glob_new(struct st_str pattern, struct st_glob **out, struct stet_error *err);

/** Free a glob; NULL is allowed. */
void st_glob_free(struct st_glob *glob);

/**
 * Whether the pattern matches a path. Several threads may call this at once.
 *
 * @path    Relative, without a slash at either end, without `.` and `..`.
 * @is_dir  Whether it is a directory.
 */
bool st_glob_match(const struct st_glob *glob, struct st_str path, bool is_dir);

/** Whether a text is more than a plain name: it holds a character with a meaning in patterns. */
bool st_glob_is_pattern(struct st_str text);

#endif
