/*
 * A search for the slowest call. Each tool of the table has its worst call so
 * far; a round tries a neighbour of it, or a random call, on files of random
 * kinds that the session knows in random ways. Whatever is found, not much is
 * done between two looks for a cancellation, and not much after one.
 *
 * It counts the time of this thread on a processor, so that a busy machine
 * makes no difference; what waits for a disk cannot be cancelled anyway.
 */
#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/json.h"
#include "fs/tree/ignore_file.h"
#include "lib/gen.h"
#include "lib/session.h"
#include "stet/tools.h"
#include "text/lines/lines.h"
#include "tools/tool.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SLOWER = 20 };
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SLOWER = 20 };
#else
enum { SLOWER = 1 };
#endif
#else
enum { SLOWER = 1 };
#endif

/* How long nobody may look, in milliseconds, and how long a cancelled call may go on. */
enum { GAP_MAX = 100 * SLOWER };

/* A call that looks often is followed for so long only: then its client goes. */
enum { CALL_MAX = 1000 };

/* A call that never looks is given up. */
enum { PATIENCE_S = 40 * SLOWER };

/* A call that seems to take longer is measured again: the processor is shared with others. */
enum { TRIES = 4 };

/* ---- the meter ---- */

struct meter {
	struct st_cancel cancel;
	/* When the call began and it was looked last, the longest time without a look, and how often it was looked. */
	double began, last, longest;
	size_t looks;
	/* At which look the client goes, SIZE_MAX for never; and when it went, 0 if it did not. */
	size_t goes_at;
	double gone;
};

static double cpu_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void note_gap(struct meter *meter) {
	double now = cpu_ms();
	if (now - meter->last > meter->longest)
		meter->longest = now - meter->last;
	meter->last = now;
}

static bool look(struct st_cancel *cancel) {
	struct meter *meter = (struct meter *)cancel;
	note_gap(meter);
	bool goes = meter->looks++ == meter->goes_at || meter->last - meter->began > CALL_MAX;
	if (goes)
		meter->gone = meter->last;
	return goes;
}

/* ---- what calls are made of ---- */

/* The piece that a text repeats. */
static const char *const units[] = {
	"ab ab ab ab ab ab\n",
	"a",
	"ab",
	"[",
	"- ",
	"> a\n",
	"# h [a](b) *x* `c`\n\n- i\n  - j\n",
	"\n",
	"\t\tint x = 0; /* y */\r\n",
	"\xc3\xbc\xe6\x96\x87 ",
	"0123456789abcdef",
	"**_`",
	"a\xff\n",
	"<a id=\"x\">\n",
	"key: value\n---\n",
	"\r",
	"| a | b |\n| - | - |\n",
	"}\n",
	"[x]: y\n",
	"@a.md\n",
	"%%",
	"```\n",
};

/* Texts to look for and to put in. */
static const char *const texts[] = {
	"a",
	"ab",
	"b ab",
	"\n",
	"ab ab zz ab ab ab ab xx ab",
	"int x = 1;",
	"h",
	"#",
	"0123456789abcdeg",
	"not there at all, whatever the text may be, and rather long besides",
	"i\n  - k\n",
	"(a+)+$",
	"([0-9a-f]*)*z",
	"^.*b.*$",
	"\\bab\\b",
	"1-1000000",
	"*a*a*a*a*a*a*a*a*b",
	"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
	"**/**/**/**/x",
	"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
	"",
};

static const char *const paths[] = {"f.md", "f.md",  "f.md",   "wide", "deep",
                                    ".",    "rules", "wide/1", "new"};

static const char *const targets[] = {
	"{\"heading\":{\"text\":\"h\"}}",
	"{\"lines\":{\"start\":1,\"end\":1000000}}",
	"{\"lines\":{\"start\":3,\"end\":3}}",
	"{\"beforeHeading\":{\"text\":\"h [a](b) *x* `c`\"}}",
	"{\"appendToSection\":{\"text\":\"h\",\"occurrence\":1000}}",
	"{\"wholeSection\":{\"text\":\"h\"}}",
	"{\"codeBlock\":{\"index\":1000}}",
};

static const char *const operations[] = {"replace", "insert", "delete"};
static const int64_t integers[] = {0, 1, 2, 3, 100, 10000, 1000000, INT32_MAX};

/* The session's knowledge of the file. */
enum known { KNOWN_NOT, KNOWN_AS_IT_IS, KNOWN_BEFORE, KNOWN_AND_ASKED, KNOWN_IN_PART, KNOWN_KINDS };

/* How the version before differs. */
enum change { CHANGED_LINES, MISSING_LINES, OTHER_ORDER, OTHER_TEXT, CHANGE_KINDS };

enum { CONTENT_MAX_BYTES = 8 << 20, EDITS_MAX = 1000, LIST_MAX = 1000 };

static size_t largest(void) {
	return gen_rounds(8 << 20, 32 << 20);
}

/* One call, as numbers that can be changed a little. */
struct spec {
	size_t tool;
	/* The file: a unit, and another after each so many of them. */
	size_t unit, other, every, size;
	enum known known;
	enum change change;
	size_t stride;
	/* The value of each parameter; see add_value(). */
	uint32_t args[ST_PARAMS_MAX];
};

static size_t tool_count(void) {
	size_t count = 0;
	while (st_tools[count])
		count++;
	return count;
}

static struct spec random_spec(struct gen *gen, size_t tool) {
	struct spec spec = {
		.tool = tool,
		.unit = gen_below(gen, COUNT(units)),
		.other = gen_below(gen, COUNT(units)),
		.every = (size_t)1 << gen_below(gen, 20),
		.size = largest() >> gen_below(gen, 16),
		.known = (enum known)gen_below(gen, KNOWN_KINDS),
		.change = (enum change)gen_below(gen, CHANGE_KINDS),
		.stride = (size_t)1 << gen_below(gen, 12),
	};
	for (size_t i = 0; i < ST_PARAMS_MAX; i++)
		spec.args[i] = (uint32_t)gen_next(gen);
	return spec;
}

/* The same call but for one number, or two. */
static struct spec neighbour(struct gen *gen, struct spec spec) {
	struct spec other = random_spec(gen, spec.tool);
	size_t params = 0;
	while (st_tools[spec.tool]->params[params].name)
		params++;
	for (size_t i = gen_below(gen, 2) + 1; i > 0; i--) {
		switch (gen_below(gen, 8 + params)) {
		case 0:
			spec.unit = other.unit;
			break;
		case 1:
			spec.other = other.other;
			break;
		case 2:
			spec.every = other.every;
			break;
		case 3:
			spec.size = other.size;
			break;
		case 4:
			spec.known = other.known;
			break;
		case 5:
			spec.change = other.change;
			break;
		case 6:
			spec.stride = other.stride;
			break;
		default:
			if (params > 0) {
				size_t which = gen_below(gen, params);
				spec.args[which] = other.args[which];
			}
		}
	}
	return spec;
}

/* ---- the arguments, from the table of tools ---- */

static void add_json(struct st_buf *out, const char *text) {
	st_json_quote(out, st_str(text));
}

/* Twice as much each time: a call at a time for each "a" would take longer than the calls that are measured. */
static void add_unit_text(struct st_buf *out, const struct spec *spec, size_t size) {
	size_t start = out->len;
	st_buf_reserve(out, 2 * size + 64);
	for (size_t i = 0; i < spec->every && out->len - start < size; i++)
		st_buf_adds(out, units[spec->unit]);
	st_buf_adds(out, units[spec->other]);
	while (out->len - start < size && !out->failed)
		st_buf_add(out, st_strn(out->ptr + start, out->len - start));
	st_buf_truncate(out, start + size);
}

/* A long text, or one of those to look for. */
static void add_text(struct st_buf *out, const struct spec *spec, uint32_t number,
                     bool may_be_long) {
	st_auto(st_buf) text = ST_BUF_INIT;
	if (may_be_long && number % 2)
		add_unit_text(&text, spec, (size_t)CONTENT_MAX_BYTES >> number / 2 % 8);
	else
		st_buf_adds(&text, texts[number / 2 % COUNT(texts)]);
	st_json_quote(out, st_buf_str(&text));
}

static void add_edits(struct st_buf *out, uint32_t number) {
	size_t count = 1 + number / COUNT(texts) % EDITS_MAX;
	const char *old = texts[number % COUNT(texts)];
	for (size_t i = 0; i < count; i++) {
		st_buf_adds(out, i ? ",{\"oldText\":" : "[{\"oldText\":");
		add_json(out, i % 2 ? "QQ" : old);
		st_buf_adds(out, ",\"newText\":");
		add_json(out, i % 2 ? old : "QQ");
		st_buf_adds(out, ",\"replaceAll\":true}");
	}
	st_buf_addc(out, ']');
}

static void add_list(struct st_buf *out, uint32_t number, bool of_paths) {
	size_t count = 1 + number % LIST_MAX;
	for (size_t i = 0; i < count; i++) {
		st_buf_addc(out, i ? ',' : '[');
		if (of_paths && i % 2)
			st_buf_addf(out, "\"wide/%zu\"", i);
		else
			add_json(out, of_paths ? "f.md" : texts[(number / LIST_MAX + i) % COUNT(texts)]);
	}
	st_buf_addc(out, ']');
}

static void add_choice(struct st_buf *out, const char *choices, uint32_t number) {
	size_t count = 1;
	for (const char *at = choices; *at; at++)
		count += *at == '|';
	for (size_t skip = number % count; skip > 0; skip--)
		choices += strcspn(choices, "|") + 1;
	st_buf_addf(out, "\"%.*s\"", (int)strcspn(choices, "|"), choices);
}

static bool is_path(const char *name) {
	return strcmp(name, "path") == 0 || strcmp(name, "filePath") == 0 ||
	       strcmp(name, "source") == 0;
}

static void add_any(struct st_buf *out, const struct spec *spec, const char *name,
                    uint32_t number) {
	if (strcmp(name, "edits") == 0)
		add_edits(out, number);
	else if (strcmp(name, "target") == 0)
		st_buf_adds(out, targets[number % COUNT(targets)]);
	else if (strcmp(name, "occurrence") == 0)
		st_buf_adds(out, number % 2 ? "\"all\"" : "1000");
	else
		add_text(out, spec, number, true);
}

static void add_string(struct st_buf *out, const struct spec *spec, const char *name,
                       uint32_t number) {
	if (is_path(name))
		add_json(out, paths[number % COUNT(paths)]);
	else if (strcmp(name, "operation") == 0)
		add_json(out, operations[number % COUNT(operations)]);
	else
		add_text(out, spec, number, strcmp(name, "session") != 0);
}

/* Of the optional ones, three in four are left away: many contradict each other. */
static bool add_value(struct st_buf *out, const struct spec *spec, const struct st_param *param,
                      uint32_t number) {
	if (!param->required && number % 4)
		return false;
	number /= 4;
	if (param->choices)
		add_choice(out, param->choices, number);
	else if (param->type == ST_PARAM_STRING)
		add_string(out, spec, param->name, number);
	else if (param->type == ST_PARAM_INTEGER)
		st_buf_addf(out, "%lld", (long long)integers[number % COUNT(integers)]);
	else if (param->type == ST_PARAM_BOOLEAN)
		st_buf_adds(out, number % 2 ? "true" : "false");
	else if (param->type == ST_PARAM_STRINGS)
		add_list(out, number, strcmp(param->name, "paths") == 0);
	else
		add_any(out, spec, param->name, number);
	return true;
}

static void add_arguments(struct st_buf *out, const struct spec *spec) {
	const struct st_param *params = st_tools[spec->tool]->params;
	st_buf_addc(out, '{');
	for (size_t i = 0; params[i].name; i++) {
		st_auto(st_buf) value = ST_BUF_INIT;
		if (!add_value(&value, spec, &params[i], spec->args[i]))
			continue;
		st_buf_addf(out, "%s\"%s\":", out->ptr[out->len - 1] == '{' ? "" : ",", params[i].name);
		st_buf_add(out, st_buf_str(&value));
	}
	st_buf_addc(out, '}');
	assert_false(out->failed);
}

/* ---- the world ---- */

static size_t wide_files(void) {
	return gen_rounds(500, 5000);
}

static void make_wide(struct host *host) {
	char name[300] = "wide/";
	memset(name + 5, 'a', 200);
	dir_write(host->dir, "wide/AGENTS.md", "Be kind.\n@../f.md\n");
	for (size_t i = 0; i < wide_files(); i++) {
		size_t start = i % 16 ? 5 : 205;
		snprintf(name + start, sizeof name - start, "%zu", i);
		dir_write(host->dir, name, "x\n");
		if (i % 16)
			assert_int_equal(stet_session_track_read(host->session, name, NULL), 0);
		memset(name + 5, 'a', 200);
	}
}

/* From the inside: the path is long. */
static void make_deep(const struct dir *dir) {
	enum { DEPTH = 1900 };
	int at = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t depth = 0; depth < DEPTH; depth++) {
		assert_int_equal(mkdirat(at, depth ? "a" : "deep", 0755), 0);
		int next = openat(at, depth ? "a" : "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
}

/* Many ignore rules, each of which takes its time with each of these names. */
static void make_rules(const struct dir *dir) {
	st_auto(st_buf) text = ST_BUF_INIT;
	while (text.len < gen_rounds(128 << 10, ST_IGNORE_FILE_MAX) - 100)
		st_buf_addf(&text, "*a*a*a*a*a*a*b%zu1\n", text.len);
	dir_write(dir, "rules/.gitignore", st_buf_cstr(&text));
	char name[300] = "rules/";
	memset(name + 6, 'a', 200);
	for (int i = 0; i < 100; i++) {
		snprintf(name + 206, sizeof name - 206, "%d1", i);
		dir_write(dir, name, "x\n");
	}
}

/* Restore the files that the last call moved or deleted. */
static void mend_world(struct host *host) {
	dir_write(host->dir, ".gitignore", "*a*a*a*a*a*a*a*a*b\n**/x/**/y\n");
	if (!dir_has(host->dir, "wide/2"))
		make_wide(host);
	if (!dir_has(host->dir, "deep"))
		make_deep(host->dir);
	if (!dir_has(host->dir, "rules/.gitignore"))
		make_rules(host->dir);
}

static void change_line(struct st_buf *out, struct st_str line, const struct spec *spec, size_t n) {
	bool chosen = n % spec->stride == 0;
	if (spec->change == MISSING_LINES && chosen)
		return;
	if (spec->change == CHANGED_LINES && chosen)
		st_buf_addf(out, "%zu ", n);
	st_buf_add(out, line);
}

/* Another version of a text. */
static void change_text(struct st_buf *out, struct st_str text, const struct spec *spec) {
	st_buf_reserve(out, 2 * text.len + 64);
	if (spec->change == OTHER_TEXT) {
		struct spec swapped = *spec;
		swapped.unit = spec->other;
		swapped.other = spec->unit;
		add_unit_text(out, &swapped, text.len);
	} else if (spec->change == OTHER_ORDER) {
		size_t middle = text.len / 2;
		st_buf_add(out, st_str_slice(text, middle, text.len));
		st_buf_add(out, st_str_slice(text, 0, middle));
	} else {
		for (size_t at = 0, n = 0, next; at < text.len; at = next, n++) {
			next = st_lf_next(text, at);
			change_line(out, st_str_slice(text, at, next), spec, n);
		}
	}
	assert_false(out->failed);
}

static void write_text(const struct host *host, const struct st_buf *text) {
	dir_write_bytes(host->dir, "f.md", text->len ? text->ptr : "", text->len);
}

static void make_file(struct host *host, const struct spec *spec) {
	st_auto(st_buf) text = ST_BUF_INIT, before = ST_BUF_INIT;
	/* The refusal that comes first takes its time, too. */
	add_unit_text(&text, spec, spec->known == KNOWN_AND_ASKED ? spec->size / 16 : spec->size);
	stet_session_invalidate(host->session, "f.md");
	if (spec->known >= KNOWN_BEFORE) {
		change_text(&before, st_buf_str(&text), spec);
		write_text(host, &before);
	} else {
		write_text(host, &text);
	}
	int known = 0;
	if (spec->known == KNOWN_IN_PART)
		known = host_read_lines(host, "f.md", 1, 1 + spec->stride);
	else if (spec->known != KNOWN_NOT)
		known = stet_session_track_read(host->session, "f.md", NULL);
	(void)known;
	if (spec->known >= KNOWN_BEFORE)
		write_text(host, &text);
	/* The refusal comes once; what comes after it is merged. */
	if (spec->known == KNOWN_AND_ASKED) {
		(void)!host_edit(host, "f.md", "a", "b");
		st_buf_adds(&text, "more\n");
		write_text(host, &text);
	}
}

/* ---- the search ---- */

/* A call that does not end is not waited for. */
static const char *running;

static void give_up(int signal) {
	static const char text[] = "# a call does not end: ";
	bool said = write(STDOUT_FILENO, text, sizeof text - 1) > 0 &&
	            write(STDOUT_FILENO, running, strlen(running)) > 0;
	_exit(said && signal ? 1 : 2);
}

static void run_call(struct host *host, const struct spec *spec, struct st_str args,
                     struct meter *meter) {
	char *answer = NULL;
	mend_world(host);
	make_file(host, spec);
	running = st_tools[spec->tool]->name;
	alarm(PATIENCE_S);
	st_cancel_set(&meter->cancel);
	meter->began = meter->last = cpu_ms();
	(void)!stet_call(host->session, st_tools[spec->tool]->name, args.ptr, args.len, &answer, NULL,
	                 &host->err);
	note_gap(meter);
	st_cancel_set(NULL);
	alarm(0);
	stet_free(answer);
}

/* The best of some tries, of the longest that a call does not look; and all of its time, and how often it looks. */
static double measure(struct host *host, const struct spec *spec, struct st_str args, double *whole,
                      size_t *looks) {
	double best = 1e9;
	for (int i = 0; i < TRIES && best >= GAP_MAX; i++) {
		struct meter meter = {.cancel.cancelled = look, .goes_at = SIZE_MAX};
		run_call(host, spec, args, &meter);
		*whole = meter.last - meter.began;
		*looks = meter.looks;
		best = meter.longest < best ? meter.longest : best;
	}
	return best;
}

/* How long it goes on after its client has gone. */
static double measure_stop(struct host *host, const struct spec *spec, struct st_str args,
                           size_t goes_at) {
	double best = 1e9;
	for (int i = 0; i < TRIES && best >= GAP_MAX; i++) {
		struct meter meter = {.cancel.cancelled = look, .goes_at = goes_at};
		run_call(host, spec, args, &meter);
		double after = meter.gone > 0 ? meter.last - meter.gone : 0;
		best = after < best ? after : best;
	}
	return best;
}

static void add_unit(struct st_buf *out, size_t unit) {
	st_json_quote(out, st_str(units[unit]));
}

static void print_found(const struct spec *spec, struct st_str args, double gap, double stop) {
	st_auto(st_buf) text = ST_BUF_INIT;
	add_unit(&text, spec->unit);
	st_buf_addf(&text, ", after each %zu ", spec->every);
	add_unit(&text, spec->other);
	print_message(
		"# %.1f ms without a look, %.1f ms after one: %s on %zu bytes of %s, known "
		"%d, change %d of %zu: %.160s\n",
		gap, stop, st_tools[spec->tool]->name, spec->size, st_buf_cstr(&text), (int)spec->known,
		(int)spec->change, spec->stride, args.ptr);
}

/* The worst call of a tool so far. */
struct worst {
	struct spec spec;
	/* What is to be made worse: a call that takes long has more to be found in it. */
	double rank;
	/* The longest time without a look, or after one that said that the client has gone. */
	double time;
};

static void try_call(struct host *host, struct gen *gen, const struct spec *spec,
                     struct st_str args, struct worst *worst) {
	size_t looks = 0;
	double whole = 0;
	double gap = measure(host, spec, args, &whole, &looks);
	double stop = looks > 0 ? measure_stop(host, spec, args, gen_below(gen, looks)) : 0;
	double time = gap > stop ? gap : stop, rank = whole + 10 * time;
	if (time > worst->time) {
		worst->time = time;
		if (gen_rounds(0, 1) || time >= GAP_MAX)
			print_found(spec, args, gap, stop);
	}
	if (rank > worst->rank) {
		worst->rank = rank;
		worst->spec = *spec;
	}
	assert_true(time < GAP_MAX);
}

static void no_call_goes_on_for_long_without_a_look(void **state) {
	struct host *host = *state;
	struct gen gen = gen_new(gen_seed());
	size_t tools = tool_count(), calls = 0;
	struct worst *worst = calloc(tools, sizeof *worst);
	assert_non_null(worst);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	int64_t until = st_now_ms() + (int64_t)gen_rounds(2000, 240000);
	for (; calls < 2 * tools || st_now_ms() < until; calls++) {
		st_auto(st_buf) args = ST_BUF_INIT;
		size_t tool = calls % tools;
		bool random = worst[tool].rank == 0 || gen_one_in(&gen, 3);
		struct spec spec = random ? random_spec(&gen, tool) : neighbour(&gen, worst[tool].spec);
		add_arguments(&args, &spec);
		try_call(host, &gen, &spec, st_buf_str(&args), &worst[tool]);
	}
	print_message("# %zu calls\n", calls);
	for (size_t i = 0; i < tools; i++)
		print_message("# %5.1f ms: %s\n", worst[i].time, st_tools[i]->name);
	free(worst);
}

/* ---- what was found ---- */

/*
 * Calls that once took long; $ is a long text of the file's kind, * very many
 * of one letter, # a list of 1,000 edits.
 */
static const struct {
	const char *tool, *args;
	const char *unit, *other;
	size_t every;
	enum known known;
	enum change change;
	/* 2 if it is 0. */
	size_t stride;
	/* The file's; the largest if it is 0. */
	size_t size;
} found[] = {
	/* 374 s: edit after edit of a text in which the words are everywhere. */
	{"edit_file", "{\"path\":\"f.md\",\"edits\":#}", "ab ab ab ab ab ab\n", "\n", 1000, KNOWN_NOT,
     CHANGED_LINES},
	/* 127 s: each item of a deep tree looked for its parent by name. */
	{"directory_tree", "{}", "\n", "\n", 1, KNOWN_NOT, CHANGED_LINES},
	/* 3 s: the diff of two versions. */
	{"check_conflict", "{\"path\":\"f.md\"}", "> a\n", "}\n", 2, KNOWN_BEFORE, CHANGED_LINES},
	{"append_file", "{\"path\":\"f.md\",\"content\":\"x\"}", "}\n", "> a\n", 7, KNOWN_IN_PART,
     MISSING_LINES},
	/* Minutes: the lines that a write drops were looked for byte by byte. */
	{"write_file", "{\"path\":\"f.md\",\"content\":\"*\"}", "a", "\n", 1, KNOWN_BEFORE,
     MISSING_LINES, 1 << 16},
	/* Minutes: each mark of a comment was looked for from the start of its line. */
	{"text_inspect", "{\"filePath\":\"f.md\"}", "%%", "**_`", 3, KNOWN_NOT, CHANGED_LINES},
	{"text_inspect", "{\"filePath\":\"f.md\"}", "<a id=\"x\">\n", "\n", 1 << 19, KNOWN_NOT,
     CHANGED_LINES},
	/* A million link definitions were sorted. */
	{"text_inspect", "{\"filePath\":\"f.md\"}", "[x]: y\n", "\r", 512, KNOWN_NOT, CHANGED_LINES},
	/* A second: names of megabytes, in all spellings. */
	{"copy_file", "{\"source\":\"f.md\",\"destination\":$}", "\xc3\xbc\xe6\x96\x87 ", "ab", 8,
     KNOWN_NOT, CHANGED_LINES},
	{"search_files", "{\"pattern\":$}", "a\xff\n", "ab", 8, KNOWN_NOT, CHANGED_LINES},
	{"record_tool_result", "{\"tool\":$,\"result\":$}", "> a\n", "ab", 8, KNOWN_NOT, CHANGED_LINES},
	/* What is not there, and very long. */
	{"text_replace", "{\"filePath\":\"f.md\",\"oldText\":$,\"newText\":\"x\"}",
     "\t\tint x = 0; /* y */\r\n", "\n", 3, KNOWN_NOT, CHANGED_LINES},
	/* 0.6 s: each of 174,000 imports was looked for, though there is no such file. */
	{"write_file", "{\"path\":\"wide/1\",\"content\":\"x\"}", "@a.md\n", "\n", 1 << 19, KNOWN_NOT,
     CHANGED_LINES, 0, 1 << 20},
	/* 2 s: all rules of a large .gitignore were tried with each of many names. */
	{"directory_tree", "{\"path\":\"rules\"}", "\n", "\n", 1, KNOWN_NOT, CHANGED_LINES},
	{"search_files", "{\"path\":\"rules\",\"pattern\":\"z\"}", "\n", "\n", 1, KNOWN_NOT,
     CHANGED_LINES},
	{"read_file", "{\"path\":\"f.md\"}", "\xc3\xbc\xe6\x96\x87 ", "\n", 8, KNOWN_NOT,
     CHANGED_LINES},
};

static size_t index_of_unit(const char *unit) {
	for (size_t i = 0; i < COUNT(units); i++) {
		if (strcmp(units[i], unit) == 0)
			return i;
	}
	fail_msg("there is no unit \"%s\"", unit);
	return 0;
}

static size_t index_of_tool(const char *name) {
	for (size_t i = 0; st_tools[i]; i++) {
		if (strcmp(st_tools[i]->name, name) == 0)
			return i;
	}
	fail_msg("there is no tool %s", name);
	return 0;
}

static void add_letters(struct st_buf *out, size_t count) {
	if (!st_buf_reserve(out, count))
		return;
	memset(out->ptr + out->len, 'a', count);
	out->len += count;
}

static void fill_in(struct st_buf *out, const char *args, const struct spec *spec) {
	for (; *args; args++) {
		if (*args == '$')
			add_text(out, spec, 3, true);
		else if (*args == '#')
			add_edits(out, (EDITS_MAX - 1) * COUNT(texts) + 1);
		else if (*args == '*')
			add_letters(out, CONTENT_MAX_BYTES / 2);
		else
			st_buf_addc(out, *args);
	}
	assert_false(out->failed);
}

static void what_took_long_once_does_not_any_more(void **state) {
	struct host *host = *state;
	struct gen gen = gen_new(gen_seed());
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	for (size_t i = 0; i < COUNT(found); i++) {
		st_auto(st_buf) args = ST_BUF_INIT;
		struct worst worst = {0};
		struct spec spec = {
			.tool = index_of_tool(found[i].tool),
			.unit = index_of_unit(found[i].unit),
			.other = index_of_unit(found[i].other),
			.every = found[i].every,
			.size = found[i].size ? found[i].size : largest(),
			.known = found[i].known,
			.change = found[i].change,
			.stride = found[i].stride ? found[i].stride : 2,
		};
		fill_in(&args, found[i].args, &spec);
		try_call(host, &gen, &spec, st_buf_str(&args), &worst);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(what_took_long_once_does_not_any_more),
		host_claim(no_call_goes_on_for_long_without_a_look),
	};
	signal(SIGALRM, give_up);
	/* Meson has malloc() fill what it hands out: of 100 MB that takes longer than what is measured. */
	mallopt(M_PERTURB, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
