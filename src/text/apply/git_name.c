#include "text/apply/git_name.h"

void st_git_names_release(struct st_git_names *names) {
	st_buf_release(&names->old);
	st_buf_release(&names->new);
}

/* ---- quoted names ---- */

static bool is_octal(char byte) {
	return byte >= '0' && byte <= '7';
}

/* Append what an escape stands for. Returns its length after the backslash; 0 if it is unknown. */
static size_t add_escape(struct st_buf *out, struct st_str rest) {
	static const char letters[] = "abtnvfr\"\\", bytes[] = "\a\b\t\n\v\f\r\"\\";
	const char *found = rest.len > 0 && rest.ptr[0] ? strchr(letters, rest.ptr[0]) : NULL;
	if (found) {
		st_buf_addc(out, bytes[found - letters]);
		return 1;
	}
	if (rest.len < 3 || !is_octal(rest.ptr[0]) || rest.ptr[0] > '3' || !is_octal(rest.ptr[1]) ||
	    !is_octal(rest.ptr[2]))
		return 0;
	unsigned value = (unsigned)(rest.ptr[0] - '0') * 64 + (unsigned)(rest.ptr[1] - '0') * 8 +
	                 (unsigned)(rest.ptr[2] - '0');
	st_buf_addc(out, (char)(unsigned char)value);
	return 3;
}

/* Unquote a name after its first quote. Returns the offset after the last quote; 0 if it is damaged. */
static size_t unquote(struct st_str text, struct st_buf *out) {
	for (size_t i = 1; i < text.len; i++) {
		if (text.ptr[i] == '"')
			return i + 1;
		if (text.ptr[i] != '\\') {
			st_buf_addc(out, text.ptr[i]);
			continue;
		}
		size_t len = add_escape(out, st_str_slice(text, i + 1, text.len));
		if (len == 0)
			return 0;
		i += len;
	}
	return 0;
}

bool st_git_name_read(struct st_str text, struct st_buf *out) {
	st_buf_clear(out);
	if (text.len > 0 && text.ptr[0] == '"')
		return unquote(text, out) > 0;
	const char *tab = memchr(text.ptr, '\t', text.len);
	st_buf_add(out, tab ? st_str_slice(text, 0, (size_t)(tab - text.ptr)) : text);
	return true;
}

/* ---- "diff --git a/name b/name" ---- */

static struct st_str after_slash(struct st_str name) {
	const char *slash = memchr(name.ptr, '/', name.len);
	return slash ? st_str_slice(name, (size_t)(slash - name.ptr) + 1, name.len) : st_str("");
}

/* Two names without quotes: the blank between them can be found only if both are the same. */
static bool split_names(struct st_str text, struct st_git_names *names) {
	size_t half = text.len / 2;
	if (text.len % 2 == 0 || text.ptr[half] != ' ')
		return false;
	struct st_str old = st_str_slice(text, 0, half), new = st_str_slice(text, half + 1, text.len);
	if (!st_str_eq(old, new) &&
	    (after_slash(old).len == 0 || !st_str_eq(after_slash(old), after_slash(new))))
		return false;
	st_buf_add(&names->old, old);
	st_buf_add(&names->new, new);
	return true;
}

bool st_git_names_read(struct st_str text, struct st_git_names *names) {
	if (text.len == 0)
		return false;
	if (text.ptr[0] != '"' && text.ptr[text.len - 1] != '"')
		return split_names(text, names);
	size_t end = 0;
	if (text.ptr[0] == '"') {
		end = unquote(text, &names->old);
	} else {
		const char *quote = memchr(text.ptr, '"', text.len);
		end = (size_t)(quote - text.ptr);
		end -= end > 0;
		st_buf_add(&names->old, st_str_slice(text, 0, end));
	}
	if (end == 0 || end + 1 >= text.len || text.ptr[end] != ' ')
		return false;
	return st_git_name_read(st_str_slice(text, end + 1, text.len), &names->new);
}

/* ---- prefixes ---- */

/* git's own prefixes: a/ and b/, or with diff.mnemonicPrefix i/, w/, c/ and o/. */
static bool has_letter(struct st_str name) {
	return name.len > 2 && name.ptr[1] == '/' && memchr("abiwco", name.ptr[0], 6);
}

static void drop_first(struct st_buf *name) {
	struct st_str rest = after_slash(st_buf_str(name));
	if (rest.len == 0)
		return;
	memmove(name->ptr, rest.ptr, rest.len);
	st_buf_truncate(name, rest.len);
}

static bool have_prefixes(const struct st_git_names *names) {
	struct st_str old = st_buf_str(&names->old), new = st_buf_str(&names->new);
	if (names->old_null || names->new_null)
		return has_letter(names->old_null ? new : old);
	if (st_str_eq(old, new))
		return false;
	if (has_letter(old) && has_letter(new) && old.ptr[0] != new.ptr[0])
		return true;
	struct st_str rest = after_slash(old);
	return rest.len > 0 && st_str_eq(rest, after_slash(new));
}

void st_git_names_strip(struct st_git_names *names) {
	if (!have_prefixes(names))
		return;
	if (!names->old_null)
		drop_first(&names->old);
	if (!names->new_null)
		drop_first(&names->new);
}
