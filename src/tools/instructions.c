#include "tools/instructions.h"

#include "core/agents.h"

static void list(struct st_call *call, const struct stet_agents *agents) {
	yyjson_mut_val *paths = NULL, *hashes = NULL;
	for (size_t i = 0; i < agents->count; i++) {
		const struct st_agents_entry *entry = &agents->entries[i];
		if (!paths) {
			paths = st_json_add_array(call->doc, call->result, "agents");
			hashes = st_json_add_array(call->doc, call->result, "agentsHashes");
		}
		st_json_push(call->doc, paths, st_json_text(call->doc, st_str(entry->path)));
		st_json_push(call->doc, hashes, st_json_text(call->doc, st_str(entry->hex)));
		st_buf_adds(&call->remark, i ? ", " : "[Instructions apply to this file: ");
		st_quote_name(&call->remark, st_str(entry->path));
		st_buf_addf(&call->remark, " (%s)", entry->hex);
	}
	if (paths)
		st_buf_adds(&call->remark, ". Call agents_md with its path if you do not know them.]\n");
}

static int instruct(struct st_call *call, const char *path, unsigned flags,
                    const struct st_hash *shown, struct stet_error *err) {
	if (!call->session->ws->agents.deliver)
		return 0;
	struct stet_agents *agents = NULL;
	struct stet_error why = {0};
	int code = st_agents_deliver(call->session, path, flags, shown, &agents, &why);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code < 0)
		st_buf_addf(&call->remark, "[The instructions for this file could not be looked for. %s]\n",
		            why.message);
	else if (call->session->stateless)
		list(call, agents);
	else
		st_render_agents(call, agents);
	stet_agents_free(agents);
	return 0;
}

int st_call_instruct(struct st_call *call, const char *path, const struct st_hash *shown,
                     struct stet_error *err) {
	return instruct(call, path, ST_AGENTS_OF_FILE, shown, err);
}

void st_call_greet(struct st_call *call) {
	struct stet_session *session = call->session;
	if (!call->agent || session->greeted || session->stateless ||
	    call->tool->hints & ST_HINT_INSTRUCTS)
		return;
	session->greeted = instruct(call, ".", 0, NULL, NULL) == 0;
}
