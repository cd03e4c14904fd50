/* The section "now": agents, recent files, conflicts that need a person. */
#include "core/page/page.h"

#include "base/clock.h"

enum { AGENTS = 50, FILES = 50, WRITES = 200, WAITING = 20, NAME_MAX_LEN = 256, WITH_MAX = 8 };

#define MINUTE ((int64_t)60 * 1000000000)

/* For how long an agent is listed, for how long its last call counts as work on a file. */
#define AGENT_AGE (24 * 60 * MINUTE)
#define WORK_AGE (10 * MINUTE)

struct agent {
	char name[NAME_MAX_LEN];
	yyjson_mut_val *object;
	int64_t calls, tokens, at;
};

struct work_file {
	char *path;
	yyjson_mut_val *object, *with;
	size_t with_count;
};

struct now {
	struct st_page *page;
	yyjson_mut_val *agents, *files, *waiting;
	struct agent agent[AGENTS];
	size_t agent_count;
	bool more_agents;
	struct work_file file[FILES];
	size_t file_count;
	int64_t time;
};

static void now_release(struct now *now) {
	for (size_t i = 0; i < now->file_count; i++)
		free(now->file[i].path);
}

/* A transaction may run twice. */
static void now_clear(struct now *now) {
	now_release(now);
	now->agent_count = now->file_count = 0;
	now->more_agents = false;
	yyjson_mut_arr_clear(now->agents);
	yyjson_mut_arr_clear(now->files);
	yyjson_mut_arr_clear(now->waiting);
}

/* ---- agents ---- */

static struct agent *find_agent(struct now *now, const char *name) {
	for (size_t i = 0; i < now->agent_count; i++) {
		if (strcmp(now->agent[i].name, name) == 0)
			return &now->agent[i];
	}
	return NULL;
}

/* The first event of an agent is its newest. NULL if there are too many. */
static struct agent *add_agent(struct now *now, const char *name, const char *tool,
                               const char *path, int64_t at) {
	struct st_page *page = now->page;
	now->more_agents |= now->agent_count == AGENTS;
	if (now->agent_count == AGENTS || strlen(name) >= NAME_MAX_LEN)
		return NULL;
	struct agent *agent = &now->agent[now->agent_count++];
	*agent = (struct agent){.object = yyjson_mut_obj(page->doc), .at = at};
	memcpy(agent->name, name, strlen(name) + 1);
	st_page_add_who(page, agent->object, "agent", name);
	st_page_add_time(page, agent->object, "at", at);
	st_json_add_text(page->doc, agent->object, "tool", st_str(tool));
	if (path)
		st_json_add_text(page->doc, agent->object, "path", st_str(path));
	st_json_push(page->doc, now->agents, agent->object);
	return agent;
}

/* ---- recent files ---- */

static struct work_file *find_file(struct now *now, const char *path) {
	for (size_t i = 0; i < now->file_count; i++) {
		if (strcmp(now->file[i].path, path) == 0)
			return &now->file[i];
	}
	return NULL;
}

/* NULL if there are too many, or without memory. */
static struct work_file *add_file(struct now *now, const char *path, int64_t at) {
	struct st_page *page = now->page;
	char *own = now->file_count < FILES ? strdup(path) : NULL;
	if (!own)
		return NULL;
	struct work_file *file = &now->file[now->file_count++];
	*file = (struct work_file){.path = own, .object = yyjson_mut_obj(page->doc)};
	st_json_add_text(page->doc, file->object, "path", st_str(path));
	st_page_add_time(page, file->object, "at", at);
	file->with = st_json_add_array(page->doc, file->object, "agents");
	st_json_push(page->doc, now->files, file->object);
	return file;
}

static void add_with(struct now *now, struct work_file *file, const char *who) {
	struct st_str name = st_str(st_name_without_owner(who));
	yyjson_mut_arr_iter names = yyjson_mut_arr_iter_with(file->with);
	for (yyjson_mut_val *known; (known = yyjson_mut_arr_iter_next(&names));) {
		if (st_str_eq(st_strn(yyjson_mut_get_str(known), yyjson_mut_get_len(known)), name))
			return;
	}
	if (file->with_count++ < WITH_MAX)
		st_json_push(now->page->doc, file->with, st_json_text(now->page->doc, name));
}

/* ---- the log ---- */

static const char *kind_of(const struct st_file_event *write) {
	if (!write->before.exists)
		return "created";
	return write->after.exists ? "changed" : "deleted";
}

static int see_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct now *now = data;
	const struct st_file_event *write = &entry->event;
	if (now->time - write->at > AGENT_AGE)
		return 1;
	struct work_file *file = find_file(now, write->path);
	if (!file && (file = add_file(now, write->path, write->at))) {
		st_json_add_text(now->page->doc, file->object, "kind", st_str(kind_of(write)));
		st_page_add_number(now->page, file->object, "id", entry->id);
	}
	if (file && write->who && now->time - write->at < WORK_AGE)
		add_with(now, file, write->who);
	return 0;
}

/* Writers of whom no call was counted, such as stet on a command line without a name. */
static int see_writer(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct now *now = data;
	const struct st_file_event *write = &entry->event;
	if (now->time - write->at > AGENT_AGE)
		return 1;
	if (write->who && strcmp(st_name_without_owner(write->who), ST_PAGE_SESSION) != 0 &&
	    !find_agent(now, write->who))
		(void)add_agent(now, write->who, "write", write->path, write->at);
	return 0;
}

/* ---- calls ---- */

static int see_call(void *data, const struct st_usage_entry *call, struct stet_error *err) {
	struct now *now = data;
	if (strcmp(st_name_without_owner(call->session), ST_PAGE_SESSION) == 0)
		return 0;
	struct agent *agent = find_agent(now, call->session);
	if (!agent)
		agent = add_agent(now, call->session, call->tool, call->path, call->at);
	if (!agent)
		return 0;
	if (strcmp(call->tool, ST_USAGE_TURN) != 0)
		agent->calls += call->calls;
	agent->tokens += call->tokens;
	if (!call->path || now->time - call->at > WORK_AGE)
		return 0;
	struct work_file *file = find_file(now, call->path);
	if (!file && (file = add_file(now, call->path, call->at)))
		st_json_add_text(now->page->doc, file->object, "kind", ST_STR("read"));
	if (file)
		add_with(now, file, call->session);
	return 0;
}

/* ---- conflicts that need a person ---- */

static int see_conflict(void *data, const struct st_conflict_entry *entry, struct stet_error *err) {
	struct now *now = data;
	struct st_page *page = now->page;
	/* An agent that has not read a file reads it, and goes on. */
	if (now->time - entry->at > AGENT_AGE || strcmp(entry->reason, "unseen") == 0)
		return 0;
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	st_json_add_text(page->doc, object, "kind", ST_STR("refused"));
	st_page_add_number(page, object, "id", entry->id);
	st_json_add_text(page->doc, object, "reason", st_str(entry->reason));
	st_json_add_text(page->doc, object, "path", st_str(entry->path));
	st_page_add_time(page, object, "at", entry->at);
	st_page_add_who(page, object, "agent", entry->session);
	st_page_add_who(page, object, "other", entry->other);
	st_json_push(page->doc, now->waiting, object);
	return 0;
}

static int read_all(struct st_store *store, void *data, struct stet_error *err) {
	struct now *now = data;
	now_clear(now);
	const struct st_log_query newest = {.limit = WRITES};
	const struct st_conflict_query open = {.open = true, .limit = WAITING};
	int code = st_store_log_list(store, &newest, see_write, now, err);
	if (code == 0)
		code = st_store_usage_list(store, now->time - AGENT_AGE, see_call, now, err);
	if (code == 0)
		code = st_store_log_list(store, &newest, see_writer, now, err);
	if (code == 0)
		code = st_store_conflicts(store, &open, see_conflict, now, err);
	return code;
}

/* ---- the section ---- */

static void add_counts(struct now *now) {
	for (size_t i = 0; i < now->agent_count; i++) {
		const struct agent *agent = &now->agent[i];
		st_page_add_number(now->page, agent->object, "calls", agent->calls);
		st_page_add_number(now->page, agent->object, "tokens", agent->tokens);
	}
	if (now->more_agents)
		st_json_add_true(now->page->doc, now->page->root, "moreAgents");
}

/* A state that is in memory only is lost when the server ends: the person should know. */
static void add_notice(struct now *now) {
	struct st_page *page = now->page;
	struct stet_error why = {0};
	if (st_store_is_stored(&st_state_of(page->ws)->store, &why) == 0)
		return;
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	st_json_add_text(page->doc, object, "kind", ST_STR("notice"));
	st_json_add_text(page->doc, object, "text", st_str(why.message));
	st_json_push(page->doc, now->waiting, object);
}

int st_page_now(struct st_page *page, struct stet_error *err) {
	st_autofree struct now *now = calloc(1, sizeof *now);
	if (!now)
		return st_fail_nomem(err);
	now->page = page;
	now->time = st_wall_ns();
	st_page_add_time(page, page->root, "now", now->time);
	now->waiting = st_json_add_array(page->doc, page->root, "attention");
	now->agents = st_json_add_array(page->doc, page->root, "agents");
	now->files = st_json_add_array(page->doc, page->root, "files");
	int code = st_page_read(page, read_all, now, err);
	if (code == 0)
		code = st_page_list_rescued(page, now->waiting, WAITING, err);
	add_counts(now);
	add_notice(now);
	now_release(now);
	return code;
}
