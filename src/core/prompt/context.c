/* The functions of stet/context.h, on top of compact and snapshot. */
#include "stet/context.h"

#include "core/prompt/epoch.h"
#include "core/prompt/learned.h"
#include "core/prompt/snapshot.h"
#include "core/state/state.h"
#include "stet/state.h"
#include "text/tokens/tokens.h"

enum { TEXTS = STET_CONTEXT_SHAPE };

struct stet_context {
	struct st_buf texts[TEXTS];
	enum st_shape shape;
	size_t budget;
	size_t percent;
	size_t above;
	size_t to;
	size_t overhead;
	bool use_snapshot;
	bool strict;
	bool archived;
	bool no_marks;
	/** The snapshot of a workspace that has neither files nor tasks says nothing. */
	bool empty_snapshot;
	/** Paths in the messages that stet_context_learn() found on the disk, one a line. */
	struct st_buf verified;
	struct st_compact_report report;
};

struct stet_context *stet_context_new(void) {
	struct stet_context *context = calloc(1, sizeof *context);
	if (context)
		context->use_snapshot = true;
	return context;
}

void stet_context_free(struct stet_context *context) {
	for (size_t i = 0; context && i < TEXTS; i++)
		st_buf_release(&context->texts[i]);
	if (context)
		st_buf_release(&context->verified);
	free(context);
}

static int set_shape(struct stet_context *context, struct st_str name, struct stet_error *err) {
	char word[16] = "";
	if (name.len < sizeof word)
		memcpy(word, name.ptr, name.len);
	int shape = name.len < sizeof word ? st_shape_of(word) : -1;
	if (shape < 0)
		return st_fail(err, STET_E_INVALID,
		               "Unknown format of messages. Use \"auto\", \"chat\", \"responses\", "
		               "\"anthropic\" or \"gemini\".");
	context->shape = (enum st_shape)shape;
	return 0;
}

int stet_context_set(struct stet_context *context, int text, const char *value, size_t len,
                     struct stet_error *err) {
	if (st_begin_call(context, err) < 0)
		return STET_E_INVALID;
	if (text == STET_CONTEXT_SHAPE)
		return set_shape(context, st_strn(value, len), err);
	if (text < 0 || text >= TEXTS)
		return st_fail(err, STET_E_INVALID, "A context has no text %d.", text);
	if (text == STET_CONTEXT_SNAPSHOT)
		context->empty_snapshot = false;
	st_buf_clear(&context->texts[text]);
	st_buf_add(&context->texts[text], st_strn(value, len));
	return context->texts[text].failed ? st_fail_nomem(err) : 0;
}

int stet_context_take(struct stet_context *context, struct stet_session *session,
                      struct stet_error *err) {
	if (st_begin_call(context, err) < 0)
		return STET_E_INVALID;
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct st_buf *snapshot = &context->texts[STET_CONTEXT_SNAPSHOT];
	st_auto(st_repo_status) status = {0};
	st_buf_clear(snapshot);
	int code = st_state_read(session, false, &status, err);
	if (code == 0)
		code = st_snapshot_format(&status.state, 0, snapshot, err);
	if (code < 0)
		return code;
	context->empty_snapshot = status.state.file_count == 0 && status.state.task_count == 0;
	int use = status.state.use_snapshot;
	context->use_snapshot = use < 0 ? session->ws->use_snapshot : use == 1;
	st_workspace_log(session->ws, session->name, st_buf_str(snapshot));
	st_usage_record(session, &(struct st_usage_call){.tool = ST_USAGE_TURN});
	return 0;
}

void stet_context_set_number(struct stet_context *context, int number, size_t value) {
	if (!context)
		return;
	size_t *const sizes[] = {
		[STET_CONTEXT_BUDGET] = &context->budget,     [STET_CONTEXT_PERCENT] = &context->percent,
		[STET_CONTEXT_ABOVE] = &context->above,       [STET_CONTEXT_TO] = &context->to,
		[STET_CONTEXT_OVERHEAD] = &context->overhead,
	};
	if (number >= 0 && number <= STET_CONTEXT_OVERHEAD && sizes[number])
		*sizes[number] = value;
	else if (number == STET_CONTEXT_USE_SNAPSHOT)
		context->use_snapshot = value != 0;
	else if (number == STET_CONTEXT_STRICT)
		context->strict = value != 0;
	else if (number == STET_CONTEXT_ARCHIVED)
		context->archived = value != 0;
	else if (number == STET_CONTEXT_CACHE_MARKS)
		context->no_marks = value == 0;
}

static struct st_epoch_options options_of(const struct stet_context *context) {
	const struct st_buf *texts = context->texts;
	return (struct st_epoch_options){
		.above = context->above ? context->above : context->budget,
		.to = context->to ? context->to : context->budget / 2,
		.overhead = context->overhead,
		.no_marks = context->no_marks,
		.verified = st_buf_str(&context->verified),
		.prompt = {.snapshot = st_buf_str(&texts[STET_CONTEXT_SNAPSHOT]),
	               .no_snapshot = !context->use_snapshot,
	               .template = st_buf_str(&texts[STET_CONTEXT_TEMPLATE]),
	               .request = st_buf_str(&texts[STET_CONTEXT_REQUEST]),
	               .additional = st_buf_str(&texts[STET_CONTEXT_ADDITIONAL]),
	               .budget = context->budget,
	               .percent = context->percent > 10000 ? 10000 : (unsigned)context->percent,
	               .shape = context->shape,
	               .archived = context->archived},
	};
}

/* Make a prompt in the strict form. */
static int make_prompt(struct stet_context *context, struct st_str messages, struct st_buf *prompt,
                       struct stet_error *err) {
	struct st_epoch_options options = options_of(context);
	size_t budget = options.prompt.budget ? options.prompt.budget : ST_COMPACT_BUDGET;
	options.prompt.budget = budget > context->overhead ? budget - context->overhead : 1;
	return st_compact(messages, &options.prompt, prompt, &context->report, err);
}

static int cut_messages(struct stet_context *context, struct st_str messages, struct st_buf *prompt,
                        struct stet_error *err) {
	struct st_epoch_options options = options_of(context);
	if (context->empty_snapshot)
		options.prompt.snapshot = ST_STR("");
	int code = st_epoch(messages, &options, prompt, &context->report, err);
	return code < 0 ? code : 0;
}

/* ---- learning from the messages ---- */

/* The record of a file in the state; NULL for none. */
static const struct st_repo_file *find_known(const struct st_repo_status *status,
                                             const char *path) {
	for (size_t i = 0; i < status->state.file_count; i++) {
		if (strcmp(status->state.files[i].path, path) == 0)
			return &status->state.files[i];
	}
	return NULL;
}

/* Whether the disk confirms that a call had its effect. */
enum evidence {
	/** Nothing, or the contrary. */
	NONE,
	/** The state has the file already, and a read tells nothing new. */
	KNOWN,
	/** The file exists with the text of the call; or it is gone, and was known. */
	BORNE_OUT,
};

static enum evidence find_evidence(struct stet_session *session,
                                   const struct st_repo_status *status,
                                   const struct st_learned_file *learned) {
	struct stet_workspace *ws = session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_load_known(&ws->root, st_str(learned->path), ws->max_file, NULL, &place,
	                              &file, NULL);
	if (!place.path || st_path_is_protected(place.path, ws->writes.state_dir))
		return NONE;
	const struct st_repo_file *known = find_known(status, place.path);
	if (learned->use == ST_USE_DELETED)
		return code == STET_E_NOT_FOUND && known ? BORNE_OUT : NONE;
	if (code < 0)
		return NONE;
	if (learned->use == ST_USE_READ)
		return known ? KNOWN : BORNE_OUT;
	struct st_str bytes = st_buf_str(&file.bytes), proof = learned->proof;
	bool has_it =
		proof.len == 0 || (bytes.len && memmem(bytes.ptr, bytes.len, proof.ptr, proof.len));
	return has_it ? BORNE_OUT : NONE;
}

/* Record the files of one use whose state on the disk agrees with the call. */
static int record_use(struct stet_context *context, struct stet_session *session,
                      const struct st_learned *learned, enum st_file_use use,
                      const struct st_repo_status *status, struct stet_error *err) {
	static const char *const tools[] = {"read_file", "write_file", "edit_file", "delete_file"};
	st_auto(st_buf) result = ST_BUF_INIT;
	size_t count = 0;
	st_buf_adds(&result, "{\"paths\":[");
	for (size_t i = 0; i < learned->count; i++) {
		const struct st_learned_file *file = &learned->files[i];
		enum evidence evidence = file->use == use ? find_evidence(session, status, file) : NONE;
		if (evidence != NONE)
			st_buf_addf(&context->verified, "%s\n", file->path);
		if (evidence != BORNE_OUT)
			continue;
		st_buf_adds(&result, count++ ? "," : "");
		st_json_quote(&result, st_str(file->path));
	}
	st_buf_adds(&result, "]}");
	if (result.failed || context->verified.failed)
		return st_fail_nomem(err);
	return count ? stet_record(session, tools[use], result.ptr, result.len, NULL, err) : 0;
}

static int learn_list(struct stet_context *context, struct stet_session *session,
                      const struct st_messages *list, struct stet_error *err) {
	struct st_message_calls calls = {0};
	struct st_learned learned = {0};
	st_auto(st_repo_status) status = {0};
	int code = st_message_calls_read(&calls, list, err);
	if (code == 0)
		code = st_learned_read(&learned, &calls, err);
	if (code == 0)
		code = st_repo_get_status(&st_state_of(session->ws)->repo, session, 0, &status, err);
	for (int use = ST_USE_READ; use <= ST_USE_DELETED && code == 0; use++)
		code = record_use(context, session, &learned, (enum st_file_use)use, &status, err);
	st_learned_release(&learned);
	st_message_calls_release(&calls);
	return code;
}

int stet_context_learn(struct stet_context *context, struct stet_session *session,
                       const char *messages, size_t len, struct stet_error *err) {
	if (st_begin_call(context, err) < 0)
		return STET_E_INVALID;
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct st_messages list;
	size_t above = context->above ? context->above : context->budget;
	st_buf_clear(&context->verified);
	int code = stet_snapshot_used(session->ws, err);
	if (code <= 0)
		return code;
	code = st_messages_read(&list, st_strn(messages, len), context->shape, err);
	if (code < 0)
		return code;
	above = (above ? above : ST_EPOCH_ABOVE) * 98 / (context->percent ? context->percent : 100);
	if (context->strict || st_epoch_tokens(&list) + context->overhead > above)
		code = learn_list(context, session, &list, err);
	st_messages_release(&list);
	return code;
}

static int hand_out(struct st_buf *from, char **out, size_t *out_len, struct stet_error *err) {
	if (from->failed || (!from->ptr && !st_buf_reserve(from, 1)))
		return st_fail_nomem(err);
	*out = from->ptr;
	if (out_len)
		*out_len = from->len;
	*from = (struct st_buf)ST_BUF_INIT;
	return 0;
}

int stet_context_compact(struct stet_context *context, const char *messages, size_t len, char **out,
                         size_t *out_len, struct stet_error *err) {
	if (st_begin_call(context, err) < 0)
		return STET_E_INVALID;
	st_auto(st_buf) prompt = ST_BUF_INIT;
	int code = 0;
	context->report = (struct st_compact_report){0};
	if (context->use_snapshot && context->strict) {
		code = make_prompt(context, st_strn(messages, len), &prompt, err);
	} else if (context->use_snapshot) {
		code = cut_messages(context, st_strn(messages, len), &prompt, err);
	} else {
		st_buf_add(&prompt, st_strn(messages, len));
		context->report.tokens = st_tokens(st_strn(messages, len));
	}
	return code < 0 ? code : hand_out(&prompt, out, out_len, err);
}

int stet_context_prompt(struct stet_context *context, char **out, size_t *out_len,
                        struct stet_error *err) {
	if (st_begin_call(context, err) < 0)
		return STET_E_INVALID;
	st_auto(st_buf) prompt = ST_BUF_INIT;
	context->report = (struct st_compact_report){0};
	int code = make_prompt(context, ST_STR("[]"), &prompt, err);
	return code < 0 ? code : hand_out(&prompt, out, out_len, err);
}

size_t stet_context_count(const struct stet_context *context, int count) {
	if (!context)
		return 0;
	const struct st_compact_report *report = &context->report;
	switch (count) {
	case STET_CONTEXT_TOKENS:
		return report->tokens;
	case STET_CONTEXT_REPLIES:
		return report->replies;
	case STET_CONTEXT_RESULTS:
		return report->results;
	case STET_CONTEXT_REQUESTS:
		return report->requests;
	case STET_CONTEXT_NOOPS:
		return report->noops;
	default:
		return count == STET_CONTEXT_CUT && report->cut;
	}
}

const char *stet_context_archive(const struct stet_context *context) {
	if (!context)
		return "";
	return context->report.archive;
}

size_t stet_tokens(const char *text, size_t len) {
	return st_tokens(st_strn(text, len));
}
