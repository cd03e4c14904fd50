#include "tools/files/listing.h"

#include <stdlib.h>

#include "base/utf8.h"

/* The widths of the columns in the reference server's listing, for programs. */
enum { NAME_COLUMN = 30, SIZE_COLUMN = 10 };

const char *st_kind_name(mode_t type) {
	switch (type & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	default:
		return "other";
	}
}

/* The mark before a name, as in the reference server. Programs know only [FILE] and [DIR]. */
static const char *mark_of(mode_t type, bool parsed) {
	if (parsed && type != S_IFDIR)
		return "[FILE]";
	switch (type & S_IFMT) {
	case S_IFREG:
		return "[FILE]";
	case S_IFDIR:
		return "[DIR]";
	case S_IFLNK:
		return "[LINK]";
	default:
		return "[OTHER]";
	}
}

static int larger_first(const void *a, const void *b) {
	const struct st_dir_entry *one = a, *two = b;
	if (one->size != two->size)
		return one->size < two->size ? 1 : -1;
	return strcmp(one->name, two->name);
}

/* The length of a text in UTF-16 units, by which the reference server aligns its columns. */
static size_t utf16_len(struct st_str text) {
	size_t len = 0;
	for (size_t i = 0; i < text.len;) {
		uint32_t point;
		i += st_utf8_next(st_str_slice(text, i, text.len), &point);
		len += point > 0xffff ? 2 : 1;
	}
	return len;
}

/* "a.txt                                12 B": names left-aligned, sizes right-aligned. */
static void render_column(struct st_buf *out, size_t name_len, const struct st_dir_entry *entry) {
	st_auto(st_buf) size = ST_BUF_INIT;
	if (entry->type != S_IFDIR)
		st_add_size(&size, (uint64_t)entry->size);
	int pad = name_len < NAME_COLUMN ? (int)(NAME_COLUMN - name_len) : 0;
	st_buf_addf(out, "%*s %*s", pad, "", entry->type == S_IFDIR ? 0 : SIZE_COLUMN,
	            st_buf_cstr(&size));
}

static void render_entry(struct st_call *call, yyjson_mut_val *list,
                         const struct st_dir_entry *entry, bool sizes) {
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	struct st_buf *out = &call->text;
	bool parsed = st_call_is_parsed(call);
	st_json_add_text(call->doc, item, "name", st_str(entry->name));
	st_json_add_text(call->doc, item, "type", st_str(st_kind_name(entry->type)));
	st_buf_addf(out, "%s ", mark_of(entry->type, parsed));
	size_t start = out->len;
	st_quote_name(out, st_str(entry->name));
	if (sizes && entry->type == S_IFREG)
		st_json_add_size(call->doc, item, "size", (size_t)entry->size);
	if (sizes && parsed) {
		render_column(out, utf16_len(st_str_slice(st_buf_str(out), start, out->len)), entry);
	} else if (sizes && entry->type == S_IFREG) {
		st_buf_adds(out, "  ");
		st_add_size(out, (uint64_t)entry->size);
	}
	st_buf_addc(out, '\n');
	st_json_push(call->doc, list, item);
}

static void render_sums(struct st_call *call, const struct st_listing *listing) {
	size_t files = 0, dirs = 0;
	uint64_t size = 0;
	bool parsed = st_call_is_parsed(call);
	for (size_t i = 0; i < listing->count; i++) {
		mode_t type = listing->entries[i].type;
		files += type == S_IFREG || (parsed && type != S_IFDIR);
		dirs += type == S_IFDIR;
		size += (uint64_t)listing->entries[i].size;
	}
	st_buf_addf(&call->text, "\nTotal: %zu files, %zu directories\nCombined size: ", files, dirs);
	st_add_size(&call->text, size);
	st_buf_addc(&call->text, '\n');
}

/* Hide the state directory: no tool may write there, and it is not part of the project. */
static void hide_state(struct st_listing *listing, const struct st_dir *dir,
                       const char *state_dir) {
	size_t remaining = 0;
	for (size_t i = 0; i < listing->count; i++) {
		if (!*dir->path && strcmp(listing->entries[i].name, state_dir) == 0)
			free(listing->entries[i].name);
		else
			listing->entries[remaining++] = listing->entries[i];
	}
	listing->count = remaining;
}

int st_list_run(struct st_call *call, bool sizes, bool by_size, struct stet_error *err) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	st_auto(st_listing) listing = {0};
	struct st_part part;
	const char *path = st_call_directory(call, err);
	if (!path)
		return err->code;
	int code = st_dir_open(&call->session->ws->root, st_str(path), &dir, err);
	if (code == 0)
		code = st_dir_list(&dir, &listing, err);
	if (code == 0)
		hide_state(&listing, &dir, call->session->ws->writes.state_dir);
	if (code == 0)
		code = st_call_part(call, listing.count, ST_LISTED_MAX, &part, err);
	if (code == 0 && sizes)
		code = st_dir_measure(&dir, &listing, err);
	if (code < 0)
		return code;
	if (by_size && listing.count > 1)
		qsort(listing.entries, listing.count, sizeof *listing.entries, larger_first);

	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", *dir.path ? dir.path : ".");
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "entries");
	for (size_t i = part.first; i < part.end; i++) {
		if (st_call_room(call) < strlen(listing.entries[i].name) * 6 + 32 + NAME_COLUMN)
			part.end = i;
		else
			render_entry(call, list, &listing.entries[i], sizes);
	}
	if (listing.count == 0)
		st_buf_adds(st_call_footer(call), "[The directory is empty.]\n");
	st_render_part(call, "entries", listing.count, &part);
	if (listing.cut)
		st_buf_addf(st_call_footer(call),
		            "[There are more than %d entries; the rest is not listed.]\n", ST_LISTING_MAX);
	if (sizes)
		render_sums(call, &listing);
	/* Programs split the text at line ends, so the last line has none. */
	if (st_call_is_parsed(call) && call->text.len > 0)
		st_buf_truncate(&call->text, call->text.len - 1);
	return 0;
}
