#include "cli/setup/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* Make the directories above a path; other users may not enter them. */
static void make_directories(char *path) {
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
}

/*
 * The path of a file below stet/ in the user's state directory, which the caller
 * frees; NULL if there is none. With `make`, makes the directories above it.
 */
static char *state_path(const char *name, bool make) {
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int len = -1;
	if (state && state[0] == '/')
		len = asprintf(&path, "%s/stet/%s", state, name);
	else if (home && home[0] == '/')
		len = asprintf(&path, "%s/.local/state/stet/%s", home, name);
	if (len < 0)
		return NULL;
	if (make)
		make_directories(path);
	return path;
}

static char *record_path(const char *path, bool make) {
	char hash[65], name[64];
	struct stet_error err = {0};
	if (stet_text_hash(path, strlen(path), hash, &err) < 0)
		return NULL;
	snprintf(name, sizeof name, "setup/%.16s.json", hash);
	return state_path(name, make);
}

static char *copy_member(const struct stet_json *json, const char *pointer) {
	const char *text = stet_json_text(json, pointer, NULL);
	return text ? strdup(text) : NULL;
}

/* A record's file as JSON; NULL if there is none, or it is somebody else's. */
static struct stet_json *load_json(const char *name) {
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	bool ours = stat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
	if (ours && slurp(name, &text, &len) == DONE && stet_json_parse(text, len, 0, &json, &err) < 0)
		json = NULL;
	free(text);
	return json;
}

static struct stet_json *load_record(const char *path) {
	char *name = record_path(path, false);
	struct stet_json *json = name ? load_json(name) : NULL;
	free(name);
	return json;
}

bool record_read(const char *path, struct record *record) {
	*record = (struct record){0};
	struct stet_json *json = load_record(path);
	const char *about = json ? stet_json_text(json, "/path", NULL) : NULL;
	const char *after = json ? stet_json_text(json, "/after", NULL) : NULL;
	bool good = about && after && strcmp(about, path) == 0 && strlen(after) == 64;
	if (good) {
		memcpy(record->after, after, 65);
		record->before = copy_member(json, "/before");
		record->made = copy_member(json, "/made");
	}
	stet_json_free(json);
	return good;
}

/* Write to a new file and rename it, so that a record is complete. */
static bool write_private(const char *path, const char *text, size_t len) {
	char *temporary = NULL;
	if (asprintf(&temporary, "%s.%d", path, (int)getpid()) < 0)
		return false;
	(void)unlink(temporary);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
	if (fd >= 0)
		good = close(fd) == 0 && good;
	good = good && rename(temporary, path) == 0;
	if (!good)
		(void)unlink(temporary);
	free(temporary);
	return good;
}

bool record_write(const char *path, const struct record *record) {
	struct stet_json *json = stet_json_new();
	const char *const members[][2] = {{"/path", path},
	                                  {"/before", record->before},
	                                  {"/made", record->made},
	                                  {"/after", record->after}};
	for (size_t i = 0; json && i < 4; i++) {
		if (members[i][1])
			stet_json_set_text(json, members[i][0], members[i][1], strlen(members[i][1]));
	}
	size_t len = 0;
	char *text = json ? stet_json_write(json, 0, &len) : NULL, *name = record_path(path, true);
	bool good = text && name && write_private(name, text, len);
	free(name);
	stet_free(text);
	stet_json_free(json);
	return good;
}

void record_remove(const char *path) {
	char *name = record_path(path, false);
	if (name)
		(void)unlink(name);
	free(name);
}

bool record_find(bool (*call)(const char *path, void *arg), void *arg) {
	char *folder = state_path("setup", false), name[4400];
	DIR *dir = folder ? opendir(folder) : NULL;
	bool found = false;
	for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
		struct stet_json *json = load_json(name);
		const char *path = json ? stet_json_text(json, "/path", NULL) : NULL;
		found = path && call(path, arg);
		stet_json_free(json);
	}
	if (dir)
		closedir(dir);
	free(folder);
	return found;
}

void record_release(struct record *record) {
	free(record->before);
	free(record->made);
	*record = (struct record){0};
}

bool record_is_current(const struct record *record, const char *text) {
	char hash[65];
	struct stet_error err = {0};
	return record->after[0] && stet_text_hash(text, strlen(text), hash, &err) == 0 &&
	       strcmp(hash, record->after) == 0;
}
