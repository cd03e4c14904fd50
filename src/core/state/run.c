/* Finding the writes of a run. */
#include "core/state/run.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/quote.h"
#include "core/state/state.h"

/* ---- the log in memory ---- */

static void release_log(struct st_run *run) {
	for (size_t i = 0; i < run->log_count; i++) {
		free(run->log[i].path);
		free(run->log[i].session);
		free(run->log[i].story);
	}
	free(run->log);
	run->log = NULL;
	run->log_count = 0;
}

void st_run_release(struct st_run *run) {
	release_log(run);
	free(run->writes);
	free(run->files);
	*run = (struct st_run){0};
}

/* NULL stays NULL; *failed is set without memory. */
static char *copy_text(const char *text, bool *failed) {
	char *copy = text ? strdup(text) : NULL;
	*failed |= text && !copy;
	return copy;
}

static int copy_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct st_run *run = data;
	bool failed = false;
	if (!st_array_room(&run->log, run->log_count, sizeof *run->log))
		return st_fail_nomem(err);
	run->log[run->log_count++] = (struct st_run_write){
		.id = entry->id,
		.path = copy_text(entry->event.path, &failed),
		.session = copy_text(entry->event.who, &failed),
		.story = copy_text(entry->story, &failed),
		.before = entry->event.before,
		.after = entry->event.after,
		.at = entry->event.at,
		.undoes = entry->event.undoes,
		.undone_by = entry->undone_by,
	};
	return failed ? st_fail_nomem(err) : 0;
}

static int by_id(const void *a, const void *b) {
	const struct st_run_write *left = a, *right = b;
	return (left->id > right->id) - (left->id < right->id);
}

/* A transaction may run twice. */
static int load_log(struct st_store *store, void *data, struct stet_error *err) {
	const struct st_log_query all = {.limit = ST_LOG_MAX};
	release_log(data);
	return st_store_log_list(store, &all, copy_write, data, err);
}

static struct st_run_write *find_id(const struct st_run *run, int64_t id) {
	const struct st_run_write wanted = {.id = id};
	return run->log_count == 0
	           ? NULL
	           : bsearch(&wanted, run->log, run->log_count, sizeof *run->log, by_id);
}

/* ---- which writes ---- */

static bool is_of(const struct st_run_write *write, const char *name) {
	return write->session && strcmp(st_name_without_owner(write->session), name) == 0;
}

static bool query_matches(const struct st_run_query *query, const struct st_run_write *write) {
	if (query->path && strcmp(query->path, write->path) != 0)
		return false;
	if (query->of && !is_of(write, query->of))
		return false;
	if (query->session && (!write->session || strcmp(query->session, write->session) != 0))
		return false;
	if (query->story && (!write->story || strcmp(query->story, write->story) != 0))
		return false;
	return write->at >= query->since && (query->id == 0 || query->id == write->id);
}

/* An undo takes back a write; a redo takes back an undo. */
static bool is_undo(const struct st_run *run, const struct st_run_write *write) {
	const struct st_run_write *undone = write->undoes ? find_id(run, write->undoes) : NULL;
	return undone && undone->undoes == 0;
}

static bool is_redoable(const struct st_run *run, const struct st_run_write *write) {
	return is_undo(run, write) && write->undone_by == 0;
}

static bool has_write(const struct st_run *run, const struct st_run_write *write) {
	for (size_t i = 0; i < run->count; i++) {
		if (run->writes[i] == write)
			return true;
	}
	return false;
}

static int add_write(struct st_run *run, struct st_run_write *write, struct stet_error *err) {
	if (!st_array_room(&run->writes, run->count, sizeof *run->writes))
		return st_fail_nomem(err);
	run->writes[run->count++] = write;
	return 0;
}

bool st_run_is_same_change(const struct st_run_write *one, const struct st_run_write *two) {
	bool same_session = one->session && two->session ? strcmp(one->session, two->session) == 0
	                                                 : one->session == two->session;
	return one->at == two->at && same_session && (one->undoes != 0) == (two->undoes != 0);
}

static bool is_undoable(const struct st_run_write *write) {
	return write->undoes == 0 && write->undone_by == 0;
}

/* Add the rest of the change set of a write. */
static int add_set(struct st_run *run, const struct st_run_write *first,
                   const struct st_run_query *query, struct stet_error *err) {
	int code = 0;
	for (size_t i = run->log_count; i-- > 0 && code == 0;) {
		struct st_run_write *write = &run->log[i];
		if (write != first && st_run_is_same_change(write, first) &&
		    (query->any || is_undoable(write)))
			code = add_write(run, write, err);
	}
	return code;
}

static int choose_writes(struct st_run *run, const struct st_run_query *query,
                         struct stet_error *err) {
	int code = 0;
	for (size_t i = run->log_count; i-- > 0 && code == 0;) {
		struct st_run_write *write = &run->log[i];
		if ((!is_undoable(write) && !query->any) || !query_matches(query, write))
			continue;
		code = add_write(run, write, err);
		if (code == 0 && query->set)
			code = add_set(run, write, query, err);
		if (query->last || query->set)
			break;
	}
	return code;
}

/* Every write of one undo has the same time. */
static int choose_last_undo(struct st_run *run, const struct st_run_query *query,
                            struct stet_error *err) {
	const struct st_run_write *last = NULL;
	int code = 0;
	for (size_t i = run->log_count; i-- > 0 && code == 0;) {
		struct st_run_write *write = &run->log[i];
		if (!is_redoable(run, write) || !query_matches(query, write))
			continue;
		if (!last)
			last = write;
		if (write->at == last->at)
			code = add_write(run, write, err);
	}
	return code;
}

/* The undos that took back matching writes; an undo by its own number too. */
static int choose_undos(struct st_run *run, const struct st_run_query *query,
                        struct stet_error *err) {
	int code = 0;
	const struct st_run_write *named = query->set && query->id ? find_id(run, query->id) : NULL;
	if (query->last)
		return choose_last_undo(run, query, err);
	for (size_t i = run->log_count; i-- > 0 && code == 0;) {
		if (!query_matches(query, &run->log[i]) &&
		    (!named || !st_run_is_same_change(named, &run->log[i])))
			continue;
		struct st_run_write *undo =
			query->id && run->log[i].undoes ? &run->log[i] : find_id(run, run->log[i].undone_by);
		if (undo && is_redoable(run, undo) && !has_write(run, undo))
			code = add_write(run, undo, err);
	}
	return code;
}

/* ---- by file ---- */

static int by_path(const void *a, const void *b) {
	const struct st_run_write *left = *(struct st_run_write *const *)a;
	const struct st_run_write *right = *(struct st_run_write *const *)b;
	int order = strcmp(left->path, right->path);
	return order != 0 ? order : by_id(left, right);
}

static int group_by_file(struct st_run *run, struct stet_error *err) {
	if (run->count > 0)
		qsort(run->writes, run->count, sizeof *run->writes, by_path);
	for (size_t i = 0; i < run->count; i++) {
		struct st_run_file *last = run->file_count ? &run->files[run->file_count - 1] : NULL;
		if (last && strcmp(last->path, run->writes[i]->path) == 0) {
			last->count++;
			continue;
		}
		if (!st_array_room(&run->files, run->file_count, sizeof *run->files))
			return st_fail_nomem(err);
		assert(run->files);
		run->files[run->file_count++] =
			(struct st_run_file){run->writes[i]->path, &run->writes[i], 1};
	}
	return 0;
}

/* ---- nothing found ---- */

static int fail_for_id(const struct st_run *run, const struct st_run_query *query,
                       struct stet_error *err) {
	const struct st_run_write *write = find_id(run, query->id);
	long long id = (long long)query->id;
	if (!write)
		return st_fail(err, STET_E_NOT_FOUND, "There is no write %lld in the log.", id);
	if (query->redo)
		return st_fail(err, STET_E_NOT_FOUND, "Write %lld was not undone.", id);
	if (write->undone_by)
		return st_fail(err, STET_E_NOT_FOUND, "Write %lld was already undone, by write %lld.", id,
		               (long long)write->undone_by);
	if (write->undoes)
		return st_fail(err, STET_E_NOT_FOUND, "Write %lld is part of an undo or redo.", id);
	return st_fail(err, STET_E_NOT_FOUND, "Write %lld is not among those that you asked for.", id);
}

/* " of session "a" in story "b"", as far as the query names them. */
static void describe_query(const struct st_run_query *query, struct st_buf *out) {
	if (query->path)
		st_buf_addf(out, " of %s", st_quoted(query->path));
	if (query->of)
		st_buf_addf(out, " of session %s", st_quoted(query->of));
	else if (query->session)
		st_buf_adds(out, " of this session");
	if (query->story)
		st_buf_addf(out, " in story %s", st_quoted(query->story));
	if (query->since)
		st_buf_adds(out, " since then");
}

static int fail_empty(const struct st_run *run, const struct st_run_query *query,
                      struct stet_error *err) {
	st_auto(st_buf) what = ST_BUF_INIT;
	if (query->id)
		return fail_for_id(run, query, err);
	describe_query(query, &what);
	if (query->any)
		return st_fail(err, STET_E_NOT_FOUND, "There is no write%s in the log.",
		               st_buf_cstr(&what));
	if (query->for_display)
		return st_fail(err, STET_E_NOT_FOUND,
		               "There is no write%s to show: none is in the log, or each was undone.",
		               st_buf_cstr(&what));
	return st_fail(err, STET_E_NOT_FOUND, "There is no write%s that can be %s.", st_buf_cstr(&what),
	               query->redo ? "redone" : "undone");
}

int st_run_find(struct stet_session *session, const struct st_run_query *query, struct st_run *run,
                struct stet_error *err) {
	struct st_store *store = &st_state_of(session->ws)->store;
	int code = (query->any ? st_state_save_or_notice : st_state_save)(session, err);
	/* The last write counts, and must be in the log: a write waits for others who are about to log theirs. */
	if (code == 0 && st_store_exists(store))
		code = st_store_do(store, query->any ? ST_STORE_READ : ST_STORE_WRITE, load_log, run, err);
	if (code < 0)
		return code;
	if (run->log_count > 0)
		qsort(run->log, run->log_count, sizeof *run->log, by_id);
	code = (query->redo ? choose_undos : choose_writes)(run, query, err);
	if (code == 0)
		code = group_by_file(run, err);
	if (code == 0 && run->count == 0)
		return fail_empty(run, query, err);
	run->at = st_wall_ns();
	return code;
}
