/* Replay a recorded run of an agent, with its full history and with snapshots. */
#include "eval/replay.h"

#include "base/arena.h"
#include "eval/audit.h"
#include "core/prompt/compact.h"
#include "core/prompt/snapshot.h"
#include "eval/stage.h"
#include "text/tokens/tokens.h"

/* The most memory for a run, whose texts are held many times. */
enum { ARENA_LIMIT = 1 << 30 };

/* A rewrite is nearly the same if its common beginning and end make up so many quarters of it. */
enum { NEARLY = 3 };

struct file {
	const char *path;
	/** The content, if it is known. */
	struct st_str content;
	bool known;
	/** The hash in the row of the last write, in hexadecimal; empty if the file has changed since. */
	char digits[ST_HASH_SHORT + 1];
	bool written;
	/** Somebody else changed the file since the agent last read or changed it. */
	bool stale;
	/** The file is on the stage, with this content. */
	bool staged;
	enum st_file_status status;
};

struct st_replay {
	struct st_arena arena;
	struct st_str rows;
	size_t at;
	size_t line;
	size_t budget;
	/** The common directory of all absolute paths, with its slash. */
	struct st_str root;
	struct file **files;
	size_t file_count;
	/** The messages so far, as a JSON array without its closing bracket. */
	struct st_buf messages;
	/** The current reply, until it is complete: its text, its calls, their results. */
	struct st_buf text;
	struct st_buf calls;
	struct st_buf results;
	size_t call_count;
	/** Tokens of all rows so far. */
	size_t row_tokens;
	/** The number of the current reply. */
	int64_t turn;
	/** The tokens and texts of the current prompt. */
	size_t full;
	size_t short_tokens;
	struct st_buf prompt;
	struct st_buf snapshot;
	/** The current reply did more than write what the files already had. */
	bool needed;
	/** Open if stage.ws is not NULL. */
	struct st_stage stage;
	/** NULL if nothing is to be measured; and how many bytes of the messages it has. */
	struct st_measure *measure;
	size_t measured;
	/** The paths of all files, as the run and as the snapshot have them, one a line. */
	struct st_buf paths;
	size_t counts[ST_REPLAY_TOTAL + 1];
};

struct row {
	yyjson_doc *doc;
	yyjson_val *value;
	struct st_str tool;
	struct st_str op;
	struct st_str path;
	struct st_str result;
	yyjson_val *args;
	int64_t turn;
	bool failed;
};

/* ---- rows ---- */

static bool equals(struct st_str text, const char *word) {
	return st_str_eq(text, st_str(word));
}

/* Read the row at an offset, and advance. Returns 1, 0 at the end, or a code. */
static int read_row(struct st_replay *replay, size_t *at, struct row *row, struct stet_error *err) {
	char what[64];
	struct st_str text = {0};
	*row = (struct row){0};
	while (text.len == 0) {
		if (*at == replay->rows.len)
			return 0;
		const char *end = memchr(replay->rows.ptr + *at, '\n', replay->rows.len - *at);
		size_t stop = end ? (size_t)(end - replay->rows.ptr) : replay->rows.len;
		text = st_str_trim(st_str_slice(replay->rows, *at, stop));
		*at = end ? stop + 1 : stop;
		replay->line++;
	}
	snprintf(what, sizeof what, "The contents of line %zu of the run", replay->line);
	int code = st_json_parse(text, what, &row->doc, err);
	if (code < 0)
		return code;
	yyjson_val *value = row->value = yyjson_doc_get_root(row->doc);
	row->tool = st_json_str(yyjson_obj_get(value, "tool"));
	row->op = st_json_str(yyjson_obj_get(value, "op"));
	row->path = st_json_str(yyjson_obj_get(value, "path"));
	row->result = st_json_str(yyjson_obj_get(value, "result_text"));
	row->args = yyjson_obj_get(value, "args");
	row->turn = st_json_int(yyjson_obj_get(value, "turn"));
	row->failed = yyjson_is_true(yyjson_obj_get(value, "is_error"));
	if (!yyjson_is_obj(value) || row->tool.len == 0) {
		yyjson_doc_free(row->doc);
		return st_fail(err, STET_E_INVALID,
		               "Line %zu of the run has no \"tool\". Each line has to be an object with "
		               "\"turn\", \"tool\", \"args\" and \"result_text\".",
		               replay->line);
	}
	return 1;
}

static bool is_text(const struct row *row) {
	return equals(row->tool, "system") || equals(row->tool, "user") ||
	       equals(row->tool, "compaction");
}

/* An argument of the row's tool; tools use two different names for it. */
static struct st_str row_argument(const struct row *row, const char *a, const char *b,
                                  bool *there) {
	yyjson_val *value = yyjson_obj_get(row->args, a);
	if (!value)
		value = yyjson_obj_get(row->args, b);
	*there = yyjson_is_str(value);
	return st_json_str(value);
}

/* ---- files ---- */

static struct st_str path_in_root(const struct st_replay *replay, struct st_str path) {
	if (replay->root.len && path.len > replay->root.len && st_str_starts(path, replay->root))
		return st_str_slice(path, replay->root.len, path.len);
	return st_str_starts(path, ST_STR("./")) ? st_str_slice(path, 2, path.len) : path;
}

/* Find a file by its path, or add it; NULL if memory ran out. */
static struct file *find_file(struct st_replay *replay, struct st_str path) {
	size_t low = 0, high = replay->file_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = st_str_cmp(path, st_str(replay->files[middle]->path));
		if (order == 0)
			return replay->files[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	struct file *file = st_arena_array(&replay->arena, 1, sizeof *file);
	struct file **files =
		reallocarray(replay->files, replay->file_count + 1, sizeof *replay->files);
	if (files)
		replay->files = files;
	if (!file || !files || !(file->path = st_arena_copy(&replay->arena, path)))
		return NULL;
	memmove(&files[low + 1], &files[low], (replay->file_count - low) * sizeof *files);
	files[low] = file;
	replay->file_count++;
	return file;
}

static bool set_content(struct st_replay *replay, struct file *file, struct st_str content) {
	char *copy = st_arena_copy(&replay->arena, content);
	file->known = copy != NULL;
	file->content = st_strn(copy, content.len);
	return file->known;
}

static bool is_nearly(struct st_str a, struct st_str b) {
	size_t shorter = a.len < b.len ? a.len : b.len;
	size_t longer = a.len < b.len ? b.len : a.len;
	size_t head = 0, tail = 0;
	while (head < shorter && a.ptr[head] == b.ptr[head])
		head++;
	while (tail < shorter - head && a.ptr[a.len - 1 - tail] == b.ptr[b.len - 1 - tail])
		tail++;
	return (head + tail) * 4 >= longer * NEARLY;
}

/* Whether the snapshot of the current prompt names a file. */
static bool is_named(const struct st_replay *replay, const struct file *file) {
	struct st_str path = st_str(file->path);
	const char *slash = memrchr(path.ptr, '/', path.len);
	const char *name = slash ? slash + 1 : path.ptr;
	return strstr(st_buf_cstr(&replay->snapshot), name) != NULL;
}

static bool note_write(struct st_replay *replay, const struct row *row, struct file *file) {
	bool there;
	struct st_str content = row_argument(row, "content", "file_text", &there);
	replay->counts[ST_REPLAY_WRITES]++;
	replay->counts[ST_REPLAY_WRITTEN] += !file->written;
	struct st_str digits = st_json_str(yyjson_obj_get(row->value, "content_sha256_16"));
	bool same = there ? file->known && st_str_eq(content, file->content)
	                  : digits.len && st_str_eq(digits, st_str(file->digits));
	bool nearly = !same && there && file->known && is_nearly(content, file->content) &&
	              is_named(replay, file);
	replay->counts[ST_REPLAY_IDENTICAL] += same;
	replay->counts[ST_REPLAY_NEARLY] += nearly;
	replay->needed |= !same && !nearly;
	file->status =
		file->status == ST_FILE_UNCHANGED && file->known ? ST_FILE_MODIFIED : ST_FILE_CREATED;
	file->written = true;
	file->known = false;
	snprintf(file->digits, sizeof file->digits, "%.*s", (int)digits.len, digits.ptr);
	return !there || set_content(replay, file, content);
}

/* Apply an edit to the content, if both are known. */
static bool note_edit(struct st_replay *replay, const struct row *row, struct file *file) {
	bool has_old, has_new;
	struct st_str old = row_argument(row, "old_string", "oldText", &has_old);
	struct st_str new = row_argument(row, "new_string", "newText", &has_new);
	const char *at = NULL;
	replay->counts[ST_REPLAY_EDITS]++;
	replay->counts[ST_REPLAY_FAILED] += row->failed;
	replay->counts[ST_REPLAY_STALE] += file->stale;
	if (file->status == ST_FILE_UNCHANGED)
		file->status = ST_FILE_MODIFIED;
	if (row->failed)
		return true;
	file->digits[0] = '\0';
	if (file->known && has_old && has_new && old.len)
		at = memmem(file->content.ptr, file->content.len, old.ptr, old.len);
	file->known = at != NULL;
	if (!at)
		return true;
	st_auto(st_buf) text = ST_BUF_INIT;
	size_t from = (size_t)(at - file->content.ptr);
	st_buf_add(&text, st_str_slice(file->content, 0, from));
	st_buf_add(&text, new);
	st_buf_add(&text, st_str_slice(file->content, from + old.len, file->content.len));
	return !text.failed && set_content(replay, file, st_buf_str(&text));
}

static bool note_disk(struct st_replay *replay, const struct row *row, struct file *file) {
	file->digits[0] = '\0';
	file->stale = yyjson_is_false(yyjson_obj_get(row->args, "first_sight"));
	return set_content(replay, file, row->result);
}

/* Make the same change of a file on the stage. */
static bool stage_file(struct st_replay *replay, const struct row *row, struct file *file) {
	if (!replay->stage.ws || equals(row->op, "read"))
		return true;
	int code = 0;
	if (file->known && equals(row->op, "disk"))
		code = st_stage_disturb(&replay->stage, file->path, file->content, NULL);
	else if (file->known)
		code = st_stage_write(&replay->stage, file->path, file->content, NULL);
	file->staged = code > 0;
	return code >= 0;
}

static bool note_file(struct st_replay *replay, const struct row *row) {
	replay->needed |= !equals(row->op, "write") || row->path.len == 0;
	bool counts = equals(row->op, "read") || equals(row->op, "write") || equals(row->op, "edit") ||
	              equals(row->op, "disk");
	if (!counts || row->path.len == 0)
		return true;
	struct file *file = find_file(replay, path_in_root(replay, row->path));
	if (!file)
		return false;
	bool good = equals(row->op, "write")  ? note_write(replay, row, file)
	            : equals(row->op, "edit") ? note_edit(replay, row, file)
	            : equals(row->op, "disk") ? note_disk(replay, row, file)
	                                      : true;
	if (!equals(row->op, "disk"))
		file->stale = false;
	return good && stage_file(replay, row, file);
}

/* ---- messages ---- */

static void add_message(struct st_replay *replay, const char *role, struct st_str text) {
	st_buf_addf(&replay->messages,
	            "%s{\"role\":\"%s\",\"content\":", replay->messages.len > 1 ? "," : "", role);
	st_json_quote(&replay->messages, text);
	st_buf_addc(&replay->messages, '}');
}

static void add_call(struct st_replay *replay, const struct row *row) {
	size_t id = ++replay->call_count;
	char *args = row->args ? yyjson_val_write(row->args, 0, NULL) : NULL;
	st_buf_addf(&replay->calls,
	            "%s{\"id\":\"call_%zu\",\"type\":\"function\",\"function\":{\"name\":",
	            replay->calls.len ? "," : "", id);
	st_json_quote(&replay->calls, row->tool);
	st_buf_adds(&replay->calls, ",\"arguments\":");
	st_json_quote(&replay->calls, st_str(args ? args : "{}"));
	st_buf_adds(&replay->calls, "}}");
	free(args);
	st_buf_addf(&replay->results,
	            ",{\"role\":\"tool\",\"tool_call_id\":\"call_%zu\",\"content\":", id);
	st_json_quote(&replay->results, row->result);
	st_buf_addc(&replay->results, '}');
}

/* Add the complete reply to the messages. */
static void end_reply(struct st_replay *replay) {
	struct st_buf *out = &replay->messages;
	if (replay->text.len || replay->calls.len) {
		st_buf_addf(out, "%s{\"role\":\"assistant\",\"content\":", out->len > 1 ? "," : "");
		st_json_quote(out, st_buf_str(&replay->text));
		if (replay->calls.len)
			st_buf_addf(out, ",\"tool_calls\":[%s]", replay->calls.ptr);
		st_buf_addc(out, '}');
		st_buf_add(out, st_buf_str(&replay->results));
	}
	replay->counts[ST_REPLAY_NEEDLESS] += replay->calls.len && !replay->needed;
	replay->needed = false;
	out->failed |= replay->text.failed || replay->calls.failed || replay->results.failed;
	st_buf_clear(&replay->text);
	st_buf_clear(&replay->calls);
	st_buf_clear(&replay->results);
}

static size_t count_row_tokens(const struct row *row) {
	yyjson_val *tokens = yyjson_obj_get(row->value, "tokens");
	if (yyjson_is_int(tokens))
		return (size_t)st_json_int(tokens);
	char *args = row->args ? yyjson_val_write(row->args, 0, NULL) : NULL;
	size_t sum = st_tokens(row->result) + (args ? st_tokens(st_str(args)) : 0);
	free(args);
	return equals(row->tool, "disk") ? 0 : sum;
}

static bool play_row(struct st_replay *replay, const struct row *row) {
	replay->row_tokens += count_row_tokens(row);
	if (equals(row->tool, "system"))
		add_message(replay, "system", row->result);
	else if (is_text(row))
		add_message(replay, "user", row->result);
	else if (equals(row->tool, "assistant"))
		st_buf_add(&replay->text, row->result);
	else if (!equals(row->tool, "disk"))
		add_call(replay, row);
	bool is_message = is_text(row) || equals(row->tool, "assistant");
	bool is_call = !is_message && !equals(row->tool, "disk");
	if (is_call && replay->measure &&
	    st_measure_call(replay->measure, row->path, row->args, equals(row->op, "edit"), NULL) < 0)
		return false;
	return (is_message || note_file(replay, row)) && !replay->messages.failed;
}

/* ---- a turn ---- */

static int describe_file(struct st_replay *replay, const struct file *from, struct st_repo_file *to,
                         struct stet_error *err) {
	*to = (struct st_repo_file){
		.path = from->path,
		.status = from->status,
		.external = from->stale,
		.version = {.exists = from->known, .stamp.size = from->known ? from->content.len : 0}};
	return from->known ? st_hash_of(from->content, &to->version.hash, err) : 0;
}

static int make_snapshot(struct st_replay *replay, struct st_audit *audit, struct stet_error *err) {
	struct st_repo_state state = {.work_dir = replay->root.len ? replay->root.ptr : ".",
	                              .story_id = "",
	                              .file_count = replay->file_count};
	st_autofree struct st_repo_file *files = calloc(replay->file_count + 1, sizeof *files);
	if (!files)
		return st_fail_nomem(err);
	for (size_t i = 0; i < replay->file_count; i++) {
		int code = describe_file(replay, replay->files[i], &files[i], err);
		if (code < 0)
			return code;
	}
	state.files = files;
	st_buf_clear(&replay->snapshot);
	int code = st_snapshot_format(&state, 0, &replay->snapshot, err);
	if (code == 0)
		st_audit_files(st_buf_str(&replay->snapshot), &state, audit);
	return code;
}

static void list_paths(struct st_replay *replay) {
	st_buf_clear(&replay->paths);
	for (size_t i = 0; i < replay->file_count; i++) {
		st_buf_addf(&replay->paths, "%s\n", replay->files[i]->path);
		if (replay->root.len)
			st_buf_addf(&replay->paths, "%s%s\n", replay->root.ptr, replay->files[i]->path);
	}
}

/* Make the prompts of all strategies; the messages end with the bracket. */
static int measure_turn(struct st_replay *replay, struct stet_error *err) {
	if (!replay->measure)
		return 0;
	list_paths(replay);
	size_t from = replay->measured ? replay->measured : 1;
	struct st_turn turn = {
		.delta = st_str_slice(st_buf_str(&replay->messages), from, replay->messages.len - 1),
		.snapshot = st_buf_str(&replay->snapshot),
		.verified = st_buf_str(&replay->paths),
		.strict = st_buf_str(&replay->prompt),
	};
	replay->measured = replay->messages.len - 1;
	return replay->paths.failed ? st_fail_nomem(err) : st_measure_turn(replay->measure, &turn, err);
}

static int make_prompt(struct st_replay *replay, struct stet_error *err) {
	struct st_compact_options options = {.budget = replay->budget, .shape = ST_SHAPE_CHAT};
	struct st_compact_report report;
	struct st_audit audit = {0};
	int code = make_snapshot(replay, &audit, err);
	if (code < 0)
		return code;
	options.snapshot = st_buf_str(&replay->snapshot);
	size_t len = replay->messages.len;
	st_buf_addc(&replay->messages, ']');
	st_buf_clear(&replay->prompt);
	struct st_str history = st_buf_str(&replay->messages);
	code = replay->messages.failed ? st_fail_nomem(err)
	                               : st_compact(history, &options, &replay->prompt, &report, err);
	if (code == 0)
		code = st_audit_prompt(history, st_buf_str(&replay->prompt), &audit, err);
	if (code == 0)
		code = measure_turn(replay, err);
	if (code < 0)
		return code;
	st_buf_truncate(&replay->messages, len);
	replay->counts[ST_REPLAY_CUT] += report.cut;
	replay->counts[ST_REPLAY_UNSAID] += st_audit_unsaid(&audit) > 0;
	replay->short_tokens = report.tokens;
	replay->full = replay->row_tokens;
	replay->counts[ST_REPLAY_TURNS]++;
	return 1;
}

/* Whether a row begins the reply after a turn. The rows before it make up its prompt. */
static bool begins_reply(const struct row *row, int64_t turn) {
	return !is_text(row) && !equals(row->tool, "disk") && row->turn > turn;
}

/*
 * Scan the rows: count the replies, and find the common directory of the
 * absolute paths, except those in /tmp, as the workspace.
 */
static int survey_rows(struct st_replay *replay, struct stet_error *err) {
	struct row row;
	int code;
	size_t at = 0, common = 0;
	int64_t turn = -1;
	st_autofree char *first = NULL;
	while ((code = read_row(replay, &at, &row, err)) > 0) {
		if (begins_reply(&row, turn)) {
			replay->counts[ST_REPLAY_TOTAL]++;
			turn = row.turn;
		}
		bool counts =
			row.path.len && row.path.ptr[0] == '/' && !st_str_starts(row.path, ST_STR("/tmp/"));
		if (counts && !first) {
			first = strndup(row.path.ptr, row.path.len);
			common = row.path.len;
		}
		for (size_t i = 0; counts && first && i < common; i++) {
			if (i == row.path.len || row.path.ptr[i] != first[i])
				common = i;
		}
		yyjson_doc_free(row.doc);
	}
	replay->line = 0;
	while (common > 1 && first[common - 1] != '/')
		common--;
	if (common <= 1 || code < 0)
		return code;
	char *root = st_arena_copy(&replay->arena, st_strn(first, common));
	replay->root = root ? st_strn(root, common) : (struct st_str){0};
	return root ? 0 : st_fail_nomem(err);
}

int st_replay_open(const char *rows, size_t len, struct st_replay **out, struct stet_error *err) {
	struct st_replay *replay = calloc(1, sizeof *replay);
	if (!replay)
		return st_fail_nomem(err);
	st_arena_init(&replay->arena, ARENA_LIMIT);
	replay->rows = st_strn(rows, len);
	replay->turn = -1;
	st_buf_addc(&replay->messages, '[');
	int code = survey_rows(replay, err);
	if (code < 0) {
		st_replay_close(replay);
		return code;
	}
	*out = replay;
	return 0;
}

void st_replay_close(struct st_replay *replay) {
	if (!replay)
		return;
	st_buf_release(&replay->messages);
	st_buf_release(&replay->text);
	st_buf_release(&replay->calls);
	st_buf_release(&replay->results);
	st_buf_release(&replay->prompt);
	st_buf_release(&replay->snapshot);
	st_arena_release(&replay->arena);
	st_stage_release(&replay->stage);
	st_buf_release(&replay->paths);
	st_measure_free(replay->measure);
	free(replay->files);
	free(replay);
}

void st_replay_budget(struct st_replay *replay, size_t tokens) {
	replay->budget = tokens;
}

int st_replay_measure(struct st_replay *replay, size_t above, size_t to, struct stet_error *err) {
	size_t tail = replay->budget ? replay->budget : ST_COMPACT_BUDGET;
	const struct st_measure_options options = {.tail = tail, .above = above, .to = to};
	replay->measure = st_measure_new(&options, err);
	return replay->measure ? 0 : STET_E_NOMEM;
}

const struct st_measure *st_replay_measured(const struct st_replay *replay) {
	return replay->measure;
}

int st_replay_next(struct st_replay *replay, struct stet_error *err) {
	struct row row;
	int code;
	size_t at = replay->at;
	while ((code = read_row(replay, &at, &row, err)) > 0) {
		bool begins = begins_reply(&row, replay->turn);
		if (begins || (is_text(&row) && row.turn > replay->turn))
			end_reply(replay);
		if (begins) {
			code = make_prompt(replay, err);
			replay->turn = row.turn;
		}
		if (code > 0 && !play_row(replay, &row))
			code = st_fail_nomem(err);
		yyjson_doc_free(row.doc);
		replay->at = at;
		if (begins || code < 0)
			return code;
	}
	end_reply(replay);
	if (replay->measure)
		st_measure_end(replay->measure);
	struct st_audit audit = {0};
	if (code == 0)
		code = make_snapshot(replay, &audit, err);
	replay->counts[ST_REPLAY_UNSAID] += st_audit_unsaid(&audit) > 0;
	return code;
}

int st_replay_stage(struct st_replay *replay, const char *dir, struct stet_error *err) {
	int code = st_stage_open(&replay->stage, dir, err);
	if (code < 0)
		st_stage_release(&replay->stage);
	return code;
}

int st_replay_restart(struct st_replay *replay, struct stet_error *err) {
	return replay->stage.ws ? st_stage_restart(&replay->stage, err) : 0;
}

/* Whether the stage has a file as the run has it. Both are sorted; `at` is where the search continues. */
static bool is_as_in_run(const struct st_repo_status *view, size_t *at, const struct file *file) {
	struct st_hash hash;
	while (*at < view->state.file_count && strcmp(view->state.files[*at].path, file->path) < 0)
		++*at;
	if (*at == view->state.file_count)
		return false;
	const struct st_repo_file *found = &view->state.files[*at];
	return strcmp(found->path, file->path) == 0 && found->status != ST_FILE_DELETED &&
	       st_hash_of(file->content, &hash, NULL) == 0 && st_hash_eq(&hash, &found->version.hash);
}

int st_replay_verify(struct st_replay *replay, size_t *wrong, struct stet_error *err) {
	st_auto(st_repo_status) view = {0};
	*wrong = 0;
	int code = replay->stage.ws ? st_stage_look(&replay->stage, &view, err) : 0;
	size_t at = 0;
	for (size_t i = 0; i < replay->file_count && code == 0; i++)
		*wrong += replay->files[i]->staged && !is_as_in_run(&view, &at, replay->files[i]);
	return code;
}

size_t st_replay_full(const struct st_replay *replay) {
	return replay->full;
}

size_t st_replay_short(const struct st_replay *replay) {
	return replay->short_tokens;
}

static const char *buf_text(const struct st_buf *buf, size_t *len) {
	if (len)
		*len = buf->len;
	return st_buf_cstr(buf);
}

const char *st_replay_prompt(const struct st_replay *replay, size_t *len) {
	return buf_text(&replay->prompt, len);
}

const char *st_replay_snapshot(const struct st_replay *replay, size_t *len) {
	return buf_text(&replay->snapshot, len);
}

size_t st_replay_count(const struct st_replay *replay, int count) {
	size_t staged = 0;
	if (count == ST_REPLAY_FILES)
		return replay->file_count;
	if (count == ST_REPLAY_REFUSED)
		return replay->stage.refused;
	for (size_t i = 0; count == ST_REPLAY_STAGED && i < replay->file_count; i++)
		staged += replay->files[i]->staged;
	if (count == ST_REPLAY_STAGED)
		return staged;
	return count >= 0 && count <= ST_REPLAY_TOTAL ? replay->counts[count] : 0;
}
