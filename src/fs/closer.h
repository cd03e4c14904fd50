/**
 * What is left to do with files of a commit that nobody waits for.
 *
 * The last close of a removed file frees its blocks. Where the filesystem
 * discards them at once, this takes longer than the rest of a commit, so a
 * thread does it. The same thread starts to write new files to the disk whose
 * commit does not wait for that. There is none before the first file, and
 * without one, or with too many files at once, whoever hands over a file does
 * it himself after all.
 *
 * To wake a thread takes a while too. So for some time after a file the thread
 * looks for the next one by itself, and in a series of commits only the first
 * one wakes it.
 *
 * Safe to use from several threads.
 */
#ifndef STET_FS_CLOSER_H
#define STET_FS_CLOSER_H

#include <stddef.h>

#include "base/thread.h"

/** How many files may wait. */
enum { ST_CLOSER_MAX = 64 };

struct st_closer {
	/** Guards everything below. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct st_closing {
		int fd;
		/** It is to be written to the disk before. */
		bool new;
	} files[ST_CLOSER_MAX];
	size_t count;
	/** How many may wait here. */
	size_t most;
	/** One more is being closed. */
	bool busy;
	/** It has to be woken. */
	bool asleep;
	bool stop;
	struct st_worker worker;
};

/** Ready for files, of which no more than this (and ST_CLOSER_MAX) wait at a time. */
void st_closer_init(struct st_closer *closer, size_t most);

/** End the thread and close what is left. */
void st_closer_release(struct st_closer *closer);

/** Close a descriptor, now or soon. */
void st_closer_take(struct st_closer *closer, int fd);

/** As st_closer_take(), of a new file: before it is closed, writing it to the disk is started. */
void st_closer_take_new(struct st_closer *closer, int fd);

/** Wait until all of them are closed, but not for long: somebody needs their room. */
void st_closer_settle(struct st_closer *closer);

#endif
