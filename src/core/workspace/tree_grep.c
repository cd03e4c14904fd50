#include "core/workspace/tree_grep.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/thread.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

/* Read files in pieces of this size, and keep no larger buffer for the next file. */
#define PIECE ((size_t)128 << 10)

/* Remember where the lines of larger files are, but of so many lines at most. */
#define LARGE ((size_t)1 << 20)
#define HITS_MAX ((size_t)1 << 18)

enum {
	/* The most files of a batch, and how many batches may wait. */
	BATCH = 32,
	QUEUE = 8,
	/* How often the caller, waiting for the other thread, looks whether the client still waits. */
	LOOK_MS = 20,
	/* What a file costs besides its bytes, in the measure of st_cancel_check(). */
	FILE_WORK = 16 << 10,
};

/* Files of one directory. */
struct batch {
	int dir;
	size_t count;
	/* Their paths below the root, each with a NUL, and the length of the directory's part in them. */
	struct st_buf paths;
	size_t prefix;
};

#define BATCH_INIT \
	{ .dir = -1, .paths = ST_BUF_INIT }

/* One of the threads. */
struct searcher {
	struct st_tree_grep_run *run;
	struct st_grep grep;
	struct st_buf bytes;
	struct batch batch;
	size_t states[ST_GREP_STATES];
	/* What happens to the current file. */
	enum st_grep_state state;
	/* Where its text begins in it, and how many of its lines are before `counted_to` in the text. */
	size_t text_at;
	size_t counted, counted_to;
};

/* A search, shared by its threads. */
struct st_tree_grep_run {
	struct stet_workspace *ws;
	struct st_tree_grep *search;
	int64_t deadline_ms;
	pthread_t helper;
	bool has_helper;
	/* Everybody stops. */
	atomic_bool stop;
	/* The caller's, and the files that it adds. */
	struct searcher own, other;
	struct batch filling;
	/* Guards what follows, and the files found. */
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct batch queue[QUEUE];
	size_t first, waiting;
	/* No more files come; the helper has ended. */
	bool closed, has_ended;
	/* How many hits are remembered. */
	size_t hit_count;
	struct stet_error failure;
};

/* ---- one file ---- */

static bool is_utf16(struct st_str bytes) {
	return st_str_starts(bytes, ST_STR("\xff\xfe")) || st_str_starts(bytes, ST_STR("\xfe\xff"));
}

static bool has_nul(struct st_str bytes) {
	return bytes.len > 0 && memchr(bytes.ptr, '\0', bytes.len);
}

enum st_grep_state st_grep_kind(struct st_str bytes) {
	return is_utf16(bytes) ? ST_GREP_UTF16 : has_nul(bytes) ? ST_GREP_BINARY : ST_GREP_SEARCHED;
}

/* Count lines from one hit to the next. @return The number of the line that begins at an offset. */
static size_t number_of(struct searcher *searcher, struct st_str text, size_t start) {
	struct st_str rest = st_str_slice(text, searcher->counted_to, text.len);
	searcher->counted += st_line_ends(rest, start - searcher->counted_to);
	searcher->counted_to = start;
	return searcher->counted + 1;
}

/* Whether the search still remembers lines of this file. */
static bool remembers(const struct searcher *searcher, const struct st_grep_file *file) {
	return file->hits && file->hits->count < searcher->run->search->hits;
}

/* Remember a line that matches, or, without the memory for it, none of this file. */
static void remember(struct searcher *searcher, struct st_str text, size_t start, size_t match,
                     struct st_grep_file *file) {
	struct st_grep_hits *hits = file->hits;
	if (!st_array_room(&hits->list, hits->count, sizeof *hits->list)) {
		st_grep_hits_free(hits);
		file->hits = NULL;
		return;
	}
	hits->list[hits->count++] = (struct st_grep_hit){number_of(searcher, text, start),
	                                                 searcher->text_at + start, match - start};
}

/* Count the lines of a text that match. @return 0, or the reason why the search ended. */
static int count_lines(struct searcher *searcher, struct st_str text, struct st_grep_file *file) {
	const struct st_tree_grep *search = searcher->run->search;
	struct st_span lines, match;
	int code = 0;
	while (!(search->first_only && file->lines > 0) &&
	       (code = st_grep_next(&searcher->grep, &lines, &match)) > 0) {
		file->lines += search->flags & ST_GREP_SPAN
		                   ? st_line_count(st_str_slice(text, lines.start, lines.end))
		                   : 1;
		if (remembers(searcher, file))
			remember(searcher, text, lines.start, match.start, file);
	}
	return code < 0 ? code : 0;
}

/* How much of what was read to search: up to the last line end, which is behind `old`, and at the end of the file all. */
static size_t searchable(const struct searcher *searcher, size_t old, bool at_end) {
	const struct st_buf *bytes = &searcher->bytes;
	if (at_end)
		return bytes->len;
	if (searcher->run->search->flags & ST_GREP_SPAN)
		return 0;
	const char *last = memrchr(bytes->ptr + old, '\n', bytes->len - old);
	return last ? (size_t)(last - bytes->ptr) + 1 : 0;
}

/* A file that is read piece by piece. */
struct reading {
	int fd;
	size_t size;
	size_t done;
	bool at_end;
	/* Part of it was searched. */
	bool begun;
};

/* Read the next piece behind what is in the buffer, and look whether it is text. */
static enum st_grep_state read_piece(struct searcher *searcher, struct reading *reading) {
	struct st_buf *bytes = &searcher->bytes;
	size_t max = searcher->run->ws->max_file, old = bytes->len;
	/* A text that must be searched as a whole needs room for the file, others for a piece. */
	bool whole = searcher->run->search->flags & ST_GREP_SPAN;
	size_t room = whole && reading->size > PIECE && old == 0 ? reading->size + 1 : PIECE;
	if (!st_buf_reserve(bytes, room))
		return ST_GREP_UNREADABLE;
	ssize_t len = st_retry(read(reading->fd, bytes->ptr + old, room));
	if (len < 0)
		return ST_GREP_UNREADABLE;
	bytes->len += (size_t)len;
	reading->done += (size_t)len;
	/* A short read of a file of this size is its end. */
	reading->at_end = len == 0 || ((size_t)len < room && reading->done == reading->size);
	if (reading->done > max)
		return ST_GREP_TOO_BIG;
	struct st_str piece = st_str_slice(st_buf_str(bytes), old, bytes->len);
	return reading->done == (size_t)len ? st_grep_kind(piece)
	       : has_nul(piece)             ? ST_GREP_BINARY
	                                    : ST_GREP_SEARCHED;
}

/* Search the file piece by piece. @return 0, or the reason why the search ended. */
static int search_pieces(struct searcher *searcher, struct reading *reading, unsigned limit_ms,
                         struct st_grep_file *file) {
	struct st_buf *bytes = &searcher->bytes;
	int code = 0;
	while (code == 0 && !reading->at_end) {
		size_t old = bytes->len;
		searcher->state = read_piece(searcher, reading);
		if (searcher->state != ST_GREP_SEARCHED)
			return 0;
		size_t len = searchable(searcher, old, reading->at_end);
		struct st_str text = st_strn(bytes->ptr, len);
		if (len == 0)
			continue;
		if (!reading->begun)
			st_grep_begin(&searcher->grep, text, limit_ms, &searcher->run->stop);
		else
			st_grep_continue(&searcher->grep, text);
		reading->begun = true;
		searcher->counted_to = 0;
		code = count_lines(searcher, text, file);
		if (remembers(searcher, file))
			number_of(searcher, text, len);
		searcher->text_at += len;
		memmove(bytes->ptr, bytes->ptr + len, bytes->len - len);
		bytes->len -= len;
	}
	return code;
}

static int open_file(int dir, const char *name, struct stat *st) {
	int fd = st_retry(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Prepare to remember where lines of a large file are, if the page could show them without the whole file. */
static struct st_grep_hits *make_hits(struct st_tree_grep_run *run, int fd, const struct stat *st) {
	const struct st_tree_grep *search = run->search;
	if (search->hits == 0 || search->flags & ST_GREP_SPAN || (size_t)st->st_size < LARGE)
		return NULL;
	pthread_mutex_lock(&run->lock);
	bool has_room = run->hit_count < HITS_MAX;
	pthread_mutex_unlock(&run->lock);
	struct st_grep_hits hits = {.stamp = st_stamp_take(fd, st)};
	struct st_grep_hits *made = has_room && !hits.stamp.racy ? malloc(sizeof *made) : NULL;
	if (made)
		*made = hits;
	return made;
}

/* Search a file. @return 0, or the reason of a failure, which is no limit. */
static int search_open(struct searcher *searcher, const char *name, unsigned limit_ms,
                       struct st_grep_file *file) {
	struct stet_workspace *ws = searcher->run->ws;
	struct stat st;
	searcher->state = ST_GREP_NOT_ALLOWED;
	if (st_workspace_check_type(ws, file->path, NULL) < 0)
		return 0;
	searcher->state = ST_GREP_UNREADABLE;
	st_autofd fd = open_file(searcher->batch.dir, name, &st);
	if (fd < 0)
		return 0;
	searcher->state = ST_GREP_TOO_BIG;
	if ((uint64_t)st.st_size > ws->max_file)
		return 0;
	struct reading reading = {.fd = fd, .size = (size_t)st.st_size};
	st_buf_clear(&searcher->bytes);
	searcher->text_at = searcher->counted = 0;
	file->hits = make_hits(searcher->run, fd, &st);
	int code = search_pieces(searcher, &reading, limit_ms, file);
	file->why = code < 0 ? st_matcher_limit(code) : NULL;
	if (file->why)
		searcher->state = ST_GREP_STOPPED;
	/* One that shows to be binary further on has no lines. */
	else if (searcher->state != ST_GREP_SEARCHED)
		file->lines = 0;
	return file->why ? 0 : code;
}

/* Keep a file in which something was found. */
static int keep_file(struct st_tree_grep_run *run, struct st_grep_file *file,
                     struct stet_error *err) {
	pthread_mutex_lock(&run->lock);
	run->hit_count += file->hits ? file->hits->count : 0;
	int code = st_grep_found_add(&run->search->found, file, err);
	pthread_mutex_unlock(&run->lock);
	return code;
}

/* Search a file, as far as time is left, and keep it if something is found in it. */
static int search_path(struct searcher *searcher, struct st_grep_file *file,
                       struct stet_error *err) {
	struct st_tree_grep_run *run = searcher->run;
	int64_t left = run->deadline_ms - st_now_ms();
	unsigned limit = run->search->file_ms ? run->search->file_ms : ST_GREP_FILE_MS;
	int code = 0;
	searcher->state = ST_GREP_WAITING;
	if (left > 0)
		code = search_open(searcher, file->path + searcher->batch.prefix,
		                   left < (int64_t)limit ? (unsigned)left : limit, file);
	searcher->states[searcher->state]++;
	if (code < 0)
		return st_matcher_fail(code, err);
	if (searcher->bytes.failed)
		return st_fail_nomem(err);
	if (searcher->bytes.cap > 2 * PIECE)
		st_buf_release(&searcher->bytes);
	if (st_cancel_check(searcher->bytes.len + FILE_WORK, err) < 0)
		return STET_E_CANCELLED;
	return file->lines > 0 || file->why ? keep_file(run, file, err) : 0;
}

static int search_file(struct searcher *searcher, char *path, struct stet_error *err) {
	struct st_grep_file file = {.path = path};
	int code = search_path(searcher, &file, err);
	st_grep_hits_free(file.hits);
	return code;
}

/* ---- batches ---- */

static void batch_release(struct batch *batch) {
	st_close_at(&batch->dir);
	st_buf_release(&batch->paths);
}

static void batch_swap(struct batch *a, struct batch *b) {
	struct batch old = *a;
	*a = *b;
	*b = old;
}

/* The first failure stops both threads. */
static int fail_run(struct st_tree_grep_run *run, int code, const struct stet_error *err) {
	atomic_store(&run->stop, true);
	pthread_mutex_lock(&run->lock);
	if (run->failure.code == 0) {
		run->failure = *err;
		run->failure.code = code;
	}
	pthread_mutex_unlock(&run->lock);
	return code;
}

/* Search the files of the searcher's batch, which is empty then. */
static void search_batch(struct searcher *searcher) {
	struct batch *batch = &searcher->batch;
	struct stet_error err = {0};
	int code = 0;
	char *path = batch->paths.ptr;
	if (!searcher->grep.matcher)
		code = st_grep_init(&searcher->grep, searcher->run->search->pattern,
		                    searcher->run->search->flags, &err);
	for (size_t i = 0; code == 0 && i < batch->count; i++, path += strlen(path) + 1) {
		if (atomic_load_explicit(&searcher->run->stop, memory_order_relaxed))
			break;
		code = search_file(searcher, path, &err);
	}
	st_close_at(&batch->dir);
	st_buf_clear(&batch->paths);
	batch->count = 0;
	if (code < 0)
		fail_run(searcher->run, code, &err);
}

/* Take the next batch from the queue. With the lock held. @return Whether there was one. */
static bool take_batch(struct searcher *searcher) {
	struct st_tree_grep_run *run = searcher->run;
	if (run->waiting == 0)
		return false;
	batch_swap(&searcher->batch, &run->queue[run->first]);
	run->first = (run->first + 1) % QUEUE;
	run->waiting--;
	return true;
}

static void *helper_thread(void *data) {
	struct st_tree_grep_run *run = data;
	pthread_mutex_lock(&run->lock);
	for (;;) {
		while (run->waiting == 0 && !run->closed)
			pthread_cond_wait(&run->change, &run->lock);
		if (!take_batch(&run->other))
			break;
		pthread_mutex_unlock(&run->lock);
		search_batch(&run->other);
		pthread_mutex_lock(&run->lock);
	}
	run->has_ended = true;
	pthread_cond_signal(&run->change);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

/* Put a batch into the queue. @return Whether there was room. */
static bool put_batch(struct st_tree_grep_run *run, struct batch *batch) {
	if (!run->has_helper)
		run->has_helper = st_thread_start(&run->helper, helper_thread, run);
	if (!run->has_helper)
		return false;
	pthread_mutex_lock(&run->lock);
	bool has_room = run->waiting < QUEUE;
	if (has_room) {
		batch_swap(batch, &run->queue[(run->first + run->waiting++) % QUEUE]);
		pthread_cond_signal(&run->change);
	}
	pthread_mutex_unlock(&run->lock);
	return has_room;
}

/* Hand the files added so far to the helper; if that is behind, search them here. */
static void flush_batch(struct st_tree_grep_run *run, bool is_last) {
	if (run->filling.count == 0 || (!is_last && put_batch(run, &run->filling)))
		return;
	batch_swap(&run->own.batch, &run->filling);
	search_batch(&run->own);
}

static bool is_same_dir(const struct batch *batch, struct st_str path, size_t prefix) {
	return batch->prefix == prefix && memcmp(batch->paths.ptr, path.ptr, prefix) == 0;
}

int st_tree_grep_add(struct st_tree_grep *search, int dir, struct st_str path) {
	struct st_tree_grep_run *run = search->run;
	struct batch *batch = &run->filling;
	struct stet_error err = {0};
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t prefix = slash ? (size_t)(slash - path.ptr) + 1 : 0;
	if (batch->count == BATCH || (batch->count > 0 && !is_same_dir(batch, path, prefix)))
		flush_batch(run, false);
	if (batch->count == 0) {
		batch->prefix = prefix;
		batch->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
		if (batch->dir < 0)
			return fail_run(run, st_fail_errno(&err, errno, "The search ended"), &err);
	}
	st_buf_add(&batch->paths, path);
	st_buf_addc(&batch->paths, '\0');
	batch->count++;
	if (batch->paths.failed)
		return fail_run(run, st_fail_nomem(&err), &err);
	return atomic_load_explicit(&run->stop, memory_order_relaxed) ? STET_E_CANCELLED : 0;
}

/* ---- beginning and ending ---- */

int st_tree_grep_begin(struct st_tree_grep *search, struct stet_workspace *ws,
                       struct stet_error *err) {
	struct st_tree_grep_run *run = calloc(1, sizeof *run);
	if (!run)
		return st_fail_nomem(err);
	*run = (struct st_tree_grep_run){
		.ws = ws,
		.search = search,
		.deadline_ms = st_now_ms() + (search->tree_ms ? search->tree_ms : ST_GREP_TREE_MS),
		.own = {.run = run, .bytes = ST_BUF_INIT, .batch = BATCH_INIT},
		.other = {.run = run, .bytes = ST_BUF_INIT, .batch = BATCH_INIT},
		.filling = BATCH_INIT,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	for (size_t i = 0; i < QUEUE; i++)
		run->queue[i] = (struct batch)BATCH_INIT;
	st_cond_init(&run->change);
	search->run = run;
	return 0;
}

/* Wait for the helper's last file, and stop it if the client does not wait any more. */
static void await_helper(struct st_tree_grep_run *run) {
	struct stet_error err = {0};
	pthread_mutex_lock(&run->lock);
	run->closed = true;
	pthread_cond_signal(&run->change);
	while (!run->has_ended) {
		struct timespec until = st_cond_deadline(LOOK_MS);
		pthread_cond_timedwait(&run->change, &run->lock, &until);
		pthread_mutex_unlock(&run->lock);
		if (st_cancel_check_now(&err) < 0)
			fail_run(run, STET_E_CANCELLED, &err);
		pthread_mutex_lock(&run->lock);
	}
	pthread_mutex_unlock(&run->lock);
	pthread_join(run->helper, NULL);
}

/* Search what is left. */
static void drain(struct st_tree_grep_run *run) {
	flush_batch(run, true);
	for (bool more = run->has_helper; more;) {
		pthread_mutex_lock(&run->lock);
		more = take_batch(&run->own);
		pthread_mutex_unlock(&run->lock);
		if (more)
			search_batch(&run->own);
	}
	if (run->has_helper)
		await_helper(run);
}

static void searcher_release(struct searcher *searcher) {
	st_grep_release(&searcher->grep);
	st_buf_release(&searcher->bytes);
	batch_release(&searcher->batch);
}

static void run_free(struct st_tree_grep_run *run) {
	searcher_release(&run->own);
	searcher_release(&run->other);
	batch_release(&run->filling);
	for (size_t i = 0; i < QUEUE; i++)
		batch_release(&run->queue[i]);
	pthread_cond_destroy(&run->change);
	pthread_mutex_destroy(&run->lock);
	free(run);
}

int st_tree_grep_end(struct st_tree_grep *search, struct stet_error *err) {
	struct st_tree_grep_run *run = search->run;
	drain(run);
	for (size_t i = 0; i < ST_GREP_STATES; i++)
		search->states[i] = run->own.states[i] + run->other.states[i];
	struct stet_error failure = run->failure;
	search->run = NULL;
	run_free(run);
	st_grep_found_sort(&search->found);
	if (failure.code < 0 && err)
		*err = failure;
	return failure.code;
}

void st_tree_grep_release(struct st_tree_grep *search) {
	if (search->run) {
		atomic_store(&search->run->stop, true);
		(void)!st_tree_grep_end(search, NULL);
	}
	st_grep_found_release(&search->found);
}
