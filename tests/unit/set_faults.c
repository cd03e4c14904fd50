/*
 * The n-th allocation and the n-th system call of a change set fail, for every
 * n: a sentence and all files as they were, or success and all files changed.
 * If the calls go on failing, so that nothing can be taken back, the next write
 * does that.
 */
#include <dirent.h>

#include "core/session/change_set.h"
#include "core/workspace/workspace.h"
#include "lib/bench.h"
#include "lib/fault.h"
#include "lib/session.h"
#include "lib/tree.h"

enum { FILES = 5, FAULTS_MAX = 4000 };

/* A file before and after the change; NULL where there is none. */
struct file {
	const char *name, *before, *after;
	mode_t mode_before, mode_after;
};

static const struct file files[FILES] = {
	{"a", "old a\n", "new a\n", 0640, 0640},
	{"b", "old b\n", "new b, which is longer\n", 0600, 0700},
	{"new/deep/c", NULL, "new c\n", 0, 0644},
	{"d", "old d\n", NULL, 0640, 0},
	{"e", "old e\n", "e\n", 0755, 0755},
};

static int make_text(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	(void)old;
	const struct file *file = context;
	st_buf_adds(new, file->after);
	return new->failed ? st_fail_nomem(err) : 0;
}

static void lay_files(const struct dir *dir) {
	for (size_t i = 0; i < FILES; i++) {
		if (!files[i].before)
			continue;
		dir_write(dir, files[i].name, files[i].before);
		assert_int_equal(fchmodat(dir->fd, files[i].name, files[i].mode_before, 0), 0);
	}
}

static bool is_file(const struct dir *dir, size_t n, bool after) {
	const char *text = after ? files[n].after : files[n].before;
	mode_t mode = after ? files[n].mode_after : files[n].mode_before;
	struct stat st;
	if (!text)
		return !dir_has(dir, files[n].name);
	return fstatat(dir->fd, files[n].name, &st, 0) == 0 &&
	       strcmp(dir_read(dir, files[n].name), text) == 0 &&
	       (!files[n].before || (st.st_mode & 07777) == mode);
}

static bool are_all(const struct dir *dir, bool after) {
	size_t count = 0;
	for (size_t i = 0; i < FILES; i++)
		count += is_file(dir, i, after);
	return count == FILES && dir_has(dir, "new") == after;
}

/* ---- one fault ---- */

struct fault {
	enum fault_kind kind;
	unsigned nth;
	int errnum;
	bool forever;
};

static int failures;

static void complain(const struct fault *fault, const char *what, const struct host *host) {
	print_error("%s %u%s (%s) fails with %s: %s; the answer was \"%s\"\n",
	            fault->kind == FAULT_ALLOC ? "allocation" : "system call", fault->nth,
	            fault->forever ? " and all later ones" : "", fault_where(), strerror(fault->errnum),
	            what, host->err.message);
	for (size_t i = 0; i < FILES; i++)
		print_error("  %s: %s\n", files[i].name,
		            is_file(host->dir, i, false)  ? "old"
		            : is_file(host->dir, i, true) ? "new"
		                                          : "neither");
	failures++;
}

#define expect(truth, what) \
	do { \
		if (!(truth)) \
			complain(fault, what, host); \
	} while (0)

static void open_host(struct host *host) {
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, NULL), 0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 0, NULL), 0);
	assert_int_equal(stet_session_open(host->ws, "agent", &host->session, NULL), 0);
}

static void close_host(struct host *host) {
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	host->session = NULL;
	host->ws = NULL;
}

static void clear(const struct dir *dir) {
	char command[600];
	snprintf(command, sizeof command, "cd %s && rm -rf a b d e new next .stet", dir->path);
	assert_int_equal(system(command), 0);
}

static int apply(struct host *host) {
	struct st_change changes[FILES];
	struct st_change_outcome outcomes[FILES] = {0};
	for (size_t i = 0; i < FILES; i++)
		changes[i] = (struct st_change){
			.path = files[i].name,
			.kind = ST_CHANGE_WHOLE,
			.makes_dirs = true,
			.remove = !files[i].after,
			.mode =
				files[i].mode_after == files[i].mode_before || !files[i].before || !files[i].after
					? ST_MODE_SAME
					: ST_MODE_EXECUTABLE,
			.make = make_text,
			.context = (void *)(uintptr_t)&files[i],
		};
	struct st_call_scope scope = st_call_scope_begin(host->session, true);
	int code = st_change_set_apply(host->session, changes, FILES, outcomes, &host->err);
	st_call_scope_release(&scope);
	st_change_outcomes_release(outcomes, FILES);
	return code;
}

/* Another process writes another file, which takes back what is left of the set. */
static void write_next(struct host *host) {
	close_host(host);
	open_host(host);
	assert_int_equal(host_write(host, "next", "text\n"), 0);
}

static void check(struct host *host, const struct fault *fault, int code) {
	bool fired = fault_fired();
	if (!fired)
		expect(code == 0, "it should have gone as ever");
	if (code == 0)
		expect(are_all(host->dir, true), "a success, but not all files are new");
	else
		expect(strlen(host->err.message) > 10, "no sentence");
	if (code < 0 && !fault->forever)
		expect(are_all(host->dir, false), "a failure, but not all files are old");
	bool is_denied = strncmp(host->err.message, "Nothing was changed", 19) == 0;
	if (code < 0 && is_denied)
		expect(are_all(host->dir, false), "it says that nothing was changed");
	write_next(host);
	/* Where even taking back failed, and only that, the next write may find it complete. */
	expect(are_all(host->dir, code == 0) || (fault->forever && are_all(host->dir, true)),
	       "the next write does not take it back");
	expect(!dir_has(host->dir, ".stet/changes"), "a journal is left");
}

static int count_descriptors(void) {
	int count = 0;
	DIR *stream = opendir("/proc/self/fd");
	assert_non_null(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count;
}

static bool perform(struct host *host, const struct fault *fault) {
	int descriptors = count_descriptors();
	clear(host->dir);
	lay_files(host->dir);
	open_host(host);
	for (size_t i = 0; i < FILES; i++)
		assert_true(!files[i].before || host_read(host, files[i].name) == 0);
	host->err = (struct stet_error){0};
	(fault->forever ? fault_arm_from : fault_arm)(fault->kind, fault->nth, fault->errnum);
	int code = apply(host);
	fault_off();
	bool fired = fault_fired();
	check(host, fault, code);
	close_host(host);
	expect(count_descriptors() == descriptors, "a descriptor is left open");
	return fired;
}

static void perform_all(struct host *host, enum fault_kind kind, int errnum, bool forever) {
	struct fault fault = {kind, 0, errnum, forever};
	failures = 0;
	close_host(host);
	do
		fault.nth++;
	while (perform(host, &fault) && fault.nth < FAULTS_MAX);
	print_message("# %u faults\n", fault.nth - 1);
	assert_in_range(fault.nth, 50, FAULTS_MAX - 1);
	clear(host->dir);
	open_host(host);
	assert_int_equal(failures, 0);
}

static void any_system_call_may_fail(void **state) {
	perform_all(*state, FAULT_SYSTEM, EIO, false);
	perform_all(*state, FAULT_SYSTEM, ENOSPC, false);
}

static void all_system_calls_from_any_on_may_fail(void **state) {
	perform_all(*state, FAULT_SYSTEM, EIO, true);
	perform_all(*state, FAULT_SYSTEM, ENOSPC, true);
}

static void any_allocation_may_fail(void **state) {
	perform_all(*state, FAULT_ALLOC, ENOMEM, false);
}

static void all_allocations_from_any_on_may_fail(void **state) {
	perform_all(*state, FAULT_ALLOC, ENOMEM, true);
}

static void interrupted_calls_are_made_again(void **state) {
	perform_all(*state, FAULT_SYSTEM, EINTR, false);
}

int main(void) {
	tree_in_memory();
	const struct CMUnitTest tests[] = {
		host_claim(any_system_call_may_fail),
		host_claim(all_system_calls_from_any_on_may_fail),
		host_claim(any_allocation_may_fail),
		host_claim(all_allocations_from_any_on_may_fail),
		host_claim(interrupted_calls_are_made_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
