#include "tools/render.h"

#include <assert.h>
#include <strings.h>

#include "text/diff/diff.h"
#include "tools/route.h"
#include "core/places/places.h"
#include "core/session/deliver.h"
#include "core/workspace/vault.h"
#include "fs/path/dirs.h"
#include "stet/host.h"
#include "tools/host.h"

const char st_common_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"status\":{\"enum\":[\"success\",\"conflict\",\"error\"]},"
	"\"error\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
	"\"reason\":{\"enum\":[\"modified\",\"deleted\",\"unseen\",\"hash\",\"drops\"]},"
	"\"path\":{\"type\":\"string\"},"
	"\"currentHash\":{\"type\":\"string\"},\"expectedHash\":{\"type\":\"string\"},"
	"\"diff\":{\"type\":\"string\"},\"diffTruncated\":{\"type\":\"boolean\"},"
	"\"stillMatches\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	"\"writer\":{\"type\":\"string\"},"
	"\"commit\":{\"enum\":[\"exchanged\",\"created\",\"verified\",\"in-place\",\"none\"]},"
	"\"noop\":{\"type\":\"boolean\"},\"merged\":{\"type\":\"boolean\"},"
	"\"elsewhere\":{\"type\":\"string\"},\"foreignDiff\":{\"type\":\"string\"},\"note\":{\"type\":"
	"\"string\"},"
	"\"content\":{\"type\":\"string\"},\"remark\":{\"type\":\"string\"},"
	"\"instructions\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"agents\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"agentsHashes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"notices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
	"\"required\":[\"status\"]}";

void st_call_spell(const struct st_call *call, const char *path, struct st_buf *out) {
	const char *root = call->session->ws->root.path;
	if (call->session != call->sessions[0])
		st_buf_addf(out, "%s%s", root, strcmp(root, "/") == 0 ? "" : "/");
	st_buf_adds(out, path);
}

void st_render_path(struct st_call *call, yyjson_mut_val *object, const char *key,
                    const char *path) {
	st_auto(st_buf) whole = ST_BUF_INIT;
	st_call_spell(call, path, &whole);
	st_json_add(call->doc, object, key,
	            whole.failed ? NULL : st_json_text(call->doc, st_buf_str(&whole)));
}

int st_call_part(const struct st_call *call, size_t total, size_t max, struct st_part *part,
                 struct stet_error *err) {
	int64_t offset = st_arg_int(call, "offset", 0), limit = st_arg_int(call, "limit", 0);
	if (offset < 0 || limit < 0)
		return st_fail(err, STET_E_INVALID, "\"offset\" and \"limit\" of %s cannot be negative.",
		               call->tool->name);
	size_t count = limit > 0 && (uint64_t)limit < max ? (size_t)limit : max;
	part->first = (uint64_t)offset < total ? (size_t)offset : total;
	part->end = count < total - part->first ? part->first + count : total;
	assert(part->first <= part->end && part->end <= total);
	return 0;
}

bool st_call_is_parsed(const struct st_call *call) {
	return call->session->ws->structured;
}

struct st_buf *st_call_footer(struct st_call *call) {
	return st_call_is_parsed(call) ? &call->remark : &call->text;
}

void st_render_part(struct st_call *call, const char *what, size_t total,
                    const struct st_part *part) {
	struct st_buf *out = st_call_footer(call);
	st_json_add_size(call->doc, call->result, "total", total);
	if (part->first == 0 && part->end == total)
		return;
	if (part->first == part->end)
		st_buf_addf(out, "[The offset is out of range: there are %zu %s.]\n", total, what);
	else
		st_buf_addf(out, "[%zu-%zu of %zu %s.", part->first + 1, part->end, total, what);
	if (part->end < total) {
		st_json_add_size(call->doc, call->result, "nextOffset", part->end);
		st_buf_addf(out, " Continue with offset %zu.", part->end);
	}
	if (part->first != part->end)
		st_buf_adds(out, "]\n");
}

void st_add_size(struct st_buf *out, uint64_t bytes) {
	static const char *const units[] = {"KB", "MB", "GB", "TB"};
	if (bytes < 1024) {
		st_buf_addf(out, "%llu B", (unsigned long long)bytes);
		return;
	}
	double size = (double)bytes / 1024;
	size_t unit = 0;
	for (; size >= 1024 && unit < 3; unit++)
		size /= 1024;
	st_buf_addf(out, "%.2f %s", size, units[unit]);
}

/* ---- changes ---- */

static void render_matches(struct st_call *call, const struct stet_answer *answer) {
	if (answer->match_count == 0)
		return;
	yyjson_mut_val *lines = st_json_add_array(call->doc, call->failure, "stillMatches");
	for (size_t i = 0; i < answer->match_count; i++)
		st_json_push(call->doc, lines, yyjson_mut_uint(call->doc, answer->matches[i]));
}

void st_render_refusal(struct st_call *call, struct st_str expected_hash,
                       const struct stet_answer *answer) {
	yyjson_mut_doc *doc = call->doc;
	call->failure = yyjson_mut_obj(doc);
	st_json_add_text(doc, call->failure, "status", ST_STR("conflict"));
	st_json_add_text(doc, call->failure, "reason", st_str(answer->reason));
	st_render_path(call, call->failure, "path", answer->path);
	st_json_add_text(doc, call->failure, "message", st_buf_str(&answer->message));
	if (answer->has_hash)
		st_json_add_text(doc, call->failure, "currentHash", st_str(answer->hash));
	if (expected_hash.ptr)
		st_json_add_text(doc, call->failure, "expectedHash", expected_hash);
	if (answer->diff.len > 0) {
		st_json_add_text(doc, call->failure, "diff", st_buf_str(&answer->diff));
		st_json_add(doc, call->failure, "diffTruncated",
		            yyjson_mut_bool(doc, answer->diff_truncated));
		st_buf_clear(&call->text);
		st_buf_add(&call->text, st_buf_str(&answer->diff));
	}
	render_matches(call, answer);
	if (*answer->writer)
		st_json_add_text(doc, call->failure, "writer", st_str(answer->writer));
}

static void render_success(struct st_call *call, const char *path_key,
                           const struct stet_answer *answer) {
	yyjson_mut_doc *doc = call->doc;
	st_json_add_text(doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, path_key, answer->path);
	if (answer->has_hash)
		st_json_add_text(doc, call->result, "fileHash", st_str(answer->hash));
	if (answer->commit)
		st_json_add_text(doc, call->result, "commit", st_str(answer->commit));
	if (answer->noop)
		st_json_add_true(doc, call->result, "noop");
	if (answer->merged) {
		st_json_add_true(doc, call->result, "merged");
		st_json_add_text(doc, call->result, "foreignDiff", st_buf_str(&answer->diff));
	}
	for (size_t i = 0; i < answer->notice_count; i++)
		st_call_notice(call, answer->notices[i]);
}

void st_call_instruct_change(struct st_call *call, const char *path) {
	const struct st_seen *seen = st_tracker_find(&call->session->tracker, path);
	const struct st_hash *in_answer = seen && st_seen_all(seen) ? &seen->version.hash : NULL;
	st_call_instruct(call, path, in_answer, call->page / 2);
}

void st_call_tell(struct st_call *call, const char *path, const struct st_hash *now) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_reach reach;
	st_places_tell(call->session->ws->places, call->session, st_client_reach(call->client, &reach),
	               path, now, &text);
	if (text.len == 0 || text.failed)
		return;
	st_json_add_text(call->doc, call->result, "elsewhere", st_str_trim(st_buf_str(&text)));
	st_buf_add(&call->remark, st_buf_str(&text));
}

/* The file that the session has just written. */
static void tell_of_change(struct st_call *call, const char *path) {
	const struct st_seen *seen = st_tracker_find(&call->session->tracker, path);
	if (seen && seen->version.exists)
		st_call_tell(call, path, &seen->version.hash);
}

/* Make the missing directories of a new file. Returns whether there were any. */
static bool make_directories(struct st_call *call, const char *path) {
	const struct stet_workspace *ws = call->session->ws;
	const char *name = strrchr(path, '/');
	st_autofree char *relative = NULL;
	size_t made = 0;
	/* A path in quotes, or with a blank before it, is a mistake: it would begin with a directory of that name. */
	if (!name || strchr(" \t\n\"'`", *path) || st_vault_check_path(ws, path, NULL) < 0)
		return false;
	struct st_str parent = st_strn(path, (size_t)(name - path));
	return st_dir_make(&ws->root, parent, ws->writes.state_dir, &made, &relative, NULL) == 0 &&
	       made > 0;
}

int st_call_change(struct st_call *call, struct st_change *change, const char *path_key,
                   struct stet_answer **out, struct stet_error *err) {
	if (st_arg(call, "expectedHash"))
		change->expected_hash = st_arg_str(call, "expectedHash");
	bool merge = strcasecmp(st_arg_str(call, "onStale").ptr, "merge") == 0;
	bool chosen = st_arg_str(call, "onStale").len > 0;
	change->merge = chosen ? merge : call->session->ws->merge;
	change->never_merge = chosen && !merge;
	change->hash_proves = call->session->ws->hash_proves;
	change->check_drops &= !change->hash_proves;
	*out = NULL;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	int code = st_change_apply(call->session, change, answer, err);
	if (code == STET_E_NOT_FOUND && change->makes_dirs && make_directories(call, change->path))
		code = st_change_apply(call->session, change, answer, err);
	if (code == STET_E_CONFLICT)
		st_render_refusal(call, change->expected_hash, answer);
	if (code == 0 || code == STET_E_CONFLICT)
		st_call_instruct_change(call, answer->path);
	if (code < 0) {
		stet_answer_free(answer);
		return code;
	}
	render_success(call, path_key, answer);
	tell_of_change(call, answer->path);
	*out = answer;
	return 0;
}

void st_render_merged(struct st_call *call, const struct stet_answer *answer) {
	struct st_buf *out = st_call_footer(call);
	if (!answer->merged)
		return;
	if (answer->diff.len == 0) {
		st_buf_adds(out, "Somebody else had already made the same change.\n");
		return;
	}
	st_buf_adds(out, "Merged with these changes of others:\n");
	st_buf_add(out, st_buf_str(&answer->diff));
}

/* ---- parts of answers ---- */

void st_render_span(struct st_call *call, yyjson_mut_val *object, const char *key, size_t start,
                    size_t end) {
	yyjson_mut_val *span = st_json_add_object(call->doc, object, key);
	st_json_add_size(call->doc, span, "start", start);
	st_json_add_size(call->doc, span, "end", end);
}

void st_render_preview(struct st_call *call, struct st_str before, struct st_str after) {
	yyjson_mut_val *preview = st_json_add_object(call->doc, call->result, "preview");
	st_json_add_text(call->doc, preview, "before", before);
	st_json_add_text(call->doc, preview, "after", after);
}

static void render_lines(struct st_call *call, yyjson_mut_val *context, const char *key,
                         const struct st_context_line *lines, size_t count) {
	yyjson_mut_val *list = st_json_add_array(call->doc, context, key);
	for (size_t i = 0; i < count; i++) {
		yyjson_mut_val *line = yyjson_mut_obj(call->doc);
		st_json_add_size(call->doc, line, "number", lines[i].number);
		st_json_add_text(call->doc, line, "text", st_buf_str(&lines[i].text));
		st_json_push(call->doc, list, line);
		st_buf_addf(&call->text, "%6zu  %s\n", lines[i].number, st_buf_cstr(&lines[i].text));
	}
}

void st_render_context(struct st_call *call, const struct st_context *context) {
	yyjson_mut_val *object = st_json_add_object(call->doc, call->result, "context");
	render_lines(call, object, "beforeLines", context->before, context->before_count);
	st_buf_adds(&call->text, "        (changed)\n");
	render_lines(call, object, "afterLines", context->after, context->after_count);
}

int st_merged_lines(struct st_str current, struct st_str merged, size_t *first, size_t *last,
                    struct stet_error *err) {
	st_auto(st_diff) diff = {0};
	int code = st_diff_init(&diff, current, merged, err);
	if (code < 0)
		return code;
	*first = 1;
	*last = 0;
	if (diff.count == 0)
		return 0;
	const struct st_hunk *end = &diff.hunks[diff.count - 1];
	*first = diff.hunks[0].new_start + 1;
	*last = end->new_start + end->new_count;
	if (*last < *first)
		*last = *first;
	return 0;
}

bool st_is_markdown(const char *path) {
	static const char *const endings[] = {".md", ".markdown", ".mdx", ".mdown", ".mkd", ".mdc"};
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
		if (strcasecmp(dot, endings[i]) == 0)
			return true;
	}
	return false;
}

/* ---- instructions (AGENTS.md) ---- */

/* Add instructions: a block each, their paths as `agents`, their notices to the remark. */
static void add_instructions(struct st_call *call, const struct stet_instructions *instructions) {
	yyjson_mut_val *paths = NULL;
	for (size_t i = 0; i < instructions->count; i++) {
		if (!paths)
			paths = st_json_add_array(call->doc, call->result, "agents");
		st_json_push(call->doc, paths,
		             st_json_text(call->doc, st_str(instructions->entries[i].path)));
		st_call_add_instructions(call, st_buf_str(&instructions->entries[i].block));
	}
	for (size_t i = 0; i < instructions->notice_count; i++)
		st_buf_addf(&call->remark, "[Instructions: %s]\n", instructions->notices[i]);
}

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
		add_instructions(call, instructions);
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

/* Send all of them, delivered before or not: a new conversation has none from an earlier one. */
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
