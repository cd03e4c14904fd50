/* The functions of stet/context.h, on top of compact and snapshot. */
#include "stet/context.h"

#include "core/prompt/compact.h"
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
	bool use_snapshot;
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
	free(context);
}

static int set_shape(struct stet_context *context, struct st_str name, struct stet_error *err) {
	char word[16] = "";
	if (name.len < sizeof word)
		memcpy(word, name.ptr, name.len);
	int shape = name.len < sizeof word ? st_shape_of(word) : -1;
	if (shape < 0)
		return st_fail(
			err, STET_E_INVALID,
			"There is no such shape of messages. Use \"auto\", \"chat\", \"responses\" or "
			"\"anthropic\".");
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
	int code = st_state_save_or_notice(session, err);
	if (code == 0)
		code = st_repo_get_status(&st_state_of(session->ws)->repo, session, 0, &status, err);
	if (code == 0)
		code = st_snapshot_format(&status.state, 0, snapshot, err);
	if (code < 0)
		return code;
	int use = status.state.use_snapshot;
	context->use_snapshot = use < 0 ? session->ws->use_snapshot : use == 1;
	st_workspace_log(session->ws, session->name, st_buf_str(snapshot));
	return 0;
}

void stet_context_set_number(struct stet_context *context, int number, size_t value) {
	if (!context)
		return;
	if (number == STET_CONTEXT_BUDGET)
		context->budget = value;
	else if (number == STET_CONTEXT_PERCENT)
		context->percent = value;
	else if (number == STET_CONTEXT_USE_SNAPSHOT)
		context->use_snapshot = value != 0;
}

static int make_prompt(struct stet_context *context, struct st_str messages, struct st_buf *prompt,
                       struct stet_error *err) {
	const struct st_buf *texts = context->texts;
	struct st_compact_options options = {
		.snapshot = st_buf_str(&texts[STET_CONTEXT_SNAPSHOT]),
		.no_snapshot = !context->use_snapshot,
		.template = st_buf_str(&texts[STET_CONTEXT_TEMPLATE]),
		.request = st_buf_str(&texts[STET_CONTEXT_REQUEST]),
		.additional = st_buf_str(&texts[STET_CONTEXT_ADDITIONAL]),
		.budget = context->budget,
		.percent = context->percent > 10000 ? 10000 : (unsigned)context->percent,
		.shape = context->shape,
	};
	return st_compact(messages, &options, prompt, &context->report, err);
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
	if (context->use_snapshot) {
		code = make_prompt(context, st_strn(messages, len), &prompt, err);
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
