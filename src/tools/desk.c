#include "tools/desk_state.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "stet/agents.h"

enum {
	NAME_LEN_MAX = 64,
	/* Agents with a name, in use or not; and all that are in use. */
	NAMED_MAX = 1000,
	AGENTS_MAX = 10000,
};

#define IDLE_MAX_MS ((int64_t)24 * 60 * 60 * 1000)

/* ---- the desk ---- */

struct stet_workspace *st_desk_find_root(struct stet_workspace *const *spaces, size_t count,
                                         const struct stet_workspace *ws) {
	for (size_t i = 0; i < count; i++) {
		const struct st_root *root = &spaces[i]->root;
		if (root->dev == ws->root.dev && root->ino == ws->root.ino)
			return spaces[i];
	}
	return NULL;
}

static int add_root(struct stet_desk *desk, const char *path, struct stet_error *err) {
	struct stet_workspace *ws = NULL;
	int code = stet_workspace_open(path, &ws, err);
	if (code < 0)
		return code;
	if (st_desk_find_root(desk->spaces, desk->count, ws))
		stet_workspace_close(ws);
	else
		desk->spaces[desk->count++] = ws;
	return 0;
}

static int add_roots(struct stet_desk *desk, const char *const *roots, size_t count,
                     struct stet_error *err) {
	st_auto(st_buf) left_out = ST_BUF_INIT;
	struct stet_error why = {0};
	for (size_t i = 0; i < count; i++) {
		struct stet_error own = {0};
		int code = add_root(desk, roots[i], &own);
		if (code == STET_E_NOMEM)
			return st_fail_nomem(err);
		if (code < 0 && why.code == 0)
			why = own;
		if (code < 0)
			st_buf_addf(&left_out, "%s%s", left_out.len > 0 ? " " : "", own.message);
	}
	if (desk->count == 0)
		return st_fail(err, why.code, "%s", why.message);
	if (left_out.len > 0)
		st_guard_notice(&desk->spaces[0]->guard, "A directory was left out. %s",
		                st_buf_cstr(&left_out));
	return 0;
}

int stet_desk_open(const char *const *roots, size_t count, struct stet_desk **out,
                   struct stet_error *err) {
	*out = NULL;
	if (count == 0 || count > ST_ROOTS_MAX)
		return st_fail(err, STET_E_INVALID, "Name 1 to %d directories to work in, not %zu.",
		               ST_ROOTS_MAX, count);
	struct stet_desk *desk = calloc(1, sizeof *desk);
	if (!desk)
		return st_fail_nomem(err);
	pthread_mutex_init(&desk->lock, NULL);
	int code = add_roots(desk, roots, count, err);
	if (code < 0) {
		stet_desk_close(desk);
		return code;
	}
	*out = desk;
	return 0;
}

static void link_agent(struct stet_agent *agent) {
	struct stet_desk *desk = agent->desk;
	pthread_mutex_lock(&desk->lock);
	agent->after = desk->agents;
	if (agent->after)
		agent->after->before = agent;
	desk->agents = agent;
	pthread_mutex_unlock(&desk->lock);
}

static void unlink_agent(struct stet_agent *agent) {
	struct stet_desk *desk = agent->desk;
	pthread_mutex_lock(&desk->lock);
	if (agent->after)
		agent->after->before = agent->before;
	if (agent->before)
		agent->before->after = agent->after;
	else
		desk->agents = agent->after;
	pthread_mutex_unlock(&desk->lock);
}

static void agent_free(struct stet_agent *agent) {
	unlink_agent(agent);
	for (size_t i = 0; i < agent->desk->count; i++)
		stet_session_close(agent->sessions[i]);
	pthread_mutex_destroy(&agent->lock);
	free(agent->owner);
	free(agent->name);
	free(agent);
}

void stet_desk_close(struct stet_desk *desk) {
	if (!desk)
		return;
	while (desk->named) {
		struct stet_agent *agent = desk->named;
		desk->named = agent->next;
		agent_free(agent);
	}
	for (size_t i = 0; i < desk->count; i++)
		stet_workspace_close(desk->spaces[i]);
	pthread_mutex_destroy(&desk->lock);
	free(desk->session);
	free(desk);
}

struct stet_workspace *stet_desk_workspace(const struct stet_desk *desk, size_t n) {
	return n < desk->count ? desk->spaces[n] : NULL;
}

int stet_desk_set(struct stet_desk *desk, enum stet_option option, int64_t value,
                  struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < desk->count && code == 0; i++)
		code = stet_workspace_set(desk->spaces[i], option, value, err);
	return code;
}

int stet_desk_allow(struct stet_desk *desk, const char *extensions, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < desk->count && code == 0; i++)
		code = stet_workspace_allow(desk->spaces[i], extensions, err);
	return code;
}

int stet_desk_agents_names(struct stet_desk *desk, const char *names, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < desk->count && code == 0; i++)
		code = stet_agents_names(desk->spaces[i], names, err);
	return code;
}

char *stet_desk_notice(struct stet_desk *desk) {
	char *notice = NULL;
	for (size_t i = 0; i < desk->count && !notice; i++)
		notice = stet_workspace_notice(desk->spaces[i]);
	return notice;
}

void stet_desk_settle(struct stet_desk *desk, int64_t grace_ms) {
	for (size_t i = 0; i < desk->count; i++)
		stet_workspace_settle(desk->spaces[i], grace_ms);
}

/* ---- agents ---- */

static bool is_plain(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int check_name(struct st_str name, struct stet_error *err) {
	bool fits = name.len > 0 && name.len <= NAME_LEN_MAX && is_plain(name.ptr[0]);
	for (size_t i = 0; i < name.len && fits; i++)
		fits = is_plain(name.ptr[i]) || (name.ptr[i] && strchr("._-", name.ptr[i]));
	if (fits)
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "\"%.*s\" cannot be the name of a session. Use 1 to %d letters, digits, \".\", "
	               "\"_\" or \"-\", beginning with a letter or digit.",
	               (int)st_utf8_cut(name, 100), name.ptr, NAME_LEN_MAX);
}

/* What clients call themselves may be long, or anything. */
static void label(struct stet_session *session, struct st_str client, unsigned number) {
	snprintf(session->label, sizeof session->label, "%.*s #%u", (int)st_utf8_cut(client, 64),
	         client.ptr, number);
}

/* The same of a client that says who it is, as most calls say again. */
static void relabel(struct stet_session *session, struct st_str client, unsigned number) {
	struct st_str now = st_str(session->label);
	bool same = st_str_starts(now, client) &&
	            st_str_starts(st_str_slice(now, client.len, now.len), ST_STR(" #"));
	if (client.len > 0 && !same)
		label(session, client, number);
}

/* Its name is what others read in "session NAME wrote the current version". */
int st_agent_open_session(const struct stet_agent *agent, struct stet_workspace *ws,
                          struct stet_session **out, struct stet_error *err) {
	st_auto(st_buf) name = ST_BUF_INIT;
	if (agent->name)
		st_buf_addf(&name, "%s%s%s", agent->owner, *agent->owner ? ":" : "", agent->name);
	if (name.failed)
		return st_fail_nomem(err);
	int code = stet_session_open(ws, name.ptr, out, err);
	if (code < 0)
		return code;
	(*out)->stateless = agent->stateless;
	label(*out, ST_STR("client"), agent->number);
	return 0;
}

static int open_sessions(const struct stet_agent *agent, struct stet_session **sessions,
                         struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < agent->desk->count && code == 0; i++)
		code = st_agent_open_session(agent, agent->desk->spaces[i], &sessions[i], err);
	return code;
}

static void close_sessions(struct stet_session **sessions, size_t count) {
	for (size_t i = 0; i < count; i++)
		stet_session_close(sessions[i]);
}

static int agent_new(struct stet_desk *desk, const char *owner, const char *name, bool stateless,
                     struct stet_agent **out, struct stet_error *err) {
	struct stet_agent *agent = calloc(1, sizeof *agent);
	if (!agent)
		return st_fail_nomem(err);
	agent->desk = desk;
	agent->stateless = stateless;
	agent->number = name ? 0 : ++desk->unnamed;
	agent->refs = 1;
	agent->used_ms = st_now_ms();
	agent->owner = strdup(owner);
	agent->name = name ? strdup(name) : NULL;
	pthread_mutex_init(&agent->lock, NULL);
	link_agent(agent);
	int code = agent->owner && (agent->name || !name) ? 0 : st_fail_nomem(err);
	if (code == 0 && !stateless)
		code = open_sessions(agent, agent->sessions, err);
	if (code < 0) {
		agent_free(agent);
		return code;
	}
	*out = agent;
	return 0;
}

static struct stet_agent *find_named(struct stet_desk *desk, const char *owner, const char *name) {
	struct stet_agent *agent = desk->named;
	while (agent && (strcmp(agent->name, name) != 0 || strcmp(agent->owner, owner) != 0))
		agent = agent->next;
	return agent;
}

/* Take the agents out that have been idle too long, or one if there is no room. They are to be freed. */
static struct stet_agent *take_idle(struct stet_desk *desk) {
	struct stet_agent *idle = NULL, **oldest = NULL;
	int64_t now = st_now_ms();
	for (struct stet_agent **at = &desk->named; *at;) {
		struct stet_agent *agent = *at;
		if (agent->refs == 0 && now - agent->used_ms > IDLE_MAX_MS) {
			*at = agent->next;
			agent->next = idle;
			idle = agent;
			desk->named_count--;
			continue;
		}
		if (agent->refs == 0 && (!oldest || agent->used_ms < (*oldest)->used_ms))
			oldest = at;
		at = &agent->next;
	}
	if (!idle && desk->named_count == NAMED_MAX && oldest) {
		idle = *oldest;
		*oldest = idle->next;
		idle->next = NULL;
		desk->named_count--;
	}
	return idle;
}

static void free_all(struct stet_agent *list) {
	while (list) {
		struct stet_agent *agent = list;
		list = agent->next;
		agent_free(agent);
	}
}

/* Count one more agent in use, and make room for its name. */
static int reserve(struct stet_desk *desk, bool named, struct stet_error *err) {
	pthread_mutex_lock(&desk->lock);
	struct stet_agent *idle = named ? take_idle(desk) : NULL;
	bool full = desk->agent_count == AGENTS_MAX || (named && desk->named_count == NAMED_MAX);
	if (!full) {
		desk->agent_count++;
		desk->named_count += named;
	}
	pthread_mutex_unlock(&desk->lock);
	free_all(idle);
	return full ? st_fail(err, STET_E_LIMIT,
	                      "Too many sessions are in use at once. Use one that is there, or try "
	                      "again later.")
	            : 0;
}

static void unreserve(struct stet_desk *desk, bool named) {
	pthread_mutex_lock(&desk->lock);
	desk->agent_count--;
	desk->named_count -= named;
	pthread_mutex_unlock(&desk->lock);
}

/* One more user of an agent that is there; NULL if none is. */
static struct stet_agent *get_named(struct stet_desk *desk, const char *owner, const char *name) {
	pthread_mutex_lock(&desk->lock);
	struct stet_agent *agent = find_named(desk, owner, name);
	if (agent) {
		desk->agent_count += agent->refs == 0;
		agent->refs++;
	}
	pthread_mutex_unlock(&desk->lock);
	return agent;
}

/* Put a new one under its name, unless somebody was faster: then that one is it. */
static struct stet_agent *publish(struct stet_agent *agent) {
	struct stet_desk *desk = agent->desk;
	pthread_mutex_lock(&desk->lock);
	struct stet_agent *other = find_named(desk, agent->owner, agent->name);
	if (other) {
		desk->agent_count -= other->refs != 0;
		desk->named_count--;
		other->refs++;
	} else {
		agent->next = desk->named;
		desk->named = agent;
	}
	pthread_mutex_unlock(&desk->lock);
	if (!other)
		return agent;
	agent_free(agent);
	return other;
}

static int make_agent(struct stet_desk *desk, const char *owner, const char *name, bool stateless,
                      struct stet_agent **out, struct stet_error *err) {
	struct stet_agent *agent = NULL;
	int code = reserve(desk, name != NULL, err);
	if (code < 0)
		return code;
	code = agent_new(desk, owner, name, stateless, &agent, err);
	if (code < 0) {
		unreserve(desk, name != NULL);
		return code;
	}
	*out = name ? publish(agent) : agent;
	return 0;
}

int stet_desk_session(struct stet_desk *desk, const char *name, struct stet_error *err) {
	int code = check_name(st_str(name), err);
	char *copy = code == 0 ? strdup(name) : NULL;
	if (code == 0 && !copy)
		code = st_fail_nomem(err);
	if (code < 0)
		return code;
	free(desk->session);
	desk->session = copy;
	return 0;
}

void st_desk_number_from(struct stet_desk *desk, unsigned first) {
	desk->unnamed = first - 1;
}

int stet_desk_agent(struct stet_desk *desk, const char *owner, const char *name,
                    struct stet_agent **out, struct stet_error *err) {
	*out = NULL;
	name = name ? name : desk->session;
	int code = name ? check_name(st_str(name), err) : 0;
	if (code < 0)
		return code;
	owner = owner ? owner : "";
	*out = name ? get_named(desk, owner, name) : NULL;
	return *out ? 0 : make_agent(desk, owner, name, false, out, err);
}

int stet_desk_stateless(struct stet_desk *desk, const char *owner, struct stet_agent **out,
                        struct stet_error *err) {
	*out = NULL;
	return make_agent(desk, owner ? owner : "", NULL, true, out, err);
}

void stet_agent_release(struct stet_agent *agent) {
	if (!agent)
		return;
	struct stet_desk *desk = agent->desk;
	pthread_mutex_lock(&desk->lock);
	bool last = --agent->refs == 0;
	bool gone = last && !agent->name;
	agent->used_ms = st_now_ms();
	desk->agent_count -= last;
	pthread_mutex_unlock(&desk->lock);
	if (gone)
		agent_free(agent);
}

const char *stet_agent_name(const struct stet_agent *agent) {
	return agent->name;
}

struct stet_session *stet_agent_borrow(struct stet_agent *agent, size_t n) {
	if (agent->stateless || n >= agent->desk->count)
		return NULL;
	pthread_mutex_lock(&agent->lock);
	return agent->sessions[n];
}

void stet_agent_return(struct stet_agent *agent) {
	pthread_mutex_unlock(&agent->lock);
}

/* ---- calls ---- */

/* One that remembers nothing has sessions for the length of a call. */
static int enter_stateless(struct st_call *call, struct stet_error *err) {
	size_t count = call->agent->desk->count;
	struct stet_session **sessions = calloc(count, sizeof *sessions);
	int code = sessions ? open_sessions(call->agent, sessions, err) : st_fail_nomem(err);
	if (code < 0) {
		if (sessions)
			close_sessions(sessions, count);
		free(sessions);
		return code;
	}
	call->sessions = sessions;
	return 0;
}

/* The agent that the call names. An empty name is what some clients send for what they leave out. */
static int choose(struct st_call *call, struct stet_error *err) {
	struct stet_agent *agent = call->agent;
	struct st_str name = st_arg_str(call, "session");
	if (name.len == 0)
		return 0;
	/* Before it is taken for a C string. */
	int code = check_name(name, err);
	if (code == 0)
		code = stet_desk_agent(agent->desk, agent->owner, name.ptr, &agent, err);
	if (code < 0)
		return code;
	call->agent = agent;
	call->named = true;
	return 0;
}

/* What a server that only shows files does not do. */
static int check_writes(const struct st_call *call, struct stet_error *err) {
	if (call->tool->hints & ST_HINT_READ_ONLY || !call->agent->desk->spaces[0]->read_only)
		return 0;
	return st_fail(err, STET_E_ACCESS,
	               "%s is not allowed: this server was started with --read-only. Nothing was "
	               "changed.",
	               call->tool->name);
}

int st_agent_enter(struct st_call *call, struct stet_error *err) {
	int code = check_writes(call, err);
	if (code == 0)
		code = choose(call, err);
	if (code == 0 && call->agent->stateless)
		code = enter_stateless(call, err);
	if (code < 0)
		return code;
	if (!call->agent->stateless) {
		pthread_mutex_lock(&call->agent->lock);
		call->sessions = call->agent->sessions;
	}
	call->session_count = call->agent->desk->count;
	for (size_t i = 0; i < call->session_count && call->watch; i++)
		relabel(call->sessions[i], call->watch->client, call->agent->number);
	call->session = call->sessions[0];
	return 0;
}

void st_agent_leave(struct st_call *call) {
	if (!call->agent || !call->sessions)
		return;
	if (call->agent->stateless) {
		close_sessions(call->sessions, call->session_count);
		free(call->sessions);
	} else {
		pthread_mutex_unlock(&call->agent->lock);
	}
	if (call->named)
		stet_agent_release(call->agent);
}
