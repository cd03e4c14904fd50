#include "net/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	/* What a stranger has to say who it is. */
	STRANGER_MS = 10'000,
	/* For a refused client to read why. */
	CLOSING_MS = 2000,
	/* Accepted at once; those that are there already have their turn in between. */
	BATCH = 32,
	/* Descriptors that calls need for files: clients do not get these. */
	FILES_RESERVE = 128,
};

struct st_door {
	struct st_door_options options;
	const struct st_connection_rules *rules;
	struct event *event;
	bool rests, shut;
	struct st_connection *connections;
};

/*
 * Whom to part with, if somebody has to go: the oldest stranger, else the one
 * unused the longest. Of those of one millisecond the last in the list is the
 * oldest.
 */
static struct st_connection *find_victim(struct st_door *door, bool strangers_only) {
	struct st_connection *victim = NULL;
	for (struct st_connection *at = door->connections; at; at = at->next) {
		bool idle = at->state == ST_CONNECTION_HEAD && !at->begun;
		if (!at->bev || (at->trusted && (strangers_only || !idle)))
			continue;
		if (!victim || (!at->trusted && victim->trusted) ||
		    (at->trusted == victim->trusted && at->since_ms <= victim->since_ms))
			victim = at;
	}
	return victim;
}

/* How many there are. */
struct crowd {
	size_t all, strangers;
};

static struct crowd count(const struct st_door *door) {
	struct crowd crowd = {0};
	for (const struct st_connection *at = door->connections; at; at = at->next) {
		crowd.all += at->bev != NULL;
		crowd.strangers += at->bev && !at->trusted;
	}
	return crowd;
}

/* Whether one more may come in, and in whose place; NULL if there is a free one. */
static bool find_place(struct st_door *door, struct st_connection **victim) {
	struct crowd crowd = count(door);
	bool strangers_full = crowd.strangers >= (door->options.max_connections + 1) / 2;
	*victim = NULL;
	if (!strangers_full && crowd.all < door->options.max_connections)
		return true;
	*victim = find_victim(door, strangers_full);
	return *victim != NULL;
}

/* Free what was closed. */
static void reap(struct st_door *door) {
	for (struct st_connection **place = &door->connections, *at; (at = *place);) {
		if (at->bev) {
			place = &at->next;
			continue;
		}
		*place = at->next;
		st_connection_free(at);
	}
}

static bool is_user(int fd) {
	struct ucred peer;
	socklen_t len = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void turn_away(int fd) {
	static const char answer[] =
		"HTTP/1.1 403 Forbidden\r\n"
		"Content-Type: text/plain; charset=utf-8\r\n"
		"Connection: close\r\n"
		"\r\n"
		"This socket is for the user of the server only.\n";
	ssize_t sent = send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)sent;
	close(fd);
}

static void let_in(struct st_door *door, int fd) {
	int one = 1;
	if (door->options.checks_user && !is_user(fd)) {
		turn_away(fd);
		return;
	}
	struct st_connection *connection = st_connection_new(door->rules, fd);
	if (!connection) {
		close(fd);
		return;
	}
	if (!door->options.checks_user)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	connection->next = door->connections;
	door->connections = connection;
}

static void rest(struct st_door *door) {
	door->rests = true;
	event_del(door->event);
}

/* Without descriptors a stranger goes; libevent closes behind us, so the next turn finds one free. */
static void free_descriptor(struct st_door *door) {
	struct st_connection *victim = find_victim(door, true);
	if (victim)
		st_connection_close(victim);
	else
		rest(door);
}

/* False if there is nobody to accept. */
static bool accept_one(struct st_door *door, int listener) {
	struct st_connection *victim;
	if (!find_place(door, &victim)) {
		rest(door);
		return false;
	}
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			free_descriptor(door);
		return false;
	}
	if (victim)
		st_connection_close(victim);
	let_in(door, fd);
	return true;
}

static void accept_some(evutil_socket_t listener, short what, void *arg) {
	struct st_door *door = arg;
	reap(door);
	for (int i = 0; i < BATCH && accept_one(door, listener); i++)
		;
}

/* Whether a connection has taken longer than it may. */
static bool is_late(const struct st_door *door, const struct st_connection *at, int64_t now_ms) {
	const struct st_door_options *options = &door->options;
	int64_t limit_ms = INT64_MAX;
	if (at->state == ST_CONNECTION_HEAD)
		limit_ms = (at->begun ? options->request_time : options->connection_idle) * 1000;
	else if (at->state == ST_CONNECTION_BODY)
		limit_ms = options->request_time * 1000;
	else if (at->state == ST_CONNECTION_CLOSING)
		limit_ms = CLOSING_MS;
	if (at->state == ST_CONNECTION_HEAD && (at->begun || !at->trusted) && limit_ms > STRANGER_MS)
		limit_ms = STRANGER_MS;
	return now_ms - at->since_ms > limit_ms;
}

void st_door_tend(struct st_door *door) {
	int64_t now_ms = st_now_ms();
	for (struct st_connection *at = door->connections; at; at = at->next) {
		if (is_late(door, at, now_ms))
			st_connection_close(at);
	}
	reap(door);
	if (door->rests && !door->shut && event_add(door->event, NULL) == 0)
		door->rests = false;
}

size_t st_door_count(const struct st_door *door) {
	return count(door).all;
}

bool st_door_is_flushed(const struct st_door *door) {
	for (const struct st_connection *at = door->connections; at; at = at->next) {
		if (st_request_unsent(&at->request) > 0)
			return false;
	}
	return true;
}

/* No more clients than there are descriptors, less those for files. */
static size_t places(size_t wanted) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	size_t all = (size_t)limit.rlim_cur;
	size_t here = all > 2 * FILES_RESERVE ? all - FILES_RESERVE : (all + 1) / 2;
	return wanted < here ? wanted : here;
}

int st_door_new(int fd, const struct st_door_options *options,
                const struct st_connection_rules *rules, struct st_door **out,
                struct stet_error *err) {
	struct st_door *door = calloc(1, sizeof *door);
	struct event *event =
		door ? event_new(rules->base, fd, EV_READ | EV_PERSIST, accept_some, door) : NULL;
	if (!event || event_add(event, NULL) < 0) {
		if (event)
			event_free(event);
		free(door);
		return st_fail_nomem(err);
	}
	*door = (struct st_door){.options = *options, .rules = rules, .event = event};
	door->options.max_connections = places(options->max_connections);
	*out = door;
	return 0;
}

void st_door_shut(struct st_door *door) {
	door->shut = true;
	event_del(door->event);
}

void st_door_free(struct st_door *door) {
	if (!door)
		return;
	event_free(door->event);
	for (struct st_connection *at = door->connections, *next; at; at = next) {
		next = at->next;
		st_connection_free(at);
	}
	free(door);
}
