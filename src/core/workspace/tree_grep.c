#include "core/workspace/tree_grep.h"

#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/thread.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

/* A buffer that grew larger than this for one file is not kept for the next. */
#define REUSE_MAX ((size_t)1 << 20)

/* How often the caller, waiting for the other thread, looks whether the client still waits. */
enum { LOOK_MS = 20 };

/* What a file costs besides its bytes, in the measure of st_cancel_check(). */
enum { FILE_WORK = 16 << 10 };

/* One search, shared by its threads. */
struct search {
	struct stet_workspace *ws;
	struct st_tree_grep *how;
	int64_t deadline_ms;
	/* The next file to take. */
	atomic_size_t next;
	/* Everybody stops. */
	atomic_bool stop;
	atomic_bool timed_out;
	/* Guards what follows. */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_ended;
	struct stet_error failure;
};

/* One of its threads. */
struct searcher {
	struct search *search;
	struct st_grep grep;
	struct st_buf bytes;
	struct stet_error err;
};

static void searcher_release(struct searcher *searcher) {
	st_grep_release(&searcher->grep);
	st_buf_release(&searcher->bytes);
}

enum st_grep_state st_grep_kind(struct st_str bytes) {
	if (st_str_starts(bytes, ST_STR("\xff\xfe")) || st_str_starts(bytes, ST_STR("\xfe\xff")))
		return ST_GREP_UTF16;
	return bytes.len > 0 && memchr(bytes.ptr, '\0', bytes.len) ? ST_GREP_BINARY : ST_GREP_SEARCHED;
}

/* Where the kernel cannot open a path at once, the root resolves it name by name. */
static int open_slowly(const struct st_root *root, const char *path, struct stat *st) {
	st_auto(st_place) place = ST_PLACE_INIT;
	if (st_root_locate(root, st_str(path), &place, NULL) < 0 || strcmp(place.path, path) != 0 ||
	    !place.exists || !S_ISREG(place.st.st_mode))
		return -1;
	*st = place.st;
	return st_file_open(&place, NULL);
}

static int open_file(const struct st_root *root, const char *path, struct stat *st) {
	int fd = st_root_open_plain(root, path, st);
	return fd >= 0 ? fd : open_slowly(root, path, st);
}

/* Read up to max bytes and one more, which shows that the file is larger. */
static enum st_grep_state read_bytes(int fd, size_t size, size_t max, struct st_buf *bytes) {
	st_buf_clear(bytes);
	for (size_t room = size + 1; bytes->len <= max; room = bytes->len + 4096) {
		if (!st_buf_reserve(bytes, room - bytes->len))
			return ST_GREP_UNREADABLE;
		ssize_t len = st_retry(read(fd, bytes->ptr + bytes->len, room - bytes->len));
		if (len < 0)
			return ST_GREP_UNREADABLE;
		if (len == 0)
			return ST_GREP_SEARCHED;
		bytes->len += (size_t)len;
		/* A short read of a file of this size is its end. */
		if (bytes->len == size && room > size)
			return ST_GREP_SEARCHED;
	}
	return ST_GREP_TOO_BIG;
}

static enum st_grep_state load_file(struct searcher *searcher, const char *path) {
	struct stet_workspace *ws = searcher->search->ws;
	size_t max = ws->max_file;
	struct stat st;
	if (st_workspace_check_type(ws, path, NULL) < 0)
		return ST_GREP_NOT_ALLOWED;
	st_autofd fd = open_file(&ws->root, path, &st);
	if (fd < 0)
		return ST_GREP_UNREADABLE;
	if ((uint64_t)st.st_size > max)
		return ST_GREP_TOO_BIG;
	enum st_grep_state state = read_bytes(fd, (size_t)st.st_size, max, &searcher->bytes);
	return state == ST_GREP_SEARCHED ? st_grep_kind(st_buf_str(&searcher->bytes)) : state;
}

/* Count the lines that match. @return 0, or a reason that is no limit. */
static int count_lines(struct searcher *searcher, struct st_grep_file *file, unsigned limit_ms) {
	struct search *search = searcher->search;
	struct st_str text = st_buf_str(&searcher->bytes);
	struct st_span lines, match;
	int code;
	st_grep_begin(&searcher->grep, text, limit_ms, &search->stop);
	while ((code = st_grep_next(&searcher->grep, &lines, &match)) > 0) {
		file->lines += search->how->flags & ST_GREP_SPAN
		                   ? st_line_count(st_str_slice(text, lines.start, lines.end))
		                   : 1;
		if (search->how->first_only)
			break;
	}
	file->why = code < 0 ? st_matcher_limit(code) : NULL;
	file->state = file->why ? ST_GREP_STOPPED : ST_GREP_SEARCHED;
	return code < 0 && !file->why ? code : 0;
}

static int search_file(struct searcher *searcher, struct st_grep_file *file, int64_t left_ms) {
	const struct st_tree_grep *how = searcher->search->how;
	unsigned limit = how->file_ms ? how->file_ms : ST_GREP_FILE_MS;
	limit = left_ms < (int64_t)limit ? (unsigned)left_ms : limit;
	file->lines = 0;
	file->state = load_file(searcher, file->path);
	int code = file->state == ST_GREP_SEARCHED ? count_lines(searcher, file, limit) : 0;
	if (code < 0)
		code = st_matcher_fail(code, &searcher->err);
	else if (searcher->bytes.failed)
		code = st_fail_nomem(&searcher->err);
	else if (st_cancel_check(searcher->bytes.len + FILE_WORK, &searcher->err) < 0)
		code = STET_E_CANCELLED;
	if (searcher->bytes.len > REUSE_MAX)
		st_buf_release(&searcher->bytes);
	return code;
}

/* Take files until there are none left. */
static int search_files(struct searcher *searcher) {
	struct search *search = searcher->search;
	int code =
		st_grep_init(&searcher->grep, search->how->pattern, search->how->flags, &searcher->err);
	while (code == 0 && !atomic_load_explicit(&search->stop, memory_order_relaxed)) {
		size_t i = atomic_fetch_add_explicit(&search->next, 1, memory_order_relaxed);
		if (i >= search->how->count)
			break;
		int64_t left = search->deadline_ms - st_now_ms();
		if (left <= 0) {
			atomic_store(&search->timed_out, true);
			break;
		}
		code = search_file(searcher, &search->how->files[i], left);
	}
	return code;
}

/* One thread's share. The first failure stops the others. */
static void take_part(struct search *search) {
	st_auto(searcher) searcher = {.search = search, .bytes = ST_BUF_INIT};
	int code = search_files(&searcher);
	if (code == 0)
		return;
	atomic_store(&search->stop, true);
	pthread_mutex_lock(&search->lock);
	if (search->failure.code == 0) {
		search->failure = searcher.err;
		search->failure.code = code;
	}
	pthread_mutex_unlock(&search->lock);
}

static void *helper_thread(void *data) {
	struct search *search = data;
	take_part(search);
	pthread_mutex_lock(&search->lock);
	search->has_ended = true;
	pthread_cond_signal(&search->ended);
	pthread_mutex_unlock(&search->lock);
	return NULL;
}

/* Wait for the helper's last file, and stop it if the client does not wait any more. */
static void await_helper(struct search *search, pthread_t helper) {
	struct stet_error err = {0};
	pthread_mutex_lock(&search->lock);
	while (!search->has_ended) {
		struct timespec until = st_cond_deadline(LOOK_MS);
		pthread_cond_timedwait(&search->ended, &search->lock, &until);
		pthread_mutex_unlock(&search->lock);
		int code = st_cancel_check_now(&err);
		pthread_mutex_lock(&search->lock);
		if (code == 0)
			continue;
		atomic_store(&search->stop, true);
		if (search->failure.code == 0)
			search->failure = err;
	}
	pthread_mutex_unlock(&search->lock);
	pthread_join(helper, NULL);
}

int st_workspace_grep(struct stet_workspace *ws, struct st_tree_grep *how, struct stet_error *err) {
	struct search search = {
		.ws = ws,
		.how = how,
		.deadline_ms = st_now_ms() + (how->tree_ms ? how->tree_ms : ST_GREP_TREE_MS),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	pthread_t helper;
	st_cond_init(&search.ended);
	bool has_helper = how->count > 1 && st_thread_start(&helper, helper_thread, &search);
	take_part(&search);
	if (has_helper)
		await_helper(&search, helper);
	pthread_cond_destroy(&search.ended);
	pthread_mutex_destroy(&search.lock);
	how->timed_out = search.timed_out;
	if (search.failure.code < 0 && err)
		*err = search.failure;
	return search.failure.code;
}
