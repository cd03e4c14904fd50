/*
 * A caller does not overwrite or delete lines that it was never sent.
 *
 * Random sequences of tool calls by several callers, of writes past stet and of
 * restarts go against a model of what each caller knows. The model goes by
 * nothing but the texts in the answers, and the files before and after each
 * call. All texts are made of marks, #00001#, each of which is used once: a
 * line was sent to a caller if all its marks were, in a page, in a diff or
 * otherwise, or if the caller wrote them.
 *
 * Sequence i is the same for the same STET_SEED + i. One that fails is printed
 * with what repeats it. Several processes run a share of them each.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/utf8.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/tree.h"
#include "stet/host.h"
#include "torture/page.h"

enum {
	CALLERS = 4,
	FILES = 3,
	STEPS = 16,
	PAGE = 4096,
	PAGES_MAX = 40,
	MARKS_MAX = 50000,
	MARK_LEN = 7,
	HASH_LEN = 16,
	HASHES = 8,
	PROCESSES_MAX = 16,
};

/*
 * Two agents of their own, one by a name, whatever connection it calls by, and
 * one that is forgotten after each call.
 */
enum { NAMED = 2, STATELESS = 3 };

/* The file that is in a directory. */
enum { IN_DIR = 2, LINES_MAX = 600 };

static const char *const names[FILES] = {"a.txt", "b.txt", "d/c.txt"};

/* A version of a file, 0 for none: a sum of its bytes. */
typedef uint64_t version;

/* What a caller did with a file. */
struct record {
	/* Where the last page said to go on, and the end of it, which may be half a mark. */
	size_t next_line, next_byte;
	char tail[MARK_LEN];
	version paged;
	/* That page continues one that began at the file's beginning, or is it. */
	bool from_start;
	/* The version that was sent from beginning to end, or that the caller made. */
	version complete;
	/*
	 * The version whose replacement was refused already, for its lines and for bytes that are
	 * not UTF-8, and that in which an edit was.
	 */
	version dropped, lossy, asked;
};

struct model {
	struct dir *dir;
	struct gen gen;
	struct stet_host *host;
	struct stet_client *clients[CALLERS];
	struct st_buf files[FILES];
	bool exists[FILES];
	/* The marks in the current files. */
	version versions[FILES];
	/* The caller that made this version by a call; CALLERS for none. */
	size_t makers[FILES];
	/* The sessions are stored, and outlive a restart. */
	bool stored;
	bool known[CALLERS][MARKS_MAX];
	size_t marks;
	struct record records[CALLERS][FILES];
	char hashes[FILES][HASHES][HASH_LEN + 1];
	size_t hash_count[FILES];
	/* What was done so far, for the report of a failure. */
	struct st_buf story;
	uint64_t seed;
	/* The last answer: its texts, of which the first is the file's if it is a page. */
	yyjson_doc *answer;
	struct st_buf said;
	bool refused;
};

/* Counts of what happened: a claim about nothing would always hold. */
struct tally {
	size_t replaced, deleted, edited, appended, unseen, modified, drops, hash, sessionless, whole;
	size_t restarted, patched, undone, copied, emptied, unsent, searched, previewed, runs_undone;
	size_t applied, looked_back, lossy;
};

static struct tally tally;

__attribute__((format(printf, 2, 3), noreturn)) static void fail_seen(struct model *model,
                                                                      const char *format, ...) {
	char why[400];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	/* print_error() would cut it. */
	fprintf(stderr, "%s\nThe last answer:\n%.3000s\n%s\nTo repeat it: STET_SEED=%llu\n",
	        st_buf_cstr(&model->story), st_buf_cstr(&model->said), why,
	        (unsigned long long)model->seed);
	fail();
	abort();
}

/* ---- texts ---- */

static void add_mark(struct model *model, struct st_buf *out) {
	assert_true(model->marks < MARKS_MAX);
	st_buf_addf(out, "#%05zu#", model->marks++);
}

static void add_words(struct model *model, struct st_buf *out, size_t most) {
	for (size_t n = gen_below(&model->gen, most + 1); n > 0; n--)
		st_buf_adds(out, gen_one_in(&model->gen, 12) ? "\xc3\xa9" : "w");
}

/* Mostly a short line; one in fifty is longer than a page. */
static void add_line(struct model *model, struct st_buf *out) {
	size_t marks = gen_one_in(&model->gen, 50) ? 200 + gen_below(&model->gen, 300)
	                                           : 1 + gen_below(&model->gen, 2);
	for (size_t i = 0; i < marks; i++) {
		if (i > 0)
			st_buf_adds(out, "w");
		add_mark(model, out);
		add_words(model, out, marks > 2 ? 30 : 60);
	}
	/* A line that is read to its last mark is read to its end. */
	st_buf_adds(out, "w");
	add_mark(model, out);
}

static const char *eol_of(struct st_str text) {
	return memmem(text.ptr, text.len, "\r\n", 2) ? "\r\n" : "\n";
}

static void add_lines(struct model *model, struct st_buf *out, size_t count, const char *eol) {
	for (size_t i = 0; i < count; i++) {
		add_line(model, out);
		st_buf_adds(out, eol);
	}
}

/* A byte that neither an answer nor a call can hold. */
static void add_odd_line(struct model *model, struct st_buf *out, const char *eol) {
	st_buf_adds(out, "odd \xff ");
	add_mark(model, out);
	st_buf_adds(out, eol);
}

static size_t odd_bytes(struct st_str text) {
	size_t count = 0;
	for (const char *at = text.ptr, *end = text.ptr + text.len;
	     text.len > 0 && (at = memchr(at, '\xff', (size_t)(end - at))); at++)
		count++;
	return count;
}

static void make_file(struct model *model, struct st_buf *out) {
	static const size_t most[] = {4, 4, 8, 20, 20, 120, 200, 400};
	size_t count = 1 + gen_below(&model->gen, most[gen_below(&model->gen, 8)]);
	const char *eol = gen_one_in(&model->gen, 4) ? "\r\n" : "\n";
	st_buf_clear(out);
	if (gen_one_in(&model->gen, 12))
		add_odd_line(model, out, eol);
	add_lines(model, out, count, eol);
	if (gen_one_in(&model->gen, 4))
		st_buf_truncate(out, out->len - strlen(eol));
}

/* Eight bytes at a time: this is asked for after every call. */
static version version_of(struct st_str text) {
	version sum = text.len + 1, word;
	for (size_t i = 0; i < text.len; i += sizeof word) {
		size_t len = text.len - i < sizeof word ? text.len - i : sizeof word;
		word = 0;
		memcpy(&word, text.ptr + i, len);
		sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 29;
	}
	return sum ? sum : 1;
}

static version current(const struct model *model, size_t file) {
	return model->versions[file];
}

static void note_version(struct model *model, size_t file) {
	model->versions[file] = model->exists[file] ? version_of(st_buf_str(&model->files[file])) : 0;
}

/* The number of the mark at a place; MARKS_MAX if there is none. */
static size_t mark_at(struct st_str text, size_t at) {
	size_t number = 0;
	if (at + MARK_LEN > text.len || text.ptr[at] != '#' || text.ptr[at + MARK_LEN - 1] != '#')
		return MARKS_MAX;
	for (size_t i = at + 1; i < at + MARK_LEN - 1; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return MARKS_MAX;
		number = number * 10 + (size_t)(text.ptr[i] - '0');
	}
	return number;
}

/* All marks in a text are known now; those in lines that a diff takes away only if it is about these. */
static void learn_from(struct model *model, size_t caller, struct st_str text, bool removed) {
	for (size_t start = 0, end; start < text.len; start = end) {
		const char *lf = memchr(text.ptr + start, '\n', text.len - start), *at;
		end = lf ? (size_t)(lf + 1 - text.ptr) : text.len;
		bool counts = removed || text.ptr[start] != '-';
		for (size_t i = start; counts && i < end; i = (size_t)(at + 1 - text.ptr)) {
			at = memchr(text.ptr + i, '#', end - i);
			if (!at)
				break;
			size_t mark = mark_at(text, (size_t)(at - text.ptr));
			if (mark < MARKS_MAX)
				model->known[caller][mark] = true;
		}
	}
}

static void learn(struct model *model, size_t caller, struct st_str text) {
	learn_from(model, caller, text, false);
}

/* The first mark in a text that a caller does not know and another text does not hold; MARKS_MAX if there is none. */
static size_t first_lost(const struct model *model, size_t caller, struct st_str text,
                         struct st_str kept) {
	const char *at = text.ptr, *end = text.ptr + text.len;
	for (; (at = memchr(at, '#', (size_t)(end - at))); at++) {
		size_t mark = mark_at(text, (size_t)(at - text.ptr));
		if (mark < MARKS_MAX && !model->known[caller][mark] &&
		    !memmem(kept.ptr, kept.len, at, MARK_LEN))
			return mark;
	}
	return MARKS_MAX;
}

/* The same for a caller that knows nothing. */
static size_t first_gone(struct st_str text, struct st_str kept) {
	static const struct model nobody;
	return first_lost(&nobody, 0, text, kept);
}

static size_t first_unknown(const struct model *model, size_t caller, struct st_str text) {
	return first_lost(model, caller, text, st_str(""));
}

/* ---- calls ---- */

static void tell(struct model *model, const char *what, struct st_str args) {
	st_buf_addf(&model->story, "%s %.*s%s\n", what, (int)(args.len < 300 ? args.len : 300),
	            args.ptr, args.len < 300 ? "" : "...");
}

/* A caller may use any hash that an answer gave. */
static void collect_hashes(struct model *model, size_t file) {
	const char *text = st_buf_cstr(&model->said);
	for (size_t run; *text; text += run) {
		run = strspn(text, "0123456789abcdef");
		if (run == HASH_LEN) {
			size_t slot = model->hash_count[file]++ % HASHES;
			memcpy(model->hashes[file][slot], text, HASH_LEN);
		}
		run += !run;
	}
}

static struct st_str block(const struct model *model, size_t n) {
	yyjson_val *content = yyjson_obj_get(yyjson_doc_get_root(model->answer), "content");
	return st_json_str(yyjson_obj_get(yyjson_arr_get(content, n), "text"));
}

static size_t block_count(const struct model *model) {
	return yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(model->answer), "content"));
}

static bool says(const struct model *model, const char *part) {
	return strstr(st_buf_cstr(&model->said), part) != NULL;
}

/* A refusal that shows what a change would take away. */
static const char shows_loss[] = "The change below shows them, which counts as read";

/* Begin a call's arguments. They name the session of a caller that is known by its name. */
static void begin_args(struct st_buf *args, size_t caller) {
	st_buf_clear(args);
	st_buf_addf(args, "{%s", caller == NAMED ? "\"session\":\"kim\"," : "");
}

static void add_arg(struct st_buf *args, const char *key, struct st_str value) {
	st_buf_addf(args, "\"%s\":", key);
	st_json_quote(args, value);
	st_buf_addc(args, ',');
}

/* The files as they are. */
static void look(struct model *model, size_t file, struct st_buf *text, bool *exists) {
	struct stat st;
	int fd = openat(model->dir->fd, names[file], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	*exists = fd >= 0;
	st_buf_clear(text);
	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st_buf_reserve(text, (size_t)st.st_size + 1));
	assert_int_equal(read(fd, text->ptr, (size_t)st.st_size + 1), st.st_size);
	text->len = (size_t)st.st_size;
	text->ptr[text->len] = '\0';
	close(fd);
}

/* A caller that meets another version of a file goes by that one from now on. */
static void meet(struct model *model, size_t caller, size_t file) {
	struct record *record = &model->records[caller][file];
	version now = current(model, file);
	record->complete = record->complete == now ? now : 0;
	record->dropped = record->dropped == now ? now : 0;
	record->lossy = record->lossy == now ? now : 0;
	record->asked = record->asked == now ? now : 0;
}

/* The connection that a caller uses; a named caller may use any. */
static struct stet_client *connection(struct model *model, size_t caller) {
	return model->clients[caller == NAMED ? gen_below(&model->gen, CALLERS) : caller];
}

/* Make a call, whose arguments end in a comma, and take in what it says. */
static void ask(struct model *model, size_t caller, const char *tool, struct st_buf *args,
                size_t file) {
	char what[80], *answer = NULL;
	size_t len = 0;
	struct stet_error err = {0};
	meet(model, caller, file);
	st_buf_truncate(args, args->len - 1);
	st_buf_addc(args, '}');
	snprintf(what, sizeof what, "%zu %s", caller, tool);
	tell(model, what, st_buf_str(args));
	int code = stet_client_call(connection(model, caller), tool, st_buf_cstr(args), args->len,
	                            &answer, &len, &err);
	model->refused = code < 0;
	yyjson_doc_free(model->answer);
	model->answer = yyjson_read(answer, len, 0);
	assert_non_null(model->answer);
	stet_free(answer);
	st_buf_clear(&model->said);
	for (size_t i = 0; i < block_count(model); i++) {
		st_buf_add(&model->said, block(model, i));
		st_buf_addc(&model->said, '\n');
		learn_from(model, caller, block(model, i), says(model, shows_loss));
	}
	if (model->refused)
		tell(model, " ", block(model, 0));
	collect_hashes(model, file);
}

/* A call left all files but one as they were; its text before the call goes to old. */
static void settle(struct model *model, size_t file, bool may_change, struct st_buf *old,
                   bool *existed) {
	st_auto(st_buf) now = ST_BUF_INIT;
	for (size_t i = 0; i < FILES; i++) {
		bool exists;
		look(model, i, &now, &exists);
		bool same =
			exists == model->exists[i] && st_str_eq(st_buf_str(&now), st_buf_str(&model->files[i]));
		if (!same && (i != file || !may_change || model->refused))
			fail_seen(model, "%s was changed by a call that must not.", names[i]);
		if (i != file)
			continue;
		*existed = model->exists[i];
		st_buf_move(old, &model->files[i]);
		st_buf_add(&model->files[i], st_buf_str(&now));
		model->exists[i] = exists;
		if (!same) {
			note_version(model, i);
			model->makers[i] = CALLERS;
		}
	}
}

static void settle_unchanged(struct model *model, size_t file) {
	st_auto(st_buf) old = ST_BUF_INIT;
	bool existed;
	settle(model, file, false, &old, &existed);
}

/* ---- looking ---- */

/* What a page says about how to go on. */
static void follow_page(struct model *model, size_t caller, size_t file, bool continues,
                        struct st_str text) {
	struct record *record = &model->records[caller][file];
	version now = current(model, file);
	record->from_start = continues && (record->next_line == 0 || record->from_start);
	record->next_line = record->next_byte = 0;
	const char *next = strstr(st_buf_cstr(&model->said), " Continue with offset ");
	if (next)
		sscanf(next, " Continue with offset %zu and byteOffset %zu", &record->next_line,
		       &record->next_byte);
	else if (record->from_start)
		record->complete = now;
	tally.whole += !next && record->from_start;
	record->paged = now;
	size_t keep = text.len < MARK_LEN - 1 ? text.len : MARK_LEN - 1;
	memcpy(record->tail, text.ptr + text.len - keep, keep);
	record->tail[keep] = '\0';
}

/* A mark that two pages share is known when both were sent. */
static void learn_across(struct model *model, size_t caller, const char *tail, bool numbered,
                         struct st_str text) {
	st_auto(st_buf) joint = ST_BUF_INIT;
	const char *tab = numbered ? memchr(text.ptr, '\t', text.len) : NULL;
	size_t skip = tab ? (size_t)(tab + 1 - text.ptr) : 0;
	st_buf_adds(&joint, tail);
	st_buf_add(&joint, st_str_slice(text, skip, text.len));
	learn(model, caller, st_buf_str(&joint));
}

/* Read a page: as the last one said, or from some line on. */
static void read_page(struct model *model, size_t caller, size_t file, bool go_on, bool numbered) {
	struct record *record = &model->records[caller][file];
	st_auto(st_buf) args = ST_BUF_INIT;
	char tail[MARK_LEN];
	bool whole_rest = true, goes_on = go_on && record->next_line > 0;
	bool same = record->paged == current(model, file);
	size_t line = goes_on ? record->next_line : 0, byte = goes_on ? record->next_byte : 0;
	bool back = goes_on && byte > 64 && gen_one_in(&model->gen, 4);
	memcpy(tail, record->tail, sizeof tail);
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	if (!go_on && gen_one_in(&model->gen, 2)) {
		line = 1 + gen_below(&model->gen, 40);
		whole_rest = false;
		st_buf_addf(&args, "\"limit\":%zu,", 1 + gen_below(&model->gen, 60));
	}
	if (line > 0)
		st_buf_addf(&args, "\"offset\":%zu,", line);
	if (byte > 0)
		st_buf_addf(&args, "\"byteOffset\":%zu,", back ? byte - 64 : byte);
	if (numbered)
		st_buf_adds(&args, "\"lineNumbers\":true,");
	ask(model, caller, "read_file", &args, file);
	settle_unchanged(model, file);
	if (model->refused) {
		record->next_line = 0;
		record->from_start = false;
		return;
	}
	if (byte > 0 && !back && same)
		learn_across(model, caller, tail, numbered, block(model, 0));
	if (!goes_on)
		record->next_line = 0;
	follow_page(model, caller, file, whole_rest && (!goes_on || same), block(model, 0));
}

static void read_all(struct model *model, size_t caller, size_t file);

static void read_several(struct model *model, size_t caller) {
	st_auto(st_buf) args = ST_BUF_INIT;
	begin_args(&args, caller);
	st_buf_addf(&args, "\"paths\":[\"%s\",\"%s\",\"%s\"],", names[0], names[1], names[2]);
	for (size_t file = 0; file < FILES; file++)
		meet(model, caller, file);
	ask(model, caller, "read_multiple_files", &args, 0);
	settle_unchanged(model, 0);
}

static void inspect(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT;
	size_t first = 1 + gen_below(&model->gen, 30);
	bool search = gen_one_in(&model->gen, 2);
	begin_args(&args, caller);
	add_arg(&args, "filePath", st_str(names[file]));
	add_arg(&args, "mode", st_str(search ? "search" : "lines"));
	if (search)
		st_buf_addf(&args, "\"query\":\"%zu#\",\"context\":%zu,", gen_below(&model->gen, 10),
		            gen_below(&model->gen, 3));
	else if (gen_one_in(&model->gen, 2))
		st_buf_addf(&args, "\"query\":\"%zu-%zu\",", first, first + gen_below(&model->gen, 90));
	else
		st_buf_adds(&args, "\"query\":\"1-\",");
	ask(model, caller, "text_inspect", &args, file);
	settle_unchanged(model, file);
}

/* Lines that are shown are sent; where they come from, the model need not know. */
static void search(struct model *model, size_t caller) {
	st_auto(st_buf) args = ST_BUF_INIT;
	begin_args(&args, caller);
	st_buf_addf(&args, "\"pattern\":\"%zu#\",\"context\":%zu,", gen_below(&model->gen, 10),
	            gen_below(&model->gen, 4));
	if (gen_one_in(&model->gen, 3))
		st_buf_addf(&args, "\"limit\":%zu,", 1 + gen_below(&model->gen, 20));
	for (size_t file = 0; file < FILES; file++)
		meet(model, caller, file);
	ask(model, caller, "grep", &args, 0);
	settle_unchanged(model, 0);
	tally.searched += !model->refused;
}

/* ---- changes past stet ---- */

static void forget_versions(struct model *model, size_t file) {
	for (size_t caller = 0; caller < CALLERS; caller++) {
		struct record *record = &model->records[caller][file];
		record->complete = 0;
		record->from_start = false;
		record->next_line = 0;
	}
}

static void put(struct model *model, size_t file, bool anew) {
	struct st_str text = st_buf_str(&model->files[file]);
	int fd = openat(model->dir->fd, anew ? "new" : names[file],
	                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	write_all(fd, text);
	close(fd);
	if (anew)
		assert_int_equal(renameat(model->dir->fd, "new", model->dir->fd, names[file]), 0);
	model->exists[file] = true;
	model->makers[file] = CALLERS;
	note_version(model, file);
}

static void foreign_write(struct model *model, size_t file) {
	st_auto(st_buf) text = ST_BUF_INIT;
	size_t kind = gen_below(&model->gen, 8);
	st_buf_addf(&text, "%s, kind %zu", names[file], kind);
	tell(model, "somebody else writes", st_buf_str(&text));
	struct st_buf *bytes = &model->files[file];
	if (!model->exists[file] || kind == 0) {
		make_file(model, bytes);
	} else if (kind <= 3) {
		add_lines(model, bytes, 1 + gen_below(&model->gen, 3), eol_of(st_buf_str(bytes)));
	} else if (kind <= 5) {
		/* A mark in the middle becomes another, of the same length. */
		size_t at = gen_below(&model->gen, bytes->len + 1);
		while (at < bytes->len && mark_at(st_buf_str(bytes), at) == MARKS_MAX)
			at++;
		st_buf_clear(&text);
		add_mark(model, &text);
		if (at < bytes->len)
			memcpy(bytes->ptr + at, text.ptr, MARK_LEN);
	} else if (kind == 6 && bytes->len > 0 && bytes->ptr[bytes->len - 1] == '\n') {
		add_odd_line(model, bytes, eol_of(st_buf_str(bytes)));
	} else if (kind == 7) {
		assert_int_equal(unlinkat(model->dir->fd, names[file], 0), 0);
		model->exists[file] = false;
		st_buf_clear(bytes);
		note_version(model, file);
		forget_versions(model, file);
		return;
	}
	put(model, file, gen_one_in(&model->gen, 2));
}

static void read_all(struct model *model, size_t caller, size_t file) {
	bool numbered = gen_one_in(&model->gen, 3);
	model->records[caller][file].next_line = 0;
	for (int i = 0; i < PAGES_MAX; i++) {
		read_page(model, caller, file, true, numbered);
		if (model->refused || model->records[caller][file].next_line == 0)
			return;
		if (gen_one_in(&model->gen, 30))
			foreign_write(model, file);
		if (gen_one_in(&model->gen, 30))
			return;
	}
}

/* ---- changes ---- */

/* A hash that an answer gave to any caller, or a wrong one. */
static void maybe_hash(struct model *model, size_t file, struct st_buf *args) {
	if (!gen_one_in(&model->gen, 3))
		return;
	size_t count = model->hash_count[file], kept = count < HASHES ? count : HASHES;
	/* The last is most often that of the file as it is. */
	size_t which = gen_one_in(&model->gen, 3) && kept ? gen_below(&model->gen, kept)
	                                                  : (count + HASHES - 1) % HASHES;
	bool wrong = kept == 0 || gen_one_in(&model->gen, 10);
	add_arg(args, "expectedHash", st_str(wrong ? "0123456789abcdef" : model->hashes[file][which]));
}

static void maybe_stale(struct model *model, struct st_buf *args) {
	if (gen_one_in(&model->gen, 4))
		add_arg(args, "onStale", st_str(gen_one_in(&model->gen, 3) ? "refuse" : "merge"));
}

static struct st_str line_at(struct st_str text, size_t start) {
	const char *end = memchr(text.ptr + start, '\n', text.len - start);
	return st_str_slice(text, start, end ? (size_t)(end + 1 - text.ptr) : text.len);
}

/* New content as a caller can make it: some of the lines it knows, and new ones. */
static void make_content(struct model *model, size_t caller, size_t file, struct st_buf *out) {
	struct st_str old = st_buf_str(&model->files[file]);
	size_t keep = gen_one_in(&model->gen, 3) ? 0 : 1 + gen_below(&model->gen, 20);
	for (size_t at = 0; at < old.len && keep;) {
		struct st_str line = line_at(old, at);
		at += line.len;
		if (!gen_one_in(&model->gen, keep) && first_unknown(model, caller, line) == MARKS_MAX)
			st_buf_add(out, line);
	}
	const char *eol = eol_of(keep ? old : st_str(""));
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		st_buf_adds(out, eol);
	add_lines(model, out, gen_below(&model->gen, 3) + !out->len, eol);
	st_auto(st_buf) text = ST_BUF_INIT;
	st_utf8_add_lossy(&text, st_buf_str(out));
	st_buf_move(out, &text);
}

/* Why a caller that was sent all of a version, or made it, may still be refused. */
static void judge_refusal(struct model *model, size_t caller, size_t file) {
	struct record *record = &model->records[caller][file];
	version now = current(model, file);
	bool unseen = says(model, "you have not read all"),
		 modified = says(model, "was modified since");
	bool drops = says(model, "would lose most of its lines");
	bool lossy = says(model, "bytes that are not UTF-8, which you were sent");
	tally.unseen += unseen;
	tally.modified += modified;
	tally.drops += drops;
	tally.lossy += lossy;
	tally.hash += says(model, "hash mismatch");
	tally.sessionless += says(model, "only a session that has read");
	if (caller == STATELESS || now == 0)
		return;
	if (record->complete == now && (unseen || (modified && !says(model, "hash mismatch"))))
		fail_seen(model, "%s was refused to caller %zu, who was sent all of it.", names[file],
		          caller);
	if (drops && record->dropped == now)
		fail_seen(model, "The loss of lines of %s was asked about twice.", names[file]);
	if (lossy && record->lossy == now && !modified)
		fail_seen(model, "The loss of bytes of %s was asked about twice.", names[file]);
	if (drops)
		record->dropped = now;
	if (lossy)
		record->lossy = now;
}

/* Bytes that are not UTF-8 go only after a question. A caller that made the whole file has none of them. */
static void judge_bytes(struct model *model, size_t caller, size_t file, struct st_str old) {
	if (odd_bytes(st_buf_str(&model->files[file])) < odd_bytes(old) &&
	    model->records[caller][file].lossy != version_of(old))
		fail_seen(model, "%s lost bytes that are not UTF-8, and caller %zu was not asked.",
		          names[file], caller);
}

/* Every removed line was known to the caller. A merge keeps the lines of others. */
static void judge_loss(struct model *model, size_t caller, size_t file, struct st_str old) {
	struct st_str now = st_buf_str(&model->files[file]);
	if (old.len == 0 || (model->exists[file] && st_str_eq(old, now)))
		return;
	size_t mark = first_lost(model, caller, old, now);
	if (caller == STATELESS && mark == MARKS_MAX)
		mark = first_gone(old, now);
	if (mark < MARKS_MAX)
		fail_seen(model, "%s was replaced by caller %zu, to whom #%05zu# was not sent.",
		          names[file], caller, mark);
}

/* A version that is another one than before was made by this caller, whose questions are settled. */
static void note_maker(struct model *model, size_t caller, size_t file, struct st_str old) {
	struct record *record = &model->records[caller][file];
	record->dropped = record->lossy = record->asked = 0;
	if (!st_str_eq(old, st_buf_str(&model->files[file])))
		model->makers[file] = caller;
}

static void write_whole(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, content = ST_BUF_INIT, old = ST_BUF_INIT;
	bool existed;
	make_content(model, caller, file, &content);
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	add_arg(&args, "content", st_buf_str(&content));
	maybe_hash(model, file, &args);
	maybe_stale(model, &args);
	bool again = gen_one_in(&model->gen, 2);
	for (int i = 0; i < (again ? 2 : 1); i++) {
		size_t len = args.len;
		ask(model, caller, "write_file", &args, file);
		args.ptr[len - 1] = ',';
		st_buf_truncate(&args, len);
		settle(model, file, true, &old, &existed);
		if (!model->refused)
			break;
		judge_refusal(model, caller, file);
	}
	if (model->refused)
		return;
	judge_loss(model, caller, file, st_buf_str(&old));
	judge_bytes(model, caller, file, st_buf_str(&old));
	learn(model, caller, st_buf_str(&content));
	bool merged = says(model, "Merged with") || says(model, "had made the same");
	if (!merged && !st_str_eq(st_buf_str(&model->files[file]), st_buf_str(&content)))
		fail_seen(model, "%s is not what was written.", names[file]);
	if (!merged)
		model->records[caller][file].complete = current(model, file);
	note_maker(model, caller, file, st_buf_str(&old));
	tally.replaced += existed && caller != STATELESS;
}

static void delete (struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, old = ST_BUF_INIT;
	bool existed;
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	maybe_hash(model, file, &args);
	ask(model, caller, "delete_file", &args, file);
	settle(model, file, true, &old, &existed);
	if (model->refused) {
		judge_refusal(model, caller, file);
		return;
	}
	judge_loss(model, caller, file, st_buf_str(&old));
	forget_versions(model, file);
	tally.deleted++;
}

/* A version that a caller made of one that it was sent is one that it knows. */
static void follow_own(struct model *model, size_t caller, size_t file, struct st_str old) {
	struct record *record = &model->records[caller][file];
	if (record->complete == version_of(old) && !says(model, "Merged with"))
		record->complete = current(model, file);
}

/* Put another text in place of a part, with the file's line ends. */
static void replace_part(struct st_str text, size_t at, size_t len, struct st_str with,
                         struct st_buf *out) {
	const char *eol = eol_of(text);
	st_buf_clear(out);
	st_buf_add(out, st_str_slice(text, 0, at));
	for (size_t i = 0; i < with.len; i++) {
		if (with.ptr[i] == '\n')
			st_buf_adds(out, eol);
		else
			st_buf_addc(out, with.ptr[i]);
	}
	st_buf_add(out, st_str_slice(text, at + len, text.len));
}

/* A mark somewhere, or the line from there on, becomes another text. */
static bool choose_edit(struct model *model, size_t file, size_t *at, size_t *len) {
	struct st_str text = st_buf_str(&model->files[file]);
	*at = text.len ? gen_below(&model->gen, text.len) : 0;
	while (*at < text.len && mark_at(text, *at) == MARKS_MAX)
		++*at;
	*len = MARK_LEN;
	if (*at == text.len)
		return false;
	if (gen_one_in(&model->gen, 2)) {
		*len = line_at(text, *at).len;
		while (*len > 0 && strchr("\r\n", text.ptr[*at + *len - 1]))
			--*len;
	}
	return true;
}

static void judge_edit_refusal(struct model *model, size_t caller, size_t file) {
	struct record *record = &model->records[caller][file];
	if (!says(model, "was modified since") || says(model, "hash mismatch"))
		return;
	if (caller != STATELESS && record->asked == current(model, file))
		fail_seen(model, "An edit of %s was refused twice for the same change.", names[file]);
	record->asked = current(model, file);
	tally.modified++;
}

static void edit(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, new = ST_BUF_INIT, old = ST_BUF_INIT, want = ST_BUF_INIT;
	size_t at, len;
	bool existed;
	if (!choose_edit(model, file, &at, &len))
		return;
	struct st_str text = st_buf_str(&model->files[file]), part = st_str_slice(text, at, at + len);
	add_mark(model, &new);
	if (gen_one_in(&model->gen, 3)) {
		st_buf_adds(&new, "w\n");
		add_line(model, &new);
	}
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	add_arg(&args, "oldText", part);
	add_arg(&args, "newText", st_buf_str(&new));
	maybe_hash(model, file, &args);
	maybe_stale(model, &args);
	learn(model, caller, part);
	replace_part(text, at, len, st_buf_str(&new), &want);
	ask(model, caller, gen_one_in(&model->gen, 3) ? "text_replace" : "edit_file", &args, file);
	settle(model, file, true, &old, &existed);
	if (model->refused) {
		judge_edit_refusal(model, caller, file);
		return;
	}
	learn(model, caller, st_buf_str(&new));
	if (!st_str_eq(st_buf_str(&model->files[file]), st_buf_str(&want)))
		fail_seen(model, "An edit of %s changed more than it named.", names[file]);
	follow_own(model, caller, file, st_buf_str(&old));
	note_maker(model, caller, file, st_buf_str(&old));
	tally.edited++;
}

static void append(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, more = ST_BUF_INIT, old = ST_BUF_INIT, want = ST_BUF_INIT;
	struct st_str text = st_buf_str(&model->files[file]);
	bool existed;
	add_lines(model, &more, 1 + gen_below(&model->gen, 2), "\n");
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	add_arg(&args, "content", st_buf_str(&more));
	replace_part(text, text.len, 0, st_buf_str(&more), &want);
	ask(model, caller, "append_file", &args, file);
	settle(model, file, true, &old, &existed);
	/* A caller learns that a file which it saw is gone before it may write it again. */
	if (model->refused && existed)
		fail_seen(model, "Adding to %s was refused.", names[file]);
	if (model->refused)
		return;
	learn(model, caller, st_buf_str(&more));
	if (!st_str_eq(st_buf_str(&model->files[file]), st_buf_str(&want)))
		fail_seen(model, "Adding to %s changed what was there.", names[file]);
	if (existed)
		follow_own(model, caller, file, st_buf_str(&old));
	else
		model->records[caller][file].complete = current(model, file);
	note_maker(model, caller, file, st_buf_str(&old));
	tally.appended++;
}

/* A move never replaces a file, and lines that were read stay read. */
static void move(struct model *model, size_t caller, size_t from) {
	st_auto(st_buf) args = ST_BUF_INIT;
	size_t to = (from + 1) % FILES;
	bool can = model->exists[from] && !model->exists[to];
	begin_args(&args, caller);
	add_arg(&args, "source", st_str(names[from]));
	add_arg(&args, "destination", st_str(names[to]));
	ask(model, caller, "move_file", &args, from);
	if (model->refused == can)
		fail_seen(model, "%s was %s.", names[from], can ? "not moved" : "moved onto another");
	if (can) {
		struct record record = model->records[caller][from];
		st_buf_move(&model->files[to], &model->files[from]);
		model->exists[to] = true;
		model->exists[from] = false;
		note_version(model, from);
		note_version(model, to);
		forget_versions(model, from);
		forget_versions(model, to);
		if (caller != STATELESS)
			model->records[caller][to].complete = record.complete;
		model->makers[from] = model->makers[to] = CALLERS;
	}
	settle_unchanged(model, from);
}

/* A file that can be copied, if there is one. */
static size_t copyable(const struct model *model, size_t file) {
	for (size_t i = 0; i < FILES; i++) {
		size_t from = (file + i) % FILES;
		if (model->exists[from] && !model->exists[(from + 1) % FILES])
			return from;
	}
	return file;
}

/* A copy never replaces a file, and the caller knows no more of it than of the original. */
static void copy(struct model *model, size_t caller, size_t from) {
	st_auto(st_buf) args = ST_BUF_INIT;
	size_t to = (from + 1) % FILES;
	bool can = model->exists[from] && !model->exists[to];
	begin_args(&args, caller);
	add_arg(&args, "source", st_str(names[from]));
	add_arg(&args, "destination", st_str(names[to]));
	ask(model, caller, "copy_file", &args, from);
	if (model->refused == can)
		fail_seen(model, "%s was %s.", names[from], can ? "not copied" : "copied onto another");
	if (can) {
		st_buf_add(&model->files[to], st_buf_str(&model->files[from]));
		model->exists[to] = true;
		model->makers[to] = CALLERS;
		note_version(model, to);
		forget_versions(model, to);
		if (caller != STATELESS)
			model->records[caller][to].complete = model->records[caller][from].complete;
		tally.copied++;
	}
	settle_unchanged(model, from);
}

/* ---- changes that do not name what they take away ---- */

/*
 * A caller that was shown what would go, or was sent all of it, or made it, is not
 * refused for that.
 */
static void judge_unsent(struct model *model, size_t caller, size_t file) {
	const struct record *record = &model->records[caller][file];
	if (!says(model, "would lose lines that were not sent"))
		return;
	tally.unsent++;
	if (record->complete == current(model, file))
		fail_seen(model, "Lines of %s were withheld from caller %zu, who was sent all of it.",
		          names[file], caller);
}

/* Where lines begin, and how many there are. */
static size_t find_lines(struct st_str text, size_t starts[static LINES_MAX]) {
	size_t count = 0;
	for (size_t at = 0; at < text.len && count < LINES_MAX; at += line_at(text, at).len)
		starts[count++] = at;
	return count;
}

/* Delete or replace lines by their numbers, never the last one; once more if that was refused. */
static void patch(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, new = ST_BUF_INIT, old = ST_BUF_INIT, want = ST_BUF_INIT;
	size_t starts[LINES_MAX];
	struct st_str text = st_buf_str(&model->files[file]);
	size_t count = find_lines(text, starts);
	bool existed, shown = false;
	if (count < 2)
		return;
	size_t first = gen_below(&model->gen, count - 1);
	size_t most = count - 1 - first < 6 || gen_one_in(&model->gen, 4) ? count - 1 - first : 6;
	size_t last = first + gen_below(&model->gen, most);
	bool deletes = gen_one_in(&model->gen, 2);
	if (!deletes)
		add_lines(model, &new, 1 + gen_below(&model->gen, 2), "\n");
	replace_part(text, starts[first], starts[last + 1] - starts[first], st_buf_str(&new), &want);
	begin_args(&args, caller);
	add_arg(&args, "filePath", st_str(names[file]));
	add_arg(&args, "operation", st_str(deletes ? "delete" : "replace"));
	st_buf_addf(&args, "\"target\":{\"lines\":{\"start\":%zu,\"end\":%zu}},", first + 1, last + 1);
	if (!deletes)
		add_arg(&args, "content", st_buf_str(&new));
	maybe_hash(model, file, &args);
	for (int i = 0; i < 2; i++) {
		size_t len = args.len;
		ask(model, caller, "text_patch", &args, file);
		args.ptr[len - 1] = ',';
		st_buf_truncate(&args, len);
		settle(model, file, true, &old, &existed);
		if (!model->refused)
			break;
		judge_edit_refusal(model, caller, file);
		judge_unsent(model, caller, file);
		if (shown && !says(model, "hash mismatch"))
			fail_seen(model, "A patch of %s was refused after it was shown.", names[file]);
		shown = says(model, shows_loss);
	}
	if (model->refused)
		return;
	judge_loss(model, caller, file, st_buf_str(&old));
	learn(model, caller, st_buf_str(&new));
	if (!st_str_eq(st_buf_str(&model->files[file]), st_buf_str(&want)))
		fail_seen(model, "A patch of %s changed other lines than it named.", names[file]);
	follow_own(model, caller, file, st_buf_str(&old));
	note_maker(model, caller, file, st_buf_str(&old));
	tally.patched++;
}

/* ---- patches over several files ---- */

enum part_kind { UPDATED, DELETED, WRITTEN };

/* What a patch does to a file. */
struct part {
	bool is_in;
	enum part_kind kind;
	/* The patch holds the lines that go, which proves that the caller knows them. */
	bool names_lines;
	/* The file afterwards, and the lines that the caller wrote. */
	struct st_buf want, added;
};

static void parts_release(struct part parts[static FILES]) {
	for (size_t i = 0; i < FILES; i++) {
		st_buf_release(&parts[i].want);
		st_buf_release(&parts[i].added);
	}
}

/* Lines of a patch: each with a sign, and in a unified diff with its own end of line. */
static void add_signed(struct st_buf *out, char sign, struct st_str text, bool unified) {
	for (size_t at = 0; at < text.len;) {
		struct st_str line = line_at(text, at);
		at += line.len;
		while (line.len > 0 && strchr(unified ? "\n" : "\r\n", line.ptr[line.len - 1]))
			line.len--;
		st_buf_addc(out, sign);
		st_buf_add(out, line);
		st_buf_addc(out, '\n');
	}
}

/* Put other lines, or none, in place of some, which the patch names. Never of the last one. */
static bool patch_lines(struct model *model, size_t caller, size_t file, bool unified,
                        struct part *part, struct st_buf *out) {
	size_t starts[LINES_MAX];
	struct st_str text = st_buf_str(&model->files[file]);
	size_t count = find_lines(text, starts);
	if (count < 2)
		return false;
	size_t first = gen_below(&model->gen, count - 1);
	size_t last = first + gen_below(&model->gen, count - 1 - first < 4 ? count - 1 - first : 4);
	size_t above = first > 0 && gen_one_in(&model->gen, 2);
	size_t below = last + 2 < count && gen_one_in(&model->gen, 2);
	size_t new = gen_below(&model->gen, 3);
	size_t from = starts[first - above], to = starts[last + 1 + below];
	add_lines(model, &part->added, new, unified ? eol_of(text) : "\n");
	if (unified)
		st_buf_addf(out, "--- a/%s\n+++ b/%s\n@@ -%zu,%zu +%zu,%zu @@\n", names[file], names[file],
		            first - above + 1, last - first + 1 + above + below,
		            first - above + (above + new + below > 0), above + new + below);
	else
		st_buf_addf(out, "*** Update File: %s\n@@\n", names[file]);
	add_signed(out, ' ', st_str_slice(text, from, starts[first]), unified);
	add_signed(out, '-', st_str_slice(text, starts[first], starts[last + 1]), unified);
	add_signed(out, '+', st_buf_str(&part->added), unified);
	add_signed(out, ' ', st_str_slice(text, starts[last + 1], to), unified);
	learn(model, caller, st_str_slice(text, from, to));
	st_buf_add(&part->want, st_str_slice(text, 0, starts[first]));
	for (const char *at = st_buf_cstr(&part->added); *at; at++)
		st_buf_adds(&part->want, *at == '\n' && !unified ? eol_of(text) : (char[]){*at, '\0'});
	st_buf_add(&part->want, st_str_slice(text, starts[last + 1], text.len));
	return true;
}

/* In Codex's format a deletion names no line; a unified diff names all. */
static void patch_away(struct model *model, size_t caller, size_t file, bool unified,
                       struct st_buf *out) {
	struct st_str text = st_buf_str(&model->files[file]);
	size_t starts[LINES_MAX], count = find_lines(text, starts);
	if (!unified) {
		st_buf_addf(out, "*** Delete File: %s\n", names[file]);
		return;
	}
	st_buf_addf(out, "--- a/%s\n+++ /dev/null\n@@ -1,%zu +0,0 @@\n", names[file], count);
	add_signed(out, '-', text, true);
	if (text.ptr[text.len - 1] != '\n')
		st_buf_adds(out, "\\ No newline at end of file\n");
	learn(model, caller, text);
}

/* Choose what a patch does to a file; false if it leaves that file alone. */
static bool plan_part(struct model *model, size_t caller, size_t file, bool unified,
                      struct part *part, struct st_buf *out) {
	size_t len = model->files[file].len;
	if (!unified && gen_one_in(&model->gen, 4)) {
		part->kind = WRITTEN;
		add_lines(model, &part->added, 1 + gen_below(&model->gen, 3), "\n");
		st_buf_add(&part->want, st_buf_str(&part->added));
		st_buf_addf(out, "*** Add File: %s\n", names[file]);
		add_signed(out, '+', st_buf_str(&part->added), false);
		return true;
	}
	if (!model->exists[file] || len == 0)
		return false;
	if (gen_one_in(&model->gen, 4)) {
		part->kind = DELETED;
		part->names_lines = unified;
		patch_away(model, caller, file, unified, out);
		return true;
	}
	part->kind = UPDATED;
	part->names_lines = true;
	return patch_lines(model, caller, file, unified, part, out);
}

/* A file became what the patch says, and the caller knew what is gone. */
static void judge_part(struct model *model, size_t caller, size_t file, const struct part *part,
                       struct st_str old) {
	if (!part->names_lines)
		judge_loss(model, caller, file, old);
	if (part->kind == WRITTEN)
		judge_bytes(model, caller, file, old);
	learn(model, caller, st_buf_str(&part->added));
	bool merged = says(model, "Merged with") || says(model, "had made the same");
	if (model->exists[file] == (part->kind == DELETED) ||
	    (!merged && !st_str_eq(st_buf_str(&model->files[file]), st_buf_str(&part->want))))
		fail_seen(model, "%s is not what the patch says.", names[file]);
	if (part->kind == DELETED)
		forget_versions(model, file);
	else if (part->kind == UPDATED)
		follow_own(model, caller, file, old);
	else if (!merged)
		model->records[caller][file].complete = current(model, file);
	note_maker(model, caller, file, old);
	tally.applied++;
}

/* All files of a patch are changed, or none. */
static void settle_parts(struct model *model, size_t caller, bool dry,
                         const struct part parts[static FILES]) {
	for (size_t file = 0; file < FILES; file++) {
		st_auto(st_buf) old = ST_BUF_INIT, now = ST_BUF_INIT;
		bool exists;
		look(model, file, &now, &exists);
		bool same = exists == model->exists[file] &&
		            st_str_eq(st_buf_str(&now), st_buf_str(&model->files[file]));
		if (!same && (!parts[file].is_in || dry || model->refused))
			fail_seen(model, "%s was changed by a patch that must not.", names[file]);
		if (!parts[file].is_in || dry || model->refused)
			continue;
		st_buf_move(&old, &model->files[file]);
		st_buf_add(&model->files[file], st_buf_str(&now));
		model->exists[file] = exists;
		note_version(model, file);
		judge_part(model, caller, file, &parts[file], st_buf_str(&old));
	}
}

/* A patch of one file or of all; once more if it was refused. */
static void apply(struct model *model, size_t caller, size_t only) {
	st_auto(st_buf) args = ST_BUF_INIT, text = ST_BUF_INIT;
	struct part parts[FILES] = {0};
	bool unified = gen_one_in(&model->gen, 2), all = gen_one_in(&model->gen, 2);
	bool dry = gen_one_in(&model->gen, 5);
	for (size_t file = 0; file < FILES; file++)
		parts[file].is_in =
			(all || file == only) && plan_part(model, caller, file, unified, &parts[file], &text);
	begin_args(&args, caller);
	if (!unified) {
		st_auto(st_buf) whole = ST_BUF_INIT;
		st_buf_addf(&whole, "*** Begin Patch\n%s*** End Patch\n", st_buf_cstr(&text));
		st_buf_move(&text, &whole);
	}
	add_arg(&args, "patch", st_buf_str(&text));
	if (dry)
		st_buf_adds(&args, "\"dryRun\":true,");
	for (int i = 0; i < 2 && (parts[0].is_in || parts[1].is_in || parts[2].is_in); i++) {
		size_t len = args.len;
		for (size_t file = 0; file < FILES; file++)
			meet(model, caller, file);
		ask(model, caller, "apply_patch", &args, only);
		args.ptr[len - 1] = ',';
		st_buf_truncate(&args, len);
		settle_parts(model, caller, dry, parts);
		if (!model->refused)
			break;
		for (size_t file = 0; file < FILES && all; file++)
			if (parts[file].kind == WRITTEN &&
			    says(model, "bytes that are not UTF-8, which you were sent"))
				model->records[caller][file].lossy = current(model, file);
		if (!all && parts[only].kind == UPDATED)
			judge_edit_refusal(model, caller, only);
		else if (!all)
			judge_refusal(model, caller, only);
	}
	parts_release(parts);
}

/* The log shows changes: no answer of it unlocks a file. */
static void look_back(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT;
	begin_args(&args, caller);
	add_arg(&args, "path", st_str(names[file]));
	st_buf_adds(&args, "\"diff\":true,");
	ask(model, caller, "history", &args, file);
	settle_unchanged(model, file);
	tally.looked_back += !model->refused;
}

/* Whatever comes back, no more goes than the caller knew or made. */
static void undo(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT, old = ST_BUF_INIT;
	bool existed, own = caller != STATELESS && model->makers[file] == caller;
	for (int i = 0; i < 2; i++) {
		begin_args(&args, caller);
		add_arg(&args, "path", st_str(names[file]));
		ask(model, caller, "undo", &args, file);
		settle(model, file, true, &old, &existed);
		if (!model->refused)
			break;
		judge_unsent(model, caller, file);
		/* What a caller made in part, and another one created, it need not know. */
		if (own && says(model, "would lose lines"))
			fail_seen(model, "Caller %zu may not take back its own write of %s.", caller,
			          names[file]);
	}
	if (model->refused)
		return;
	if (!own || !model->exists[file])
		judge_loss(model, caller, file, st_buf_str(&old));
	struct record *record = &model->records[caller][file];
	bool knew = existed && record->complete == version_of(st_buf_str(&old));
	if (!model->exists[file])
		forget_versions(model, file);
	else
		record->complete = knew && !says(model, "diff cut here") ? current(model, file) : 0;
	tally.undone++;
}

/* The files as they are after a call that may have changed any of them. */
static void settle_run(struct model *model, size_t caller, bool is_own) {
	st_auto(st_buf) now = ST_BUF_INIT, old = ST_BUF_INIT;
	for (size_t file = 0; file < FILES; file++) {
		bool exists;
		look(model, file, &now, &exists);
		if (exists == model->exists[file] &&
		    st_str_eq(st_buf_str(&now), st_buf_str(&model->files[file])))
			continue;
		st_buf_move(&old, &model->files[file]);
		st_buf_add(&model->files[file], st_buf_str(&now));
		model->exists[file] = exists;
		model->makers[file] = CALLERS;
		note_version(model, file);
		if (!is_own)
			judge_loss(model, caller, file, st_buf_str(&old));
		forget_versions(model, file);
		tally.runs_undone++;
	}
}

/* The writes of the session with a name, of one file or of all; shown first to others, and then done. */
static void undo_of_run(struct model *model, size_t caller, size_t file) {
	st_auto(st_buf) args = ST_BUF_INIT;
	bool one = gen_one_in(&model->gen, 2), redo = gen_one_in(&model->gen, 5);
	for (int i = 0; i < 2; i++) {
		begin_args(&args, caller);
		st_buf_adds(&args, "\"of\":\"kim\",");
		if (one)
			add_arg(&args, "path", st_str(names[file]));
		if (redo)
			st_buf_adds(&args, "\"redo\":true,");
		for (size_t each = 0; each < FILES; each++)
			meet(model, caller, each);
		ask(model, caller, "undo", &args, file);
		if (says(model, "The preview below shows what would change"))
			learn_from(model, caller, st_buf_str(&model->said), true);
		settle_run(model, caller, caller == NAMED);
		if (!model->refused)
			break;
		tally.previewed += says(model, "The preview below shows");
		if (gen_one_in(&model->gen, 4))
			foreign_write(model, file);
	}
}

/* A directory with all that is in it. */
static void empty(struct model *model, size_t caller) {
	st_auto(st_buf) args = ST_BUF_INIT, old = ST_BUF_INIT;
	bool existed;
	begin_args(&args, caller);
	add_arg(&args, "path", st_str("d"));
	st_buf_adds(&args, "\"recursive\":true,");
	ask(model, caller, "delete_file", &args, IN_DIR);
	settle(model, IN_DIR, true, &old, &existed);
	if (model->refused) {
		if (model->records[caller][IN_DIR].complete == current(model, IN_DIR) && existed &&
		    caller != STATELESS)
			fail_seen(model, "d was refused to caller %zu, who was sent all of it.", caller);
		return;
	}
	judge_loss(model, caller, IN_DIR, st_buf_str(&old));
	forget_versions(model, IN_DIR);
	assert_int_equal(mkdirat(model->dir->fd, "d", 0755), 0);
	tally.emptied++;
}

/* ---- sequences ---- */

static void step(struct model *model) {
	size_t caller = gen_below(&model->gen, CALLERS + 2) % CALLERS;
	size_t file = gen_below(&model->gen, FILES + 3) % FILES;
	/* Most of it happens to one file, so that callers meet. */
	if (gen_one_in(&model->gen, 2))
		file = 0;
	/* Only what is stored can be taken back. */
	if (model->stored && gen_one_in(&model->gen, 4)) {
		if (gen_one_in(&model->gen, 2))
			undo_of_run(model, caller, file);
		else
			undo(model, caller, file);
		return;
	}
	size_t what = gen_below(&model->gen, 44);
	if (what < 5)
		read_all(model, caller, file);
	else if (what < 8)
		read_page(model, caller, file, gen_one_in(&model->gen, 2), gen_one_in(&model->gen, 2));
	else if (what < 9)
		read_several(model, caller);
	else if (what < 12)
		inspect(model, caller, file);
	else if (what < 19)
		write_whole(model, caller, file);
	else if (what < 24)
		edit(model, caller, file);
	else if (what < 26)
		append(model, caller, file);
	else if (what < 27)
		delete (model, caller, file);
	else if (what < 28)
		move(model, caller, file);
	else if (what < 29)
		copy(model, caller, copyable(model, file));
	else if (what < 33)
		patch(model, caller, file);
	else if (what < 35)
		empty(model, caller);
	else if (what < 36)
		search(model, caller);
	else if (what < 39)
		apply(model, caller, file);
	else if (what < 40)
		look_back(model, caller, file);
	else
		foreign_write(model, file);
}

static void open_host(struct model *model) {
	const char *root = model->dir->path;
	struct stet_error err = {0};
	assert_int_equal(stet_host_open(&root, 1, &model->host, &err), 0);
	assert_int_equal(stet_host_set(model->host, STET_OPTION_DURABLE, 0, &err), 0);
	assert_int_equal(stet_host_set(model->host, STET_OPTION_PAGE_BYTES, PAGE, &err), 0);
	assert_int_equal(stet_host_set(model->host, STET_OPTION_STATE, model->stored, &err), 0);
	for (size_t i = 0; i < CALLERS; i++) {
		int code = i == STATELESS
		               ? stet_host_stateless(model->host, NULL, &model->clients[i], &err)
		               : stet_host_client(model->host, NULL, NULL, &model->clients[i], &err);
		assert_int_equal(code, 0);
	}
}

static void close_host(struct model *model) {
	for (size_t i = 0; i < CALLERS; i++)
		stet_client_release(model->clients[i]);
	stet_host_close(model->host);
}

/* Another process takes over: only a session with a name, and only what is stored, goes on. */
static void restart(struct model *model) {
	tell(model, "restart", st_str(""));
	close_host(model);
	open_host(model);
	for (size_t caller = 0; caller < CALLERS; caller++) {
		if (caller == NAMED && model->stored)
			continue;
		memset(model->known[caller], 0, sizeof model->known[caller]);
		memset(model->records[caller], 0, sizeof model->records[caller]);
		for (size_t file = 0; file < FILES; file++)
			model->makers[file] = model->makers[file] == caller ? CALLERS : model->makers[file];
	}
	tally.restarted++;
}

static void model_release(struct model *model) {
	for (size_t i = 0; i < FILES; i++) {
		st_buf_release(&model->files[i]);
		if (model->exists[i])
			assert_int_equal(unlinkat(model->dir->fd, names[i], 0), 0);
	}
	assert_int_equal(unlinkat(model->dir->fd, "d", AT_REMOVEDIR), 0);
	yyjson_doc_free(model->answer);
	st_buf_release(&model->story);
	st_buf_release(&model->said);
}

static void run_steps(struct model *model) {
	int restarted = gen_one_in(&model->gen, model->stored ? 2 : 16)
	                    ? (int)gen_below(&model->gen, STEPS)
	                    : STEPS;
	assert_int_equal(mkdirat(model->dir->fd, "d", 0755), 0);
	for (size_t i = 0; i < FILES; i++) {
		make_file(model, &model->files[i]);
		put(model, i, false);
	}
	open_host(model);
	for (int i = 0; i < STEPS; i++) {
		if (i == restarted)
			restart(model);
		step(model);
	}
	close_host(model);
	model_release(model);
}

static void run_sequence(struct dir *dir, uint64_t seed) {
	static struct model model;
	void *own = NULL;
	model = (struct model){.dir = dir, .gen = gen_new(seed), .seed = seed};
	/* The state is a database, which most sequences do without, to be many. Nobody else's is found there. */
	model.stored = gen_one_in(&model.gen, 10);
	if (model.stored) {
		assert_int_equal(dir_setup(&own), 0);
		model.dir = own;
	}
	run_steps(&model);
	if (own)
		assert_int_equal(dir_teardown(&own), 0);
}

/* ---- processes ---- */

/* Every so many-th sequence, in a directory below. Asserts end this process with a signal. */
static void run_share(const struct dir *dir, size_t first, size_t share, size_t rounds) {
	void *own = NULL;
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	setenv("TMPDIR", dir->path, 1);
	assert_int_equal(dir_setup(&own), 0);
	for (size_t i = first; i < rounds; i += share)
		run_sequence(own, gen_seed() + i);
	assert_int_equal(dir_teardown(&own), 0);
}

static void add_tally(struct tally *sum, const struct tally *part) {
	size_t *to = (size_t *)sum;
	const size_t *from = (const size_t *)part;
	for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
		to[i] += from[i];
}

static void run_all(const struct dir *dir, size_t rounds) {
	/* A workspace that closes waits for late writes, so that each processor has time for several. */
	long processes = 4 * sysconf(_SC_NPROCESSORS_ONLN);
	size_t share = processes < 1               ? 1
	               : processes > PROCESSES_MAX ? PROCESSES_MAX
	                                           : (size_t)processes;
	struct tally *parts = mmap(NULL, PROCESSES_MAX * sizeof *parts, PROT_READ | PROT_WRITE,
	                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[PROCESSES_MAX];
	assert_true(parts != MAP_FAILED);
	for (size_t i = 0; i < share; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] > 0)
			continue;
		run_share(dir, i, share, rounds);
		parts[i] = tally;
		_exit(0);
	}
	bool held = true;
	for (size_t i = 0; i < share; i++) {
		int status = 0;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		held &= status == 0;
		add_tally(&tally, &parts[i]);
	}
	munmap(parts, PROCESSES_MAX * sizeof *parts);
	assert_true(held);
}

static void only_what_was_sent_is_overwritten_and_that_without_ado(void **state) {
	size_t rounds = gen_rounds(2000, 100000);
	run_all(*state, rounds);
	print_message(
		"# %zu sequences: %zu replaced, %zu deleted, %zu edited, %zu appended, %zu read "
		"whole, %zu patched, %zu undone, %zu copied, %zu emptied, %zu searched, %zu "
		"undone as a run, %zu patched as a set, %zu looked up, %zu restarts; refused: %zu "
		"unseen, %zu modified, %zu drops, %zu hash, %zu sessionless, %zu unsent, %zu previews, %zu "
		"bytes\n",
		rounds, tally.replaced, tally.deleted, tally.edited, tally.appended, tally.whole,
		tally.patched, tally.undone, tally.copied, tally.emptied, tally.searched, tally.runs_undone,
		tally.applied, tally.looked_back, tally.restarted, tally.unseen, tally.modified,
		tally.drops, tally.hash, tally.sessionless, tally.unsent, tally.previewed, tally.lossy);
	assert_true(tally.replaced && tally.deleted && tally.edited && tally.appended && tally.whole);
	assert_true(tally.unseen && tally.modified && tally.drops && tally.hash && tally.sessionless);
	assert_true(tally.restarted && tally.patched && tally.undone && tally.copied);
	assert_true(tally.emptied && tally.unsent && tally.searched && tally.lossy);
	assert_true(tally.previewed && tally.runs_undone && tally.applied && tally.looked_back);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(only_what_was_sent_is_overwritten_and_that_without_ado),
	};
	tree_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
