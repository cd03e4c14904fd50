#include "lib/test.h"

#include <dirent.h>
#include <ftw.h>
#include <time.h>

const char *dir_at(const struct dir *dir, const char *name) {
	static char ring[8][8192];
	static int next;
	char *path = ring[next++ % 8];
	snprintf(path, sizeof ring[0], "%s/%s", dir->path, name);
	return path;
}

int dir_setup(void **state) {
	struct dir *dir = calloc(1, sizeof *dir);
	const char *base = getenv("TMPDIR");
	snprintf(dir->path, sizeof dir->path, "%s/stet-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(dir->path))
		return -1;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = dir;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk) {
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

int dir_teardown(void **state) {
	struct dir *dir = *state;
	close(dir->fd);
	int code = nftw(dir->path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	free(dir);
	return code;
}

static void make_parents(const char *path) {
	char copy[8192];
	snprintf(copy, sizeof copy, "%s", path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
}

void dir_write_bytes(const struct dir *dir, const char *name, const void *bytes, size_t len) {
	const char *path = dir_at(dir, name);
	make_parents(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

void dir_write(const struct dir *dir, const char *name, const char *text) {
	dir_write_bytes(dir, name, text, strlen(text));
}

const char *dir_read(const struct dir *dir, const char *name) {
	static char *text;
	free(text);
	text = NULL;
	int fd = open(dir_at(dir, name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	return text;
}

bool dir_has(const struct dir *dir, const char *name) {
	struct stat st;
	return lstat(dir_at(dir, name), &st) == 0;
}

int dir_count(const struct dir *dir, const char *name) {
	DIR *stream = opendir(dir_at(dir, name));
	assert_non_null(stream);
	int count = 0;
	for (struct dirent *entry; (entry = readdir(stream));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(stream);
	return count;
}

bool is_asleep(pid_t pid) {
	char path[64], state = '?';
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

void wait_until_asleep(pid_t pid) {
	for (int i = 0; i < 6000 && !is_asleep(pid); i++)
		sleep_ms(5);
	assert_true(is_asleep(pid));
}

void sleep_ms(int ms) {
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}
