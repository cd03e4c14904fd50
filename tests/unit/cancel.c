/* Work that takes long stops soon after nobody waits for it any more. */
#include "base/cancel.h"
#include "fs/file/hash.h"
#include "lib/tools.h"
#include "text/patch/edits.h"
#include "text/markdown/markdown.h"
#include "text/diff/merge.h"
#include "text/hint/nearest.h"
#include "text/markdown/obsidian.h"
#include "text/patch/replace.h"
#include "text/find/search.h"
#include "text/diff/unified.h"

/* A client that is gone at the n-th question. */
struct leaver {
	struct st_cancel cancel;
	size_t patience;
};

static bool is_gone(struct st_cancel *cancel) {
	return cancel->asked >= ((struct leaver *)cancel)->patience;
}

/* A text of 13 MB in which "ab" stands everywhere. */
static struct st_str long_text(struct st_buf *buf) {
	while (buf->len < 13000000)
		st_buf_adds(buf, "ab ab ab ab ab ab ab ab ab ab ab ab\n");
	assert_false(buf->failed);
	return st_buf_str(buf);
}

typedef int work(struct st_str text, struct stet_error *err);

static int make_edits(struct st_str text, struct stet_error *err) {
	enum { EDITS = 1000 };
	st_auto(st_buf) out = ST_BUF_INIT;
	static struct st_edit edits[EDITS];
	static struct st_edited results[EDITS];
	for (size_t i = 0; i < EDITS; i++)
		edits[i] = (struct st_edit){.old_text = i % 2 ? ST_STR("cd") : ST_STR("ab"),
		                            .new_text = i % 2 ? ST_STR("ab") : ST_STR("cd"),
		                            .all = true};
	return st_edits_apply(text, edits, EDITS, 0, results, &out, NULL, err);
}

static int replace_all(struct st_str text, struct stet_error *err) {
	static struct st_replaced done;
	done = (struct st_replaced){0};
	struct st_replace request = {
		.old_text = ST_STR("ab"), .new_text = ST_STR("cd"), .occurrence = {.which = ST_ALL}};
	int code = st_replace_apply(text, &request, &done, err);
	st_replaced_release(&done);
	return code;
}

static int count_places(struct st_str text, struct stet_error *err) {
	static struct st_places places;
	return st_places_find(&places, text, ST_STR("ab"), err);
}

static int find_nearest(struct st_str text, struct stet_error *err) {
	struct st_nearest nearest;
	return st_nearest_find(&nearest, text, ST_STR("ab ab xy ab zz"), ST_STR("nothing"), err);
}

static int read_markdown(struct st_str text, struct stet_error *err) {
	struct st_markdown md = {0};
	int code = st_markdown_parse(&md, text, err);
	st_markdown_release(&md);
	return code;
}

/* Another version of a text: every third line is another one. */
static struct st_str other_version(struct st_str text) {
	static struct st_buf other = ST_BUF_INIT;
	if (other.len > 0)
		return st_buf_str(&other);
	for (size_t at = 0, n = 0, next; at < text.len; at = next, n++) {
		next = st_lf_next(text, at);
		if (n % 3 == 0)
			st_buf_addf(&other, "%zu ", n);
		st_buf_add(&other, st_str_slice(text, at, next));
	}
	assert_false(other.failed);
	return st_buf_str(&other);
}

static int compare(struct st_str text, struct stet_error *err) {
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_diff_opts opts = ST_DIFF_OPTS("a.txt");
	return st_diff_unified(text, other_version(text), &opts, &out, NULL, err);
}

static int merge(struct st_str text, struct stet_error *err) {
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_str less = st_str_slice(text, 0, text.len / 2);
	return st_merge(text, other_version(text), less, &out, &result, err);
}

static int index_lines(struct st_str text, struct stet_error *err) {
	st_auto(st_lines) lines = {0};
	return st_lines_init(&lines, text, err);
}

static int blank_comments(struct st_str text, struct stet_error *err) {
	st_auto(st_buf) out = ST_BUF_INIT, marked = ST_BUF_INIT;
	st_auto(st_lines) lines = {0};
	st_buf_add(&marked, text);
	st_buf_adds(&marked, "%%");
	assert_false(marked.failed);
	int code = st_lines_init(&lines, st_buf_str(&marked), err);
	return code < 0 ? code : st_obsidian_blank(&lines, &out, err);
}

/* Nothing to find, but much that begins like it. */
static int find_shifted(struct st_str text, struct stet_error *err) {
	st_auto(st_shifted) shifted = {0};
	return st_shifted_find(&shifted, text, ST_STR("\t ab ab ab ab\n xy\n"), ST_STR(""), err);
}

static int hash(struct st_str text, struct stet_error *err) {
	struct st_hash hash;
	return st_hash_cancellable(text, &hash, err);
}

static void whoever_goes_is_noticed_within_a_few_steps(void **state) {
	(void)state;
	static const struct {
		const char *name;
		work *run;
	} works[] = {
		{"edits", make_edits},
		{"replace", replace_all},
		{"places", count_places},
		{"nearest", find_nearest},
		{"markdown", read_markdown},
		{"diff", compare},
		{"merge", merge},
		{"lines", index_lines},
		{"comments", blank_comments},
		{"shifted", find_shifted},
		{"hash", hash},
	};
	/* Work after the text is copied or searched is reported, too. */
	enum { AFTERWARDS = 16 };
	st_auto(st_buf) buf = ST_BUF_INIT;
	struct st_str text = long_text(&buf);
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		for (size_t patience = 1; patience < 6; patience += 3) {
			struct leaver leaver = {.cancel.cancelled = is_gone, .patience = patience};
			struct stet_error err = {0};
			assert_null(st_cancel_set(&leaver.cancel));
			int code = works[i].run(text, &err);
			assert_ptr_equal(st_cancel_set(NULL), &leaver.cancel);
			if (code != STET_E_CANCELLED)
				fail_msg("%s: %d, asked %zu times", works[i].name, code, leaver.cancel.asked);
			assert_string_equal(err.message, "The call was cancelled.");
			if (leaver.cancel.asked > patience + AFTERWARDS)
				fail_msg("%s goes on: asked %zu times", works[i].name, leaver.cancel.asked);
			/* Never more than the text and another version of it between two questions. */
			assert_true(leaver.cancel.longest <= 3 * text.len);
		}
	}
}

/* A held call asks all the same, so that the server can answer a ping. */
static void what_must_not_be_left_half_done_is_not_cancelled(void **state) {
	(void)state;
	struct leaver leaver = {.cancel.cancelled = is_gone, .patience = 1};
	st_cancel_set(&leaver.cancel);
	st_cancel_hold();
	assert_int_equal(st_cancel_check_now(NULL), 0);
	st_cancel_progress(ST_CANCEL_STEP);
	assert_int_equal(st_cancel_sleep(1, NULL), 0);
	st_cancel_release();
	assert_int_equal(leaver.cancel.asked, 3);
	assert_int_equal(st_cancel_check(0, NULL), STET_E_CANCELLED);
	st_cancel_set(NULL);
}

static void without_anybody_waiting_nothing_is_cancelled(void **state) {
	(void)state;
	assert_int_equal(st_cancel_check(SIZE_MAX / 2, NULL), 0);
}

/* Two chains of 2,000 directories, made from the inside: their paths are long. */
static void make_chains(const struct dir *dir) {
	for (int chain = 0; chain < 2; chain++) {
		char name[8];
		snprintf(name, sizeof name, "c%d", chain);
		int at = dup(dir->fd);
		for (int depth = 0; depth < 2000; depth++) {
			assert_int_equal(mkdirat(at, depth ? "d" : name, 0755), 0);
			int next = openat(at, depth ? "d" : name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			assert_true(next >= 0);
			close(at);
			at = next;
		}
		close(at);
	}
}

/* The time was cubic in the depth when each item looked for its parent by name. */
static void a_deep_tree_is_shown_in_one_pass(void **state) {
	struct host *host = *state;
	make_chains(host->dir);
	call(host, "directory_tree", "{'maxDepth': 1}");
	expect_text("c0/ (1999 more below)\n");
	call(host, "directory_tree", "{}");
	expect_text("c0/\n");
}

/* How often a call asks whether its client still waits. */
static size_t questions(struct host *host, const char *tool, const char *args) {
	struct leaver patient = {.cancel.cancelled = is_gone, .patience = SIZE_MAX};
	char *answer = NULL;
	st_cancel_set(&patient.cancel);
	(void)!stet_call(host->session, tool, args, strlen(args), &answer, NULL, NULL);
	st_cancel_set(NULL);
	stet_free(answer);
	return patient.cancel.asked;
}

/* A directory of any size can come with a clone. */
static void whoever_waits_for_a_large_directory_is_asked(void **state) {
	enum { FILES = 8000 };
	struct host *host = *state;
	static const struct {
		const char *tool, *args;
	} calls[] = {
		{"list_directory", "{\"path\":\"large\"}"},
		{"list_directory_with_sizes", "{\"path\":\"large\"}"},
		/* Another spelling of the name is looked for, and leftovers are. */
		{"read_file", "{\"path\":\"large/gone\"}"},
		{"read_file", "{\"path\":\"large/g\u00f6ne\"}"},
		{"write_file", "{\"path\":\"large/new\",\"content\":\"\"}"},
	};
	for (int i = 0; i < FILES; i++) {
		char name[32];
		snprintf(name, sizeof name, "large/%d-\u00e4", i);
		dir_write(host->dir, name, "");
	}
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		size_t asked = questions(host, calls[i].tool, calls[i].args);
		if (asked < 3)
			fail_msg("%s %s: asked %zu times", calls[i].tool, calls[i].args, asked);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_goes_is_noticed_within_a_few_steps),
		cmocka_unit_test(what_must_not_be_left_half_done_is_not_cancelled),
		cmocka_unit_test(without_anybody_waiting_nothing_is_cancelled),
		host_claim(a_deep_tree_is_shown_in_one_pass),
		host_claim(whoever_waits_for_a_large_directory_is_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
