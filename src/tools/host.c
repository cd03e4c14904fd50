/* A host: its workspaces, and the clients that work in them. */
#include "tools/host_state.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "stet/instructions.h"

enum {
	NAME_LEN_MAX = 64,
	/* Clients with a name, in use or not. */
	NAMED_MAX = 1000,
	/* Clients in use. */
	CLIENTS_MAX = 10000,
};

#define IDLE_MAX_MS ((int64_t)24 * 60 * 60 * 1000)

/* ---- workspaces ---- */

struct stet_workspace *st_host_find_root(struct stet_workspace *const *spaces, size_t count,
                                         const struct stet_workspace *ws) {
	for (size_t i = 0; i < count; i++) {
		const struct st_root *root = &spaces[i]->root;
		if (root->dev == ws->root.dev && root->ino == ws->root.ino)
			return spaces[i];
	}
	return NULL;
}

static int open_root(struct stet_host *host, const char *path, struct stet_error *err) {
	struct stet_workspace *ws = NULL;
	int code = stet_workspace_open(path, &ws, err);
	if (code < 0)
		return code;
	if (st_host_find_root(host->spaces, host->count, ws))
		stet_workspace_close(ws);
	else
		host->spaces[host->count++] = ws;
	return 0;
}

static int open_roots(struct stet_host *host, const char *const *roots, size_t count,
                      struct stet_error *err) {
	st_auto(st_buf) left_out = ST_BUF_INIT;
	struct stet_error why = {0};
	for (size_t i = 0; i < count; i++) {
		struct stet_error own = {0};
		int code = open_root(host, roots[i], &own);
		if (code == STET_E_NOMEM)
			return st_fail_nomem(err);
		if (code < 0 && why.code == 0)
			why = own;
		if (code < 0)
			st_buf_addf(&left_out, "%s%s", left_out.len > 0 ? " " : "", own.message);
	}
	if (host->count == 0)
		return st_fail(err, why.code, "%s", why.message);
	if (left_out.len > 0)
		st_write_notice(&host->spaces[0]->writes, "A directory was left out. %s",
		                st_buf_cstr(&left_out));
	return 0;
}

int stet_host_open(const char *const *roots, size_t count, struct stet_host **out,
                   struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	if (count == 0 || count > ST_ROOTS_MAX)
		return st_fail(err, STET_E_INVALID, "Name 1 to %d directories to work in, not %zu.",
		               ST_ROOTS_MAX, count);
	struct stet_host *host = calloc(1, sizeof *host);
	if (!host)
		return st_fail_nomem(err);
	pthread_mutex_init(&host->lock, NULL);
	int code = open_roots(host, roots, count, err);
	if (code < 0) {
		stet_host_close(host);
		return code;
	}
	*out = host;
	return 0;
}

static void link_client(struct stet_client *client) {
	struct stet_host *host = client->host;
	pthread_mutex_lock(&host->lock);
	client->after = host->clients;
	if (client->after)
		client->after->before = client;
	host->clients = client;
	pthread_mutex_unlock(&host->lock);
}

static void unlink_client(struct stet_client *client) {
	struct stet_host *host = client->host;
	pthread_mutex_lock(&host->lock);
	if (client->after)
		client->after->before = client->before;
	if (client->before)
		client->before->after = client->after;
	else
		host->clients = client->after;
	pthread_mutex_unlock(&host->lock);
}

static void client_free(struct stet_client *client) {
	unlink_client(client);
	for (size_t i = 0; i < client->host->count; i++)
		stet_session_close(client->sessions[i]);
	pthread_mutex_destroy(&client->lock);
	free(client->owner);
	free(client->name);
	free(client);
}

static void free_clients(struct stet_client *list) {
	while (list) {
		struct stet_client *client = list;
		list = client->next;
		client_free(client);
	}
}

void stet_host_close(struct stet_host *host) {
	if (!host)
		return;
	free_clients(host->named);
	for (size_t i = 0; i < host->count; i++)
		stet_workspace_close(host->spaces[i]);
	pthread_mutex_destroy(&host->lock);
	st_limits_free(host->limits, host->limit_count);
	free(host->session);
	free(host);
}

struct stet_workspace *stet_host_workspace(const struct stet_host *host, size_t n) {
	if (!host)
		return NULL;
	return n < host->count ? host->spaces[n] : NULL;
}

int stet_host_set(struct stet_host *host, enum stet_option option, int64_t value,
                  struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	int code = 0;
	for (size_t i = 0; i < host->count && code == 0; i++)
		code = stet_workspace_set(host->spaces[i], option, value, err);
	return code;
}

int stet_host_allow(struct stet_host *host, const char *extensions, struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	int code = 0;
	for (size_t i = 0; i < host->count && code == 0; i++)
		code = stet_workspace_allow(host->spaces[i], extensions, err);
	return code;
}

int stet_host_instructions_names(struct stet_host *host, const char *names,
                                 struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	int code = 0;
	for (size_t i = 0; i < host->count && code == 0; i++)
		code = stet_instructions_names(host->spaces[i], names, err);
	return code;
}

char *stet_host_notice(struct stet_host *host) {
	if (!host)
		return NULL;
	char *notice = NULL;
	for (size_t i = 0; i < host->count && !notice; i++)
		notice = st_write_take_notice(&host->spaces[i]->writes, false);
	return notice;
}

void stet_host_drain(struct stet_host *host, int64_t grace_ms) {
	if (!host)
		return;
	for (size_t i = 0; i < host->count; i++)
		stet_workspace_drain(host->spaces[i], grace_ms);
}

/* ---- clients ---- */

static bool is_alphanumeric(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int check_name(struct st_str name, struct stet_error *err) {
	bool fits = name.len > 0 && name.len <= NAME_LEN_MAX && is_alphanumeric(name.ptr[0]);
	for (size_t i = 0; i < name.len && fits; i++)
		fits = is_alphanumeric(name.ptr[i]) || (name.ptr[i] && strchr("._-", name.ptr[i]));
	if (fits)
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "\"%.*s\" cannot be the name of a session. Use 1 to %d letters, digits, \".\", "
	               "\"_\" or \"-\", beginning with a letter or digit.",
	               (int)st_utf8_cut(name, 100), name.ptr, NAME_LEN_MAX);
}

/*
 * Label a session with the name that its client program gave itself, which may be
 * any text, after the name of its caller, if the server knows one.
 */
static void set_label(struct stet_session *session, const struct stet_client *client,
                      struct st_str program) {
	const char *caller = st_client_has_caller(client) ? client->owner : "";
	program.len = st_utf8_cut(program, sizeof session->program - 1);
	/* Every call names its program, and nearly always the same one. */
	if (st_str_eq(program, st_str(session->program)))
		return;
	snprintf(session->program, sizeof session->program, "%.*s", (int)program.len, program.ptr);
	snprintf(session->label, sizeof session->label, "%s%s%s #%u", caller, *caller ? ":" : "",
	         session->program, client->number);
}

/* Other sessions read this name in "session NAME wrote the current version". */
int st_client_open_session(const struct stet_client *client, struct stet_workspace *ws,
                           struct stet_session **out, struct stet_error *err) {
	st_auto(st_buf) name = ST_BUF_INIT;
	if (client->name)
		st_buf_addf(&name, "%s%s%s", client->owner, *client->owner ? ":" : "", client->name);
	if (name.failed)
		return st_fail_nomem(err);
	int code = stet_session_open(ws, name.ptr, out, err);
	if (code < 0)
		return code;
	(*out)->stateless = client->stateless;
	set_label(*out, client, ST_STR("client"));
	return 0;
}

static int open_sessions(const struct stet_client *client, struct stet_session **sessions,
                         struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < client->host->count && code == 0; i++)
		code = st_client_open_session(client, client->host->spaces[i], &sessions[i], err);
	return code;
}

static void close_sessions(struct stet_session **sessions, size_t count) {
	for (size_t i = 0; i < count; i++)
		stet_session_close(sessions[i]);
}

static int client_new(struct stet_host *host, const char *owner, const char *name, bool stateless,
                      struct stet_client **out, struct stet_error *err) {
	struct stet_client *client = calloc(1, sizeof *client);
	if (!client)
		return st_fail_nomem(err);
	client->host = host;
	client->stateless = stateless;
	client->number = name ? 0 : ++host->unnamed;
	client->refs = 1;
	client->used_ms = st_now_ms();
	client->owner = strdup(owner);
	client->name = name ? strdup(name) : NULL;
	pthread_mutex_init(&client->lock, NULL);
	link_client(client);
	int code = client->owner && (client->name || !name) ? 0 : st_fail_nomem(err);
	if (code == 0 && !stateless)
		code = open_sessions(client, client->sessions, err);
	if (code < 0) {
		client_free(client);
		return code;
	}
	*out = client;
	return 0;
}

static struct stet_client *find_named(struct stet_host *host, const char *owner, const char *name) {
	struct stet_client *client = host->named;
	while (client && (strcmp(client->name, name) != 0 || strcmp(client->owner, owner) != 0))
		client = client->next;
	return client;
}

/*
 * Unlink the named clients that have been idle too long; if there are none and
 * the list is full, the one that has been idle longest. The caller frees them.
 */
static struct stet_client *unlink_idle(struct stet_host *host) {
	struct stet_client *idle = NULL, **oldest = NULL;
	int64_t now = st_now_ms();
	for (struct stet_client **at = &host->named; *at;) {
		struct stet_client *client = *at;
		if (client->refs == 0 && now - client->used_ms > IDLE_MAX_MS) {
			*at = client->next;
			client->next = idle;
			idle = client;
			host->named_count--;
			continue;
		}
		if (client->refs == 0 && (!oldest || client->used_ms < (*oldest)->used_ms))
			oldest = at;
		at = &client->next;
	}
	if (!idle && host->named_count == NAMED_MAX && oldest) {
		idle = *oldest;
		*oldest = idle->next;
		idle->next = NULL;
		host->named_count--;
	}
	return idle;
}

/* Count one more client in use and, if it is named, make room in the list of names. */
static int reserve_client(struct stet_host *host, bool named, struct stet_error *err) {
	pthread_mutex_lock(&host->lock);
	struct stet_client *idle = named ? unlink_idle(host) : NULL;
	bool full = host->client_count == CLIENTS_MAX || (named && host->named_count == NAMED_MAX);
	if (!full) {
		host->client_count++;
		host->named_count += named;
	}
	pthread_mutex_unlock(&host->lock);
	free_clients(idle);
	return full ? st_fail(err, STET_E_LIMIT,
	                      "Too many sessions are in use. Use an existing session, or try again "
	                      "later.")
	            : 0;
}

static void unreserve_client(struct stet_host *host, bool named) {
	pthread_mutex_lock(&host->lock);
	host->client_count--;
	host->named_count -= named;
	pthread_mutex_unlock(&host->lock);
}

/* Take a reference to the client with this name; NULL if there is none. */
static struct stet_client *get_named(struct stet_host *host, const char *owner, const char *name) {
	pthread_mutex_lock(&host->lock);
	struct stet_client *client = find_named(host, owner, name);
	if (client) {
		host->client_count += client->refs == 0;
		client->refs++;
	}
	pthread_mutex_unlock(&host->lock);
	return client;
}

/* Link a new client under its name. If another thread has just linked one, use that and free ours. */
static struct stet_client *publish_client(struct stet_client *client) {
	struct stet_host *host = client->host;
	pthread_mutex_lock(&host->lock);
	struct stet_client *other = find_named(host, client->owner, client->name);
	if (other) {
		host->client_count -= other->refs != 0;
		host->named_count--;
		other->refs++;
	} else {
		client->next = host->named;
		host->named = client;
	}
	pthread_mutex_unlock(&host->lock);
	if (!other)
		return client;
	client_free(client);
	return other;
}

static int add_client(struct stet_host *host, const char *owner, const char *name, bool stateless,
                      struct stet_client **out, struct stet_error *err) {
	struct stet_client *client = NULL;
	int code = reserve_client(host, name != NULL, err);
	if (code < 0)
		return code;
	code = client_new(host, owner, name, stateless, &client, err);
	if (code < 0) {
		unreserve_client(host, name != NULL);
		return code;
	}
	*out = name ? publish_client(client) : client;
	return 0;
}

int stet_host_session(struct stet_host *host, const char *name, struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	int code = check_name(st_str(name), err);
	char *copy = code == 0 ? strdup(name) : NULL;
	if (code == 0 && !copy)
		code = st_fail_nomem(err);
	if (code < 0)
		return code;
	free(host->session);
	host->session = copy;
	return 0;
}

void st_host_number_from(struct stet_host *host, unsigned first) {
	host->unnamed = first - 1;
}

int stet_host_client(struct stet_host *host, const char *owner, const char *name,
                     struct stet_client **out, struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	name = name ? name : host->session;
	int code = name ? check_name(st_str(name), err) : 0;
	if (code < 0)
		return code;
	owner = owner ? owner : "";
	*out = name ? get_named(host, owner, name) : NULL;
	return *out ? 0 : add_client(host, owner, name, false, out, err);
}

int stet_host_stateless(struct stet_host *host, const char *owner, struct stet_client **out,
                        struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	return add_client(host, owner ? owner : "", NULL, true, out, err);
}

void stet_client_release(struct stet_client *client) {
	if (!client)
		return;
	struct stet_host *host = client->host;
	pthread_mutex_lock(&host->lock);
	assert(client->refs > 0 && host->client_count > 0);
	bool last = --client->refs == 0;
	bool gone = last && !client->name;
	client->used_ms = st_now_ms();
	host->client_count -= last;
	pthread_mutex_unlock(&host->lock);
	if (gone)
		client_free(client);
}

const char *stet_client_name(const struct stet_client *client) {
	if (!client)
		return NULL;
	return client->name;
}

struct stet_session *stet_client_borrow(struct stet_client *client, size_t n) {
	if (!client)
		return NULL;
	size_t space = st_client_space(client, n);
	if (client->stateless || space >= client->host->count)
		return NULL;
	pthread_mutex_lock(&client->lock);
	return client->sessions[space];
}

void stet_client_return(struct stet_client *client) {
	if (!client)
		return;
	pthread_mutex_unlock(&client->lock);
}

/* ---- calls ---- */

/*
 * Fill in the sessions of the workspaces that the client may use. A stateless
 * client gets new sessions for each call.
 */
static int add_call_sessions(struct st_call *call, struct stet_error *err) {
	struct stet_client *client = call->client;
	int code = 0;
	for (size_t n = 0, space; code == 0 && (space = st_client_space(client, n)) < ST_ROOTS_MAX;
	     n++) {
		if (client->stateless)
			code = st_client_open_session(client, client->host->spaces[space], &call->sessions[n],
			                              err);
		else
			call->sessions[n] = client->sessions[space];
		call->session_count += code == 0;
	}
	if (code == 0 && call->session_count == 0)
		code =
			st_fail(err, STET_E_ACCESS,
		            "No directory is left that your token may use. Ask whoever runs this server.");
	return code;
}

/* Most clients may use all workspaces and have their sessions already. */
static int find_call_sessions(struct st_call *call, struct stet_error *err) {
	struct stet_client *client = call->client;
	if (!client->stateless && !st_client_is_limited(client)) {
		call->sessions = client->sessions;
		call->session_count = client->host->count;
		return 0;
	}
	call->sessions = calloc(client->host->count, sizeof *call->sessions);
	call->owns_sessions = true;
	return call->sessions ? add_call_sessions(call, err) : st_fail_nomem(err);
}

/* Switch to the client that the argument "session" names. Some clients send "" to leave it out. */
static int choose_client(struct st_call *call, struct stet_error *err) {
	struct stet_client *client = call->client;
	struct st_str name = st_arg_str(call, "session");
	if (name.len == 0)
		return 0;
	/* This also refuses NUL, so that the name can be used as a C string. */
	int code = check_name(name, err);
	if (code == 0)
		code = stet_host_client(client->host, client->owner, name.ptr, &client, err);
	if (code < 0)
		return code;
	call->client = client;
	call->named = true;
	return 0;
}

static int check_read_only(const struct st_call *call, struct stet_error *err) {
	if (call->tool->hints & ST_HINT_READ_ONLY || !st_client_is_read_only(call->client))
		return 0;
	return st_fail(
		err, STET_E_ACCESS, "%s is not allowed: %s. Nothing was changed.", call->tool->name,
		call->client->host->spaces[0]->read_only ? "this server was started with --read-only"
												 : "your token may only read");
}

int st_client_begin_call(struct st_call *call, struct stet_error *err) {
	int code = check_read_only(call, err);
	if (code == 0)
		code = choose_client(call, err);
	if (code < 0)
		return code;
	assert(call->client->host->count > 0);
	if (!call->client->stateless)
		pthread_mutex_lock(&call->client->lock);
	call->begun = true;
	code = find_call_sessions(call, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < call->session_count && call->watch; i++)
		if (call->watch->client.len > 0)
			set_label(call->sessions[i], call->client, call->watch->client);
	call->session = call->sessions[0];
	return 0;
}

void st_client_end_call(struct st_call *call) {
	if (!call->begun)
		return;
	if (call->client->stateless)
		close_sessions(call->sessions, call->session_count);
	else
		pthread_mutex_unlock(&call->client->lock);
	if (call->owns_sessions)
		free(call->sessions);
	if (call->named)
		stet_client_release(call->client);
}
