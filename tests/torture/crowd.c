/*
 * Many at once: readers who look for torn files, several processes of stet
 * that count in one file, and writers that never pause.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "torture/counter.h"
#include "torture/fight.h"

enum { COUNTERS = 4 };

struct host {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static bool host_open(struct host *host, const struct dir *dir, bool durable) {
	return stet_workspace_open(dir->path, &host->ws, NULL) == 0 &&
	       stet_workspace_set(host->ws, STET_OPTION_DURABLE, durable, NULL) == 0 &&
	       stet_session_open(host->ws, NULL, &host->session, NULL) == 0;
}

static void host_close(struct host *host) {
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
}

static void *share(size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	return memory;
}

static pid_t fork_child(void) {
	fflush(stdout);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void assert_ends_well(pid_t pid) {
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- readers ---- */

struct board {
	_Atomic bool stop;
	_Atomic unsigned reads, torn, edits, writes;
};

/* Read the page through a session; false if that fails or it is torn. */
static bool read_page(struct host *host, struct st_buf *text) {
	struct stet_answer *answer = NULL;
	struct page page;
	size_t len;
	if (stet_session_read(host->session, "page", 0, 0, &answer, NULL) < 0)
		return false;
	const char *content = stet_answer_content(answer, &len);
	st_buf_clear(text);
	st_buf_add(text, st_strn(content ? content : "", content ? len : 0));
	stet_answer_free(answer);
	return page_parse(st_buf_str(text), &page);
}

static void look_for_torn_pages(struct board *board, const char *path) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct page page;
	while (!board->stop) {
		if (!file_load(path, &text) || !page_parse(st_buf_str(&text), &page))
			board->torn++;
		board->reads++;
	}
}

static void edit_lines(struct board *board, struct host *host) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (unsigned number = 1; !board->stop; number++) {
		char next[PAGE_LINE_LEN + 1];
		if (!read_page(host, &text))
			board->torn++;
		struct st_str line = page_line(st_buf_str(&text));
		page_next_line(line, number, next);
		board->edits += stet_session_edit(host->session, "page", line.ptr, line.len, next,
		                                  PAGE_LINE_LEN, NULL, NULL, NULL) == 0;
	}
}

static void write_pages(struct board *board, struct host *host) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (unsigned number = 50000000; !board->stop; number++) {
		if (!read_page(host, &text))
			board->torn++;
		page_rewrite(&text, number);
		board->writes +=
			stet_session_write(host->session, "page", text.ptr, text.len, NULL, NULL, NULL) == 0;
	}
}

static pid_t start_stet(struct board *board, const struct dir *dir,
                        void (*function)(struct board *, struct host *)) {
	pid_t pid = fork_child();
	struct host host;
	if (pid > 0)
		return pid;
	if (!host_open(&host, dir, false))
		_exit(1);
	function(board, &host);
	host_close(&host);
	_exit(0);
}

static pid_t start_reader(struct board *board, const char *path) {
	pid_t pid = fork_child();
	if (pid > 0)
		return pid;
	look_for_torn_pages(board, path);
	_exit(0);
}

/* Whether everybody has done something. */
static bool is_lively(const struct board *board) {
	return board->reads > 0 && board->edits > 0 && board->writes > 0;
}

/* Writers in place would tear the page themselves, so there are none. */
static void look_at_size(const struct dir *dir, size_t size, int64_t ms) {
	st_auto(st_buf) text = ST_BUF_INIT;
	char path[512];
	snprintf(path, sizeof path, "%s", dir_at(dir, "page"));
	page_make(&text, size, 0);
	dir_write_bytes(dir, "page", text.ptr, text.len);
	struct board *board = share(sizeof *board);
	struct hostile hostile;
	hostile_start(&hostile, &hostile_kinds[HOSTILE_RENAME], path);
	hostile_ready(&hostile, 1);

	pid_t children[] = {
		start_reader(board, path),
		start_stet(board, dir, edit_lines),
		start_stet(board, dir, write_pages),
	};
	hostile_rage(&hostile, 2000000 + (int64_t)size * 20);
	int64_t began = now_ns(), enough = began + ms * 1000000, too_long = began + 60000000000;
	while (now_ns() < enough || (!is_lively(board) && now_ns() < too_long))
		nap_ns(1000000);
	board->stop = true;
	unsigned renames = hostile_calm(&hostile);
	for (size_t i = 0; i < sizeof children / sizeof *children; i++)
		assert_ends_well(children[i]);
	assert_true(hostile_stop(&hostile));
	printf("# %7zu bytes: %u reads, %u edits, %u writes, %u renames, %u torn\n", size, board->reads,
	       board->edits, board->writes, renames, board->torn);
	assert_int_equal(board->torn, 0);
	assert_true(is_lively(board));
	munmap(board, sizeof *board);
}

static void no_reader_finds_a_torn_file(void **state) {
	int64_t ms = in_full() ? 20000 : 700;
	look_at_size(*state, 4 << 10, ms);
	look_at_size(*state, 64 << 10, ms);
	look_at_size(*state, 4 << 20, ms);
}

/* ---- counting ---- */

static void count(const struct dir *dir, const char *label, int times, bool durable) {
	struct host host;
	if (!host_open(&host, dir, durable))
		_exit(1);
	for (int i = 0; i < times; i++) {
		if (!count_up(host.session, label))
			_exit(2);
	}
	host_close(&host);
	_exit(0);
}

static void count_in_processes(const struct dir *dir, const char *const labels[COUNTERS], int times,
                               bool durable) {
	pid_t children[COUNTERS];
	for (int i = 0; i < COUNTERS; i++) {
		children[i] = fork_child();
		if (children[i] == 0)
			count(dir, labels[i], times, durable);
	}
	for (int i = 0; i < COUNTERS; i++)
		assert_ends_well(children[i]);
}

static void processes_that_count_each_for_itself_lose_nothing(void **state) {
	static const char *const labels[COUNTERS] = {"a", "b", "c", "d"};
	int times = in_full() ? 200 : 50;
	counters_write(*state);
	count_in_processes(*state, labels, times, false);
	for (int i = 0; i < COUNTERS; i++)
		assert_counter(*state, labels[i], times);
	assert_int_equal(dir_count(*state, "."), 1);
}

static void processes_that_count_together_lose_nothing(void **state) {
	static const char *const labels[COUNTERS] = {"all", "all", "all", "all"};
	int times = in_full() ? 200 : 50, synced = in_full() ? 50 : 5;
	counters_write(*state);
	count_in_processes(*state, labels, times, false);
	assert_counter(*state, "all", COUNTERS * times);
	count_in_processes(*state, labels, synced, true);
	assert_counter(*state, "all", COUNTERS * (times + synced));
	assert_int_equal(dir_count(*state, "."), 1);
}

/* ---- writers that never pause ---- */

/* Edit against a hostile process that never pauses; the longest time that one call took. */
static int64_t edit_in_the_storm(struct fight *fight, int64_t ms) {
	int64_t until = now_ns() + ms * 1000000, longest = 0;
	for (unsigned number = 1; now_ns() < until; number++) {
		int64_t began = now_ns();
		int code = fight->writer->try(fight, number);
		int64_t took = now_ns() - began;
		if (code == 0)
			fight->score.acked++;
		else
			fight_count(fight, code);
		longest = took > longest ? took : longest;
	}
	return longest;
}

static void against_a_storm_every_call_ends_soon(void **state) {
	alarm(300);
	for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
		struct fight fight = {
			.kind = &hostile_kinds[kind], .writer = &writer_edits, .size = 4096, .races = 1000000};
		fight_begin(&fight, *state);
		fight_ready(&fight, 1);
		hostile_rage(&fight.hostile, 0);
		int64_t longest = edit_in_the_storm(&fight, in_full() ? 5000 : 700);
		unsigned records = hostile_calm(&fight.hostile);
		printf("# %-8s wrote %6u times, the longest of our calls took %lld ms\n", fight.kind->name,
		       records, (long long)(longest / 1000000));
		assert_true(longest < 10000000000);
		/* Others overwrite their own records, or write back what they read in the middle of an exchange. */
		bool accountable = fight.kind->appends && fight.kind->opens;
		fight.races = accountable ? records : 0;
		fight_end(&fight);
		assert_int_equal(fight.score.lost, 0);
	}
	alarm(0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(no_reader_finds_a_torn_file),
		claim(processes_that_count_each_for_itself_lose_nothing),
		claim(processes_that_count_together_lose_nothing),
		claim(against_a_storm_every_call_ends_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
