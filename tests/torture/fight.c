#include "torture/fight.h"

#include <dirent.h>

/* The other process may have to wait long for its turn, with the file open. */
#define PATIENCE_NS ((int64_t)60 * 1000000000)

/* ---- what answers and notices say ---- */

/* About the write that was answered, not about another process's. */
static bool is_about_itself(const char *notice) {
	return strstr(notice, "below the mount") || strstr(notice, "(hard links)") ||
	       strstr(notice, "changed again by another process");
}

void fight_hear(struct fight *fight, const char *notice) {
	const char *at = strstr(notice, ".stet/rescued/");
	if (strstr(notice, "below the mount"))
		fight->told = true;
	if (is_about_itself(notice))
		return;
	st_auto(st_buf) copy = ST_BUF_INIT;
	char path[1024];
	if (!at) {
		printf("# notice: %s\n", notice);
		fight->score.unkept++;
		return;
	}
	snprintf(path, sizeof path, "%s/.stet/rescued/%.*s", fight->dir->path,
	         (int)strcspn(at + 14, " .;"), at + 14);
	if (!file_load(path, &copy)) {
		printf("# not kept: %s\n", notice);
		fight->score.unkept++;
		return;
	}
	fight->score.kept++;
	page_mark_records(st_buf_str(&copy), fight->kept, fight->races + 1);
	unlink(path);
}

static void take_answer(struct fight *fight, struct stet_answer *answer) {
	if (!answer)
		return;
	const char *way = stet_answer_commit(answer);
	fight->score.exchanged += way && strcmp(way, "exchanged") == 0;
	fight->score.in_place += way && strcmp(way, "in-place") == 0;
	fight->score.verified += way && strcmp(way, "verified") == 0;
	fight->told = false;
	for (size_t i = 0; stet_answer_notice(answer, i); i++)
		fight_hear(fight, stet_answer_notice(answer, i));
	stet_answer_free(answer);
}

/* ---- the writers ---- */

static bool read_page(struct fight *fight) {
	struct stet_answer *answer = NULL;
	struct page page;
	size_t len;
	if (stet_session_read(fight->session, "page", 0, 0, &answer, NULL) < 0)
		return false;
	const char *content = stet_answer_content(answer, &len);
	st_buf_clear(&fight->text);
	if (content)
		st_buf_add(&fight->text, st_strn(content, len));
	bool whole = page_parse(st_buf_str(&fight->text), &page);
	if (whole)
		memcpy(fight->line, page_line(st_buf_str(&fight->text)).ptr, PAGE_LINE_LEN);
	take_answer(fight, answer);
	return whole;
}

static int try_edit(struct fight *fight, unsigned number) {
	char next[PAGE_LINE_LEN + 1];
	struct stet_answer *answer = NULL;
	page_next_line(st_str(fight->line), number, next);
	int code = stet_session_edit(fight->session, "page", fight->line, PAGE_LINE_LEN, next,
	                             PAGE_LINE_LEN, NULL, &answer, NULL);
	take_answer(fight, answer);
	if (code == 0)
		memcpy(fight->line, next, sizeof next);
	/* The line is another one, since a hostile process put an old page there. */
	else if (code == STET_E_NO_MATCH)
		(void)read_page(fight);
	return code;
}

static int try_write(struct fight *fight, unsigned number) {
	if (!read_page(fight))
		return STET_E_BUSY;
	struct stet_answer *answer = NULL;
	page_rewrite(&fight->text, number);
	int code = stet_session_write(fight->session, "page", fight->text.ptr, fight->text.len, NULL,
	                              &answer, NULL);
	take_answer(fight, answer);
	return code;
}

/* Write as other tools do: read, change, write, without a check. */
static int try_naive(struct fight *fight, unsigned number) {
	struct page page;
	char temp[600];
	if (!file_load(fight->path, &fight->text) || !page_parse(st_buf_str(&fight->text), &page))
		return STET_E_BUSY;
	page_rewrite(&fight->text, number);
	snprintf(temp, sizeof temp, "%s.naive", fight->path);
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	write_all(fd, st_buf_str(&fight->text));
	close(fd);
	assert_int_equal(rename(temp, fight->path), 0);
	return 0;
}

const struct writer writer_edits = {"edit", try_edit};
const struct writer writer_writes = {"write", try_write};
const struct writer writer_naive = {"naive", try_naive};

/* ---- the score ---- */

bool in_full(void) {
	const char *value = getenv("STET_TORTURE");
	return value && strcmp(value, "1") == 0;
}

void fight_count(struct fight *fight, int code) {
	struct score *score = &fight->score;
	score->conflicts += code == STET_E_CONFLICT;
	score->busy += code == STET_E_BUSY;
	score->other += code != STET_E_CONFLICT && code != STET_E_BUSY;
}

void fight_acked(struct fight *fight, unsigned number) {
	fight->score.acked++;
	if (!fight->told)
		fight->last_untold = number;
}

bool fight_until_acked(struct fight *fight, unsigned number, int64_t *began_ns) {
	int64_t until_ns = now_ns() + PATIENCE_NS;
	while ((*began_ns = now_ns()) < until_ns) {
		int code = fight->writer->try(fight, number);
		if (code == 0) {
			fight_acked(fight, number);
			return true;
		}
		fight_count(fight, code);
		nap_ns(random_below(100000));
	}
	fight->score.gave_up++;
	return false;
}

void fight_judge(struct fight *fight, unsigned number, bool acked, bool overlapped) {
	struct page page;
	assert_true(file_load(fight->path, &fight->text));
	page_mark_records(st_buf_str(&fight->text), fight->arrived, fight->races + 1);
	if (!page_parse(st_buf_str(&fight->text), &page))
		fight->score.torn++;
	else if (acked && page.number != number && !(fight->kind->rewrites && overlapped))
		fight->score.lost_edits++;
}

static void count_lost(struct fight *fight) {
	bool *there = calloc(fight->races + 1, sizeof *there);
	assert_true(file_load(fight->path, &fight->text));
	page_mark_records(st_buf_str(&fight->text), there, fight->races + 1);
	for (unsigned record = 1; record <= fight->races; record++) {
		bool arrived = fight->kind->appends ? there[record] : fight->arrived[record];
		bool lost = !arrived && !fight->kept[record];
		fight->score.lost += lost;
		fight->score.silent += lost && record <= fight->last_untold;
	}
	free(there);
}

void assert_no_leftover(const struct dir *dir) {
	DIR *stream = opendir(dir->path);
	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (strncmp(entry->d_name, ".stet-", 6) == 0)
			fail_msg("left over: %s", entry->d_name);
	}
	closedir(stream);
}

void fight_print_head(void) {
	printf("# %-8s %-5s %7s %5s %5s %5s %5s %5s %5s %5s %5s %5s %5s %5s %5s\n", "hostile", "stet",
	       "size", "races", "acked", "confl", "busy", "other", "exch", "verif", "place", "kept",
	       "lost", "untold", "edits");
}

static void print_score(const struct fight *fight) {
	const struct score *score = &fight->score;
	printf("# %-8s %-5s %7zu %5u %5u %5u %5u %5u %5u %5u %5u %5u %5u %5u %5u%s\n",
	       fight->kind->name, fight->writer->name, fight->size, fight->races, score->acked,
	       score->conflicts, score->busy, score->other, score->exchanged, score->verified,
	       score->in_place, score->kept, score->lost, score->silent, score->lost_edits,
	       fight->durable ? " synced" : "");
	fflush(stdout);
}

/* ---- beginning and end ---- */

/* Give the page its second name, if it has none: a rename over it took it away. */
static void link_page(struct fight *fight) {
	struct stat st;
	assert_int_equal(stat(fight->path, &st), 0);
	if (!fight->linked || st.st_nlink > 1)
		return;
	unlink(dir_at(fight->dir, "link"));
	assert_int_equal(linkat(fight->dir->fd, "page", fight->dir->fd, "link", 0), 0);
}

void fight_ready(struct fight *fight, unsigned record) {
	link_page(fight);
	assert_true(read_page(fight));
	hostile_ready(&fight->hostile, record);
}

void fight_begin(struct fight *fight, const struct dir *dir) {
	fight->dir = dir;
	fight->arrived = calloc(fight->races + 1, sizeof *fight->arrived);
	fight->kept = calloc(fight->races + 1, sizeof *fight->kept);
	fight->typical_ns = 300000;
	snprintf(fight->path, sizeof fight->path, "%s", dir_at(dir, "page"));

	page_make(&fight->text, fight->size, 0);
	unlink(fight->path);
	dir_write_bytes(dir, "page", fight->text.ptr, fight->text.len);
	hostile_start(&fight->hostile, fight->kind, fight->path);

	const char *root = fight->seen_at ? fight->seen_at : dir->path;
	assert_int_equal(stet_workspace_open(root, &fight->ws, NULL), 0);
	assert_int_equal(stet_workspace_set(fight->ws, STET_OPTION_DURABLE, fight->durable, NULL), 0);
	assert_int_equal(stet_session_open(fight->ws, NULL, &fight->session, NULL), 0);
}

void fight_settle(struct fight *fight) {
	stet_workspace_drain(fight->ws, 0);
	for (char *notice; (notice = stet_workspace_notice(fight->ws)); stet_free(notice))
		fight_hear(fight, notice);
}

void fight_end(struct fight *fight) {
	assert_true(hostile_stop(&fight->hostile));
	fight_settle(fight);
	stet_session_close(fight->session);
	stet_workspace_close(fight->ws);
	count_lost(fight);
	print_score(fight);
	assert_no_leftover(fight->dir);
	st_buf_release(&fight->text);
	free(fight->arrived);
	free(fight->kept);
}

bool fight_is_honest(const struct fight *fight) {
	const struct score *score = &fight->score;
	return score->silent == 0 && score->torn == 0 && score->gave_up == 0 && score->unkept == 0;
}

bool fight_is_clean(const struct fight *fight) {
	const struct score *score = &fight->score;
	return score->lost == 0 && score->lost_edits == 0 && score->torn == 0 && score->gave_up == 0 &&
	       score->unkept == 0;
}

int memory_setup(void **state) {
	const char *before = getenv("TMPDIR");
	st_autofree char *saved = before ? strdup(before) : NULL;
	setenv("TMPDIR", "/dev/shm", 1);
	int code = dir_setup(state);
	if (saved)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	return code;
}
