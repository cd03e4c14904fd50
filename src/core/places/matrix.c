/* The forecast for all pairs of checkouts, or for those with this one, as JSON. */
#include <stdio.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "core/places/answers.h"
#include "core/places/forecast.h"
#include "core/places/list.h"
#include "stet/places.h"

enum {
	/* All of it may take this long; pairs beyond are not compared. */
	TIME_MS = 10000,
	FILES_MAX = 100,
	OVERLAPS_MAX = 10,
	/* Of the overlapping lines of one side. */
	TEXT_MAX = 2000,
};

/* A checkout that is compared. */
struct party {
	const struct st_listed *listed;
	struct st_checkout checkout;
	struct st_root root;
	/* Why it cannot be compared; NULL if it can. */
	const char *why;
};

/* The changes of a party since a commit. */
struct known {
	size_t party;
	char commit[ST_OID_MAX + 1];
	struct st_checkout_changes changed;
	bool failed;
	char why[200];
};

struct matrix {
	const struct st_forecast_request *request;
	yyjson_mut_doc *doc;
	struct st_list list;
	struct party *parties;
	struct st_git git;
	struct known *known;
	size_t known_count, known_room;
	/* The checkouts of the pair being compared. */
	const struct st_listed *compared[2];
	/* The pair being written. */
	yyjson_mut_val *files;
	size_t left_out;
	enum st_forecast verdict;
};

static void matrix_release(struct matrix *matrix) {
	for (size_t i = 0; matrix->parties && i < matrix->list.count; i++) {
		st_checkout_release(&matrix->parties[i].checkout);
		st_root_release(&matrix->parties[i].root);
	}
	for (size_t i = 0; i < matrix->known_count; i++)
		st_changed_release(&matrix->known[i].changed);
	free(matrix->parties);
	free(matrix->known);
	st_list_release(&matrix->list);
	st_git_release(&matrix->git);
}

/* ---- the parties ---- */

static void open_party(struct party *party, const struct st_listed *listed) {
	*party = (struct party){.listed = listed, .root = ST_ROOT_INIT};
	if (!listed->near)
		party->why = "is on another machine";
	else if (st_checkout_find(listed->path, &party->checkout, NULL) != 1 ||
	         strcmp(party->checkout.top, listed->path) != 0)
		party->why = "is no checkout any more";
	else if (!*listed->head.commit)
		party->why = "has no commit that can be read";
	else if (st_root_open(&party->root, listed->path, NULL) < 0)
		party->why = "cannot be opened";
}

static int open_parties(struct matrix *matrix, struct stet_error *err) {
	matrix->parties = calloc(matrix->list.count + 1, sizeof *matrix->parties);
	if (!matrix->parties)
		return st_fail_nomem(err);
	for (size_t i = 0; i < matrix->list.count; i++)
		open_party(&matrix->parties[i], &matrix->list.items[i]);
	return 0;
}

/* Give git the objects of all checkouts whose ids are as long as the first one's. */
static int open_git(struct matrix *matrix, struct stet_error *err) {
	st_autofree const struct st_checkout **checkouts =
		calloc(matrix->list.count + 1, sizeof(struct st_checkout *));
	size_t count = 0, len = 0;
	if (!checkouts)
		return st_fail_nomem(err);
	for (size_t i = 0; i < matrix->list.count; i++) {
		struct party *party = &matrix->parties[i];
		size_t own = strlen(party->listed->head.commit);
		if (party->why)
			continue;
		len = len ? len : own;
		if (own != len)
			party->why = "has other object ids";
		else
			checkouts[count++] = &party->checkout;
	}
	return count ? st_git_open(&matrix->git, checkouts, count, len == ST_OID_MAX,
	                           st_now_ms() + TIME_MS, err)
	             : 0;
}

/* ---- the changes of the parties ---- */

static struct known *find_known(struct matrix *matrix, size_t party, const char *commit) {
	for (size_t i = 0; i < matrix->known_count; i++) {
		struct known *known = &matrix->known[i];
		if (known->party == party && strcmp(known->commit, commit) == 0)
			return known;
	}
	return NULL;
}

/* Read what a party changed, once. The pairs of a matrix need at most two more at a time. */
static int know_changes(struct matrix *matrix, size_t party, const char *commit,
                        struct stet_error *err) {
	struct stet_error why = {0};
	if (find_known(matrix, party, commit))
		return 0;
	if (matrix->known_count == matrix->known_room) {
		size_t room = matrix->known_room ? 2 * matrix->known_room : 16;
		struct known *more = reallocarray(matrix->known, room, sizeof *more);
		if (!more)
			return st_fail_nomem(err);
		matrix->known = more;
		matrix->known_room = room;
	}
	struct known *known = &matrix->known[matrix->known_count++];
	*known = (struct known){.party = party};
	snprintf(known->commit, sizeof known->commit, "%s", commit);
	int code = st_changed_read(&matrix->git, &matrix->parties[party].checkout, commit,
	                           &known->changed, &why);
	known->failed = code < 0;
	if (known->failed)
		snprintf(known->why, sizeof known->why, "%.190s", why.message);
	return code == STET_E_NOMEM ? st_fail_nomem(err) : 0;
}

/* Find the commit that two parties have in common. Returns 1, 0 if there is none, or a code. */
static int find_base(struct matrix *matrix, const char *a, const char *b, char base[ST_OID_MAX + 1],
                     struct stet_error *err) {
	const char *const argv[] = {"merge-base", a, b, NULL};
	st_auto(st_buf) out = ST_BUF_INIT;
	if (strcmp(a, b) == 0) {
		snprintf(base, ST_OID_MAX + 1, "%s", a);
		return 1;
	}
	int status = st_git_run(&matrix->git, NULL, argv, &out, err);
	struct st_str oid = st_str_trim(st_buf_str(&out));
	if (status != 0 || oid.len != strlen(a))
		return status < 0 ? status : 0;
	snprintf(base, ST_OID_MAX + 1, "%.*s", (int)oid.len, oid.ptr);
	return 1;
}

/* ---- writing ---- */

static const char *const verdicts[] = {"same", "merges", "overlaps", "unknown"};

/* Lines counted from 1, and their text, cut to its bounds. */
static void add_lines(struct matrix *matrix, yyjson_mut_val *overlap, const char *key,
                      struct st_str text, const struct st_merge_lines *lines) {
	yyjson_mut_val *object = st_json_add_object(matrix->doc, overlap, key);
	st_json_add_size(matrix->doc, object, "start", lines->start + 1);
	st_json_add_size(matrix->doc, object, "count", lines->count);
	st_auto(st_lines) all = {0};
	if (st_lines_init_lf(&all, text, NULL) < 0)
		return;
	struct st_str part = st_lines_range(&all, lines->start + 1, lines->start + lines->count);
	bool cut = part.len > TEXT_MAX;
	if (cut)
		part.len = st_utf8_cut(part, TEXT_MAX);
	st_json_add_text(matrix->doc, object, "text", part);
	if (cut)
		st_json_add_true(matrix->doc, object, "cut");
}

static void add_overlaps(struct matrix *matrix, yyjson_mut_val *object,
                         const struct st_file_forecast *file) {
	const struct st_merge_result *merge = file->merge;
	yyjson_mut_val *list = st_json_add_array(matrix->doc, object, "overlaps");
	size_t count = merge ? merge->overlap_count : 0;
	for (size_t i = 0; i < count && i < OVERLAPS_MAX; i++) {
		yyjson_mut_val *overlap = yyjson_mut_obj(matrix->doc);
		add_lines(matrix, overlap, "base", file->base, &merge->overlaps[i].base);
		add_lines(matrix, overlap, "a", file->sides[0], &merge->overlaps[i].agent);
		add_lines(matrix, overlap, "b", file->sides[1], &merge->overlaps[i].disk);
		st_json_push(matrix->doc, list, overlap);
	}
	if (count > OVERLAPS_MAX)
		st_json_add_size(matrix->doc, object, "overlapsLeftOut", count - OVERLAPS_MAX);
}

/* Whether the caller may know of a file under all its names, in both checkouts. */
static bool is_within_reach(const struct matrix *matrix, const struct st_file_forecast *file) {
	const char *const names[] = {file->path, file->renamed[0], file->renamed[1]};
	bool has = true;
	for (size_t i = 0; i < 6 && has; i++) {
		if (names[i / 2])
			has = st_reach_has(matrix->request->reach, st_str(matrix->compared[i % 2]->path),
			                   st_str(names[i / 2]));
	}
	return has;
}

static int add_file(void *data, const struct st_file_forecast *file, struct stet_error *err) {
	struct matrix *matrix = data;
	if (!is_within_reach(matrix, file))
		return st_cancel_check_now(err);
	if (file->verdict > matrix->verdict)
		matrix->verdict = file->verdict;
	if (yyjson_mut_arr_size(matrix->files) == FILES_MAX) {
		matrix->left_out++;
		return st_cancel_check_now(err);
	}
	yyjson_mut_val *object = yyjson_mut_obj(matrix->doc);
	st_json_add_text(matrix->doc, object, "path", st_str(file->path));
	if (file->renamed[0])
		st_json_add_text(matrix->doc, object, "renamedInA", st_str(file->renamed[0]));
	if (file->renamed[1])
		st_json_add_text(matrix->doc, object, "renamedInB", st_str(file->renamed[1]));
	st_json_add_text(matrix->doc, object, "verdict", st_str(verdicts[file->verdict]));
	if (file->why)
		st_json_add_text(matrix->doc, object, "why", st_str(file->why));
	if (file->verdict == ST_FORECAST_OVERLAPS)
		add_overlaps(matrix, object, file);
	st_json_push(matrix->doc, matrix->files, object);
	return st_cancel_check_now(err);
}

static int add_unknown(struct matrix *matrix, yyjson_mut_val *pair, const char *why) {
	st_json_add_text(matrix->doc, pair, "verdict", ST_STR("unknown"));
	st_json_add_text(matrix->doc, pair, "why", st_str(why));
	return 0;
}

/* ---- pairs ---- */

static int compare_changes(struct matrix *matrix, yyjson_mut_val *pair, const size_t parties[2],
                           const char *base, struct stet_error *err) {
	struct st_forecast_side sides[2];
	for (int i = 0; i < 2; i++) {
		int code = know_changes(matrix, parties[i], base, err);
		if (code < 0)
			return code;
	}
	for (int i = 0; i < 2; i++) {
		struct known *known = find_known(matrix, parties[i], base);
		if (known->failed)
			return add_unknown(matrix, pair, known->why);
		matrix->compared[i] = matrix->parties[parties[i]].listed;
		sides[i] = (struct st_forecast_side){&matrix->parties[parties[i]].root, &known->changed};
	}
	matrix->files = st_json_add_array(matrix->doc, pair, "files");
	matrix->left_out = 0;
	matrix->verdict = ST_FORECAST_MERGES;
	struct stet_error why = {0};
	int code = st_forecast_pair(&matrix->git, sides, matrix->request->path, add_file, matrix, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code < 0)
		return add_unknown(matrix, pair, why.message);
	st_json_add_text(matrix->doc, pair, "verdict", st_str(verdicts[matrix->verdict]));
	st_json_add_size(matrix->doc, pair, "filesLeftOut", matrix->left_out);
	return 0;
}

static int compare_parties(struct matrix *matrix, yyjson_mut_val *pair, const size_t parties[2],
                           struct stet_error *err) {
	char base[ST_OID_MAX + 1];
	struct stet_error why = {0};
	for (int i = 0; i < 2; i++) {
		const struct party *party = &matrix->parties[parties[i]];
		if (!party->why)
			continue;
		st_json_add(matrix->doc, pair, "of", yyjson_mut_sint(matrix->doc, party->listed->id));
		return add_unknown(matrix, pair, party->why);
	}
	if (st_now_ms() >= matrix->git.deadline_ms)
		return add_unknown(matrix, pair, "The time was up before it was compared.");
	int code = find_base(matrix, matrix->parties[parties[0]].listed->head.commit,
	                     matrix->parties[parties[1]].listed->head.commit, base, &why);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code <= 0)
		return add_unknown(matrix, pair,
		                   code < 0 ? why.message : "They have no commit in common here.");
	st_json_add_text(matrix->doc, pair, "base", st_str(base));
	return compare_changes(matrix, pair, parties, base, err);
}

static int add_pair(struct matrix *matrix, yyjson_mut_val *pairs, size_t a, size_t b,
                    struct stet_error *err) {
	const size_t parties[2] = {a, b};
	yyjson_mut_val *pair = yyjson_mut_obj(matrix->doc);
	st_json_add(matrix->doc, pair, "a", yyjson_mut_sint(matrix->doc, matrix->list.items[a].id));
	st_json_add(matrix->doc, pair, "b", yyjson_mut_sint(matrix->doc, matrix->list.items[b].id));
	st_json_push(matrix->doc, pairs, pair);
	int code = compare_parties(matrix, pair, parties, err);
	return code < 0 ? code : st_cancel_check_now(err);
}

static int add_pairs(struct matrix *matrix, yyjson_mut_val *root, struct stet_error *err) {
	yyjson_mut_val *pairs = st_json_add_array(matrix->doc, root, "pairs");
	int code = 0;
	for (size_t a = 0; a < matrix->list.count && code == 0; a++) {
		bool here = matrix->list.items[a].here;
		for (size_t b = 0; b < matrix->list.count && code == 0; b++) {
			if (a != b && (here || (matrix->request->all && a < b && !matrix->list.items[b].here)))
				code = add_pair(matrix, pairs, a, b, err);
		}
	}
	return code;
}

/* ---- the list ---- */

/* This checkout takes part even if nobody was active in it. */
static int add_here(struct st_places *places, struct st_list *list, struct stet_error *err) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].here)
			return 0;
	}
	struct st_listed here = {.near = true, .here = true, .path = strdup(places->checkout.top)};
	if (!here.path || !st_list_add(list, &here)) {
		free(here.path);
		return st_fail_nomem(err);
	}
	st_checkout_head(&places->checkout, &list->items[list->count - 1].head);
	return 0;
}

/* Leave out the checkouts that the caller may not know of. */
static void drop_hidden(struct st_list *list, const struct st_reach *reach) {
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		struct st_listed *listed = &list->items[i];
		if (st_reach_meets(reach, st_str(listed->path), listed->near))
			list->items[count++] = *listed;
		else
			free(listed->path);
	}
	list->count = count;
}

static int read_list(struct st_places *places, struct matrix *matrix, yyjson_mut_val *root,
                     struct stet_error *err) {
	st_places_flush_own(places);
	int code = st_places_lock_to_list(places, err);
	if (code < 0)
		return code;
	if (code == 1) {
		code = st_list_read(places, &matrix->list, err);
		if (code < 0 && st_places_replace_damaged(places)) {
			st_list_release(&matrix->list);
			code = 0;
		}
		st_places_unlock(places);
	}
	st_add_repository(places, matrix->request->reach, matrix->doc, root);
	if (code == 0 && places->checkout.repository)
		code = add_here(places, &matrix->list, err);
	drop_hidden(&matrix->list, matrix->request->reach);
	return code;
}

static void add_places(struct matrix *matrix, yyjson_mut_val *root) {
	yyjson_mut_val *list = st_json_add_array(matrix->doc, root, "places");
	for (size_t i = 0; i < matrix->list.count; i++) {
		yyjson_mut_val *place = yyjson_mut_obj(matrix->doc);
		st_listed_json(&matrix->list.items[i], matrix->doc, place);
		st_json_push(matrix->doc, list, place);
	}
}

int st_forecast_fill(struct st_places *places, const struct st_forecast_request *request,
                     yyjson_mut_doc *doc, yyjson_mut_val *root, struct stet_error *err) {
	struct matrix matrix = {.request = request, .doc = doc, .git = ST_GIT_INIT};
	int code = read_list(places, &matrix, root, err);
	if (code == 0)
		code = open_parties(&matrix, err);
	if (code == 0) {
		add_places(&matrix, root);
		code = open_git(&matrix, err);
	}
	if (code == 0)
		code = add_pairs(&matrix, root, err);
	matrix_release(&matrix);
	return code;
}

static int fill_forecast(struct st_places *places, const void *request, yyjson_mut_doc *doc,
                         yyjson_mut_val *root, struct stet_error *err) {
	return st_forecast_fill(places, request, doc, root, err);
}

int stet_forecast(struct stet_workspace *ws, const char *path, int all, char **out, size_t *out_len,
                  struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	st_auto(st_buf) whole = ST_BUF_INIT;
	int code = path ? st_forecast_path(ws, path, &whole, err) : 0;
	const struct st_forecast_request request = {.path = path ? whole.ptr : NULL, .all = all != 0};
	return code < 0 ? code : st_places_answer(ws, fill_forecast, &request, out, out_len, err);
}

int st_forecast_path(struct stet_workspace *ws, const char *path, struct st_buf *whole,
                     struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *relative = NULL;
	int code = st_root_relative_path(&ws->root, path, &place, &relative, err);
	if (code < 0)
		return code;
	st_places_prefix(ws->places, whole);
	st_buf_adds(whole, relative);
	return whole->failed ? st_fail_nomem(err) : 0;
}
