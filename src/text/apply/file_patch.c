#include "text/apply/file_patch.h"

#include <stdlib.h>

#include "text/apply/reader.h"

void st_file_patches_release(struct st_file_patches *patches) {
	for (size_t i = 0; i < patches->count; i++) {
		free(patches->list[i].path);
		free(patches->list[i].to);
	}
	free(patches->list);
	free(patches->hunks);
	free(patches->lines);
	free(patches->headers);
	*patches = (struct st_file_patches){0};
}

/* Whether a line begins a file of a unified diff. */
static bool starts_diff(const struct st_patch_reader *reader) {
	return st_str_starts(reader->line, ST_STR("diff --git ")) ||
	       (st_str_starts(reader->line, ST_STR("--- ")) &&
	        st_str_starts(st_patch_reader_peek(reader), ST_STR("+++ ")));
}

/* A line with "*** Begin Patch", or one that only follows it. */
static bool starts_codex(const struct st_patch_reader *reader) {
	struct st_str line = st_str_trim(reader->line);
	return st_str_eq(line, ST_STR("*** Begin Patch")) ||
	       st_str_starts(line, ST_STR("*** Add File: ")) ||
	       st_str_starts(line, ST_STR("*** Update File: ")) ||
	       st_str_starts(line, ST_STR("*** Delete File: "));
}

static int parse_patch(struct st_patch_reader *reader) {
	for (; !reader->ended; st_patch_reader_next(reader)) {
		if (starts_codex(reader))
			return st_codex_parse(reader);
		if (starts_diff(reader))
			return st_git_diff_parse(reader);
		if (st_str_starts(reader->line, ST_STR("@@ -")))
			return st_patch_reader_fail(
				reader,
				"a hunk comes before the name of its file. Put \"--- a/NAME\" and "
				"\"+++ b/NAME\" before it.");
	}
	return st_fail(reader->err, STET_E_INVALID,
	               "This is no patch: it has neither \"*** Begin Patch\" nor \"--- a/NAME\" and "
	               "\"+++ b/NAME\". Nothing was changed. Send a patch in one of these formats.");
}

/* The name that a file has after the patch; NULL if it is deleted. */
static const char *name_after(const struct st_file_patch *file) {
	if (file->kind == ST_FILE_DELETE)
		return NULL;
	return file->to ? file->to : file->path;
}

static bool same_name(const char *a, const char *b) {
	return a && b && strcmp(a, b) == 0;
}

/* Refuse a patch that has two parts about one file: they could contradict each other. */
static int check_names(const struct st_file_patches *patches, struct stet_error *err) {
	for (size_t i = 1; i < patches->count; i++) {
		const struct st_file_patch *file = &patches->list[i];
		for (size_t j = 0; j < i; j++) {
			const struct st_file_patch *other = &patches->list[j];
			if (same_name(file->path, other->path) ||
			    same_name(name_after(file), name_after(other)))
				return st_fail(
					err, STET_E_INVALID,
					"Line %zu of the patch: %s is in the patch twice, first at line %zu. "
					"Nothing was changed. Put all its hunks into one part.",
					file->at, st_quoted(name_after(file) ? name_after(file) : file->path),
					other->at);
		}
	}
	return 0;
}

int st_file_patches_parse(struct st_file_patches *patches, struct st_str text,
                          struct stet_error *err) {
	struct st_patch_reader reader;
	*patches = (struct st_file_patches){0};
	st_patch_reader_init(&reader, text, patches, err);
	int code = parse_patch(&reader);
	if (code == 0)
		code = check_names(patches, err);
	if (code < 0)
		st_file_patches_release(patches);
	return code;
}
