#include "torture/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture/page.h"

/* The orders to a hostile process, and its replies. */
enum order { IDLE, PREPARE, READY, STRIKE, RAGE, CALM, STOP };

/* A process that takes longer than this is held up by a lease; longer than that, something is wrong. */
enum { HELD_UP_MS = 10, GIVE_UP_MS = 60000 };

/* The memory that both processes share. */
struct hostile_board {
	_Atomic int order;
	/* The record that it is ready for or works on, and the last that is written. */
	_Atomic unsigned record, done;
	/* How many went to a file that had been replaced. */
	_Atomic unsigned late;
	_Atomic int64_t delay_ns;
	/* When it began to write its last record, 0 if it has not begun yet; and when it ended. */
	_Atomic int64_t began_ns, ended_ns;
};

int64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void nap_ns(int64_t ns) {
	struct timespec time = {ns / 1000000000, ns % 1000000000};
	nanosleep(&time, NULL);
}

int64_t random_below(int64_t limit) {
	static _Thread_local unsigned short seed[3];
	static _Thread_local pid_t seeded;
	if (seeded != getpid()) {
		seeded = getpid();
		seed[0] = (unsigned short)seeded;
		seed[1] = (unsigned short)now_ns();
	}
	return limit > 0 ? nrand48(seed) % limit : 0;
}

/* ---- the kinds ---- */

bool hostile_is_patient;

static int open_or_die(const char *path, int flags) {
	int64_t until = now_ns() + (int64_t)1000000000;
	int fd;
	do
		fd = open(path, flags | O_CLOEXEC, 0644);
	while (fd < 0 && errno == ENOENT && hostile_is_patient && now_ns() < until);
	if (fd < 0) {
		perror(path);
		abort();
	}
	return fd;
}

static void put_record(int fd, unsigned record) {
	char text[PAGE_SLOT_LEN + 2];
	page_record_text(record, text);
	write_all(fd, st_str(text));
}

static void put_slot(int fd, unsigned record) {
	char text[PAGE_SLOT_LEN + 1];
	page_slot_text(record, text);
	if (pwrite(fd, text, PAGE_SLOT_LEN, 0) != PAGE_SLOT_LEN)
		abort();
}

static int open_victim(struct victim *victim, int flags) {
	struct stat st;
	int fd = open_or_die(victim->path, flags);
	victim->late = fstat(fd, &st) == 0 && st.st_nlink == 0;
	return fd;
}

static void append(struct victim *victim, unsigned record) {
	int fd = open_victim(victim, O_WRONLY | O_APPEND);
	put_record(fd, record);
	close(fd);
}

static void write_slot(struct victim *victim, unsigned record) {
	int fd = open_victim(victim, O_WRONLY);
	put_slot(fd, record);
	close(fd);
}

static void load_and_add(const char *path, unsigned record, struct st_buf *text) {
	char line[PAGE_SLOT_LEN + 2];
	page_record_text(record, line);
	int64_t until = now_ns() + (int64_t)1000000000;
	while (!file_load(path, text)) {
		if (!hostile_is_patient || now_ns() > until)
			abort();
	}
	st_buf_adds(text, line);
}

static void rename_over(struct victim *victim, unsigned record) {
	st_auto(st_buf) text = ST_BUF_INIT;
	char temp[512];
	snprintf(temp, sizeof temp, "%s~", victim->path);
	load_and_add(victim->path, record, &text);
	int fd = open_or_die(temp, O_WRONLY | O_CREAT | O_TRUNC);
	write_all(fd, st_buf_str(&text));
	close(fd);
	if (rename(temp, victim->path) < 0)
		abort();
}

static void truncate_and_write(struct victim *victim, unsigned record) {
	st_auto(st_buf) text = ST_BUF_INIT;
	load_and_add(victim->path, record, &text);
	int fd = open_or_die(victim->path, O_WRONLY | O_TRUNC);
	write_all(fd, st_buf_str(&text));
	close(fd);
}

static void look_up(struct victim *victim) {
	victim->looked_up = open_or_die(victim->path, O_PATH);
}

/* The file that had the path when it was looked up, whatever has it now. */
static void write_late(struct victim *victim, unsigned record) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", victim->looked_up);
	int fd = open_or_die(path, record % 2 ? O_WRONLY | O_APPEND : O_WRONLY);
	if (record % 2)
		put_record(fd, record);
	else
		put_slot(fd, record);
	close(fd);
	close(victim->looked_up);
	victim->looked_up = -1;
}

static void write_quietly(struct victim *victim, unsigned record) {
	struct stat st;
	int fd = open_victim(victim, O_WRONLY);
	if (fstat(fd, &st) < 0)
		abort();
	put_slot(fd, record);
	if (futimens(fd, (const struct timespec[]){st.st_atim, st.st_mtim}) < 0)
		abort();
	close(fd);
}

static void make_anew(struct victim *victim, unsigned record) {
	st_auto(st_buf) text = ST_BUF_INIT;
	char backup[512];
	snprintf(backup, sizeof backup, "%s~", victim->path);
	load_and_add(victim->path, record, &text);
	if (rename(victim->path, backup) < 0 && !hostile_is_patient)
		abort();
	int fd = open_or_die(victim->path, O_WRONLY | O_CREAT | O_TRUNC);
	write_all(fd, st_buf_str(&text));
	close(fd);
}

const struct hostile_kind hostile_kinds[HOSTILE_KINDS] = {
	[HOSTILE_APPEND] = {"append", NULL, append, .appends = true, .opens = true},
	[HOSTILE_IN_PLACE] = {"in place", NULL, write_slot, .opens = true},
	[HOSTILE_RENAME] = {"rename", NULL, rename_over, .rewrites = true, .appends = true},
	[HOSTILE_TRUNCATE] = {"truncate", NULL, truncate_and_write, .rewrites = true, .appends = true,
                          .tears = true, .opens = true},
	[HOSTILE_LATE] = {"late", look_up, write_late, .opens = true},
	[HOSTILE_QUIET] = {"quiet", NULL, write_quietly, .opens = true},
	[HOSTILE_ANEW] = {"anew", NULL, make_anew, .rewrites = true, .appends = true, .tears = true,
                      .opens = true},
};

/* ---- the process ---- */

/* A short wait for the other side: awake at first, since the races are about microseconds. */
static void pause_turn(int turn) {
	if (turn > 20000)
		nap_ns(50000);
}

/* Awake, since a nap is longer than many a commit. */
static void delay(int64_t ns) {
	int64_t until = now_ns() + ns;
	if (ns > 2000000)
		nap_ns(ns - 1000000);
	while (now_ns() < until)
		;
}

static void work(struct hostile_board *board, const struct hostile_kind *kind,
                 struct victim *victim) {
	board->began_ns = now_ns();
	victim->late = false;
	kind->strike(victim, board->record);
	board->late += victim->late;
	board->ended_ns = now_ns();
	board->done = board->record;
}

static void prepare(const struct hostile_kind *kind, struct victim *victim) {
	if (kind->prepare)
		kind->prepare(victim);
}

static void rage(struct hostile_board *board, const struct hostile_kind *kind,
                 struct victim *victim) {
	for (;;) {
		nap_ns(random_below(board->delay_ns));
		work(board, kind, victim);
		if (board->order != RAGE)
			return;
		board->record++;
		prepare(kind, victim);
	}
}

/* Orders are carried out; an order that came meanwhile stands. */
static void serve(struct hostile_board *board, const struct hostile_kind *kind, const char *path) {
	struct victim victim = {.path = path, .looked_up = -1};
	for (int turn = 0, order; (order = board->order) != STOP; turn++) {
		int next = IDLE;
		switch (order) {
		case PREPARE:
			prepare(kind, &victim);
			next = READY;
			break;
		case STRIKE:
			delay(board->delay_ns);
			work(board, kind, &victim);
			break;
		case RAGE:
			rage(board, kind, &victim);
			break;
		case CALM:
			break;
		default:
			pause_turn(turn);
			continue;
		}
		atomic_compare_exchange_strong(&board->order, &order, next);
		turn = 0;
	}
}

void hostile_start(struct hostile *hostile, const struct hostile_kind *kind, const char *path) {
	hostile->kind = kind;
	hostile->board = mmap(NULL, sizeof *hostile->board, PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hostile->board == MAP_FAILED)
		abort();
	hostile->pid = fork();
	if (hostile->pid < 0)
		abort();
	if (hostile->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	serve(hostile->board, kind, path);
	_exit(0);
}

/* ---- giving orders ---- */

/* Whether the process is gone; it stays to be waited for. Only its parent can tell. */
static bool is_dead(pid_t pid) {
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* False if it took longer, or the process died. */
static bool await(struct hostile *hostile, int order, int ms) {
	int64_t until = now_ns() + (int64_t)ms * 1000000;
	for (int turn = 0; hostile->board->order != order; turn++) {
		if (now_ns() >= until || (turn > 20000 && is_dead(hostile->pid)))
			return false;
		pause_turn(turn);
	}
	return true;
}

void hostile_ready(struct hostile *hostile, unsigned record) {
	struct hostile_board *board = hostile->board;
	board->record = record;
	board->done = record - 1;
	board->late = 0;
	board->began_ns = 0;
	board->order = PREPARE;
	if (!await(hostile, READY, GIVE_UP_MS))
		abort();
}

void hostile_strike(struct hostile *hostile, int64_t delay_ns) {
	hostile->board->delay_ns = delay_ns;
	hostile->board->order = STRIKE;
}

void hostile_rage(struct hostile *hostile, int64_t pause_ns) {
	hostile->board->delay_ns = pause_ns;
	hostile->board->order = RAGE;
}

unsigned hostile_calm(struct hostile *hostile) {
	hostile->board->order = CALM;
	if (!await(hostile, IDLE, GIVE_UP_MS))
		abort();
	return hostile->board->done;
}

bool hostile_wait(struct hostile *hostile, int ms) {
	return await(hostile, IDLE, ms);
}

bool hostile_strike_now(struct hostile *hostile, bool leased) {
	hostile_strike(hostile, 0);
	for (int turn = 0; hostile->board->began_ns == 0; turn++) {
		if (turn > 20000 && is_dead(hostile->pid))
			return false;
		pause_turn(turn);
	}
	return await(hostile, IDLE, leased || hostile->kind->opens ? HELD_UP_MS : GIVE_UP_MS);
}

int64_t hostile_began_ns(const struct hostile *hostile) {
	return hostile->board->began_ns;
}

int64_t hostile_ended_ns(const struct hostile *hostile) {
	return hostile->board->ended_ns;
}

unsigned hostile_late(const struct hostile *hostile) {
	return hostile->board->late;
}

bool hostile_stop(struct hostile *hostile) {
	int status;
	hostile->board->order = STOP;
	bool ended = waitpid(hostile->pid, &status, 0) == hostile->pid && status == 0;
	munmap(hostile->board, sizeof *hostile->board);
	return ended;
}
