#include "cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char opener[] = "xdg-open";

static bool is_set(const char *name) {
	const char *value = getenv(name);
	return value && *value;
}

/* Whether PATH has a program. */
static bool is_installed(const char *program) {
	const char *dirs = getenv("PATH");
	while (dirs && *dirs) {
		char path[512];
		size_t len = strcspn(dirs, ":");
		int written = snprintf(path, sizeof path, "%.*s/%s", (int)len, dirs, program);
		if (len > 0 && (size_t)written < sizeof path && access(path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

/* Whether there is a desktop to show a browser on, and a program that opens one. */
static bool browser_is_there(void) {
	return (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) && is_installed(opener);
}

/* mkstemps() makes the file readable by this user only. */
static bool write_file(struct browser_file *file, const char *address) {
	const char *dir = is_set("XDG_RUNTIME_DIR") ? getenv("XDG_RUNTIME_DIR") : "/tmp";
	int len = snprintf(file->path, sizeof file->path, "%s/stet-page-XXXXXX.html", dir);
	int fd = len > 0 && (size_t)len < sizeof file->path ? mkostemps(file->path, 5, O_CLOEXEC) : -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		file->path[0] = '\0';
		return false;
	}
	fprintf(out,
	        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">"
	        "<title>stet</title><p><a href=\"%s\">stet</a>\n",
	        address, address);
	return fclose(out) == 0;
}

/*
 * Some openers become the browser and end with it. So nothing waits for them, and
 * a key that ends stet does not reach them.
 */
static bool run_opener(struct browser_file *file) {
	char *arguments[] = {(char *)(uintptr_t)opener, file->path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int failed = posix_spawnp(&file->opener, opener, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (failed)
		file->opener = 0;
	return !failed;
}

bool browser_open(struct browser_file *file, const char *address) {
	*file = (struct browser_file){0};
	if (browser_is_there() && write_file(file, address) && run_opener(file))
		return true;
	browser_close(file);
	return false;
}

void browser_close(struct browser_file *file) {
	if (file->path[0])
		unlink(file->path);
	if (file->opener > 0)
		waitpid(file->opener, NULL, WNOHANG);
	*file = (struct browser_file){0};
}
