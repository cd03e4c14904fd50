/*
 * A main() for fuzz targets built without libFuzzer: feeds the target every file, and
 * every file of a directory, named on the command line, and prints TAP. A target that
 * finds something wrong aborts, as it does under libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int count;

_Noreturn static void die(const char *path) {
	perror(path);
	exit(1);
}

static void replay_file(const char *path) {
	FILE *file = fopen(path, "rb");
	struct stat st;
	if (!file || fstat(fileno(file), &st) < 0)
		die(path);
	/* Allocate exactly the file's size, so that the sanitizers see a read past its end. */
	size_t len = (size_t)st.st_size;
	uint8_t *data = malloc(len ? len : 1);
	if (!data || fread(data, 1, len, file) != len)
		die(path);
	fclose(file);

	LLVMFuzzerTestOneInput(data, len);
	free(data);
	printf("ok %d - %s\n", ++count, path);
	fflush(stdout);
}

static int is_visible(const struct dirent *entry) {
	return entry->d_name[0] != '.';
}

static void replay_dir(const char *path) {
	struct dirent **entries;
	int len = scandir(path, &entries, is_visible, alphasort);
	if (len < 0)
		die(path);
	for (int i = 0; i < len; i++) {
		char name[4096];
		snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		replay_file(name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		struct stat st;
		if (stat(argv[i], &st) < 0)
			die(argv[i]);
		if (S_ISDIR(st.st_mode))
			replay_dir(argv[i]);
		else
			replay_file(argv[i]);
	}
	printf("1..%d\n", count);
	/* Fail if the corpus is missing. */
	return count == 0;
}
