#include "fs/tree/walk.h"

#include <assert.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/thread.h"
#include "fs/path/relative_path.h"
#include "fs/path/sys.h"

/* The buffer for getdents64; nearly every directory fits. */
#define LISTING_SIZE ((size_t)65536)
/* More than the largest entry of a listing. */
#define ENTRY_MAX ((size_t)1024)

/* The longest path, in bytes, from an anchor to a directory that is opened from it. */
#define ANCHOR_SPAN ((size_t)256)
/* How many anchors stay open. */
#define ANCHORS_MAX 16
static_assert(ANCHORS_MAX > ST_WALK_MAX_THREADS, "a thread always finds an unused anchor");

/*
 * A directory that waits to be read, or one above it. Each node holds only its
 * own name and a link to its parent: whole paths would take quadratic memory
 * in a deep tree.
 */
struct node {
	atomic_uint owners;
	/* Owned; NULL for the root. */
	struct node *parent;
	/* The next directory on the stack, or found in the same directory. */
	struct node *next;
	/* The directory above from which this one is opened. */
	struct node *anchor;
	/* The parent's rules; once this directory is listed, its own. */
	struct st_ignore *ignore;
	/* From the caller. */
	void *mark;
	/* The length of the whole path. */
	size_t path_len;
	size_t name_len;
	char name[];
};

/*
 * A walk opens directories by their path from the root, without following
 * links, so it needs no descriptors of the directories in between. Because
 * paths may grow longer than the kernel accepts, a directory becomes an anchor
 * for those below it every ANCHOR_SPAN bytes. The most recently used anchors
 * stay open.
 */
struct anchor {
	struct node *node;
	int fd;
	unsigned users;
	unsigned long used;
};

struct walk {
	const struct st_walk *how;
	int root;
	/* Guards all members below. */
	pthread_mutex_t lock;
	pthread_cond_t change;
	/* Directories that wait to be read, the last found first. */
	struct node *stack;
	/* How many threads read a directory, and how many wait for one. */
	unsigned busy;
	unsigned waiting;
	/* The first failure; it ends the walk. */
	struct stet_error failure;
	struct anchor anchors[ANCHORS_MAX];
	unsigned long clock;
};

/* A thread and the directory that it reads. */
struct worker {
	struct walk *walk;
	struct stet_error err;
	/* The node whose path is in `path`; owned. */
	struct node *node;
	struct st_buf path;
	int fd;
	/* The directories found in it. */
	struct node *found;
	struct node **found_end;
	char *listing;
};

static struct node *node_new(struct node *parent, struct st_str name) {
	struct node *node = malloc(sizeof *node + name.len + 1);
	if (!node)
		return NULL;
	*node = (struct node){.parent = parent, .name_len = name.len, .path_len = name.len};
	atomic_init(&node->owners, 1);
	memcpy(node->name, name.ptr, name.len);
	node->name[name.len] = '\0';
	if (!parent)
		return node;
	atomic_fetch_add_explicit(&parent->owners, 1, memory_order_relaxed);
	if (parent->path_len > 0)
		node->path_len += parent->path_len + 1;
	node->anchor = parent->anchor ? parent->anchor : parent;
	if (node->path_len - node->anchor->path_len > ANCHOR_SPAN)
		node->anchor = parent;
	node->ignore = st_ignore_keep(parent->ignore);
	return node;
}

static void node_drop(struct node *node) {
	while (node && atomic_fetch_sub_explicit(&node->owners, 1, memory_order_acq_rel) == 1) {
		struct node *parent = node->parent;
		st_ignore_drop(node->ignore);
		free(node);
		node = parent;
	}
}

/*
 * Write a node's path without its first skip bytes. If above is not NULL, path
 * already holds the part that belongs to above.
 */
static void write_path(const struct node *node, const struct node *above, size_t skip, char *path) {
	path[node->path_len - skip] = '\0';
	for (; node != above && node->path_len > skip; node = node->parent) {
		size_t start = node->path_len - node->name_len - skip;
		memcpy(path + start, node->name, node->name_len);
		if (start > 0)
			path[start - 1] = '/';
	}
}

/* The length of the prefix "node/" in the paths below a node. */
static size_t prefix_len(const struct node *node) {
	return node->path_len ? node->path_len + 1 : 0;
}

static struct anchor *anchor_find(struct walk *walk, const struct node *node) {
	for (size_t i = 0; i < ANCHORS_MAX; i++) {
		if (walk->anchors[i].node == node)
			return &walk->anchors[i];
	}
	return NULL;
}

static void anchor_clear(struct anchor *anchor) {
	if (anchor->node)
		close(anchor->fd);
	node_drop(anchor->node);
	*anchor = (struct anchor){0};
}

/* Keep a directory open, in place of the least recently used anchor. With the lock held. */
static struct anchor *anchor_put(struct walk *walk, struct node *node, int fd) {
	struct anchor *place = NULL;
	for (size_t i = 0; i < ANCHORS_MAX; i++) {
		struct anchor *anchor = &walk->anchors[i];
		if (anchor->users == 0 && (!place || anchor->used < place->used))
			place = anchor;
	}
	assert(place);
	anchor_clear(place);
	atomic_fetch_add_explicit(&node->owners, 1, memory_order_relaxed);
	*place = (struct anchor){.node = node, .fd = fd, .used = ++walk->clock};
	return place;
}

/* Open an anchor, and first the anchors above it that are not open. With the lock held. */
static struct anchor *anchor_open(struct walk *walk, struct node *node) {
	struct anchor *anchor;
	while (!(anchor = anchor_find(walk, node))) {
		struct node *closed = node;
		while (closed->anchor->anchor && !anchor_find(walk, closed->anchor))
			closed = closed->anchor;
		const struct anchor *above = anchor_find(walk, closed->anchor);
		char path[ANCHOR_SPAN + ENTRY_MAX];
		write_path(closed, closed->anchor, prefix_len(closed->anchor), path);
		int fd = st_open_relative(above ? above->fd : walk->root, path);
		if (fd < 0)
			return NULL;
		anchor_put(walk, closed, fd);
	}
	anchor->used = ++walk->clock;
	return anchor;
}

static int open_from_anchor(struct walk *walk, struct node *node, char *path) {
	pthread_mutex_lock(&walk->lock);
	struct anchor *anchor = anchor_open(walk, node);
	if (anchor)
		anchor->users++;
	pthread_mutex_unlock(&walk->lock);
	if (!anchor)
		return -1;

	int fd = st_open_relative(anchor->fd, path), saved = errno;
	pthread_mutex_lock(&walk->lock);
	anchor->users--;
	pthread_mutex_unlock(&walk->lock);
	errno = saved;
	return fd;
}

static int open_node(struct worker *worker) {
	struct node *node = worker->node, *anchor = node->anchor;
	if (!anchor)
		return st_retry(openat(worker->walk->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	char *path = worker->path.ptr + prefix_len(anchor);
	return anchor->anchor ? open_from_anchor(worker->walk, anchor, path)
	                      : st_open_relative(worker->walk->root, path);
}

/* Close the worker's directory, or keep it as the anchor of directories found in it. */
static void close_node(struct worker *worker) {
	bool is_anchor = false;
	for (const struct node *found = worker->found; found && !is_anchor; found = found->next)
		is_anchor = found->anchor == worker->node;
	if (!is_anchor || !worker->node->anchor) {
		st_close_at(&worker->fd);
		return;
	}
	pthread_mutex_lock(&worker->walk->lock);
	anchor_put(worker->walk, worker->node, worker->fd);
	pthread_mutex_unlock(&worker->walk->lock);
	worker->fd = -1;
}

/* Make node the worker's directory. Often it lies in the last one, whose path is then extended. */
static bool set_node(struct worker *worker, struct node *node) {
	const struct node *above = node->parent == worker->node ? node->parent : NULL;
	if (above)
		st_buf_truncate(&worker->path, above->path_len);
	if (!st_buf_reserve(&worker->path, node->path_len + 1))
		return false;
	write_path(node, above, 0, worker->path.ptr);
	worker->path.len = node->path_len;
	node_drop(worker->node);
	worker->node = node;
	return true;
}

static bool is_gone(int errnum) {
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE;
}

static bool is_exhausted(int errnum) {
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

static void report_skipped(struct worker *worker) {
	const struct st_walk *how = worker->walk->how;
	if (how->skipped)
		how->skipped(how->data, st_buf_str(&worker->path), &worker->err);
	worker->err = (struct stet_error){0};
}

/* A directory could not be read. Ignore one that is gone; end the walk only if it cannot go on. */
static int fail_read(struct worker *worker, int errnum) {
	bool is_root = !worker->node->parent;
	if (is_gone(errnum) && !is_root)
		return 0;
	int code = st_fail_errno(&worker->err, errnum, "The directory %s was not read",
	                         st_quoted(is_root ? "." : worker->path.ptr));
	if (is_root || is_exhausted(errnum))
		return code;
	report_skipped(worker);
	return 0;
}

/* Part of a directory's listing. */
struct listing {
	size_t len;
	/* This part is the last. */
	bool complete;
	/* Not 0 if reading failed. */
	int errnum;
};

static struct listing listing_read(struct worker *worker) {
	struct listing listing = {0};
	while (!listing.complete && LISTING_SIZE - listing.len >= ENTRY_MAX) {
		ssize_t len = st_retry(
			getdents64(worker->fd, worker->listing + listing.len, LISTING_SIZE - listing.len));
		if (len > 0) {
			listing.len += (size_t)len;
			continue;
		}
		listing.complete = true;
		if (len < 0 && !is_gone(errno))
			listing.errnum = errno;
	}
	return listing;
}

static const struct dirent64 *listing_next(const struct worker *worker,
                                           const struct listing *listing, size_t *at) {
	if (*at >= listing->len)
		return NULL;
	const struct dirent64 *entry = (const void *)(worker->listing + *at);
	*at += entry->d_reclen;
	return entry;
}

static bool lists_rules(const struct worker *worker, const struct listing *listing) {
	size_t at = 0;
	for (const struct dirent64 *entry; (entry = listing_next(worker, listing, &at));) {
		if (strcmp(entry->d_name, ".gitignore") == 0)
			return true;
	}
	return false;
}

/* Load the directory's .gitignore, unless a complete listing shows that there is none. */
static int load_rules(struct worker *worker, const struct listing *listing) {
	if (worker->walk->how->flags & ST_WALK_NO_FILES)
		return 0;
	if (listing->complete && !lists_rules(worker, listing))
		return 0;
	struct st_ignore *above = worker->node->ignore;
	int code = st_ignore_load(above, worker->fd, st_buf_str(&worker->path), &worker->node->ignore,
	                          &worker->err);
	st_ignore_drop(above);
	if (code == STET_E_NOMEM || code == STET_E_LIMIT)
		return code;
	if (code < 0)
		report_skipped(worker);
	return 0;
}

static bool walk_type(const struct worker *worker, const struct dirent64 *entry,
                      enum st_walk_type *type) {
	unsigned kind = entry->d_type;
	if (kind == DT_UNKNOWN) {
		struct stat st;
		if (st_retry(fstatat(worker->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
			return false;
		kind = IFTODT(st.st_mode);
	}
	*type = kind == DT_REG   ? ST_WALK_FILE
	        : kind == DT_DIR ? ST_WALK_DIR
	        : kind == DT_LNK ? ST_WALK_LINK
	                         : ST_WALK_OTHER;
	return true;
}

static bool is_ignored(const struct st_walk *how, const struct st_walk_entry *entry) {
	bool is_dir = entry->type == ST_WALK_DIR;
	if (!(how->flags & ST_WALK_NO_BUILTIN) && st_ignore_builtin(entry->name, is_dir))
		return true;
	return (is_dir || !(how->flags & ST_WALK_IGNORED_FILES)) &&
	       st_ignore_match(entry->ignore, entry->path, is_dir, NULL);
}

static int push_found(struct worker *worker, struct st_str name, void *mark) {
	struct node *node = node_new(worker->node, name);
	if (!node)
		return st_fail_nomem(&worker->err);
	node->mark = mark;
	*worker->found_end = node;
	worker->found_end = &node->next;
	return 0;
}

/* The cost of an entry in the units of st_cancel_check(). */
enum { ENTRY_WORK = 8 << 10 };

static int handle_entry(struct worker *worker, const struct dirent64 *listed) {
	if (st_cancel_check(ENTRY_WORK, &worker->err) < 0)
		return STET_E_CANCELLED;
	const struct st_walk *how = worker->walk->how;
	void *mark = NULL;
	struct st_walk_entry entry = {.name = st_str(listed->d_name), .mark = &mark};
	if (st_str_eq(entry.name, ST_STR(".")) || st_str_eq(entry.name, ST_STR("..")) ||
	    !walk_type(worker, listed, &entry.type))
		return 0;

	size_t prefix = prefix_len(worker->node);
	st_buf_truncate(&worker->path, worker->node->path_len);
	if (prefix)
		st_buf_addc(&worker->path, '/');
	st_buf_add(&worker->path, entry.name);
	if (worker->path.failed)
		return st_fail_nomem(&worker->err);
	entry.path = st_buf_str(&worker->path);
	entry.name.ptr = entry.path.ptr + prefix;
	entry.dir = worker->fd;
	entry.ino = listed->d_ino;
	entry.ignore = worker->node->ignore;
	if (is_ignored(how, &entry)) {
		if (how->ignored)
			how->ignored(how->data, &entry);
		return 0;
	}

	int code = how->on_entry(how->data, &entry, &worker->err);
	if (code == 0 && entry.type == ST_WALK_DIR)
		code = push_found(worker, entry.name, mark);
	return code < 0 ? code : 0;
}

static int read_listing(struct worker *worker) {
	struct listing listing = listing_read(worker);
	int code = load_rules(worker, &listing);
	for (;;) {
		size_t at = 0;
		for (const struct dirent64 *entry;
		     code == 0 && (entry = listing_next(worker, &listing, &at));)
			code = handle_entry(worker, entry);
		st_buf_truncate(&worker->path, worker->node->path_len);
		if (code < 0 || listing.complete)
			break;
		listing = listing_read(worker);
	}
	if (code == 0 && listing.errnum)
		code = fail_read(worker, listing.errnum);
	return code;
}

/* Read a directory. The worker owns the node from here on. */
static int read_node(struct worker *worker, struct node *node) {
	const struct st_walk *how = worker->walk->how;
	worker->found = NULL;
	worker->found_end = &worker->found;
	if (!set_node(worker, node)) {
		node_drop(node);
		return st_fail_nomem(&worker->err);
	}
	worker->fd = open_node(worker);
	if (worker->fd < 0)
		return fail_read(worker, errno);

	int code = 0;
	if (how->enter)
		code =
			how->enter(how->data, worker->fd, st_buf_str(&worker->path), node->mark, &worker->err);
	if (code >= 0)
		code = read_listing(worker);
	if (code >= 0 && how->leave)
		code = how->leave(how->data, node->ignore, &worker->err);
	close_node(worker);
	return code;
}

/* Push the directories found onto the stack. With the lock held. */
static void finish_node(struct worker *worker, int code) {
	struct walk *walk = worker->walk;
	*worker->found_end = walk->stack;
	walk->stack = worker->found;
	walk->busy--;
	if (code < 0 && walk->failure.code == 0) {
		walk->failure = worker->err;
		walk->failure.code = code;
	}
	/* This thread reads one directory itself; wake the others for more, or for the end. */
	bool more = walk->stack && walk->stack->next;
	bool over = (!walk->stack && walk->busy == 0) || walk->failure.code != 0;
	if (walk->waiting > 0 && (more || over))
		pthread_cond_broadcast(&walk->change);
}

/* Wait for a directory to read; NULL when all are read or the walk has failed. With the lock held. */
static struct node *next_node(struct walk *walk) {
	while (!walk->stack && walk->busy > 0 && walk->failure.code == 0) {
		walk->waiting++;
		pthread_cond_wait(&walk->change, &walk->lock);
		walk->waiting--;
	}
	struct node *node = walk->failure.code == 0 ? walk->stack : NULL;
	if (node) {
		walk->stack = node->next;
		node->next = NULL;
		walk->busy++;
	}
	return node;
}

static void worker_release(struct worker *worker) {
	node_drop(worker->node);
	st_buf_release(&worker->path);
	free(worker->listing);
}

static void *walk_thread(void *data) {
	struct walk *walk = data;
	st_auto(worker) worker = {.walk = walk, .fd = -1, .listing = malloc(LISTING_SIZE)};

	pthread_mutex_lock(&walk->lock);
	if (!worker.listing && walk->failure.code == 0)
		st_fail_nomem(&walk->failure);
	for (struct node *node; (node = next_node(walk));) {
		pthread_mutex_unlock(&walk->lock);
		int code = read_node(&worker, node);
		pthread_mutex_lock(&walk->lock);
		finish_node(&worker, code);
	}
	pthread_mutex_unlock(&walk->lock);
	return NULL;
}

/* If not all threads can be started, the walk is only slower. */
static unsigned start_helpers(struct walk *walk, pthread_t *helpers, unsigned count) {
	unsigned started = 0;
	while (started < count && st_thread_start(&helpers[started], walk_thread, walk))
		started++;
	return started;
}

static int push_root(struct walk *walk, struct stet_error *err) {
	struct node *root = node_new(NULL, ST_STR(""));
	if (!root)
		return st_fail_nomem(err);
	walk->stack = root;
	if (walk->how->flags & ST_WALK_NO_FILES)
		return 0;
	struct stet_error why = {0};
	int code = st_ignore_load_exclude(walk->root, &root->ignore, &why);
	if (code < 0 && walk->how->skipped)
		walk->how->skipped(walk->how->data, ST_STR(""), &why);
	return 0;
}

static void walk_release(struct walk *walk) {
	for (size_t i = 0; i < ANCHORS_MAX; i++)
		anchor_clear(&walk->anchors[i]);
	while (walk->stack) {
		struct node *node = walk->stack;
		walk->stack = node->next;
		node_drop(node);
	}
	pthread_cond_destroy(&walk->change);
	pthread_mutex_destroy(&walk->lock);
}

int st_walk_run(const struct st_walk *how, int root, struct stet_error *err) {
	st_auto(walk) walk = {
		.how = how,
		.root = root,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.change = PTHREAD_COND_INITIALIZER,
	};
	int code = push_root(&walk, err);
	if (code < 0)
		return code;

	pthread_t helpers[ST_WALK_MAX_THREADS];
	unsigned threads = how->threads ? how->threads : 2;
	if (threads > ST_WALK_MAX_THREADS)
		threads = ST_WALK_MAX_THREADS;
	unsigned started = start_helpers(&walk, helpers, threads - 1);
	walk_thread(&walk);
	for (unsigned i = 0; i < started; i++)
		pthread_join(helpers[i], NULL);

	if (walk.failure.code < 0 && err)
		*err = walk.failure;
	return walk.failure.code;
}
