/* The store's copy of the tasks of a hub: what is to be sent, and what the hub's answers change. */
#include "base/clock.h"
#include "core/state/state.h"
#include "core/state/store_shared.h"
#include "lib/alloc.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"

#define MINUTE_NS ((int64_t)60 * 1000000000)

/* ---- the harness: a hub that says what a test wants ---- */

struct changes {
	struct st_hub_task_change items[8];
	char texts[8][200];
	size_t count;
};

static int keep_change(void *data, const struct st_hub_task_change *change,
                       struct stet_error *err) {
	struct changes *changes = data;
	assert_in_range(changes->count, 0, 7);
	char *text = changes->texts[changes->count];
	struct st_hub_task_change *kept = &changes->items[changes->count++];
	*kept = *change;
	snprintf(text, 200, "%.*s%.*s%.*s", (int)change->id.len, change->id.ptr,
	         (int)change->description.len, change->description.ptr, (int)change->owner.len,
	         change->owner.ptr);
	kept->id.ptr = text;
	kept->description.ptr = text + change->id.len;
	kept->owner.ptr = kept->description.ptr + change->description.len;
	return 0;
}

static int collect(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_shared_changes(store, keep_change, data, err);
}

static struct st_store *store_of(struct host *host) {
	return &st_state_of(host->ws)->store;
}

/* What is to be sent now. */
static struct changes *changes(struct host *host) {
	static struct changes found;
	found.count = 0;
	assert_int_equal(st_store_do(store_of(host), ST_STORE_WRITE, collect, &found, &host->err), 0);
	return &found;
}

struct put {
	const struct st_hub_task *task;
	const struct st_hub_task_change *sent;
	struct st_shared_result result;
};

static int put_task(struct st_store *store, void *data, struct stet_error *err) {
	struct put *put = data;
	return st_store_shared_put(store, put->task, put->sent, &put->result, err);
}

static struct st_shared_result put(struct host *host, const struct st_hub_task *task,
                                   const struct st_hub_task_change *sent) {
	struct put put = {.task = task, .sent = sent};
	assert_int_equal(st_store_do(store_of(host), ST_STORE_WRITE, put_task, &put, &host->err), 0);
	return put.result;
}

/* The hub's answer to a change that it takes. */
static struct st_hub_task taken(const struct st_hub_task_change *sent, int64_t rev) {
	return (struct st_hub_task){
		.id = sent->id,
		.number = sent->number,
		.status = sent->status,
		.priority = sent->priority,
		.fence = sent->status == ST_TASK_IN_PROGRESS ? rev : sent->fence,
		.rev = rev,
		.description = sent->description,
		.owner = sent->owner,
		.removed = sent->removed,
		.own = sent->status != ST_TASK_PENDING,
		.expires = sent->status == ST_TASK_IN_PROGRESS,
		.left_ns = 10 * MINUTE_NS,
	};
}

/* Send all changes to a hub that takes them. */
static void send_all(struct host *host, int64_t rev) {
	struct changes sent = *changes(host);
	for (size_t i = 0; i < sent.count; i++) {
		const struct st_hub_task answer = taken(&sent.items[i], rev + (int64_t)i);
		assert_false(put(host, &answer, &sent.items[i]).refused);
	}
	assert_int_equal(changes(host)->count, 0);
}

/* A task of another place, under its claim. */
static struct st_hub_task theirs(const char *id, int64_t number, int64_t rev) {
	return (struct st_hub_task){
		.id = st_str(id),
		.number = number,
		.status = ST_TASK_IN_PROGRESS,
		.priority = 1,
		.fence = rev,
		.rev = rev,
		.description = ST_STR("theirs"),
		.owner = ST_STR("bob"),
		.path = ST_STR("/src/hello"),
		.branch = ST_STR("parser"),
		.expires = true,
		.left_ns = 10 * MINUTE_NS,
	};
}

static int64_t add(struct host *host, const char *text) {
	int64_t id = 0;
	assert_int_equal(stet_task_add(host->ws, text, strlen(text), 0, &id, &host->err), 0);
	return id;
}

/* The tasks as "NUMBER STATUS OWNER PLACE TEXT" lines. */
static const char *listed(struct host *host) {
	static const char *const statuses[] = {"pending", "in_progress", "completed"};
	static char text[4096];
	st_auto(st_repo_status) view = {0};
	size_t len = 0;
	text[0] = '\0';
	assert_int_equal(
		st_repo_get_status(&st_state_of(host->ws)->repo, NULL, ST_REPO_STORED, &view, &host->err),
		0);
	for (size_t i = 0; i < view.state.task_count; i++) {
		const struct st_repo_task *task = &view.state.tasks[i];
		len += (size_t)snprintf(text + len, sizeof text - len, "%lld %s %s %s %s\n",
		                        (long long)task->id, statuses[task->status],
		                        task->owner ? task->owner : "-", task->place ? task->place : "-",
		                        task->description);
	}
	return text;
}

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* ---- claims ---- */

static void a_task_is_sent_until_the_hub_has_it(void **state) {
	struct host *host = *state;
	add(host, "mine");
	struct changes first = *changes(host);
	assert_int_equal(first.count, 1);
	assert_int_equal(first.items[0].id.len, ST_TASK_KEY);
	/* Again under the same id: the hub may have it, although its answer was lost. */
	assert_memory_equal(changes(host)->items[0].id.ptr, first.texts[0], ST_TASK_KEY);
	send_all(host, 10);
	assert_string_equal(listed(host), "1 pending - - mine\n");
}

static void what_was_removed_before_it_was_sent_is_never_sent(void **state) {
	struct host *host = *state;
	int64_t id = add(host, "mine");
	assert_int_equal(changes(host)->count, 1);
	assert_int_equal(stet_task_remove(host->ws, id, &host->err), 0);
	assert_int_equal(changes(host)->count, 0);
}

static void a_removal_is_sent_although_the_answer_about_the_new_task_was_lost(void **state) {
	struct host *host = *state;
	int64_t id = add(host, "mine");
	struct changes sent = *changes(host);
	assert_int_equal(stet_task_remove(host->ws, id, &host->err), 0);
	const struct st_hub_task stored = taken(&sent.items[0], 10);
	put(host, &stored, NULL);
	struct changes next = *changes(host);
	assert_int_equal(next.count, 1);
	assert_true(next.items[0].removed);
	assert_string_equal(listed(host), "");
}

static void a_task_started_by_a_session_without_a_name_is_sent_as_free(void **state) {
	struct host *host = *state;
	struct stet_session *unnamed = host_session(host, NULL);
	int64_t id = add(host, "mine");
	assert_int_equal(stet_task_start(unnamed, id, &host->err), 0);
	stet_session_close(unnamed);
	assert_int_equal(changes(host)->items[0].status, ST_TASK_PENDING);
	send_all(host, 10);
	assert_string_equal(listed(host), "1 pending - - mine\n");
}

static void what_is_changed_while_an_answer_is_on_its_way_is_sent_next(void **state) {
	struct host *host = *state;
	int64_t id = add(host, "mine");
	struct changes sent = *changes(host);
	assert_int_equal(stet_task_prioritise(host->ws, id, 5, &host->err), 0);
	assert_int_equal(stet_task_complete(host->session, id, &host->err), 0);
	const struct st_hub_task answer = taken(&sent.items[0], 10);
	put(host, &answer, &sent.items[0]);
	struct changes next = *changes(host);
	assert_int_equal(next.count, 1);
	assert_string_equal(next.items[0].sets, "ps");
	assert_int_equal(next.items[0].status, ST_TASK_COMPLETED);
	assert_int_equal(next.items[0].priority, 5);
}

static void a_task_under_a_claim_of_others_is_left_to_them(void **state) {
	struct host *host = *state;
	const struct st_hub_task task = theirs(ID_A, 7, 10);
	assert_int_equal(put(host, &task, NULL).id, 7);
	assert_string_equal(listed(host), "7 in_progress bob hello on parser theirs\n");
	assert_int_equal(stet_task_start(host->session, 7, &host->err), STET_E_CONFLICT);
	assert_non_null(
		strstr(host->err.message, "Session \"bob\" in hello on parser works on task 7"));
	assert_int_equal(stet_task_complete(host->session, 7, &host->err), STET_E_CONFLICT);
	assert_int_equal(stet_task_release(host->session, 7, &host->err), STET_E_CONFLICT);
	assert_int_equal(stet_task_remove(host->ws, 7, &host->err), STET_E_CONFLICT);
	assert_int_equal(stet_tasks_set(host->ws, (const char *[]){"new"}, 1, &host->err), 0);
	assert_non_null(strstr(listed(host), "7 in_progress bob hello on parser theirs\n"));
	int64_t id = 0;
	assert_int_equal(stet_task_claim(host->session, &id, &host->err), 0);
	assert_int_not_equal(id, 7);
}

static void a_claim_of_others_that_has_expired_is_none(void **state) {
	struct host *host = *state;
	struct st_hub_task task = theirs(ID_A, 7, 10);
	task.left_ns = -1;
	put(host, &task, NULL);
	assert_string_equal(listed(host), "7 pending - - theirs\n");
	int64_t id = 0;
	assert_int_equal(stet_task_claim(host->session, &id, &host->err), 0);
	assert_int_equal(id, 7);
	assert_string_equal(changes(host)->items[0].sets, "s");
}

static void the_hub_decides_who_has_a_task(void **state) {
	struct host *host = *state;
	add(host, "mine");
	send_all(host, 10);
	assert_int_equal(stet_task_complete(host->session, 1, &host->err), 0);
	struct changes sent = *changes(host);
	struct st_hub_task answer = theirs("", 1, 20);
	answer.id = sent.items[0].id;
	assert_true(put(host, &answer, &sent.items[0]).refused);
	assert_string_equal(listed(host), "1 in_progress bob hello on parser theirs\n");
	assert_int_equal(changes(host)->count, 0);
}

static void what_is_finished_is_sent_with_the_fence_of_its_claim(void **state) {
	struct host *host = *state;
	add(host, "mine");
	assert_int_equal(stet_task_start(host->session, 1, &host->err), 0);
	send_all(host, 10);
	assert_int_equal(stet_task_complete(host->session, 1, &host->err), 0);
	/* Others have taken it meanwhile: the fence stays that of the former claim. */
	struct st_hub_task answer = theirs("", 1, 20);
	answer.id = changes(host)->items[0].id;
	answer.description = ST_STR("mine");
	put(host, &answer, NULL);
	struct changes sent = *changes(host);
	assert_int_equal(sent.count, 1);
	assert_int_equal(sent.items[0].status, ST_TASK_COMPLETED);
	assert_int_equal(sent.items[0].fence, 10);
}

static void an_older_version_changes_nothing(void **state) {
	struct host *host = *state;
	struct st_hub_task task = theirs(ID_A, 7, 10);
	put(host, &task, NULL);
	task = theirs(ID_A, 7, 9);
	task.description = ST_STR("older");
	put(host, &task, NULL);
	assert_string_equal(listed(host), "7 in_progress bob hello on parser theirs\n");
}

static void a_number_that_is_taken_becomes_another(void **state) {
	struct host *host = *state;
	assert_int_equal(add(host, "mine"), 1);
	struct st_hub_task task = theirs(ID_A, 1, 10);
	assert_int_equal(put(host, &task, NULL).id, 10001);
	task = theirs(ID_B, INT64_MAX, 11);
	assert_int_equal(put(host, &task, NULL).id, 10000);
}

static void many_tasks_with_one_number_get_the_next_ones(void **state) {
	struct host *host = *state;
	char id[ST_TASK_KEY + 1];
	int64_t last = 0;
	for (int i = 0; i < 25; i++) {
		snprintf(id, sizeof id, "%032d", i);
		const struct st_hub_task task = theirs(id, -1, 10 + i);
		last = put(host, &task, NULL).id;
	}
	assert_int_equal(last, 200005);
}

/* Fill the copy with removed tasks, which were removed at a time of SQLite. */
static void fill_with_removed(struct host *host, const char *at) {
	char sql[400];
	snprintf(sql, sizeof sql,
	         "PRAGMA busy_timeout = 60000; DELETE FROM shared_tasks;"
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
	         " INSERT INTO shared_tasks (id, task, description, status, priority, removed, rev,"
	         " updated_at) SELECT printf('%%032x', i), 100 + i, 'old', 0, 0, 1, 5, %s FROM n",
	         (int)ST_TASKS_MAX, at);
	st_auto(st_buf) out = ST_BUF_INIT;
	assert_int_equal(run(host->dir, &out, (const char *[]){"sqlite3", ".stet/stet.db", sql, NULL}),
	                 0);
}

static void tasks_removed_long_ago_make_room(void **state) {
	struct host *host = *state;
	add(host, "mine");
	const struct st_hub_task task = theirs(ID_A, 7, 10);
	fill_with_removed(host, "unixepoch() * 1000000000");
	assert_int_equal(put(host, &task, NULL).id, 0);
	fill_with_removed(host, "(unixepoch() - 40 * 86400) * 1000000000");
	assert_int_equal(put(host, &task, NULL).id, 7);
}

static void the_number_of_a_removed_task_is_not_used_again(void **state) {
	struct host *host = *state;
	add(host, "mine");
	send_all(host, 10);
	assert_int_equal(stet_task_remove(host->ws, 1, &host->err), 0);
	assert_int_equal(add(host, "another"), 2);
	struct changes sent = *changes(host);
	assert_int_equal(sent.count, 2);
	assert_true(sent.items[0].removed);
	assert_false(sent.items[1].removed);
}

static int give_number_one(void *data, struct st_task_request *request, struct stet_error *err) {
	if (request->wish == ST_TASKS_NUMBERED)
		request->task = 1;
	return 0;
}

static void a_restored_hub_may_give_the_number_of_a_removed_task_again(void **state) {
	struct host *host = *state;
	add(host, "mine");
	send_all(host, 10);
	assert_int_equal(stet_task_remove(host->ws, 1, &host->err), 0);
	send_all(host, 20);
	st_state_of(host->ws)->observer.tasks = give_number_one;
	assert_int_equal(add(host, "another"), 2);
	assert_int_equal(changes(host)->count, 1);
}

static void what_others_remove_is_removed(void **state) {
	struct host *host = *state;
	struct st_hub_task task = theirs(ID_A, 7, 10);
	put(host, &task, NULL);
	task.rev = 11;
	task.removed = true;
	put(host, &task, NULL);
	assert_string_equal(listed(host), "");
	assert_int_equal(changes(host)->count, 0);
}

static void what_is_no_task_is_refused(void **state) {
	struct host *host = *state;
	static char big[ST_TASK_BYTES_MAX + 1], owner[300];
	memset(big, 'x', sizeof big);
	memset(owner, 'o', sizeof owner);
	const struct st_hub_task sound = theirs(ID_A, 7, 10);
	struct st_hub_task bad[9];
	for (size_t i = 0; i < 9; i++)
		bad[i] = sound;
	bad[0].id = ST_STR("short");
	bad[1].description = st_strn(big, sizeof big);
	bad[2].description = ST_STR("\xff\xfe");
	bad[3].description = st_strn("a\0b", 3);
	bad[4].description = ST_STR(" \n");
	bad[5].owner = st_strn(owner, sizeof owner);
	bad[6].status = 3;
	bad[7].rev = INT64_MAX;
	bad[8].fence = -1;
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(put(host, &bad[i], NULL).id, 0);
	assert_string_equal(listed(host), "");
}

struct forgotten {
	const struct st_shared_seen *seen;
	size_t count;
	struct changes changes;
};

static int find_forgotten(struct st_store *store, void *data, struct stet_error *err) {
	struct forgotten *forgotten = data;
	return st_store_shared_forgotten(store, forgotten->seen, forgotten->count, keep_change,
	                                 &forgotten->changes, err);
}

/* Find the changes that a hub with this version of ID_A lacks; 0 for none. */
static struct forgotten forgotten_by(struct host *host, int64_t rev) {
	const struct st_shared_seen seen = {.id = ID_A, .rev = rev};
	struct forgotten forgotten = {.seen = &seen, .count = rev > 0};
	assert_int_equal(
		st_store_do(store_of(host), ST_STORE_READ, find_forgotten, &forgotten, &host->err), 0);
	return forgotten;
}

static void what_the_hub_has_forgotten_is_found(void **state) {
	struct host *host = *state;
	struct st_hub_task task = theirs(ID_A, 7, 10);
	task.status = ST_TASK_COMPLETED;
	put(host, &task, NULL);
	assert_int_equal(forgotten_by(host, 10).changes.count, 0);
	assert_int_equal(forgotten_by(host, 11).changes.count, 0);
	assert_int_equal(forgotten_by(host, 9).changes.items[0].rev, 10);
	assert_int_equal(forgotten_by(host, 0).changes.items[0].status, ST_TASK_COMPLETED);
}

static void only_its_place_brings_a_claim_back(void **state) {
	struct host *host = *state;
	const struct st_hub_task task = theirs(ID_A, 7, 10);
	put(host, &task, NULL);
	struct forgotten found = forgotten_by(host, 0);
	assert_int_equal(found.changes.count, 1);
	assert_int_equal(found.changes.items[0].status, ST_TASK_PENDING);
	assert_int_equal(found.changes.items[0].rev, 9);
	assert_int_equal(found.changes.items[0].fence, 0);
}

static void a_finish_that_the_hub_forgot_and_gave_away_is_told(void **state) {
	struct host *host = *state;
	add(host, "mine");
	assert_int_equal(stet_task_complete(host->session, 1, &host->err), 0);
	struct changes sent = *changes(host);
	const struct st_hub_task answer = taken(&sent.items[0], 10);
	put(host, &answer, &sent.items[0]);
	struct st_hub_task task = theirs("", 1, 20);
	task.id = sent.items[0].id;
	assert_true(put(host, &task, NULL).lost);
	assert_string_equal(listed(host), "1 in_progress bob hello on parser theirs\n");
}

static void the_tasks_of_the_schema_before_are_kept(void **state) {
	struct host *host = *state;
	add(host, "from before");
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	host->session = NULL;
	host->ws = NULL;
	st_auto(st_buf) out = ST_BUF_INIT;
	assert_int_equal(run(host->dir, &out,
	                     (const char *[]){"sqlite3", ".stet/stet.db",
	                                      "ALTER TABLE tasks DROP COLUMN fence;"
	                                      "ALTER TABLE tasks DROP COLUMN expires;"
	                                      "ALTER TABLE tasks DROP COLUMN place;"
	                                      "ALTER TABLE writes DROP COLUMN executable;"
	                                      "DROP TABLE shared_tasks; PRAGMA user_version = 5",
	                                      NULL}),
	                 0);
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, &host->err), 0);
	assert_int_equal(stet_session_open(host->ws, NULL, &host->session, &host->err), 0);
	assert_string_equal(listed(host), "1 pending - - from before\n");
	assert_null(stet_workspace_notice(host->ws));
}

static void memory_may_run_out_anywhere(void **state) {
	struct host *host = *state;
	bool failed = true;
	for (size_t n = 1; failed; n++) {
		struct st_hub_task task = theirs(ID_A, 7, (int64_t)n);
		struct put put = {.task = &task};
		alloc_fail_at(n);
		int code = st_store_do(store_of(host), ST_STORE_WRITE, put_task, &put, &host->err);
		failed = alloc_has_failed();
		assert_true(code == 0 || failed);
	}
	assert_string_equal(listed(host), "7 in_progress bob hello on parser theirs\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_task_is_sent_until_the_hub_has_it),
		host_claim(what_was_removed_before_it_was_sent_is_never_sent),
		host_claim(a_removal_is_sent_although_the_answer_about_the_new_task_was_lost),
		host_claim(a_task_started_by_a_session_without_a_name_is_sent_as_free),
		host_claim(what_is_changed_while_an_answer_is_on_its_way_is_sent_next),
		host_claim(a_task_under_a_claim_of_others_is_left_to_them),
		host_claim(a_claim_of_others_that_has_expired_is_none),
		host_claim(the_hub_decides_who_has_a_task),
		host_claim(what_is_finished_is_sent_with_the_fence_of_its_claim),
		host_claim(an_older_version_changes_nothing),
		host_claim(a_number_that_is_taken_becomes_another),
		host_claim(many_tasks_with_one_number_get_the_next_ones),
		host_claim(tasks_removed_long_ago_make_room),
		host_claim(the_number_of_a_removed_task_is_not_used_again),
		host_claim(a_restored_hub_may_give_the_number_of_a_removed_task_again),
		host_claim(what_others_remove_is_removed),
		host_claim(what_is_no_task_is_refused),
		host_claim(what_the_hub_has_forgotten_is_found),
		host_claim(only_its_place_brings_a_claim_back),
		host_claim(a_finish_that_the_hub_forgot_and_gave_away_is_told),
		host_claim(the_tasks_of_the_schema_before_are_kept),
		host_claim(memory_may_run_out_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
