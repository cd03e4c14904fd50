/**
 * Ignore rules as git understands them.
 *
 * A node holds the rules of one file (a .gitignore, or .git/info/exclude) and
 * points at the node of the directory above, so that a walk compiles each file
 * once and the directories below share it. Nodes never change: they are
 * counted, and may be shared between threads. NULL is a node without rules.
 *
 *     struct st_ignore *top = st_ignore_new(NULL, ST_STR(""), exclude_bytes);
 *     struct st_ignore *src = st_ignore_new(top, ST_STR("src"), gitignore_bytes);
 *     if (st_ignore_match(src, ST_STR("src/main.o"), false, NULL))
 *             ...
 *     st_ignore_drop(src);
 *     st_ignore_drop(top);
 *
 * Within a node the last rule that matches decides, and a deeper node decides
 * before its parent. What lies in an ignored directory is ignored whatever the
 * rules say: the caller does not enter such a directory, or asks for it first.
 */
#ifndef STET_FS_TREE_IGNORE_H
#define STET_FS_TREE_IGNORE_H

#include "base/str.h"

struct st_ignore;

/** The rule that decided. The views live as long as the node that was asked. */
struct st_ignore_reason {
	/** The directory of the node, relative to the root; "" for the root. */
	struct st_str dir;
	/** The rule as it was written, without trailing blanks. */
	struct st_str rule;
	/** Its line, from 1; 0 if no rule matched. */
	size_t line;
};

/**
 * Compile the rules of one file.
 *
 * @parent  The node that applies where this one is silent; may be NULL. It is
 *          kept as long as the new node is.
 * @dir     The directory the rules belong to, relative to the root, without a
 *          slash at either end; "" for the root. Copied.
 * @bytes   The contents of the file. Copied.
 * @return  The node, to be dropped by the caller; NULL if memory ran out.
 */
[[nodiscard]] struct st_ignore *st_ignore_new(struct st_ignore *parent, struct st_str dir,
                                              struct st_str bytes);

/** One more owner of a node. Returns the node. */
struct st_ignore *st_ignore_keep(struct st_ignore *node);

/** One owner less; the last one frees it. */
void st_ignore_drop(struct st_ignore *node);

/**
 * Whether the rules ignore a path.
 *
 * @node    The node of the directory that holds the path, or the nearest above.
 * @path    Relative to the root, without a slash at either end.
 * @is_dir  Whether it is a directory (a link to one is not).
 * @reason  Receives the rule that decided, also one that re-includes; may be NULL.
 */
bool st_ignore_match(const struct st_ignore *node, struct st_str path, bool is_dir,
                     struct st_ignore_reason *reason);

/**
 * Whether a name is left out in every repository: .git, and the directories
 * node_modules and dist. No rule brings them back.
 */
bool st_ignore_builtin(struct st_str name, bool is_dir);

#endif
