#include "core/workspace/workspace.h"

#include <stdio.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/quote.h"
#include "core/workspace/project.h"
#include "core/workspace/vault.h"
#include "hub/hub.h"
#include "fs/tree/ignore_file.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"
#include "text/tokens/tokens.h"

#define DIFF_MAX ((size_t)16 << 10)
enum { HISTORY_MAX = 4096 };

/* ---- bases ---- */

static struct st_str key_of(const struct st_hash *hash) {
	return st_strn((const char *)hash->bytes, ST_HASH_SIZE);
}

void st_blob_put(struct st_blob *blob) {
	if (!blob || __atomic_sub_fetch(&blob->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(blob->bytes);
	free(blob);
}

static void put_value(void *blob) {
	st_blob_put(blob);
}

static void bases_init(struct st_bases *bases, size_t max_bytes) {
	pthread_mutex_init(&bases->lock, NULL);
	st_lru_init(&bases->lru, SIZE_MAX, max_bytes, put_value);
}

static void bases_release(struct st_bases *bases) {
	st_lru_release(&bases->lru);
	pthread_mutex_destroy(&bases->lock);
}

static void bases_limit(struct st_bases *bases, size_t max_bytes) {
	pthread_mutex_lock(&bases->lock);
	st_lru_limit(&bases->lru, SIZE_MAX, max_bytes);
	pthread_mutex_unlock(&bases->lock);
}

/* Whether bytes are worth adding: they fit and are not there yet. Bytes that are there become recently used. */
static bool wants_base(struct st_bases *bases, const struct st_hash *hash, size_t len) {
	pthread_mutex_lock(&bases->lock);
	bool wanted = !st_lru_get(&bases->lru, key_of(hash)) && len <= bases->lru.max_cost;
	pthread_mutex_unlock(&bases->lock);
	return wanted;
}

static void take_base(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes) {
	struct st_blob *blob = malloc(sizeof *blob);
	if (!blob)
		return;
	*blob = (struct st_blob){.references = 1, .len = bytes->len, .bytes = bytes->ptr};
	size_t cost = sizeof *blob + bytes->cap;
	*bytes = (struct st_buf)ST_BUF_INIT;
	pthread_mutex_lock(&bases->lock);
	st_lru_put(&bases->lru, key_of(hash), blob, cost);
	pthread_mutex_unlock(&bases->lock);
}

void st_bases_put(struct st_bases *bases, const struct st_hash *hash, struct st_str bytes) {
	if (!wants_base(bases, hash, bytes.len))
		return;
	st_auto(st_buf) copy = ST_BUF_INIT;
	st_buf_add(&copy, bytes);
	st_cancel_progress(bytes.len);
	if (!copy.failed)
		take_base(bases, hash, &copy);
}

void st_bases_give(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes) {
	if (wants_base(bases, hash, bytes->len))
		take_base(bases, hash, bytes);
}

void st_bases_drop(struct st_bases *bases, const struct st_hash *hash) {
	pthread_mutex_lock(&bases->lock);
	st_lru_remove(&bases->lru, key_of(hash));
	pthread_mutex_unlock(&bases->lock);
}

struct st_blob *st_bases_get(struct st_bases *bases, const struct st_hash *hash) {
	pthread_mutex_lock(&bases->lock);
	struct st_blob *blob = st_lru_get(&bases->lru, key_of(hash));
	if (blob)
		__atomic_add_fetch(&blob->references, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&bases->lock);
	return blob;
}

/* ---- the workspace ---- */

int st_workspace_init(struct stet_workspace *ws, const char *root, struct stet_error *err) {
	ws->root = (struct st_root)ST_ROOT_INIT;
	st_background_init(&ws->background);
	st_write_context_init(&ws->writes, &ws->root, ST_STATE_DIR, &ws->background);
	bases_init(&ws->bases, ST_VERSIONS_MAX);
	st_shared_watcher_init(&ws->watcher, &ws->writes);
	st_lru_init(&ws->writers, HISTORY_MAX, HISTORY_MAX, free);
	st_lru_init(&ws->applied, HISTORY_MAX, HISTORY_MAX, NULL);
	pthread_mutex_init(&ws->history_lock, NULL);
	ws->max_file = ST_FILE_MAX;
	ws->max_diff = DIFF_MAX;
	ws->page_bytes = ST_PAGE_BYTES;
	ws->durable = true;
	ws->use_snapshot = true;
	ws->hook_mode = ST_HOOK_MODE_DENY;
	ws->state = ST_STATE_TOOLS;
	int code = st_instructions_setup_init(&ws->instructions, &ws->root, err);
	return code == 0 ? st_root_open(&ws->root, root, err) : code;
}

void st_workspace_release(struct stet_workspace *ws) {
	st_write_context_release(&ws->writes);
	free(ws->state_dir);
	free(ws->hub);
	free(ws->project);
	bases_release(&ws->bases);
	st_instructions_setup_release(&ws->instructions);
	st_lru_release(&ws->writers);
	st_lru_release(&ws->applied);
	free(ws->extensions);
	free(ws->log);
	pthread_mutex_destroy(&ws->history_lock);
	st_root_release(&ws->root);
}

static int out_of_range(struct stet_error *err, int64_t value, const char *range) {
	return st_fail(err, STET_E_INVALID, "%lld is out of range: this option takes %s.",
	               (long long)value, range);
}

static int set_flag(_Atomic bool *flag, int64_t value, struct stet_error *err) {
	if (value != 0 && value != 1)
		return out_of_range(err, value, "0 or 1");
	*flag = value == 1;
	return 0;
}

static int set_size(_Atomic size_t *size, int64_t value, struct stet_error *err) {
	if (value < 0 || value > (int64_t)1 << 40)
		return out_of_range(err, value, "a number of bytes");
	*size = (size_t)value;
	return 0;
}

static int set_days(_Atomic unsigned *days, int64_t value, struct stet_error *err) {
	if (value < 0 || value > ST_VERSION_DAYS_MAX)
		return out_of_range(err, value, "a number of days");
	*days = (unsigned)value;
	return 0;
}

static int set_state(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	if (value < ST_STATE_NONE || value > ST_STATE_ALL)
		return out_of_range(err, value, "0, 1 or 2");
	ws->state = (int)value;
	return 0;
}

static int set_page(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	if (value < ST_PAGE_BYTES_MIN || value > ST_PAGE_BYTES_MAX)
		return out_of_range(err, value, "4096 to 8388608 bytes");
	ws->page_bytes = (size_t)value;
	return 0;
}

static int set_agents(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	if (value < 0 || value > 2)
		return out_of_range(err, value, "0, 1 or 2");
	ws->instructions.deliver = value > 0;
	ws->instructions.nested_only = value == 2;
	return 0;
}

static int set_bases(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	int code = set_size(&ws->writes.versions.max, value, err);
	if (code == 0)
		bases_limit(&ws->bases, ws->writes.versions.max);
	return code;
}

static int set_hook(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	if (value < ST_HOOK_MODE_WATCH || value > ST_HOOK_MODE_APPLY)
		return st_fail(err, STET_E_INVALID,
		               "The hook watches (0), denies (1) or applies (2); %lld is out of range.",
		               (long long)value);
	ws->hook_mode = (int)value;
	return 0;
}

static int set_vault(struct stet_workspace *ws, int64_t value, struct stet_error *err) {
	bool was = ws->vault;
	int code = set_flag(&ws->vault, value, err);
	if (code == 0 && ws->vault && !was)
		st_vault_note_sync(ws);
	return code;
}

int stet_workspace_set(struct stet_workspace *ws, enum stet_option option, int64_t value,
                       struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	switch (option) {
	case STET_OPTION_DURABLE:
		return set_flag(&ws->durable, value, err);
	case STET_OPTION_REQUIRE_READ:
		return set_flag(&ws->require_read, value, err);
	case STET_OPTION_MERGE:
		return set_flag(&ws->merge, value, err);
	case STET_OPTION_AGENTS:
		return set_agents(ws, value, err);
	case STET_OPTION_AGENTS_BUILTIN:
		return set_flag(&ws->instructions.ignore_builtin, value, err);
	case STET_OPTION_AGENTS_GITIGNORE:
		return set_flag(&ws->instructions.ignore_files, value, err);
	case STET_OPTION_AGENTS_BUDGET:
		return set_size(&ws->instructions.budget, value, err);
	case STET_OPTION_MAX_FILE:
		return set_size(&ws->max_file, value, err);
	case STET_OPTION_MAX_DIFF:
		return set_size(&ws->max_diff, value, err);
	case STET_OPTION_MAX_BASES:
		return set_bases(ws, value, err);
	case STET_OPTION_STATE:
		return set_state(ws, value, err);
	case STET_OPTION_READ_ONLY:
		return set_flag(&ws->read_only, value, err);
	case STET_OPTION_PAGE_BYTES:
		return set_page(ws, value, err);
	case STET_OPTION_HASH_PROVES:
		return set_flag(&ws->hash_proves, value, err);
	case STET_OPTION_STRUCTURED:
		return set_flag(&ws->structured, value, err);
	case STET_OPTION_USE_SNAPSHOT:
		return set_flag(&ws->use_snapshot, value, err);
	case STET_OPTION_HOOK:
		return set_hook(ws, value, err);
	case STET_OPTION_VAULT:
		return set_vault(ws, value, err);
	case STET_OPTION_VERSION_DAYS:
		return set_days(&ws->writes.versions.max_days, value, err);
	}
	return st_fail(err, STET_E_INVALID, "There is no option %d.", (int)option);
}

int stet_workspace_state_dir(struct stet_workspace *ws, const char *name, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	if (!st_state_is_name(name))
		return st_state_fail_name(name, err);
	char *copy = strdup(name);
	if (!copy)
		return st_fail_nomem(err);
	free(ws->state_dir);
	ws->state_dir = copy;
	ws->instructions.state_dir = copy;
	st_write_set_state_dir(&ws->writes, copy);
	return 0;
}

int stet_workspace_hub(struct stet_workspace *ws, const char *conninfo, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	if (!conninfo)
		conninfo = "";
	int code = st_hub_check(conninfo, err);
	char *copy = code == 0 && *conninfo ? strdup(conninfo) : NULL;
	if (code < 0)
		return code;
	if (*conninfo && !copy)
		return st_fail_nomem(err);
	free(ws->hub);
	ws->hub = copy;
	return 0;
}

int stet_workspace_project(struct stet_workspace *ws, const char *names, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	if (!names)
		names = "";
	if (!st_project_is_list(names))
		return st_fail(err, STET_E_INVALID, "The names of projects are not NAME or FROM=NAME.");
	char *copy = *names ? strdup(names) : NULL;
	if (*names && !copy)
		return st_fail_nomem(err);
	free(ws->project);
	ws->project = copy;
	return 0;
}

const char *stet_workspace_root(const struct stet_workspace *ws) {
	if (!ws)
		return NULL;
	return ws->root.path;
}

const char *stet_workspace_shared(const struct stet_workspace *ws) {
	if (!ws)
		return NULL;
	return ws->root.trust == ST_TRUST_NONE ? st_trust_name(ws->root.fd) : NULL;
}

void stet_workspace_drain(struct stet_workspace *ws, int64_t grace_ms) {
	if (!ws)
		return;
	st_late_writes_drain(&ws->writes.late_writes, grace_ms < 0             ? 0
	                                              : grace_ms > ST_GRACE_MS ? ST_GRACE_MS
	                                                                       : grace_ms);
}

char *stet_workspace_notice(struct stet_workspace *ws) {
	if (!ws)
		return NULL;
	return st_write_next_notice(&ws->writes);
}

void stet_free(void *memory) {
	free(memory);
}

struct st_blob *st_workspace_base(struct stet_workspace *ws, const struct st_hash *hash) {
	struct st_blob *blob = st_bases_get(&ws->bases, hash);
	if (blob || ws->state == ST_STATE_NONE)
		return blob;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	if (st_versions_get(&ws->writes.versions, hash, &bytes)) {
		st_bases_give(&ws->bases, hash, &bytes);
		blob = st_bases_get(&ws->bases, hash);
	}
	return blob;
}

void st_workspace_wrote(struct stet_workspace *ws, const struct st_hash *hash, const char *name) {
	char *copy = strdup(name ? name : "");
	if (!copy)
		return;
	pthread_mutex_lock(&ws->history_lock);
	st_lru_put(&ws->writers, key_of(hash), copy, 1);
	pthread_mutex_unlock(&ws->history_lock);
}

const char *st_name_without_owner(const char *name) {
	size_t digits = strspn(name, "0123456789abcdef");
	return digits == ST_OWNER_MAX && name[digits] == ':' ? name + digits + 1 : name;
}

bool st_workspace_writer(struct stet_workspace *ws, const struct st_hash *hash, char name[128]) {
	pthread_mutex_lock(&ws->history_lock);
	const char *found = st_lru_get(&ws->writers, key_of(hash));
	if (found)
		snprintf(name, 128, "%s", found);
	pthread_mutex_unlock(&ws->history_lock);
	if (!found &&
	    (ws->state == ST_STATE_NONE || !ws->hooks.find_writer(ws->hooks.data, hash, name)))
		return false;
	const char *plain = st_name_without_owner(name);
	memmove(name, plain, strlen(plain) + 1);
	return true;
}

void st_workspace_apply(struct stet_workspace *ws, const struct st_hash *edit) {
	pthread_mutex_lock(&ws->history_lock);
	st_lru_put(&ws->applied, key_of(edit), ws, 1);
	pthread_mutex_unlock(&ws->history_lock);
}

bool st_workspace_applied(struct stet_workspace *ws, const struct st_hash *edit) {
	pthread_mutex_lock(&ws->history_lock);
	bool applied = st_lru_get(&ws->applied, key_of(edit)) != NULL;
	pthread_mutex_unlock(&ws->history_lock);
	return applied;
}

/* One line of the log. */
static int make_line(const char *session, struct st_str snapshot, struct st_buf *line) {
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	if (!doc)
		return STET_E_NOMEM;
	yyjson_mut_val *object = yyjson_mut_obj(doc);
	yyjson_mut_doc_set_root(doc, object);
	st_json_add_time(doc, object, "time", st_wall_ns());
	if (session)
		st_json_add_text(doc, object, "session", st_str(session));
	st_json_add_size(doc, object, "tokens", st_tokens(snapshot));
	st_json_add_text(doc, object, "snapshot", snapshot);
	int code = st_json_write(doc, object, line, NULL);
	yyjson_mut_doc_free(doc);
	st_buf_addc(line, '\n');
	return line->failed ? STET_E_NOMEM : code;
}

/* One write() per line, so that the lines of several processes do not mix. */
void st_workspace_log(struct stet_workspace *ws, const char *session, struct st_str snapshot) {
	st_auto(st_buf) line = ST_BUF_INIT;
	if (!ws->log)
		return;
	st_autofd fd = st_retry(
		open(ws->log, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600));
	bool made = fd >= 0 && make_line(session, snapshot, &line) == 0;
	if (!made || st_retry(write(fd, line.ptr, line.len)) != (ssize_t)line.len)
		st_write_notice(&ws->writes, "The snapshot could not be added to the log %s.",
		                st_quoted(ws->log));
}

int stet_workspace_log(struct stet_workspace *ws, const char *file, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	char *copy = file ? strdup(file) : NULL;
	if (file && !copy)
		return st_fail_nomem(err);
	free(ws->log);
	ws->log = copy;
	return 0;
}

int stet_workspace_allow(struct stet_workspace *ws, const char *extensions,
                         struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	char *copy = extensions && *extensions ? strdup(extensions) : NULL;
	if (extensions && *extensions && !copy)
		return st_fail_nomem(err);
	free(ws->extensions);
	ws->extensions = copy;
	return 0;
}

/* Take the next extension of a list, without its dot; false at the end. */
static bool next_ending(const char **list, struct st_str *ending) {
	const char *start = *list + strspn(*list, ", ");
	size_t len = strcspn(start, ", ");
	*list = start + len;
	*ending = st_strn(start, len);
	if (len > 0 && start[0] == '.')
		*ending = st_str_slice(*ending, 1, len);
	return len > 0;
}

/* Case does not matter: .md allows README.MD. */
static bool has_ending(struct st_str path, const char *list) {
	struct st_str ending;
	while (next_ending(&list, &ending)) {
		size_t dot = path.len > ending.len ? path.len - ending.len - 1 : 0;
		/* A name whose only dot is its first character has no extension. */
		if (dot > 0 && path.ptr[dot - 1] != '/' && path.ptr[dot] == '.' &&
		    strncasecmp(path.ptr + dot + 1, ending.ptr, ending.len) == 0)
			return true;
	}
	return false;
}

static int fail_type(const char *path, const char *list, struct stet_error *err) {
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const char *separator = "";
	struct st_str ending;
	st_auto(st_buf) allowed = ST_BUF_INIT;
	while (next_ending(&list, &ending)) {
		st_buf_addf(&allowed, "%s.", separator);
		st_buf_add(&allowed, ending);
		separator = ", ";
	}
	if (!dot || dot == name)
		return st_fail(err, STET_E_EXTENSION,
		               "A file without an extension is not allowed. Allowed: %s.",
		               st_buf_cstr(&allowed));
	return st_fail(err, STET_E_EXTENSION, "File type %s is not allowed. Allowed: %s.",
	               st_quoted(dot), st_buf_cstr(&allowed));
}

int st_workspace_check_type(const struct stet_workspace *ws, const char *path,
                            struct stet_error *err) {
	const char *types = ws->extensions ? ws->extensions : ws->vault ? ST_VAULT_TYPES : NULL;
	int code = st_vault_check_path(ws, path, err);
	bool allowed = !types || has_ending(st_str(path), types);
	return code < 0 || allowed ? code : fail_type(path, types, err);
}

int st_workspace_check_move(const struct stet_workspace *ws, const char *from,
                            const struct stet_workspace *other, const char *to,
                            struct stet_error *err) {
	st_auto(st_place) source = ST_PLACE_INIT;
	st_auto(st_place) destination = ST_PLACE_INIT;
	if (!ws->extensions && !other->extensions && !ws->vault && !other->vault)
		return 0;
	int code = st_root_locate_as(&ws->root, st_str(from), ST_LOCATE_LINK, &source, err);
	if (code == 0)
		code = st_root_locate_as(&other->root, st_str(to), ST_LOCATE_LINK, &destination, err);
	if (code == 0)
		code = st_vault_check_path(ws, source.path, err);
	if (code == 0)
		code = st_vault_check_path(other, destination.path, err);
	if (code == STET_E_PROTECTED)
		return code;
	/* Files in a moved directory keep their types. The move itself reports a missing source. */
	if (code < 0 || !source.exists || S_ISDIR(source.st.st_mode))
		return 0;
	code = st_workspace_check_type(ws, source.path, err);
	return code == 0 ? st_workspace_check_type(other, destination.path, err) : code;
}

int st_workspace_load(struct stet_workspace *ws, struct st_str path, size_t max,
                      struct st_place *place, struct st_file *file, struct stet_error *err) {
	int code = st_file_load_known(&ws->root, path, max, NULL, place, file, err);
	int allowed = place->path ? st_workspace_check_type(ws, place->path, err) : 0;
	return allowed < 0 ? allowed : code;
}

/* ---- the watcher ---- */

int stet_workspace_watch_fd(struct stet_workspace *ws, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	return st_shared_watcher_fd(&ws->watcher, err);
}

int stet_workspace_watch(struct stet_workspace *ws, const char *path, char **relative_path,
                         struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	st_auto(st_place) place = ST_PLACE_INIT;
	const char *name;
	*relative_path = NULL;
	int code = st_root_relative_path(&ws->root, path, &place, &name, err);
	if (code < 0)
		return code;
	char *copy = strdup(name);
	code = copy ? st_shared_watcher_watch(&ws->watcher, copy, err) : st_fail_nomem(err);
	if (code < 0)
		free(copy);
	else
		*relative_path = copy;
	return code;
}

void stet_workspace_unwatch(struct stet_workspace *ws, const char *relative_path) {
	if (!ws)
		return;
	st_shared_watcher_unwatch(&ws->watcher, relative_path);
}

void stet_workspace_wake(struct stet_workspace *ws) {
	if (ws)
		st_shared_watcher_wake(&ws->watcher);
}

int stet_workspace_dispatch(struct stet_workspace *ws, int timeout_ms,
                            stet_watch_callback *callback, void *data, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	const struct st_shared_watcher_report report = {.used = callback, .data = data};
	return st_shared_watcher_dispatch(&ws->watcher, timeout_ms, &report, err);
}

int stet_workspace_since(struct stet_workspace *ws, const char *clock, struct stet_changes **out,
                         struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	return st_shared_watcher_since(&ws->watcher, clock, out, err);
}

static bool is_instructions_name(void *data, struct st_str name) {
	const struct st_instructions_setup *setup = data;
	return st_instructions_rank(setup, name) < setup->name_count;
}

int st_workspace_watch_instructions(struct stet_workspace *ws, struct stet_error *err) {
	_Static_assert((int)ST_WATCH_NO_BUILTIN == (int)ST_IGNORE_NO_BUILTIN &&
	                   (int)ST_WATCH_NO_FILES == (int)ST_IGNORE_NO_FILES,
	               "ignore flags are passed to the watch unchanged");
	return st_shared_watcher_watch_names(&ws->watcher, is_instructions_name, &ws->instructions,
	                                     st_instructions_ignore_flags(&ws->instructions), err);
}

void st_workspace_unwatch_instructions(struct stet_workspace *ws) {
	st_shared_watcher_unwatch_names(&ws->watcher);
}

int st_check_text(const char *path, struct st_str bytes, struct stet_error *err) {
	if (memchr(bytes.ptr, '\0', bytes.len))
		return st_fail(err, STET_E_BINARY,
		               "%s is a binary file (it holds a NUL byte); text tools leave it alone.",
		               st_quoted(path));
	return 0;
}
