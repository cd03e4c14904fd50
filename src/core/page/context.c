/* The section "context": tokens by session and tool, instructions, compactions, turns. */
#include "core/page/page.h"

#include "base/clock.h"

enum { SESSIONS = 50, NAME_MAX_LEN = 256 };

#define WEEK ((int64_t)7 * 24 * 3600 * 1000000000)

struct sent_session {
	char name[NAME_MAX_LEN];
	yyjson_mut_val *object, *tools, *files;
	int64_t calls, failures, tokens, instructions, compactions, turns;
};

struct sent {
	struct st_page *page;
	yyjson_mut_val *list;
	struct sent_session session[SESSIONS];
	size_t count;
	bool more;
	struct sent_session *current;
};

static struct sent_session *find_session(struct sent *sent, const char *name) {
	for (size_t i = 0; i < sent->count; i++) {
		if (strcmp(sent->session[i].name, name) == 0)
			return &sent->session[i];
	}
	return NULL;
}

static struct sent_session *add_session(struct sent *sent, const struct st_usage_entry *entry) {
	struct st_page *page = sent->page;
	sent->more |= sent->count == SESSIONS;
	if (sent->count == SESSIONS || strlen(entry->session) >= NAME_MAX_LEN)
		return NULL;
	struct sent_session *session = &sent->session[sent->count++];
	*session = (struct sent_session){.object = yyjson_mut_obj(page->doc)};
	memcpy(session->name, entry->session, strlen(entry->session) + 1);
	st_page_add_who(page, session->object, "agent", entry->session);
	st_page_add_time(page, session->object, "at", entry->at);
	session->tools = st_json_add_array(page->doc, session->object, "tools");
	session->files = st_json_add_array(page->doc, session->object, "agentsMd");
	st_json_push(page->doc, sent->list, session->object);
	return session;
}

static bool is_compaction(const char *tool) {
	return strcmp(tool, "compaction") == 0 || strcmp(tool, "clear_session") == 0;
}

static void add_tool(struct st_page *page, struct sent_session *session,
                     const struct st_usage_entry *entry) {
	yyjson_mut_val *tool = yyjson_mut_obj(page->doc);
	st_json_add_text(page->doc, tool, "tool", st_str(entry->tool));
	st_page_add_number(page, tool, "calls", entry->calls);
	st_page_add_number(page, tool, "failures", entry->failures);
	st_page_add_number(page, tool, "tokens", entry->tokens);
	st_page_add_time(page, tool, "at", entry->at);
	st_json_push(page->doc, session->tools, tool);
}

static int see_usage(void *data, const struct st_usage_entry *entry, struct stet_error *err) {
	struct sent *sent = data;
	if (strcmp(st_name_without_owner(entry->session), ST_PAGE_SESSION) == 0 ||
	    !st_page_matches(sent->page, "", entry->session))
		return 0;
	struct sent_session *session = find_session(sent, entry->session);
	if (!session)
		session = add_session(sent, entry);
	if (!session)
		return 0;
	if (strcmp(entry->tool, ST_USAGE_TURN) == 0) {
		session->turns += entry->calls;
		return 0;
	}
	session->calls += entry->calls;
	session->failures += entry->failures;
	session->tokens += entry->tokens;
	session->instructions += entry->instructions;
	session->compactions += is_compaction(entry->tool) ? entry->calls : 0;
	add_tool(sent->page, session, entry);
	return 0;
}

static int add_instructions(void *data, const char *path, struct stet_error *err) {
	struct sent *sent = data;
	st_json_push(sent->page->doc, sent->current->files,
	             st_json_text(sent->page->doc, st_str(path)));
	return 0;
}

static int read_all(struct st_store *store, void *data, struct stet_error *err) {
	struct sent *sent = data;
	int code = st_store_usage_list(store, st_wall_ns() - WEEK, see_usage, sent, err);
	for (size_t i = 0; i < sent->count && code == 0; i++) {
		sent->current = &sent->session[i];
		code = st_store_instructions_of(store, sent->current->name, add_instructions, sent, err);
	}
	return code;
}

int st_page_context(struct st_page *page, struct stet_error *err) {
	st_autofree struct sent *sent = calloc(1, sizeof *sent);
	if (!sent)
		return st_fail_nomem(err);
	sent->page = page;
	sent->list = st_json_add_array(page->doc, page->root, "sessions");
	int code = st_page_read(page, read_all, sent, err);
	if (sent->more)
		st_json_add_true(page->doc, page->root, "moreSessions");
	for (size_t i = 0; i < sent->count; i++) {
		const struct sent_session *session = &sent->session[i];
		st_page_add_number(page, session->object, "calls", session->calls);
		st_page_add_number(page, session->object, "failures", session->failures);
		st_page_add_number(page, session->object, "tokens", session->tokens);
		st_page_add_number(page, session->object, "instructions", session->instructions);
		st_page_add_number(page, session->object, "compactions", session->compactions);
		st_page_add_number(page, session->object, "turns", session->turns);
	}
	return code;
}
