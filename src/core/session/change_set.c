#include "core/session/change_set.h"

#include "base/array.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/session/prepared.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"
#include "fs/write/journal.h"

/* How often to judge the set anew because others changed a file meanwhile; how many files a message names. */
enum { TRIES_MAX = 16, NAMED_MAX = 10 };

/* How many bytes the files of a set may have, old and new together. */
#define BYTES_MAX ((size_t)512 << 20)

/* A further return value of a step: others were faster, and everything is taken back. */
enum { AGAIN = 1 };

/* One change of the set. */
struct member {
	struct st_prepared prepared;
	struct st_committed done;
};

struct change_set {
	struct stet_session *session;
	const struct st_change *changes;
	struct st_change_outcome *outcomes;
	size_t count;
	/* How many bytes the files have, old and new. */
	size_t bytes;
	/* An array of pointers: a prepared change points into itself. */
	struct member **members;
	struct st_journal_file *files;
	/* The directories to make, outer ones first; owned. */
	char **dirs;
	size_t dir_count;
	struct st_journal journal;
};

static void member_free(struct member *member) {
	if (!member)
		return;
	st_prepared_release(&member->prepared);
	st_committed_release(&member->done);
	free(member);
}

static void change_set_release(struct change_set *set) {
	for (size_t i = 0; set->members && i < set->count; i++)
		member_free(set->members[i]);
	free(set->members);
	free(set->files);
	for (size_t i = 0; i < set->dir_count; i++)
		free(set->dirs[i]);
	free(set->dirs);
	st_journal_end(&set->session->ws->writes, &set->journal);
}

void st_change_outcomes_release(struct st_change_outcome *outcomes, size_t count) {
	for (size_t i = 0; i < count; i++) {
		stet_answer_free(outcomes[i].answer);
		outcomes[i] = (struct st_change_outcome){0};
	}
}

/* ---- judging ---- */

/* Whether the call itself has to end. */
static bool is_fatal(int code) {
	return code == STET_E_NOMEM || code == STET_E_CANCELLED;
}

static const char *path_of(const struct change_set *set, size_t n) {
	const char *path = set->members[n]->prepared.place.path;
	return path ? path : set->changes[n].path;
}

static int prepare_one(struct change_set *set, size_t n, struct stet_error *err) {
	struct st_change_outcome *outcome = &set->outcomes[n];
	struct member *member = calloc(1, sizeof *member);
	set->members[n] = member;
	if (!member)
		return st_fail_nomem(err);
	*member = (struct member){ST_PREPARED_INIT, ST_COMMITTED_INIT};
	stet_answer_free(outcome->answer);
	*outcome = (struct st_change_outcome){.answer = st_answer_new("success")};
	if (!outcome->answer)
		return st_fail_nomem(err);
	const struct st_change *change = &set->changes[n];
	if (change->problem)
		outcome->why = *change->problem;
	outcome->code = change->problem ? change->problem->code
	                                : st_prepare(set->session, change, outcome->answer,
	                                             &member->prepared, &outcome->why);
	/* What the answer says of this file; one that is changed has its own diff, counted elsewhere. */
	set->session->answer_bytes += outcome->answer->diff.len + strlen(outcome->why.message) + 1;
	if (is_fatal(outcome->code))
		return st_fail(err, outcome->code, "%s", outcome->why.message);
	return 0;
}

/* Whether two changes lead to names of one file. */
static bool is_linked(const struct change_set *set, size_t i, size_t n) {
	const struct st_file *a = set->members[i]->prepared.attempt.file;
	const struct st_file *b = set->members[n]->prepared.attempt.file;
	return a && b && a->stamp.ino == b->stamp.ino && a->stamp.dev == b->stamp.dev;
}

/* Two changes of one file would overwrite each other. */
static void check_distinct(struct change_set *set, size_t n) {
	struct st_change_outcome *outcome = &set->outcomes[n];
	for (size_t i = 0; i < n && outcome->code == 0; i++) {
		if (strcmp(path_of(set, i), path_of(set, n)) == 0)
			outcome->code = st_fail(&outcome->why, STET_E_INVALID,
			                        "%s is changed twice. Put both changes into one.",
			                        st_quoted(path_of(set, n)));
		else if (is_linked(set, i, n))
			outcome->code = st_fail(&outcome->why, STET_E_INVALID,
			                        "%s and %s are one file with two names (hard links). Change it "
			                        "by one of them.",
			                        st_quoted(path_of(set, i)), st_quoted(path_of(set, n)));
	}
}

/* All files are in memory until the set is written, and their old bytes in the journal. */
static int check_size(struct change_set *set, size_t n, struct stet_error *err) {
	const struct st_prepared *prepared = &set->members[n]->prepared;
	set->bytes += prepared->file.bytes.len + prepared->new.len;
	if (set->bytes <= BYTES_MAX)
		return 0;
	return st_fail(
		err, STET_E_TOO_BIG,
		"Nothing was changed: the files of this change have more than %zu bytes together, "
		"before and after it. Change fewer at once.",
		BYTES_MAX);
}

static int prepare_all(struct change_set *set, struct stet_error *err) {
	int code = 0;
	/* Not 0: the files share one answer. */
	set->session->answer_bytes = 1;
	for (size_t i = 0; i < set->count && code == 0; i++) {
		code = prepare_one(set, i, err);
		if (code == 0)
			code = check_size(set, i, err);
		if (code == 0)
			check_distinct(set, i);
	}
	set->session->answer_bytes = 0;
	return code;
}

/* The code of the whole set: a refusal goes first, because its diffs count as seen. */
static int worst_code(const struct change_set *set, size_t *failed) {
	int code = 0;
	*failed = 0;
	for (size_t i = 0; i < set->count; i++) {
		int own = set->outcomes[i].code;
		*failed += own != 0;
		if (own == STET_E_CONFLICT || code == 0)
			code = own;
	}
	return code;
}

/* If a change was refused or failed, name all of them. */
static int report_failures(const struct change_set *set, struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	size_t failed, named = 0;
	int code = worst_code(set, &failed);
	if (code == 0)
		return 0;
	for (size_t i = 0; i < set->count && named < NAMED_MAX; i++) {
		const struct st_change_outcome *outcome = &set->outcomes[i];
		if (outcome->code != 0)
			st_buf_addf(&names, "%s%s", named++ > 0 ? ", " : "", st_quoted(path_of(set, i)));
	}
	if (failed > named)
		st_buf_addf(&names, " and %zu more", failed - named);
	return st_fail(err, code, "Nothing was changed: %zu of %zu %s cannot be changed like this: %s.",
	               failed, set->count, st_plural(set->count, "file", "files"), st_buf_cstr(&names));
}

static int show_all(struct change_set *set, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < set->count && code == 0; i++)
		code = st_prepared_show(&set->members[i]->prepared, err);
	return code;
}

/* ---- the journal ---- */

static bool has_dir(const struct change_set *set, struct st_str dir) {
	for (size_t i = 0; i < set->dir_count; i++) {
		if (st_str_eq(st_str(set->dirs[i]), dir))
			return true;
	}
	return false;
}

/* Add the directories of a new file that do not exist. */
static int add_dirs(struct change_set *set, const char *path, struct stet_error *err) {
	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		struct st_str dir = st_strn(path, (size_t)(end - path));
		st_auto(st_place) place = ST_PLACE_INIT;
		if (has_dir(set, dir) ||
		    (st_root_locate_as(&set->session->ws->root, dir, ST_LOCATE_DIR, &place, NULL) == 0 &&
		     place.exists))
			continue;
		char *own = strndup(dir.ptr, dir.len);
		if (!own || !st_array_room(&set->dirs, set->dir_count, sizeof *set->dirs)) {
			free(own);
			return st_fail_nomem(err);
		}
		set->dirs[set->dir_count++] = own;
	}
	return 0;
}

static int plan_file(struct change_set *set, size_t n, struct stet_error *err) {
	const struct st_prepared *prepared = &set->members[n]->prepared;
	const struct st_file *old = prepared->attempt.file;
	struct st_journal_file *file = &set->files[n];
	*file = (struct st_journal_file){.path = prepared->place.path};
	if (old) {
		file->before = st_file_version(old);
		file->old = st_buf_str(&old->bytes);
		file->mode = old->mode & 07777;
	}
	file->after.exists = !set->changes[n].remove;
	int code = 0;
	if (file->after.exists)
		code = st_hash_of(st_buf_str(&prepared->new), &file->after.hash, err);
	return code == 0 && !old ? add_dirs(set, file->path, err) : code;
}

static struct st_journal_plan plan_of(const struct change_set *set) {
	return (struct st_journal_plan){
		.files = set->files,
		.count = set->count,
		.dirs = (const char *const *)set->dirs,
		.dir_count = set->dir_count,
		.relaxed = !set->session->ws->durable,
	};
}

/* One file alone needs no journal. Without a state directory there is none. */
static int begin_journal(struct change_set *set, struct stet_error *err) {
	struct st_write_context *writes = &set->session->ws->writes;
	struct stet_error why = {0};
	set->files = calloc(set->count, sizeof *set->files);
	int code = set->files ? 0 : st_fail_nomem(err);
	for (size_t i = 0; i < set->count && code == 0; i++)
		code = plan_file(set, i, err);
	if (code < 0 || set->count == 1)
		return code;
	const struct st_journal_plan plan = plan_of(set);
	code = st_journal_begin(writes, &plan, &set->journal, &why);
	if (code == STET_E_ACCESS)
		st_write_notice(
			writes,
			"A crash of this process while it writes could leave a part of this change: "
			"it has no journal. %s",
			why.message);
	return code < 0 && code != STET_E_ACCESS
	           ? st_fail(err, code, "Nothing was changed. %s", why.message)
	           : 0;
}

/* ---- writing ---- */

static int make_dirs(struct change_set *set, struct stet_error *err) {
	struct stet_workspace *ws = set->session->ws;
	int code = 0;
	for (size_t i = 0; i < set->dir_count && code == 0; i++) {
		st_autofree char *made = NULL;
		code = st_dir_make(&ws->root, st_str(set->dirs[i]), ws->writes.state_dir, NULL, &made, err);
	}
	return code;
}

static int open_plain(const struct st_root *root, const char *path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate(root, st_str(path), &place, err);
	if (code == 0 && (!place.exists || strcmp(place.path, path) != 0))
		code = STET_E_NOT_FOUND;
	return code < 0 ? code : st_file_open(&place, err);
}

int st_change_set_mode(struct st_write_context *writes, const char *path, enum st_change_mode mode,
                       struct stet_error *err) {
	struct stat st;
	if (mode == ST_MODE_SAME)
		return 0;
	st_autofd fd = open_plain(writes->root, path, err);
	/* If others have replaced the file, leave theirs alone. */
	if (fd < 0)
		return fd == STET_E_NOT_FOUND || fd == STET_E_KIND ? 0 : fd;
	if (st_retry(fstat(fd, &st)) < 0)
		return st_fail_errno(err, errno, "Cannot stat %s", st_quoted(path));
	/* Whoever may read the file may run it. */
	mode_t wanted = mode == ST_MODE_EXECUTABLE ? st.st_mode | (st.st_mode & 0444) >> 2
	                                           : st.st_mode & ~(mode_t)0111;
	if (wanted == st.st_mode || st_retry(fchmod(fd, wanted & 07777)) == 0)
		return 0;
	if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS)
		return st_fail_errno(err, errno, "Cannot change the mode of %s", st_quoted(path));
	st_write_notice(writes, "The mode of %s stays as it was, because this user cannot change it.",
	                st_quoted(path));
	return 0;
}

/* Take back the first files, and name those that others changed meanwhile. */
static int take_back(struct change_set *set, size_t count, int code, struct stet_error *why,
                     struct stet_error *err) {
	struct st_write_context *writes = &set->session->ws->writes;
	st_auto(st_buf) left = ST_BUF_INIT;
	st_auto(st_buf) stuck = ST_BUF_INIT;
	const struct st_journal_plan plan = plan_of(set);
	size_t failed = st_journal_take_back(writes, &plan, count, &left, &stuck);
	if (failed > 0) {
		/* With the journal, the next write tries again. */
		st_journal_release(&set->journal);
		return st_fail(err, code == STET_E_CONFLICT ? STET_E_IO : code,
		               "The change failed, and %s could not be taken back. The next write tries "
		               "that again. %s",
		               stuck.len > 0 ? st_buf_cstr(&stuck) : "a part of it", why->message);
	}
	st_journal_end(writes, &set->journal);
	if (left.len > 0)
		return st_fail(err, STET_E_BUSY,
		               "The change was taken back, except in files that other processes changed "
		               "meanwhile: %s. Read them, and then try again. %s",
		               st_buf_cstr(&left), why->message);
	if (code == STET_E_CONFLICT)
		return AGAIN;
	return st_fail(err, code, "Nothing was changed. %s", why->message);
}

static int write_files(struct change_set *set, struct stet_error *err) {
	struct stet_error why = {0};
	size_t written = 0, failed = 0;
	int code = make_dirs(set, &why);
	while (code == 0 && written < set->count) {
		struct member *member = set->members[written];
		failed = written;
		code = st_prepared_write(&member->prepared, &member->done, &why);
		if (code < 0)
			break;
		code = st_change_set_mode(&set->session->ws->writes, member->done.path,
		                          set->changes[written++].mode, &why);
	}
	if (code == 0)
		return 0;
	if (failed < set->count && !is_fatal(code) && code != STET_E_CONFLICT) {
		set->outcomes[failed].code = code;
		set->outcomes[failed].why = why;
	}
	return take_back(set, written, code, &why, err);
}

/* All files are written: nothing here may fail. The writes have one time, so that the log shows one entry. */
static void remember_all(struct change_set *set) {
	struct stet_session *session = set->session;
	st_journal_end(&session->ws->writes, &set->journal);
	session->change_time = st_wall_ns();
	for (size_t i = 0; i < set->count; i++)
		st_prepared_remember(&set->members[i]->prepared, &set->members[i]->done);
	session->change_time = 0;
}

static int try_set(struct stet_session *session, const struct st_change *changes, size_t count,
                   struct st_change_outcome *outcomes, struct stet_error *err) {
	st_auto(change_set) set = {
		.session = session,
		.changes = changes,
		.outcomes = outcomes,
		.count = count,
		.members = calloc(count, sizeof(struct member *)),
		.journal = ST_JOURNAL_INIT,
	};
	if (!set.members)
		return st_fail_nomem(err);
	int code = prepare_all(&set, err);
	if (code == 0)
		code = report_failures(&set, err);
	if (code < 0 || changes[0].dry_run)
		return code < 0 ? code : show_all(&set, err);
	code = st_cancel_check_now(err);
	if (code == 0)
		code = begin_journal(&set, err);
	if (code < 0)
		return code;
	/* From here on a cancellation must not interrupt the set. */
	st_cancel_hold();
	code = write_files(&set, err);
	if (code == 0)
		remember_all(&set);
	st_cancel_release();
	return code;
}

int st_change_set_apply(struct stet_session *session, const struct st_change *changes, size_t count,
                        struct st_change_outcome *outcomes, struct stet_error *err) {
	if (count == 0 || count > ST_CHANGE_SET_MAX)
		return st_fail(err, STET_E_INVALID, "A change set has 1 to %d files, not %zu.",
		               ST_CHANGE_SET_MAX, count);
	st_journal_recover(&session->ws->writes);
	int code = AGAIN;
	for (int i = 0; i < TRIES_MAX && code == AGAIN; i++)
		code = try_set(session, changes, count, outcomes, err);
	if (code == AGAIN)
		return st_fail(err, STET_E_BUSY,
		               "Nothing was changed: other processes kept changing the files. Try again.");
	return code;
}
