/* Recorded runs, replayed: every prompt within its budget, no call without its result. */
#include "eval/replay.h"

#include "base/json.h"
#include "eval/audit.h"
#include "core/prompt/messages.h"
#include "core/session/session.h"
#include "eval/stage.h"
#include "lib/corpus.h"
#include "lib/npm.h"

/* Calls and results of a prompt: as many of each, each result right behind its call. */
static void check_pairs(struct st_str prompt) {
	struct st_messages list;
	assert_int_equal(st_messages_read(&list, prompt, ST_SHAPE_CHAT, NULL), 0);
	size_t open = 0;
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].role == ST_ROLE_RESULT) {
			assert_true(open > 0);
			open--;
		} else {
			assert_int_equal(open, 0);
			open = list.items[i].calls;
		}
	}
	assert_int_equal(open, 0);
	st_messages_release(&list);
}

/* Whether a snapshot accounts for so many files. */
static void check_count(const char *snapshot, size_t files) {
	char words[64];
	snprintf(words, sizeof words, "Existing Files (%zu):", files);
	if (!strstr(snapshot, words))
		fail_msg("not \"%s\" in:\n%s", words, snapshot);
}

struct seen {
	size_t turns;
	size_t first;
	size_t last;
	size_t most;
};

/* Play a run; every prompt is checked, and every so many are counted. */
static struct seen play(const char *rows, size_t len, struct counter *counter, size_t every) {
	struct st_replay *replay = NULL;
	struct stet_error err = {0};
	struct seen seen = {0};
	int code = st_replay_open(rows, len, &replay, &err);
	while (code >= 0 && (code = st_replay_next(replay, &err)) > 0) {
		size_t prompt_len = 0;
		const char *prompt = st_replay_prompt(replay, &prompt_len);
		check_pairs(st_strn(prompt, prompt_len));
		if (seen.turns++ % every == 0 || st_replay_short(replay) > 4500)
			counter_add(counter, st_strn(prompt, prompt_len));
		if (seen.turns == 1)
			seen.first = st_replay_full(replay);
		seen.last = st_replay_full(replay);
		seen.most = st_replay_short(replay) > seen.most ? st_replay_short(replay) : seen.most;
	}
	if (code < 0)
		fail_msg("%s", err.message);
	check_count(st_replay_snapshot(replay, NULL), st_replay_count(replay, ST_REPLAY_FILES));
	assert_int_equal(st_replay_count(replay, ST_REPLAY_UNSAID), 0);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_TOTAL), seen.turns);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_TURNS), seen.turns);
	st_replay_close(replay);
	return seen;
}

static void check_budget(struct counter *counter, struct dir *dir) {
	size_t most = 0;
	counter_run(counter, dir);
	for (size_t i = 0; i < counter->count; i++)
		most = counter->counts[i] > most ? counter->counts[i] : most;
	print_message("# %zu prompts counted, at most %zu tokens\n", counter->count, most);
	counter_release(counter);
	assert_true(most < 5000);
}

static void play_recorded(void *data, const char *name, struct st_str rows) {
	bool all = getenv("STET_TORTURE") != NULL;
	struct seen seen = play(rows.ptr, rows.len, data, all ? 1 : 16);
	print_message("# %s: %zu turns, %zu -> %zu tokens, with snapshots at most %zu\n", name,
	              seen.turns, seen.first, seen.last, seen.most);
}

static void every_recorded_run_stays_within_its_budget(void **state) {
	struct dir *dir = *state;
	struct counter counter = {0};
	corpus_each_run(play_recorded, &counter);
	check_budget(&counter, dir);
}

/* A run of so many turns, each of which reads and writes files of its own. */
static void make_run(struct st_buf *rows, int turns) {
	st_buf_adds(rows,
	            "{\"turn\":0,\"tool\":\"system\",\"result_text\":\"You are a coder.\"}\n"
	            "{\"turn\":1,\"tool\":\"user\",\"result_text\":\"Write it.\"}\n");
	for (int i = 1; i <= turns; i++) {
		st_buf_addf(rows, "{\"turn\":%d,\"tool\":\"assistant\",\"result_text\":\"On it.\"}\n", i);
		st_buf_addf(
			rows,
			"{\"turn\":%d,\"tool\":\"read\",\"op\":\"read\",\"path\":\"/w/src/%d.c\",\"args\":{},"
			"\"result_text\":\"int x;\"}\n",
			i, i);
		st_buf_addf(
			rows,
			"{\"turn\":%d,\"tool\":\"write\",\"op\":\"write\",\"path\":\"/w/lib/%d.c\",\"args\":{"
			"\"content\":\"int y%d;\"},\"result_text\":\"ok\"}\n",
			i, i % 50, i);
	}
}

static void a_thousand_turns_need_no_more_than_ten(void **state) {
	struct dir *dir = *state;
	struct counter counter = {0};
	st_auto(st_buf) rows = ST_BUF_INIT;
	make_run(&rows, 1000);
	struct seen seen = play(rows.ptr, rows.len, &counter, 50);
	assert_int_equal(seen.turns, 1000);
	st_buf_release(&rows);
	check_budget(&counter, dir);
	assert_true(seen.most < 1200);
}

static void edits_and_changes_behind_the_back_are_followed(void **state) {
	(void)state;
	static const char rows[] =
		"{\"turn\":1,\"tool\":\"Write\",\"op\":\"write\",\"path\":\"a\",\"args\":{\"content\":"
		"\"one two\"},"
		"\"result_text\":\"\"}\n"
		"{\"turn\":2,\"tool\":\"Edit\",\"op\":\"edit\",\"path\":\"a\",\"args\":{\"old_string\":"
		"\"two\","
		"\"new_string\":\"three\"},\"result_text\":\"\"}\n"
		"{\"turn\":3,\"tool\":\"disk\",\"op\":\"disk\",\"path\":\"a\",\"args\":{\"first_sight\":"
		"false},"
		"\"result_text\":\"one  three\"}\n"
		"\n"
		"{\"turn\":3,\"tool\":\"Edit\",\"op\":\"edit\",\"path\":\"a\",\"args\":{\"oldText\":"
		"\"one\",\"newText\""
		":\"1\"},\"is_error\":true,\"result_text\":\"no\"}\n"
		"{\"turn\":4,\"tool\":\"Write\",\"op\":\"write\",\"path\":\"a\",\"args\":{\"content\":"
		"\"one  three\"},"
		"\"result_text\":\"\"}";
	struct st_replay *replay = NULL;
	assert_int_equal(st_replay_open(rows, strlen(rows), &replay, NULL), 0);
	while (st_replay_next(replay, NULL) > 0)
		;
	assert_int_equal(st_replay_count(replay, ST_REPLAY_TURNS), 4);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_WRITES), 2);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_IDENTICAL), 1);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_EDITS), 2);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_FAILED), 1);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_STALE), 1);
	assert_non_null(strstr(st_replay_snapshot(replay, NULL), "• a ("));
	st_replay_close(replay);
}

/* Step through a run on a stage, with a restart after the first turn. */
static struct st_replay *play_on_stage(const char *rows, const struct dir *dir) {
	struct st_replay *replay = NULL;
	struct stet_error err = {0};
	int code = st_replay_open(rows, strlen(rows), &replay, &err);
	if (code == 0)
		code = st_replay_stage(replay, dir->path, &err);
	while (code >= 0 && (code = st_replay_next(replay, &err)) > 0) {
		if (st_replay_count(replay, ST_REPLAY_TURNS) == 2)
			assert_int_equal(st_replay_restart(replay, &err), 1);
	}
	if (code < 0)
		fail_msg("%s", err.message);
	return replay;
}

static void a_restart_in_the_middle_loses_nothing(void **state) {
	const struct dir *dir = *state;
	static const char rows[] =
		"{\"turn\":1,\"tool\":\"Write\",\"op\":\"write\",\"path\":\"/w/in/a.c\",\"args\":"
		"{\"content\":\"one\\ntwo\\n\"},\"result_text\":\"\"}\n"
		"{\"turn\":1,\"tool\":\"Write\",\"op\":\"write\",\"path\":\"/w/.git/x\",\"args\":"
		"{\"content\":\"no\"},\"result_text\":\"\"}\n"
		"{\"turn\":2,\"tool\":\"Edit\",\"op\":\"edit\",\"path\":\"/w/in/a.c\",\"args\":"
		"{\"old_string\":\"two\\n\",\"new_string\":\"\"},\"result_text\":\"\"}\n"
		"{\"turn\":3,\"tool\":\"disk\",\"op\":\"disk\",\"path\":\"/w/in/a.c\",\"args\":"
		"{\"first_sight\":false},\"result_text\":\"ONE\\n\"}\n"
		"{\"turn\":3,\"tool\":\"Edit\",\"op\":\"edit\",\"path\":\"/w/in/a.c\",\"args\":"
		"{\"old_string\":\"ONE\",\"new_string\":\"1\"},\"result_text\":\"\"}\n"
		"{\"turn\":4,\"tool\":\"Write\",\"op\":\"write\",\"path\":\"/w/in/a.c\",\"args\":"
		"{\"content\":\"1\\n\"},\"result_text\":\"\"}\n";
	size_t wrong = 9;
	struct st_replay *replay = play_on_stage(rows, dir);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_TOTAL), 4);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_STAGED), 1);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_REFUSED), 0);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_NEEDLESS), 1);
	assert_int_equal(st_replay_count(replay, ST_REPLAY_UNSAID), 0);
	assert_int_equal(st_replay_verify(replay, &wrong, NULL), 0);
	assert_int_equal(wrong, 0);
	assert_string_equal(dir_read(dir, "in/a.c"), "1\n");
	/* It can say no. */
	dir_write(dir, "in/a.c", "another\n");
	assert_int_equal(st_replay_verify(replay, &wrong, NULL), 0);
	assert_int_equal(wrong, 1);
	st_replay_close(replay);
}

/* It can say no: where the session is not kept, its next write is refused. */
static void a_stage_that_forgets_its_session_refuses_its_writes(void **state) {
	const struct dir *dir = *state;
	st_auto(st_stage) stage = {0};
	assert_int_equal(st_stage_open(&stage, dir->path, NULL), 0);
	assert_int_equal(st_stage_write(&stage, "a.c", ST_STR("one\n"), NULL), 1);
	assert_int_equal(st_stage_restart(&stage, NULL), 1);
	assert_int_equal(st_stage_write(&stage, "a.c", ST_STR("one\n"), NULL), 1);
	assert_int_equal(stage.noops, 1);
	/* The database loses what was written last, as if it had not been kept. */
	assert_int_equal(st_stage_write(&stage, "b.c", ST_STR("two\n"), NULL), 1);
	stet_session_close(stage.agent);
	stage.agent = NULL;
	assert_int_equal(unlink(dir_at(dir, ".stet/stet.db")), 0);
	assert_int_equal(stet_session_open(stage.ws, "agent", &stage.agent, NULL), 0);
	assert_int_equal(st_stage_write(&stage, "b.c", ST_STR("three\n"), NULL), 0);
	assert_int_equal(stage.refused, 1);
}

static void a_path_that_could_not_be_removed_is_left_out(void **state) {
	const struct dir *dir = *state;
	st_auto(st_stage) stage = {0};
	st_auto(st_buf) path = ST_BUF_INIT;
	for (int i = 0; i < 3000; i++)
		st_buf_adds(&path, "d/");
	st_buf_adds(&path, "x");
	assert_int_equal(st_stage_open(&stage, dir->path, NULL), 0);
	assert_int_equal(st_stage_write(&stage, st_buf_cstr(&path), ST_STR("text\n"), NULL), 0);
	assert_false(dir_has(dir, "d"));
}

static void audit(const char *history, const char *prompt, struct st_audit *found) {
	*found = (struct st_audit){0};
	assert_int_equal(st_audit_prompt(st_str(history), st_str(prompt), found, NULL), 0);
}

static void what_a_prompt_leaves_out_unsaid_is_found(void **state) {
	(void)state;
	struct st_audit found;
	static const char history[] =
		"[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a long "
		"request\"},{\"role\":\"assistant\",\"content\":\"reply\"},{\"role\":\"user\","
		"\"content\":\"last\"}]";
	audit(history, history, &found);
	assert_int_equal(st_audit_unsaid(&found), 0);
	/* Three messages are gone, one of them is counted. */
	audit(history,
	      "[{\"role\":\"user\",\"content\":\"[Repo Snapshot]\\n\\n[History]\\nLeft out here: 1 "
	      "earlier replies, 0 tool results, 0 requests; 0 calls that changed nothing.\"},"
	      "{\"role\":\"user\",\"content\":\"last\"}]",
	      &found);
	assert_int_equal(found.messages, 2);
	assert_int_equal(found.texts, 0);
	/* A text is shorter, once without and once with a mark. */
	audit("[{\"role\":\"user\",\"content\":\"a long request\"}]",
	      "[{\"role\":\"user\",\"content\":\"a long\"}]", &found);
	assert_int_equal(found.texts, 1);
	audit("[{\"role\":\"user\",\"content\":\"a long request\"}]",
	      "[{\"role\":\"user\",\"content\":\"a [... 9 of 14 bytes cut; archive 0 ...] \"}]",
	      &found);
	assert_int_equal(found.texts, 0);
}

static void a_file_that_a_snapshot_leaves_out_is_found(void **state) {
	(void)state;
	struct st_repo_file files[] = {{.path = "src/a.c"}, {.path = "src/b.c"}, {.path = "z z"}};
	const struct st_repo_state repo = {.files = files, .file_count = 3};
	static const struct {
		const char *text;
		size_t unsaid;
	} cases[] = {
		{"\nExisting Files (3):\n  • src/: a.c, b.c\n  • \"z z\"\n", 0},
		{"\nExisting Files (3):\n  • src/a.c (1)\n  • and 2 unchanged: src/ (1)\n", 0},
		{"\nExisting Files (3):\n  • src/a.c (1)\n  • and 1 unchanged: src/ (1)\n", 1},
		{"\nExisting Files (3):\n  • src/a.c (1)\n", 2},
		{"\nExisting Files (2):\n  • src/: a.c, b.c\n  • \"z z\"\n", 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct st_audit found = {0};
		st_audit_files(st_str(cases[i].text), &repo, &found);
		assert_int_equal(st_audit_unsaid(&found), cases[i].unsaid);
	}
}

static void what_is_no_run_is_refused(void **state) {
	(void)state;
	static const char *const bad[] = {"{", "[]", "7", "{\"turn\":1}", "{\"tool\":\"x\"}\n{\"a\":"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct st_replay *replay = NULL;
		struct stet_error err = {0};
		assert_int_equal(st_replay_open(bad[i], strlen(bad[i]), &replay, &err), STET_E_INVALID);
		assert_non_null(strcasestr(err.message, "line "));
		assert_null(replay);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(every_recorded_run_stays_within_its_budget),
		claim(a_thousand_turns_need_no_more_than_ten),
		cmocka_unit_test(edits_and_changes_behind_the_back_are_followed),
		claim(a_restart_in_the_middle_loses_nothing),
		claim(a_stage_that_forgets_its_session_refuses_its_writes),
		claim(a_path_that_could_not_be_removed_is_left_out),
		cmocka_unit_test(what_a_prompt_leaves_out_unsaid_is_found),
		cmocka_unit_test(a_file_that_a_snapshot_leaves_out_is_found),
		cmocka_unit_test(what_is_no_run_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
