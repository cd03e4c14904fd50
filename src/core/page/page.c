#include "core/page/page.h"

#include <strings.h>

#include "core/state/run.h"
#include "text/diff/unified.h"

/* ---- arguments ---- */

const char *st_page_text(const struct st_page *page, const char *name) {
	struct st_str text = st_json_str(yyjson_obj_get(page->args, name));
	return text.len > 0 ? text.ptr : NULL;
}

int64_t st_page_int(const struct st_page *page, const char *name, int64_t missing) {
	yyjson_val *value = yyjson_obj_get(page->args, name);
	int64_t number = st_json_is_int(value) ? st_json_int(value) : -1;
	return number < 0 ? missing : number;
}

int st_page_id(const struct st_page *page, int64_t *id, struct stet_error *err) {
	*id = st_page_int(page, "id", 0);
	return *id > 0 ? 0 : st_fail(err, STET_E_INVALID, "\"id\" takes the number of an entry.");
}

int64_t st_page_limit(const struct st_page *page) {
	int64_t limit = st_page_int(page, "limit", ST_PAGE_LIMIT);
	if (limit < 1)
		return 1;
	return limit > ST_PAGE_LIMIT_MAX ? ST_PAGE_LIMIT_MAX : limit;
}

bool st_page_matches(const struct st_page *page, const char *path, const char *who) {
	const char *wanted_path = st_page_text(page, "path"), *agent = st_page_text(page, "agent");
	if (wanted_path && !strcasestr(path, wanted_path))
		return false;
	return !agent || (who && strcasestr(st_name_without_owner(who), agent));
}

/* ---- members ---- */

void st_page_add_number(struct st_page *page, yyjson_mut_val *object, const char *key,
                        int64_t number) {
	st_json_add(page->doc, object, key, yyjson_mut_sint(page->doc, number));
}

void st_page_add_time(struct st_page *page, yyjson_mut_val *object, const char *key, int64_t ns) {
	st_page_add_number(page, object, key, ns / 1000000);
}

void st_page_add_who(struct st_page *page, yyjson_mut_val *object, const char *key,
                     const char *who) {
	if (who)
		st_json_add_text(page->doc, object, key, st_str(st_name_without_owner(who)));
}

void st_page_add_version(struct st_page *page, yyjson_mut_val *object, const char *key,
                         const struct st_version *version) {
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(&version->hash, hex, ST_HASH_HEX);
	st_json_add(page->doc, object, key,
	            version->exists ? st_json_text(page->doc, st_str(hex))
	                            : yyjson_mut_null(page->doc));
}

/* ---- diffs ---- */

static bool is_binary(struct st_str text) {
	return memchr(text.ptr, '\0', text.len) != NULL;
}

static void add_no_diff(struct st_page *page, yyjson_mut_val *object, const char *why) {
	st_json_add_text(page->doc, object, "noDiff", st_str(why));
}

int st_page_add_texts(struct st_page *page, yyjson_mut_val *object, const char *path,
                      struct st_str before, struct st_str after, struct stet_error *err) {
	st_auto(st_diff_report) report = {0};
	st_auto(st_buf) diff = ST_BUF_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS(path);
	opts.max_bytes = ST_PAGE_DIFF_MAX;
	if (is_binary(before) || is_binary(after)) {
		add_no_diff(page, object, "it is a binary file");
		return 0;
	}
	int code = st_diff_unified(before, after, &opts, &diff, &report, err);
	if (code < 0)
		return code;
	st_json_add_text(page->doc, object, "diff", st_buf_str(&diff));
	st_json_add_size(page->doc, object, "added", report.added);
	st_json_add_size(page->doc, object, "removed", report.removed);
	if (report.truncated)
		st_json_add_true(page->doc, object, "cut");
	return 0;
}

static struct st_str text_of(const struct st_blob *blob) {
	return blob ? st_strn(blob->bytes, blob->len) : st_str("");
}

int st_page_add_diff(struct st_page *page, yyjson_mut_val *object, const char *path,
                     const struct st_version *before, const struct st_version *after,
                     struct stet_error *err) {
	if (st_workspace_check_type(page->ws, path, NULL) < 0) {
		add_no_diff(page, object, "files of this type may not be read here");
		return 0;
	}
	struct st_blob *old = before->exists ? st_run_bytes(page->ws, path, &before->hash) : NULL;
	struct st_blob *new = after->exists ? st_run_bytes(page->ws, path, &after->hash) : NULL;
	int code = 0;
	if (before->exists && !old)
		add_no_diff(page, object, "the version before is no longer kept");
	else if (after->exists && !new)
		add_no_diff(page, object, "the version after is no longer kept");
	else
		code = st_page_add_texts(page, object, path, text_of(old), text_of(new), err);
	st_blob_put(old);
	st_blob_put(new);
	return code;
}

/* ---- the answer ---- */

int st_page_read(struct st_page *page, st_store_fn *fn, void *data, struct stet_error *err) {
	struct st_store *store = &st_state_of(page->ws)->store;
	return st_store_exists(store) ? st_store_do(store, ST_STORE_READ, fn, data, err) : 0;
}

static const struct {
	const char *name;
	st_page_section *run;
} sections[] = {
	{"now", st_page_now},         {"conflicts", st_page_conflicts}, {"conflict", st_page_conflict},
	{"rescued", st_page_rescued}, {"history", st_page_history},     {"write", st_page_write},
	{"run", st_page_run},         {"diff", st_page_diff},           {"context", st_page_context},
	{"places", st_page_places},   {"forecast", st_page_forecast},
};

static st_page_section *find_section(const char *name, struct stet_error *err) {
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		if (name && strcmp(sections[i].name, name) == 0)
			return sections[i].run;
	}
	(void)st_fail(err, STET_E_INVALID,
	              "There is no section %s. The sections are: now, conflicts, conflict, rescued, "
	              "history, write, run, diff, context, places, forecast.",
	              st_quoted(name ? name : ""));
	return NULL;
}

static int write_section(struct st_page *page, st_page_section *run, struct st_buf *out,
                         struct stet_error *err) {
	page->doc = yyjson_mut_doc_new(NULL);
	page->root = page->doc ? yyjson_mut_obj(page->doc) : NULL;
	if (!page->root)
		return st_fail_nomem(err);
	yyjson_mut_doc_set_root(page->doc, page->root);
	int code = run(page, err);
	return code == 0 ? st_json_write(page->doc, page->root, out, err) : code;
}

int st_page(struct stet_workspace *ws, const struct st_reach *reach, const char *section,
            struct st_str args, char **out, size_t *out_len, struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	yyjson_doc *parsed = NULL;
	struct st_buf text = ST_BUF_INIT;
	st_page_section *run = find_section(section, err);
	int code = run ? 0 : STET_E_INVALID;
	if (code == 0 && args.len > 0)
		code = st_json_parse(args, "The arguments", &parsed, err);
	struct st_page page = {.ws = ws, .reach = reach, .args = yyjson_doc_get_root(parsed)};
	if (code == 0)
		code = write_section(&page, run, &text, err);
	yyjson_mut_doc_free(page.doc);
	yyjson_doc_free(parsed);
	if (code < 0)
		st_buf_release(&text);
	*out = text.ptr;
	if (out_len)
		*out_len = text.len;
	return code;
}

int stet_page(struct stet_workspace *ws, const char *section, const char *args, size_t args_len,
              char **out, size_t *out_len, struct stet_error *err) {
	return st_page(ws, NULL, section, args ? st_strn(args, args_len) : st_str(""), out, out_len,
	               err);
}

int64_t stet_page_changes(struct stet_workspace *ws) {
	return ws ? st_store_changes(&st_state_of(ws)->store) : 0;
}
