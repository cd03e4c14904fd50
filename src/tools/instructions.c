#include "tools/instructions.h"

#include "core/session/deliver.h"
#include "stet/host.h"

static void list_instructions(struct st_call *call, const struct stet_instructions *instructions) {
	yyjson_mut_val *paths = NULL, *hashes = NULL;
	for (size_t i = 0; i < instructions->count; i++) {
		const struct st_instructions_entry *entry = &instructions->entries[i];
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

/* Attach nothing if the answer has less room than this. */
enum { ROOM_MIN = 1536 };

/* Returns false if memory ran out, so that a later answer has to try again. */
static bool attach(struct st_call *call, const char *path, unsigned flags,
                   const struct st_hash *in_answer, size_t max) {
	const struct st_instructions_setup *setup = &call->session->ws->instructions;
	size_t room = st_call_room(call);
	max = max < room ? max : room;
	if (!setup->deliver || max < ROOM_MIN)
		return true;
	struct stet_instructions *instructions = NULL;
	struct stet_error why = {0};
	flags |= ST_INSTRUCTIONS_PARTS | (setup->nested_only ? ST_INSTRUCTIONS_NESTED : 0);
	int code = st_instructions_deliver_new(call->session, path, flags, max, in_answer,
	                                       &instructions, &why);
	if (code == STET_E_NOMEM)
		return false;
	if (code == 0 && !instructions)
		return true;
	if (code < 0)
		st_buf_addf(&call->remark, "[The instructions for this file could not be read. %s]\n",
		            why.message);
	else if (call->session->stateless)
		list_instructions(call, instructions);
	else
		st_render_agents(call, instructions);
	stet_instructions_free(instructions);
	return true;
}

void st_call_instruct(struct st_call *call, const char *path, const struct st_hash *in_answer,
                      size_t max) {
	attach(call, path, ST_INSTRUCTIONS_OF_FILE, in_answer, max);
}

void st_call_instruct_rest(struct st_call *call) {
	const struct st_delivered *delivered = &call->session->instructions;
	if (call->session->stateless || delivered->count == 0)
		return;
	const char *pending = st_delivered_pending(delivered);
	/* If this answer attached the first part, the next one attaches the rest. */
	if (!pending || yyjson_mut_arr_size(call->instructions) > 0)
		return;
	st_auto(st_buf) dir = ST_BUF_INIT;
	st_buf_adds(&dir, *pending ? pending : ".");
	if (!dir.failed)
		attach(call, dir.ptr, 0, NULL, SIZE_MAX);
}

void st_call_instruct_roots(struct st_call *call) {
	struct stet_session *session = call->session;
	if (!call->client || session->greeted || session->stateless ||
	    call->tool->hints & ST_HINT_INSTRUCTS || st_call_room(call) < ROOM_MIN)
		return;
	session->greeted = attach(call, ".", 0, NULL, SIZE_MAX);
}

/* All of them, delivered before or not: a new conversation does not have what an earlier one read. */
static void add_root_instructions(struct stet_session *session, struct st_buf *out) {
	const struct st_instructions_setup *setup = &session->ws->instructions;
	struct stet_instructions *instructions = NULL;
	if (!setup->deliver || setup->nested_only ||
	    st_instructions_deliver(session, ".", ST_INSTRUCTIONS_ALL | ST_INSTRUCTIONS_PARTS, 0, NULL,
	                            &instructions, NULL) < 0)
		return;
	for (size_t i = 0; i < instructions->count; i++)
		st_buf_addf(out, "\n\n%s", st_buf_cstr(&instructions->entries[i].block));
	for (size_t i = 0; i < instructions->notice_count; i++)
		st_buf_addf(out, "\n\n[Instructions: %s]", instructions->notices[i]);
	stet_instructions_free(instructions);
	session->greeted = session->instructed = true;
}

void st_client_instruct(struct stet_client *client, struct st_buf *out) {
	struct stet_session *session;
	for (size_t i = 0; (session = stet_client_borrow(client, i)); i++) {
		add_root_instructions(session, out);
		stet_client_return(client);
	}
}
