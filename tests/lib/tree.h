/**
 * Generated trees of files and ignore rules to go with them: few and short
 * names, so that rules hit, and every character that means something in a
 * rule.
 */
#ifndef STET_TESTS_LIB_TREE_H
#define STET_TESTS_LIB_TREE_H

#include "base/buf.h"
#include "lib/gen.h"
#include "lib/test.h"

enum tree_type { TREE_FILE, TREE_DIR, TREE_LINK };

/** What was made, parents before what is in them. Paths are relative to the directory. */
struct tree {
	char *paths[512];
	enum tree_type types[512];
	size_t count;
};

/** Make temporary directories in memory, if nothing else is wanted: a disk takes minutes for thousands. */
void tree_in_memory(void);

/** Make the directory a git repository in which only its own rules count. */
void tree_repo(const struct dir *dir);

/** Try so many times to make a file, a directory or a link at a place of chance. */
void tree_grow(struct tree *tree, struct gen *gen, const struct dir *dir, int tries);
void tree_release(struct tree *tree);

/**
 * Make the directory a checkout of this very repository as it once was, with
 * rules as projects of several kinds have them in its directories, and with
 * what such projects leave lying about. Nothing in it is tracked. Skips the test
 * where the sources are no checkout.
 *
 * @age  How far back, from 0 for the last commit to 100 for the first.
 */
void tree_checkout(const struct dir *dir, size_t age);

/** A file of rules, up to so many, in place of what out held. */
void tree_rules(struct gen *gen, struct st_buf *out, size_t most);

#endif
