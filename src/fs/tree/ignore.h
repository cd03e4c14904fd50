/**
 * Ignore rules as git understands them.
 *
 * A node holds the rules of one file (a .gitignore, or .git/info/exclude) and
 * points to the node of the directory above, so that a walk compiles each file
 * once for all directories below. Nodes are immutable and reference-counted;
 * threads may share them. NULL is a node without rules.
 *
 *     struct st_ignore *top = st_ignore_new(NULL, ST_STR(""), exclude_bytes);
 *     struct st_ignore *src = st_ignore_new(top, ST_STR("src"), gitignore_bytes);
 *     if (st_ignore_match(src, ST_STR("src/main.o"), false, NULL))
 *             ...
 *     st_ignore_drop(src);
 *     st_ignore_drop(top);
 *
 * Within a node the last matching rule decides, and a deeper node decides
 * before its parent. All files in an ignored directory are ignored, whatever
 * the rules say of them: the caller must check the directories above first.
 */
#ifndef STET_FS_TREE_IGNORE_H
#define STET_FS_TREE_IGNORE_H

#include "base/str.h"

struct st_ignore;

/** The rule that decided. The views are valid as long as the node. */
struct st_ignore_reason {
	/** The directory of the node, relative to the root; "" for the root. */
	struct st_str dir;
	/** The rule as written in the file, without trailing blanks. */
	struct st_str rule;
	/** Its line, from 1; 0 if no rule matched. */
	size_t line;
};

/**
 * Compile the rules of one file.
 *
 * @parent  The node that decides where no rule of this one matches; may be
 *          NULL. The new node holds a reference to it.
 * @dir     The directory of the file, relative to the root, without a slash
 *          at either end; "" for the root. Copied.
 * @bytes   The contents of the file. Copied.
 * @return  The node; the caller drops it. NULL if memory ran out.
 */
[[nodiscard]] struct st_ignore *st_ignore_new(struct st_ignore *parent, struct st_str dir,
                                              struct st_str bytes);

/** Add a reference to a node. Returns the node. */
struct st_ignore *st_ignore_keep(struct st_ignore *node);

/** Drop a reference; dropping the last one frees the node. */
void st_ignore_drop(struct st_ignore *node);

/**
 * Whether the rules ignore a path. Where the call was cancelled meanwhile, they
 * do: what is ignored is left alone.
 *
 * @node    The node of the directory that holds the path, or the nearest above.
 * @path    Relative to the root, without a slash at either end.
 * @is_dir  Whether path is a directory (a link to one is not).
 * @reason  Receives the rule that decided, also a negated one; may be NULL.
 */
bool st_ignore_match(const struct st_ignore *node, struct st_str path, bool is_dir,
                     struct st_ignore_reason *reason);

/**
 * Whether a name is ignored in every repository: .git, and the directories
 * node_modules and dist. No rule re-includes them.
 */
bool st_ignore_builtin(struct st_str name, bool is_dir);

#endif
