/*
 * A search for the slowest call: random tools on random large files, and
 * again and again the neighbours of the worst one. Whatever it finds, not
 * much is done between two looks for a cancellation.
 *
 * It counts the time of this thread on a processor, so that a busy machine
 * makes no difference; what waits for a disk cannot be cancelled anyway.
 */
#include <time.h>

#include "base/cancel.h"
#include "base/json.h"
#include "lib/gen.h"
#include "lib/session.h"
#include "stet/tools.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SLOWER = 20 };
#else
enum { SLOWER = 1 };
#endif

/*
 * The most that is done between two looks, in milliseconds; on an idle machine
 * inspecting mostly stays below 100. Reading, hashing, committing and diffs do
 * not look: their work is bounded, but longer.
 */
enum { INSPECT_MAX = 600 * SLOWER, CHANGE_MAX = 10000 * SLOWER };

/* ---- the meter ---- */

struct meter {
	struct st_cancel cancel;
	double last;
	double longest;
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

/* Nobody goes: the call is to be measured to its end. */
static bool stays(struct st_cancel *cancel) {
	note_gap((struct meter *)cancel);
	return false;
}

/* ---- calls ---- */

/* What a file is made of, over and over. */
static const char *const units[] = {
	"ab ab ab ab ab ab\n", "a", "ab", "[", "- ", "> a\n", "# h [a](b) *x* `c`\n\n- i\n  - j\n",
	"\n", "\t\tint x = 0; /* y */\r\n", "\xc3\xbc\xe6\x96\x87 ", "0123456789abcdef", "**_`",
	"a\xff\n", "<a id=\"x\">\n", "key: value\n---\n", "\r", "| a | b |\n| - | - |\n",
};

static const char *const olds[] = {
	"a", "ab", "b ab", "\n", "ab ab zz ab ab ab ab xx ab", "int x = 1;", "h", "#", "0123456789abcdeg",
	"not there at all, whatever the text may be, and rather long besides", "i\n  - k\n",
};

static const char *const queries[] = {"a", "(a+)+$", "([0-9a-f]*)*z", "^.*b.*$", "zzz", "\\bab\\b"};

/* One call, as numbers that can be changed a little. */
struct spec {
	size_t tool, unit, size, old, edits, query;
};

enum { TOOLS = 8, SIZE_MAX_BYTES = 8 << 20 };

static bool inspects(const struct spec *spec) {
	return spec->tool == 2 || spec->tool == 3;
}

static struct spec random_spec(struct gen *gen) {
	return (struct spec){
		.tool = gen_below(gen, TOOLS),
		.unit = gen_below(gen, COUNT(units)),
		.size = SIZE_MAX_BYTES >> gen_below(gen, 4),
		.old = gen_below(gen, COUNT(olds)),
		.edits = 1 + gen_below(gen, 20),
		.query = gen_below(gen, COUNT(queries)),
	};
}

/* The same call but for one number. */
static struct spec neighbour(struct gen *gen, struct spec spec) {
	struct spec other = random_spec(gen);
	switch (gen_below(gen, 6)) {
	case 0:
		spec.tool = other.tool;
		break;
	case 1:
		spec.unit = other.unit;
		break;
	case 2:
		spec.size = other.size;
		break;
	case 3:
		spec.old = other.old;
		break;
	case 4:
		spec.edits = other.edits;
		break;
	default:
		spec.query = other.query;
	}
	return spec;
}

static void add_json(struct st_buf *out, const char *text) {
	st_json_quote(out, st_str(text));
}

static void add_edits(struct st_buf *args, const struct spec *spec) {
	st_buf_adds(args, "{\"path\":\"f.md\",\"edits\":[");
	for (size_t i = 0; i < spec->edits; i++) {
		st_buf_adds(args, i ? ",{\"oldText\":" : "{\"oldText\":");
		add_json(args, i % 2 ? "QQ" : olds[spec->old]);
		st_buf_adds(args, ",\"newText\":");
		add_json(args, i % 2 ? olds[spec->old] : "QQ");
		st_buf_adds(args, ",\"replaceAll\":true}");
	}
	st_buf_adds(args, "]}");
}

static const char *make_call(const struct spec *spec, struct st_buf *args) {
	static const char *const tools[TOOLS] = {
		"edit_file",    "text_replace", "text_inspect", "text_inspect",
		"text_patch",   "read_file",    "write_file",   "check_conflict",
	};
	switch (spec->tool) {
	case 0:
		add_edits(args, spec);
		break;
	case 1:
		st_buf_adds(args, "{\"filePath\":\"f.md\",\"newText\":\"Q\",\"occurrence\":\"all\",\"oldText\":");
		add_json(args, olds[spec->old]);
		st_buf_addc(args, '}');
		break;
	case 2:
		st_buf_adds(args, "{\"filePath\":\"f.md\"}");
		break;
	case 3:
		st_buf_adds(args, "{\"filePath\":\"f.md\",\"mode\":\"regex\",\"query\":");
		add_json(args, queries[spec->query]);
		st_buf_addc(args, '}');
		break;
	case 4:
		st_buf_adds(args, "{\"filePath\":\"f.md\",\"operation\":\"delete\",\"target\":{\"heading\":"
		                  "{\"text\":\"h\"}}}");
		break;
	default:
		st_buf_adds(args, "{\"path\":\"f.md\",\"content\":\"x\"}");
	}
	return tools[spec->tool];
}

static void make_file(struct desk *desk, const struct spec *spec) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_reserve(&text, spec->size + 64);
	while (text.len < spec->size)
		st_buf_adds(&text, units[spec->unit]);
	assert_false(text.failed);
	dir_write_bytes(desk->dir, "f.md", text.ptr, text.len);
}

/* The longest that a call does not look for a cancellation. */
static double measure(struct desk *desk, const struct spec *spec) {
	st_auto(st_buf) args = ST_BUF_INIT;
	char *answer = NULL;
	make_file(desk, spec);
	const char *tool = make_call(spec, &args);
	struct meter meter = {.cancel.cancelled = stays};
	st_cancel_set(&meter.cancel);
	meter.last = cpu_ms();
	(void)!stet_call(desk->session, tool, args.ptr, args.len, &answer, NULL, &desk->err);
	note_gap(&meter);
	st_cancel_set(NULL);
	stet_free(answer);
	return meter.longest;
}

/* What earlier searches found: much structure, lone CRs, bytes that are not UTF-8. */
static const struct spec found[] = {
	{.tool = 2, .unit = 6, .size = SIZE_MAX_BYTES, .edits = 1},
	{.tool = 2, .unit = 15, .size = SIZE_MAX_BYTES, .edits = 1},
	{.tool = 2, .unit = 12, .size = SIZE_MAX_BYTES, .edits = 1},
};

static void no_call_goes_on_for_long_without_a_look(void **state) {
	struct desk *desk = *state;
	struct gen gen = gen_new(gen_seed());
	/* Of calls that change a file, and of those that inspect one. */
	struct spec worst[2] = {random_spec(&gen), random_spec(&gen)};
	double longest[2] = {0};
	size_t rounds = gen_rounds(16, 2000);
	for (size_t i = 0; i < rounds; i++) {
		struct spec spec = i % 2 ? neighbour(&gen, worst[i / 2 % 2]) : random_spec(&gen);
		if (i < COUNT(found))
			spec = found[i];
		bool inspected = inspects(&spec);
		double gap = measure(desk, &spec);
		if (gap <= longest[inspected])
			continue;
		longest[inspected] = gap;
		worst[inspected] = spec;
		st_auto(st_buf) args = ST_BUF_INIT;
		const char *tool = make_call(&spec, &args);
		print_message("# %.0f ms: %s on %zu bytes of \"%.10s\": %.80s\n", gap, tool, spec.size,
		              units[spec.unit], st_buf_cstr(&args));
		assert_true(gap < (inspects(&spec) ? INSPECT_MAX : CHANGE_MAX));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		desk_claim(no_call_goes_on_for_long_without_a_look),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
