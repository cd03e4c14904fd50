#include "text/patch/patch_place.h"

#include "base/plural.h"
#include "text/markdown/frontmatter.h"
#include "text/markdown/heading.h"

/* How many code blocks a message names. */
#define MAX_NAMED 10

static bool is_blank_line(const struct st_lines *lines, size_t n) {
	struct st_str line = st_lines_body(lines, n);
	if (n == 1)
		line = st_str_slice(line, st_bom_len(line), line.len);
	return st_str_trim(line).len == 0;
}

/* The last line up to n that is not blank, but at least `least`. */
static size_t skip_blank_up(const struct st_lines *lines, size_t n, size_t least) {
	while (n > least && is_blank_line(lines, n))
		n--;
	return n;
}

static void insert_after(struct st_patch_place *place, size_t line) {
	place->first = line + 1;
	place->last = line;
}

static int check_lines(const struct st_patch *patch, struct stet_error *err) {
	if (patch->start < 0 || patch->end < 0)
		return st_fail(err, STET_E_INVALID, "Lines count from 1; %lld is out of range.",
		               (long long)(patch->start < 0 ? patch->start : patch->end));
	if (patch->start == 0 && patch->operation != ST_PATCH_INSERT)
		return st_fail(err, STET_E_INVALID,
		               "Line 0 is the top of the file, for insert only; %s needs a line from 1 on.",
		               st_patch_operation_name(patch->operation));
	if (patch->start == 0 && patch->end != 0)
		return st_fail(
			err, STET_E_INVALID,
			"Line 0 is the top of the file and takes no end; to insert after line %lld, give "
			"it as start.",
			(long long)patch->end);
	if (patch->end != 0 && patch->end < patch->start)
		return st_fail(err, STET_E_INVALID, "The lines are reversed: start %lld is after end %lld.",
		               (long long)patch->start, (long long)patch->end);
	return 0;
}

static const char *name_target(enum st_patch_target target) {
	static const char *const names[] = {
		[ST_TARGET_LINES] = "the target \"lines\"",
		[ST_TARGET_HEADING] = "the target \"heading\"",
		[ST_TARGET_BEFORE_HEADING] = "the target \"beforeHeading\"",
		[ST_TARGET_APPEND_TO_SECTION] = "the target \"appendToSection\"",
		[ST_TARGET_CODE_BLOCK] = "the target \"codeBlock\"",
		[ST_TARGET_WHOLE_SECTION] = "the target \"wholeSection\"",
	};
	return names[target];
}

static int check_operation(const struct st_patch *patch, struct stet_error *err) {
	bool insert = patch->operation == ST_PATCH_INSERT;
	const char *operation = st_patch_operation_name(patch->operation);
	switch (patch->target) {
	case ST_TARGET_BEFORE_HEADING:
		if (!insert)
			return st_fail(
				err, STET_E_INVALID,
				"Only insert goes with %s, not %s. To %s the heading itself, use %s; the heading "
				"and its text, %s; lines, %s.",
				name_target(patch->target), operation, operation, name_target(ST_TARGET_HEADING),
				name_target(ST_TARGET_WHOLE_SECTION), name_target(ST_TARGET_LINES));
		return 0;
	case ST_TARGET_APPEND_TO_SECTION:
		if (!insert)
			return st_fail(
				err, STET_E_INVALID,
				"Only insert goes with %s, not %s. To %s the section, use %s; single lines of it, "
				"%s.",
				name_target(patch->target), operation, operation,
				name_target(ST_TARGET_WHOLE_SECTION), name_target(ST_TARGET_LINES));
		return 0;
	case ST_TARGET_WHOLE_SECTION:
		if (insert)
			return st_fail(
				err, STET_E_INVALID,
				"Only replace and delete go with %s, not insert. To insert at its end, use %s; "
				"above it, %s; right below its heading, %s.",
				name_target(patch->target), name_target(ST_TARGET_APPEND_TO_SECTION),
				name_target(ST_TARGET_BEFORE_HEADING), name_target(ST_TARGET_HEADING));
		return 0;
	default:
		return 0;
	}
}

int st_patch_check(const struct st_patch *patch, struct stet_error *err) {
	int code = check_operation(patch, err);
	if (code == 0 && patch->target == ST_TARGET_LINES)
		code = check_lines(patch, err);
	if (code < 0)
		return code;
	const char *operation = st_patch_operation_name(patch->operation);
	if (patch->operation != ST_PATCH_DELETE && !patch->has_content)
		return st_fail(err, STET_E_INVALID, "The operation %s needs content.", operation);
	if (patch->operation == ST_PATCH_INSERT && patch->content.len == 0)
		return st_fail(
			err, STET_E_INVALID,
			"The content is empty, so there is nothing to insert. A blank line is \"\\n\".");
	if (st_patch_needs_structure(patch) && !patch->markdown)
		return st_fail(err, STET_E_INVALID,
		               "Only Markdown files support %s. In this file use %s, or text_replace.",
		               name_target(patch->target), name_target(ST_TARGET_LINES));
	return 0;
}

static void locate_top(const struct st_patch *patch, const struct st_lines *lines,
                       struct st_patch_place *place, struct st_buf *note) {
	size_t front = patch->markdown ? st_frontmatter_end(lines) : 0;
	insert_after(place, front);
	if (front)
		st_buf_addf(
			note,
			"The content went below the front matter (lines 1-%zu), which must stay at the top. ",
			front);
}

static int locate_lines(const struct st_patch *patch, const struct st_lines *lines,
                        struct st_patch_place *place, struct st_buf *note, struct stet_error *err) {
	if (patch->start == 0) {
		locate_top(patch, lines, place, note);
		return 0;
	}
	int64_t end = patch->end ? patch->end : patch->start;
	if (lines->count == 0)
		return st_fail(err, STET_E_INVALID,
		               "The file is empty and has no line %lld; insert at line 0.",
		               (long long)patch->start);
	if ((uint64_t)end > lines->count)
		return st_fail(err, STET_E_INVALID, "Line %lld is out of range: the file has %zu %s.",
		               (long long)(patch->start > (int64_t)lines->count ? patch->start : end),
		               lines->count, st_plural(lines->count, "line", "lines"));

	bool insert = patch->operation == ST_PATCH_INSERT;
	place->shift = ST_SHIFT_TO_LINES;
	place->model_first = insert ? (size_t)end : (size_t)patch->start;
	place->model_last = (size_t)end;
	place->first = (size_t)patch->start;
	place->last = (size_t)end;
	if (insert)
		insert_after(place, (size_t)end);
	return 0;
}

static int fail_code_index(const struct st_patch *patch, const struct st_markdown *md,
                           struct stet_error *err) {
	if (md->code_count == 0)
		return st_fail(err, STET_E_INVALID,
		               "Code block %lld is out of range: the text has no fenced code block.",
		               (long long)patch->index);
	st_auto(st_buf) list = ST_BUF_INIT;
	for (size_t i = 0; i < md->code_count && i < MAX_NAMED; i++) {
		const struct st_code *code = &md->codes[i];
		st_buf_addf(&list, "%s%zu in lines %zu-%zu", i ? ", " : "", i, code->line, code->end_line);
	}
	if (md->code_count > MAX_NAMED)
		st_buf_addf(&list, " and so on up to %zu", md->code_count - 1);
	return st_fail(err, STET_E_INVALID,
	               "Code block %lld is out of range: the text has %zu, counted from 0: %s.",
	               (long long)patch->index, md->code_count, st_buf_cstr(&list));
}

static int locate_code(const struct st_patch *patch, const struct st_markdown *md,
                       struct st_patch_place *place, struct stet_error *err) {
	if (patch->index < 0 || (uint64_t)patch->index >= md->code_count)
		return fail_code_index(patch, md, err);
	place->code = &md->codes[patch->index];
	place->shift = ST_SHIFT_INTO_CODE;
	place->first = place->code->first;
	place->last = place->code->last;
	if (patch->operation == ST_PATCH_INSERT)
		insert_after(place, place->code->last);
	return 0;
}

/*
 * Insert after the last line of a section that is not blank. Link definitions
 * directly above a setext heading may have to stay with it (without them an
 * indented title would become code), so the place above them is the fallback.
 */
static void locate_section_end(const struct st_markdown *md, size_t index,
                               struct st_patch_place *place) {
	size_t least = md->headings[index].end_line;
	size_t end = st_markdown_section_end(md, index);
	insert_after(place, skip_blank_up(&md->lines, end, least));
	size_t next = st_markdown_section_next(md, index);
	if (next < md->heading_count && md->headings[next].block_line < md->headings[next].line)
		place->other = skip_blank_up(&md->lines, md->headings[next].block_line - 1, least) + 1;
}

/* Delete removes the blank lines before the next heading too; replace keeps them. */
static void locate_section(const struct st_patch *patch, const struct st_markdown *md, size_t index,
                           struct st_patch_place *place) {
	const struct st_heading *heading = &md->headings[index];
	place->first = heading->line;
	place->last = st_markdown_section_end(md, index);
	if (patch->operation == ST_PATCH_REPLACE)
		place->last = skip_blank_up(&md->lines, place->last, heading->end_line);
}

static int locate_heading(const struct st_patch *patch, const struct st_markdown *md,
                          struct st_patch_place *place, struct stet_error *err) {
	size_t index = 0;
	int code = st_heading_find(md, patch->heading, patch->occurrence, &index, err);
	if (code < 0)
		return code;

	const struct st_heading *heading = &md->headings[index];
	place->guarded = true;
	switch (patch->target) {
	case ST_TARGET_BEFORE_HEADING:
		insert_after(place, heading->line - 1);
		place->other = heading->block_line < heading->line ? heading->block_line : 0;
		break;
	case ST_TARGET_APPEND_TO_SECTION:
		locate_section_end(md, index, place);
		break;
	case ST_TARGET_WHOLE_SECTION:
		locate_section(patch, md, index, place);
		break;
	default:
		place->first = heading->line;
		place->last = heading->end_line;
		if (patch->operation == ST_PATCH_INSERT)
			insert_after(place, heading->end_line);
		break;
	}
	return 0;
}

int st_patch_locate(const struct st_patch *patch, const struct st_lines *lines,
                    const struct st_markdown *md, struct st_patch_place *place, struct st_buf *note,
                    struct stet_error *err) {
	*place = (struct st_patch_place){0};
	switch (patch->target) {
	case ST_TARGET_LINES:
		return locate_lines(patch, lines, place, note, err);
	case ST_TARGET_CODE_BLOCK:
		return locate_code(patch, md, place, err);
	default:
		return locate_heading(patch, md, place, err);
	}
}
