/*
 * A state directory from a stranger: journals, WALs, schemas, types, links,
 * FIFOs, hard links, mutations. Every command runs on each of them, and nothing
 * outside the root is read, written, deleted or waited for; what is refused is
 * refused with a sentence.
 */
#include <signal.h>
#include <sys/inotify.h>
#include <time.h>

#include "base/buf.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "fs/file/hash.h"
#include "lib/gen.h"
#include "lib/legacy.h"
#include "lib/program.h"
#include "lib/test.h"

#define SECRET "a secret that nobody may read\n"

static const char *const commands[][8] = {
	{"read", "a.txt"},
	{"--session", "agent", "read", "a.txt"},
	{"hash", "a.txt"},
	{"--session", "agent", "check", "a.txt"},
	{"edit", "a.txt", "one", "two"},
	{"--session", "agent", "edit", "a.txt", "two", "one"},
	{"replace", "a.txt", "one", "three"},
	{"patch", "a.txt", "replace", "one", "--lines", "1"},
	{"apply", "template/fix.diff"},
	{"write", "c.txt"},
	{"--session", "agent", "write", "a.txt"},
	{"inspect", "a.txt"},
	{"agents"},
	{"snapshot"},
	{"snapshot", "--json"},
	{"story"},
	{"story", "another"},
	{"task", "add", "something"},
	{"task"},
	{"--session", "agent", "changes"},
	{"log"},
	{"log", "--json"},
	{"log", "--diff"},
	{"show", "1"},
	{"diff", "--since", "1h"},
	{"undo", "a.txt"},
	{"undo", "--since", "1h", "--dry-run"},
	{"undo", "--since", "1h"},
	{"undo", "--redo"},
	{"grep", "one"},
	{"hook"},
	{"record", "Write", "template/record.json"},
	{"replay", "template/record.json"},
	{"setup", "claude", "--print"},
	{"prompt"},
	{"compact"},
	{"doctor"},
	{"doctor", "--json"},
	{"mcp"},
	{"watch"},
	{"serve", "--listen", "127.0.0.1:0"},
	{"page"},
	{"top", "--once"},
	{"who"},
	{"forecast"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* The name of a command behind the options. */
static const char *name_of(const char *const *command) {
	while (command[0][0] == '-')
		command += 2;
	return command[0];
}

/* These go on until they are told to end. */
static bool is_endless(const char *name) {
	return strcmp(name, "watch") == 0 || strcmp(name, "serve") == 0 || strcmp(name, "page") == 0;
}

/* ---- outside ---- */

struct outside {
	int events;
	struct timespec before;
};

static void lay_outside(const struct dir *dir, struct outside *outside) {
	dir_write(dir, "outside/super", SECRET);
	dir_write(dir, "outside/victim", SECRET);
	dir_write(dir, "outside/dir/inner", SECRET);
	assert_int_equal(mkfifo(dir_at(dir, "outside/pipe"), 0600), 0);
	outside->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(outside->events >= 0);
}

static void watch_outside(const struct dir *dir, const struct outside *outside) {
	assert_true(inotify_add_watch(outside->events, dir_at(dir, "outside"), IN_ALL_EVENTS) >= 0);
	assert_true(inotify_add_watch(outside->events, dir_at(dir, "outside/dir"), IN_ALL_EVENTS) >= 0);
}

/*
 * Whether there were events in the watched directories since the last call, and the
 * first of them.
 */
static bool has_events(const struct outside *outside, struct inotify_event *first) {
	char buffer[16384] __attribute__((aligned(8)));
	bool any = false;
	for (ssize_t len; (len = read(outside->events, buffer, sizeof buffer)) > 0;) {
		if (!any)
			memcpy(first, buffer, sizeof *first);
		any = true;
	}
	return any;
}

static void expect_untouched(const struct dir *dir, const struct outside *outside,
                             const char *what) {
	struct inotify_event event = {0};
	if (has_events(outside, &event))
		fail_msg("%s: something outside was touched (event %x)", what, event.mask);
	static const char *const names[] = {"outside/super", "outside/victim", "outside/dir/inner"};
	for (size_t i = 0; i < 3; i++) {
		if (!dir_has(dir, names[i]))
			fail_msg("%s: %s was deleted", what, names[i]);
		if (strcmp(dir_read(dir, names[i]), SECRET) != 0)
			fail_msg("%s: %s was written", what, names[i]);
	}
	if (dir_count(dir, "outside") != 4 || dir_count(dir, "outside/dir") != 1)
		fail_msg("%s: files outside appeared or went", what);
	(void)has_events(outside, &event);
}

/* ---- poison ---- */

static void add_number(struct st_buf *out, uint32_t number) {
	for (int shift = 24; shift >= 0; shift -= 8)
		st_buf_addc(out, (char)(number >> shift));
}

static const char *const state_files[] = {
	"stet.db",
	"stet.db-journal",
	"stet.db-wal",
	"stet.db-shm",
	"daybook",
	"repostate.json",
	".gitignore",
	"versions/.room",
	"moved/.room",
	"versions/2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806",
	"moved/2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806",
	"rescued/0123456789abcdef-a.txt.untold",
	"rescued/0123456789abcdef-a.txt.in-place",
	"rescued/new-0123456789abcdef",
	"versions",
	"moved",
	"rescued",
	"kept",
};
enum { STATE_FILES = sizeof state_files / sizeof *state_files, PLAIN_FILES = STATE_FILES - 4 };

static const char *in_state(const char *name) {
	static char path[160];
	snprintf(path, sizeof path, "root/.stet/%s", name);
	return path;
}

/* Make a directory; what an earlier poison put in its place, such as a link to the outside, goes. */
static void make_folder(const struct dir *dir, const char *name) {
	struct stat st;
	const char *path = in_state(name);
	if (fstatat(dir->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return;
	(void)unlinkat(dir->fd, path, 0);
	assert_int_equal(mkdirat(dir->fd, path, 0700), 0);
}

/* Take away what has a name in the state directory; its parent is there then. */
static const char *clear(const struct dir *dir, const char *name) {
	static const char *const folders[] = {"versions", "moved", "rescued"};
	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(folders[i]);
		if (strncmp(name, folders[i], len) == 0 && name[len] == '/')
			make_folder(dir, folders[i]);
	}
	const char *path = in_state(name);
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", path, NULL}), 0);
	return path;
}

#define JOURNAL_MAGIC "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

/* A hot journal without pages that names a super-journal. */
static void journal_naming(const struct dir *dir, const char *super, uint32_t pages) {
	st_auto(st_buf) journal = ST_BUF_INIT;
	uint32_t sum = 0;
	st_buf_add(&journal, st_strn(JOURNAL_MAGIC, 8));
	add_number(&journal, 0);
	add_number(&journal, 0x1234);
	add_number(&journal, pages);
	add_number(&journal, 512);
	add_number(&journal, 4096);
	while (journal.len < 512)
		st_buf_addc(&journal, '\0');
	if (*super) {
		add_number(&journal, 0x40000000 / 4096 + 1);
		st_buf_adds(&journal, super);
		for (const char *c = super; *c; c++)
			sum += (unsigned char)*c;
		add_number(&journal, (uint32_t)strlen(super));
		add_number(&journal, sum);
		st_buf_add(&journal, st_strn(JOURNAL_MAGIC, 8));
	}
	dir_write_bytes(dir, clear(dir, "stet.db-journal"), journal.ptr, journal.len);
}

static void poison_journal(const struct dir *dir, struct gen *gen) {
	static const char *const supers[] = {"outside/super",     "outside/victim", "outside/pipe",
	                                     "outside/dir/inner", "outside/dir",    "root/a.txt"};
	const char *super = dir_at(dir, supers[gen_below(gen, 6)]);
	journal_naming(dir, gen_one_in(gen, 8) ? "" : super,
	               gen_one_in(gen, 4) ? 0xffffff : (uint32_t)gen_below(gen, 30));
}

static void poison_fifo(const struct dir *dir, struct gen *gen) {
	assert_int_equal(mkfifoat(dir->fd, clear(dir, state_files[gen_below(gen, STATE_FILES)]), 0600),
	                 0);
}

static void poison_symlink(const struct dir *dir, struct gen *gen) {
	static const char *const targets[] = {"outside/victim", "outside/pipe", "outside/dir",
	                                      "outside/missing"};
	const char *target = dir_at(dir, targets[gen_below(gen, 4)]);
	assert_int_equal(
		symlinkat(target, dir->fd, clear(dir, state_files[gen_below(gen, STATE_FILES)])), 0);
}

static void poison_hard_link(const struct dir *dir, struct gen *gen) {
	const char *name = clear(dir, state_files[gen_below(gen, PLAIN_FILES)]);
	assert_int_equal(linkat(dir->fd, "outside/victim", dir->fd, name, 0), 0);
}

static void poison_directory(const struct dir *dir, struct gen *gen) {
	const char *name = clear(dir, state_files[gen_below(gen, PLAIN_FILES)]);
	assert_int_equal(mkdirat(dir->fd, name, 0700), 0);
}

/* The whole directory through a link, or a file, in its place. */
static void poison_itself(const struct dir *dir, struct gen *gen) {
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", "root/.stet", NULL}), 0);
	if (gen_one_in(gen, 2))
		assert_int_equal(symlinkat(dir_at(dir, "outside/dir"), dir->fd, "root/.stet"), 0);
	else
		assert_int_equal(mkfifoat(dir->fd, "root/.stet", 0600), 0);
}

static void poison_sql(const struct dir *dir, struct gen *gen) {
	static const char *const statements[] = {
		"UPDATE files SET changed = 9223372036854775807",
		"UPDATE files SET changed = -9223372036854775808, size = -1, racy = 'x', external = 9e99",
		"UPDATE meta SET value = 9223372036854775807",
		"UPDATE meta SET value = 'text'",
		"UPDATE files SET path = '../outside/victim'",
		"UPDATE files SET path = '/etc/passwd', hash = 7",
		"UPDATE files SET path = x'00ff00', hash = zeroblob(32), base = zeroblob(5000000)",
		"UPDATE seen SET path = '../outside/victim', total = 9223372036854775807, lines = '1-99'",
		"UPDATE seen SET total = -1, lines = '18446744073709551615-18446744073709551616,'",
		"UPDATE seen SET lines = '9-1,1-2-3,,,x', size = -5, mtime_ns = 'now'",
		"UPDATE sessions SET version = 9223372036854775807, used_at = 'never'",
		"INSERT INTO given VALUES (1, '../outside/victim', '/', zeroblob(32), 1)",
		"INSERT INTO writes VALUES (9223372036854775807, '../outside/victim', 'x', 7, zeroblob(32),"
		" zeroblob(32), 9223372036854775807, -1)",
		"INSERT INTO tasks VALUES (9223372036854775807, randomblob(9000), 99, -9, x'00', 'x')",
		"INSERT INTO stories VALUES (9223372036854775807, zeroblob(3000000), 'x', NULL)",
		"UPDATE sessions SET name = 'x' || char(27, 10, 8238) || 'Do this:'",
		"UPDATE writes SET path = 'a' || char(27, 10, 8238), session = char(27, 10, 917569)",
		"UPDATE files SET path = 'a' || char(27, 10, 8238, 917569)",
		"UPDATE tasks SET description = char(27, 155, 8238), owner = char(27, 10, 8238)",
		"UPDATE stories SET name = char(27, 155, 8238, 10)",
		"CREATE TRIGGER evil AFTER INSERT ON tasks BEGIN DELETE FROM files; END",
		"CREATE VIEW evil AS SELECT writefile('/tmp/evil', 'x')",
		"DROP TABLE tasks; CREATE VIEW tasks AS SELECT * FROM files",
		"DROP TABLE files; CREATE TABLE files (path, hash AS (randomblob(100000000)))",
		"DROP TABLE meta; CREATE TABLE meta (name TEXT PRIMARY KEY, value CHECK "
		"(load_extension('/tmp/x')))",
		"CREATE INDEX evil ON tasks (abs(priority + 9223372036854775807))",
		"CREATE VIRTUAL TABLE evil USING fts5(x)",
		"PRAGMA user_version = 1",
		"PRAGMA user_version = -7",
		"PRAGMA user_version = 99",
		"PRAGMA journal_mode = DELETE",
		"PRAGMA page_size = 512; PRAGMA journal_mode = DELETE; VACUUM",
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2",
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE files (x)'"
		" WHERE name = 'files'",
		"PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'index'",
		"PRAGMA encoding = 'UTF-16'; VACUUM",
	};
	size_t count = sizeof statements / sizeof *statements;
	st_auto(st_buf) output = ST_BUF_INIT;
	/*
	 * On a copy: sqlite3 itself obeys the journal that an earlier poison may have put beside the
	 * database. Some statements are refused by this or that version of sqlite3: then it is another
	 * round of the rest.
	 */
	assert_int_equal(
		run(dir, NULL, (const char *[]){"cp", "template/.stet/stet.db", "made.db", NULL}), 0);
	(void)run(dir, &output,
	          (const char *[]){"sqlite3", "-cmd", ".dbconfig defensive off", "made.db",
	                           statements[gen_below(gen, count)], NULL});
	assert_int_equal(renameat(dir->fd, "made.db", dir->fd, clear(dir, "stet.db")), 0);
}

/* Some bytes of a file are others, or its end is missing. */
static void poison_bytes(const struct dir *dir, struct gen *gen) {
	static const char *const names[] = {"stet.db", "stet.db", "stet.db-wal", "daybook",
	                                    "repostate.json"};
	const char *name = names[gen_below(gen, 5)];
	struct stat st;
	/* What an earlier poison put there may lead outside, where this test must not write either. */
	if (fstatat(dir->fd, in_state(name), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!S_ISREG(st.st_mode) || st.st_nlink > 1))
		(void)clear(dir, name);
	int fd = openat(dir->fd, in_state(name), O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	size_t size = (size_t)st.st_size + 1;
	if (gen_one_in(gen, 4))
		assert_int_equal(ftruncate(fd, (off_t)gen_below(gen, size)), 0);
	for (size_t i = gen_below(gen, 60) + 1; i > 0; i--) {
		unsigned char byte = (unsigned char)gen_next(gen);
		/* The first page decides about the rest. */
		size_t at = gen_one_in(gen, 2) && size > 200 ? gen_below(gen, 200) : gen_below(gen, size);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	close(fd);
}

static void poison_json(const struct dir *dir, struct gen *gen) {
	static const char *const texts[] = {
		"{\"version\":1,\"files\":{\"../outside/victim\":{\"hash\":\"00\"}}}",
		"{\"version\":1,\"files\":{\"/etc/passwd\":{\"hash\":7,\"size\":-1}},\"tasks\":7}",
		"{\"version\":1e999,\"files\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}",
		"{\"version\":1,\"storyId\":\"\\u0000\\u202e\",\"tasks\":[{\"id\":1e300}]}",
	};
	dir_write(dir, clear(dir, "repostate.json"), texts[gen_below(gen, 4)]);
	(void)clear(dir, "stet.db");
}

/* The notes of stet 0.1.0, with checksums that are right, say anything. */
static void poison_notes(const struct dir *dir, struct gen *gen) {
	static const char *const paths[] = {"../outside/victim", "/etc/passwd", "a.txt", "b.txt/..",
	                                    ".stet/stet.db",     "a.txt/x",     "."};
	st_auto(st_buf) notes = ST_BUF_INIT;
	legacy_begin(&notes, (int64_t)gen_next(gen));
	for (size_t i = gen_below(gen, 20); i > 0; i--) {
		struct st_file_event event = {
			.path = paths[gen_below(gen, 7)],
			.kind = (enum st_event_kind)gen_below(gen, ST_EVENT_DIR_REMOVED + 1),
			.before.exists = gen_one_in(gen, 2),
			.after = {.exists = gen_one_in(gen, 2),
		              .stamp = {.size = gen_next(gen), .mtime_ns = (int64_t)gen_next(gen)}},
			.who = gen_one_in(gen, 2) ? "agent" : NULL,
			.at = (int64_t)gen_next(gen),
			.undoes = gen_one_in(gen, 2) ? (int64_t)gen_next(gen) : 1,
			.moved_to = gen_one_in(gen, 3) ? paths[gen_below(gen, 7)] : NULL,
			.foreign = gen_one_in(gen, 4),
		};
		memset(&event.before.hash, (int)gen_next(gen), sizeof event.before.hash);
		memset(&event.after.hash, (int)gen_next(gen), sizeof event.after.hash);
		legacy_add(&notes, &event);
	}
	const char *name = clear(dir, "daybook");
	dir_write_bytes(dir, name, notes.ptr, notes.len);
}

/* Nobody has the time to read all of it. */
static void poison_size(const struct dir *dir, struct gen *gen) {
	const char *name = clear(dir, state_files[gen_below(gen, PLAIN_FILES)]);
	dir_write(dir, name, "");
	assert_int_equal(truncate(dir_at(dir, name), (off_t)1 << 40), 0);
}

/* What stet set aside and says so; here the name says something else. */
static void poison_name(const struct dir *dir, struct gen *gen) {
	static const char *const endings[] = {"untold", "in-place"};
	struct st_hash hash;
	char hex[ST_HASH_SHORT + 1], name[100];
	assert_int_equal(st_hash_of(ST_STR("x"), &hash, NULL), 0);
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	snprintf(name, sizeof name, "rescued/%s-a\x1b[31m\u202e\nDo this.%s", hex,
	         endings[gen_below(gen, 2)]);
	dir_write(dir, clear(dir, name), "x");
}

typedef void poison_fn(const struct dir *dir, struct gen *gen);

static poison_fn *const poisons[] = {
	poison_journal,   poison_journal,   poison_fifo,  poison_symlink,
	poison_hard_link, poison_hard_link, poison_sql,   poison_sql,
	poison_bytes,     poison_bytes,     poison_notes, poison_json,
	poison_directory, poison_size,      poison_name,  poison_itself,
};
enum { POISONS = sizeof poisons / sizeof *poisons };

/* ---- every command ---- */

static bool is_sanitizer(const struct st_buf *output) {
	return strstr(st_buf_cstr(output), "Sanitizer") || strstr(st_buf_cstr(output), "runtime error");
}

/* Whether a reader sees all of it, and a terminal obeys none of it. */
static bool is_visible(struct st_str text) {
	uint32_t point;
	for (size_t len; text.len > 0; text = st_str_slice(text, len, text.len)) {
		len = st_utf8_next(text, &point);
		if (st_char_kind(point) != ST_CHAR_PLAIN && point != '\n' && point != '\t')
			return false;
	}
	return true;
}

static void try_command(const struct dir *dir, const struct outside *outside, size_t number,
                        const char *what) {
	static const char whole[] = "exec timeout -s KILL 60 \"$STET\" \"$@\" 2>&1";
	static const char begun[] =
		"exec timeout --preserve-status -s TERM -k 60 0.3 \"$STET\" \"$@\" 2>&1";
	static const char hook[] = "exec timeout -s KILL 60 \"$STET\" hook <event.json 2>&1";
	const char *name = name_of(commands[number]);
	const char *script = is_endless(name) ? begun : strcmp(name, "hook") == 0 ? hook : whole;
	const char *argv[20] = {"sh", "-c", script, "stet", "--root", dir_at(dir, "root")};
	size_t count = 6;
	for (const char *const *arg = commands[number]; *arg; arg++)
		argv[count++] = *arg;
	st_auto(st_buf) output = ST_BUF_INIT;
	int status = run(dir, &output, argv);
	char where[128];
	snprintf(where, sizeof where, "%s, command %zu, %s", what, number, name);
	/* An endless one may be told to end before it has begun to listen for that. */
	if (is_endless(name) && status == 128 + SIGTERM)
		status = 0;
	if (status > 3 || is_sanitizer(&output))
		fail_msg("%s: status %d: %s", where, status, st_buf_cstr(&output));
	if (status > 0 && output.len == 0)
		fail_msg("%s: refused without a word", where);
	if (!is_visible(st_buf_str(&output)))
		fail_msg("%s: says what a terminal obeys or a reader does not see: %s", where, output.ptr);
	expect_untouched(dir, outside, where);
}

/* What stet 0.1.0 left to be stored. */
static void make_notes(const struct dir *dir) {
	st_auto(st_buf) notes = ST_BUF_INIT;
	const struct st_file_event event = {.path = "b.txt",
	                                    .kind = ST_EVENT_WRITTEN,
	                                    .before.exists = true,
	                                    .after.exists = true,
	                                    .who = "agent",
	                                    .at = 1};
	legacy_begin(&notes, 1);
	legacy_add(&notes, &event);
	dir_write_bytes(dir, "template/.stet/daybook", notes.ptr, notes.len);
}

/* What Claude Code says before it edits: stet hook finds the workspace by the path in it. */
static void make_event(const struct dir *dir) {
	st_auto(st_buf) event = ST_BUF_INIT;
	st_buf_addf(&event,
	            "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"agent\",\"cwd\":\"%s\","
	            "\"tool_name\":\"Edit\",\"tool_use_id\":\"t1\",\"tool_input\":{\"file_path\":"
	            "\"%s/a.txt\",\"old_string\":\"one\",\"new_string\":\"two\"}}",
	            dir_at(dir, "root"), dir_at(dir, "root"));
	dir_write_bytes(dir, "event.json", event.ptr, event.len);
}

/* A directory in which sessions, tasks, a story, writes and versions were kept. */
static void make_template(const struct dir *dir) {
	static const char *const lines[] = {
		"printf 'one\\nfour\\n' > a.txt; printf 'x\\n' > b.txt",
		"echo '{\"file_path\":\"a.txt\"}' > record.json",
		"\"$STET\" --session agent read a.txt",
		"\"$STET\" --session agent edit b.txt x y",
		"\"$STET\" story begin",
		"\"$STET\" task add first",
		"\"$STET\" edit b.txt y z",
	};
	assert_int_equal(mkdirat(dir->fd, "template", 0755), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char line[400];
		st_auto(st_buf) output = ST_BUF_INIT;
		snprintf(line, sizeof line, "cd template && %s", lines[i]);
		assert_int_equal(run(dir, &output, (const char *[]){"sh", "-c", line, NULL}), 0);
	}
	assert_true(dir_has(dir, "template/.stet/stet.db"));
	dir_write(dir, "template/fix.diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
	make_notes(dir);
	make_event(dir);
}

static void a_poisoned_state_reaches_nothing_outside(void **state) {
	const struct dir *dir = *state;
	struct outside outside;
	if (!getenv("STET"))
		skip_because("STET does not name the program");
	lay_outside(dir, &outside);
	make_template(dir);
	size_t rounds = gen_rounds(40, 400);
	for (size_t round = 0; round < rounds; round++) {
		struct gen gen = gen_new(gen_seed() + round);
		char what[64];
		size_t first = round % POISONS;
		snprintf(what, sizeof what, "seed %zu, poison %zu", (size_t)gen_seed() + round, first);
		assert_int_equal(run(dir, NULL, (const char *[]){"cp", "-a", "template", "root", NULL}), 0);
		poisons[first](dir, &gen);
		if (round >= POISONS && gen_one_in(&gen, 2) && first != POISONS - 1)
			poisons[gen_below(&gen, POISONS - 1)](dir, &gen);
		watch_outside(dir, &outside);
		struct inotify_event event;
		(void)has_events(&outside, &event);
		/* The first command finds the poison fresh: each has its turn. */
		for (size_t i = 0; i < COMMANDS; i++) {
			size_t number = (i + round) % COMMANDS;
			/* Those that take their time only if the poison is still fresh. */
			if (i < 4 || !is_endless(name_of(commands[number])))
				try_command(dir, &outside, number, what);
		}
		assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", "root", NULL}), 0);
	}
	close(outside.events);
}

static void expect_tried(void *data, const char *name, const char *usage) {
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(name_of(commands[i]), name) == 0)
			return;
	}
	fail_msg("%s is not tried: %s", name, usage);
}

static void no_command_is_left_out(void **state) {
	if (!getenv("STET"))
		skip_because("STET does not name the program");
	program_each_command(*state, expect_tried, NULL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(no_command_is_left_out),
		claim(a_poisoned_state_reaches_nothing_outside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
