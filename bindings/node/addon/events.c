/*
 * Watchers and managers, whose events arrive on the loop of the host.
 *
 * One thread per instance of the addon waits for the descriptors of its watchers. It calls nothing of
 * the library: when one is readable it queues the watcher's number for the loop (a thread-safe function,
 * which Node and Bun both have; Bun has no uv_poll), and index.js calls dispatch(), which reads the
 * events and waits for that descriptor again. The loop stays alive while a watcher is started.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "call.h"

struct poller {
	int epoll;
	/** Ends the thread. */
	int end;
	pthread_t thread;
	/** Receives the numbers of watchers with events, until the engine says that it is closing. */
	napi_threadsafe_function queue;
	bool queue_is_closed;
	/** How many watchers are started. */
	size_t watched;
};

/** The events of a dispatch: path, NUL, event, NUL, and so on. */
struct changes {
	char *ptr;
	size_t len, cap;
	bool failed;
};

void changes_free(struct changes *changes) {
	if (changes)
		free(changes->ptr);
	free(changes);
}

/* ---- the thread ---- */

static void *wait_for_descriptors(void *data) {
	struct poller *poller = data;
	for (;;) {
		struct epoll_event events[32];
		int count = epoll_wait(poller->epoll, events, 32, -1);
		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++) {
			/* 0 is the end; watchers have numbers from 1. */
			void *number = events[i].data.ptr;
			if (!number)
				return NULL;
			napi_status status =
				napi_call_threadsafe_function(poller->queue, number, napi_tsfn_nonblocking);
			if (status == napi_closing) {
				poller->queue_is_closed = true;
				return NULL;
			}
		}
	}
}

/* On the loop: a descriptor is readable. */
static void call_readable(napi_env env, napi_value readable, void *context, void *number) {
	(void)context;
	napi_value global = NULL, argument = NULL;
	if (env && readable && napi_get_global(env, &global) == napi_ok &&
	    napi_create_double(env, (double)(uintptr_t)number, &argument) == napi_ok)
		napi_call_function(env, global, readable, 1, &argument, NULL);
}

static bool add_end(struct poller *poller) {
	struct epoll_event event = {.events = EPOLLIN};
	return poller->epoll >= 0 && poller->end >= 0 &&
	       epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->end, &event) == 0;
}

/* The thread takes no signals: they are the host's. */
static bool start_thread(struct poller *poller) {
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&poller->thread, NULL, wait_for_descriptors, poller) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static bool create_queue(struct call *call, struct poller *poller) {
	napi_value readable = NULL, name = value_of_string(call->env, "stet");
	return name &&
	       napi_get_reference_value(call->env, call->addon->on_readable, &readable) == napi_ok &&
	       napi_create_threadsafe_function(call->env, readable, NULL, name, 0, 1, NULL, NULL, NULL,
	                                       call_readable, &poller->queue) == napi_ok;
}

static void end_poller(void *data) {
	struct addon *addon = data;
	struct poller *poller = addon->poller;
	uint64_t one = 1;
	addon->poller = NULL;
	if (write(poller->end, &one, sizeof one) == sizeof one)
		pthread_join(poller->thread, NULL);
	if (!poller->queue_is_closed)
		napi_release_threadsafe_function(poller->queue, napi_tsfn_abort);
	close(poller->epoll);
	close(poller->end);
	free(poller);
}

static struct poller *new_poller(struct call *call) {
	struct poller *poller = calloc(1, sizeof *poller);
	if (!poller)
		return NULL;
	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	poller->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (add_end(poller) && create_queue(call, poller)) {
		if (start_thread(poller) &&
		    napi_add_env_cleanup_hook(call->env, end_poller, call->addon) == napi_ok)
			return poller;
		napi_release_threadsafe_function(poller->queue, napi_tsfn_abort);
	}
	close(poller->epoll);
	close(poller->end);
	free(poller);
	return NULL;
}

/* ---- watching a descriptor ---- */

static int descriptor_of(const struct handle *handle) {
	return handle->kind == HANDLE_MANAGER ? stet_manager_fd(handle->pointer)
	                                      : stet_watcher_fd(handle->pointer);
}

/* Report a descriptor once, when it is readable. */
static bool arm(struct poller *poller, int operation, int descriptor, int64_t number) {
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT,
		.data.ptr = (void *)(uintptr_t)number,
	};
	return epoll_ctl(poller->epoll, operation, descriptor, &event) == 0;
}

static napi_value throw_limit(struct call *call) {
	snprintf(call->err.message, sizeof call->err.message, "stet cannot wait for events: %s.",
	         strerror(errno));
	return call_throw(call, STET_E_LIMIT, NULL);
}

/* Begin to wait for the events of a watcher that was started; index.js knows it by its number. */
static napi_value watch(struct call *call) {
	struct addon *addon = call->addon;
	if (!addon->poller)
		addon->poller = new_poller(call);
	struct poller *poller = addon->poller;
	if (!poller || !arm(poller, EPOLL_CTL_ADD, descriptor_of(HANDLE(call)), NUMBER(call, 1)))
		return throw_limit(call);
	if (poller->watched++ == 0)
		napi_ref_threadsafe_function(call->env, poller->queue);
	return NULL;
}

/* Before a watcher is stopped, which closes its descriptor. */
static napi_value unwatch(struct call *call) {
	struct poller *poller = call->addon->poller;
	if (!poller)
		return NULL;
	int descriptor = descriptor_of(HANDLE(call));
	if (descriptor >= 0)
		epoll_ctl(poller->epoll, EPOLL_CTL_DEL, descriptor, NULL);
	if (poller->watched > 0 && --poller->watched == 0)
		napi_unref_threadsafe_function(call->env, poller->queue);
	return NULL;
}

/* ---- dispatching ---- */

static bool changes_reserve(struct changes *changes, size_t len) {
	if (changes->cap - changes->len >= len)
		return true;
	size_t cap = 2 * changes->cap + len + 256;
	char *ptr = realloc(changes->ptr, cap);
	if (!ptr)
		return false;
	changes->ptr = ptr;
	changes->cap = cap;
	return true;
}

static void changes_add(struct changes *changes, const char *string, size_t size) {
	memcpy(changes->ptr + changes->len, string, size);
	changes->len += size;
}

/* The library calls this below dispatch(), which may not call JavaScript: that could free the watcher. */
static void on_change(void *data, const char *path, const char *event) {
	struct changes *changes = data;
	size_t path_size = strlen(path) + 1, event_size = strlen(event) + 1;
	if (!changes_reserve(changes, path_size + event_size)) {
		changes->failed = true;
		return;
	}
	changes_add(changes, path, path_size);
	changes_add(changes, event, event_size);
}

/* [path, event, bytes or null, ...] */
static napi_value changes_array(struct call *call, struct changes *changes) {
	napi_env env = call->env;
	napi_value array = NULL;
	uint32_t count = 0;
	if (napi_create_array(env, &array) != napi_ok)
		return NULL;
	for (size_t at = 0; at < changes->len;) {
		const char *path = changes->ptr + at, *event = path + strlen(path) + 1;
		size_t len = strlen(path);
		at = (size_t)(event + strlen(event) + 1 - changes->ptr);
		napi_set_element(env, array, count++, value_of_text(env, path, len));
		napi_set_element(env, array, count++, value_of_string(env, event));
		napi_set_element(env, array, count++,
		                 is_utf8(path, len) ? value_of_null(env) : value_of_bytes(env, path, len));
	}
	changes->len = 0;
	changes->failed = false;
	return array;
}

/*
 * Read the events that there are, and wait for the next ones. If that is impossible, because the
 * directory was deleted or memory ran out, the array has the reason as its member `ended`.
 */
static napi_value dispatch(struct call *call) {
	struct handle *handle = HANDLE(call);
	if (!handle->pointer)
		return call_throw(call, STET_E_INVALID, NULL);
	struct changes *changes = handle->changes;
	int code = handle->kind == HANDLE_MANAGER
	               ? stet_manager_dispatch(handle->pointer, 0, &call->err)
	               : stet_watcher_dispatch(handle->pointer, 0, &call->err);
	const char *ended = code < 0 ? call->err.message : changes->failed ? "Out of memory." : NULL;
	if (!ended && (!call->addon->poller || !arm(call->addon->poller, EPOLL_CTL_MOD,
	                                            descriptor_of(handle), NUMBER(call, 1))))
		ended = strerror(errno);
	napi_value array = changes_array(call, changes);
	value_set(call->env, array, "ended", value_of_string(call->env, ended));
	return array;
}

/* The next notice of a watcher; null if there is none. */
static napi_value take_notice(struct call *call) {
	char *notice = stet_watcher_notice(POINTER(call));
	return call_string(call, 0, notice, notice ? strlen(notice) : 0);
}

/* ---- watchers and managers ---- */

/* Give a handle the list that its callback fills. */
static napi_value with_changes(struct call *call, napi_value value, struct changes *changes) {
	void *data = NULL;
	if (value && napi_get_value_external(call->env, value, &data) == napi_ok)
		((struct handle *)data)->changes = changes;
	else
		changes_free(changes);
	return value;
}

static napi_value open_watcher(struct call *call) {
	struct stet_watcher *watcher = NULL;
	struct changes *changes = calloc(1, sizeof *changes);
	int code = changes ? stet_watcher_new(PATH(call, 0), on_change, changes, &watcher, &call->err)
	                   : STET_E_NOMEM;
	return with_changes(call, call_handle(call, code, HANDLE_WATCHER, watcher), changes);
}

static napi_value start_watcher(struct call *call) {
	return call_done(call, stet_watcher_start(POINTER(call), &call->err));
}

static napi_value stop_watcher(struct call *call) {
	stet_watcher_stop(POINTER(call));
	return NULL;
}

static napi_value open_manager(struct call *call) {
	struct stet_manager *manager = NULL;
	struct changes *changes = calloc(1, sizeof *changes);
	int code = changes ? stet_manager_new(PATH(call, 0), &manager, &call->err) : STET_E_NOMEM;
	if (code == 0)
		stet_manager_on_change(manager, on_change, changes);
	return with_changes(call, call_handle(call, code, HANDLE_MANAGER, manager), changes);
}

static napi_value initialize_manager(struct call *call) {
	return call_done(call, stet_manager_initialize(POINTER(call), &call->err));
}

static napi_value stop_manager(struct call *call) {
	stet_manager_stop(POINTER(call));
	return NULL;
}

static napi_value track_in_manager(struct call *call) {
	return call_done(call, stet_manager_track_read(POINTER(call), PATH(call, 1), TEXT(call, 2).ptr,
	                                               TEXT(call, 2).len, &call->err));
}

const struct function event_functions[] = {
	{"openWatcher", "p", open_watcher},
	{"startWatcher", "F", start_watcher},
	{"stopWatcher", "F", stop_watcher},
	{"takeNotice", "F", take_notice},
	{"openManager", "p", open_manager},
	{"initializeManager", "M", initialize_manager},
	{"stopManager", "M", stop_manager},
	{"trackInManager", "Mpt", track_in_manager},
	{"watch", "En", watch},
	{"unwatch", "E", unwatch},
	{"dispatch", "En", dispatch},
	{0},
};
