/**
 * A disk with a memory: every write that it was told, in order, and every
 * flush. From that, any state can be made that a crash of the machine may
 * leave: what was written before a flush is there, and of what came after it,
 * whatever chance picks.
 *
 *     struct disk disk;
 *     if (!disk_open(&disk, "image"))          the image may be mounted now
 *             skip_because("...");
 *     ...
 *     size_t moment = disk_moment(&disk);
 *     ...
 *     disk_close(&disk);
 *     disk_crash(&disk, moment, &gen, "crashed");
 *     disk_release(&disk);
 *
 * A write that was told counts as arrived when it is noted, and is kept or lost
 * in blocks of 4096 bytes; so a program that does not wait for a write to arrive is not
 * caught by that alone.
 *
 * The disk is a file of a FUSE filesystem that a thread of this process
 * serves; a loop device makes a disk of it. That takes root.
 */
#ifndef STET_TESTS_TORTURE_DISK_H
#define STET_TESTS_TORTURE_DISK_H

#include <pthread.h>

#include "base/buf.h"
#include "lib/gen.h"

/** A write or a flush that reached the disk. */
struct disk_event {
	/** NULL for a flush. */
	char *bytes;
	size_t at, len;
};

struct disk {
	char path[300];
	/** Once the thread runs, only the thread uses it. */
	int fd;
	pthread_t thread;
	pthread_barrier_t begun;
	/** The disk's contents at the beginning, and now. */
	struct st_buf first, now;
	/** Guards the events while the thread runs. */
	pthread_mutex_t lock;
	struct disk_event *events;
	size_t count, cap;
};

/** Take the place of a file, with what it holds; false if that is not possible here. */
bool disk_open(struct disk *disk, const char *path);

/** How many events there were. */
size_t disk_moment(struct disk *disk);

/** Give the file's place back: it is as it was before. Nothing may be mounted from it. */
void disk_close(struct disk *disk);

/** Write to a file what a crash at some moment may have left. */
void disk_crash(const struct disk *disk, size_t moment, struct gen *gen, const char *path);

void disk_release(struct disk *disk);

#endif
