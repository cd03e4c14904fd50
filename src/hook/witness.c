#include "hook/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/versions/rescued.h"

bool st_witness_enabled = true;

enum {
	/* Files of one call, with those that replaced them meanwhile; and versions of all of them. */
	HELD_MAX = 32,
	VERSIONS_MAX = 64,
	/* How long a hook waits for the testimony. */
	ANSWER_MS = 300,
	/* How long the witness stays awake after an event. */
	SPIN_US = 300,
	/* How often it looks whether the workspace is still there. */
	ROOT_MS = 1000,
	/* How many pages of a file, the last ones, are pinned. */
	PINNED_MAX = 16,
	/* A witness that hangs ends so long after its time. */
	HUNG_S = 30,
	/* Where the kernel closes no range, so many descriptors are closed, one after the other. */
	NUMBERS_MAX = 1 << 16,
};

/* The most bytes of a file, and of all versions. */
#define FILE_BYTES ((size_t)4 << 20)
#define ALL_BYTES ((size_t)16 << 20)

/* A file that the witness holds. */
struct held {
	struct st_place place;
	int fd;
	/* Its name belongs to another file by now. */
	bool replaced;
	/* Its inotify watch, and the writers that its last events show. */
	int watch;
	enum writers {
		OPENED,
		WRITTEN,
		/* Opened again before the writer closed it; and then written. */
		REOPENED,
		REWRITTEN,
		CLOSED,
		/* Written after a close, without an open in between. */
		WRITTEN_SINCE,
	} writers;
	/* As of the last look. */
	struct st_stamp stamp;
	/* The version that was noted or rescued last. */
	struct st_buf noted;
	/*
	 * References to the file's last pages, which a program that truncates the file leaves behind with all
	 * that was written to them until then; and where they begin in the file.
	 */
	struct pins {
		int fds[2];
		size_t at;
	} pins, next_pins;
};

struct st_witness {
	char *root;
	/* The name of the state directory. */
	char *state_dir;
	struct sockaddr_un name;
	int listener;
	struct held held[HELD_MAX];
	size_t count;
	struct st_testimony versions;
	size_t bytes;
	int events;
};

/* ---- versions ---- */

static void release_version(struct st_witnessed *version) {
	free(version->path);
	st_buf_release(&version->bytes);
}

void st_testimony_release(struct st_testimony *testimony) {
	for (size_t i = 0; i < testimony->count; i++)
		release_version(&testimony->items[i]);
	free(testimony->items);
	*testimony = (struct st_testimony){0};
}

/* Append a version; takes the bytes. */
static bool add_version(struct st_testimony *versions, struct st_str path, struct st_buf *bytes) {
	if (!st_array_room(&versions->items, versions->count, sizeof *versions->items))
		return false;
	char *copy = strndup(path.ptr, path.len);
	if (!copy)
		return false;
	struct st_witnessed *version = &versions->items[versions->count++];
	*version = (struct st_witnessed){.path = copy, .bytes = ST_BUF_INIT};
	st_buf_move(&version->bytes, bytes);
	return true;
}

static void drop_oldest(struct st_witness *witness) {
	struct st_testimony *versions = &witness->versions;
	witness->bytes -= versions->items[0].bytes.len;
	release_version(&versions->items[0]);
	memmove(versions->items, versions->items + 1, --versions->count * sizeof *versions->items);
}

/* Note a version. An empty one was truncated just now, and its writer goes on. */
static void note(struct st_witness *witness, struct held *held, struct st_str bytes) {
	st_auto(st_buf) copy = ST_BUF_INIT;
	if (bytes.len == 0 || st_str_eq(bytes, st_buf_str(&held->noted)))
		return;
	st_buf_add(&copy, bytes);
	st_buf_clear(&held->noted);
	st_buf_add(&held->noted, bytes);
	if (copy.failed || !add_version(&witness->versions, st_str(held->place.path), &copy))
		return;
	witness->bytes += bytes.len;
	while (witness->versions.count > VERSIONS_MAX || witness->bytes > ALL_BYTES)
		drop_oldest(witness);
}

/* ---- pages ---- */

static void open_pins(struct pins *pins) {
	if (pipe2(pins->fds, O_CLOEXEC | O_NONBLOCK) < 0)
		pins->fds[0] = pins->fds[1] = -1;
}

static void close_pins(struct pins *pins) {
	st_close_at(&pins->fds[0]);
	st_close_at(&pins->fds[1]);
}

static void drain_pins(struct pins *pins, struct st_buf *out) {
	char bytes[4096];
	for (ssize_t len; (len = st_retry(read(pins->fds[0], bytes, sizeof bytes))) > 0;)
		st_buf_add(out, st_strn(bytes, (size_t)len));
}

/* Pin the last pages. A page beyond the end of the file is not there to be pinned. */
static void pin_pages(int fd, size_t size, struct pins *pins) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
	size_t count = pages < PINNED_MAX ? pages : PINNED_MAX;
	st_auto(st_buf) rest = ST_BUF_INIT;
	pins->at = (pages - count) * page;
	void *map = count > 0 ? mmap(NULL, count * page, PROT_READ, MAP_SHARED, fd, (off_t)pins->at)
	                      : MAP_FAILED;
	if (map == MAP_FAILED)
		return;
	struct iovec all = {map, count * page};
	ssize_t pinned = st_retry(vmsplice(pins->fds[1], &all, 1, SPLICE_F_NONBLOCK));
	munmap(map, count * page);
	/* The pipes of a user who has many hold a page or two. Without the last pages the text would look cut. */
	if (pinned > 0 && (size_t)pinned < count * page)
		drain_pins(pins, &rest);
}

/* Note the bytes that the pinned pages had when the file was truncated, or have now. */
static void note_pinned(struct st_witness *witness, struct held *held, struct st_str now) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_str noted = st_buf_str(&held->noted);
	size_t at = held->pins.at;
	st_buf_add(&text, st_str_slice(noted, 0, at < noted.len ? at : noted.len));
	drain_pins(&held->pins, &text);
	/* Behind the end of the file a page is zero. */
	while (text.len > at && text.ptr[text.len - 1] == '\0')
		text.len--;
	if (at <= noted.len && text.len > at && !text.failed && !st_str_starts(now, st_buf_str(&text)))
		note(witness, held, st_buf_str(&text));
}

/* ---- files ---- */

static void release_held(struct held *held) {
	st_close_at(&held->fd);
	close_pins(&held->pins);
	close_pins(&held->next_pins);
	st_buf_release(&held->noted);
	st_place_release(&held->place);
}

/* Read what the file holds now; false if it is too large, or changes all the time. */
static bool read_held(struct held *held, struct st_buf *out) {
	struct stat st;
	if (st_retry(fstat(held->fd, &st)) < 0 || (uint64_t)st.st_size > FILE_BYTES ||
	    !st_buf_reserve(out, (size_t)st.st_size))
		return false;
	ssize_t len = st_retry(pread(held->fd, out->ptr, (size_t)st.st_size, 0));
	out->len = len > 0 ? (size_t)len : 0;
	held->stamp = st_stamp_of(&st);
	return true;
}

static bool is_as_noted(const struct held *held) {
	struct stat st;
	if (st_retry(fstat(held->fd, &st)) < 0)
		return true;
	struct st_stamp now = st_stamp_of(&st);
	return st_stamp_eq(&now, &held->stamp);
}

static void note_now(struct st_witness *witness, struct held *held) {
	st_auto(st_buf) now = ST_BUF_INIT;
	struct stat st;
	/* Pin the current last pages, each time. */
	if (st_retry(fstat(held->fd, &st)) == 0 && (uint64_t)st.st_size <= FILE_BYTES)
		pin_pages(held->fd, (size_t)st.st_size, &held->next_pins);
	bool read = read_held(held, &now);
	note_pinned(witness, held, st_buf_str(&now));
	if (read)
		note(witness, held, st_buf_str(&now));
	struct pins pins = held->pins;
	held->pins = held->next_pins;
	held->next_pins = pins;
}

static void watch_held(struct st_witness *witness, struct held *held) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", held->fd);
	held->watch =
		inotify_add_watch(witness->events, path, IN_OPEN | IN_MODIFY | IN_CLOSE | IN_ATTRIB);
}

/* Hold a place's file; false if there is none. Takes the place. */
static bool hold_file(struct st_witness *witness, struct st_place *place) {
	struct stat st;
	st_autofd fd = witness->count < HELD_MAX ? st_file_open(place, NULL) : -1;
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0 || (uint64_t)st.st_size > FILE_BYTES)
		return false;
	struct held *held = &witness->held[witness->count++];
	*held = (struct held){.place = *place, .fd = fd, .noted = ST_BUF_INIT};
	*place = (struct st_place)ST_PLACE_INIT;
	fd = -1;
	open_pins(&held->pins);
	open_pins(&held->next_pins);
	watch_held(witness, held);
	note_now(witness, held);
	return true;
}

/* The place of the file that has this place's name by now. */
static bool copy_place(const struct st_place *from, const struct stat *st, struct st_place *to) {
	*to = (struct st_place){
		.dirfd = st_retry(fcntl(from->dirfd, F_DUPFD_CLOEXEC, 3)),
		.path = strdup(from->path),
		.exists = true,
		.st = *st,
	};
	if (to->path)
		to->name = to->path + (from->name - from->path);
	return to->dirfd >= 0 && to->path;
}

/* If the name belongs to another file by now, hold that one, too. */
static void follow_name(struct st_witness *witness, struct held *held) {
	struct stat st;
	st_auto(st_place) place = ST_PLACE_INIT;
	if (held->replaced ||
	    st_retry(fstatat(held->place.dirfd, held->place.name, &st, AT_SYMLINK_NOFOLLOW)) < 0 ||
	    (st.st_ino == held->stamp.ino && st.st_dev == held->stamp.dev))
		return;
	held->replaced = true;
	note_now(witness, held);
	if (S_ISREG(st.st_mode) && copy_place(&held->place, &st, &place))
		(void)hold_file(witness, &place);
}

static void look_at(struct st_witness *witness, struct held *held) {
	if (!is_as_noted(held))
		note_now(witness, held);
	follow_name(witness, held);
}

static void look_at_all(struct st_witness *witness) {
	for (size_t i = 0; i < witness->count; i++)
		look_at(witness, &witness->held[i]);
}

/* ---- late writes to a file that was replaced ---- */

/* This opens no workspace: a child of stet mcp may use neither its threads nor its open databases. */
static void rescue_late(const struct st_witness *witness, const struct held *held,
                        struct st_str bytes) {
	st_auto(st_root) root = ST_ROOT_INIT;
	st_auto(st_notices) notices;
	st_auto(st_rescued) rescued;
	char why[4400];
	snprintf(why, sizeof why,
	         "Another process wrote to %s just when it was replaced: its write is not in the file.",
	         st_quoted(held->place.path));
	/* No session reads this notice: the copy keeps its mark, and the next event reports it. */
	st_notices_init(&notices);
	st_rescued_init(&rescued, &root, witness->state_dir, &notices);
	if (st_root_open(&root, witness->root, NULL) == 0)
		(void)st_rescue(&rescued, held->place.path, bytes, why);
}

static void look_for_late(const struct st_witness *witness, struct held *held) {
	st_auto(st_buf) now = ST_BUF_INIT;
	if (is_as_noted(held) || !read_held(held, &now) ||
	    st_str_eq(st_buf_str(&now), st_buf_str(&held->noted)))
		return;
	rescue_late(witness, held, st_buf_str(&now));
	st_buf_move(&held->noted, &now);
}

/* Let go of the files that still have their names. Returns whether others are left. */
static bool release_current(struct st_witness *witness) {
	size_t count = 0;
	for (size_t i = 0; i < witness->count; i++) {
		if (witness->held[i].replaced)
			witness->held[count++] = witness->held[i];
		else
			release_held(&witness->held[i]);
	}
	witness->count = count;
	return count > 0;
}

/* ---- sockets ---- */

/*
 * The name is the session's and the file's; it is in no directory, so nothing is left behind. Containers that share
 * a network share the names, too: the numbers of the root tell their directories apart.
 */
static bool make_name(const struct stet_session *session, const char *key,
                      struct sockaddr_un *name) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_hash hash;
	char hex[ST_HASH_HEX + 1];
	const struct st_root *root = &session->ws->root;
	st_buf_addf(&text, "%d\n%ju\n%ju\n%s\n%s\n%s", (int)geteuid(), (uintmax_t)root->dev,
	            (uintmax_t)root->ino, root->path, st_session_who(session), key);
	if (text.failed || st_hash_of(st_buf_str(&text), &hash, NULL) < 0)
		return false;
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "stet-witness-%s", hex);
	return true;
}

static bool is_same_user(int fd) {
	struct ucred peer;
	socklen_t len = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void set_timeout(int fd, int option) {
	struct timeval time = {.tv_usec = ANSWER_MS * 1000};
	(void)setsockopt(fd, SOL_SOCKET, option, &time, sizeof time);
}

/* Connect to a witness; -1 if there is none. */
static int connect_to(const struct sockaddr_un *name) {
	st_autofd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* This one is for connect(), which waits where a witness that hangs has a full queue. */
	set_timeout(fd, SO_SNDTIMEO);
	set_timeout(fd, SO_RCVTIMEO);
	if (connect(fd, (const struct sockaddr *)name, sizeof *name) < 0 || !is_same_user(fd))
		return -1;
	int result = fd;
	fd = -1;
	return result;
}

static bool receive(int fd, struct st_buf *out) {
	char bytes[64 << 10];
	for (;;) {
		ssize_t len = st_retry(recv(fd, bytes, sizeof bytes, 0));
		if (len <= 0)
			return len == 0 && !out->failed;
		if (out->len > 2 * ALL_BYTES)
			return false;
		st_buf_add(out, st_strn(bytes, (size_t)len));
	}
}

static bool send_all(int fd, const void *bytes, size_t len) {
	for (const char *at = bytes; len > 0;) {
		ssize_t sent = st_retry(send(fd, at, len, MSG_NOSIGNAL));
		if (sent <= 0)
			return false;
		at += sent;
		len -= (size_t)sent;
	}
	return true;
}

/* Each version is two lengths, its path and its bytes; a zero and `overlapped` follow the last. */
static bool send_version(int fd, const struct st_witnessed *version) {
	uint64_t lengths[2] = {strlen(version->path), version->bytes.len};
	return send_all(fd, lengths, sizeof lengths) &&
	       send_all(fd, version->path, (size_t)lengths[0]) &&
	       send_all(fd, version->bytes.ptr, version->bytes.len);
}

static void send_versions(int fd, const struct st_testimony *versions) {
	const uint64_t end[2] = {0, versions->overlapped};
	set_timeout(fd, SO_SNDTIMEO);
	for (size_t i = 0; i < versions->count; i++) {
		if (!send_version(fd, &versions->items[i]))
			return;
	}
	(void)send_all(fd, end, sizeof end);
}

static bool read_version(struct st_str *text, struct st_testimony *versions) {
	uint64_t lengths[2];
	if (text->len < sizeof lengths)
		return false;
	memcpy(lengths, text->ptr, sizeof lengths);
	*text = st_str_slice(*text, sizeof lengths, text->len);
	if (lengths[0] == 0)
		versions->overlapped = lengths[1] != 0;
	if (lengths[0] == 0 || lengths[0] > text->len || lengths[1] > text->len - lengths[0])
		return false;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	size_t end = (size_t)(lengths[0] + lengths[1]);
	st_buf_add(&bytes, st_str_slice(*text, (size_t)lengths[0], end));
	bool added =
		!bytes.failed && add_version(versions, st_str_slice(*text, 0, (size_t)lengths[0]), &bytes);
	*text = st_str_slice(*text, end, text->len);
	return added;
}

void st_witness_ask(const struct stet_session *session, const char *key,
                    struct st_testimony *testimony) {
	struct sockaddr_un name;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_autofd fd = make_name(session, key, &name) ? connect_to(&name) : -1;
	if (fd < 0 || !receive(fd, &text))
		return;
	struct st_str rest = st_buf_str(&text);
	while (read_version(&rest, testimony))
		;
}

/* ---- the process ---- */

/* Close all descriptors from one number to another. Kernels before 5.9 and some sandboxes have no call for that. */
static void close_numbers(unsigned from, unsigned to) {
	if (close_range(from, to, 0) == 0)
		return;
	for (unsigned fd = from; fd <= to && fd < NUMBERS_MAX; fd++)
		close((int)fd);
}

/* Close what this process inherited, but for what it needs. */
static void close_others(const struct st_witness *witness) {
	int needed[6 * HELD_MAX + 2];
	size_t count = 0;
	unsigned from = 0;
	needed[count++] = witness->listener;
	needed[count++] = witness->events;
	for (size_t i = 0; i < witness->count; i++) {
		needed[count++] = witness->held[i].fd;
		needed[count++] = witness->held[i].place.dirfd;
		for (int end = 0; end < 2; end++) {
			needed[count++] = witness->held[i].pins.fds[end];
			needed[count++] = witness->held[i].next_pins.fds[end];
		}
	}
	/* Few numbers: each gap begins behind the number before. */
	for (;;) {
		unsigned next = ~0U;
		for (size_t i = 0; i < count; i++) {
			if (needed[i] >= 0 && (unsigned)needed[i] >= from && (unsigned)needed[i] < next)
				next = (unsigned)needed[i];
		}
		if (next > from)
			close_numbers(from, next == ~0U ? next : next - 1);
		if (next == ~0U)
			return;
		from = next + 1;
	}
}

/* The program may block signals or handle them, and a thread of it may have held a lock that this process needs. */
static void reset_signals(int wait_s) {
	sigset_t none;
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	alarm((unsigned)wait_s + HUNG_S);
}

static void begin_watch(struct st_witness *witness, int wait_s) {
	reset_signals(wait_s);
	close_others(witness);
	for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0 && fd < 3;)
		fd = dup(fd);
	/* Where that is allowed: the next write may be some microseconds away. */
	(void)setpriority(PRIO_PROCESS, 0, -20);
}

static enum writers after_open(enum writers writers) {
	if (writers == REOPENED || writers == REWRITTEN)
		return writers;
	return writers == WRITTEN ? REOPENED : OPENED;
}

static enum writers after_write(enum writers writers) {
	switch (writers) {
	case OPENED:
		return WRITTEN;
	case REOPENED:
		return REWRITTEN;
	case CLOSED:
		return WRITTEN_SINCE;
	default:
		return writers;
	}
}

/*
 * Two programs had the file open and wrote if one opened it between two writes, or if a write or a close follows
 * a close without an open in between. An open between two writes can be that of a reader: its close tells.
 */
static void follow_writers(struct st_witness *witness, struct held *held, uint32_t mask) {
	if (mask & IN_OPEN)
		held->writers = after_open(held->writers);
	if (mask & IN_MODIFY)
		held->writers = after_write(held->writers);
	if ((mask & IN_CLOSE_NOWRITE) && (held->writers == REOPENED || held->writers == REWRITTEN))
		held->writers = WRITTEN;
	if (mask & IN_CLOSE_WRITE) {
		witness->versions.overlapped |= held->writers >= REWRITTEN;
		held->writers = CLOSED;
	}
}

static void read_events(struct st_witness *witness) {
	alignas(struct inotify_event) char bytes[4096];
	for (ssize_t len; (len = read(witness->events, bytes, sizeof bytes)) > 0;) {
		const struct inotify_event *event;
		for (char *at = bytes; at < bytes + len; at += sizeof *event + event->len) {
			event = (const struct inotify_event *)(const void *)at;
			for (size_t i = 0; i < witness->count; i++) {
				if (witness->held[i].watch == event->wd)
					follow_writers(witness, &witness->held[i], event->mask);
			}
		}
	}
}

/* Sleep until something happens to a file, or the hook asks: then returns true. */
static bool await_event(struct st_witness *witness, int64_t until) {
	struct pollfd fds[] = {
		{.fd = witness->events, .events = POLLIN},
		{.fd = witness->listener, .events = POLLIN},
	};
	int64_t left = until - st_now_ms();
	(void)poll(fds, 2, left > 0 ? (int)left : 0);
	read_events(witness);
	return fds[1].revents != 0;
}

/* The kernel merges an event with an equal one before it that nobody has read. */
static void stay_awake(struct st_witness *witness) {
	int64_t until = st_now_us() + SPIN_US;
	do {
		look_at_all(witness);
		read_events(witness);
	} while (st_now_us() < until);
}

/* Answer the hook. False if it is another user, who can find the name, too. */
static bool testify(struct st_witness *witness) {
	st_autofd fd = st_retry(accept4(witness->listener, NULL, NULL, SOCK_CLOEXEC));
	if (fd >= 0 && !is_same_user(fd))
		return false;
	look_at_all(witness);
	read_events(witness);
	if (fd >= 0)
		send_versions(fd, &witness->versions);
	st_close_at(&witness->listener);
	return true;
}

static void run_witness(struct st_witness *witness, int wait_s) {
	int64_t until = st_now_ms() + (int64_t)wait_s * 1000;
	bool asked = false;
	begin_watch(witness, wait_s);
	look_at_all(witness);
	/* A workspace that is gone has no tool to wait for; each witness takes one of the user's inotify instances. */
	while (!asked && st_now_ms() < until && access(witness->root, F_OK) == 0) {
		int64_t soon = st_now_ms() + ROOT_MS;
		asked = await_event(witness, soon < until ? soon : until) && testify(witness);
		if (!asked)
			stay_awake(witness);
	}
	if (!asked)
		return;
	until = st_now_ms() + ST_GRACE_MS;
	for (bool last = !release_current(witness); !last;) {
		(void)await_event(witness, until);
		last = st_now_ms() >= until;
		for (size_t i = 0; i < witness->count; i++)
			look_for_late(witness, &witness->held[i]);
	}
}

/* ---- in the hook ---- */

struct st_witness *st_witness_new(const struct stet_session *session, const char *key) {
	struct st_witness *witness = st_witness_enabled ? calloc(1, sizeof *witness) : NULL;
	if (!witness)
		return NULL;
	witness->listener = -1;
	witness->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	witness->root = strdup(session->ws->root.path);
	witness->state_dir = strdup(session->ws->writes.state_dir);
	if (witness->root && witness->state_dir && witness->events >= 0 &&
	    make_name(session, key, &witness->name))
		return witness;
	st_witness_start(witness, 0);
	return NULL;
}

void st_witness_add(struct st_witness *witness, const struct stet_session *session,
                    const char *path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	if (st_root_locate(&session->ws->root, st_str(path), &place, NULL) == 0 && place.exists)
		(void)hold_file(witness, &place);
}

/* Take the name. If the hook of an earlier call never asked, end that witness. */
static bool take_name(struct st_witness *witness) {
	const struct sockaddr *name = (const struct sockaddr *)&witness->name;
	st_auto(st_buf) rest = ST_BUF_INIT;
	witness->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (witness->listener < 0)
		return false;
	if (bind(witness->listener, name, sizeof witness->name) < 0) {
		st_autofd earlier = connect_to(&witness->name);
		if (earlier < 0 || !receive(earlier, &rest) ||
		    bind(witness->listener, name, sizeof witness->name) < 0)
			return false;
	}
	return listen(witness->listener, 4) == 0;
}

static void free_witness(struct st_witness *witness) {
	for (size_t i = 0; i < witness->count; i++)
		release_held(&witness->held[i]);
	st_close_at(&witness->listener);
	st_close_at(&witness->events);
	st_testimony_release(&witness->versions);
	free(witness->root);
	free(witness->state_dir);
	free(witness);
}

void st_witness_start(struct st_witness *witness, int wait_s) {
	if (!witness)
		return;
	/* A child of a child, so that the program that uses the library has none to wait for. */
	pid_t child = wait_s > 0 && witness->count > 0 && take_name(witness) ? fork() : -1;
	if (child == 0) {
		if (setsid() >= 0 && fork() == 0)
			run_witness(witness, wait_s);
		_exit(0);
	}
	if (child > 0)
		(void)st_retry(waitpid(child, NULL, 0));
	free_witness(witness);
}
