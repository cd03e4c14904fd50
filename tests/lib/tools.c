#include "lib/tools.h"

#include "fs/file/hash.h"
#include "lib/schema.h"
#include "tools/tool.h"

/* The last answer. */
static struct {
	char *text;
	size_t len;
	yyjson_doc *doc;
	yyjson_val *data;
} last;

static char ring[8][4096];
static int ring_next;

static void forget_last(void) {
	stet_free(last.text);
	yyjson_doc_free(last.doc);
	memset(&last, 0, sizeof last);
}

static yyjson_val *get(yyjson_val *value, const char *key, size_t len) {
	if (yyjson_is_arr(value))
		return yyjson_arr_get(value, strtoul(key, NULL, 10));
	return yyjson_obj_getn(value, key, len);
}

static yyjson_val *find(yyjson_val *value, const char *path) {
	while (value && *path) {
		size_t len = strcspn(path, ".");
		value = get(value, path, len);
		path += len + (path[len] == '.');
	}
	return value;
}

/* ---- what holds for every answer ---- */

/* The members in a tool's schema, and those that any answer may have. */
static yyjson_doc *both_schemas(yyjson_val *own) {
	yyjson_doc *common = yyjson_read(st_common_schema, strlen(st_common_schema), 0);
	assert_non_null(common);
	yyjson_mut_doc *both = yyjson_doc_mut_copy(common, NULL);
	yyjson_mut_val *into = yyjson_mut_obj_get(yyjson_mut_doc_get_root(both), "properties");
	yyjson_obj_iter members = yyjson_obj_iter_with(yyjson_obj_get(own, "properties"));
	for (yyjson_val *key; (key = yyjson_obj_iter_next(&members));) {
		yyjson_mut_obj_remove_key(into, yyjson_get_str(key));
		yyjson_mut_obj_add(into, yyjson_val_mut_copy(both, key),
		                   yyjson_val_mut_copy(both, yyjson_obj_iter_get_val(key)));
	}
	yyjson_doc *doc = yyjson_mut_doc_imut_copy(both, NULL);
	yyjson_mut_doc_free(both);
	yyjson_doc_free(common);
	return doc;
}

static void check_schema(const char *tool) {
	const char *own = st_tool_find(st_str(tool))->output_schema;
	yyjson_doc *doc = yyjson_read(own, strlen(own), 0);
	yyjson_doc *schema = both_schemas(yyjson_doc_get_root(doc));
	st_auto(st_buf) why = ST_BUF_INIT;
	if (!schema_accepts(yyjson_doc_get_root(schema), last.data, &why))
		fail_msg("%s answered %s: %s", tool, st_buf_cstr(&why), last.text);
	yyjson_doc_free(schema);
	yyjson_doc_free(doc);
}

static void check_content(bool failed) {
	yyjson_val *content = find(yyjson_doc_get_root(last.doc), "content"), *block;
	size_t i, max;
	assert_true(yyjson_arr_size(content) >= 1);
	yyjson_arr_foreach(content, i, max, block) {
		const char *type = yyjson_get_str(find(block, "type"));
		if (strcmp(type, "text") == 0)
			assert_non_null(yyjson_get_str(find(block, "text")));
		else if (strcmp(type, "resource") == 0)
			assert_non_null(yyjson_get_str(find(block, "resource.uri")));
		else
			assert_non_null(yyjson_get_str(find(block, "mimeType")));
	}
	if (failed)
		assert_memory_equal(said(0), "Error: ", 7);
}

/* A sentence begins with a capital, a name or a quotation, and ends like one. */
static void check_sentence(const char *message) {
	size_t len = strlen(message);
	if (len < 10 || !strchr(".!?)\n", message[len - 1]))
		fail_msg("not a sentence: %s", message);
}

static void check_failure(int code, const struct stet_error *err) {
	assert_int_equal(err->code, code);
	assert_string_equal(yyjson_get_str(look("status")),
	                    code == STET_E_CONFLICT ? "conflict" : "error");
	assert_string_equal(yyjson_get_str(look("error")), stet_error_name(code));
	check_sentence(yyjson_get_str(look("message")));
	assert_null(look("fileHash"));
}

static void check_hash(struct host *host) {
	const char *path = yyjson_get_str(look("filePath") ? look("filePath") : look("path"));
	const char *hash = yyjson_get_str(look("fileHash"));
	/* Some tools are not about one file. */
	if (!path && !hash)
		return;
	assert_non_null(path);
	if (!dir_has(host->dir, path)) {
		expect_true(look("deleted") ? "deleted" : "dryRun");
		return;
	}
	struct stat st;
	assert_int_equal(stat(dir_at(host->dir, path), &st), 0);
	if (S_ISDIR(st.st_mode)) {
		assert_null(hash);
		return;
	}
	if (!hash)
		fail_msg("the answer names the file %s, so it needs its fileHash", path);
	assert_int_equal(strlen(hash), ST_HASH_SHORT);
	struct st_hash real;
	assert_int_equal(
		st_hash_of(st_strn(dir_read(host->dir, path), (size_t)st.st_size), &real, NULL), 0);
	assert_int_equal(st_hash_matches(&real, st_str(hash), NULL), 1);
}

static void check_answer(struct host *host, const char *tool, int code) {
	last.doc = yyjson_read(last.text, last.len, 0);
	if (!last.doc)
		fail_msg("%s answered with what is not JSON: %s", tool, last.text);
	yyjson_val *root = yyjson_doc_get_root(last.doc);
	last.data = find(root, "structuredContent");
	assert_true(yyjson_is_obj(last.data));
	assert_int_equal(yyjson_get_bool(find(root, "isError")), code < 0);
	check_schema(tool);
	check_content(code < 0);
	if (code < 0) {
		check_failure(code, &host->err);
		return;
	}
	assert_string_equal(yyjson_get_str(look("status")), "success");
	check_hash(host);
}

/* ---- calls ---- */

int try_call_raw(struct host *host, const char *tool, struct st_str args) {
	forget_last();
	host->err = (struct stet_error){0};
	int code =
		stet_call(host->session, tool, args.ptr, args.len, &last.text, &last.len, &host->err);
	assert_non_null(last.text);
	assert_int_equal(strlen(last.text), last.len);
	check_answer(host, tool, code);
	return code;
}

static int call_with(struct host *host, const char *tool, const char *args, va_list list) {
	char *text = NULL;
	int len = vasprintf(&text, args, list);
	assert_true(len >= 0);
	for (char *quote = text; (quote = strchr(quote, '\'')); quote++)
		*quote = '"';
	int code = try_call_raw(host, tool, st_strn(text, (size_t)len));
	free(text);
	return code;
}

int try_call(struct host *host, const char *tool, const char *args, ...) {
	va_list list;
	va_start(list, args);
	int code = call_with(host, tool, args, list);
	va_end(list);
	return code;
}

void call(struct host *host, const char *tool, const char *args, ...) {
	va_list list;
	va_start(list, args);
	int code = call_with(host, tool, args, list);
	va_end(list);
	if (code < 0)
		fail_msg("%s: %s", tool, host->err.message);
}

void refuse(struct host *host, int code, const char *tool, const char *args, ...) {
	va_list list;
	va_start(list, args);
	int got = call_with(host, tool, args, list);
	va_end(list);
	if (got != code)
		fail_msg("%s: %s, not %s: %s", tool, stet_error_name(got), stet_error_name(code),
		         last.text);
}

const char *quoted(struct st_str text) {
	static struct st_buf bufs[8];
	static int next;
	struct st_buf *buf = &bufs[next++ % 8];
	st_buf_clear(buf);
	st_buf_addc(buf, '"');
	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];
		if (byte < 0x20 || strchr("\"\\'", byte))
			st_buf_addf(buf, "\\u%04x", byte);
		else
			st_buf_addc(buf, text.ptr[i]);
	}
	st_buf_addc(buf, '"');
	return buf->ptr;
}

/* ---- looks ---- */

yyjson_val *look(const char *path) {
	return find(last.data, path);
}

const char *said(size_t block) {
	yyjson_val *content = find(yyjson_doc_get_root(last.doc), "content");
	return yyjson_get_str(find(yyjson_arr_get(content, block), "text"));
}

struct st_str whole_answer(void) {
	return st_strn(last.text, last.len);
}

static yyjson_val *must_look(const char *path) {
	yyjson_val *value = look(path);
	if (!value)
		fail_msg("there is no \"%s\" in %s", path, last.text);
	return value;
}

void expect_str(const char *path, const char *value) {
	assert_true(yyjson_is_str(must_look(path)));
	assert_string_equal(yyjson_get_str(look(path)), value);
}

void expect_int(const char *path, int64_t value) {
	assert_true(yyjson_is_int(must_look(path)));
	assert_int_equal(yyjson_get_sint(look(path)), value);
}

void expect_true(const char *path) {
	if (!yyjson_is_true(must_look(path)))
		fail_msg("\"%s\" is not true in %s", path, last.text);
}

void expect_none(const char *path) {
	if (look(path))
		fail_msg("there is \"%s\" in %s", path, last.text);
}

void expect_count(const char *path, size_t count) {
	assert_true(yyjson_is_arr(must_look(path)));
	assert_int_equal(yyjson_arr_size(look(path)), count);
}

static void expect_in(const char *text, const char *part) {
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" is not in: %s", part, text);
}

void expect_part(const char *path, const char *part) {
	expect_in(yyjson_get_str(must_look(path)), part);
}

void expect_list(const char *path, const char *numbers) {
	st_auto(st_buf) list = ST_BUF_INIT;
	size_t i, max;
	yyjson_val *number;
	yyjson_arr_foreach(must_look(path), i, max, number)
		st_buf_addf(&list, "%s%lld", i ? " " : "", (long long)yyjson_get_sint(number));
	assert_string_equal(st_buf_cstr(&list), numbers);
}

void expect_span(const char *path, int64_t start, int64_t end) {
	yyjson_val *span = must_look(path);
	assert_int_equal(yyjson_get_sint(find(span, "start")), start);
	assert_int_equal(yyjson_get_sint(find(span, "end")), end);
}

void expect_text(const char *part) {
	expect_in(said(0), part);
}

void expect_no_text(const char *part) {
	if (strstr(said(0), part))
		fail_msg("\"%s\" is in: %s", part, said(0));
}

void expect_file(const struct host *host, const char *name, const char *text) {
	assert_string_equal(dir_read(host->dir, name), text);
}

const char *copy_of(const char *path) {
	const char *text = yyjson_get_str(must_look(path));
	assert_non_null(text);
	char *copy = ring[ring_next++ % 8];
	assert_true((size_t)snprintf(copy, sizeof ring[0], "%s", text) < sizeof ring[0]);
	return copy;
}

const char *hash_of_answer(void) {
	return copy_of("fileHash");
}
