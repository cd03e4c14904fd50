/* Work that takes long stops soon after nobody waits for it any more. */
#include "base/cancel.h"
#include "lib/tools.h"
#include "text/edits.h"
#include "text/markdown.h"
#include "text/nearest.h"
#include "text/replace.h"
#include "text/search.h"

/* Somebody who goes at the n-th question. */
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
	struct st_replace request = {.old_text = ST_STR("ab"), .new_text = ST_STR("cd"),
	                             .occurrence = {.which = ST_ALL}};
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

static void whoever_goes_is_noticed_within_a_few_steps(void **state) {
	(void)state;
	static const struct {
		const char *name;
		work *run;
	} works[] = {
		{"edits", make_edits},       {"replace", replace_all},    {"places", count_places},
		{"nearest", find_nearest},   {"markdown", read_markdown},
	};
	st_auto(st_buf) buf = ST_BUF_INIT;
	struct st_str text = long_text(&buf);
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		for (size_t patience = 1; patience < 8; patience += 3) {
			struct leaver leaver = {.cancel.cancelled = is_gone, .patience = patience};
			struct stet_error err = {0};
			assert_null(st_cancel_set(&leaver.cancel));
			int code = works[i].run(text, &err);
			assert_ptr_equal(st_cancel_set(NULL), &leaver.cancel);
			if (code != STET_E_CANCELLED)
				fail_msg("%s: %d, asked %zu times", works[i].name, code, leaver.cancel.asked);
			assert_string_equal(err.message, "The call was cancelled.");
			assert_int_equal(leaver.cancel.asked, patience);
			/* Never more than the text itself, searched and copied, between two questions. */
			assert_true(leaver.cancel.longest <= 2 * text.len + ST_CANCEL_STEP);
		}
	}
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
	struct desk *desk = *state;
	make_chains(desk->dir);
	call(desk, "directory_tree", "{'maxDepth': 1}");
	expect_text("c0/ (1999 more below)\n");
	call(desk, "directory_tree", "{}");
	expect_text("c0/\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_goes_is_noticed_within_a_few_steps),
		cmocka_unit_test(without_anybody_waiting_nothing_is_cancelled),
		desk_claim(a_deep_tree_is_shown_in_one_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
