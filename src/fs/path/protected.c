#include "fs/path/protected.h"

#include <strings.h>

#include "base/unicode.h"

/* FAT and SMB ignore dots and spaces at the end of a name. */
static struct st_str without_tail(struct st_str name) {
	while (name.len > 1 && (name.ptr[name.len - 1] == '.' || name.ptr[name.len - 1] == ' '))
		name.len--;
	return name;
}

/* NTFS and SMB take what follows a colon for a stream of the file: `.git::$INDEX_ALLOCATION` is `.git`. */
static struct st_str without_stream(struct st_str name) {
	const char *colon = memchr(name.ptr, ':', name.len);
	return colon ? st_strn(name.ptr, (size_t)(colon - name.ptr)) : name;
}

static bool is_ascii(struct st_str name) {
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.ptr[i] >= 0x80)
			return false;
	}
	return true;
}

/* Compare as a filesystem does that folds case, normalises and ignores invisible characters. */
static bool is_folded_equal(struct st_str name, struct st_str wanted) {
	st_auto(st_buf) one = ST_BUF_INIT, other = ST_BUF_INIT;
	st_unicode_fold_name(&one, name);
	st_unicode_fold_name(&other, wanted);
	/* Out of memory: the safe answer is that the name is protected. */
	return one.failed || other.failed ||
	       st_str_eq(without_tail(st_buf_str(&one)), st_buf_str(&other));
}

/* FAT's short name: the first six letters without the dot, and a number, as in GIT~1. */
static bool is_short_form(struct st_str name, struct st_str wanted) {
	struct st_str stem = st_str_slice(wanted, 1, wanted.len < 7 ? wanted.len : 7);
	return name.len == stem.len + 2 && strncasecmp(name.ptr, stem.ptr, stem.len) == 0 &&
	       name.ptr[stem.len] == '~' && name.ptr[stem.len + 1] >= '1' &&
	       name.ptr[stem.len + 1] <= '9';
}

static bool is_spelling_of(struct st_str name, struct st_str wanted) {
	name = without_tail(without_stream(name));
	if (is_ascii(name) && is_ascii(wanted))
		return (name.len == wanted.len && strncasecmp(name.ptr, wanted.ptr, name.len) == 0) ||
		       (wanted.ptr[0] == '.' && is_short_form(name, wanted));
	return is_folded_equal(name, wanted);
}

static bool is_state_dir(struct st_str name, const char *state_dir, bool first) {
	return is_spelling_of(name, ST_STR(ST_STATE_DIR)) ||
	       ((first || state_dir[0] == '.') && is_spelling_of(name, st_str(state_dir)));
}

bool st_name_is_state_dir(const char *name, const char *state_dir) {
	return is_state_dir(st_str(name), state_dir, false);
}

bool st_path_is_protected(const char *path, const char *state_dir) {
	for (bool first = true; *path; first = false) {
		struct st_str name = st_strn(path, strcspn(path, "/\\"));
		if (is_spelling_of(name, ST_STR(".git")) || is_state_dir(name, state_dir, first))
			return true;
		path += name.len;
		path += strspn(path, "/\\");
	}
	return false;
}
