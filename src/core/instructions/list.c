#include "core/instructions/list.h"

#include <limits.h>
#include <stdio.h>

#include "base/array.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "text/lines/lines.h"

/* Room for the line that marks a cut; the least text worth showing; how many left-out files a notice names. */
enum { MARKER_MAX = 512, SHARE_MIN = 1024, NAMED_MAX = 5 };

struct stet_instructions *st_instructions_list_new(void) {
	return calloc(1, sizeof(struct stet_instructions));
}

struct st_instructions_entry *st_instructions_list_add(struct stet_instructions *list,
                                                       const char *path,
                                                       struct st_instructions_file *file) {
	if (!st_array_room(&list->entries, list->count, sizeof *list->entries))
		return NULL;
	char *copy = strdup(path);
	if (!copy)
		return NULL;
	struct st_instructions_entry *entry = &list->entries[list->count++];
	*entry = (struct st_instructions_entry){.path = copy};
	if (file) {
		entry->file = st_instructions_file_keep(file);
		entry->size = file->len;
		entry->has_hash = true;
		entry->hash = file->hash;
		st_hash_hex(&file->hash, entry->hex, ST_HASH_SHORT);
	}
	return entry;
}

int st_instructions_list_notice(struct stet_instructions *list, const char *text,
                                struct stet_error *err) {
	char **notices = realloc(list->notices, (list->notice_count + 1) * sizeof *notices);
	if (!notices)
		return st_fail_nomem(err);
	list->notices = notices;
	notices[list->notice_count] = strdup(text);
	if (!notices[list->notice_count])
		return st_fail_nomem(err);
	list->notice_count++;
	return 0;
}

/* ---- layout ---- */

static void add_header(struct st_buf *out, const struct st_instructions_entry *entry) {
	if (entry->change == ST_INSTRUCTIONS_REMOVED) {
		st_buf_adds(out, "[No longer in force: the instructions from ");
		st_quote_name(out, st_str(entry->path));
		st_buf_adds(out, ". The file is gone, or another one counts in its place.]\n");
		return;
	}
	st_buf_adds(out, entry->project ? "[Project instructions from " : "[Loaded from ");
	st_quote_name(out, st_str(entry->path));
	if (entry->importer) {
		st_buf_adds(out, ", imported by ");
		st_quote_name(out, st_str(entry->importer));
	}
	if (entry->from > 0)
		st_buf_adds(out, ", continued");
	else if (entry->change == ST_INSTRUCTIONS_REPLACED)
		st_buf_adds(out, ", which has changed: this replaces what it said before");
	st_buf_adds(out, "]\n\n");
}

/* Where to cut a text: after the last line that fits, or after a character if not even one line fits. */
static size_t cut_at(struct st_str text, size_t max) {
	const char *lf = memrchr(text.ptr, '\n', max);
	return lf ? (size_t)(lf + 1 - text.ptr) : st_utf8_cut(text, max);
}

static void add_marker(struct st_buf *out, const struct st_instructions_entry *entry, size_t line) {
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		st_buf_addc(out, '\n');
	st_buf_addf(out, "[Cut here: %zu of %zu bytes left out. For the rest read ", entry->cut,
	            entry->size);
	st_quote_name(out, st_str(entry->path));
	st_buf_addf(out, " from line %zu.]\n", line);
}

static void add_slice(struct st_instructions_entry *entry, struct st_str text, size_t end) {
	st_buf_add(&entry->content, st_str_slice(text, entry->from, end));
	entry->end = end;
	entry->cut = text.len - end;
}

/* Lay out as much as fits. The next answers continue it, up to text_max; the text behind that is cut. */
static void lay_out_part(struct st_instructions_entry *entry, struct st_str text, size_t room,
                         size_t text_max) {
	size_t limit = text.len > text_max ? cut_at(text, text_max) : text.len;
	if (entry->from > limit)
		entry->from = limit;
	struct st_str rest = st_str_slice(text, entry->from, limit);
	size_t most = room > MARKER_MAX ? room - MARKER_MAX : 0;
	bool fits = rest.len <= (limit < text.len ? most : room);
	size_t end = fits ? limit : entry->from + cut_at(rest, most);
	add_slice(entry, text, end);
	entry->goes_on = !fits;
	if (!fits) {
		entry->cut = 0;
		st_buf_adds(&entry->content, "[Continued with the next answer.]\n");
	} else if (limit < text.len) {
		add_marker(&entry->content, entry, st_line_ends(text, end) + 1);
	}
}

static void lay_out_cut(struct st_instructions_entry *entry, struct st_str text, size_t room) {
	if (text.len <= room) {
		st_buf_add(&entry->content, text);
		return;
	}
	size_t most = room > MARKER_MAX ? room - MARKER_MAX : 0;
	size_t end = cut_at(text, most < text.len ? most : text.len);
	add_slice(entry, text, end);
	add_marker(&entry->content, entry, st_line_ends(text, end) + 1);
}

/* Write an entry's content and block in at most `left` bytes; returns how many it used. */
static size_t lay_out(struct st_instructions_entry *entry, size_t left,
                      const struct st_instructions_room *room) {
	add_header(&entry->block, entry);
	struct st_str text = entry->file ? st_instructions_file_text(entry->file) : st_str("");
	text = st_str_slice(text, st_bom_len(text), text.len);
	left -= entry->block.len < left ? entry->block.len : left;
	if (entry->file && room->parts)
		lay_out_part(entry, text, left, room->text_max);
	else if (entry->file)
		lay_out_cut(entry, text, left);
	else if (entry->same_as) {
		st_buf_adds(&entry->content, "It now says the same as ");
		st_quote_name(&entry->content, st_str(entry->same_as));
		st_buf_adds(&entry->content, ".\n");
	}
	st_buf_add(&entry->block, st_buf_str(&entry->content));
	return entry->block.len;
}

/* The entry that gets its share next: the deepest, and the first of these. */
static struct st_instructions_entry *next_entry(struct stet_instructions *list, const bool *done) {
	struct st_instructions_entry *best = NULL;
	for (size_t i = 0; i < list->count; i++) {
		if (!done[i] && (!best || list->entries[i].level > best->level))
			best = &list->entries[i];
	}
	return best;
}

static int notice_left_out(struct stet_instructions *list, size_t count, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	size_t named = 0;
	st_buf_adds(&text, "There was no room for all of ");
	for (size_t i = 0; i < list->count && named < NAMED_MAX; i++) {
		if (!list->entries[i].left_out)
			continue;
		st_buf_adds(&text, named++ ? ", " : "");
		st_quote_name(&text, st_str(list->entries[i].path));
		size_t size = list->entries[i].size;
		st_buf_addf(&text, " (%zu %s)", size, st_plural(size, "byte", "bytes"));
	}
	if (count > named)
		st_buf_addf(&text, " and %zu more", count - named);
	st_buf_adds(&text, ". The rest comes with the next answers about files below.");
	return text.failed ? st_fail_nomem(err) : st_instructions_list_notice(list, text.ptr, err);
}

int st_instructions_list_lay_out(struct stet_instructions *list,
                                 const struct st_instructions_room *room, struct stet_error *err) {
	st_autofree bool *done = calloc(list->count + 1, sizeof *done);
	if (!done)
		return st_fail_nomem(err);
	size_t left = room->bytes, left_out = 0;
	for (struct st_instructions_entry *entry; (entry = next_entry(list, done));) {
		done[entry - list->entries] = true;
		/* The first one is always laid out, however small the budget is. */
		bool fits = !entry->file || left == room->bytes || left >= SHARE_MIN ||
		            entry->size + MARKER_MAX <= left;
		entry->left_out = !fits;
		left_out += !fits;
		size_t taken = fits ? lay_out(entry, left, room) : 0;
		left -= taken < left ? taken : left;
		if (entry->block.failed || entry->content.failed)
			return st_fail_nomem(err);
	}
	return left_out > 0 ? notice_left_out(list, left_out, err) : 0;
}

static void entry_release(struct st_instructions_entry *entry) {
	free(entry->path);
	free(entry->importer);
	free(entry->same_as);
	free(entry->skipped);
	st_instructions_file_put(entry->file);
	st_buf_release(&entry->content);
	st_buf_release(&entry->block);
}

void st_instructions_list_drop_left_out(struct stet_instructions *list) {
	size_t remaining = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].left_out)
			entry_release(&list->entries[i]);
		else
			list->entries[remaining++] = list->entries[i];
	}
	list->count = remaining;
}

/* ---- accessors ---- */

void stet_instructions_free(struct stet_instructions *instructions) {
	if (!instructions)
		return;
	for (size_t i = 0; i < instructions->count; i++)
		entry_release(&instructions->entries[i]);
	for (size_t i = 0; i < instructions->notice_count; i++)
		free(instructions->notices[i]);
	free(instructions->notices);
	free(instructions->entries);
	free(instructions);
}

static const struct st_instructions_entry *at(const struct stet_instructions *instructions,
                                              size_t n) {
	static const struct st_instructions_entry none = {0};
	return n < instructions->count ? &instructions->entries[n] : &none;
}

static const char *buf_text(const struct st_buf *buf, size_t *len) {
	if (len)
		*len = buf->len;
	return buf->ptr;
}

size_t stet_instructions_count(const struct stet_instructions *instructions) {
	if (!instructions)
		return 0;
	return instructions->count;
}

const char *stet_instructions_path(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	return at(instructions, n)->path;
}

const char *stet_instructions_content(const struct stet_instructions *instructions, size_t n,
                                      size_t *len) {
	if (!instructions)
		return NULL;
	return buf_text(&at(instructions, n)->content, len);
}

const char *stet_instructions_block(const struct stet_instructions *instructions, size_t n,
                                    size_t *len) {
	if (!instructions)
		return NULL;
	return buf_text(&at(instructions, n)->block, len);
}

size_t stet_instructions_size(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return 0;
	return at(instructions, n)->size;
}

size_t stet_instructions_cut(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return 0;
	return at(instructions, n)->cut;
}

const char *stet_instructions_hash(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	return at(instructions, n)->has_hash ? at(instructions, n)->hex : NULL;
}

const char *stet_instructions_change(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	static const char *const names[] = {"new", "replaced", "removed", "listed"};
	return n < instructions->count ? names[instructions->entries[n].change] : NULL;
}

const char *stet_instructions_importer(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	return at(instructions, n)->importer;
}

const char *stet_instructions_skipped(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	return at(instructions, n)->skipped;
}

const char *stet_instructions_notice(const struct stet_instructions *instructions, size_t n) {
	if (!instructions)
		return NULL;
	return n < instructions->notice_count ? instructions->notices[n] : NULL;
}

static void render_entry(const struct stet_instructions *list, size_t n, yyjson_mut_doc *doc,
                         yyjson_mut_val *object) {
	const struct st_instructions_entry *entry = &list->entries[n];
	st_json_add_text(doc, object, "path", st_str(entry->path));
	st_json_add_text(doc, object, "change", st_str(stet_instructions_change(list, n)));
	if (entry->change != ST_INSTRUCTIONS_REMOVED)
		st_json_add_size(doc, object, "size", entry->size);
	if (entry->has_hash)
		st_json_add_text(doc, object, "hash", st_str(entry->hex));
	if (entry->importer)
		st_json_add_text(doc, object, "importedBy", st_str(entry->importer));
	if (entry->skipped)
		st_json_add_text(doc, object, "skipped", st_str(entry->skipped));
	if (entry->cut)
		st_json_add_size(doc, object, "cut", entry->cut);
	if (entry->content.ptr)
		st_json_add_text(doc, object, "content", st_buf_str(&entry->content));
}

void st_instructions_list_render(const struct stet_instructions *list, yyjson_mut_doc *doc,
                                 yyjson_mut_val *files) {
	for (size_t i = 0; i < list->count; i++) {
		yyjson_mut_val *file = yyjson_mut_obj(doc);
		if (file)
			render_entry(list, i, doc, file);
		st_json_push(doc, files, file);
	}
}

static void render_list(const struct stet_instructions *list, yyjson_mut_doc *doc,
                        yyjson_mut_val *root) {
	yyjson_mut_doc_set_root(doc, root);
	st_instructions_list_render(list, doc, st_json_add_array(doc, root, "files"));
	yyjson_mut_val *notices = st_json_add_array(doc, root, "notices");
	for (size_t i = 0; i < list->notice_count; i++)
		st_json_push(doc, notices, st_json_text(doc, st_str(list->notices[i])));
}

char *stet_instructions_json(const struct stet_instructions *instructions) {
	if (!instructions)
		return NULL;
	struct st_buf out = ST_BUF_INIT;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = doc ? yyjson_mut_obj(doc) : NULL;
	if (root)
		render_list(instructions, doc, root);
	if (!root || st_json_write(doc, root, &out, NULL) < 0)
		st_buf_release(&out);
	yyjson_mut_doc_free(doc);
	return out.ptr;
}
