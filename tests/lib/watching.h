/**
 * A watcher whose events are collected, and a comparison of what they add up
 * to with what is on the disk.
 *
 *     struct watching watching;
 *     watching_start(&watching, dir);
 *     dir_write(dir, "a.txt", "hello");
 *     watching_idle(&watching);
 *     assert_int_equal(watching_count(&watching, "add", "a.txt"), 1);
 *     watching_stop(&watching);
 */
#ifndef STET_TESTS_LIB_WATCHING_H
#define STET_TESTS_LIB_WATCHING_H

#include "base/buf.h"
#include "lib/test.h"
#include "stet/stet.h"

struct watching {
	struct stet_watcher *watcher;
	struct stet_error err;
	const struct dir *dir;
	/** Every event as "event path\n". */
	struct st_buf log;
	size_t count;
	/** Files as the events tell, one bucket list each; and events that made no sense. */
	struct known *known[4096];
	size_t nonsense;
	/** Only files in use are watched, so that the events do not add up. */
	bool partial;
};

/** Make a watcher with this setting, to be started by watching_begin(). */
void watching_new(struct watching *watching, const struct dir *dir);
void watching_set(struct watching *watching, enum stet_watch_option option, int64_t value);

/** Start the watcher; files that exist already count as known. */
void watching_begin(struct watching *watching);

/** Both. */
void watching_start(struct watching *watching, const struct dir *dir);
void watching_stop(struct watching *watching);

/** Dispatch for so long, as an event loop would. */
void watching_run(struct watching *watching, int ms);

/**
 * Dispatch until everything that happened so far has been heard, looked at and
 * told, however long that takes. Not for what is polled.
 */
void watching_idle(struct watching *watching);

/** Dispatch until so many events were reported. */
void watching_await(struct watching *watching, size_t count);

/** How often an event was reported; NULL for any event or path. */
size_t watching_count(const struct watching *watching, const char *event, const char *path);

/** Forget the events so far. */
void watching_clear(struct watching *watching);

/**
 * Fail unless the files that the events tell of, and those of the watcher's
 * own full list, are exactly those that a walk finds, and no event made
 * nonsense (adding what was there, removing what was not).
 */
void watching_agrees(struct watching *watching);

#endif
