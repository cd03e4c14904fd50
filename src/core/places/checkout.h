/**
 * core/places knows where else agents work on the same repository: the checkouts
 * of this user on this machine, who is active in each, what they changed, and
 * whether two of them merge.
 *
 * A *place* in the public contract (stet/places.h) is a checkout here, because
 * fs/path calls the resolved location of a file a place. This header finds the
 * checkout that a directory belongs to, and says which repository it is of. It
 * reads git's files as data and runs nothing.
 *
 * Checkouts are of one repository if they share git's common directory, or if
 * they were cloned from one another or from the same remote, or if the user says so.
 */
#ifndef STET_CORE_PLACES_CHECKOUT_H
#define STET_CORE_PLACES_CHECKOUT_H

#include "base/buf.h"
#include "base/error.h"

enum {
	/** The longest object id in hex, and the most bytes that are kept of a branch's name. */
	ST_OID_MAX = 64,
	ST_BRANCH_MAX = 200,
};

struct st_checkout {
	/** The absolute paths of the checkout, of its git directory and of the common one. */
	char *top, *gitdir, *common;
	/** The workspace's root relative to the checkout, with a slash at the end; "" if they are the same. */
	char *prefix;
	/** The repository: "host/path" of its remote, the absolute path of a common git directory, or a name that the user gave. */
	char *repository;
};

void st_checkout_release(struct st_checkout *checkout);

/**
 * Find the checkout around a directory.
 *
 * @root   An absolute path without links.
 * @return 1, 0 if the directory is in no git repository, or STET_E_NOMEM.
 */
[[nodiscard]] int st_checkout_find(const char *root, struct st_checkout *checkout,
                                   struct stet_error *err);

/**
 * Give the repository the name that the user's configuration has for it
 * (core/workspace/project.h), if it has one. Returns 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_checkout_rename(struct st_checkout *checkout, const char *projects,
                                     struct stet_error *err);

/** Where a checkout stands: its branch, "" if detached, and its commit in hex, "" if unknown. */
struct st_checkout_head {
	char branch[ST_BRANCH_MAX + 1];
	char commit[ST_OID_MAX + 1];
};

/** Read where a checkout stands. Members that cannot be read stay empty. */
void st_checkout_head(const struct st_checkout *checkout, struct st_checkout_head *head);

/** When HEAD moved last, as git's log of it shows: nanoseconds since 1970; 0 if it is not known. */
int64_t st_checkout_moved_at(const struct st_checkout *checkout);

/**
 * The id of this machine, random and stored in the user's state directory. A
 * home directory on a network has one per host name.
 *
 * @return False if there is no such directory.
 */
bool st_machine_id(char id[33]);

/**
 * Normalise the address of a remote: "host/path" for any way to reach the same
 * repository on the same host, or an absolute path. Empty if it is neither.
 */
void st_remote_normalize(struct st_str url, struct st_buf *out);

#endif
