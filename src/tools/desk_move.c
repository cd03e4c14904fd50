/* A desk that moves: other directories to work in, while its agents stay. */
#include "tools/desk_state.h"

/* Where a desk is to move: to workspaces that it has already, and to new ones. */
struct move {
	struct stet_desk *desk;
	struct stet_workspace *spaces[ST_ROOTS_MAX];
	bool opened[ST_ROOTS_MAX];
	size_t count;
	/* Why directories were left out, and the first reason. */
	struct st_buf left_out;
	struct stet_error why;
};

/* The sessions of an agent after the move. */
struct moved {
	struct stet_agent *agent;
	struct stet_session *sessions[ST_ROOTS_MAX];
};

static void move_release(struct move *move) {
	st_buf_release(&move->left_out);
}

static void add_space(struct move *move, struct stet_workspace *ws, bool opened) {
	move->spaces[move->count] = ws;
	move->opened[move->count++] = opened;
}

static int add_root(struct move *move, const char *path, struct stet_error *err) {
	struct stet_desk *desk = move->desk;
	struct stet_workspace *ws = NULL;
	int code = stet_workspace_open(path, &ws, err);
	if (code < 0)
		return code;
	struct stet_workspace *there = st_desk_find_root(desk->spaces, desk->count, ws);
	if (!there && !st_desk_find_root(move->spaces, move->count, ws)) {
		code = desk->ready ? desk->ready(desk->ready_arg, ws, err) : 0;
		if (code == 0) {
			add_space(move, ws, true);
			return 0;
		}
	} else if (there && !st_desk_find_root(move->spaces, move->count, ws)) {
		add_space(move, there, false);
	}
	stet_workspace_close(ws);
	return code;
}

/* A directory that cannot be worked in is left out, with its reason. */
static int add_roots(struct move *move, const char *const *roots, size_t count,
                     struct stet_error *err) {
	for (size_t i = 0; i < count; i++) {
		struct stet_error own = {0};
		int code = add_root(move, roots[i], &own);
		if (code == STET_E_NOMEM)
			return st_fail_nomem(err);
		if (code < 0 && move->why.code == 0)
			move->why = own;
		if (code < 0)
			st_buf_addf(&move->left_out, "%s%s", move->left_out.len > 0 ? " " : "", own.message);
	}
	return move->count > 0 ? 0 : st_fail(err, move->why.code, "%s", move->why.message);
}

static struct stet_session *session_in(const struct stet_agent *agent,
                                       const struct stet_workspace *ws) {
	for (size_t i = 0; i < agent->desk->count; i++) {
		if (agent->desk->spaces[i] == ws)
			return agent->sessions[i];
	}
	return NULL;
}

static int prepare(const struct move *move, struct moved *moved, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < move->count && code == 0 && !moved->agent->stateless; i++) {
		if (move->opened[i])
			code = st_agent_open_session(moved->agent, move->spaces[i], &moved->sessions[i], err);
		else
			moved->sessions[i] = session_in(moved->agent, move->spaces[i]);
	}
	return code;
}

static size_t count_agents(const struct stet_desk *desk) {
	size_t count = 0;
	for (const struct stet_agent *agent = desk->agents; agent; agent = agent->after)
		count++;
	return count;
}

/* Open what is new for every agent. */
static int prepare_all(const struct move *move, struct moved *all, struct stet_error *err) {
	int code = 0;
	for (struct stet_agent *agent = move->desk->agents; agent && code == 0; agent = agent->after) {
		all->agent = agent;
		code = prepare(move, all++, err);
	}
	return code;
}

/* It comes to nothing: what was opened for it is closed. */
static void take_back(struct move *move, const struct moved *all, size_t count) {
	for (size_t i = 0; i < move->count; i++) {
		for (size_t k = 0; k < count && move->opened[i]; k++)
			stet_session_close(all[k].sessions[i]);
		if (move->opened[i])
			stet_workspace_close(move->spaces[i]);
	}
}

static bool stays(const struct move *move, const struct stet_workspace *ws) {
	return st_desk_find_root(move->spaces, move->count, ws) == ws;
}

/* From here on nothing can fail. */
static void settle(struct move *move, const struct moved *all, size_t count) {
	struct stet_desk *desk = move->desk;
	for (size_t i = 0; i < desk->count; i++) {
		bool left = !stays(move, desk->spaces[i]);
		for (size_t k = 0; k < count && left; k++)
			stet_session_close(all[k].agent->sessions[i]);
		if (left)
			stet_workspace_close(desk->spaces[i]);
	}
	for (size_t k = 0; k < count; k++)
		memcpy(all[k].agent->sessions, all[k].sessions, sizeof all[k].sessions);
	memcpy(desk->spaces, move->spaces, sizeof desk->spaces);
	desk->count = move->count;
	if (move->left_out.len > 0)
		st_guard_notice(&desk->spaces[0]->guard, "A directory was left out. %s",
		                st_buf_cstr(&move->left_out));
}

int stet_desk_move(struct stet_desk *desk, const char *const *roots, size_t count,
                   struct stet_error *err) {
	st_auto(move) move = {.desk = desk, .left_out = ST_BUF_INIT};
	if (count == 0 || count > ST_ROOTS_MAX)
		return st_fail(err, STET_E_INVALID, "Name 1 to %d directories to work in, not %zu.",
		               ST_ROOTS_MAX, count);
	int code = add_roots(&move, roots, count, err);
	size_t agents = count_agents(desk);
	struct moved *all = code == 0 ? calloc(agents + 1, sizeof *all) : NULL;
	if (code == 0)
		code = all ? prepare_all(&move, all, err) : st_fail_nomem(err);
	if (code == 0)
		settle(&move, all, agents);
	else
		take_back(&move, all, all ? agents : 0);
	free(all);
	return code;
}

bool st_desk_follows(const struct stet_desk *desk) {
	return desk->follows;
}

void stet_desk_follow(struct stet_desk *desk, stet_desk_ready *ready, void *arg) {
	desk->follows = true;
	desk->ready = ready;
	desk->ready_arg = arg;
}
