/* The configuration: the repository's stet.json and the user's config.json, key by key. */
#include "stet/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "base/json.h"
#include "core/workspace/project.h"
#include "core/workspace/workspace.h"
#include "fs/file/file.h"
#include "fs/versions/state_dir.h"
#include "hub/hub.h"
#include "stet/instructions.h"

/* The largest configuration file. */
#define CONFIG_MAX ((size_t)256 << 10)

enum { NOTICES_MAX = 32 };

enum kind {
	FLAG,
	/** A number of bytes; PAGE has bounds. */
	SIZE,
	PAGE,
	/** A number of days. */
	DAYS,
	LIST,
	/** The name of the state directory. */
	NAME,
	/** A connection string. */
	HUB,
	/** Names of repositories: a name, or an object. */
	PROJECT,
	/** refuse or merge. */
	STALE,
	/** false, nested or true. */
	AGENTS,
	/** watch, deny or apply. */
	HOOK,
};

/*
 * How a repository's own stet.json may change a key: not at all, or by
 * tightening it in one direction. Every key has a rule, and no rule lets a
 * repository allow more than its user does.
 */
enum rule {
	/** Only the user may set it. */
	USER_ONLY = 1,
	/** The repository may switch it on. */
	TIGHTEN_ON,
	/** The repository may switch it off. */
	TIGHTEN_OFF,
	/** The repository may lower it. */
	TIGHTEN_LOWER,
	/** The repository may name a subset of the user's list; any list if the user's is empty. */
	TIGHTEN_FEWER,
};

struct key {
	const char *name;
	enum kind kind;
	enum rule rule;
	enum stet_option option;
	const char *fallback;
	const char *description;
};

/* Name, kind, rule, option, default, description: the macro makes all six mandatory. */
#define CONFIG_KEYS(X) \
	X("extensions", LIST, TIGHTEN_FEWER, 0, "", \
	  "file types that may be read and written, such as .md,.txt; all if empty") \
	X("requireRead", FLAG, TIGHTEN_ON, STET_OPTION_REQUIRE_READ, "false", \
	  "every edit needs an earlier read") \
	X("onStale", STALE, USER_ONLY, STET_OPTION_MERGE, "refuse", \
	  "what to do if a file changed since it was read: refuse or merge") \
	X("durable", FLAG, TIGHTEN_ON, STET_OPTION_DURABLE, "true", \
	  "a write is on the disk when it is acknowledged") \
	X("vault", FLAG, TIGHTEN_ON, STET_OPTION_VAULT, "false", \
	  "the root is a folder of Markdown notes: only these are open, .obsidian and comments " \
	  "(%% ... %%) stay as they are") \
	X("maxFile", SIZE, TIGHTEN_LOWER, STET_OPTION_MAX_FILE, "67108864", \
	  "the largest file, in bytes") \
	X("maxDiff", SIZE, TIGHTEN_LOWER, STET_OPTION_MAX_DIFF, "16384", \
	  "the largest diff in an answer, in bytes") \
	X("maxBases", SIZE, USER_ONLY, STET_OPTION_MAX_BASES, "67108864", \
	  "how many bytes of file contents to remember for diffs, merges and undo") \
	X("versionDays", DAYS, USER_ONLY, STET_OPTION_VERSION_DAYS, "30", \
	  "for how many days an earlier version of a file is kept for undo; 0 for any time") \
	X("pageBytes", PAGE, USER_ONLY, STET_OPTION_PAGE_BYTES, "20000", \
	  "the most bytes of text in an answer, AGENTS.md included; for commands 1048576 unless set") \
	X("structured", FLAG, USER_ONLY, STET_OPTION_STRUCTURED, "false", \
	  "servers also send structuredContent, for programs that read it") \
	X("stateDir", NAME, USER_ONLY, 0, ST_STATE_DIR, "the state directory, a name below the root") \
	X("hub", HUB, USER_ONLY, 0, "", \
	  "a PostgreSQL database that tells other machines what agents change, as " \
	  "postgresql://db.example/agents; none if empty") \
	X("project", PROJECT, USER_ONLY, 0, "", \
	  "the name by which places and the hub know a repository: NAME, or " \
	  "{\"REMOTE-OR-PATH\": \"NAME\"}; its remote if empty") \
	X("useSnapshot", FLAG, USER_ONLY, STET_OPTION_USE_SNAPSHOT, "true", \
	  "prompts contain the snapshot instead of the history; a story can override this") \
	X("guard", HOOK, USER_ONLY, STET_OPTION_HOOK, "deny", \
	  "what `stet hook` does about a change that would overwrite what the model has not seen: " \
	  "deny, apply (stet makes the change itself and merges) or watch") \
	X("agents", AGENTS, TIGHTEN_OFF, STET_OPTION_AGENTS, "true", \
	  "answers about a file include the AGENTS.md that newly apply: true, false, or nested for " \
	  "all but the root's own") \
	X("agentsNames", LIST, USER_ONLY, 0, "", \
	  "further names of instruction files, such as CLAUDE.md") \
	X("agentsBudget", SIZE, TIGHTEN_LOWER, STET_OPTION_AGENTS_BUDGET, "32768", \
	  "the most bytes of AGENTS.md in one answer") \
	X("agentsBuiltin", FLAG, TIGHTEN_ON, STET_OPTION_AGENTS_BUILTIN, "true", \
	  "ignore AGENTS.md below .git, dist, node_modules, vendor and the like") \
	X("agentsGitignore", FLAG, TIGHTEN_ON, STET_OPTION_AGENTS_GITIGNORE, "true", \
	  "ignore AGENTS.md in directories that .gitignore excludes")

#define KEY_ROW(name, kind, rule, option, fallback, description) \
	{name, kind, rule, option, fallback, description},

static const struct key keys[] = {CONFIG_KEYS(KEY_ROW)};

enum { KEYS = sizeof keys / sizeof *keys };

struct value {
	/** In the form that canonical() returns. */
	char *text;
	char *source;
};

struct stet_config {
	struct value values[KEYS];
	char *notices[NOTICES_MAX];
	size_t notice_count;
};

/* ---- values ---- */

static const struct key *find_key(const char *name) {
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

static struct value *value_of(struct stet_config *config, const struct key *key) {
	return &config->values[key - keys];
}

static int store(struct stet_config *config, const struct key *key, const char *text,
                 const char *source, struct stet_error *err) {
	struct value *value = value_of(config, key);
	struct value copy = {strdup(text), strdup(source)};
	if (!copy.text || !copy.source) {
		free(copy.text);
		free(copy.source);
		return st_fail_nomem(err);
	}
	free(value->text);
	free(value->source);
	*value = copy;
	return 0;
}

static int64_t number(const char *text) {
	return strtoll(text, NULL, 10);
}

static bool is_number(const char *text) {
	size_t len = strspn(text, "0123456789");
	return len > 0 && len < 13 && text[len] == '\0';
}

static const char *canonical_flag(const char *text) {
	static const char *const on[] = {"true", "1", "yes", "on"}, *const off[] = {"false", "0", "no",
	                                                                            "off"};
	for (size_t i = 0; i < 4; i++) {
		if (strcasecmp(text, on[i]) == 0)
			return on[0];
		if (strcasecmp(text, off[i]) == 0)
			return off[0];
	}
	return NULL;
}

/* The value of STET_OPTION_HOOK; -1 for another text. */
static int64_t hook_value(const char *text) {
	static const char *const names[] = {"watch", "deny", "apply"};
	for (int64_t i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	return -1;
}

/* The canonical form of a value: "on" becomes "true". NULL if the key does not take it. */
static const char *canonical(const struct key *key, const char *text) {
	bool good = true;
	switch (key->kind) {
	case FLAG:
		return canonical_flag(text);
	case AGENTS:
		return strcmp(text, "nested") == 0 ? text : canonical_flag(text);
	case SIZE:
		good = is_number(text);
		break;
	case DAYS:
		good = is_number(text) && number(text) <= ST_VERSION_DAYS_MAX;
		break;
	case PAGE:
		good = is_number(text) && number(text) >= ST_PAGE_BYTES_MIN &&
		       number(text) <= ST_PAGE_BYTES_MAX;
		break;
	case NAME:
		good = st_state_is_name(text);
		break;
	case STALE:
		good = strcmp(text, "refuse") == 0 || strcmp(text, "merge") == 0;
		break;
	case HOOK:
		good = hook_value(text) >= 0;
		break;
	case HUB:
		good = st_hub_check(text, NULL) == 0;
		break;
	case PROJECT:
		good = st_project_is_list(text);
		break;
	case LIST:
		break;
	}
	return good ? text : NULL;
}

/* The values that a key takes, for messages. */
static const char *values_of(const struct key *key) {
	switch (key->kind) {
	case FLAG:
		return "true or false";
	case AGENTS:
		return "true, false or \"nested\"";
	case SIZE:
		return "a number of bytes";
	case DAYS:
		return "a number of days up to 36500";
	case PAGE:
		return "4096 to 8388608 bytes";
	case NAME:
		return "a single name of up to 64 bytes, such as .stet";
	case STALE:
		return "refuse or merge";
	case HOOK:
		return "deny, apply or watch";
	case HUB:
		return "a connection string of PostgreSQL without a password (~/.pgpass, a service file or "
			   "PGPASSWORD can hold it)";
	case PROJECT:
		return "a name of up to 200 bytes, {\"REMOTE-OR-PATH\": \"NAME\"} or REMOTE-OR-PATH=NAME";
	case LIST:
		break;
	}
	return "a list, such as \".md,.txt\" or [\".md\", \".txt\"]";
}

__attribute__((format(printf, 2, 3))) static void notice(struct stet_config *config,
                                                         const char *format, ...) {
	va_list args;
	va_start(args, format);
	char *text = NULL;
	if (config->notice_count < NOTICES_MAX && vasprintf(&text, format, args) >= 0)
		config->notices[config->notice_count++] = text;
	va_end(args);
}

/* ---- rules for a repository's stet.json ---- */

static bool has_item(const char *list, const char *item, size_t len) {
	for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',')) {
		if (strcspn(list, ",") == len && strncasecmp(list, item, len) == 0)
			return true;
	}
	return false;
}

/* Append the items of a list that another list has too. */
static void add_common(struct st_buf *out, const char *list, const char *other) {
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len > 0 && has_item(other, list, len))
			st_buf_addf(out, "%s%.*s", out->len ? "," : "", (int)len, list);
	}
}

/* Order the values of flags: false < nested < true. */
static int flag_order(const char *text) {
	return strcmp(text, "true") == 0 ? 2 : strcmp(text, "nested") == 0 ? 1 : 0;
}

/* Whether stet.json may change a key from `now` to `wanted`; out receives the resulting value. */
static bool may_set(const struct key *key, const char *now, const char *wanted,
                    struct st_buf *out) {
	if (key->rule == TIGHTEN_FEWER && *now)
		add_common(out, wanted, now);
	else
		st_buf_adds(out, wanted);
	switch (key->rule) {
	case TIGHTEN_ON:
		return flag_order(wanted) >= flag_order(now);
	case TIGHTEN_OFF:
		return flag_order(wanted) <= flag_order(now);
	case TIGHTEN_LOWER:
		return number(wanted) <= number(now);
	case TIGHTEN_FEWER:
		return out->len > 0;
	case USER_ONLY:
		break;
	}
	return false;
}

static int store_untrusted(struct stet_config *config, const struct key *key, const char *text,
                           const char *source, struct stet_error *err) {
	st_auto(st_buf) out = ST_BUF_INIT;
	const char *now = value_of(config, key)->text;
	bool may = may_set(key, now, text, &out);
	if (out.failed)
		return st_fail_nomem(err);
	if (may)
		return store(config, key, st_buf_cstr(&out), source, err);
	notice(config,
	       "%s may not set %s to %s: a workspace can only tighten what its user allows, which is "
	       "%s. Set it in your own configuration if you want it.",
	       source, key->name, st_quoted(text), st_quoted(now));
	return 0;
}

/* ---- files ---- */

/* Append a JSON value as text, as an environment variable would have it. */
static bool add_value(struct st_buf *out, yyjson_val *value) {
	size_t i, max;
	yyjson_val *item;
	if (yyjson_is_bool(value))
		st_buf_adds(out, yyjson_get_bool(value) ? "true" : "false");
	else if (yyjson_is_uint(value))
		st_buf_addf(out, "%" PRIu64, yyjson_get_uint(value));
	else if (yyjson_is_str(value))
		st_buf_add(out, st_json_str(value));
	else if (!yyjson_is_arr(value))
		return false;
	yyjson_arr_foreach(value, i, max, item) {
		if (!yyjson_is_str(item))
			return false;
		st_buf_addf(out, "%s%s", i ? "," : "", yyjson_get_str(item));
	}
	return true;
}

/* Append the names of repositories as "FROM=NAME,FROM=NAME". */
static bool add_names(struct st_buf *out, yyjson_val *object) {
	size_t i, max;
	yyjson_val *from, *name;
	yyjson_obj_foreach(object, i, max, from, name) {
		if (!yyjson_is_str(name) || memchr(yyjson_get_str(from), ',', yyjson_get_len(from)) ||
		    strpbrk(yyjson_get_str(name), ",="))
			return false;
		st_buf_addf(out, "%s%s=%s", i ? "," : "", yyjson_get_str(from), yyjson_get_str(name));
	}
	return true;
}

static bool add_text(struct st_buf *out, const struct key *key, yyjson_val *value) {
	return key->kind == PROJECT && yyjson_is_obj(value) ? add_names(out, value)
	                                                    : add_value(out, value);
}

static int read_member(struct stet_config *config, const char *name, yyjson_val *value,
                       const char *source, bool trusted, struct stet_error *err) {
	const struct key *key = find_key(name);
	if (!key) {
		notice(config, "%s has the key %s, which stet does not know.", source, st_quoted(name));
		return 0;
	}
	st_auto(st_buf) text = ST_BUF_INIT;
	bool listed = yyjson_is_arr(value) && key->kind != LIST;
	const char *taken =
		add_text(&text, key, value) && !listed ? canonical(key, st_buf_cstr(&text)) : NULL;
	if (text.failed)
		return st_fail_nomem(err);
	/* A number can be out of range: "not a number" would be wrong. */
	const char *actual = yyjson_is_uint(value) ? st_buf_cstr(&text) : st_json_kind(value);
	if (!taken && trusted)
		return st_fail(err, STET_E_INVALID, "%s: \"%s\" takes %s, not %s.", source, name,
		               values_of(key), actual);
	if (!taken) {
		notice(config, "%s: \"%s\" takes %s, not %s; it is left out.", source, name, values_of(key),
		       actual);
		return 0;
	}
	return (trusted ? store : store_untrusted)(config, key, taken, source, err);
}

static int read_members(struct stet_config *config, yyjson_val *root, const char *source,
                        bool trusted, struct stet_error *err) {
	size_t i, max;
	yyjson_val *key, *value;
	int taken = 0;
	yyjson_obj_foreach(root, i, max, key, value) {
		if (taken == 0)
			taken = read_member(config, yyjson_get_str(key), value, source, trusted, err);
	}
	return taken;
}

static int read_text(struct stet_config *config, struct st_str text, const char *source,
                     bool trusted, struct stet_error *err) {
	struct stet_error why = {0};
	yyjson_doc *doc = NULL;
	int code = st_json_read(text, YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS,
	                        &doc, &why);
	yyjson_val *root = yyjson_doc_get_root(doc);
	if (code == 0 && !yyjson_is_obj(root))
		code = st_fail(&why, STET_E_INVALID, "not a JSON object");
	int taken = code == 0 ? read_members(config, root, source, trusted, err) : 0;
	yyjson_doc_free(doc);
	if (code == STET_E_INVALID && !trusted) {
		notice(config, "%s is %s; it is left out.", source, why.message);
		return 0;
	}
	if (code < 0)
		return st_fail(err, code, "%s is %s. Correct it, or move it away.", source, why.message);
	return taken;
}

static int load_workspace(struct stet_config *config, struct stet_workspace *ws,
                          struct stet_error *err) {
	struct stet_error why = {0};
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_load(&ws->root, ST_STR("stet.json"), CONFIG_MAX, &place, &file, &why);
	if (code == STET_E_NOT_FOUND)
		return 0;
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code < 0) {
		notice(config, "stet.json is left out. %s", why.message);
		return 0;
	}
	return read_text(config, st_buf_str(&file.bytes), "stet.json", false, err);
}

/* The path of the user's configuration; NULL without a home directory or without memory. */
static char *user_path(void) {
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	if (config && config[0] == '/')
		return asprintf(&path, "%s/stet/config.json", config) < 0 ? NULL : path;
	if (home && home[0] == '/')
		return asprintf(&path, "%s/.config/stet/config.json", home) < 0 ? NULL : path;
	return NULL;
}

static int load_user(struct stet_config *config, struct stet_error *err) {
	st_autofree char *path = user_path();
	if (!path)
		return 0;
	st_autofd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot read your configuration %s", path);
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_read(fd, path, CONFIG_MAX, &file, err);
	return code < 0 ? code : read_text(config, st_buf_str(&file.bytes), path, true, err);
}

/* The environment variable of a key: STET_REQUIRE_READ for requireRead. */
static void variable(const struct key *key, char name[64]) {
	size_t used = (size_t)snprintf(name, 64, "STET_");
	for (const char *c = key->name; *c && used < 61; c++) {
		if (isupper((unsigned char)*c))
			name[used++] = '_';
		name[used++] = (char)toupper((unsigned char)*c);
	}
	name[used] = '\0';
}

static int load_environment(struct stet_config *config, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < KEYS && code == 0; i++) {
		char name[64];
		variable(&keys[i], name);
		const char *value = getenv(name);
		if (value)
			code = stet_config_set(config, keys[i].name, value, name, err);
	}
	return code;
}

static int load_all(struct stet_config *config, struct stet_workspace *ws, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < KEYS && code == 0; i++)
		code = store(config, &keys[i], keys[i].fallback, "default", err);
	if (code == 0)
		code = load_user(config, err);
	if (code == 0)
		code = load_workspace(config, ws, err);
	return code < 0 ? code : load_environment(config, err);
}

int stet_config_load(struct stet_workspace *ws, struct stet_config **out, struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct stet_config *config = calloc(1, sizeof *config);
	if (!config)
		return st_fail_nomem(err);
	int code = load_all(config, ws, err);
	if (code < 0) {
		stet_config_free(config);
		return code;
	}
	*out = config;
	return 0;
}

void stet_config_free(struct stet_config *config) {
	if (!config)
		return;
	for (size_t i = 0; i < KEYS; i++) {
		free(config->values[i].text);
		free(config->values[i].source);
	}
	for (size_t i = 0; i < config->notice_count; i++)
		free(config->notices[i]);
	free(config);
}

static int no_such_key(const char *name, const char *source, struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	for (size_t i = 0; i < KEYS; i++)
		st_buf_addf(&names, "%s%s", i ? ", " : "", keys[i].name);
	return st_fail(err, STET_E_INVALID, "%s: there is no key \"%.100s\". The keys are: %s.", source,
	               name, st_buf_cstr(&names));
}

int stet_config_set(struct stet_config *config, const char *key, const char *value,
                    const char *source, struct stet_error *err) {
	if (st_begin_call(config, err) < 0)
		return STET_E_INVALID;
	const struct key *found = find_key(key);
	if (!found)
		return no_such_key(key, source, err);
	const char *text = canonical(found, value);
	if (!text)
		return st_fail(err, STET_E_INVALID, "%s: %s takes %s, not \"%.100s\".", source, key,
		               values_of(found), value);
	return store(config, found, text, source, err);
}

/* The value for stet_workspace_set(). */
static int64_t option_of(const struct key *key, const char *text) {
	if (key->kind == SIZE || key->kind == PAGE || key->kind == DAYS)
		return number(text);
	if (strcmp(text, "nested") == 0)
		return 2;
	if (key->kind == HOOK)
		return hook_value(text);
	return strcmp(text, "true") == 0 || strcmp(text, "merge") == 0;
}

int stet_config_apply(const struct stet_config *config, struct stet_workspace *ws,
                      struct stet_error *err) {
	if (st_begin_call(config, err) < 0)
		return STET_E_INVALID;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	int code = stet_workspace_allow(ws, stet_config_value(config, "extensions"), err);
	if (code == 0)
		code = stet_instructions_names(ws, stet_config_value(config, "agentsNames"), err);
	if (code == 0)
		code = stet_workspace_state_dir(ws, stet_config_value(config, "stateDir"), err);
	if (code == 0)
		code = stet_workspace_hub(ws, stet_config_value(config, "hub"), err);
	if (code == 0)
		code = stet_workspace_project(ws, stet_config_value(config, "project"), err);
	for (size_t i = 0; i < KEYS && code == 0; i++) {
		if (keys[i].kind != LIST && keys[i].kind != NAME && keys[i].kind != HUB &&
		    keys[i].kind != PROJECT)
			code = stet_workspace_set(ws, keys[i].option,
			                          option_of(&keys[i], config->values[i].text), err);
	}
	return code;
}

const char *stet_config_key(size_t n) {
	return n < KEYS ? keys[n].name : NULL;
}

const char *stet_config_description(size_t n) {
	return n < KEYS ? keys[n].description : NULL;
}

const char *stet_config_default(size_t n) {
	return n < KEYS ? keys[n].fallback : NULL;
}

const char *stet_config_rule(size_t n) {
	static const char *const names[] = {
		[USER_ONLY] = "user",      [TIGHTEN_ON] = "on",       [TIGHTEN_OFF] = "off",
		[TIGHTEN_LOWER] = "lower", [TIGHTEN_FEWER] = "fewer",
	};
	return n < KEYS ? names[keys[n].rule] : NULL;
}

const char *stet_config_value(const struct stet_config *config, const char *key) {
	if (!config)
		return NULL;
	const struct key *found = find_key(key);
	return found ? config->values[found - keys].text : NULL;
}

const char *stet_config_source(const struct stet_config *config, const char *key) {
	if (!config)
		return NULL;
	const struct key *found = find_key(key);
	return found ? config->values[found - keys].source : NULL;
}

const char *stet_config_notice(const struct stet_config *config, size_t n) {
	if (!config)
		return NULL;
	return n < config->notice_count ? config->notices[n] : NULL;
}
