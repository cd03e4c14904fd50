/*
 * The races and the crowd once more, through MCP: one stet serve, hostile
 * processes beside it, and many clients, some of which are killed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/agent.h"
#include "torture/fight.h"

/* ---- races ---- */

enum { KILO = 1024 };

/* The server and its clients, for the writers below, which get the fight as their only argument. */
static struct {
	struct served served;
	/* One fights, one writes the text that it read before the race, one only reads. */
	struct agent fighter, stale, reader;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint reads, torn;
	unsigned refused, accepted;
} arena;

/* Notices come with the next answer, to any client. */
static void hear_notices(struct fight *fight, const struct agent *agent) {
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	yyjson_val *notices = yyjson_obj_get(agent->structured, "notices"), *notice;
	size_t i, count;
	pthread_mutex_lock(&lock);
	yyjson_arr_foreach(notices, i, count, notice) fight_hear(fight, yyjson_get_str(notice));
	pthread_mutex_unlock(&lock);
}

static bool read_page(struct fight *fight, struct agent *agent, struct st_buf *text) {
	struct page page;
	if (agent_call(agent, "read_file", "{\"path\":\"page\"}") != 0)
		return false;
	hear_notices(fight, agent);
	st_buf_clear(text);
	st_buf_add(text, agent_content(agent));
	return page_parse(st_buf_str(text), &page);
}

static int edit_page(struct fight *fight, unsigned number) {
	char next[PAGE_LINE_LEN + 1], args[256];
	page_next_line(st_str(fight->line), number, next);
	snprintf(args, sizeof args, "{\"path\":\"page\",\"oldText\":\"%s\",\"newText\":\"%s\"}",
	         fight->line, next);
	int code = agent_call(&arena.fighter, "edit_file", args);
	hear_notices(fight, &arena.fighter);
	const char *way = agent_text(&arena.fighter, "commit");
	fight->score.exchanged += strcmp(way, "exchanged") == 0;
	fight->score.in_place += strcmp(way, "in-place") == 0;
	if (code == 0)
		memcpy(fight->line, next, sizeof next);
	else if (code == STET_E_NO_MATCH && read_page(fight, &arena.fighter, &fight->text))
		memcpy(fight->line, page_line(st_buf_str(&fight->text)).ptr, PAGE_LINE_LEN);
	return code;
}

static int write_page(struct agent *agent, struct st_str text, const char *hash) {
	st_auto(st_buf) args = ST_BUF_INIT;
	st_buf_adds(&args, "{\"path\":\"page\",\"content\":");
	st_json_quote(&args, text);
	if (hash)
		st_buf_addf(&args, ",\"expectedHash\":\"%s\"", hash);
	st_buf_adds(&args, "}");
	return agent_call(agent, "write_file", st_buf_cstr(&args));
}

static int rewrite_page(struct fight *fight, unsigned number) {
	if (!read_page(fight, &arena.fighter, &fight->text))
		return STET_E_BUSY;
	page_rewrite(&fight->text, number);
	int code = write_page(&arena.fighter, st_buf_str(&fight->text), NULL);
	hear_notices(fight, &arena.fighter);
	fight->score.exchanged += strcmp(agent_text(&arena.fighter, "commit"), "exchanged") == 0;
	return code;
}

static const struct writer served_edits = {"edit", edit_page};
static const struct writer served_writes = {"write", rewrite_page};

static void *read_on(void *arg) {
	struct page page;
	while (!arena.stop) {
		if (agent_call(&arena.reader, "read_file", "{\"path\":\"page\"}") != 0)
			continue;
		hear_notices(arg, &arena.reader);
		arena.reads++;
		arena.torn += !page_parse(agent_content(&arena.reader), &page);
	}
	return NULL;
}

/* What was read before the race must not be written after it. */
static void write_what_is_stale(struct fight *fight, struct st_buf *text, const char *hash) {
	page_rewrite(text, 99999999);
	int code = write_page(&arena.stale, st_buf_str(text), hash);
	hear_notices(fight, &arena.stale);
	arena.refused += code == STET_E_CONFLICT;
	arena.accepted += code == 0;
}

static void race(struct fight *fight, unsigned record) {
	st_auto(st_buf) old = ST_BUF_INIT;
	char hash[64];
	fight_ready(fight, record);
	assert_true(read_page(fight, &arena.stale, &old));
	snprintf(hash, sizeof hash, "%s", agent_text(&arena.stale, "fileHash"));

	int64_t began = now_ns(), attempt;
	hostile_strike(&fight->hostile, random_below(fight->typical_ns * 5 / 4));
	bool acked = fight_until_acked(fight, record, &attempt);
	int64_t ended = now_ns();
	assert_true(hostile_wait(&fight->hostile, 60000));
	fight->typical_ns = (fight->typical_ns * 7 + ended - began) / 8;
	write_what_is_stale(fight, &old, record % 2 ? hash : NULL);
	fight_judge(fight, record, acked,
	            hostile_began_ns(&fight->hostile) < ended &&
	                hostile_ended_ns(&fight->hostile) > attempt);
}

/* The server looks at what it replaced a moment ago with each call. */
static void hear_the_last_notices(struct fight *fight) {
	for (int i = 0; i < 5; i++) {
		sleep_ms(20);
		assert_true(read_page(fight, &arena.fighter, &fight->text));
	}
}

static void run(const struct dir *dir, const struct writer *writer, size_t kind, size_t size,
                unsigned races) {
	struct fight fight = {
		.writer = writer, .kind = &hostile_kinds[kind], .size = size, .races = races};
	bool reads = !fight.kind->tears;
	fight_begin(&fight, dir);
	arena.stop = false;
	if (reads)
		assert_int_equal(pthread_create(&arena.thread, NULL, read_on, &fight), 0);
	for (unsigned record = 1; record <= races; record++)
		race(&fight, record);
	arena.stop = true;
	if (reads)
		pthread_join(arena.thread, NULL);
	hear_the_last_notices(&fight);
	fight_end(&fight);
	assert_true(fight_is_clean(&fight));
}

static void races_through_mcp_lose_nothing(void **state) {
	const struct dir *dir = *state;
	unsigned races = in_full() ? 300 : 12;
	memset(&arena, 0, sizeof arena);
	assert_true(
		served_start(&arena.served, dir->path, (const char *[]){"--durability", "relaxed", NULL}));
	assert_true(agent_open(&arena.fighter, arena.served.url, AGENT_LEGACY));
	assert_true(agent_open(&arena.stale, arena.served.url, AGENT_LEGACY));
	assert_true(agent_open(&arena.reader, arena.served.url, AGENT_MODERN));
	fight_print_head();
	fflush(stdout);
	for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
		run(dir, &served_edits, kind, 4 * KILO, races);
		run(dir, &served_writes, kind, 4 * KILO, races);
		if (in_full())
			run(dir, &served_edits, kind, 48 * KILO, races);
	}
	printf("# %u reads, %u torn; of the stale writes %u refused, %u accepted\n", arena.reads,
	       arena.torn, arena.refused, arena.accepted);
	assert_true(arena.reads > 0);
	assert_int_equal(arena.torn, 0);
	assert_true(arena.refused > 0);
	assert_int_equal(arena.accepted, 0);
	agent_close(&arena.fighter);
	agent_close(&arena.stale);
	agent_close(&arena.reader);
	assert_true(served_stop(&arena.served));
}

/* ---- many agents ---- */

enum { CLIENTS = 50, FILES = 5, LINE_MAX_LEN = 32 };

/* What the clients have done, in memory that they share with the test. */
struct board {
	atomic_bool stop;
	atomic_uint calls, conflicts, other, unseen_accepted;
	/* By client: the last number whose edit was acknowledged. */
	atomic_uint acked[CLIENTS];
};

static void client_line(int client, unsigned number, char line[LINE_MAX_LEN]) {
	snprintf(line, LINE_MAX_LEN, "client %02d %06u.", client, number);
}

/* A file has the lines of all clients that use it. */
static void write_files(const struct dir *dir) {
	for (int file = 0; file < FILES; file++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		char name[32], line[LINE_MAX_LEN];
		for (int client = file; client < CLIENTS; client += FILES) {
			client_line(client, 0, line);
			st_buf_addf(&text, "%s\n", line);
		}
		snprintf(name, sizeof name, "shared-%d", file);
		dir_write(dir, name, st_buf_cstr(&text));
	}
}

/* The number in a client's line. */
static int number_in(struct st_str text, int client) {
	char label[16];
	unsigned number;
	snprintf(label, sizeof label, "client %02d ", client);
	const char *at = memmem(text.ptr, text.len, label, strlen(label));
	return at && sscanf(at + strlen(label), "%6u.", &number) == 1 ? (int)number : -1;
}

static bool count_call(struct board *board, int code) {
	board->calls++;
	board->conflicts += code == STET_E_CONFLICT;
	board->other += code != 0 && code != STET_E_CONFLICT && code != STET_E_BUSY;
	return code == 0;
}

/* A client that has not read a file must not replace it, even if another client has. */
static void try_unseen(struct board *board, const char *url, int client) {
	struct agent agent;
	char args[128];
	snprintf(args, sizeof args, "{\"path\":\"shared-%d\",\"content\":\"gone\"}", client % FILES);
	if (agent_open(&agent, url, AGENT_LEGACY)) {
		board->unseen_accepted += agent_call(&agent, "write_file", args) == 0;
		board->calls++;
	}
	agent_close(&agent);
}

/* Count up in a line of one's own, in a file that others change all the time. */
static void work(struct board *board, const char *url, int client) {
	struct agent agent;
	char path[64], args[256], line[LINE_MAX_LEN], next[LINE_MAX_LEN];
	snprintf(path, sizeof path, "{\"path\":\"shared-%d\"}", client % FILES);
	if (!agent_open(&agent, url, client % 3 ? AGENT_LEGACY : AGENT_MODERN) ||
	    !count_call(board, agent_call(&agent, "read_file", path)))
		_exit(2);
	int number = number_in(agent_content(&agent), client);
	if (number < 0)
		_exit(3);
	if (client % 7 == 0)
		try_unseen(board, url, client);
	while (!board->stop) {
		client_line(client, (unsigned)number, line);
		client_line(client, (unsigned)number + 1, next);
		snprintf(args, sizeof args,
		         "{\"path\":\"shared-%d\",\"oldText\":\"%s\",\"newText\":\"%s\"}", client % FILES,
		         line, next);
		if (count_call(board, agent_call(&agent, "edit_file", args)))
			board->acked[client] = (unsigned)++number;
	}
	agent_close(&agent);
	_exit(0);
}

static pid_t start_client(struct board *board, const char *url, int client) {
	fflush(stdout);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(board, url, client);
	}
	return pid;
}

/* Kill one of them wherever it is, and start another in its place. */
static void replace_one(struct board *board, const char *url, pid_t clients[CLIENTS]) {
	int status, victim = (int)random_below(CLIENTS);
	kill(clients[victim], SIGKILL);
	assert_int_equal(waitpid(clients[victim], &status, 0), clients[victim]);
	assert_true(WIFSIGNALED(status));
	clients[victim] = start_client(board, url, victim);
}

/* Every edit that was acknowledged is there, and at most the one that a kill came before. */
static void check_files(const struct dir *dir, const struct board *board, unsigned kills) {
	unsigned unacked = 0;
	for (int client = 0; client < CLIENTS; client++) {
		char name[32];
		snprintf(name, sizeof name, "shared-%d", client % FILES);
		int number = number_in(st_str(dir_read(dir, name)), client);
		assert_true(number >= (int)board->acked[client]);
		unacked += (unsigned)number - board->acked[client];
	}
	assert_true(unacked <= kills);
}

/* Let them work for a while, with kills in between; the memory of the server after the first part. */
static size_t let_work(struct board *board, const struct served *served, pid_t clients[CLIENTS],
                       int64_t ms, unsigned calls, unsigned *kills) {
	int64_t began = now_ns(), warm = began + ms * 1000000 * 2 / 5, until = began + ms * 1000000;
	size_t memory = 0;
	while (now_ns() < until || board->calls < calls) {
		sleep_ms(in_full() ? 500 : 100);
		replace_one(board, served->url, clients);
		++*kills;
		if (memory == 0 && now_ns() > warm)
			memory = served_memory(served);
	}
	return memory;
}

static void many_agents_lose_nothing_and_memory_stays(void **state) {
	const struct dir *dir = *state;
	struct served served;
	pid_t clients[CLIENTS];
	unsigned kills = 0;
	struct board *board =
		mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(board != MAP_FAILED);
	write_files(dir);
	/* The memory of old versions has its own limit, which the test wants to reach soon. */
	assert_true(served_start(&served, dir->path,
	                         (const char *[]){"--durability", "relaxed", "--session-idle", "5",
	                                          "--max-bases", "1000000", NULL}));
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = start_client(board, served.url, i);
	size_t warm = let_work(board, &served, clients, in_full() ? 300000 : 3000,
	                       in_full() ? 10000 : 500, &kills);
	board->stop = true;
	for (int i = 0; i < CLIENTS; i++) {
		int status;
		assert_int_equal(waitpid(clients[i], &status, 0), clients[i]);
		assert_int_equal(status, 0);
	}
	size_t memory = served_memory(&served);
	printf(
		"# %d clients, %u killed: %u calls, %u conflicts, %u other failures; %zu KiB, then %zu "
		"KiB\n",
		CLIENTS, kills, board->calls, board->conflicts, board->other, warm / KILO, memory / KILO);
	check_files(dir, board, kills);
	assert_true(board->conflicts > 0);
	assert_int_equal(board->other, 0);
	assert_int_equal(board->unseen_accepted, 0);
	if (in_full())
		assert_true(memory <= warm + warm / 10);
	assert_true(served_stop(&served));
	munmap(board, sizeof *board);
}

/* ---- who wrote ---- */

static void a_session_knows_only_what_it_has_seen(void **state) {
	const struct dir *dir = *state;
	struct served served;
	struct agent one, two;
	dir_write(dir, "a.txt", "one\n");
	assert_true(served_start(&served, dir->path, NULL));
	assert_true(agent_open(&one, served.url, AGENT_LEGACY));
	assert_true(agent_open(&two, served.url, AGENT_LEGACY));
	assert_int_equal(agent_call(&one, "read_file", "{\"path\":\"a.txt\"}"), 0);
	assert_int_equal(agent_call(&two, "write_file", "{\"path\":\"a.txt\",\"content\":\"two\\n\"}"),
	                 STET_E_CONFLICT);
	assert_int_equal(agent_call(&two, "read_file", "{\"path\":\"a.txt\"}"), 0);
	assert_int_equal(agent_call(&two, "write_file", "{\"path\":\"a.txt\",\"content\":\"two\\n\"}"),
	                 0);
	assert_int_equal(agent_call(&one, "write_file", "{\"path\":\"a.txt\",\"content\":\"one\\n\"}"),
	                 STET_E_CONFLICT);
	/* The client that made it. */
	assert_non_null(strstr(agent_text(&one, "message"), "Session \"test #2\" wrote"));
	assert_string_equal(dir_read(dir, "a.txt"), "two\n");
	agent_close(&one);
	agent_close(&two);
	assert_true(served_stop(&served));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(races_through_mcp_lose_nothing),
		claim(many_agents_lose_nothing_and_memory_stays),
		claim(a_session_knows_only_what_it_has_seen),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
