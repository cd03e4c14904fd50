#include "core/workspace/vault.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/quote.h"
#include "fs/file/file.h"
#include "text/markdown/obsidian.h"

int st_vault_check_path(const struct stet_workspace *ws, const char *path, struct stet_error *err) {
	if (!ws->vault || !st_path_is_protected(path, ".obsidian") ||
	    st_path_is_protected(path, ws->writes.state_dir))
		return 0;
	return st_fail(err, STET_E_PROTECTED,
	               "%s belongs to Obsidian, which alone changes it. Work on the notes outside of "
	               ".obsidian.",
	               st_quoted(path));
}

/* ---- comments ---- */

static bool is_note(const char *path) {
	const char *dot = strrchr(path, '.');
	return dot && (strcasecmp(dot, ".md") == 0 || strcasecmp(dot, ".markdown") == 0);
}

/*
 * The first old comment without an equal one in the new text, in the same order; the count if there is
 * none.
 */
static size_t find_altered(const struct st_obsidian_comments *old,
                           const struct st_obsidian_comments *new) {
	size_t at = 0, i = 0;
	for (; i < old->count; i++, at++) {
		while (at < new->count && !st_str_eq(new->items[at], old->items[i]))
			at++;
		if (at == new->count)
			break;
	}
	return i;
}

static int check_comments(const char *path, struct st_str old, struct st_str new,
                          struct stet_error *err) {
	st_auto(st_obsidian_comments) before = {0};
	st_auto(st_obsidian_comments) after = {0};
	int code = st_obsidian_comments_of(old, &before, err);
	if (code == 0 && before.count > 0)
		code = st_obsidian_comments_of(new, &after, err);
	if (code < 0)
		return code;
	size_t altered = find_altered(&before, &after);
	if (altered == before.count)
		return 0;
	size_t line = st_line_ends(old, (size_t)(before.items[altered].ptr - old.ptr)) + 1;
	return st_fail(err, STET_E_PROTECTED,
	               "The change would alter the comment (%%%% ... %%%%) in line %zu of %s, which is "
	               "the writer's own. Leave it as it is. Nothing was changed.",
	               line, st_quoted(path));
}

int st_vault_check_change(const struct stet_workspace *ws, const char *path, struct st_str old,
                          struct st_str new, struct stet_error *err) {
	return ws->vault && is_note(path) ? check_comments(path, old, new, err) : 0;
}

/* ---- synchronisation ---- */

static bool has_line(struct st_str text, struct st_str wanted) {
	for (size_t at = 0; at < text.len;) {
		struct st_str line = st_str_trim(st_line_body(text, at));
		if (line.len > 0 && line.ptr[0] == '/')
			line = st_str_slice(line, 1, line.len);
		if (st_str_eq(line, wanted))
			return true;
		size_t end = st_line_end(text, at);
		at = end > at ? end : text.len;
	}
	return false;
}

void st_vault_note_sync(struct stet_workspace *ws) {
	enum { IGNORE_MAX = 1 << 20 };
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (faccessat(ws->root.fd, ".stfolder", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	int code = st_file_load(&ws->root, ST_STR(".stignore"), IGNORE_MAX, &place, &file, NULL);
	if (code == 0 && has_line(st_buf_str(&file.bytes), st_str(ws->writes.state_dir)))
		return;
	st_write_notice(&ws->writes,
	                "Syncthing shares this vault, the state directory %s with it, and a database "
	                "does not survive that. Add the line %s to .stignore.",
	                ws->writes.state_dir, ws->writes.state_dir);
}
