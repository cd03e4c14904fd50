#include "core/state/usage.h"

#include "base/array.h"
#include "base/clock.h"
#include "core/state/state.h"

/* ---- the counts ---- */

static void count_release(struct st_usage_count *count) {
	free(count->session);
	free(count->tool);
	free(count->path);
	*count = (struct st_usage_count){0};
}

static void release_all(struct st_usage *usage) {
	while (usage->count > 0)
		count_release(&usage->waiting[--usage->count]);
	free(usage->waiting);
	usage->waiting = NULL;
}

static struct st_usage_count *find_count(struct st_usage *usage, const char *session,
                                         const char *tool) {
	for (size_t i = 0; i < usage->count; i++) {
		struct st_usage_count *count = &usage->waiting[i];
		if (strcmp(count->tool, tool) == 0 && strcmp(count->session, session) == 0)
			return count;
	}
	return NULL;
}

/* Without a state directory nothing is stored: the one used longest ago makes room. */
static void drop_oldest(struct st_usage *usage) {
	size_t oldest = 0;
	for (size_t i = 1; i < usage->count; i++) {
		if (usage->waiting[i].at < usage->waiting[oldest].at)
			oldest = i;
	}
	count_release(&usage->waiting[oldest]);
	usage->waiting[oldest] = usage->waiting[--usage->count];
}

static struct st_usage_count *add_count(struct st_usage *usage, const char *session,
                                        const char *tool) {
	if (usage->count == ST_USAGE_WAITING_MAX)
		drop_oldest(usage);
	if (!st_array_room(&usage->waiting, usage->count, sizeof *usage->waiting))
		return NULL;
	struct st_usage_count *count = &usage->waiting[usage->count];
	*count = (struct st_usage_count){.session = strdup(session), .tool = strdup(tool)};
	if (!count->session || !count->tool) {
		count_release(count);
		return NULL;
	}
	usage->count++;
	return count;
}

static void add_call(struct st_usage *usage, const char *session,
                     const struct st_usage_call *call) {
	struct st_usage_count *count = find_count(usage, session, call->tool);
	if (!count)
		count = add_count(usage, session, call->tool);
	if (!count)
		return;
	count->calls++;
	count->failures += call->failed;
	count->tokens += (int64_t)call->tokens;
	count->instructions += (int64_t)call->instructions;
	count->at = st_wall_ns();
	char *path = call->path ? strdup(call->path) : NULL;
	if (!path)
		return;
	free(count->path);
	count->path = path;
}

/* ---- storing ---- */

static int store_counts(struct st_store *store, void *data, struct stet_error *err) {
	struct st_usage *usage = data;
	int code = 0;
	for (size_t i = 0; i < usage->count && code == 0; i++) {
		const struct st_usage_count *count = &usage->waiting[i];
		const struct st_usage_entry entry = {
			.session = count->session,
			.tool = count->tool,
			.path = count->path,
			.calls = count->calls,
			.failures = count->failures,
			.tokens = count->tokens,
			.instructions = count->instructions,
			.at = count->at,
		};
		code = st_store_usage_add(store, &entry, err);
	}
	return code == 0 ? st_store_usage_trim(store, err) : code;
}

/* Put counts back that could not be stored. */
static void put_back(struct st_usage *usage, struct st_usage *taken) {
	pthread_mutex_lock(&usage->lock);
	while (taken->count > 0 && usage->count < ST_USAGE_WAITING_MAX &&
	       st_array_room(&usage->waiting, usage->count, sizeof *usage->waiting))
		usage->waiting[usage->count++] = taken->waiting[--taken->count];
	pthread_mutex_unlock(&usage->lock);
	release_all(taken);
}

/* No lock is held while the database is written. */
static void store_waiting(struct st_usage *usage) {
	struct st_usage taken = {0};
	if (!st_store_is_made(usage->store))
		return;
	pthread_mutex_lock(&usage->lock);
	taken.waiting = usage->waiting;
	taken.count = usage->count;
	usage->waiting = NULL;
	usage->count = 0;
	pthread_mutex_unlock(&usage->lock);
	if (taken.count > 0 &&
	    st_store_do(usage->store, ST_STORE_RETRY, store_counts, &taken, NULL) < 0)
		put_back(usage, &taken);
	release_all(&taken);
}

size_t st_usage_tokens(struct st_str text) {
	/* Source code and prose have about 3.5 bytes per token. */
	return (2 * text.len + 6) / 7;
}

static void run_storing(void *data) {
	store_waiting(data);
}

void st_usage_record(struct stet_session *session, const struct st_usage_call *call) {
	struct stet_workspace *ws = session->ws;
	struct st_usage *usage = &st_state_of(ws)->usage;
	if (ws->state == ST_STATE_NONE)
		return;
	pthread_mutex_lock(&usage->lock);
	add_call(usage, st_session_who(session), call);
	pthread_mutex_unlock(&usage->lock);
	/* Events that wait after a call show that there is no store. */
	if (session->events.count == 0 && st_store_is_made(usage->store))
		st_background_schedule(&ws->background, &usage->task, ST_USAGE_STORE_MS);
}

void st_usage_init(struct st_usage *usage, struct stet_workspace *ws, struct st_store *store) {
	*usage =
		(struct st_usage){.ws = ws, .store = store, .task = {.run = run_storing, .data = usage}};
	pthread_mutex_init(&usage->lock, NULL);
}

void st_usage_release(struct st_usage *usage) {
	/* A forked child leaves this to its parent. */
	if (usage->count > 0 && !st_background_is_elsewhere(&usage->ws->background))
		store_waiting(usage);
	release_all(usage);
	pthread_mutex_destroy(&usage->lock);
}
