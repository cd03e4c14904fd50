#include "cli/setup/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* Follow symbolic links: the user may have the file in a repository of dotfiles. */
static int resolve_links(struct config_file *file) {
	char *real = realpath(file->path, NULL);
	const char *path = real ? real : file->path;
	const char *slash = strrchr(path, '/');
	file->dir = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
	file->name = strdup(slash ? slash + 1 : path);
	free(real);
	return file->dir && file->name ? DONE : report_nomem();
}

static int open_session(struct config_file *file) {
	struct stet_error err = {0};
	int code = stet_workspace_open(file->dir, &file->ws, &err);
	if (code == 0)
		code = stet_session_open(file->ws, NULL, &file->session, &err);
	return code < 0 ? report(&err) : DONE;
}

static int take_content(struct config_file *file, const struct stet_answer *answer) {
	size_t len = 0;
	const char *text = stet_answer_content(answer, &len);
	file->text = strndup(text ? text : "", len);
	if (!file->text)
		return report_nomem();
	if (strlen(file->text) != len)
		return report_as(STET_E_INVALID,
		                 "%s has a NUL byte. Correct it first; nothing was changed.", file->path);
	return DONE;
}

int config_file_read(struct config_file *file, const char *path) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	file->path = strdup(path);
	int status = file->path ? resolve_links(file) : report_nomem();
	/* If the directory does not exist, there is no file to read. */
	if (status != DONE || access(file->dir, F_OK) < 0)
		return status;
	status = open_session(file);
	if (status != DONE)
		return status;
	int code = stet_session_read(file->session, file->name, 0, 0, &answer, &err);
	if (code == 0)
		status = take_content(file, answer);
	else if (code != STET_E_NOT_FOUND)
		status = report(&err);
	stet_answer_free(answer);
	return status;
}

/* Make the missing directories above the file, and remember the topmost one. */
static int make_parents(struct config_file *file) {
	char *copy = strdup(file->path);
	int status = copy ? DONE : report_nomem();
	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && status == DONE;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool made = mkdir(copy, 0777) == 0;
		if (made && !file->made)
			file->made = strdup(copy);
		if (!made && errno != EEXIST)
			status = report_as(STET_E_IO, "Cannot create the directory \"%s\": %s.", copy,
			                   strerror(errno));
		*slash = '/';
	}
	free(copy);
	return status;
}

int config_file_write(struct config_file *file, const char *text) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	int status = file->session ? DONE : make_parents(file);
	if (status == DONE && !file->session)
		status = open_session(file);
	if (status != DONE)
		return status;
	int code =
		stet_session_write(file->session, file->name, text, strlen(text), NULL, &answer, &err);
	stet_answer_free(answer);
	return code < 0 ? report(&err) : DONE;
}

/* Remove the directories of the file up to `made`, as long as they are empty. */
static void remove_parents(const char *path, const char *made) {
	char *dir = strdup(path);
	size_t least = made ? strlen(made) : 0;
	bool inside = dir && made && strncmp(dir, made, least) == 0 && dir[least] == '/';
	while (inside) {
		*strrchr(dir, '/') = '\0';
		inside = rmdir(dir) == 0 && strlen(dir) > least;
	}
	free(dir);
}

/*
 * Move the file away, compare it once more, and only then delete it: a client may have
 * written to it.
 */
int config_file_delete(struct config_file *file, const char *made) {
	char from[4096], away[4096 + 32];
	snprintf(from, sizeof from, "%s/%s", file->dir, file->name);
	snprintf(away, sizeof away, "%s/.stet-setup-%d", file->dir, (int)getpid());
	if (renameat2(AT_FDCWD, from, AT_FDCWD, away, RENAME_NOREPLACE) < 0)
		return report_as(STET_E_IO, "Cannot delete %s: %s.", file->path, strerror(errno));
	char *text = config_file_peek(away);
	bool same = text && file->text && strcmp(text, file->text) == 0;
	free(text);
	if (!same) {
		(void)renameat2(AT_FDCWD, away, AT_FDCWD, from, RENAME_NOREPLACE);
		return report_as(STET_E_CONFLICT, "%s changed meanwhile. Run the command again.",
		                 file->path);
	}
	(void)unlink(away);
	remove_parents(file->path, made);
	return DONE;
}

void config_file_release(struct config_file *file) {
	stet_session_close(file->session);
	stet_workspace_close(file->ws);
	free(file->path);
	free(file->text);
	free(file->made);
	free(file->dir);
	free(file->name);
	*file = (struct config_file){0};
}

char *config_file_peek(const char *path) {
	enum { MOST = 16 << 20 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST;
	char *text = good ? calloc((size_t)st.st_size + 1, 1) : NULL;
	for (ssize_t len = 0, got = 1; text && got > 0 && len < st.st_size; len += got) {
		got = read(fd, text + len, (size_t)(st.st_size - len));
		if (got < 0) {
			free(text);
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}
