/* stet doctor: what the system offers, what is in force, and what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/clients.h"
#include "cli/doctor.h"
#include "cli/cli.h"

/* Filesystems whose numbers linux/magic.h does not have everywhere. */
enum { MAGIC_BTRFS = 0x9123683e, MAGIC_XFS = 0x58465342 };
enum { MAGIC_ZFS = 0x2fc12fc1, MAGIC_BCACHEFS = (int)0xca451a4e };

void find(struct findings *found, enum verdict verdict, const char *about, const char *what,
          const char *advice) {
	static const char *const names[] = {"ok", "weak", "broken"};
	char pointer[64];
	size_t n = stet_json_count(found->json, "/findings");
	found->worst = verdict > found->worst ? verdict : found->worst;
	table_add(&found->table, names[verdict]);
	table_add(&found->table, about);
	table_addf(&found->table, "%s%s%s", what, advice ? ". " : "", advice ? advice : "");
	stet_json_set_json(found->json, "/findings/-", "{}", 2);
	const char *const members[][2] = {
		{"verdict", names[verdict]}, {"about", about}, {"finding", what}, {"advice", advice}};
	for (size_t i = 0; i < 4; i++) {
		const char *text = members[i][1];
		snprintf(pointer, sizeof pointer, "/findings/%zu/%s", n, members[i][0]);
		if (text)
			stet_json_set_text(found->json, pointer, text, strlen(text));
	}
}

/* ---- the kernel ---- */

static void look_at_kernel(struct findings *found) {
	struct utsname name;
	char what[256];
	if (uname(&name) == 0) {
		snprintf(what, sizeof what, "%.60s %.120s", name.sysname, name.release);
		find(found, FINE, "kernel", what, NULL);
	}
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
	if (fd >= 0)
		find(found, FINE, "openat2", "works: paths are confined by the kernel", NULL);
	else
		find(
			found, WEAK, "openat2", "does not work here",
			"Paths are walked name by name instead, which is as safe and slower; Linux 5.6 has it");
	if (fd >= 0)
		close(fd);
}

static const char *filesystem_name(long type) {
	static const struct {
		long type;
		const char *name;
	} names[] = {
		{EXT4_SUPER_MAGIC, "ext4"},
		{MAGIC_BTRFS, "btrfs"},
		{MAGIC_XFS, "xfs"},
		{MAGIC_ZFS, "zfs"},
		{MAGIC_BCACHEFS, "bcachefs"},
		{TMPFS_MAGIC, "tmpfs"},
		{OVERLAYFS_SUPER_MAGIC, "overlayfs"},
		{MSDOS_SUPER_MAGIC, "vfat"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i].type == type)
			return names[i].name;
	}
	return "unknown to stet";
}

static void look_at_filesystem(struct findings *found, struct stet_workspace *ws, int root) {
	struct statfs fs;
	const char *shared = stet_workspace_shared(ws);
	if (shared)
		find(found, WEAK, "filesystem", shared,
		     "Others who write below the mount are not noticed: every check reads the bytes again, "
		     "past the cache, but what they write in the moment of a change is lost. Where that "
		     "matters, work on a local filesystem");
	else if (fstatfs(root, &fs) == 0)
		find(found, FINE, "filesystem", filesystem_name((long)fs.f_type), NULL);
}

/* ---- what only a trial shows ---- */

static bool make(int dir, const char *name) {
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void try_exchange(struct findings *found, int dir) {
	if (renameat2(dir, "a", dir, "b", RENAME_EXCHANGE) == 0)
		find(found, FINE, "exchange", "works: a file is replaced and checked in one step", NULL);
	else
		find(found, WEAK, "exchange", strerror(errno),
		     "A file is replaced in two steps and then checked; a version that somebody puts there "
		     "between the two is lost. A local ext4, xfs or btrfs has it");
}

static void try_lease(struct findings *found, const struct stet_workspace *ws, int dir) {
	/* One that this kernel gives says nothing of writers it does not see. */
	if (stet_workspace_shared(ws))
		return;
	int fd = openat(dir, "a", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		find(found, FINE, "leases", "work: writers that come meanwhile are noticed", NULL);
	else
		find(found, WEAK, "leases", strerror(errno),
		     "Writers are noticed by what they wrote, a moment later; see "
		     "/proc/sys/fs/leases-enable");
	if (fd >= 0)
		close(fd);
}

/* Two files in a directory of their own below the root, gone again at once. */
static void try_files(struct findings *found, const struct stet_workspace *ws, int root) {
	char name[64];
	snprintf(name, sizeof name, ".stet-doctor-%d", (int)getpid());
	if (mkdirat(root, name, 0700) < 0) {
		find(
			found, WEAK, "writing", strerror(errno),
			"Nothing can be written at the top of the root, so leases and exchange were not tried");
		return;
	}
	int dir = openat(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0) {
		if (make(dir, "a") && make(dir, "b")) {
			try_exchange(found, dir);
			try_lease(found, ws, dir);
		}
		unlinkat(dir, "a", 0);
		unlinkat(dir, "b", 0);
		close(dir);
	}
	unlinkat(root, name, AT_REMOVEDIR);
}

/* ---- watches ---- */

static long number_in(const char *path) {
	char text[32] = "";
	FILE *file = fopen(path, "re");
	if (file) {
		if (!fgets(text, sizeof text, file))
			text[0] = '\0';
		fclose(file);
	}
	return *text ? strtol(text, NULL, 10) : -1;
}

static long watches_in(const char *path) {
	char line[256];
	long count = 0;
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		count += strncmp(line, "inotify wd:", 11) == 0;
	if (file)
		fclose(file);
	return count;
}

/* Of one process, what it lets us see. */
static long watches_of(const char *pid) {
	char path[600];
	long count = 0;
	snprintf(path, sizeof path, "/proc/%.20s/fdinfo", pid);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		snprintf(path, sizeof path, "/proc/%.20s/fdinfo/%s", pid, entry->d_name);
		count += entry->d_name[0] != '.' ? watches_in(path) : 0;
	}
	if (dir)
		closedir(dir);
	return count;
}

static long watches_used(void) {
	long count = 0;
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char path[300];
		struct stat st;
		snprintf(path, sizeof path, "/proc/%s", entry->d_name);
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &st) == 0 &&
		    st.st_uid == getuid())
			count += watches_of(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return count;
}

static void look_at_watches(struct findings *found) {
	long most = number_in("/proc/sys/fs/inotify/max_user_watches"), used = watches_used();
	char what[128];
	if (most < 0) {
		find(found, WEAK, "watches", "inotify is not there",
		     "Changes are found when files are used, not before");
		return;
	}
	snprintf(what, sizeof what, "%ld of %ld inotify watches are free", most - used, most);
	bool few = most - used < 8192;
	find(found, few ? WEAK : FINE, "watches", what,
	     few ? "Give yourself more: sysctl fs.inotify.max_user_watches=524288" : NULL);
}

/* ---- clients and configuration ---- */

static void look_at_clients(struct findings *found, const char *root) {
	char what[700];
	size_t count = 0;
	for (size_t i = 0; i < client_count; i++) {
		const char *place = client_configured(&clients[i], root);
		if (!place)
			continue;
		snprintf(what, sizeof what, "%s knows stet, by %.500s", clients[i].title, place);
		find(found, FINE, "client", what, NULL);
		count++;
	}
	if (count == 0)
		find(found, WEAK, "client", "no client knows stet",
		     "Run stet setup CLIENT; stet setup lists them");
}

static int print_config(const struct stet_config *config, struct stet_json *json, bool as_json) {
	struct table table = {.columns = 3, .heading = true};
	char pointer[128];
	table_add(&table, "key");
	table_add(&table, "value");
	table_add(&table, "by");
	for (size_t i = 0; stet_config_key(i); i++) {
		const char *key = stet_config_key(i), *value = stet_config_value(config, key);
		const char *source = stet_config_source(config, key);
		table_add(&table, key);
		table_add(&table, *value ? value : "-");
		table_add(&table, source);
		snprintf(pointer, sizeof pointer, "/config/%s/value", key);
		stet_json_set_text(json, pointer, value, strlen(value));
		snprintf(pointer, sizeof pointer, "/config/%s/source", key);
		stet_json_set_text(json, pointer, source, strlen(source));
	}
	if (!as_json)
		return table_print(&table);
	table_release(&table);
	return DONE;
}

/* Without a configuration, since the user's file is wrong, all else is told. */
static int print(struct findings *found, const struct options *options,
                 const struct stet_config *config) {
	int status = DONE;
	if (!options->json) {
		status = table_print(&found->table);
		putchar('\n');
	}
	if (config && status == DONE)
		status = print_config(config, found->json, options->json);
	if (options->json && status == DONE)
		status = put_json(found->json);
	return status != DONE ? status : done();
}

static void look_at_all(struct findings *found, struct stet_workspace *ws, const char *state_dir) {
	const char *path = stet_workspace_root(ws);
	int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	look_at_kernel(found);
	look_at_filesystem(found, ws, root);
	try_files(found, ws, root);
	progress_begin("Counting watches");
	look_at_watches(found);
	progress_end();
	look_at_state(found, ws);
	look_at_rescued(found, root, state_dir);
	look_at_clients(found, path);
	if (root >= 0)
		close(root);
}

static int run(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_workspace *ws = NULL;
	struct findings found = {.table = {.columns = 3}, .json = stet_json_new()};
	if (!found.json)
		return report_nomem();
	if (stet_workspace_open(options->root, &ws, &err) < 0) {
		stet_json_free(found.json);
		return report(&err);
	}
	struct stet_config *config = NULL;
	int configured = configure(options, ws, &config);
	/* What is wrong with it was the answer to --json. */
	if (configured != DONE && options->json) {
		stet_json_free(found.json);
		stet_workspace_close(ws);
		return configured;
	}
	look_at_all(&found, ws, config ? stet_config_value(config, "stateDir") : ".stet");
	int status = print(&found, options, config);
	if (status == DONE)
		status = configured != DONE ? configured : found.worst == BROKEN ? REFUSED : DONE;
	stet_config_free(config);
	table_release(&found.table);
	stet_json_free(found.json);
	stet_workspace_close(ws);
	return status;
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "say what works here, what is in force, and what to do",
	.description =
		"Looks at the kernel, the filesystem of the root, the watches that are left, the state "
		"directory with its database and sessions, and the configuration of clients, and says "
		"what to do where something is weak or broken. It changes nothing. Then lists every key of "
		"the configuration, its value, and who said so. The "
		"exit status is 1 if something is broken.",
	.examples = (const struct example[]){{"stet doctor", "what works here, and what applies"}, {0}},
	.run = run,
};
