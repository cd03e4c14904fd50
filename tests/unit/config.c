/* Configuration: which file wins, what a workspace may not set, and what stet says about it. */
#include "stet/stet.h"

#include "lib/test.h"

static struct stet_workspace *ws;
static struct stet_config *config;
static struct stet_error err;

/* A workspace below the directory, and a home beside it. */
static int setup(void **state) {
	dir_setup(state);
	struct dir *dir = *state;
	dir_write(dir, "ws/a.txt", "text\n");
	setenv("XDG_CONFIG_HOME", dir_at(dir, "home"), 1);
	unsetenv("STET_REQUIRE_READ");
	unsetenv("STET_MAX_DIFF");
	return stet_workspace_open(dir_at(dir, "ws"), &ws, &err);
}

static int teardown(void **state) {
	stet_config_free(config);
	config = NULL;
	stet_workspace_close(ws);
	return dir_teardown(state);
}

static void user(void **state, const char *text) {
	dir_write(*state, "home/stet/config.json", text);
}

static void workspace(void **state, const char *text) {
	dir_write(*state, "ws/stet.json", text);
}

static void load(void) {
	if (stet_config_load(ws, &config, &err) < 0)
		fail_msg("%s", err.message);
}

static void check(const char *key, const char *value, const char *source) {
	assert_string_equal(stet_config_value(config, key), value);
	assert_non_null(strstr(stet_config_source(config, key), source));
}

static void without_files_everything_is_as_it_is_by_default(void **state) {
	load();
	check("requireRead", "false", "default");
	check("maxFile", "67108864", "default");
	assert_null(stet_config_notice(config, 0));
	assert_null(stet_config_value(config, "colour"));
}

static void weight_rises_from_the_user_to_the_command_line(void **state) {
	user(state, "{\"maxDiff\": 4000, \"requireRead\": true, \"durable\": false}");
	workspace(state, "{\"maxDiff\": 3000}");
	setenv("STET_REQUIRE_READ", "no", 1);
	load();
	check("durable", "false", "home/stet/config.json");
	check("maxDiff", "3000", "stet.json");
	check("requireRead", "false", "STET_REQUIRE_READ");
	assert_int_equal(stet_config_set(config, "maxDiff", "9000", "--set", &err), 0);
	check("maxDiff", "9000", "--set");
	assert_int_equal(stet_config_set(config, "requireRead", "true", "--set", &err), 0);
	check("requireRead", "true", "--set");
}

static void comments_are_read(void **state) {
	user(state, "{\n\t// why\n\t\"requireRead\": true, /* that */\n}\n");
	load();
	check("requireRead", "true", "config.json");
}

static void a_workspace_may_tighten(void **state) {
	user(state,
	     "{\"extensions\": [\".md\", \".txt\"], \"agentsBudget\": 2000, \"durable\": false,"
	     " \"agentsGitignore\": false, \"agentsBuiltin\": false}");
	workspace(state,
	          "{\"extensions\": [\".MD\", \".c\"], \"agentsBudget\": 1000, \"requireRead\": true,"
	          " \"agents\": false, \"durable\": true, \"maxFile\": 1000,"
	          " \"maxDiff\": 100, \"agentsGitignore\": true, \"agentsBuiltin\": true}");
	load();
	check("extensions", ".MD", "stet.json");
	check("agentsBudget", "1000", "stet.json");
	check("requireRead", "true", "stet.json");
	check("agents", "false", "stet.json");
	check("durable", "true", "stet.json");
	check("maxFile", "1000", "stet.json");
	check("maxDiff", "100", "stet.json");
	check("agentsGitignore", "true", "stet.json");
	check("agentsBuiltin", "true", "stet.json");
	assert_null(stet_config_notice(config, 0));
}

static void a_workspace_may_not_widen(void **state) {
	static const char *const wanted[] = {
		"{\"requireRead\": false}",   "{\"onStale\": \"merge\"}",
		"{\"durable\": false}",       "{\"maxFile\": 99999999999}",
		"{\"extensions\": [\".c\"]}", "{\"agentsGitignore\": false}",
		"{\"agentsBuiltin\": false}", "{\"agentsBudget\": 100000}",
		"{\"extensions\": []}",       "{\"agentsNames\": [\".env\"]}",
	};
	user(state, "{\"requireRead\": true, \"extensions\": [\".md\"]}");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		workspace(state, wanted[i]);
		load();
		if (!stet_config_notice(config, 0))
			fail_msg("%s is not refused", wanted[i]);
		assert_non_null(strstr(stet_config_notice(config, 0), "only tighten"));
		check("requireRead", "true", "config.json");
		check("extensions", ".md", "config.json");
		check("onStale", "refuse", "default");
		check("durable", "true", "default");
		check("maxFile", "67108864", "default");
		stet_config_free(config);
		config = NULL;
	}
}

/* One key in both files, and the value that results. */
static void expect_outcome(void **state, size_t n, const char *users, const char *wanted,
                           const char *outcome) {
	const char *key = stet_config_key(n);
	char text[256];
	snprintf(text, sizeof text, "{\"%s\": \"%s\"}", key, users);
	user(state, text);
	snprintf(text, sizeof text, "{\"%s\": \"%s\"}", key, wanted);
	workspace(state, text);
	load();
	if (strcmp(stet_config_value(config, key), outcome) != 0)
		fail_msg("%s: the user's %s, the workspace's %s make %s", key, users, wanted,
		         stet_config_value(config, key));
	bool refused = strcmp(users, outcome) == 0 && strcmp(users, wanted) != 0;
	assert_int_equal(stet_config_notice(config, 0) != NULL, refused);
	stet_config_free(config);
	config = NULL;
}

/* A value for a key that is not the one given. */
static const char *another(const char *value) {
	static const char *const pairs[][2] = {
		{"true", "false"},
		{"false", "true"},
		{"refuse", "merge"},
		{"merge", "refuse"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (strcmp(value, pairs[i][0]) == 0)
			return pairs[i][1];
	}
	return *value >= '0' && *value <= '9' ? "30000" : ".env";
}

static void a_workspace_can_only_tighten_whatever_the_key(void **state) {
	size_t n = 0, user_only = 0;
	for (const char *rule; (rule = stet_config_rule(n)); n++) {
		load();
		char fallback[64];
		snprintf(fallback, sizeof fallback, "%s", stet_config_value(config, stet_config_key(n)));
		stet_config_free(config);
		config = NULL;
		if (strcmp(rule, "on") == 0 || strcmp(rule, "off") == 0) {
			bool on = strcmp(rule, "on") == 0;
			const char *tight = on ? "true" : "false", *loose = on ? "false" : "true";
			expect_outcome(state, n, loose, tight, tight);
			expect_outcome(state, n, tight, loose, tight);
			expect_outcome(state, n, tight, tight, tight);
		} else if (strcmp(rule, "lower") == 0) {
			expect_outcome(state, n, "1000", "999", "999");
			expect_outcome(state, n, "1000", "1001", "1000");
		} else if (strcmp(rule, "fewer") == 0) {
			expect_outcome(state, n, ".a,.b", ".b", ".b");
			expect_outcome(state, n, ".a,.b", ".b,.c", ".b");
			expect_outcome(state, n, ".a,.b", ".c", ".a,.b");
			expect_outcome(state, n, ".a,.b", "", ".a,.b");
		} else {
			assert_string_equal(rule, "user");
			expect_outcome(state, n, fallback, another(fallback), fallback);
			user_only++;
		}
		unlink(dir_at(*state, "home/stet/config.json"));
		unlink(dir_at(*state, "ws/stet.json"));
	}
	assert_null(stet_config_key(n));
	assert_true(user_only >= 6);
}

static const char *rule_of(const char *key) {
	for (size_t n = 0; stet_config_key(n); n++) {
		if (strcmp(stet_config_key(n), key) == 0)
			return stet_config_rule(n);
	}
	fail_msg("there is no key %s", key);
	return NULL;
}

/* Few bytes for earlier versions would leave nothing to undo: a fence is not what that tightens. */
static void what_no_repository_may_decide_is_the_users_alone(void **state) {
	static const char *const keys[] = {
		"stateDir",    "pageBytes", "structured", "useSnapshot", "onStale",
		"agentsNames", "maxBases",  "hub",        "project",
	};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		assert_string_equal(rule_of(keys[i]), "user");
}

static void a_workspace_may_have_fewer_agents_delivered(void **state) {
	size_t n = 0;
	while (strcmp(stet_config_key(n), "agents") != 0)
		n++;
	expect_outcome(state, n, "true", "nested", "nested");
	expect_outcome(state, n, "nested", "false", "false");
	expect_outcome(state, n, "nested", "true", "nested");
	expect_outcome(state, n, "false", "nested", "false");
}

/* Set a key as the environment would; its value, or NULL if it is refused. */
static const char *set(const char *key, const char *value) {
	return stet_config_set(config, key, value, "--set", &err) < 0 ? NULL
	                                                              : stet_config_value(config, key);
}

static void values_that_a_key_does_not_take_are_refused(void **state) {
	load();
	assert_string_equal(set("agents", "nested"), "nested");
	assert_string_equal(set("agents", "yes"), "true");
	assert_null(set("agents", "some"));
	assert_non_null(strstr(err.message, "true, false or \"nested\""));
	assert_string_equal(set("pageBytes", "4096"), "4096");
	assert_null(set("pageBytes", "4095"));
	assert_non_null(strstr(err.message, "4096 to 8388608"));
	assert_null(set("pageBytes", "8388609"));
	assert_string_equal(set("stateDir", ".maestro"), ".maestro");
	static const char *const names[] = {"", ".", "..", "a/b", ".git", ".GIT", ".Stet", "git~1"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(set("stateDir", names[i]));
	assert_non_null(strstr(err.message, "a single name"));
	assert_string_equal(set("stateDir", ".stet"), ".stet");
	assert_string_equal(set("useSnapshot", "no"), "false");
	assert_null(set("useSnapshot", "nested"));
}

static void a_project_is_a_name_or_an_object_of_names(void **state) {
	user(state,
	     "{\"project\": {\"github.com/ann/hello\": \"team/hello\", \"/home/ann/x=y\": \"notes\"}}");
	workspace(state, "{\"project\": \"stolen\"}");
	load();
	check("project", "github.com/ann/hello=team/hello,/home/ann/x=y=notes", "config.json");
	assert_non_null(strstr(stet_config_notice(config, 0), "may not set project"));
	assert_string_equal(set("project", "hello"), "hello");
	assert_string_equal(set("project", ""), "");
	static const char *const wrong[] = {"/a", "=a", "a=", ",", "a,,b", "a=/b", "a\nb"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_null(set("project", wrong[i]));
	stet_config_free(config);
	config = NULL;
	static const char *const wrong_users[] = {
		"{\"project\": {\"a\": 1}}", "{\"project\": {\"a,b\": \"c\"}}",
		"{\"project\": {\"a\": \"b=c\"}}", "{\"project\": []}"};
	for (size_t i = 0; i < sizeof wrong_users / sizeof *wrong_users; i++) {
		user(state, wrong_users[i]);
		assert_int_equal(stet_config_load(ws, &config, &err), STET_E_INVALID);
		assert_non_null(strstr(err.message, "\"project\" takes a name"));
	}
	unlink(dir_at(*state, "home/stet/config.json"));
}

static void unknown_keys_are_named(void **state) {
	user(state, "{\"colour\": \"blue\"}");
	workspace(state, "{\"roots\": [\"/\"], \"listen\": \"0.0.0.0\"}");
	load();
	assert_non_null(strstr(stet_config_notice(config, 0), "\"colour\""));
	assert_non_null(strstr(stet_config_notice(config, 1), "\"roots\""));
	assert_non_null(strstr(stet_config_notice(config, 2), "\"listen\""));
}

static void a_wrong_file_of_the_user_is_an_error(void **state) {
	user(state, "{\"requireRead\": 7}");
	assert_int_equal(stet_config_load(ws, &config, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "takes true or false"));
	user(state, "{\"pageBytes\": 4000}");
	assert_int_equal(stet_config_load(ws, &config, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "takes 4096 to 8388608 bytes, not 4000"));
	user(state, "{\"requireRead\": true");
	assert_int_equal(stet_config_load(ws, &config, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "config.json is not valid JSON"));
	setenv("STET_MAX_DIFF", "much", 1);
	user(state, "{}");
	assert_int_equal(stet_config_load(ws, &config, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "STET_MAX_DIFF"));
}

static void a_wrong_file_of_the_workspace_is_a_notice(void **state) {
	struct dir *dir = *state;
	workspace(state, "[1, 2");
	load();
	assert_non_null(strstr(stet_config_notice(config, 0), "stet.json is not valid JSON"));
	stet_config_free(config);
	unlink(dir_at(dir, "ws/stet.json"));
	assert_int_equal(symlink("/etc/passwd", dir_at(dir, "ws/stet.json")), 0);
	load();
	assert_non_null(strstr(stet_config_notice(config, 0), "outside"));
}

static void it_reaches_the_workspace(void **state) {
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	user(state, "{\"requireRead\": true}");
	load();
	assert_int_equal(stet_config_apply(config, ws, &err), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);
	int code = stet_session_edit(session, "a.txt", "text", 4, "x", 1, NULL, &answer, &err);
	assert_int_equal(code, STET_E_CONFLICT);
	stet_answer_free(answer);
	stet_session_close(session);
}

static void apply(void) {
	load();
	if (stet_config_apply(config, ws, &err) < 0)
		fail_msg("%s", err.message);
}

static void one_line_of_configuration_says_where_the_state_is(void **state) {
	struct dir *dir = *state;
	int64_t id = 0;
	user(state, "{\"stateDir\": \".maestro\"}");
	apply();
	assert_int_equal(stet_task_add(ws, "Write tests", 11, 0, &id, &err), 0);
	assert_int_equal(stet_state_flush(ws, &err), 0);
	assert_int_equal(access(dir_at(dir, "ws/.maestro/repostate.json"), F_OK), 0);
	assert_int_equal(access(dir_at(dir, "ws/.stet"), F_OK), -1);
}

/* Call a tool; 0 or its code, with the answer in `answer`. */
static char *answer;
static int call(struct stet_session *session, const char *tool, const char *args) {
	stet_free(answer);
	return stet_call(session, tool, args, strlen(args), &answer, NULL, &err);
}

static void what_is_configured_as_the_state_directory_is_protected(void **state) {
	struct dir *dir = *state;
	struct stet_session *session = NULL;
	static const char *const refused[][2] = {
		{"write_file", "{\"path\": \".maestro/x\", \"content\": \"x\"}"},
		{"write_file", "{\"path\": \"sub/.Maestro/x\", \"content\": \"x\"}"},
		{"write_file", "{\"path\": \".stet/x\", \"content\": \"x\"}"},
		{"edit_file", "{\"path\": \".maestro/a.md\", \"oldText\": \"words\", \"newText\": \"x\"}"},
		{"create_directory", "{\"path\": \".maestro/d\"}"},
		{"move_file", "{\"source\": \"a.txt\", \"destination\": \".maestro/b.txt\"}"},
		{"move_file", "{\"source\": \".maestro\", \"destination\": \"b\"}"},
		{"copy_file", "{\"source\": \"a.txt\", \"destination\": \".maestro/b.txt\"}"},
		{"append_file", "{\"path\": \".maestro/a.md\", \"content\": \"x\"}"},
		{"delete_file", "{\"path\": \".maestro\", \"recursive\": true}"},
	};
	static const char *const lists[][2] = {
		{"list_directory", "{}"},
		{"directory_tree", "{\"includeIgnored\": true}"},
		{"search_files", "{\"pattern\": \"**/*\"}"},
		{"repo_state", "{\"scan\": true}"},
		{"read_file", "{\"path\": \"sub/b.txt\"}"},
	};
	dir_write(dir, "ws/.maestro/a.md", "Hidden words.\n");
	dir_write(dir, "ws/.stet/old", "x");
	dir_write(dir, "ws/sub/.Maestro/a.md", "x");
	assert_int_equal(chmod(dir_at(dir, "ws/.maestro"), 0700), 0);
	dir_write(dir, "ws/AGENTS.md", "See @.maestro/a.md\n");
	dir_write(dir, "ws/sub/b.txt", "b\n");
	user(state, "{\"stateDir\": \".maestro\"}");
	apply();
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (call(session, refused[i][0], refused[i][1]) != STET_E_PROTECTED)
			fail_msg("%s %s: %s", refused[i][0], refused[i][1], answer);
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		assert_int_equal(call(session, lists[i][0], lists[i][1]), 0);
		if (strstr(answer, "maestro/a.md:") || strstr(answer, "Hidden words") ||
		    (i < 4 && strstr(answer, "maestro")))
			fail_msg("%s shows the state directory: %s", lists[i][0], answer);
	}
	stet_session_close(session);
	stet_free(answer);
	answer = NULL;
}

static void one_line_of_configuration_gives_the_full_history(void **state) {
	static const char history[] = "[ {\"role\": \"user\", \"content\": \"Go on.\"} ]\n";
	struct stet_session *session = NULL;
	struct stet_context *context = stet_context_new();
	char *out = NULL;
	user(state, "{\"useSnapshot\": false}");
	apply();
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);
	assert_int_equal(stet_context_take(context, session, &err), 0);
	assert_int_equal(stet_context_compact(context, history, sizeof history - 1, &out, NULL, &err),
	                 0);
	assert_string_equal(out, history);
	stet_free(out);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_REQUEST, "Go on.", 6, &err), 0);
	assert_int_equal(stet_context_prompt(context, &out, NULL, &err), 0);
	assert_null(strstr(out, "[Repo Snapshot]"));
	assert_non_null(strstr(out, "[Delta Request]"));
	stet_free(out);
	stet_context_free(context);
	stet_session_close(session);
}

static void nested_and_pages_reach_the_answers(void **state) {
	struct dir *dir = *state;
	struct stet_session *session = NULL;
	char *out = NULL;
	size_t len = 0;
	dir_write(dir, "ws/AGENTS.md", "Root's words.\n");
	dir_write(dir, "ws/src/AGENTS.md", "Nested words.\n");
	char text[8192];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	dir_write(dir, "ws/src/a.txt", text);
	user(state, "{\"agents\": \"nested\", \"pageBytes\": 4096}");
	apply();
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);
	static const char args[] = "{\"path\": \"src/a.txt\"}";
	assert_int_equal(stet_call(session, "read_file", args, sizeof args - 1, &out, &len, &err), 0);
	assert_non_null(strstr(out, "Nested words."));
	assert_null(strstr(out, "Root's words."));
	assert_null(strstr(out, text));
	stet_free(out);
	stet_session_close(session);
}

#define with_home(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		with_home(without_files_everything_is_as_it_is_by_default),
		with_home(weight_rises_from_the_user_to_the_command_line),
		with_home(comments_are_read),
		with_home(a_workspace_may_tighten),
		with_home(a_workspace_may_not_widen),
		with_home(a_workspace_can_only_tighten_whatever_the_key),
		with_home(what_no_repository_may_decide_is_the_users_alone),
		with_home(a_workspace_may_have_fewer_agents_delivered),
		with_home(values_that_a_key_does_not_take_are_refused),
		with_home(one_line_of_configuration_says_where_the_state_is),
		with_home(what_is_configured_as_the_state_directory_is_protected),
		with_home(one_line_of_configuration_gives_the_full_history),
		with_home(nested_and_pages_reach_the_answers),
		with_home(a_project_is_a_name_or_an_object_of_names),
		with_home(unknown_keys_are_named),
		with_home(a_wrong_file_of_the_user_is_an_error),
		with_home(a_wrong_file_of_the_workspace_is_a_notice),
		with_home(it_reaches_the_workspace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
