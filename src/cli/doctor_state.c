/* The checks of stet doctor on the state directory. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "stet/state.h"

/* Report free space in the database from this size on. */
#define FREE_MAX ((int64_t)16 << 20)

static const char *state_text(const struct stet_json *state, const char *pointer) {
	const char *text = stet_json_text(state, pointer, NULL);
	return text ? text : "";
}

/* ---- the database ---- */

/* Problems of a database by their name in stet_state_check(), and what to do about each. */
static const struct problem {
	const char *name;
	enum verdict verdict;
	const char *what;
	const char *advice;
} problems[] = {
	{"damaged", BROKEN, "is damaged",
     "The next command that opens it renames it to stet.db.damaged-N and makes a new one: story, "
     "files and tasks come back from repostate.json, but sessions have to read their files again. "
     "Copy it first if you want to examine it"},
	{"newer", BROKEN, "was written by a newer stet",
     "This stet leaves it alone and saves no state. Use the newer stet, or move the directory "
     "away"},
	{"foreign", BROKEN, "is not a database of stet",
     "The next command renames it to stet.db.damaged-N and makes a new one. If you need it, copy "
     "it first"},
	{"locked", WEAK, "is locked by another process",
     "Calls wait five seconds for it and then fail. fuser -v shows which process has it"},
	{"unreadable", BROKEN, "cannot be read",
     "stet saves no state meanwhile. Check who owns the file and what is mounted there; if you "
     "remove it, stet makes a new one"},
};

static void report_problem(struct findings *found, const struct stet_json *state) {
	const char *name = state_text(state, "/database/problem"),
			   *why = state_text(state, "/database/why");
	size_t len = strlen(why);
	char what[700];
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
		const struct problem *problem = &problems[i];
		if (strcmp(problem->name, name) != 0)
			continue;
		/* Drop the full stop: add_finding() adds one. */
		snprintf(what, sizeof what, "%s/stet.db %s%s%.*s", state_text(state, "/directory"),
		         problem->what, len > 0 ? ". " : "", (int)(len - (len > 0 && why[len - 1] == '.')),
		         why);
		add_finding(found, problem->verdict, "database", what, problem->advice);
	}
}

static void report_size(struct findings *found, const struct stet_json *state) {
	int64_t bytes = stet_json_int(state, "/database/bytes", 0);
	int64_t unused = stet_json_int(state, "/database/freeBytes", 0);
	char what[256], advice[160];
	snprintf(what, sizeof what,
	         "stet.db is whole: schema %" PRId64 ", %" PRId64 " KiB, %" PRId64 " of them unused",
	         stet_json_int(state, "/database/schema", 0), bytes / 1024, unused / 1024);
	bool loose = unused > FREE_MAX && unused > bytes / 2;
	snprintf(advice, sizeof advice,
	         "To free the space, while no stet is running: sqlite3 %s/stet.db VACUUM",
	         state_text(state, "/directory"));
	add_finding(found, loose ? WEAK : FINE, "database", what, loose ? advice : NULL);
	snprintf(what, sizeof what,
	         "files: %" PRId64 ", tasks: %" PRId64 ", writes: %" PRId64 ", old versions: %" PRId64
	         " KiB",
	         stet_json_int(state, "/database/files", 0), stet_json_int(state, "/database/tasks", 0),
	         stet_json_int(state, "/database/writes", 0),
	         stet_json_int(state, "/baseBytes", 0) / 1024);
	add_finding(found, FINE, "content", what, NULL);
}

static void report_sessions(struct findings *found, const struct stet_json *state) {
	int64_t count = stet_json_int(state, "/database/sessionCount", 0);
	char what[300];
	if (count == 0)
		snprintf(what, sizeof what, "none has a name");
	else
		snprintf(what, sizeof what,
		         "%" PRId64 " with a name; the last was %.100s, files seen: %" PRId64, count,
		         state_text(state, "/database/sessions/0/name"),
		         stet_json_int(state, "/database/sessions/0/files", 0));
	add_finding(found, FINE, "sessions", what, NULL);
}

/* How far back undo reaches. */
static void report_reach(struct findings *found, const struct stet_json *state) {
	int64_t writes = stet_json_int(state, "/database/undo/writes", 0);
	int64_t reached = stet_json_int(state, "/database/undo/reached", 0);
	char what[200];
	if (writes == 0)
		return;
	if (reached == 0)
		snprintf(what, sizeof what, "does not reach the last write: its old version is not kept");
	else if (reached == writes)
		snprintf(what, sizeof what, "reaches the whole log, back to %s; writes: %" PRId64,
		         state_text(state, "/database/undo/since"), writes);
	else
		snprintf(what, sizeof what,
		         "reaches back to %s: %" PRId64 " of %" PRId64 " writes of the log",
		         state_text(state, "/database/undo/since"), reached, writes);
	add_finding(found, reached > 0 ? FINE : WEAK, "undo", what,
	            reached > 0 ? NULL : "Raise maxBases or versionDays in your configuration");
}

static void report_aside(struct findings *found, const struct stet_json *state) {
	size_t count = stet_json_count(state, "/aside");
	char what[200];
	if (count == 0)
		return;
	snprintf(what, sizeof what, "%zu set aside, the first as %s/%.60s", count,
	         state_text(state, "/directory"), state_text(state, "/aside/0"));
	add_finding(found, WEAK, "damaged", what, "Copy what you still need from it, then delete it");
}

/* ---- the directory ---- */

static void report_state(struct findings *found, const struct stet_json *state) {
	const char *distrust = stet_json_text(state, "/distrust", NULL);
	const char *directory = state_text(state, "/directory");
	char what[200];
	if (distrust) {
		add_finding(found, BROKEN, "state", distrust, NULL);
		return;
	}
	if (!stet_json_true(state, "/there")) {
		snprintf(what, sizeof what, "none yet; stet makes %s when it has something to save",
		         directory);
		add_finding(found, FINE, "state", what, NULL);
		return;
	}
	snprintf(what, sizeof what, "%s is a directory that only you can access", directory);
	add_finding(found, FINE, "state", what, NULL);
	if (stet_json_type(state, "/database/problem"))
		report_problem(found, state);
	else if (stet_json_type(state, "/database")) {
		report_size(found, state);
		report_sessions(found, state);
		report_reach(found, state);
	}
	report_aside(found, state);
}

void check_state(struct findings *found, struct stet_workspace *ws) {
	struct stet_json *state = NULL;
	struct stet_error err = {0};
	char *text = NULL;
	progress_begin("Checking the state");
	if (stet_state_check(ws, &text, &err) < 0 ||
	    stet_json_parse(text, strlen(text), 0, &state, &err) < 0)
		add_finding(found, BROKEN, "state", stet_error_message(&err), NULL);
	else {
		report_state(found, state);
		stet_json_set_json(found->json, "/state", text, strlen(text));
	}
	progress_end();
	stet_json_free(state);
	stet_free(text);
}

/* Rescued files have late writes of others, or leftovers of a crash, that somebody may miss. */
void check_rescued(struct findings *found, int root, const char *state_dir) {
	char what[200], path[128];
	size_t count = 0;
	snprintf(path, sizeof path, "%s/rescued", state_dir);
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	if (count == 0)
		return;
	snprintf(what, sizeof what, "%zu saved in %s", count, path);
	add_finding(found, WEAK, "copies", what,
	            "They contain bytes that another process wrote too late, or old versions; check "
	            "them, then delete them");
}
