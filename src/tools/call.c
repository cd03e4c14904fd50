/* Run a tool: check its arguments, call it, and write its answer as an MCP tool result. */
#include "stet/tools.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/utf8.h"
#include "core/state/usage.h"
#include "fs/versions/late_writes.h"
#include "text/lines/lines.h"
#include "tools/host.h"
#include "tools/render.h"
#include "tools/route.h"

/* Notices that were taken from the workspace for an answer. */
struct notices {
	char *list[ST_NOTICES_MAX];
	size_t count;
};

const struct st_tool *st_tool_find(struct st_str name) {
	for (size_t i = 0; st_tools[i]; i++) {
		const char *alias = st_tools[i]->alias;
		if (st_str_eq(st_str(st_tools[i]->name), name) || (alias && st_str_eq(st_str(alias), name)))
			return st_tools[i];
	}
	return NULL;
}

/* For a path outside of all workspaces, name them. */
static void name_roots(const struct st_call *call, struct st_buf *text) {
	if (call->session_count < 2)
		return;
	st_buf_adds(text, " The workspaces are");
	for (size_t i = 0; i < call->session_count; i++) {
		st_buf_adds(text, i ? ", " : " ");
		st_quote_name(text, st_str(call->sessions[i]->ws->root.path));
	}
	st_buf_adds(text, ".");
}

/* Make text and data of a failure, from the tool's own data if it left some in call->failure. */
static void fill_failure(struct st_call *call, const struct stet_error *err) {
	yyjson_mut_doc *doc = call->doc;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(&text, "Error: %s", err->message);
	if (err->code == STET_E_OUTSIDE)
		name_roots(call, &text);
	if (err->code == STET_E_NOT_FOUND && call->path && !strstr(err->message, "Did you mean"))
		st_spelling_hint(call->session, call->path, &text);
	if (call->text.len > 0)
		st_buf_adds(&text, "\n\n");
	st_buf_add(&text, st_buf_str(&call->text));
	st_buf_move(&call->text, &text);
	call->excerpt.text = (struct st_str){0};

	call->result = call->failure;
	if (!call->result) {
		call->result = yyjson_mut_obj(doc);
		st_json_add_text(doc, call->result, "status", ST_STR("error"));
	}
	if (!yyjson_mut_obj_get(call->result, "error"))
		st_json_add_text(doc, call->result, "error", st_str(stet_error_name(err->code)));
	if (!yyjson_mut_obj_get(call->result, "message"))
		st_json_add_text(doc, call->result, "message", st_str(err->message));
}

/* Bytes kept free for the line of facts and some notices. */
enum { ANSWER_RESERVE = 1024 };

static struct st_str main_text(const struct st_call *call) {
	return call->excerpt.text.ptr ? call->excerpt.text : st_buf_str(&call->text);
}

static size_t answer_bytes(const struct st_call *call) {
	return main_text(call).len + call->remark.len + call->block_bytes;
}

size_t st_call_room(const struct st_call *call) {
	size_t used = answer_bytes(call) + ANSWER_RESERVE;
	return used < call->page ? call->page - used : 0;
}

static yyjson_mut_val *text_block(struct st_call *call, struct st_str text) {
	yyjson_mut_val *block = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, block, "type", ST_STR("text"));
	st_json_add_text(call->doc, block, "text", text);
	call->block_bytes += text.len;
	return block;
}

void st_call_block(struct st_call *call, struct st_str text) {
	st_call_block_of(call, text_block(call, text));
}

void st_call_add_instructions(struct st_call *call, struct st_str text) {
	st_json_push(call->doc, call->instructions, text_block(call, text));
}

void st_call_block_of(struct st_call *call, yyjson_mut_val *block) {
	st_json_push(call->doc, call->content, block);
}

/* Write a text block directly: a large file is copied only once, into the answer. */
static void write_text(struct st_str text, struct st_buf *out) {
	st_buf_adds(out, "{\"type\":\"text\",\"text\":");
	st_json_quote(out, text);
	st_buf_addc(out, '}');
}

static int write_blocks(struct st_call *call, yyjson_mut_val *blocks, const char **comma,
                        struct st_buf *out, struct stet_error *err) {
	int code = 0;
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(blocks);
	for (yyjson_mut_val *block; code == 0 && (block = yyjson_mut_arr_iter_next(&items));) {
		st_buf_adds(out, *comma);
		code = st_json_write(call->doc, block, out, err);
		*comma = ",";
	}
	return code;
}

/* The text, the tool's blocks, the remark, the instructions. */
static int write_content(struct st_call *call, struct st_buf *out, struct stet_error *err) {
	/* An answer with blocks, such as an image, needs no text. An empty file is an empty text. */
	struct st_str text = main_text(call);
	const char *comma = "";
	if (text.len > 0 || yyjson_mut_arr_size(call->content) == 0) {
		write_text(text, out);
		comma = ",";
	}
	int code = write_blocks(call, call->content, &comma, out, err);
	if (code == 0 && call->remark.len > 0) {
		st_buf_adds(out, comma);
		write_text(st_buf_str(&call->remark), out);
		comma = ",";
	}
	return code < 0 ? code : write_blocks(call, call->instructions, &comma, out, err);
}

/* Join the answer's text and text blocks, each beginning on a new line. */
static void join_blocks(const struct st_call *call, struct st_buf *out) {
	st_buf_add(out, main_text(call));
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(call->content);
	for (yyjson_mut_val *block; (block = yyjson_mut_arr_iter_next(&items));) {
		yyjson_mut_val *text = yyjson_mut_obj_get(block, "text");
		if (!text)
			continue;
		if (out->len > 0 && out->ptr[out->len - 1] != '\n')
			st_buf_addc(out, '\n');
		st_buf_add(out, st_strn(yyjson_mut_get_str(text), yyjson_mut_get_len(text)));
	}
}

static void write_instruction_texts(const struct st_call *call, struct st_buf *out) {
	const char *comma = "";
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(call->instructions);
	st_buf_adds(out, ",\"instructions\":[");
	for (yyjson_mut_val *block; (block = yyjson_mut_arr_iter_next(&items));) {
		yyjson_mut_val *text = yyjson_mut_obj_get(block, "text");
		st_buf_adds(out, comma);
		st_json_quote(out, st_strn(yyjson_mut_get_str(text), yyjson_mut_get_len(text)));
		comma = ",";
	}
	st_buf_adds(out, "]");
}

/*
 * Some clients show their model only the structuredContent of an answer, so it
 * holds everything: the text, the remark, the instructions.
 */
static int write_structured(struct st_call *call, struct st_buf *out, struct stet_error *err) {
	st_auto(st_buf) data = ST_BUF_INIT;
	int code = st_json_write(call->doc, call->result, &data, err);
	if (code < 0)
		return code;
	/* The members of the data follow those written here, without its opening brace. */
	assert(data.len >= 2 && data.ptr[0] == '{');
	st_buf_adds(out, ",\"structuredContent\":{\"content\":");
	if (call->text_once) {
		st_buf_adds(out, "\"\"");
	} else if (yyjson_mut_arr_size(call->content) == 0) {
		st_json_quote(out, main_text(call));
	} else {
		st_auto(st_buf) text = ST_BUF_INIT;
		join_blocks(call, &text);
		st_json_quote(out, st_buf_str(&text));
		out->failed |= text.failed;
	}
	if (call->remark.len > 0) {
		st_buf_adds(out, ",\"remark\":");
		st_json_quote(out, st_buf_str(&call->remark));
	}
	if (yyjson_mut_arr_size(call->instructions) > 0)
		write_instruction_texts(call, out);
	if (data.len > 2)
		st_buf_addc(out, ',');
	st_buf_add(out, st_str_slice(st_buf_str(&data), 1, data.len));
	return 0;
}

static int write_mirror(struct st_call *call, struct st_buf *out, struct stet_error *err) {
	st_buf_adds(out, ",\"structuredContent\":{\"content\":[");
	int code = write_content(call, out, err);
	st_buf_adds(out, "]}");
	return code;
}

/*
 * Cut an answer that is too long, before a client cuts it silently. Tools that
 * heed st_call_room() never get here. Only text that a tool wrote is cut, never
 * a file's.
 */
static void cut_to_page(struct st_call *call) {
	size_t bytes = answer_bytes(call);
	if (bytes <= call->page || call->excerpt.text.ptr)
		return;
	size_t rest = bytes - call->text.len + 128;
	size_t cut = rest < call->page ? call->page - rest : 0;
	if (cut >= call->text.len)
		return;
	struct st_str text = st_buf_str(&call->text);
	size_t end = st_line_start(text, cut);
	st_buf_truncate(&call->text, end > 0 ? end : st_utf8_cut(text, cut));
	st_buf_addf(&call->text, "\n[Cut here: an answer has at most %zu bytes. Ask for less.]\n",
	            call->page);
}

static int write_result(struct st_call *call, bool failed, struct st_buf *out,
                        struct stet_error *err) {
	cut_to_page(call);
	if (call->text.failed || call->remark.failed)
		return st_fail_nomem(err);
	st_buf_adds(out, "{\"content\":[");
	int code = write_content(call, out, err);
	st_buf_adds(out, "]");
	if (code == 0 && call->structured && call->mirrors && !failed)
		code = write_mirror(call, out, err);
	else if (code == 0 && call->structured)
		code = write_structured(call, out, err);
	st_buf_adds(out, failed ? ",\"isError\":true}" : "}");
	return code < 0 || !out->failed ? code : st_fail_nomem(err);
}

/* Run the tool and store what its sessions saw and wrote. A notice about a failure to store goes into the answer. */
static int run_in_scope(struct st_call *call, struct stet_error *err) {
	for (size_t i = 0; i < call->session_count; i++)
		st_call_scope_begin(call->sessions[i], true);
	int code = call->tool->run(call, err);
	if (code == 0)
		st_call_instruct_roots(call);
	if (!call->failure || code == 0)
		st_call_instruct_rest(call);
	for (size_t i = 0; i < call->session_count; i++)
		st_call_scope_release(&(struct st_call_scope){call->sessions[i]});
	return code;
}

int st_call_step(struct st_call *call, size_t done, struct stet_error *err) {
	if (call->watch)
		call->watch->progress(call->watch, done);
	return st_cancel_check_now(err);
}

static int bind_and_run(struct st_call *call, yyjson_val *args, struct stet_error *err) {
	int code = st_call_bind(call, args, err);
	if (code == 0 && call->client)
		code = st_client_begin_call(call, err);
	if (code == 0) {
		call->page = call->session->ws->page_bytes;
		for (size_t i = 0; i < call->session_count; i++)
			st_late_writes_check(&call->sessions[i]->ws->writes.late_writes);
		code = run_in_scope(call, err);
	}
	return code;
}

static int parse_and_run(struct st_call *call, struct st_str args, struct stet_error *err) {
	yyjson_doc *doc = NULL;
	int code = args.len ? st_json_parse(args, "The arguments", &doc, err) : 0;
	if (code == 0)
		code = bind_and_run(call, yyjson_doc_get_root(doc), err);
	yyjson_doc_free(doc);
	return code;
}

void st_call_notice(struct st_call *call, const char *notice) {
	yyjson_mut_val *list = yyjson_mut_obj_get(call->result, "notices");
	if (!list)
		list = st_json_add_array(call->doc, call->result, "notices");
	st_json_push(call->doc, list, st_json_text(call->doc, st_str(notice)));
	st_buf_addf(&call->remark, "Notice: %s\n", notice);
}

/* Move the workspace's waiting notices into the answer, as far as there is room. A cancelled call has no answer. */
static void take_notices(struct st_call *call, struct notices *notices) {
	if (!call->session || (call->tool && call->tool->hints & ST_HINT_PLAIN))
		return;
	/* Mostly no notice waits, and to ask whether the call is cancelled takes a system call. */
	if (!call->session->ws->writes.notices.any || st_cancel_check_now(NULL) < 0)
		return;
	for (char *notice; notices->count < ST_NOTICES_MAX && answer_bytes(call) < call->page &&
	                   (notice = stet_workspace_notice(call->session->ws));) {
		st_call_notice(call, notice);
		notices->list[notices->count++] = notice;
	}
}

/* Free the notices. If the answer could not be written, queue them for the next one. */
static void end_notices(struct st_call *call, struct notices *notices, bool written) {
	for (size_t i = 0; i < notices->count; i++) {
		if (!written)
			st_write_notice(&call->session->ws->writes, "%s", notices->list[i]);
		free(notices->list[i]);
	}
}

/* Write the answer with waiting notices. If memory runs out after a write, the error says that it was done. */
static int write_answer_with_notices(struct st_call *call, int code, struct st_buf *out,
                                     struct stet_error *err) {
	struct notices notices = {0};
	size_t start = out->len;
	take_notices(call, &notices);
	int written = write_result(call, code < 0, out, err);
	end_notices(call, &notices, written == 0);
	if (written == 0)
		return code;
	st_buf_truncate(out, start);
	if (code == 0 && !(call->tool->hints & ST_HINT_READ_ONLY))
		return st_fail(err, STET_E_NOMEM,
		               "%s succeeded, but memory ran out while writing its answer. Read the file "
		               "before you go on.",
		               call->tool->name);
	return written;
}

static int prepare_call(struct st_call *call, struct stet_error *err) {
	call->excerpt = (struct st_excerpt)ST_EXCERPT_INIT;
	call->doc = yyjson_mut_doc_new(NULL);
	call->result = call->doc ? yyjson_mut_obj(call->doc) : NULL;
	call->content = call->doc ? yyjson_mut_arr(call->doc) : NULL;
	call->instructions = call->doc ? yyjson_mut_arr(call->doc) : NULL;
	call->page = ST_PAGE_BYTES;
	if (!call->result || !call->content || !call->instructions)
		return st_fail_nomem(err);
	/* A failed allocation shows as a document without a root (base/json.h). */
	yyjson_mut_doc_set_root(call->doc, call->content);
	return 0;
}

static size_t tokens_of(yyjson_mut_val *blocks) {
	size_t tokens = 0;
	yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(blocks);
	for (yyjson_mut_val *block; (block = yyjson_mut_arr_iter_next(&items));) {
		yyjson_mut_val *text = yyjson_mut_obj_get(block, "text");
		if (text)
			tokens += st_usage_tokens(st_strn(yyjson_mut_get_str(text), yyjson_mut_get_len(text)));
	}
	return tokens;
}

/*
 * Count the tokens sent to the session. A program that calls without a name has no
 * model behind it.
 */
static void count_usage(const struct st_call *call, bool failed) {
	struct stet_session *session = call->session;
	if (!session || !call->tool || call->tool->hints & ST_HINT_PLAIN ||
	    (!call->client && !session->name))
		return;
	size_t instructions = tokens_of(call->instructions);
	st_usage_record(session,
	                &(struct st_usage_call){
						.tool = call->tool->name,
						.path = call->path,
						.failed = failed,
						.tokens = st_usage_tokens(main_text(call)) + tokens_of(call->content) +
	                              st_usage_tokens(st_buf_str(&call->remark)) + instructions,
						.instructions = instructions,
					});
}

/* Write the answer of a success or failure, and end the call. */
static int conclude_call(struct st_call *call, int code, const struct stet_error *why,
                         struct st_buf *out, struct stet_error *err) {
	if (code < 0) {
		fill_failure(call, why);
		if (err)
			*err = *why;
	}
	bool failed = code < 0;
	code = write_answer_with_notices(call, code, out, err);
	count_usage(call, failed);
	st_client_end_call(call);
	return code;
}

void st_excerpt_release(struct st_excerpt *excerpt) {
	st_place_release(&excerpt->place);
	st_file_release(&excerpt->file);
	st_buf_release(&excerpt->numbered);
}

static void call_release(struct st_call *call) {
	yyjson_mut_doc_free(call->doc);
	st_excerpt_release(&call->excerpt);
	st_buf_release(&call->text);
	st_buf_release(&call->remark);
}

static int fail_no_tool(const char *name, struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	for (size_t i = 0; st_tools[i]; i++)
		st_buf_addf(&names, "%s%s", i ? ", " : "", st_tools[i]->name);
	struct st_str typed = st_str(name);
	return st_fail(err, STET_E_INVALID, "There is no tool \"%.*s\". The tools are: %s.",
	               (int)st_utf8_cut(typed, 100), typed.ptr, st_buf_cstr(&names));
}

static int call_tool(struct st_call *call, const char *tool, struct st_str args, char **out,
                     size_t *out_len, struct stet_error *err) {
	*out = NULL;
	call->tool = st_tool_find(st_str(tool));
	if (!call->tool)
		return fail_no_tool(tool, err);

	struct st_buf text = ST_BUF_INIT;
	struct stet_error why = {0};
	int code = prepare_call(call, err);
	if (code == 0)
		code = conclude_call(call, parse_and_run(call, args, &why), &why, &text, err);
	call_release(call);
	if (text.len == 0)
		st_buf_release(&text);
	*out = text.ptr;
	if (out_len)
		*out_len = text.len;
	return code;
}

int st_client_run(struct stet_client *client, const struct st_tool *tool, yyjson_val *args,
                  bool structured, struct st_call_watch *watch, struct st_buf *out,
                  struct stet_error *err) {
	struct st_call call = {
		.client = client, .tool = tool, .structured = structured, .watch = watch};
	struct stet_error why = {0};
	int code = prepare_call(&call, err);
	if (code == 0)
		code = conclude_call(&call, bind_and_run(&call, args, &why), &why, out, err);
	call_release(&call);
	return code;
}

int stet_call(struct stet_session *session, const char *tool, const char *args, size_t args_len,
              char **out, size_t *out_len, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct st_call call = {
		.session = session, .sessions = &session, .session_count = 1, .structured = true};
	return call_tool(&call, tool, st_strn(args ? args : "", args ? args_len : 0), out, out_len,
	                 err);
}

int stet_client_call(struct stet_client *client, const char *tool, const char *args,
                     size_t args_len, char **out, size_t *out_len, struct stet_error *err) {
	if (st_begin_call(client, err) < 0)
		return STET_E_INVALID;
	struct st_call call = {.client = client, .structured = true};
	return call_tool(&call, tool, st_strn(args ? args : "", args ? args_len : 0), out, out_len,
	                 err);
}
