/* Move a host to other directories, while its clients stay connected. */
#include "tools/host_state.h"

/* The workspaces after the move: those that the host has already, and new ones. */
struct move {
	struct stet_host *host;
	struct stet_workspace *spaces[ST_ROOTS_MAX];
	/* Whether the move opened the workspace. */
	bool opened[ST_ROOTS_MAX];
	size_t count;
	/* The errors of directories that could not be opened, and the first of them. */
	struct st_buf left_out;
	struct stet_error why;
};

/* A client's sessions after the move. */
struct moved {
	struct stet_client *client;
	struct stet_session *sessions[ST_ROOTS_MAX];
};

static void move_release(struct move *move) {
	st_buf_release(&move->left_out);
}

static void add_space(struct move *move, struct stet_workspace *ws, bool opened) {
	move->spaces[move->count] = ws;
	move->opened[move->count++] = opened;
}

static int plan_root(struct move *move, const char *path, struct stet_error *err) {
	struct stet_host *host = move->host;
	struct stet_workspace *ws = NULL;
	int code = stet_workspace_open(path, &ws, err);
	if (code < 0)
		return code;
	struct stet_workspace *there = st_host_find_root(host->spaces, host->count, ws);
	if (!there && !st_host_find_root(move->spaces, move->count, ws)) {
		code = host->ready ? host->ready(host->ready_arg, ws, err) : 0;
		if (code == 0) {
			add_space(move, ws, true);
			return 0;
		}
	} else if (there && !st_host_find_root(move->spaces, move->count, ws)) {
		add_space(move, there, false);
	}
	stet_workspace_close(ws);
	return code;
}

/* Skip directories that cannot be opened, and collect their errors. */
static int plan_roots(struct move *move, const char *const *roots, size_t count,
                      struct stet_error *err) {
	for (size_t i = 0; i < count; i++) {
		struct stet_error own = {0};
		int code = plan_root(move, roots[i], &own);
		if (code == STET_E_NOMEM)
			return st_fail_nomem(err);
		if (code < 0 && move->why.code == 0)
			move->why = own;
		if (code < 0)
			st_buf_addf(&move->left_out, "%s%s", move->left_out.len > 0 ? " " : "", own.message);
	}
	return move->count > 0 ? 0 : st_fail(err, move->why.code, "%s", move->why.message);
}

static struct stet_session *session_in(const struct stet_client *client,
                                       const struct stet_workspace *ws) {
	for (size_t i = 0; i < client->host->count; i++) {
		if (client->host->spaces[i] == ws)
			return client->sessions[i];
	}
	return NULL;
}

static int prepare_client(const struct move *move, struct moved *moved, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < move->count && code == 0 && !moved->client->stateless; i++) {
		if (move->opened[i])
			code = st_client_open_session(moved->client, move->spaces[i], &moved->sessions[i], err);
		else
			moved->sessions[i] = session_in(moved->client, move->spaces[i]);
	}
	return code;
}

static size_t count_clients(const struct stet_host *host) {
	size_t count = 0;
	for (const struct stet_client *client = host->clients; client; client = client->after)
		count++;
	return count;
}

/* Open a session in each new workspace for every client. */
static int prepare_clients(const struct move *move, struct moved *all, struct stet_error *err) {
	int code = 0;
	for (struct stet_client *client = move->host->clients; client && code == 0;
	     client = client->after) {
		all->client = client;
		code = prepare_client(move, all++, err);
	}
	return code;
}

/* The move failed: close the sessions and workspaces that it opened. */
static void abandon_move(struct move *move, const struct moved *all, size_t count) {
	for (size_t i = 0; i < move->count; i++) {
		for (size_t k = 0; k < count && move->opened[i]; k++)
			stet_session_close(all[k].sessions[i]);
		if (move->opened[i])
			stet_workspace_close(move->spaces[i]);
	}
}

static bool stays(const struct move *move, const struct stet_workspace *ws) {
	return st_host_find_root(move->spaces, move->count, ws) == ws;
}

/* Close what the host leaves and switch to the new workspaces. This cannot fail. */
static void finish_move(struct move *move, const struct moved *all, size_t count) {
	struct stet_host *host = move->host;
	for (size_t i = 0; i < host->count; i++) {
		bool left = !stays(move, host->spaces[i]);
		for (size_t k = 0; k < count && left; k++)
			stet_session_close(all[k].client->sessions[i]);
		if (left)
			stet_workspace_close(host->spaces[i]);
	}
	for (size_t k = 0; k < count; k++)
		memcpy(all[k].client->sessions, all[k].sessions, sizeof all[k].sessions);
	memcpy(host->spaces, move->spaces, sizeof host->spaces);
	host->count = move->count;
	if (move->left_out.len > 0)
		st_write_notice(&host->spaces[0]->writes, "A directory was left out. %s",
		                st_buf_cstr(&move->left_out));
}

int stet_host_move(struct stet_host *host, const char *const *roots, size_t count,
                   struct stet_error *err) {
	if (st_begin_call(host, err) < 0)
		return STET_E_INVALID;
	st_auto(move) move = {.host = host, .left_out = ST_BUF_INIT};
	if (count == 0 || count > ST_ROOTS_MAX)
		return st_fail(err, STET_E_INVALID, "Name 1 to %d directories to work in, not %zu.",
		               ST_ROOTS_MAX, count);
	int code = plan_roots(&move, roots, count, err);
	size_t clients = count_clients(host);
	struct moved *all = code == 0 ? calloc(clients + 1, sizeof *all) : NULL;
	if (code == 0)
		code = all ? prepare_clients(&move, all, err) : st_fail_nomem(err);
	if (code == 0)
		finish_move(&move, all, clients);
	else
		abandon_move(&move, all, all ? clients : 0);
	free(all);
	return code;
}

bool st_host_follows(const struct stet_host *host) {
	return host->follows;
}

void stet_host_follow(struct stet_host *host, stet_host_ready *ready, void *arg) {
	if (!host)
		return;
	host->follows = true;
	host->ready = ready;
	host->ready_arg = arg;
}
