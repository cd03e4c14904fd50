/* Limits of an owner's clients: whether they may only read, and in which workspaces. */
#include "tools/host_state.h"

#include <sys/stat.h>

static const uint64_t all_spaces = UINT64_MAX;

void st_limits_free(struct st_limit *limits, size_t count) {
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)limits[i].owner);
	free(limits);
}

int st_host_set_limits(struct stet_host *host, const struct st_limit *limits, size_t count,
                       struct stet_error *err) {
	struct st_limit *copies = count ? calloc(count, sizeof *copies) : NULL;
	bool complete = copies || count == 0;
	for (size_t i = 0; i < count && complete; i++) {
		copies[i] = limits[i];
		copies[i].owner = strdup(limits[i].owner);
		complete = copies[i].owner != NULL;
	}
	if (!complete) {
		st_limits_free(copies, copies ? count : 0);
		return st_fail_nomem(err);
	}
	pthread_mutex_lock(&host->lock);
	struct st_limit *old = host->limits;
	size_t old_count = host->limit_count;
	host->limits = copies;
	host->limit_count = count;
	pthread_mutex_unlock(&host->lock);
	st_limits_free(old, old_count);
	return 0;
}

/* The limit of a client, without its owner, which another thread may free. */
static struct st_limit limit_of(const struct stet_client *client) {
	struct stet_host *host = client->host;
	pthread_mutex_lock(&host->lock);
	struct st_limit limit = {.spaces = all_spaces};
	if (host->limit_count > 0)
		limit = (struct st_limit){.read_only = true};
	for (size_t i = 0; i < host->limit_count; i++) {
		if (strcmp(host->limits[i].owner, client->owner) == 0)
			limit = host->limits[i];
	}
	pthread_mutex_unlock(&host->lock);
	limit.owner = NULL;
	return limit;
}

uint64_t st_host_space_bit(const struct stet_host *host, const char *root) {
	struct stat st;
	if (stat(root, &st) < 0)
		return 0;
	for (size_t i = 0; i < host->count; i++) {
		if (host->spaces[i]->root.dev == st.st_dev && host->spaces[i]->root.ino == st.st_ino)
			return UINT64_C(1) << i;
	}
	return 0;
}

bool st_client_is_limited(const struct stet_client *client) {
	return limit_of(client).spaces != all_spaces;
}

bool st_client_has_caller(const struct stet_client *client) {
	return limit_of(client).named;
}

size_t st_client_space(const struct stet_client *client, size_t n) {
	uint64_t spaces = limit_of(client).spaces;
	for (size_t i = 0; i < client->host->count; i++) {
		if (spaces >> i & 1 && n-- == 0)
			return i;
	}
	return ST_ROOTS_MAX;
}

struct stet_workspace *st_client_workspace(struct stet_client *client, size_t n) {
	return stet_host_workspace(client->host, st_client_space(client, n));
}

const struct st_reach *st_client_reach(struct stet_client *client, struct st_reach *reach) {
	const struct stet_workspace *ws;
	if (!client || !st_client_is_limited(client))
		return NULL;
	for (reach->count = 0; (ws = st_client_workspace(client, reach->count)); reach->count++)
		reach->dirs[reach->count] = ws->root.path;
	return reach;
}

bool st_client_is_read_only(struct stet_client *client) {
	return client->host->spaces[0]->read_only || limit_of(client).read_only;
}
