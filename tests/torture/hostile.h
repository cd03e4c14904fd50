/**
 * Processes that write to a page behind stet's back.
 *
 * A hostile process is forked before the fight and then told, record by
 * record, to get ready and to strike:
 *
 *     struct hostile hostile;
 *     hostile_start(&hostile, &hostile_kinds[HOSTILE_APPEND], path);
 *     hostile_ready(&hostile, 1);
 *     hostile_strike(&hostile, delay_ns);
 *     ... what stet does meanwhile ...
 *     assert_true(hostile_wait(&hostile, 5000));
 *     assert_true(hostile_stop(&hostile));
 *
 * When hostile_wait() is true, the record has been written completely, and
 * losing it from then on is somebody's fault.
 */
#ifndef STET_TESTS_TORTURE_HOSTILE_H
#define STET_TESTS_TORTURE_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** The file that a hostile process works on. */
struct victim {
	const char *path;
	/** The path, looked up when it got ready; -1 if its kind does not. */
	int looked_up;
	/** The file that it opened had been replaced and removed: it was looked up before. */
	bool late;
};

struct hostile_kind {
	const char *name;
	/** Its preparation, some time before it writes; may be NULL. */
	void (*prepare)(struct victim *victim);
	/** Write a record. */
	void (*strike)(struct victim *victim, unsigned record);
	/** It writes back all that it had read, and so undoes what came in between by its own fault. */
	bool rewrites;
	/** Its records stay in the file; a later one does not overwrite an earlier one. */
	bool appends;
	/** A reader may find its file half written. */
	bool tears;
	/** It opens the file to write, which a read lease holds up. */
	bool opens;
};

enum {
	HOSTILE_APPEND,
	HOSTILE_IN_PLACE,
	HOSTILE_RENAME,
	HOSTILE_TRUNCATE,
	HOSTILE_LATE,
	/** Writes in place and puts the times back, as a program that copies them does. */
	HOSTILE_QUIET,
	/** Moves the file aside and makes it anew, as an editor that keeps a backup does. */
	HOSTILE_ANEW,
	HOSTILE_KINDS,
};

extern const struct hostile_kind hostile_kinds[HOSTILE_KINDS];

/**
 * A file that is not there is waited for, by processes that are started from
 * now on: a filesystem in user space that replaces a file which is open takes
 * its name away for a moment, below the mount.
 */
extern bool hostile_is_patient;

struct hostile {
	const struct hostile_kind *kind;
	pid_t pid;
	struct hostile_board *board;
};

/** Fork it. The caller must not yet hold what a child should not inherit. */
void hostile_start(struct hostile *hostile, const struct hostile_kind *kind, const char *path);

/** Have it get ready for a record, and wait until it is. */
void hostile_ready(struct hostile *hostile, unsigned record);

/** Have it write the record, after a delay; returns at once. */
void hostile_strike(struct hostile *hostile, int64_t delay_ns);

/** Have it write one record after another from the one it is ready for, with random pauses up to this. */
void hostile_rage(struct hostile *hostile, int64_t pause_ns);

/** End the rage. Returns the last record that was written. */
unsigned hostile_calm(struct hostile *hostile);

/** Whether the record is written, or is within so many milliseconds. */
bool hostile_wait(struct hostile *hostile, int ms);

/**
 * Have it write the record at once, and wait until it has.
 *
 * @leased  Whether stet may hold a write lease, which holds up readers as well.
 * @return  False if a lease holds it up.
 */
bool hostile_strike_now(struct hostile *hostile, bool leased);

/** How many records, since it got ready, it wrote to a file that had been replaced before it was open. */
unsigned hostile_late(const struct hostile *hostile);

/** When it began and ended to work on its last record. */
int64_t hostile_began_ns(const struct hostile *hostile);
int64_t hostile_ended_ns(const struct hostile *hostile);

/** Let it finish what it does and end. False if it had failed. */
bool hostile_stop(struct hostile *hostile);

/** Nanoseconds of the monotonic clock; a nap; a random number below the limit. */
int64_t now_ns(void);
void nap_ns(int64_t ns);
int64_t random_below(int64_t limit);

#endif
