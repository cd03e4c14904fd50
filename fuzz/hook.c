/*
 * The hook, over a workspace: it never fails but by a code, its decision is JSON, and it makes no file outside the
 * root. Input: events, one per line; ROOT stands for the workspace's directory. A first line "apply" or "watch" is the
 * configuration's key `guard`.
 */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "hook/witness.h"
#include "stet/hook.h"
#include "stet/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { EVENTS_MAX = 8, ROUNDS = 200 };

static char root[] = "/dev/shm/stet-fuzz-XXXXXX";

static void must(bool truth) {
	if (!truth)
		abort();
}

/* ---- a workspace, made again now and then ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
	return remove(path);
}

static void end(void) {
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text) {
	char path[100];
	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	must(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void refresh(void) {
	static int round;
	char path[100];
	if (round == 0) {
		st_witness_enabled = false;
		must(mkdtemp(root));
		atexit(end);
	} else if (round % ROUNDS == 0) {
		end();
		must(mkdir(root, 0700) == 0);
	}
	if (round++ % ROUNDS > 0)
		return;
	snprintf(path, sizeof path, "%s/.git", root);
	must(mkdir(path, 0700) == 0);
	put("AGENTS.md", "Be kind.\n");
	put("old.txt", "old\n");
	put("mixed.txt", "one\r\ntwo\n");
}

/* ---- events ---- */

static void run_event(struct st_str line) {
	st_auto(st_buf) event = ST_BUF_INIT;
	char *decision = NULL;
	size_t decision_len = 0;
	for (const char *at; (at = memmem(line.ptr, line.len, "ROOT", 4));) {
		size_t before = (size_t)(at - line.ptr);
		st_buf_add(&event, st_str_slice(line, 0, before));
		st_buf_adds(&event, root);
		line = st_str_slice(line, before + 4, line.len);
	}
	st_buf_add(&event, line);
	/* An event that names another directory than the fuzzer's is none of its. */
	if (!memmem(st_buf_cstr(&event), event.len, root, sizeof root - 1))
		return;
	int code = stet_hook_run(st_buf_cstr(&event), event.len, NULL, &decision, &decision_len, NULL);
	must(code == 0 || !decision);
	if (!decision)
		return;
	yyjson_doc *doc = yyjson_read(decision, decision_len, 0);
	must(yyjson_is_obj(yyjson_doc_get_root(doc)));
	yyjson_doc_free(doc);
	stet_free(decision);
}

/* Take the first line if it is a value of `guard`. */
static void set_guard(struct st_str *text) {
	static const char *const values[] = {"apply", "watch"};
	unsetenv("STET_GUARD");
	for (size_t i = 0; i < 2; i++) {
		size_t size = strlen(values[i]);
		if (!st_str_starts(*text, st_str(values[i])) || text->len == size ||
		    text->ptr[size] != '\n')
			continue;
		setenv("STET_GUARD", values[i], 1);
		*text = st_str_slice(*text, size + 1, text->len);
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str text = st_strn((const char *)data, len);
	refresh();
	set_guard(&text);
	put("plain.txt", "one\ntwo\nthree\n");
	for (int count = 0; text.len > 0 && count < EVENTS_MAX; count++) {
		const char *end_of_line = memchr(text.ptr, '\n', text.len);
		size_t line = end_of_line ? (size_t)(end_of_line - text.ptr) : text.len;
		run_event(st_str_slice(text, 0, line));
		text = st_str_slice(text, line + (end_of_line != NULL), text.len);
	}
	return 0;
}
