#include "core/watch/changes.h"

#include <stdlib.h>

#include "base/array.h"

/* All paths are in one buffer, NUL-terminated; each change has its path's offset there. */
struct stet_changes {
	bool fresh;
	char clock[ST_CLOCK_SIZE];
	struct st_buf paths;
	struct change {
		size_t path;
		enum st_watch_event event;
	} * items;
	size_t count;

	bool failed;
};

static void collect_change(void *data, const char *path, enum st_watch_event event) {
	struct stet_changes *changes = data;
	if (!st_array_room(&changes->items, changes->count, sizeof *changes->items)) {
		changes->failed = true;
		return;
	}
	changes->items[changes->count++] = (struct change){changes->paths.len, event};
	st_buf_add(&changes->paths, st_strn(path, strlen(path) + 1));
}

int st_changes_since(struct st_watch *watch, const char *clock, struct stet_changes **out,
                     struct stet_error *err) {
	*out = NULL;
	struct stet_changes *changes = calloc(1, sizeof *changes);
	if (!changes)
		return st_fail_nomem(err);
	st_watch_clock(watch, changes->clock);
	int code = st_watch_since(watch, st_str(clock ? clock : ""), collect_change, changes, err);
	if (code >= 0 && (changes->failed || changes->paths.failed))
		code = st_fail_nomem(err);
	if (code < 0) {
		stet_changes_free(changes);
		return code;
	}
	changes->fresh = code == 1;
	*out = changes;
	return 0;
}

void stet_changes_free(struct stet_changes *changes) {
	if (!changes)
		return;
	st_buf_release(&changes->paths);
	free(changes->items);
	free(changes);
}

int stet_changes_fresh(const struct stet_changes *changes) {
	if (!changes)
		return 0;
	return changes->fresh;
}

const char *stet_changes_clock(const struct stet_changes *changes) {
	if (!changes)
		return "";
	return changes->clock;
}

size_t stet_changes_count(const struct stet_changes *changes) {
	if (!changes)
		return 0;
	return changes->count;
}

const char *stet_changes_path(const struct stet_changes *changes, size_t n) {
	if (!changes)
		return NULL;
	return n < changes->count ? changes->paths.ptr + changes->items[n].path : NULL;
}

const char *stet_changes_event(const struct stet_changes *changes, size_t n) {
	if (!changes)
		return NULL;
	return n < changes->count ? st_watch_event_name(changes->items[n].event) : NULL;
}
