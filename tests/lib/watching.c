#include "lib/watching.h"

#include <poll.h>

#include "base/clock.h"
#include "core/watch/watcher.h"
#include "fs/tree/walk.h"

/* Longer than any machine should need, however busy it is. */
enum { PATIENCE_MS = 120000 };

struct known {
	struct known *next;
	/* The file was found on the disk. */
	bool found;
	char path[];
};

static struct known **place_of(struct watching *watching, const char *path) {
	size_t hash = 5381;
	for (const char *at = path; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	struct known **place = &watching->known[hash % 4096];
	while (*place && strcmp((*place)->path, path) != 0)
		place = &(*place)->next;
	return place;
}

static void learn(struct watching *watching, const char *path) {
	struct known **place = place_of(watching, path);
	assert_null(*place);
	/* A test may let this allocation fail. */
	for (int i = 0; i < 2 && !*place; i++)
		*place = malloc(sizeof **place + strlen(path) + 1);
	assert_non_null(*place);
	**place = (struct known){0};
	memcpy((*place)->path, path, strlen(path) + 1);
}

static void unlearn(struct known **place) {
	struct known *known = *place;
	*place = known->next;
	free(known);
}

static void on_change(void *data, const char *path, const char *event) {
	struct watching *watching = data;
	struct known **place = place_of(watching, path);
	bool add = strcmp(event, "add") == 0;
	st_buf_addf(&watching->log, "%s %s\n", event, path);
	watching->count++;
	if (watching->partial)
		return;
	if (add == (*place != NULL)) {
		print_message("# %s of %s makes no sense\n", event, path);
		watching->nonsense++;
	} else if (add) {
		learn(watching, path);
	} else if (strcmp(event, "unlink") == 0) {
		unlearn(place);
	}
}

void watching_new(struct watching *watching, const struct dir *dir) {
	*watching = (struct watching){.dir = dir};
	assert_int_equal(
		stet_watcher_new(dir->path, on_change, watching, &watching->watcher, &watching->err), 0);
}

void watching_set(struct watching *watching, enum stet_watch_option option, int64_t value) {
	assert_int_equal(stet_watcher_set(watching->watcher, option, value, &watching->err), 0);
	watching->partial |= option == STET_WATCH_USED_ONLY;
}

void watching_begin(struct watching *watching) {
	struct stet_changes *all;
	if (stet_watcher_start(watching->watcher, &watching->err) < 0)
		fail_msg("%s", watching->err.message);
	assert_int_equal(stet_watcher_since(watching->watcher, "", &all, NULL), 0);
	assert_true(stet_changes_fresh(all));
	for (size_t i = 0; i < stet_changes_count(all); i++)
		learn(watching, stet_changes_path(all, i));
	stet_changes_free(all);
}

void watching_start(struct watching *watching, const struct dir *dir) {
	watching_new(watching, dir);
	watching_begin(watching);
}

void watching_stop(struct watching *watching) {
	for (size_t i = 0; i < 4096; i++) {
		while (watching->known[i])
			unlearn(&watching->known[i]);
	}
	stet_watcher_free(watching->watcher);
	st_buf_release(&watching->log);
}

static void dispatch(struct watching *watching, int64_t ms) {
	int code = stet_watcher_dispatch(watching->watcher, (int)ms, &watching->err);
	if (code < 0 && code != STET_E_NOT_FOUND)
		fail_msg("%s", watching->err.message);
}

void watching_run(struct watching *watching, int ms) {
	int64_t end = st_now_ms() + ms;
	for (int64_t left; (left = end - st_now_ms()) > 0;)
		dispatch(watching, left);
}

static bool is_idle(const struct watching *watching) {
	const struct st_watch *watch = &watching->watcher->watch;
	struct pollfd events = {.fd = watch->in.fd, .events = POLLIN};
	return watch->debounce.count == 0 && !watch->queue && watch->rescan_at_ms < 0 &&
	       poll(&events, 1, 0) == 0;
}

void watching_idle(struct watching *watching) {
	int64_t end = st_now_ms() + PATIENCE_MS;
	for (dispatch(watching, 0); !is_idle(watching); dispatch(watching, 1000))
		assert_true(st_now_ms() < end);
}

void watching_await(struct watching *watching, size_t count) {
	int64_t end = st_now_ms() + PATIENCE_MS;
	for (dispatch(watching, 0); watching->count < count; dispatch(watching, 1000))
		assert_true(st_now_ms() < end);
}

size_t watching_count(const struct watching *watching, const char *event, const char *path) {
	size_t count = 0;
	for (const char *line = st_buf_cstr(&watching->log); *line;) {
		size_t len = strcspn(line, "\n"), word = strcspn(line, " ");
		bool same_event = !event || (strlen(event) == word && memcmp(line, event, word) == 0);
		bool same_path = !path || (strlen(path) == len - word - 1 &&
		                           memcmp(line + word + 1, path, len - word - 1) == 0);
		count += same_event && same_path;
		line += len + 1;
	}
	return count;
}

void watching_clear(struct watching *watching) {
	st_buf_clear(&watching->log);
	watching->count = 0;
}

/* ---- the disk ---- */

struct comparison {
	struct watching *watching;
	size_t missed;
};

static int find_on_disk(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct comparison *comparison = data;
	(void)err;
	if (entry->type == ST_WALK_DIR && st_str_eq(entry->path, ST_STR(".stet")))
		return ST_WALK_SKIP;
	if (entry->type != ST_WALK_FILE && entry->type != ST_WALK_LINK)
		return 0;
	struct known **place = place_of(comparison->watching, entry->path.ptr);
	if (*place) {
		(*place)->found = true;
	} else {
		comparison->missed++;
		print_message("# missed: %s\n", entry->path.ptr);
	}
	return 0;
}

static size_t count_stale(struct watching *watching) {
	size_t stale = 0;
	for (size_t i = 0; i < 4096; i++) {
		for (struct known *known = watching->known[i]; known; known = known->next) {
			if (!known->found)
				print_message("# still told of: %s\n", known->path);
			stale += !known->found;
			known->found = false;
		}
	}
	return stale;
}

static void agrees_with_its_list(struct watching *watching) {
	struct stet_changes *all;
	assert_int_equal(stet_watcher_since(watching->watcher, "", &all, NULL), 0);
	size_t known = 0;
	for (size_t i = 0; i < 4096; i++) {
		for (const struct known *at = watching->known[i]; at; at = at->next)
			known++;
	}
	assert_int_equal(known, stet_changes_count(all));
	for (size_t i = 0; i < stet_changes_count(all); i++)
		assert_non_null(*place_of(watching, stet_changes_path(all, i)));
	stet_changes_free(all);
}

void watching_agrees(struct watching *watching) {
	struct comparison comparison = {.watching = watching};
	struct st_walk walk = {.threads = 1, .on_entry = find_on_disk, .data = &comparison};
	assert_int_equal(st_walk_run(&walk, watching->dir->fd, NULL), 0);
	size_t stale = count_stale(watching);
	assert_int_equal(comparison.missed, 0);
	assert_int_equal(stale, 0);
	assert_int_equal(watching->nonsense, 0);
	agrees_with_its_list(watching);
}
