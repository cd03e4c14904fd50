/* stet doctor: check the system and the configuration, and advise what to do. */
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

#include "cli/doctor.h"
#include "cli/cli.h"
#include "cli/setup/doctor.h"
#include "cli/setup/plan.h"

/* Filesystems whose numbers are missing in older versions of linux/magic.h. */
enum { MAGIC_BTRFS = 0x9123683e, MAGIC_XFS = 0x58465342 };
enum { MAGIC_ZFS = 0x2fc12fc1, MAGIC_BCACHEFS = (int)0xca451a4e };

void add_finding(struct findings *found, enum verdict verdict, const char *about, const char *what,
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

static void check_kernel(struct findings *found) {
	struct utsname name;
	char what[256];
	if (uname(&name) == 0) {
		snprintf(what, sizeof what, "%.60s %.120s", name.sysname, name.release);
		add_finding(found, FINE, "kernel", what, NULL);
	}
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
	if (fd >= 0)
		add_finding(found, FINE, "openat2", "works: the kernel confines paths to the root", NULL);
	else
		add_finding(found, WEAK, "openat2", "does not work here",
		            "stet walks paths name by name instead, which is as safe but slower; Linux 5.6 "
		            "and later have openat2");
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

static void check_filesystem(struct findings *found, struct stet_workspace *ws, int root) {
	struct statfs fs;
	const char *shared = stet_workspace_shared(ws);
	if (shared)
		add_finding(
			found, WEAK, "filesystem", shared,
			"stet does not notice others who write below the mount: every check reads the bytes "
			"again, past the cache, but what they write during a change can be lost. If that "
			"matters, "
			"work on a local filesystem");
	else if (fstatfs(root, &fs) == 0)
		add_finding(found, FINE, "filesystem", filesystem_name((long)fs.f_type), NULL);
}

/* ---- trials ---- */

static bool make_file(int dir, const char *name) {
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void try_exchange(struct findings *found, int dir) {
	if (renameat2(dir, "a", dir, "b", RENAME_EXCHANGE) == 0)
		add_finding(found, FINE, "exchange", "works: stet replaces and checks a file in one step",
		            NULL);
	else
		add_finding(
			found, WEAK, "exchange", strerror(errno),
			"stet replaces a file in two steps and then checks it; a version that another process "
			"puts there in between is lost. Local ext4, xfs and btrfs have exchange");
}

static void try_lease(struct findings *found, const struct stet_workspace *ws, int dir) {
	/* On a shared mount, a lease does not cover writers on other machines. */
	if (stet_workspace_shared(ws))
		return;
	int fd = openat(dir, "a", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		add_finding(found, FINE, "leases", "work: stet notices processes that open a file to write",
		            NULL);
	else
		add_finding(found, WEAK, "leases", strerror(errno),
		            "stet notices writers a moment later, by what they wrote; see "
		            "/proc/sys/fs/leases-enable");
	if (fd >= 0)
		close(fd);
}

/* Try with two files in a temporary directory below the root. */
static void try_files(struct findings *found, const struct stet_workspace *ws, int root) {
	char name[64];
	snprintf(name, sizeof name, ".stet-doctor-%d", (int)getpid());
	if (mkdirat(root, name, 0700) < 0) {
		add_finding(found, WEAK, "writing", strerror(errno),
		            "stet cannot write at the top of the root, so it did not try leases and "
		            "exchange");
		return;
	}
	int dir = openat(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0) {
		if (make_file(dir, "a") && make_file(dir, "b")) {
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

/* The watches of one process, as far as we may see them. */
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

static void check_watches(struct findings *found) {
	long most = number_in("/proc/sys/fs/inotify/max_user_watches"), used = watches_used();
	char what[128];
	if (most < 0) {
		add_finding(found, WEAK, "watches", "inotify is not available",
		            "stet finds changes when files are used, not before");
		return;
	}
	snprintf(what, sizeof what, "%ld of %ld inotify watches are free", most - used, most);
	bool few = most - used < 8192;
	add_finding(found, few ? WEAK : FINE, "watches", what,
	            few ? "Raise the limit: sysctl fs.inotify.max_user_watches=524288" : NULL);
}

/* ---- clients and configuration ---- */

static void check_clients(struct findings *found, const char *root) {
	char what[700];
	size_t count = 0;
	for (size_t i = 0; i < client_count; i++) {
		char *place = client_configured(&clients[i], PART_SERVER, root, false);
		if (!place)
			place = client_configured(&clients[i], PART_SERVER, root, true);
		if (!place)
			continue;
		snprintf(what, sizeof what, "%s uses stet, by %.500s", clients[i].title, place);
		add_finding(found, FINE, "client", what, NULL);
		free(place);
		count++;
	}
	if (count == 0)
		add_finding(found, WEAK, "client", "no client uses stet",
		            "Run stet setup CLIENT; stet setup lists them");
}

static int print_config(const struct stet_config *config, struct stet_json *json, bool as_json) {
	struct table table = {.columns = 3, .heading = true};
	char pointer[128];
	table_add(&table, "key");
	table_add(&table, "value");
	table_add(&table, "from");
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

/* The configuration is NULL if the user's file is invalid; print the findings all the same. */
static int print_findings(struct findings *found, const struct options *options,
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

static void check_all(struct findings *found, struct stet_workspace *ws, const char *state_dir) {
	const char *path = stet_workspace_root(ws);
	int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check_kernel(found);
	check_filesystem(found, ws, root);
	try_files(found, ws, root);
	progress_begin("Counting watches");
	check_watches(found);
	progress_end();
	check_state(found, ws);
	check_rescued(found, root, state_dir);
	check_clients(found, path);
	check_hooks(found, path);
	if (root >= 0)
		close(root);
}

static int run_doctor(const struct options *options, const struct arguments *args) {
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
	/* With --json, the error is the answer. */
	if (configured != DONE && options->json) {
		stet_json_free(found.json);
		stet_workspace_close(ws);
		return configured;
	}
	check_all(&found, ws, config ? stet_config_value(config, "stateDir") : ".stet");
	int status = print_findings(&found, options, config);
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
	.summary = "check the system and the configuration",
	.description =
		"Checks the kernel, the filesystem of the root, the free inotify watches, the state "
		"directory with its database and sessions, and the configuration of clients, runs the "
		"command "
		"of each of their hooks with a sample event, and advises "
		"what to do where something is weak or broken. It changes nothing. Then lists every key of "
		"the configuration with its value and where the value comes from. The exit status is 1 if "
		"something is broken.",
	.examples = (const struct example[]){{"stet doctor", "check this workspace"}, {0}},
	.run = run_doctor,
};
