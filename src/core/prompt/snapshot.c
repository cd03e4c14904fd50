#include "core/prompt/snapshot.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <strings.h>
#include <time.h>

#include "base/plural.h"
#include "base/quote.h"
#include "core/workspace/file_type.h"
#include "text/tokens/tokens.h"

/* How many files of a group to consider for naming: more never fit. */
enum { NAMED_MAX = 128 };

/* How many directories to count separately. */
enum { DIRECTORIES_MAX = 6 };

/* The most bytes of a name and of a task's description. */
enum { NAME_MAX_SHOWN = 100, TASK_MAX_SHOWN = 240 };

/* In the order in which they get room. */
enum rank { EXTERNAL, CHANGED, UNCHANGED, RANKS, GONE };

/* The files of one rank: how many, and the indexes of the first ones. */
struct group {
	enum rank rank;
	size_t total;
	size_t count;
	size_t named[NAMED_MAX];
};

struct draft {
	const struct st_repo_state *state;
	struct group groups[RANKS];
	struct group gone;
};

static enum rank rank_of(const struct st_repo_file *file) {
	if (file->status == ST_FILE_DELETED)
		return GONE;
	if (file->external)
		return EXTERNAL;
	return file->status == ST_FILE_UNCHANGED ? UNCHANGED : CHANGED;
}

/* ---- names ---- */

/* Punctuation beside a space, as in ", " or " (", could pass for the text around the name. */
static bool looks_like_text(struct st_str name) {
	for (size_t i = 1; i < name.len; i++) {
		char other = name.ptr[i] == ' ' ? name.ptr[i - 1] : name.ptr[i];
		if ((name.ptr[i] == ' ' || name.ptr[i - 1] == ' ') && ispunct((unsigned char)other))
			return true;
	}
	return false;
}

void st_snapshot_add_name(struct st_buf *out, struct st_str name) {
	if (looks_like_text(name) && name.len <= NAME_MAX_SHOWN)
		st_buf_adds(out, st_quoted_str(name));
	else
		st_quote_name_max(out, name, NAME_MAX_SHOWN);
}

/* ---- files ---- */

static void group_files(struct draft *draft) {
	for (size_t i = 0; i < draft->state->file_count; i++) {
		enum rank rank = rank_of(&draft->state->files[i]);
		struct group *group = rank == GONE ? &draft->gone : &draft->groups[rank];
		if (group->count < NAMED_MAX)
			group->named[group->count++] = i;
		group->total++;
	}
}

static struct st_str path_of(const struct draft *draft, size_t index) {
	return st_str(draft->state->files[index].path);
}

static void add_mark(struct st_buf *out, const struct st_repo_file *file, const char *before,
                     const char *behind) {
	st_auto(st_buf) who = ST_BUF_INIT;
	if (file->who) {
		st_buf_adds(&who, " by ");
		st_snapshot_add_name(&who, st_str(file->who));
	}
	if (file->external && file->read)
		st_buf_addf(out, "%schanged%s since read%s", before,
		            file->who ? st_buf_cstr(&who) : " by others", behind);
	else if (file->external)
		st_buf_addf(out, "%s%s outside stet%s", before,
		            file->status == ST_FILE_UNCHANGED ? "put back"
		                                              : st_file_status_name(file->status),
		            behind);
	/* A file without a word was created in this story. */
	else if (file->status != ST_FILE_CREATED || file->who)
		st_buf_addf(out, "%s%s%s%s", before, st_file_status_name(file->status), st_buf_cstr(&who),
		            behind);
	out->failed |= who.failed;
}

/* "  • cmd/main.go (a4f3e1, 245 bytes) - go source" */
static void add_file_line(struct st_buf *out, const struct st_repo_file *file) {
	char hex[7];
	st_hash_hex(&file->version.hash, hex, 6);
	st_buf_adds(out, "  \xe2\x80\xa2 ");
	st_snapshot_add_name(out, st_str(file->path));
	if (file->version.exists) {
		st_buf_addf(out, " (%s, %" PRIu64 " %s", hex, file->version.stamp.size,
		            st_plural(file->version.stamp.size, "byte", "bytes"));
		add_mark(out, file, ", ", "");
		st_buf_addc(out, ')');
	} else {
		add_mark(out, file, " (", ")");
	}
	st_buf_addf(out, " - %s\n", st_file_type(st_str(file->path)).label);
}

/* Case-insensitive, as people search. */
static int by_name(const void *a, const void *b) {
	const struct st_repo_file *const *left = a;
	const struct st_repo_file *const *right = b;
	int order = strcasecmp((*left)->path, (*right)->path);
	return order ? order : strcmp((*left)->path, (*right)->path);
}

static void add_file_lines(struct st_buf *out, const struct draft *draft,
                           const struct group *group) {
	const struct st_repo_file *files[NAMED_MAX];
	for (size_t i = 0; i < group->count; i++)
		files[i] = &draft->state->files[group->named[i]];
	qsort(files, group->count, sizeof *files, by_name);
	for (size_t i = 0; i < group->count; i++)
		add_file_line(out, files[i]);
}

/* The directory of a path, with its slash; empty for the root. */
static struct st_str directory_of(struct st_str path) {
	const char *slash = memrchr(path.ptr, '/', path.len);
	return st_strn(path.ptr, slash ? (size_t)(slash - path.ptr) + 1 : 0);
}

/* "  • src/: a.c, b.c (modified)", one line per directory. */
static void add_names(struct st_buf *out, const struct draft *draft, const struct group *group,
                      size_t count) {
	struct st_str last = {0};
	for (size_t i = 0; i < count; i++) {
		const struct st_repo_file *file = &draft->state->files[group->named[i]];
		struct st_str path = st_str(file->path);
		struct st_str directory = directory_of(path);
		if (last.ptr && st_str_eq(directory, last)) {
			st_buf_adds(out, ", ");
		} else {
			st_buf_adds(out, i > 0 ? "\n  \xe2\x80\xa2 " : "  \xe2\x80\xa2 ");
			if (directory.len) {
				st_snapshot_add_name(out, directory);
				st_buf_adds(out, ": ");
			}
			last = directory;
		}
		st_snapshot_add_name(out, st_str_slice(path, directory.len, path.len));
		add_mark(out, file, " (", ")");
	}
	if (count > 0)
		st_buf_addc(out, '\n');
}

/* ---- counts by directory ---- */

struct directory {
	struct st_str name;
	size_t count;
};

struct directories {
	/** The length of the directory that all paths share, with its slash. */
	size_t common;
	/** Those with the most files, in descending order; ties by name. */
	struct directory top[DIRECTORIES_MAX];
	size_t listed;
	size_t total;
};

/* The directory of a path just below the common one; the common one itself for a file right there. */
static struct st_str child_dir_of(struct st_str path, size_t common) {
	const char *slash = memchr(path.ptr + common, '/', path.len - common);
	return st_str_slice(path, 0, slash ? (size_t)(slash - path.ptr) + 1 : common);
}

static void directories_add(struct directories *dirs, struct directory dir) {
	size_t at = dirs->listed;
	dirs->total++;
	while (at > 0 && dirs->top[at - 1].count < dir.count)
		at--;
	if (at == DIRECTORIES_MAX)
		return;
	if (dirs->listed < DIRECTORIES_MAX)
		dirs->listed++;
	memmove(&dirs->top[at + 1], &dirs->top[at], (dirs->listed - at - 1) * sizeof dir);
	dirs->top[at] = dir;
}

/* The next file of a rank, from an index on; file_count if there is none. */
static size_t next_of(const struct draft *draft, enum rank rank, size_t from) {
	while (from < draft->state->file_count && rank_of(&draft->state->files[from]) != rank)
		from++;
	return from;
}

static size_t last_of(const struct draft *draft, enum rank rank) {
	assert(draft->state->file_count > 0);
	size_t i = draft->state->file_count - 1;
	while (i > 0 && rank_of(&draft->state->files[i]) != rank)
		i--;
	return i;
}

/* Paths are sorted: a prefix that the first and the last share is shared by all. */
static size_t common_of(struct st_str a, struct st_str b) {
	size_t common = 0;
	for (size_t i = 0; i < a.len && i < b.len && a.ptr[i] == b.ptr[i]; i++) {
		if (a.ptr[i] == '/')
			common = i + 1;
	}
	return common;
}

/* Count the files of a rank from an index on. */
static void count_directories(const struct draft *draft, enum rank rank, size_t from,
                              struct directories *dirs) {
	struct directory dir = {0}, top = {0};
	size_t first = next_of(draft, rank, from);
	dirs->common = common_of(path_of(draft, first), path_of(draft, last_of(draft, rank)));
	for (size_t i = first; i < draft->state->file_count; i = next_of(draft, rank, i + 1)) {
		struct st_str name = child_dir_of(path_of(draft, i), dirs->common);
		/* Files of the common directory lie between its subdirectories. */
		if (name.len == dirs->common) {
			top.name = name;
			top.count++;
			continue;
		}
		if (dir.count && !st_str_eq(name, dir.name)) {
			directories_add(dirs, dir);
			dir.count = 0;
		}
		dir.name = name;
		dir.count++;
	}
	if (dir.count)
		directories_add(dirs, dir);
	if (top.count)
		directories_add(dirs, top);
}

/* "src/ (70), docs/ (7), 12 other directories (40)" */
static void add_directories(struct st_buf *out, const struct directories *dirs, size_t files) {
	for (size_t i = 0; i < dirs->listed; i++) {
		struct st_str name = dirs->top[i].name;
		st_buf_adds(out, i > 0 ? ", " : "");
		if (name.len)
			st_snapshot_add_name(out, name);
		else
			st_buf_adds(out, "top directory");
		st_buf_addf(out, " (%zu)", dirs->top[i].count);
		files -= dirs->top[i].count;
	}
	if (dirs->total > dirs->listed)
		st_buf_addf(out, ", %zu other %s (%zu)", dirs->total - dirs->listed,
		            st_plural(dirs->total - dirs->listed, "directory", "directories"), files);
}

/* Count the files of a group that were not named. */
static void add_rest(struct st_buf *out, const struct draft *draft, const struct group *group,
                     size_t named) {
	static const char *const names[] = {
		[EXTERNAL] = "changed by others",
		[CHANGED] = "changed in this story",
		[UNCHANGED] = "unchanged",
		[GONE] = "gone",
	};
	struct directories dirs = {0};
	size_t left = group->total - named;
	if (left == 0)
		return;
	count_directories(draft, group->rank, named ? group->named[named - 1] + 1 : 0, &dirs);
	st_buf_addf(out, "  \xe2\x80\xa2 %s%zu %s: ", named ? "and " : "", left, names[group->rank]);
	add_directories(out, &dirs, left);
	st_buf_addc(out, '\n');
}

/* ---- fitting the groups into the budget ---- */

enum form { LINES, NAMES, COUNTS };

static void add_group(struct st_buf *out, const struct draft *draft, const struct group *group,
                      enum form form) {
	if (form == LINES)
		add_file_lines(out, draft, group);
	else if (form == NAMES)
		add_names(out, draft, group, group->count);
	else
		add_rest(out, draft, group, 0);
}

static bool fits_budget(const struct st_buf *text, size_t limit) {
	return st_tokens(st_buf_str(text)) <= limit;
}

/* Name as many files as fit, and count the others. */
static void add_some(struct st_buf *out, const struct draft *draft, const struct group *group,
                     size_t limit) {
	st_auto(st_buf) trial = ST_BUF_INIT;
	size_t low = 0;
	size_t high = group->count;
	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		st_buf_clear(&trial);
		add_names(&trial, draft, group, middle);
		add_rest(&trial, draft, group, middle);
		if (fits_budget(&trial, limit))
			low = middle;
		else
			high = middle - 1;
	}
	out->failed |= trial.failed;
	add_names(out, draft, group, low);
	add_rest(out, draft, group, low);
}

/* Use the first plan that fits: later groups lose their detail first. */
static void add_groups(struct st_buf *out, const struct draft *draft, size_t limit) {
	static const enum form plans[][RANKS] = {
		{LINES, LINES, LINES}, {LINES, LINES, NAMES},  {LINES, LINES, COUNTS},
		{NAMES, NAMES, NAMES}, {NAMES, NAMES, COUNTS},
	};
	st_auto(st_buf) trial = ST_BUF_INIT;
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
		bool possible = true;
		for (size_t j = 0; j < RANKS; j++)
			possible &= plans[i][j] == COUNTS || draft->groups[j].total == draft->groups[j].count;
		if (!possible)
			continue;
		st_buf_clear(&trial);
		for (size_t j = 0; j < RANKS; j++)
			add_group(&trial, draft, &draft->groups[j], plans[i][j]);
		if (fits_budget(&trial, limit)) {
			st_buf_add(out, st_buf_str(&trial));
			return;
		}
	}
	st_buf_clear(&trial);
	add_group(&trial, draft, &draft->groups[UNCHANGED], COUNTS);
	size_t rest = st_tokens(st_buf_str(&trial));
	size_t left = limit > rest ? limit - rest : 0;
	size_t before = out->len;
	if (draft->groups[EXTERNAL].total)
		add_some(out, draft, &draft->groups[EXTERNAL],
		         draft->groups[CHANGED].total ? left / 2 : left);
	size_t used = st_tokens(st_strn(out->ptr + before, out->len - before));
	add_some(out, draft, &draft->groups[CHANGED], left > used ? left - used : 0);
	st_buf_add(out, st_buf_str(&trial));
}

static void add_files(struct st_buf *out, const struct draft *draft, size_t limit) {
	size_t total = 0;
	for (size_t i = 0; i < RANKS; i++)
		total += draft->groups[i].total;
	st_buf_addf(out, "\nExisting Files (%zu):%s\n", total, total ? "" : " none tracked");
	if (total)
		add_groups(out, draft, limit);
}

static void add_gone(struct st_buf *out, const struct draft *draft, size_t limit) {
	const struct group *gone = &draft->gone;
	size_t used = 0;
	size_t i = 0;
	if (gone->total == 0)
		return;
	st_buf_addf(out, "\nDeleted in this story (%zu): ", gone->total);
	for (; i < gone->count; i++) {
		size_t before = out->len;
		st_buf_adds(out, i > 0 ? ", " : "");
		st_snapshot_add_name(out, path_of(draft, gone->named[i]));
		if (out->failed)
			return;
		used += st_tokens(st_strn(out->ptr + before, out->len - before));
		if (used > limit) {
			st_buf_truncate(out, before);
			break;
		}
	}
	if (i < gone->total)
		st_buf_addf(out, "%s%zu more", i > 0 ? " and " : "", gone->total - i);
	st_buf_addc(out, '\n');
}

/* ---- tasks ---- */

static size_t count_open(const struct st_repo_state *state) {
	size_t count = 0;
	for (size_t i = 0; i < state->task_count; i++)
		count += state->tasks[i].status != ST_TASK_COMPLETED;
	return count;
}

static void add_task_line(struct st_buf *out, const struct st_repo_task *task, size_t number) {
	int64_t listed = task->id > 0 ? task->id : (int64_t)number;
	st_buf_addf(out, "  %" PRId64 ". [%s", listed,
	            task->status == ST_TASK_IN_PROGRESS ? "in_progress" : "pending");
	if (task->owner && *task->owner) {
		st_buf_adds(out, " by ");
		st_snapshot_add_name(out, st_str(task->owner));
	}
	if (task->place && *task->place) {
		st_buf_adds(out, " in ");
		st_snapshot_add_name(out, st_str(task->place));
	}
	st_buf_adds(out, "] ");
	st_quote_line(out, st_str(task->description), TASK_MAX_SHOWN);
	st_buf_addc(out, '\n');
}

/* List the first task always, and the others while there is room. */
static void add_open(struct st_buf *out, const struct st_repo_state *state, size_t open,
                     size_t limit) {
	size_t used = 0;
	size_t listed = 0;
	st_buf_addf(out, "\nOpen Tasks (%zu):\n", open);
	for (size_t i = 0; i < state->task_count; i++) {
		size_t before = out->len;
		if (state->tasks[i].status == ST_TASK_COMPLETED)
			continue;
		add_task_line(out, &state->tasks[i], listed + 1);
		if (out->failed)
			return;
		used += st_tokens(st_strn(out->ptr + before, out->len - before));
		if (used > limit && listed > 0) {
			st_buf_truncate(out, before);
			st_buf_addf(out, "  ... and %zu more\n", open - listed);
			return;
		}
		listed++;
	}
}

static void add_tasks(struct st_buf *out, const struct st_repo_state *state, size_t limit) {
	size_t open = count_open(state);
	if (open)
		add_open(out, state, open, limit);
	else if (state->task_count)
		st_buf_addf(out, "\nOpen Tasks (0): all tasks done (%zu completed)\n", state->task_count);
	else
		st_buf_adds(out, "\nOpen Tasks (0): none set\n");
}

/* ---- the snapshot ---- */

static void add_head(struct st_buf *out, const struct st_repo_state *state) {
	st_buf_adds(out, "--- Repository State ---\nWorkspace: ");
	st_snapshot_add_name(out, st_str(state->work_dir));
	if (state->story_id && *state->story_id) {
		st_buf_adds(out, "\nStory: ");
		st_snapshot_add_name(out, st_str(state->story_id));
	}
	st_buf_addc(out, '\n');
}

static void add_time(struct st_buf *out, int64_t nanoseconds) {
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	char text[64] = "";
	struct tm tm;
	if (nanoseconds <= 0)
		return;
	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		return;
	st_buf_addf(out, "\nLast updated: %s\n", text);
}

int st_snapshot_format(const struct st_repo_state *state, size_t budget, struct st_buf *out,
                       struct stet_error *err) {
	st_auto(st_buf) tail = ST_BUF_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	struct draft draft = {.state = state, .gone = {.rank = GONE}};
	for (size_t i = 0; i < RANKS; i++)
		draft.groups[i].rank = (enum rank)i;
	if (budget == 0)
		budget = ST_SNAPSHOT_BUDGET;
	if (budget < ST_SNAPSHOT_BUDGET_MIN)
		budget = ST_SNAPSHOT_BUDGET_MIN;
	/* The estimate of tokens is made for code and prose; unusual names have more. */
	budget -= budget / 16;
	group_files(&draft);

	/* Tasks get room first; files get what remains. */
	add_gone(&tail, &draft, budget / 8);
	add_tasks(&tail, state, budget * 2 / 5);
	add_time(&tail, state->last_updated);
	add_head(&text, state);
	size_t used = st_tokens(st_buf_str(&text)) + st_tokens(st_buf_str(&tail)) + 12;
	add_files(&text, &draft, budget > used ? budget - used : 0);
	st_buf_add(&text, st_buf_str(&tail));
	if (text.failed || tail.failed)
		return st_fail_nomem(err);
	st_buf_add(out, st_buf_str(&text));
	return out->failed ? st_fail_nomem(err) : 0;
}
