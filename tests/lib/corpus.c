#include "lib/corpus.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>

#include "lib/test.h"

extern char **environ;

static const char *const names[] = {
	"commonmark-spec.md",     "bfs-changelog.md", "ripgrep-changelog.md",
	"miniflare-changelog.md", "jq-news.md",       "goose-blog-crlf.md",
};

/* A path in a directory of what is beside the repository. */
static const char *shared_path(const char *dir, const char *name) {
	static char path[8192];
	const char *shared = getenv("STET_SHARED");
	snprintf(path, sizeof path, "%s/%s/%s", shared ? shared : STET_SOURCE_ROOT "/../shared", dir,
	         name);
	return path;
}

static const char *path_of(const char *name) {
	return shared_path("md-corpus", name);
}

static void read_all(int fd, struct st_buf *out) {
	char bytes[65536];
	for (ssize_t len; (len = read(fd, bytes, sizeof bytes)) != 0;) {
		assert_true(len > 0);
		st_buf_add(out, st_strn(bytes, (size_t)len));
	}
	assert_false(out->failed);
}

void read_path(const char *path, struct st_buf *out) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	st_buf_clear(out);
	read_all(fd, out);
	close(fd);
}

void corpus_open(struct corpus *corpus) {
	*corpus = (struct corpus){0};
	if (access(path_of(names[0]), R_OK) < 0) {
		print_message("# skipped: there is no %s; STET_SHARED may name its parent\n", path_of(""));
		skip();
	}
}

bool corpus_next(struct corpus *corpus) {
	if (corpus->index == sizeof names / sizeof *names) {
		st_buf_release(&corpus->text);
		return false;
	}
	corpus->name = names[corpus->index++];
	read_path(path_of(corpus->name), &corpus->text);
	return true;
}

/* Examples stand between lines of 32 backticks, with a line of one dot before the HTML. */
bool corpus_next_example(struct corpus *corpus) {
	static const char fence[] = "\n```````````````````````````````` example\n";
	if (!corpus->spec.ptr)
		read_path(path_of(names[0]), &corpus->spec);
	const char *start = strstr(corpus->spec.ptr + corpus->at, fence);
	if (!start) {
		st_buf_release(&corpus->spec);
		st_buf_release(&corpus->text);
		return false;
	}
	start += sizeof fence - 1;
	const char *end = strstr(start - 1, "\n.\n");
	assert_non_null(end);
	corpus->at = (size_t)(end - corpus->spec.ptr);
	st_buf_clear(&corpus->text);
	for (const char *p = start; p <= end; p++) {
		/* An arrow stands for a tab. */
		bool tab = strncmp(p, "\xE2\x86\x92", 3) == 0;
		st_buf_addc(&corpus->text, tab ? '\t' : *p);
		p += tab ? 2 : 0;
	}
	return true;
}

void corpus_each_run(void (*each)(void *data, const char *name, struct st_str rows), void *data) {
	st_auto(st_buf) rows = ST_BUF_INIT;
	DIR *runs = opendir(shared_path("trajectories", ""));
	if (!runs)
		skip_because("there are no trajectories beside the repository");
	for (struct dirent *entry; (entry = readdir(runs));) {
		if (!strstr(entry->d_name, ".jsonl"))
			continue;
		read_path(shared_path("trajectories", entry->d_name), &rows);
		each(data, entry->d_name, st_buf_str(&rows));
	}
	closedir(runs);
}

/* The input goes through a file, so that neither side can block the other. */
static int file_of(struct st_str text) {
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(fwrite(text.ptr, 1, text.len, file), text.len);
	assert_int_equal(fflush(file), 0);
	int fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

void run_filter(const char *const argv[], struct st_str input, struct st_buf *output) {
	int in = file_of(input);
	int out[2];
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);

	pid_t pid;
	char **args = (char **)(uintptr_t)argv;
	if (posix_spawnp(&pid, argv[0], &actions, NULL, args, environ) != 0)
		fail_msg("%s cannot be run; tools/setup installs it", argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	close(in);
	close(out[1]);
	read_all(out[0], output);
	close(out[0]);

	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
