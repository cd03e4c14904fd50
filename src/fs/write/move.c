#include "fs/write/move.h"

#include <stdio.h>

#include "base/quote.h"
#include "fs/path/nearby.h"
#include "fs/path/sys.h"

void st_moved_release(struct st_moved *moved) {
	free(moved->from);
	free(moved->to);
	*moved = (struct st_moved){0};
}

static int check_movable(const struct st_place *place, const char *state_dir,
                         struct stet_error *err) {
	if (!st_path_is_protected(place->path, state_dir))
		return 0;
	return st_fail(err, STET_E_PROTECTED,
	               "%s belongs to git or to stet; moving it is not allowed. Use git itself for it.",
	               st_quoted(place->path));
}

static int fail_target_exists(const struct st_place *to, struct stet_error *err) {
	return st_fail(err, STET_E_EXISTS, "Destination already exists: %s. %s. Nothing was moved.",
	               st_quoted(to->path),
	               S_ISDIR(to->st.st_mode) ? "To move into it, name the new file in it"
	                                       : "Choose another name");
}

static int fail_rename(const struct st_place *from, const struct st_place *to, int errnum,
                       struct stet_error *err) {
	switch (errnum) {
	case EEXIST:
	case ENOTEMPTY:
		return fail_target_exists(to, err);
	case EXDEV:
		return st_fail(
			err, STET_E_INVALID,
			"%s is on another filesystem than %s; only regular files can be moved there. "
			"Move them one by one.",
			st_quoted(to->path), st_quoted(from->path));
	case EINVAL:
		return st_fail(err, STET_E_INVALID, "%s cannot be moved into itself.",
		               st_quoted(from->path));
	case ENOENT:
		return st_fail(err, STET_E_NOT_FOUND, "File not found: %s is gone. Check the path.",
		               st_quoted(from->path));
	default:
		return st_fail_errno(err, errnum, "Cannot move %s to %s", st_quoted(from->path),
		                     st_quoted(to->path));
	}
}

static bool is_within(const char *path, const char *dir) {
	size_t len = strlen(dir);
	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* On filesystems without RENAME_NOREPLACE, check before the rename. */
static int rename_with_care(const struct st_place *from, const struct st_place *to, bool same_root,
                            const char **unproven) {
	if (st_retry(renameat2(from->dirfd, from->name, to->dirfd, to->name, RENAME_NOREPLACE)) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (same_root && is_within(to->path, from->path)) {
		errno = EINVAL;
		return -1;
	}
	if (st_retry(faccessat(to->dirfd, to->name, F_OK, AT_SYMLINK_NOFOLLOW)) == 0) {
		errno = EEXIST;
		return -1;
	}
	*unproven = st_trust_name(to->dirfd);
	return st_retry(renameat(from->dirfd, from->name, to->dirfd, to->name));
}

static int locate_end(const struct st_move_end *end, struct st_place *place,
                      struct stet_error *err) {
	unsigned flags = ST_LOCATE_LINK | ST_LOCATE_DIR;
	int code = st_root_locate_as(end->root, end->path, flags, place, err);
	if (code == 0 && !*place->path)
		return st_fail(err, STET_E_KIND, "%s is the workspace itself.", st_quoted_str(end->path));
	/* The place of "a/" is "." in a; a rename needs the name "a" in its parent. */
	if (code == 0 && strcmp(place->name, ".") == 0) {
		st_autofree char *plain = strdup(place->path);
		code = plain ? st_root_locate_as(end->root, st_str(plain), ST_LOCATE_LINK, place, err)
		             : st_fail_nomem(err);
	}
	return code < 0 ? code : check_movable(place, end->state_dir, err);
}

int st_move(const struct st_move_end *from, const struct st_move_end *to, bool relaxed,
            struct st_moved *moved, struct stet_error *err) {
	st_auto(st_place) source = ST_PLACE_INIT;
	st_auto(st_place) target = ST_PLACE_INIT;
	int code = locate_end(from, &source, err);
	if (code == 0 && !source.exists) {
		code = st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Check the path.",
		               st_quoted_str(from->path));
		st_nearby_suggest(from->root, source.path, from->state_dir, err);
		return code;
	}
	if (code == 0)
		code = locate_end(to, &target, err);
	if (code < 0)
		return code;
	if (target.exists)
		return fail_target_exists(&target, err);
	const char *unproven = NULL;
	if (rename_with_care(&source, &target, from->root == to->root, &unproven) < 0) {
		moved->crosses = errno == EXDEV && S_ISREG(source.st.st_mode);
		return fail_rename(&source, &target, errno, err);
	}
	if (!relaxed) {
		(void)st_retry(fsync(target.dirfd));
		(void)st_retry(fsync(source.dirfd));
	}
	*moved = (struct st_moved){.from = source.path,
	                           .to = target.path,
	                           .is_dir = S_ISDIR(source.st.st_mode),
	                           .unproven = unproven};
	source.path = target.path = NULL;
	return 0;
}
