/*
 * Patches over several files: any patch parses or is refused with a sentence, any
 * hunk applies or is refused, and the diff of two texts makes the one of the other.
 * Input: the patch and the text of the file, separated by a NUL byte.
 */
#include <stdint.h>
#include <stdlib.h>

#include "text/apply/hunks.h"
#include "text/diff/unified.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { RESULT_MAX = 1 << 20 };

static void must(bool truth) {
	if (!truth)
		abort();
}

static void check_failure(int code, const struct stet_error *err) {
	must(err->code == code && strlen(err->message) > 10);
	must(code == STET_E_INVALID || code == STET_E_BINARY || code == STET_E_TOO_BIG ||
	     code == STET_E_NO_MATCH || code == STET_E_AMBIGUOUS);
}

/* Hunks and lines of the files follow each other without gap. */
static void check_shape(const struct st_file_patches *patches) {
	size_t hunks = 0, lines = 0, headers = 0;
	must(patches->count > 0 && patches->count <= ST_FILE_PATCHES_MAX);
	for (size_t i = 0; i < patches->count; i++) {
		const struct st_file_patch *file = &patches->list[i];
		must(file->path && *file->path && file->at > 0 && file->first_hunk == hunks);
		must(!file->to || file->kind == ST_FILE_UPDATE);
		hunks += file->hunk_count;
	}
	must(hunks == patches->hunk_count);
	for (size_t i = 0; i < patches->hunk_count; i++) {
		const struct st_patch_hunk *hunk = &patches->hunks[i];
		must(hunk->first_line == lines && hunk->first_header == headers);
		lines += hunk->line_count;
		headers += hunk->header_count;
	}
	must(lines == patches->line_count && headers == patches->header_count);
}

static void apply_file(const struct st_file_patches *patches, size_t i, struct st_str text) {
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) notes = ST_BUF_INIT;
	struct st_hunks_failure failure;
	struct stet_error err = {0};
	bool adds = patches->list[i].kind == ST_FILE_ADD;
	int code = st_hunks_apply(patches, i, adds ? st_str("") : text, RESULT_MAX, &new, &notes,
	                          &failure, &err);
	if (code < 0) {
		check_failure(code, &err);
		must(new.len == 0);
		must(failure.hunk <= patches->list[i].hunk_count);
		must(code != STET_E_AMBIGUOUS || failure.places.total > 1);
	}
}

static void try_patch(struct st_str patch, struct st_str text) {
	st_auto(st_file_patches) patches = {0};
	struct stet_error err = {0};
	int code = st_file_patches_parse(&patches, patch, &err);
	if (code < 0) {
		check_failure(code, &err);
		must(patches.count == 0);
		return;
	}
	check_shape(&patches);
	for (size_t i = 0; i < patches.count; i++)
		apply_file(&patches, i, text);
}

/* Our own patch applies our own diff. */
static void round_trip(struct st_str old, struct st_str new) {
	st_auto(st_buf) diff = ST_BUF_INIT, made = ST_BUF_INIT, notes = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	st_auto(st_file_patches) patches = {0};
	const struct st_diff_opts opts = ST_DIFF_OPTS("name");
	if (st_str_eq(old, new))
		return;
	must(st_diff_unified(old, new, &opts, &diff, &report, NULL) == 0);
	must(st_file_patches_parse(&patches, st_buf_str(&diff), NULL) == 0 && patches.count == 1);
	must(st_hunks_apply(&patches, 0, old, 0, &made, &notes, NULL, NULL) == 0);
	must(st_str_eq(st_buf_str(&made), new) && notes.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str input = st_strn((const char *)data, len);
	const char *nul = len ? memchr(data, '\0', len) : NULL;
	size_t end = nul ? (size_t)(nul - input.ptr) : len;
	struct st_str patch = st_str_slice(input, 0, end);
	struct st_str text = st_str_slice(input, nul ? end + 1 : len, len);
	try_patch(patch, text);
	round_trip(text, patch);
	return 0;
}
