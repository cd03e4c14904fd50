#include "core/agents.h"

/* Choose from a chain, lay out what is new, and record it as delivered. */
static int fill(struct stet_session *session, const struct st_agents_chain *chain, unsigned flags,
                size_t max, const struct st_hash *shown, struct stet_agents *list,
                struct stet_error *err) {
	size_t budget = session->ws->agents.budget;
	struct st_agents_room room = {
		.bytes = max && max < budget ? max : budget,
		.text_max = budget,
		.parts = flags & ST_AGENTS_PARTS,
	};
	int code =
		st_agents_given_choose(&session->agents, &session->tracker, chain, flags, shown, list, err);
	if (code == 0)
		code = st_agents_list_lay_out(list, &room, err);
	if (code == 0)
		code = st_agents_given_record(&session->agents, chain, list, err);
	st_agents_list_drop_left_out(list);
	return code;
}

int st_agents_deliver_new(struct stet_session *session, const char *path, unsigned flags,
                          size_t max, const struct st_hash *shown, struct stet_agents **out,
                          struct stet_error *err) {
	[[maybe_unused]] st_auto(st_visit) visit = st_visit_begin(session, false);
	st_auto(st_agents_chain) chain = {0};
	*out = NULL;
	int code = st_agents_chain_build(&session->ws->agents, path, flags, &chain, err);
	/* Most directories have no instructions. */
	if (code < 0 || (chain.count == 0 && chain.notices.len == 0 && session->agents.count == 0))
		return code;
	struct stet_agents *list = st_agents_list_new();
	code = list ? fill(session, &chain, flags, max, shown, list, err) : st_fail_nomem(err);
	if (code < 0) {
		stet_agents_free(list);
		return code;
	}
	*out = list;
	return 0;
}

int st_agents_deliver(struct stet_session *session, const char *path, unsigned flags, size_t max,
                      const struct st_hash *shown, struct stet_agents **out,
                      struct stet_error *err) {
	int code = st_agents_deliver_new(session, path, flags, max, shown, out, err);
	if (code == 0 && !*out)
		*out = st_agents_list_new();
	return code == 0 && !*out ? st_fail_nomem(err) : code;
}

int stet_agents_root(struct stet_session *session, struct stet_agents **out,
                     struct stet_error *err) {
	return st_agents_deliver(session, ".", 0, 0, NULL, out, err);
}

int stet_agents_for_path(struct stet_session *session, const char *path, struct stet_agents **out,
                         struct stet_error *err) {
	return st_agents_deliver(session, path, 0, 0, NULL, out, err);
}

int stet_agents_all(struct stet_session *session, const char *path, struct stet_agents **out,
                    struct stet_error *err) {
	return st_agents_deliver(session, path, ST_AGENTS_ALL, 0, NULL, out, err);
}

int stet_agents_if_new(struct stet_session *session, const char *path, char **out,
                       struct stet_error *err) {
	*out = NULL;
	struct stet_agents *list = NULL;
	int code = st_agents_deliver(session, path, ST_AGENTS_ALONE, 0, NULL, &list, err);
	if (code < 0)
		return code;
	struct st_buf text = ST_BUF_INIT;
	for (size_t i = 0; i < list->count; i++) {
		const struct st_agents_entry *entry = &list->entries[i];
		if (text.len > 0 && entry->content.len > 0)
			st_buf_adds(&text, "\n\n");
		st_buf_add(&text, st_buf_str(&entry->content));
	}
	stet_agents_free(list);
	if (text.failed) {
		st_buf_release(&text);
		return st_fail_nomem(err);
	}
	if (text.len == 0)
		st_buf_release(&text);
	*out = text.ptr;
	return 0;
}

int stet_agents_index(struct stet_workspace *ws, struct stet_agents **out, struct stet_error *err) {
	return st_agents_index(&ws->agents, out, err);
}

void stet_agents_invalidate(struct stet_workspace *ws, const char *path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *plain = st_root_plain(&ws->root, path);
	if (plain && st_agents_cache_forget(&ws->agents.cache, plain))
		return;
	if (st_root_locate(&ws->root, st_str(path), &place, NULL) == 0)
		st_agents_cache_forget(&ws->agents.cache, place.path);
}

void stet_agents_clear(struct stet_session *session) {
	[[maybe_unused]] st_auto(st_visit) visit = st_visit_begin(session, false);
	if (session->instructed)
		st_agents_given_clear_nested(&session->agents);
	else
		st_agents_given_clear(&session->agents);
}

/* Check one configured name and add it, unless it is there. */
static int add_name(struct st_agents_setup *setup, struct st_str name, struct stet_error *err) {
	if (memchr(name.ptr, '/', name.len) || st_str_eq(name, ST_STR(".")) ||
	    st_str_eq(name, ST_STR("..")))
		return st_fail(err, STET_E_INVALID, "%s is not the name of a file.", st_shown_str(name));
	if (st_agents_rank(setup, name) < setup->name_count)
		return 0;
	if (setup->name_count == ST_AGENTS_NAMES_MAX)
		return st_fail(err, STET_E_INVALID, "At most %d names of instruction files can be set.",
		               ST_AGENTS_NAMES_MAX - ST_AGENTS_NAMES_BUILTIN);
	char *copy = strndup(name.ptr, name.len);
	if (!copy)
		return st_fail_nomem(err);
	setup->names[setup->name_count++] = copy;
	return 0;
}

int stet_agents_names(struct stet_workspace *ws, const char *names, struct stet_error *err) {
	struct st_agents_setup *setup = &ws->agents;
	while (setup->name_count > ST_AGENTS_NAMES_BUILTIN)
		free(setup->names[--setup->name_count]);
	for (const char *item = names ? names : ""; *item;) {
		size_t len = strcspn(item, ",");
		struct st_str name = st_str_trim(st_strn(item, len));
		int code = name.len > 0 ? add_name(setup, name, err) : 0;
		if (code < 0)
			return code;
		item += len + (item[len] == ',');
	}
	return 0;
}
