/* The roots of a client: which directories they are, and what stays when they change. */
#include <stdlib.h>

#include "base/json.h"
#include "lib/alloc.h"
#include "lib/test.h"
#include "mcp/protocol/service.h"
#include "mcp/service/service.h"
#include "stet/instructions.h"

struct office {
	const struct dir *dir;
	struct stet_host *host;
	struct st_service *service;
	struct stet_client *agent;
	char *answer;
};

static int read_only(void *arg, struct stet_workspace *ws, struct stet_error *err) {
	++*(int *)arg;
	return stet_workspace_set(ws, STET_OPTION_READ_ONLY, 1, err);
}

static int refuse_all(void *arg, struct stet_workspace *ws, struct stet_error *err) {
	(void)arg;
	(void)ws;
	*err = (struct stet_error){.code = STET_E_INVALID, .message = "It is not wanted."};
	return STET_E_INVALID;
}

static void open_office(struct office *office, const struct dir *dir, stet_host_ready *ready,
                        void *arg) {
	const char *start = dir_at(dir, "start");
	*office = (struct office){.dir = dir};
	mkdirat(dir->fd, "start", 0755);
	assert_int_equal(stet_host_open(&start, 1, &office->host, NULL), 0);
	stet_host_follow(office->host, ready, arg);
	assert_int_equal(st_service_new(office->host, NULL, &office->service, NULL), 0);
	assert_int_equal(stet_host_client(office->host, NULL, NULL, &office->agent, NULL), 0);
}

static void close_office(struct office *office) {
	stet_free(office->answer);
	stet_client_release(office->agent);
	st_service_free(office->service);
	stet_host_close(office->host);
}

/* Tell the service the roots, as JSON in which @ stands for the test's directory and ' for ". */
static void tell(struct office *office, const char *json) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (; *json; json++) {
		if (*json == '@')
			st_buf_adds(&text, office->dir->path);
		else
			st_buf_addc(&text, *json == '\'' ? '"' : *json);
	}
	yyjson_doc *doc = yyjson_read(text.ptr, text.len, 0);
	assert_non_null(doc);
	struct st_mcp_service *base = st_service_base(office->service);
	base->roots(base, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

/* The directories, by their names below the test's, separated by blanks. */
static void expect_roots(struct office *office, const char *names) {
	st_auto(st_buf) list = ST_BUF_INIT;
	struct stet_workspace *ws;
	for (size_t i = 0; (ws = stet_host_workspace(office->host, i)); i++) {
		const char *root = stet_workspace_root(ws);
		assert_true(strncmp(root, office->dir->path, strlen(office->dir->path)) == 0);
		st_buf_addf(&list, "%s%s", i ? " " : "", root + strlen(office->dir->path) + 1);
	}
	assert_string_equal(st_buf_cstr(&list), names);
}

/* All notices so far hold a part; "" for none at all. */
static void expect_notice(struct office *office, const char *part) {
	st_auto(st_buf) all = ST_BUF_INIT;
	for (char *notice; (notice = stet_host_notice(office->host)); stet_free(notice))
		st_buf_addf(&all, "%s\n", notice);
	if (!*part)
		assert_string_equal(st_buf_cstr(&all), "");
	else if (!strstr(st_buf_cstr(&all), part))
		fail_msg("\"%s\" is not in: %s", part, st_buf_cstr(&all));
}

static int call(struct office *office, const char *tool, const char *args) {
	st_auto(st_buf) json = ST_BUF_INIT;
	for (; *args; args++)
		st_buf_addc(&json, *args == '\'' ? '"' : *args);
	stet_free(office->answer);
	return stet_client_call(office->agent, tool, json.ptr, json.len, &office->answer, NULL, NULL);
}

static void make_dirs(const struct dir *dir) {
	static const char *const names[] = {"one", "two", "my dir", "100%", "a#b", "\xc3\xa9t\xc3\xa9"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(mkdirat(dir->fd, names[i], 0755), 0);
	dir_write(dir, "file", "");
	assert_int_equal(symlinkat("one", dir->fd, "link"), 0);
	assert_int_equal(mkdirat(dir->fd, "one/deep", 0755), 0);
}

static void roots_are_directories_however_they_are_written(void **state) {
	const struct dir *dir = *state;
	struct office office;
	static const struct {
		const char *roots, *names, *notice;
	} cases[] = {
		{"[{'uri':'file://@/one'}]", "one", ""},
		{"[{'uri':'file://@/one/','name':'One'}]", "one", ""},
		{"[{'uri':'file://localhost@/one'}]", "one", ""},
		{"[{'uri':'@/two'}]", "two", ""},
		{"[{'uri':'file://@/one'},{'uri':'@/two'}]", "one two", ""},
		{"[{'uri':'file://@/two'},{'uri':'file://@/one'},{'uri':'file://@/two'}]", "two one", ""},
		{"[{'uri':'file://@/./one/../one/deep'}]", "one/deep", ""},
		{"[{'uri':'file://@/link'}]", "one", ""},
		{"[{'uri':'file://@/my%20dir'}]", "my dir", ""},
		{"[{'uri':'file://@/my dir'}]", "my dir", ""},
		{"[{'uri':'file://@/100%25'}]", "100%", ""},
		{"[{'uri':'file://@/a%23b'}]", "a#b", ""},
		{"[{'uri':'file://@/one#fragment'}]", "one", ""},
		{"[{'uri':'file://@/one?query'}]", "one", ""},
		{"[{'uri':'file://@/%C3%A9t%c3%a9'}]", "\xc3\xa9t\xc3\xa9", ""},
		{"[{'uri':'file://@/\xc3\xa9t\xc3\xa9'}]", "\xc3\xa9t\xc3\xa9", ""},
		{"[{'uri':'~/one'}]", "one", ""},
		/* What is left out. */
		{"[{'uri':'file://@/two'},{'uri':'https://example.org/'}]", "two",
	     "A root of the client was left out: \"https://example.org/\" is no file: URI."},
		{"[{'uri':'file://@/two'},{'uri':'file://@/none'}]", "two", "A directory was left out."},
		{"[{'uri':'file://@/two'},{'uri':'file://@/file'}]", "two", "A directory was left out."},
		{"[{'uri':'file://@/two'},{'uri':'file://server/share'}]", "two",
	     "\"file://server/share\" is no URI of a file on this machine."},
		{"[{'uri':'file://@/two'},{'uri':'\\\\\\\\server\\\\share'}]", "two", "is no file: URI"},
		{"[{'uri':'file://@/two'},{'uri':'file:///C:/Users'}]", "two", "A directory was left out."},
		{"[{'uri':'file://@/two'},{'uri':'file://@/one%2Fdeep'}]", "two", "an encoded slash"},
		{"[{'uri':'file://@/two'},{'uri':'file://@/one%00'}]", "two", "no URI of a file"},
		{"[{'uri':'file://@/two'},{'uri':'file://@/one\\u0000'}]", "two", "a NUL character"},
		{"[{'uri':'file://@/two'},{'uri':'file://@/%zz'}]", "two", "no URI of a file"},
		{"[{'uri':'file://@/two'},{'uri':'one'}]", "two", "is no file: URI"},
		{"[{'uri':'file://@/two'},{'uri':7},{'name':'x'},null,'x']", "two", "is no URI"},
	};
	make_dirs(dir);
	setenv("HOME", dir->path, 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_office(&office, dir, NULL, NULL);
		tell(&office, cases[i].roots);
		expect_roots(&office, cases[i].names);
		expect_notice(&office, cases[i].notice);
		close_office(&office);
	}
}

static void where_no_root_can_be_used_work_stays_where_it_is(void **state) {
	const struct dir *dir = *state;
	struct office office;
	static const struct {
		const char *roots, *notice;
	} cases[] = {
		{"[]", "The client has no roots. Work goes on in \""},
		{"[{'uri':'file://@/none'}]", "None of the client's roots can be used. "},
		{"[{'uri':'file://@/file'}]", "Work goes on in \""},
		{"[{'uri':'https://example.org/'}]",
	     "None of the client's roots can be used: \"https://example.org/\" is no file: URI. Work "
	     "goes on in \""},
	};
	make_dirs(dir);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		open_office(&office, dir, NULL, NULL);
		tell(&office, cases[i].roots);
		expect_roots(&office, "start");
		expect_notice(&office, cases[i].notice);
		/* Later ones, too. */
		tell(&office, "[{'uri':'file://@/one'}]");
		expect_notice(&office, "");
		tell(&office, cases[i].roots);
		expect_roots(&office, "one");
		expect_notice(&office, "/one\".");
		close_office(&office);
	}
	open_office(&office, dir, NULL, NULL);
	struct st_mcp_service *base = st_service_base(office.service);
	base->roots(base, NULL);
	expect_roots(&office, "start");
	expect_notice(&office, "The client did not say what its roots are.");
	close_office(&office);
}

static void what_was_seen_in_a_root_that_stays_stays_seen(void **state) {
	const struct dir *dir = *state;
	struct office office;
	make_dirs(dir);
	dir_write(dir, "one/a.txt", "a\n");
	dir_write(dir, "two/b.txt", "b\n");
	open_office(&office, dir, NULL, NULL);
	tell(&office, "[{'uri':'file://@/one'}]");
	assert_int_equal(call(&office, "read_file", "{'path':'a.txt'}"), 0);
	/* It is not where it was among the others. */
	tell(&office, "[{'uri':'file://@/two'},{'uri':'file://@/one'}]");
	assert_int_equal(call(&office, "write_file", "{'path':'a.txt','content':'new\\n'}"), 0);
	assert_string_equal(dir_read(dir, "one/a.txt"), "new\n");
	assert_int_equal(call(&office, "write_file", "{'path':'b.txt','content':'new\\n'}"),
	                 STET_E_CONFLICT);
	/* One that is left is out of reach, and forgotten. */
	tell(&office, "[{'uri':'file://@/two'}]");
	assert_int_equal(call(&office, "read_file", "{'path':'../one/a.txt'}"), STET_E_OUTSIDE);
	tell(&office, "[{'uri':'file://@/one'}]");
	assert_int_equal(call(&office, "write_file", "{'path':'a.txt','content':'newer\\n'}"),
	                 STET_E_CONFLICT);
	close_office(&office);
}

static void named_sessions_move_along(void **state) {
	const struct dir *dir = *state;
	struct office office;
	make_dirs(dir);
	dir_write(dir, "one/a.txt", "a\n");
	open_office(&office, dir, NULL, NULL);
	assert_int_equal(call(&office, "list_directory", "{'path':'.','session':'kim'}"), 0);
	tell(&office, "[{'uri':'file://@/one'}]");
	assert_int_equal(call(&office, "read_file", "{'path':'a.txt','session':'kim'}"), 0);
	tell(&office, "[{'uri':'file://@/two'},{'uri':'file://@/one'}]");
	assert_int_equal(
		call(&office, "write_file", "{'path':'a.txt','content':'new\\n','session':'kim'}"), 0);
	close_office(&office);
}

static void options_hold_in_roots_that_come_later(void **state) {
	const struct dir *dir = *state;
	struct office office;
	int prepared = 0;
	make_dirs(dir);
	open_office(&office, dir, read_only, &prepared);
	tell(&office, "[{'uri':'file://@/one'},{'uri':'file://@/two'},{'uri':'file://@/one'}]");
	assert_int_equal(prepared, 2);
	assert_int_equal(call(&office, "write_file", "{'path':'a.txt','content':''}"), STET_E_ACCESS);
	close_office(&office);

	open_office(&office, dir, refuse_all, NULL);
	tell(&office, "[{'uri':'file://@/one'}]");
	expect_roots(&office, "start");
	expect_notice(&office, "It is not wanted.");
	close_office(&office);
}

static void roots_that_are_given_as_directories_are_not_asked_for(void **state) {
	const struct dir *dir = *state;
	struct stet_host *host = NULL;
	struct st_service *service = NULL;
	const char *root = dir->path;
	assert_int_equal(stet_host_open(&root, 1, &host, NULL), 0);
	assert_int_equal(st_service_new(host, NULL, &service, NULL), 0);
	assert_null(st_service_base(service)->roots);
	st_service_free(service);
	stet_host_close(host);
}

/* Whatever allocation fails, the host is in one place or the other, and works. */
static void without_memory_nothing_is_half_moved(void **state) {
	const struct dir *dir = *state;
	struct office office;
	make_dirs(dir);
	dir_write(dir, "start/s.txt", "s\n");
	dir_write(dir, "one/a.txt", "a\n");
	bool moved = false;
	for (size_t fails = 1; !moved && fails < 2000; fails++) {
		open_office(&office, dir, NULL, NULL);
		const char *roots[] = {dir_at(dir, "one"), dir_at(dir, "two")};
		alloc_fail_at(fails);
		int code = stet_host_move(office.host, roots, 2, NULL);
		moved = !alloc_has_failed();
		expect_roots(&office,
		             code == 0 ? stet_host_workspace(office.host, 1) ? "one two" : "one" : "start");
		assert_int_equal(
			call(&office, "read_file", code == 0 ? "{'path':'a.txt'}" : "{'path':'s.txt'}"), 0);
		close_office(&office);
	}
	assert_true(moved);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(roots_are_directories_however_they_are_written),
		claim(where_no_root_can_be_used_work_stays_where_it_is),
		claim(what_was_seen_in_a_root_that_stays_stays_seen),
		claim(named_sessions_move_along),
		claim(options_hold_in_roots_that_come_later),
		claim(roots_that_are_given_as_directories_are_not_asked_for),
		claim(without_memory_nothing_is_half_moved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
