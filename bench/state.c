/* The repository state: a snapshot of 10,000 files, and what recording one write costs among few and many. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/state/state.h"
#include "core/prompt/snapshot.h"
#include "lib/bench.h"
#include "stet/state.h"

enum { DIRS = 100, FILES = 100, FEW = 100 };

/* A workspace with some tracked files. */
struct place {
	struct stet_workspace *ws;
	struct stet_session *session;
	int fd;
	int turn;
};

static char paths[DIRS * FILES][32];

static void put(const char *path, const char *text) {
	FILE *out = fopen(path, "w");
	bench_check(out && fputs(text, out) >= 0 && fclose(out) == 0, "write a file");
}

static void make_tree(const char *root, int count) {
	char path[64];
	bench_check(mkdir(root, 0700) == 0, "mkdir");
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/dir%03d", root, i / FILES);
		mkdir(path, 0700);
		snprintf(paths[i], sizeof paths[i], "dir%03d/file%02d.c", i / FILES, i % FILES);
		bench_check(snprintf(path, sizeof path, "%s/%s", root, paths[i]) < (int)sizeof path,
		            "a path");
		put(path, paths[i]);
	}
}

static void open_place(struct place *place, const char *root, int count) {
	make_tree(root, count);
	/* Wait until the files' timestamps are old enough to prove that a file is unchanged. */
	usleep(50000);
	place->fd = open(root, O_RDONLY | O_DIRECTORY);
	bench_check(place->fd >= 0 && stet_workspace_open(root, &place->ws, NULL) == 0 &&
	                stet_workspace_set(place->ws, STET_OPTION_STATE, 2, NULL) == 0 &&
	                stet_workspace_set(place->ws, STET_OPTION_DURABLE, 0, NULL) == 0 &&
	                stet_session_open(place->ws, NULL, &place->session, NULL) == 0 &&
	                stet_state_scan(place->ws, NULL) == 0,
	            "open a workspace");
}

static void close_place(struct place *place) {
	stet_session_close(place->session);
	stet_workspace_close(place->ws);
	close(place->fd);
}

static void bare(void *context) {
	const struct place *place = context;
	struct statx stx;
	for (int i = 0; i < DIRS * FILES; i++)
		bench_check(statx(place->fd, paths[i], AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) == 0,
		            "statx");
}

static void look(void *context) {
	const struct place *place = context;
	st_auto(st_repo_status) view = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	bench_check(st_repo_get_status(&st_state_of(place->ws)->repo, place->session, 0, &view, NULL) ==
	                0,
	            "look");
	bench_check(st_snapshot_format(&view.state, 0, &text, NULL) == 0, "format");
	bench_check(view.state.file_count == DIRS * FILES, "all files");
}

/* Record a write that did not happen: the cost of the state on top of a write. */
static void update(void *context) {
	struct place *place = context;
	struct st_file_event event = {.path = "dir000/file00.c",
	                              .kind = ST_EVENT_WRITTEN,
	                              .before.exists = true,
	                              .after.exists = true};
	st_auto(st_call_scope) scope = st_call_scope_begin(place->session, true);
	event.after.hash.bytes[0] = (unsigned char)place->turn++;
	st_session_report(place->session, &event);
	bench_check(scope.session != NULL, "call scope");
}

int main(void) {
	struct place many, few;
	bench_enter();
	memset(&many, 0, sizeof many);
	memset(&few, 0, sizeof few);
	open_place(&few, "few", FEW);
	open_place(&many, "many", DIRS * FILES);
	const struct bench_case looks[] = {
		{.name = "10,000 statx", .run = bare, .context = &many},
		{.name = "snapshot", .run = look, .context = &many, .target = 1.5},
	};
	bench_run("10,000 tracked files, none changed", looks, 2, 51);
	const struct bench_case updates[] = {
		{.name = "among 100 files", .run = update, .context = &few},
		{.name = "among 10,000 files", .run = update, .context = &many, .target = 1.2},
	};
	bench_run("one write recorded", updates, 2, 401);
	close_place(&few);
	close_place(&many);
	bench_leave();
}
