/* Taking back a change set: by the process that began it, or by the next writer if that one died. */
#include <stdio.h>
#include <sys/file.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/quote.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"
#include "fs/write/journal.h"
#include "fs/write/remove.h"
#include "fs/write/temp.h"

/* How many files a notice names. */
enum { NAMED_MAX = 20 };

/* ---- one file ---- */

/* How a file stands to the change set. */
enum standing {
	/* The file is as it was before, or as the change set wrote it. */
	IS_BEFORE,
	IS_AFTER,
	/* Others changed it. */
	IS_FOREIGN,
	/* It cannot be read. */
	IS_UNKNOWN,
};

static bool is_version(const struct st_file *file, const struct st_version *version) {
	if (!file || !version->exists)
		return !file && !version->exists;
	return st_hash_eq(&file->hash, &version->hash);
}

static enum standing compare_file(struct st_write_context *writes,
                                  const struct st_journal_file *entry) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code =
		st_file_load(writes->root, st_str(entry->path), ST_JOURNAL_BYTES_MAX, &place, &file, NULL);
	if (code < 0 && code != STET_E_NOT_FOUND)
		return code == STET_E_KIND || code == STET_E_TOO_BIG ? IS_FOREIGN : IS_UNKNOWN;
	/* A link now leads elsewhere. */
	if (place.path && strcmp(place.path, entry->path) != 0)
		return IS_FOREIGN;
	const struct st_file *found = code == 0 ? &file : NULL;
	if (is_version(found, &entry->before))
		return IS_BEFORE;
	return is_version(found, &entry->after) ? IS_AFTER : IS_FOREIGN;
}

/* Give a file that is what it was before the mode that it had; best effort. */
static void restore_mode(const struct st_write_context *writes,
                         const struct st_journal_file *entry) {
	struct stat st;
	st_auto(st_place) place = ST_PLACE_INIT;
	if (!entry->before.exists ||
	    st_root_locate(writes->root, st_str(entry->path), &place, NULL) < 0 || !place.exists ||
	    strcmp(place.path, entry->path) != 0)
		return;
	st_autofd fd = st_file_open(&place, NULL);
	if (fd >= 0 && st_retry(fstat(fd, &st)) == 0 && (st.st_mode & 07777) != entry->mode)
		(void)st_retry(fchmod(fd, entry->mode));
}

/* Put the old version in the place of ours, and of no other. Returns like st_commit(). */
static int exchange_back(struct st_write_context *writes, const struct st_journal_file *entry,
                         bool relaxed) {
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	const struct st_commit commit = {
		.path = st_str(entry->path),
		.bytes = entry->old,
		.expected = st_version_hash(&entry->after),
		.relaxed = relaxed,
		.max = ST_JOURNAL_BYTES_MAX,
	};
	if (!entry->before.exists)
		return st_remove(writes->root, writes, &commit, &done, NULL);
	return st_commit(writes->root, writes, &commit, &done, NULL);
}

static void add_name(struct st_buf *names, const char *path) {
	st_buf_addf(names, "%s%s", names->len > 0 ? ", " : "", st_quoted(path));
}

/* Returns whether the file is stuck: neither what it was nor another's. */
static bool take_back_file(struct st_write_context *writes, const struct st_journal_file *entry,
                           bool relaxed, struct st_buf *left, struct st_buf *stuck) {
	enum standing standing = compare_file(writes, entry);
	int code = standing == IS_AFTER ? exchange_back(writes, entry, relaxed) : 0;
	if (code == STET_E_CONFLICT)
		standing = IS_FOREIGN;
	if (standing == IS_BEFORE || (standing == IS_AFTER && code == 0)) {
		restore_mode(writes, entry);
		return false;
	}
	add_name(standing == IS_FOREIGN ? left : stuck, entry->path);
	return standing != IS_FOREIGN;
}

/* A commit that was killed leaves its temporary file, and with that the directory would stay. */
static void sweep_dir(struct st_write_context *writes, const struct st_place *place) {
	st_autofd fd = st_retry(
		openat(place->dirfd, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	const struct st_temp none = {.fd = -1, .dirfd = fd};
	if (fd >= 0 && st_retry(flock(fd, LOCK_EX | LOCK_NB)) == 0)
		(void)st_temp_sweep(writes, &none, place->path);
}

/* Returns whether the directory is stuck: there, and not because others put something into it. */
static bool take_back_dir(struct st_write_context *writes, const char *path, struct st_buf *stuck) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code =
		st_root_locate_as(writes->root, st_str(path), ST_LOCATE_LINK | ST_LOCATE_DIR, &place, NULL);
	if (code == 0 && place.exists && S_ISDIR(place.st.st_mode)) {
		sweep_dir(writes, &place);
		code = st_remove_plain(&place, writes->state_dir, NULL);
	}
	if (code == 0 || code == STET_E_NOT_FOUND || code == STET_E_KIND)
		return false;
	add_name(stuck, path);
	return true;
}

size_t st_journal_take_back(struct st_write_context *writes, const struct st_journal_plan *plan,
                            size_t count, struct st_buf *left, struct st_buf *stuck) {
	size_t failed = 0;
	/* A cancelled call must not leave half of it. */
	st_cancel_hold();
	while (count-- > 0)
		failed += take_back_file(writes, &plan->files[count], plan->relaxed, left, stuck);
	for (size_t i = plan->dir_count; i-- > 0;)
		failed += take_back_dir(writes, plan->dirs[i], stuck);
	st_cancel_release();
	return failed;
}

/* ---- the change sets of processes that died ---- */

static void name_files(const struct st_journal_plan *plan, struct st_buf *out) {
	for (size_t i = 0; i < plan->count && i < NAMED_MAX; i++)
		add_name(out, plan->files[i].path);
	if (plan->count > NAMED_MAX)
		st_buf_addf(out, " and %zu more", plan->count - NAMED_MAX);
}

/*
 * Whether the process died after it had written the last file. Files are written
 * in their order, so others may have changed any but the last one since.
 */
static bool is_complete(struct st_write_context *writes, const struct st_journal_plan *plan) {
	enum standing last = IS_AFTER;
	for (size_t i = 0; i < plan->count; i++) {
		const struct st_journal_file *file = &plan->files[i];
		if (st_version_eq(&file->before, &file->after))
			continue;
		last = compare_file(writes, file);
		if (last == IS_BEFORE || last == IS_UNKNOWN)
			return false;
	}
	return last == IS_AFTER;
}

static void report_taken_back(struct st_write_context *writes, const struct st_journal_plan *plan,
                              const struct st_buf *names, const struct st_buf *left,
                              const struct st_buf *stuck) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(
		&text,
		"A process died while it changed %zu %s together: %s. What it had changed was taken back.",
		plan->count, st_plural(plan->count, "file", "files"), st_buf_cstr(names));
	if (left->len > 0)
		st_buf_addf(&text, " Left as they are, because others changed them since: %s.",
		            st_buf_cstr(left));
	if (stuck->len > 0)
		st_buf_addf(&text,
		            " These could not be taken back: %s. The next process that writes tries again.",
		            st_buf_cstr(stuck));
	st_write_notice(writes, "%s", st_buf_cstr(&text));
}

/* Returns whether the journal can go. */
static bool take_back_plan(struct st_write_context *writes, const struct st_journal_plan *plan) {
	st_auto(st_buf) names = ST_BUF_INIT;
	st_auto(st_buf) left = ST_BUF_INIT;
	st_auto(st_buf) stuck = ST_BUF_INIT;
	name_files(plan, &names);
	if (is_complete(writes, plan)) {
		st_write_notice(writes,
		                "A process changed %zu %s together and died before it could log that: %s. "
		                "The change is complete.",
		                plan->count, st_plural(plan->count, "file", "files"), st_buf_cstr(&names));
		return true;
	}
	size_t failed = st_journal_take_back(writes, plan, plan->count, &left, &stuck);
	report_taken_back(writes, plan, &names, &left, &stuck);
	return failed == 0;
}

/* Move a journal that is not ours out of the way. */
static void set_aside(struct st_write_context *writes, int dirfd, const char *name) {
	enum { ASIDE_MAX = 4 };
	st_autofd state = st_state_find(writes->root, writes->state_dir, NULL);
	for (int i = 1; i <= ASIDE_MAX && state >= 0; i++) {
		char aside[32];
		snprintf(aside, sizeof aside, "changes.aside-%d", i);
		if (st_retry(renameat2(dirfd, name, state, aside, i < ASIDE_MAX ? RENAME_NOREPLACE : 0)) <
		    0)
			continue;
		st_write_notice(
			writes,
			"A journal of an interrupted change of several files is damaged, or was not "
			"written by this user's stet in this workspace: it is set aside as %s/%s, "
			"and no file was changed. Remove it.",
			writes->state_dir, aside);
		return;
	}
}

/* Returns whether the journal can go. The caller holds its lock. */
static bool recover_text(struct st_write_context *writes, int dirfd, const char *name, int fd) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_auto(st_buf) paths = ST_BUF_INIT;
	struct st_journal_plan plan = {0};
	int code = st_file_fetch(fd, name, ST_JOURNAL_BYTES_MAX + 1024, &file, NULL);
	/* Its process could empty it, but not remove it. */
	if (code == 0 && file.bytes.len == 0)
		return true;
	int ours = code == 0 ? st_journal_parse(writes, st_buf_str(&file.bytes), &plan, &paths) : code;
	bool done = ours == 1 && take_back_plan(writes, &plan);
	free((void *)(uintptr_t)plan.files);
	free((void *)(uintptr_t)plan.dirs);
	if (ours == 0 || code == STET_E_TOO_BIG || code == STET_E_KIND)
		set_aside(writes, dirfd, name);
	return done;
}

static bool is_stuck(struct st_write_context *writes, const char *name) {
	pthread_mutex_lock(&writes->lock);
	bool stuck = strcmp(writes->stuck_journal, name) == 0;
	pthread_mutex_unlock(&writes->lock);
	return stuck;
}

/* This process does not try again; the next one does. */
static void mark_stuck(struct st_write_context *writes, const char *name) {
	pthread_mutex_lock(&writes->lock);
	snprintf(writes->stuck_journal, sizeof writes->stuck_journal, "%.31s", name);
	pthread_mutex_unlock(&writes->lock);
}

static void recover_one(struct st_write_context *writes, int dirfd, const char *name) {
	struct stat st;
	st_autofd fd = st_retry(openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	/* If it is locked, its process lives; if it has no name, another process has recovered it. */
	if (fd < 0 || st_retry(flock(fd, LOCK_EX | LOCK_NB)) < 0 || st_retry(fstat(fd, &st)) < 0 ||
	    st.st_nlink == 0)
		return;
	if (st_str_ends(st_str(name), ST_STR(".new")) || recover_text(writes, dirfd, name, fd))
		(void)st_retry(unlinkat(dirfd, name, 0));
	else
		mark_stuck(writes, name);
}

static bool is_journal_name(const char *name) {
	struct st_str text = st_str(name);
	return text.len < 32 &&
	       (st_str_ends(text, ST_STR(".set")) || st_str_ends(text, ST_STR(".new")));
}

void st_journal_recover(struct st_write_context *writes) {
	if (st_state_folder_exists(&writes->journals) != 1)
		return;
	int dirfd = st_state_folder_open(&writes->journals, NULL);
	DIR *dir = dirfd < 0 ? NULL : st_dir_stream(dirfd);
	if (!dir)
		return;
	st_cancel_hold();
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (is_journal_name(entry->d_name) && !is_stuck(writes, entry->d_name))
			recover_one(writes, dirfd, entry->d_name);
	}
	st_cancel_release();
	closedir(dir);
	char path[300];
	snprintf(path, sizeof path, "%s/%s", writes->state_dir, writes->journals.name);
	(void)st_retry(unlinkat(writes->root->fd, path, AT_REMOVEDIR));
}
