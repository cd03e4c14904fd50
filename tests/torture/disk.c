#include "torture/disk.h"

#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "lib/test.h"
#include "torture/page.h"

/* The largest request, and the block that a disk writes whole or not at all. */
enum { REQUEST_MAX = (128 << 10) + 4096, BLOCK = 4096, OWN_FD = 500 };

/* ---- the record ---- */

static void note(struct disk *disk, size_t at, const char *bytes, size_t len) {
	char *copy = bytes ? malloc(len) : NULL;
	pthread_mutex_lock(&disk->lock);
	if (disk->count == disk->cap) {
		disk->cap = disk->cap ? 2 * disk->cap : 1024;
		disk->events = realloc(disk->events, disk->cap * sizeof *disk->events);
	}
	if (!disk->events || (bytes && !copy))
		abort();
	if (copy)
		memcpy(copy, bytes, len);
	disk->events[disk->count++] = (struct disk_event){copy, at, len};
	pthread_mutex_unlock(&disk->lock);
}

size_t disk_moment(struct disk *disk) {
	pthread_mutex_lock(&disk->lock);
	size_t count = disk->count;
	pthread_mutex_unlock(&disk->lock);
	return count;
}

/* ---- the filesystem: its root is the file ---- */

static void answer(const struct disk *disk, const struct fuse_in_header *in, int error,
                   const void *bytes, size_t len) {
	char reply[sizeof(struct fuse_out_header) + REQUEST_MAX];
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof out + len), .error = -error, .unique = in->unique};
	memcpy(reply, &out, sizeof out);
	if (len > 0)
		memcpy(reply + sizeof out, bytes, len);
	(void)!write(disk->fd, reply, out.len);
}

static void answer_init(const struct disk *disk, const struct fuse_in_header *in) {
	const struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 23,
		.flags = FUSE_BIG_WRITES,
		.max_write = REQUEST_MAX - 4096,
	};
	answer(disk, in, 0, &out, sizeof out);
}

static void answer_attributes(const struct disk *disk, const struct fuse_in_header *in) {
	const struct fuse_attr_out out = {
		.attr_valid = 3600,
		.attr = {.ino = 1,
	             .size = disk->now.len,
	             .blocks = disk->now.len / 512,
	             .mode = S_IFREG | 0600,
	             .nlink = 1,
	             .blksize = BLOCK},
	};
	answer(disk, in, 0, &out, sizeof out);
}

static void answer_read(const struct disk *disk, const struct fuse_in_header *in,
                        const struct fuse_read_in *read) {
	struct st_str bytes = st_buf_str(&disk->now);
	size_t end = read->offset + read->size < bytes.len ? read->offset + read->size : bytes.len;
	size_t start = read->offset < end ? read->offset : end;
	answer(disk, in, 0, bytes.ptr + start, end - start);
}

static void answer_write(struct disk *disk, const struct fuse_in_header *in,
                         const struct fuse_write_in *put) {
	const struct fuse_write_out out = {.size = put->size};
	if (put->offset + put->size > disk->now.len) {
		answer(disk, in, ENOSPC, NULL, 0);
		return;
	}
	memcpy(disk->now.ptr + put->offset, put + 1, put->size);
	note(disk, put->offset, (const char *)(put + 1), put->size);
	answer(disk, in, 0, &out, sizeof out);
}

static void serve(struct disk *disk, const struct fuse_in_header *in) {
	const void *body = in + 1;
	switch (in->opcode) {
	case FUSE_INIT:
		answer_init(disk, in);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer_attributes(disk, in);
		break;
	case FUSE_OPEN:
		answer(disk, in, 0, &(struct fuse_open_out){0}, sizeof(struct fuse_open_out));
		break;
	case FUSE_READ:
		answer_read(disk, in, body);
		break;
	case FUSE_WRITE:
		answer_write(disk, in, body);
		break;
	case FUSE_FSYNC:
		note(disk, 0, NULL, 0);
		answer(disk, in, 0, NULL, 0);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(disk, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(disk, in, ENOSYS, NULL, 0);
	}
}

/*
 * Until it is unmounted. The descriptor is the thread's own: if the process is
 * killed while another thread waits for the disk, the kernel sees that nobody
 * will answer any more, and lets it go.
 */
static void *run(void *data) {
	struct disk *disk = data;
	/* A number that is free in the rest of the process: what watches threads knows only one table. */
	int fd = unshare(CLONE_FILES) < 0 ? -1 : fcntl(disk->fd, F_DUPFD_CLOEXEC, OWN_FD);
	if (fd < 0)
		abort();
	close(disk->fd);
	disk->fd = fd;
	/* Without memory it must not wait for the disk, where that can be said. */
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	pthread_barrier_wait(&disk->begun);
	char *request = aligned_alloc(16, REQUEST_MAX);
	ssize_t got = 1;
	while (request && (got > 0 || errno == EINTR || errno == ENOENT)) {
		got = read(disk->fd, request, REQUEST_MAX);
		if (got > 0)
			serve(disk, (const struct fuse_in_header *)request);
	}
	free(request);
	close(disk->fd);
	return NULL;
}

/* ---- life ---- */

bool disk_open(struct disk *disk, const char *path) {
	*disk = (struct disk){
		.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), .first = ST_BUF_INIT, .now = ST_BUF_INIT};
	snprintf(disk->path, sizeof disk->path, "%s", path);
	pthread_mutex_init(&disk->lock, NULL);
	pthread_barrier_init(&disk->begun, NULL, 2);
	if (disk->fd < 0)
		return false;
	if (!file_load(path, &disk->first)) {
		close(disk->fd);
		return false;
	}
	st_buf_add(&disk->now, st_buf_str(&disk->first));
	char options[100];
	snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=0,group_id=0", disk->fd);
	int fd = disk->fd;
	bool mounted = mount("disk", path, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
	if (!mounted || pthread_create(&disk->thread, NULL, run, disk) != 0) {
		if (mounted)
			umount2(path, MNT_DETACH);
		close(fd);
		return false;
	}
	pthread_barrier_wait(&disk->begun);
	close(fd);
	return true;
}

/* The loop device lets go of the file some time after it was unmounted. */
void disk_close(struct disk *disk) {
	int failed = -1;
	for (int i = 0; i < 1000 && failed; i++) {
		failed = umount2(disk->path, 0);
		if (failed)
			sleep_ms(10);
	}
	assert_int_equal(failed, 0);
	pthread_join(disk->thread, NULL);
}

void disk_release(struct disk *disk) {
	for (size_t i = 0; i < disk->count; i++)
		free(disk->events[i].bytes);
	free(disk->events);
	st_buf_release(&disk->first);
	st_buf_release(&disk->now);
	pthread_barrier_destroy(&disk->begun);
	pthread_mutex_destroy(&disk->lock);
}

/* ---- the crash ---- */

/* Write the blocks of an event, except one in `lost`; 0 loses none. */
static void put_blocks(struct st_buf *image, const struct disk_event *event, struct gen *gen,
                       size_t lost) {
	for (size_t at = 0; at < event->len; at += BLOCK) {
		size_t len = event->len - at < BLOCK ? event->len - at : BLOCK;
		if (lost == 0 || !gen_one_in(gen, lost))
			memcpy(image->ptr + event->at + at, event->bytes + at, len);
	}
}

void disk_crash(const struct disk *disk, size_t moment, struct gen *gen, const char *path) {
	st_auto(st_buf) image = ST_BUF_INIT;
	size_t flushed = 0;
	for (size_t i = 0; i < moment; i++) {
		if (!disk->events[i].bytes)
			flushed = i;
	}
	st_buf_add(&image, st_buf_str(&disk->first));
	/* Of the unflushed blocks the crash loses all, many, few or none. */
	static const size_t chances[] = {1, 2, 8, 0};
	size_t lost = chances[gen_below(gen, 4)];
	for (size_t i = 0; i < moment; i++) {
		const struct disk_event *event = &disk->events[i];
		if (event->bytes)
			put_blocks(&image, event, gen, i < flushed ? 0 : lost);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	write_all(fd, st_buf_str(&image));
	close(fd);
}
