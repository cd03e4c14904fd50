#include "core/instructions/lookup.h"

#include <limits.h>
#include <strings.h>
#include <unistd.h>

#include "fs/tree/ignore_file.h"
#include "fs/versions/state_dir.h"
#include "text/lines/lines.h"

/* How many files that contain only a name stet follows in a row. */
enum { HOPS_MAX = 5 };
#define BUDGET ((size_t)32 << 10)

int st_instructions_setup_init(struct st_instructions_setup *setup, const struct st_root *root,
                               struct stet_error *err) {
	static const char *const names[] = {"AGENTS.override.md", "AGENTS.md", "agents.md"};
	st_instructions_cache_init(&setup->cache);
	setup->state_dir = ST_STATE_DIR;
	setup->root = root;
	setup->budget = BUDGET;
	setup->deliver = setup->ignore_builtin = setup->ignore_files = true;
	for (; setup->name_count < sizeof names / sizeof *names; setup->name_count++) {
		setup->names[setup->name_count] = strdup(names[setup->name_count]);
		if (!setup->names[setup->name_count])
			return st_fail_nomem(err);
	}
	return 0;
}

void st_instructions_setup_release(struct st_instructions_setup *setup) {
	st_instructions_cache_release(&setup->cache);
	for (size_t i = 0; i < setup->name_count; i++)
		free(setup->names[i]);
}

size_t st_instructions_rank(const struct st_instructions_setup *setup, struct st_str name) {
	size_t rank = 0;
	while (rank < setup->name_count && !st_str_eq(st_str(setup->names[rank]), name))
		rank++;
	return rank;
}

unsigned st_instructions_ignore_flags(const struct st_instructions_setup *setup) {
	return (setup->ignore_builtin ? 0 : ST_IGNORE_NO_BUILTIN) |
	       (setup->ignore_files ? 0 : ST_IGNORE_NO_FILES);
}

void st_instructions_found_release(struct st_instructions_found *found) {
	free(found->real);
	st_instructions_file_put(found->file);
	*found = (struct st_instructions_found){0};
}

void st_instructions_beside(struct st_buf *out, const char *file, struct st_str relative) {
	const char *slash = strrchr(file, '/');
	st_buf_clear(out);
	if (slash && relative.len > 0 && relative.ptr[0] != '/')
		st_buf_add(out, st_strn(file, (size_t)(slash + 1 - file)));
	st_buf_add(out, relative);
}

/* ---- third-party code ---- */

static bool is_vendored_name(struct st_str name) {
	static const char *const names[] = {
		"node_modules",   "bower_components",
		"jspm_packages",  "vendor",
		"third_party",    "third-party",
		"site-packages",  "dist-packages",
		"__pypackages__", ".venv",
		"venv",           ".tox",
		".nox",           ".eggs",
		"Pods",           "Carthage",
		".cargo",         ".gradle",
		"elm-stuff",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_str_eq(name, st_str(names[i])))
			return true;
	}
	return false;
}

/* The first directory of a path that holds third-party code; empty if there is none. */
static struct st_str vendored(const char *path) {
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		struct st_str name = st_strn(path, (size_t)(slash - path));
		if (is_vendored_name(name))
			return name;
	}
	return st_str("");
}

/* ---- files that every user can write ---- */

static bool is_own_or_roots(const struct stat *st) {
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* In a sticky directory, other users cannot replace our file, but they can create one of theirs. */
static bool can_be_replaced(const struct st_place *place) {
	struct stat dir;
	if (fstat(place->dirfd, &dir) < 0 || !(dir.st_mode & S_IWOTH))
		return false;
	return !(dir.st_mode & S_ISVTX) || !is_own_or_roots(&place->st);
}

/* ---- imports ---- */

/* Instruction files of other programs. */
static bool is_known_name(const char *name) {
	static const char *const names[] = {
		".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool is_text_name(const char *name) {
	static const char *const endings[] = {
		".md",  ".mdc",  ".mdx",  ".markdown", ".mkd", ".rst",
		".txt", ".text", ".adoc", ".asciidoc", ".org",
	};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && dot > name && i < sizeof endings / sizeof *endings; i++) {
		if (strcasecmp(dot, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Set the reason why a file is not trusted. */
static int distrust_file(struct st_buf *why, const char *reason) {
	st_buf_clear(why);
	st_buf_adds(why, reason);
	return 0;
}

/* Fails closed: rules that stet cannot read might ignore this very file. */
static int judge_import(const struct st_instructions_setup *setup, const struct st_place *place,
                        struct st_buf *why, struct stet_error *err) {
	struct stet_error unread = {0};
	bool is_text = is_text_name(place->name) || is_known_name(place->name);
	if (!is_text && st_instructions_rank(setup, st_str(place->name)) == setup->name_count)
		return distrust_file(why, "is not Markdown or text by its name, which imports must be");
	int ignored = st_ignore_path(setup->root->fd, st_str(place->path), false,
	                             setup->ignore_builtin ? 0 : ST_IGNORE_NO_BUILTIN, &unread);
	if (ignored == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (ignored < 0)
		return distrust_file(why, "may be ignored by git: the ignore rules cannot be read");
	return ignored ? distrust_file(why, "is ignored by git") : 1;
}

/*
 * Whether a regular file may be sent to a model. A repository chooses the files
 * by its AGENTS.md, links and imports, and the repository is not trusted. So
 * stet sends only what its user would expect in a prompt: no file that other
 * users can write, none from third-party code, and of imports only Markdown and
 * text that git does not ignore, which excludes `.env` and keys.
 *
 * Returns 1; 0 with the rest of a sentence that begins with the file's name; or STET_E_NOMEM.
 */
static int is_trusted(const struct st_instructions_setup *setup, const struct st_place *place,
                      bool imported, struct st_buf *why, struct stet_error *err) {
	struct st_str others = setup->ignore_builtin ? vendored(place->path) : st_str("");
	if (others.len > 0) {
		st_buf_clear(why);
		st_buf_addf(why, "is third-party code, in \"%.*s\"", (int)others.len, others.ptr);
		return 0;
	}
	if (place->st.st_mode & S_IWOTH)
		return distrust_file(why, "can be written by every user of this machine");
	if (can_be_replaced(place))
		return distrust_file(why, "is in a directory that every user of this machine can write");
	/* An AGENTS.md that links to a file of another name imports that file. */
	if (imported || st_instructions_rank(setup, st_str(place->name)) == setup->name_count)
		return judge_import(setup, place, why, err);
	return 1;
}

/* ---- one path ---- */

static int skip_file(struct st_buf *why, const char *reason) {
	st_buf_clear(why);
	st_buf_adds(why, reason);
	return ST_INSTRUCTIONS_SKIPPED;
}

/* Translate a failure to find or read a file into the result of a lookup. */
static int judge_failure(int code, struct st_buf *why) {
	switch (code) {
	case STET_E_NOMEM:
	case STET_E_LIMIT:
		return code;
	case STET_E_OUTSIDE:
		return skip_file(why, "leads out of the workspace");
	case STET_E_NOT_FOUND:
	case STET_E_KIND:
		return ST_INSTRUCTIONS_NONE;
	case STET_E_TOO_BIG:
		return skip_file(why, "is larger than 1 MiB");
	default:
		st_buf_clear(why);
		st_buf_addf(why, "cannot be read (%s)", stet_error_text(code));
		return ST_INSTRUCTIONS_SKIPPED;
	}
}

/* Locate a path, and check that it is a regular file which stet may use. */
static int resolve(const struct st_instructions_setup *setup, struct st_str path, bool imported,
                   struct st_place *place, struct st_buf *why, struct stet_error *err) {
	int code = st_root_locate(setup->root, path, place, err);
	if (code < 0)
		return judge_failure(code, why);
	if (!place->exists || S_ISDIR(place->st.st_mode))
		return ST_INSTRUCTIONS_NONE;
	if (!S_ISREG(place->st.st_mode))
		return skip_file(why, "is not a regular file");
	if (st_path_is_protected(place->path, setup->state_dir))
		return skip_file(why, "leads to a file of git or of stet itself");
	int trusted = is_trusted(setup, place, imported, why, err);
	if (trusted < 0)
		return trusted;
	return trusted ? ST_INSTRUCTIONS_USABLE : ST_INSTRUCTIONS_SKIPPED;
}

static int load_text(struct st_instructions_setup *setup, struct st_place *place,
                     struct st_instructions_found *found, struct st_buf *why,
                     struct stet_error *err) {
	st_instructions_found_release(found);
	int code = st_instructions_cache_load(&setup->cache, setup->root, place->path, &place->st,
	                                      &found->file, err);
	if (code < 0)
		return judge_failure(code, why);
	found->real = strdup(place->path);
	if (!found->real)
		return st_fail_nomem(err);
	struct st_str text = st_instructions_file_text(found->file);
	if (memchr(text.ptr, '\0', text.len))
		return skip_file(why, "is a binary file (it holds a NUL byte)");
	if (st_str_trim(st_str_slice(text, st_bom_len(text), text.len)).len > 0)
		return ST_INSTRUCTIONS_USABLE;
	skip_file(why, "is empty");
	return ST_INSTRUCTIONS_EMPTY;
}

/* The file name that a text consists of; empty if the text has more than one line. */
static struct st_str sole_name(struct st_str text) {
	struct st_str name = st_str_trim(text);
	if (name.len >= PATH_MAX || memchr(name.ptr, '\n', name.len) ||
	    memchr(name.ptr, '\r', name.len))
		return st_str("");
	return name;
}

/* Treat a text that is only the name of another file as a link to it. Returns 1 if it did. */
static int follow_name(struct st_instructions_setup *setup, struct st_instructions_found *found,
                       struct st_buf *why, struct stet_error *err) {
	struct st_str name = sole_name(st_instructions_file_text(found->file));
	if (name.len == 0)
		return 0;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_instructions_found) next = {0};
	st_instructions_beside(&path, found->real, name);
	if (path.failed)
		return st_fail_nomem(err);
	int code = resolve(setup, st_buf_str(&path), true, &place, why, err);
	if (code == ST_INSTRUCTIONS_USABLE && strcmp(place.path, found->real) != 0)
		code = load_text(setup, &place, &next, why, err);
	if (code != ST_INSTRUCTIONS_USABLE || !next.file)
		return code < 0 ? code : 0;
	struct st_instructions_found old = *found;
	*found = next;
	next = old;
	return 1;
}

int st_instructions_lookup(struct st_instructions_setup *setup, struct st_str path, bool imported,
                           struct st_instructions_found *found, struct st_buf *why,
                           struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = resolve(setup, path, imported, &place, why, err);
	if (code == ST_INSTRUCTIONS_USABLE)
		code = load_text(setup, &place, found, why, err);
	if (code != ST_INSTRUCTIONS_USABLE)
		return code;
	int followed = 1;
	for (int i = 0; i < HOPS_MAX && followed == 1; i++)
		followed = follow_name(setup, found, why, err);
	return followed < 0 ? followed : ST_INSTRUCTIONS_USABLE;
}
