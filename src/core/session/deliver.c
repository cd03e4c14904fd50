#include "core/session/deliver.h"

#include <assert.h>

/* Choose the new instructions of a chain, lay them out, and record them as delivered. */
static int fill_list(struct stet_session *session, const struct st_instructions_chain *chain,
                     unsigned flags, size_t max, const struct st_hash *in_answer,
                     struct stet_instructions *list, struct stet_error *err) {
	size_t budget = session->ws->instructions.budget;
	struct st_instructions_room room = {
		.bytes = max && max < budget ? max : budget,
		.text_max = budget,
		.parts = flags & ST_INSTRUCTIONS_PARTS,
	};
	int code = st_delivered_choose(&session->instructions, &session->tracker, chain, flags,
	                               in_answer, list, err);
	if (code == 0)
		code = st_instructions_list_lay_out(list, &room, err);
	if (code == 0)
		code = st_delivered_record(&session->instructions, chain, list, err);
	st_instructions_list_drop_left_out(list);
	return code;
}

int st_instructions_deliver_new(struct stet_session *session, const char *path, unsigned flags,
                                size_t max, const struct st_hash *in_answer,
                                struct stet_instructions **out, struct stet_error *err) {
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	st_auto(st_instructions_chain) chain = {0};
	*out = NULL;
	int code = st_instructions_chain_build(&session->ws->instructions, path, flags, &chain, err);
	/* The common case: there are no instructions. */
	if (code < 0 ||
	    (chain.count == 0 && chain.notices.len == 0 && session->instructions.count == 0))
		return code;
	struct stet_instructions *list = st_instructions_list_new();
	code = list ? fill_list(session, &chain, flags, max, in_answer, list, err) : st_fail_nomem(err);
	if (code < 0) {
		stet_instructions_free(list);
		return code;
	}
	*out = list;
	return 0;
}

int st_instructions_deliver(struct stet_session *session, const char *path, unsigned flags,
                            size_t max, const struct st_hash *in_answer,
                            struct stet_instructions **out, struct stet_error *err) {
	int code = st_instructions_deliver_new(session, path, flags, max, in_answer, out, err);
	if (code == 0 && !*out)
		*out = st_instructions_list_new();
	return code == 0 && !*out ? st_fail_nomem(err) : code;
}

int stet_instructions_root(struct stet_session *session, struct stet_instructions **out,
                           struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	return st_end_call(st_instructions_deliver(session, ".", 0, 0, NULL, out, err), err);
}

int stet_instructions_for_path(struct stet_session *session, const char *path,
                               struct stet_instructions **out, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	return st_end_call(st_instructions_deliver(session, path, 0, 0, NULL, out, err), err);
}

int stet_instructions_all(struct stet_session *session, const char *path,
                          struct stet_instructions **out, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	return st_end_call(
		st_instructions_deliver(session, path, ST_INSTRUCTIONS_ALL, 0, NULL, out, err), err);
}

int stet_instructions_if_new(struct stet_session *session, const char *path, char **out,
                             struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct stet_instructions *list = NULL;
	int code = st_instructions_deliver(session, path, ST_INSTRUCTIONS_ALONE, 0, NULL, &list, err);
	if (st_end_call(code, err) < 0)
		return code;
	assert(list);
	struct st_buf text = ST_BUF_INIT;
	for (size_t i = 0; i < list->count; i++) {
		const struct st_instructions_entry *entry = &list->entries[i];
		if (text.len > 0 && entry->content.len > 0)
			st_buf_adds(&text, "\n\n");
		st_buf_add(&text, st_buf_str(&entry->content));
	}
	stet_instructions_free(list);
	if (text.failed) {
		st_buf_release(&text);
		return st_fail_nomem(err);
	}
	if (text.len == 0)
		st_buf_release(&text);
	*out = text.ptr;
	return 0;
}

int stet_instructions_index(struct stet_workspace *ws, struct stet_instructions **out,
                            struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	return st_end_call(st_instructions_index(&ws->instructions, out, err), err);
}

void stet_instructions_invalidate(struct stet_workspace *ws, const char *path) {
	if (!ws)
		return;
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *plain = st_root_plain(&ws->root, path);
	if (plain && st_instructions_cache_forget(&ws->instructions.cache, plain))
		return;
	if (st_root_locate(&ws->root, st_str(path), &place, NULL) == 0)
		st_instructions_cache_forget(&ws->instructions.cache, place.path);
}

void stet_instructions_clear(struct stet_session *session) {
	if (!session)
		return;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	if (session->instructed)
		st_delivered_clear_nested(&session->instructions);
	else
		st_delivered_clear(&session->instructions);
}

/* Check a configured name, and add it unless the setup has it. */
static int add_name(struct st_instructions_setup *setup, struct st_str name,
                    struct stet_error *err) {
	if (memchr(name.ptr, '/', name.len) || st_str_eq(name, ST_STR(".")) ||
	    st_str_eq(name, ST_STR("..")))
		return st_fail(err, STET_E_INVALID, "%s is not the name of a file.", st_quoted_str(name));
	if (st_instructions_rank(setup, name) < setup->name_count)
		return 0;
	if (setup->name_count == ST_INSTRUCTIONS_NAMES_MAX)
		return st_fail(err, STET_E_INVALID, "At most %d names of instruction files can be set.",
		               ST_INSTRUCTIONS_NAMES_MAX - ST_INSTRUCTIONS_NAMES_BUILTIN);
	char *copy = strndup(name.ptr, name.len);
	if (!copy)
		return st_fail_nomem(err);
	setup->names[setup->name_count++] = copy;
	return 0;
}

int stet_instructions_names(struct stet_workspace *ws, const char *names, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct st_instructions_setup *setup = &ws->instructions;
	while (setup->name_count > ST_INSTRUCTIONS_NAMES_BUILTIN)
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
