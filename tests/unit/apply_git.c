/* Unified diffs: what git apply makes of a diff that git made, and of a damaged one. */
#include "text/apply/hunks.h"

#include "lib/test.h"

/* How many diffs to compare; STET_TORTURE asks for the full count. */
enum { DIFFS = 300, DIFFS_FULL = 6000, PER_TREE = 50 };

struct tally {
	size_t same, both_refused, refused_here, moved_here;
};

static uint64_t chance = 0x9E3779B97F4A7C15u;

static unsigned dice(unsigned sides) {
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (unsigned)(chance >> 33) % sides;
}

/* A line of a small language, so that lines repeat. */
static void add_random_line(struct st_buf *out, unsigned crlf) {
	static const char *const lines[] = {"a",        "b",    "",   "{",          "}",
	                                    "\tx = 1;", "-- c", "+d", "@@ -1 +1 @@"};
	st_buf_adds(out, lines[dice(9)]);
	if (dice(3) == 0)
		st_buf_addf(out, "%u", dice(40));
	st_buf_adds(out, dice(8) < crlf ? "\r\n" : "\n");
}

static void make_text(struct st_buf *out, unsigned crlf) {
	for (unsigned count = dice(40); count > 0; count--)
		add_random_line(out, crlf);
	if (out->len > 0 && dice(4) == 0)
		st_buf_truncate(out, out->len - 1);
}

/* Copy a text and drop, replace and insert lines. */
static void edit_text(struct st_str old, struct st_buf *out, unsigned crlf, unsigned rate) {
	for (size_t at = 0; at < old.len;) {
		const char *end = memchr(old.ptr + at, '\n', old.len - at);
		size_t next = end ? (size_t)(end - old.ptr) + 1 : old.len;
		unsigned what = dice(rate);
		if (what == 0 || what == 1)
			add_random_line(out, crlf);
		if (what != 1 && what != 2)
			st_buf_add(out, st_str_slice(old, at, next));
		at = next;
	}
	if (dice(rate) == 0)
		add_random_line(out, crlf);
	/* A last line that the diff adds, without its newline. */
	if (dice(5) == 0 && out->len > 0 && out->ptr[out->len - 1] == '\n')
		st_buf_truncate(out, out->len - 1);
}

static int run_git(const struct dir *dir, const char *command) {
	char line[700];
	snprintf(line, sizeof line, "cd %s && git -c core.autocrlf=false %s", dir->path, command);
	return system(line);
}

static struct st_buf load(const struct dir *dir, const char *name, bool *exists) {
	struct st_buf text = ST_BUF_INIT;
	FILE *file = fopen(dir_at(dir, name), "re");
	char part[4096];
	*exists = file != NULL;
	for (size_t len; file && (len = fread(part, 1, sizeof part, file)) > 0;)
		st_buf_add(&text, st_strn(part, len));
	if (file)
		fclose(file);
	return text;
}

/*
 * Change a byte after the header, or the file itself. The final newline of the
 * patch stays: git needs it, but models leave it out, so stet does not.
 */
static void damage(struct st_buf *patch, struct st_buf *old) {
	const char *hunk = memmem(patch->ptr, patch->len, "\n@@ ", 4);
	if (hunk && dice(3) == 0) {
		size_t from = (size_t)(hunk - patch->ptr) + 1;
		patch->ptr[from + dice((unsigned)(patch->len - from - 1))] = "a1 +-"[dice(5)];
		return;
	}
	st_auto(st_buf) other = ST_BUF_INIT;
	unsigned more = dice(4);
	for (unsigned i = 0; i < more; i++)
		add_random_line(&other, 0);
	edit_text(st_buf_str(old), &other, 0, more ? 200 : 20);
	st_buf_move(old, &other);
}

static void fail_with(const struct st_buf *patch, const struct st_buf *old, const char *what) {
	print_message("# the patch:\n%s\n# the file:\n%s\n", st_buf_cstr(patch), st_buf_cstr(old));
	fail_msg("%s", what);
}

/* Apply one diff with git and here, and compare. */
static void compare(const struct dir *dir, const char *name, const struct st_buf *patch,
                    const struct st_buf *old, bool existed, bool damaged, struct tally *tally) {
	st_auto(st_file_patches) patches = {0};
	st_auto(st_buf) new = ST_BUF_INIT;
	st_auto(st_buf) notes = ST_BUF_INIT;
	struct stet_error error = {0};
	bool exists;
	dir_write_bytes(dir, "p.diff", st_buf_cstr(patch), patch->len);
	if (existed)
		dir_write_bytes(dir, name, st_buf_cstr(old), old->len);
	bool git = run_git(dir, "apply p.diff 2>err.txt") == 0;
	int code = st_file_patches_parse(&patches, st_buf_str(patch), &error);
	const char *to = code == 0 ? patches.list[0].to : NULL;
	st_auto(st_buf) theirs = load(dir, to ? to : name, &exists);
	if (code == 0)
		code = st_hunks_apply(&patches, 0, st_buf_str(old), 0, &new, &notes, NULL, &error);
	if (!damaged && (!git || code < 0 || notes.len > 0))
		fail_with(patch, old, git ? error.message : "git refuses its own diff");
	if (git && code == 0) {
		if (!st_str_eq(st_buf_str(&theirs), st_buf_str(&new)))
			fail_with(patch, old, "git makes another text");
		tally->same++;
	} else if (git) {
		bool allowed = code == STET_E_AMBIGUOUS || strstr(error.message, "numbers of lines") ||
		               strstr(error.message, "no valid line of a hunk");
		if (!allowed)
			fail_with(patch, old, error.message);
		tally->refused_here++;
	} else if (code == 0) {
		if (notes.len == 0)
			fail_with(patch, old, "git refuses it, and no note says why stet does not");
		tally->moved_here++;
	} else {
		tally->both_refused++;
	}
	unlink(dir_at(dir, name));
	if (to)
		unlink(dir_at(dir, to));
}

/* Make a tree of old files in git's index, and the new ones beside. */
static void make_tree(const struct dir *dir, struct st_buf *olds) {
	char name[16];
	for (unsigned i = 0; i < PER_TREE; i++) {
		unsigned crlf = dice(3) ? 0 : dice(9);
		make_text(&olds[i], crlf);
		snprintf(name, sizeof name, "f%u", i);
		dir_write_bytes(dir, name, st_buf_cstr(&olds[i]), olds[i].len);
	}
	assert_int_equal(run_git(dir, "init -q . && git add f*"), 0);
	for (unsigned i = 0; i < PER_TREE; i++) {
		st_auto(st_buf) new = ST_BUF_INIT;
		snprintf(name, sizeof name, "f%u", i);
		edit_text(st_buf_str(&olds[i]), &new, dice(3) ? 0 : dice(9), 4 + dice(12));
		if (dice(12) == 0)
			unlink(dir_at(dir, name));
		else
			dir_write_bytes(dir, name, st_buf_cstr(&new), new.len);
	}
	for (unsigned i = 0; i < 5; i++) {
		st_auto(st_buf) new = ST_BUF_INIT;
		make_text(&new, dice(9));
		snprintf(name, sizeof name, "n%u", i);
		dir_write_bytes(dir, name, st_buf_cstr(&new), new.len);
	}
	assert_int_equal(run_git(dir, "add -N n* && git diff --text > all.diff && rm -f f* n*"), 0);
}

static size_t compare_tree(const struct dir *dir, struct tally *tally) {
	struct st_buf olds[PER_TREE] = {0};
	bool exists;
	size_t count = 0;
	make_tree(dir, olds);
	st_auto(st_buf) all = load(dir, "all.diff", &exists);
	for (size_t at = 0; at < all.len;) {
		const char *end = memmem(all.ptr + at + 1, all.len - at - 1, "\ndiff --git ", 12);
		size_t next = end ? (size_t)(end - all.ptr) + 1 : all.len;
		st_auto(st_buf) patch = ST_BUF_INIT;
		st_auto(st_buf) old = ST_BUF_INIT;
		char kind = 0, name[16];
		unsigned number = 0;
		st_buf_add(&patch, st_str_slice(st_buf_str(&all), at, next));
		assert_int_equal(sscanf(patch.ptr, "diff --git a/%c%u ", &kind, &number), 2);
		snprintf(name, sizeof name, "%c%u", kind, number);
		if (kind == 'f')
			st_buf_add(&old, st_buf_str(&olds[number]));
		compare(dir, name, &patch, &old, kind == 'f', false, tally);
		if (kind == 'f') {
			damage(&patch, &old);
			compare(dir, name, &patch, &old, true, true, tally);
		}
		at = next;
		count += 2;
	}
	for (unsigned i = 0; i < PER_TREE; i++)
		st_buf_release(&olds[i]);
	return count;
}

static void makes_the_same_bytes_as_git_apply_or_refuses(void **state) {
	struct tally tally = {0};
	size_t done = 0, wanted = getenv("STET_TORTURE") ? DIFFS_FULL : DIFFS;
	if (system("git --version >/dev/null 2>&1") != 0)
		skip_because("git is not installed");
	while (done < wanted) {
		assert_int_equal(run_git(*state, "--version >/dev/null && rm -rf .git f* n*"), 0);
		done += compare_tree(*state, &tally);
	}
	print_message(
		"# %zu the same, %zu refused by both, %zu by stet alone, %zu moved by stet alone\n",
		tally.same, tally.both_refused, tally.refused_here, tally.moved_here);
	assert_true(tally.same > wanted / 3 && tally.both_refused > 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {claim(makes_the_same_bytes_as_git_apply_or_refuses)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
