#include "core/agents_trust.h"

#include <strings.h>
#include <unistd.h>

#include "fs/ignore_file.h"

static int refuse(struct st_buf *why, const char *reason) {
	st_buf_clear(why);
	st_buf_adds(why, reason);
	return 0;
}

/* ---- code of others ---- */

static bool is_vendored_name(struct st_str name) {
	static const char *const names[] = {
		"node_modules", "bower_components", "jspm_packages", "vendor",       "third_party",
		"third-party",  "site-packages",    "dist-packages", "__pypackages__", ".venv",
		"venv",         ".tox",             ".nox",          ".eggs",        "Pods",
		"Carthage",     ".cargo",           ".gradle",       "elm-stuff",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_str_eq(name, st_str(names[i])))
			return true;
	}
	return false;
}

/* The directory on the way to a file that holds code of others; empty if there is none. */
static struct st_str vendored(const char *path) {
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		struct st_str name = st_strn(path, (size_t)(slash - path));
		if (is_vendored_name(name))
			return name;
	}
	return st_str("");
}

/* ---- files that everybody can write ---- */

static bool is_of_ours(const struct stat *st) {
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* In a sticky directory others cannot replace our file, but they can put theirs there. */
static bool can_be_replaced(const struct st_place *place) {
	struct stat dir;
	if (fstat(place->dirfd, &dir) < 0 || !(dir.st_mode & S_IWOTH))
		return false;
	return !(dir.st_mode & S_ISVTX) || !is_of_ours(&place->st);
}

/* ---- what an import may name ---- */

/* Names under which other programs look for instructions. */
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
		".md",   ".mdc", ".mdx",      ".markdown", ".mkd",
		".rst",  ".txt", ".text",     ".adoc",     ".asciidoc",
		".org",
	};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && dot > name && i < sizeof endings / sizeof *endings; i++) {
		if (strcasecmp(dot, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Rules that cannot be read could ignore anything. */
static int judge_import(const struct st_agents_setup *setup, const struct st_root *root,
                        const struct st_place *place, struct st_buf *why, struct stet_error *err) {
	struct stet_error unread = {0};
	bool is_text = is_text_name(place->name) || is_known_name(place->name);
	if (!is_text && st_agents_rank(setup, st_str(place->name)) == setup->name_count)
		return refuse(why, "is not Markdown or text by its name, which imports must be");
	int ignored = st_ignore_path(root->fd, st_str(place->path), false,
	                             setup->ignore_builtin ? 0 : ST_IGNORE_NO_BUILTIN, &unread);
	if (ignored == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (ignored < 0)
		return refuse(why, "may be ignored by git: the ignore rules cannot be read");
	return ignored ? refuse(why, "is ignored by git") : 1;
}

int st_agents_trusted(const struct st_agents_setup *setup, const struct st_root *root,
                      const struct st_place *place, bool imported, struct st_buf *why,
                      struct stet_error *err) {
	struct st_str others = setup->ignore_builtin ? vendored(place->path) : st_str("");
	if (others.len > 0) {
		st_buf_clear(why);
		st_buf_addf(why, "belongs to code of others, in \"%.*s\"", (int)others.len, others.ptr);
		return 0;
	}
	if (place->st.st_mode & S_IWOTH)
		return refuse(why, "can be written by every user of this machine");
	if (can_be_replaced(place))
		return refuse(why, "is in a directory that every user of this machine can write");
	/* A link at an instruction file's place counts as an import of what it leads to. */
	if (imported || st_agents_rank(setup, st_str(place->name)) == setup->name_count)
		return judge_import(setup, root, place, why, err);
	return 1;
}
