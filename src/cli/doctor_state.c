/* The part of stet doctor that looks at what is kept below the root. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "stet/state.h"

/* So much of a database may be free space before that is worth a word. */
#define FREE_MAX ((int64_t)16 << 20)

static const char *text_of(const struct stet_json *state, const char *pointer) {
	const char *text = stet_json_text(state, pointer, NULL);
	return text ? text : "";
}

/* ---- the database ---- */

/* What is wrong with a database, behind its name, and what to do. */
static const struct problem {
	const char *name;
	enum verdict verdict;
	const char *what;
	const char *advice;
} problems[] = {
	{"damaged", BROKEN, "is damaged",
     "The next command that meets it sets it aside as stet.db.damaged-N and makes a new one: "
     "story, files and tasks come back from repostate.json, what sessions had read has to be read "
     "again. Copy it first if you want to look at it"},
	{"newer", BROKEN, "was written by a newer stet",
     "It is left alone, and nothing is kept meanwhile. Use the newer stet, or move the directory "
     "away"},
	{"foreign", BROKEN, "is not a database of stet",
     "The next command sets it aside as stet.db.damaged-N and makes a new one. If you need it, "
     "copy it first"},
	{"locked", WEAK, "is locked by another process",
     "Calls wait five seconds for it and then fail. fuser -v says who holds it"},
	{"unreadable", BROKEN, "cannot be read",
     "Nothing is kept meanwhile. See who owns it and what is mounted there; remove it to have a "
     "new one made"},
};

static void report_problem(struct findings *found, const struct stet_json *state) {
	const char *name = text_of(state, "/database/problem"), *why = text_of(state, "/database/why");
	size_t len = strlen(why);
	char what[700];
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
		const struct problem *problem = &problems[i];
		if (strcmp(problem->name, name) != 0)
			continue;
		/* The finding gets a full stop of its own. */
		snprintf(what, sizeof what, "%s/stet.db %s%s%.*s", text_of(state, "/directory"),
		         problem->what, len > 0 ? ". " : "", (int)(len - (len > 0 && why[len - 1] == '.')),
		         why);
		find(found, problem->verdict, "database", what, problem->advice);
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
	         "To have the space back, while no stet runs: sqlite3 %s/stet.db VACUUM",
	         text_of(state, "/directory"));
	find(found, loose ? WEAK : FINE, "database", what, loose ? advice : NULL);
	snprintf(what, sizeof what,
	         "files: %" PRId64 ", tasks: %" PRId64 ", writes: %" PRId64 ", old versions: %" PRId64
	         " KiB",
	         stet_json_int(state, "/database/files", 0), stet_json_int(state, "/database/tasks", 0),
	         stet_json_int(state, "/database/writes", 0),
	         stet_json_int(state, "/baseBytes", 0) / 1024);
	find(found, FINE, "content", what, NULL);
}

/* How many have a name, and who was here last. */
static void report_sessions(struct findings *found, const struct stet_json *state) {
	int64_t count = stet_json_int(state, "/database/sessionCount", 0);
	char what[300];
	if (count == 0)
		snprintf(what, sizeof what, "none has a name");
	else
		snprintf(what, sizeof what,
		         "%" PRId64 " with a name; the last was %.100s, files seen: %" PRId64, count,
		         text_of(state, "/database/sessions/0/name"),
		         stet_json_int(state, "/database/sessions/0/files", 0));
	find(found, FINE, "sessions", what, NULL);
}

static void report_aside(struct findings *found, const struct stet_json *state) {
	size_t count = stet_json_count(state, "/aside");
	char what[200];
	if (count == 0)
		return;
	snprintf(what, sizeof what, "%zu set aside, the first as %s/%.60s", count,
	         text_of(state, "/directory"), text_of(state, "/aside/0"));
	find(found, WEAK, "damaged", what, "Look for what you miss in it, then delete it");
}

/* ---- the directory ---- */

static void report_state(struct findings *found, const struct stet_json *state) {
	const char *distrust = stet_json_text(state, "/distrust", NULL);
	const char *directory = text_of(state, "/directory");
	char what[200];
	if (distrust) {
		find(found, BROKEN, "state", distrust, NULL);
		return;
	}
	if (!stet_json_true(state, "/there")) {
		snprintf(what, sizeof what, "none yet; %s is made when something has to be kept",
		         directory);
		find(found, FINE, "state", what, NULL);
		return;
	}
	snprintf(what, sizeof what, "%s is a directory of yours alone", directory);
	find(found, FINE, "state", what, NULL);
	if (stet_json_type(state, "/database/problem"))
		report_problem(found, state);
	else if (stet_json_type(state, "/database")) {
		report_size(found, state);
		report_sessions(found, state);
	}
	report_aside(found, state);
}

void look_at_state(struct findings *found, struct stet_workspace *ws) {
	struct stet_json *state = NULL;
	struct stet_error err = {0};
	char *text = NULL;
	progress_begin("Checking the state");
	if (stet_state_check(ws, &text, &err) < 0 ||
	    stet_json_parse(text, strlen(text), 0, &state, &err) < 0)
		find(found, BROKEN, "state", stet_error_message(&err), NULL);
	else {
		report_state(found, state);
		stet_json_set_json(found->json, "/state", text, strlen(text));
	}
	progress_end();
	stet_json_free(state);
	stet_free(text);
}

/* What others wrote too late for the file, or a crash left: somebody may be missing it. */
void look_at_rescued(struct findings *found, int root, const char *state_dir) {
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
	find(found, WEAK, "copies", what,
	     "They hold bytes that were written too late for a file, or old ones; look, then delete "
	     "them");
}
