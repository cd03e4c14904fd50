#include "cli/setup/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/setup/entry.h"

/* ---- the program ---- */

/* Whether the shell would run this program under a name. */
static bool in_path(const char *name, const char *self) {
	const char *path = getenv("PATH");
	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		char *candidate = NULL, *real = NULL;
		len = strcspn(path, ":");
		if (asprintf(&candidate, "%.*s/%s", (int)len, path, name) < 0)
			return false;
		if (access(candidate, X_OK) == 0)
			real = realpath(candidate, NULL);
		free(candidate);
		if (real) {
			bool same = strcmp(real, self) == 0;
			free(real);
			return same;
		}
	}
	return false;
}

char *own_program(void) {
	char *self = realpath("/proc/self/exe", NULL);
	if (self && in_path("stet", self)) {
		free(self);
		return strdup("stet");
	}
	return self;
}

/* A text as a JSON string, which is also a TOML string; the caller frees it with stet_free(). */
static char *quote_string(const char *text) {
	struct stet_json *json = stet_json_new();
	char *out = NULL;
	if (json) {
		stet_json_set_text(json, "/a", text, strlen(text));
		out = stet_json_write_at(json, "/a", 0, NULL);
	}
	stet_json_free(json);
	return out;
}

/* The command of a hook, as clients hand it to a shell. */
static char *hook_shell_line(const char *program) {
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%";
	const char *quote = strspn(program, plain) == strlen(program) ? "" : "'";
	char *out = NULL;
	if (strchr(program, '\'') || asprintf(&out, "%s%s%s hook", quote, program, quote) < 0)
		return NULL;
	return out;
}

/* The value of an entry with the program in it, which the caller frees; NULL if memory ran out. */
static char *expand_entry(const struct entry *entry, bool served, const char *program) {
	char *command = hook_shell_line(program), *out = NULL;
	char *names[] = {quote_string(program), command ? quote_string(command) : NULL};
	size_t len = 0;
	FILE *stream = names[0] && names[1] ? open_memstream(&out, &len) : NULL;
	for (const char *c = entry_value(entry, served); stream && *c; c++) {
		if (c[0] == '@' && (c[1] == 'P' || c[1] == 'H'))
			fputs(names[*++c == 'H'], stream);
		else
			fputc(*c, stream);
	}
	if (stream && fclose(stream) == EOF) {
		free(out);
		out = NULL;
	}
	stet_free(names[0]);
	stet_free(names[1]);
	free(command);
	return out;
}

/* ---- the files ---- */

static bool is_planned(const struct plan *plan, const struct entry *entry) {
	if (plan->remove || entry->part == PART_SERVER)
		return true;
	return entry->part == PART_HOOKS ? plan->hooks : plan->deny;
}

/* opencode reads opencode.jsonc, too: use that if the user has it. */
static char *choose_path(const struct client *client, size_t file, const char *root, bool user) {
	char *path = client_path(client, file, root, user), *other = NULL;
	if (!path || strcmp(client->name, "opencode") != 0 || file > 0 || access(path, F_OK) == 0 ||
	    asprintf(&other, "%sc", path) < 0)
		return path;
	bool has = access(other, F_OK) == 0;
	free(has ? path : other);
	return has ? other : path;
}

/* The file of a path in the plan, which is read if it is not there yet; NULL after reporting an error. */
static struct plan_file *plan_file_at(struct plan *plan, const char *path, int *status) {
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->files[i].file.path, path) == 0)
			return &plan->files[i];
	}
	struct plan_file *file = &plan->files[plan->count++];
	*status = config_file_read(&file->file, path);
	file->recorded = *status == DONE && record_read(path, &file->record);
	return *status == DONE ? file : NULL;
}

static int check_file(const struct plan_file *file) {
	char *why = NULL;
	const char *text = file->file.text ? file->file.text : "";
	if (entry_accepts(file->entries[0].entry, text, &why))
		return DONE;
	bool table = file->entries[0].entry->kind == ENTRY_TABLE;
	int status = report_as(STET_E_INVALID, "%s %s. %s first; nothing was changed.", file->file.path,
	                       why ? why : "cannot be read", table ? "Change that" : "Correct it");
	free(why);
	return status;
}

static int plan_entry(struct plan *plan, const struct entry *entry, const char *root) {
	int status = DONE;
	char *path = choose_path(plan->client, entry->file, root, plan->user);
	if (!path)
		return DONE;
	struct plan_file *file = plan_file_at(plan, path, &status);
	free(path);
	if (!file)
		return status;
	struct planned_entry *planned = &file->entries[file->count++];
	planned->entry = entry;
	planned->value = expand_entry(entry, plan->served, plan->program);
	if (!planned->value)
		return report_nomem();
	planned->is_new = !file->file.text || !entry_has(entry, file->file.text, planned->value);
	return file->count == 1 ? check_file(file) : DONE;
}

/* ---- adding ---- */

static char *add_entries(const struct plan_file *file, const char *text) {
	char *out = strdup(text);
	for (size_t i = 0; out && i < file->count; i++) {
		const struct planned_entry *planned = &file->entries[i];
		char *next = entry_add(planned->entry, out, planned->value);
		free(out);
		out = next;
	}
	return out;
}

/* Whether each entry came out as it should: the layout may be one that stet cannot change. */
static bool has_entries(const struct plan_file *file) {
	for (size_t i = 0; i < file->count; i++) {
		if (!entry_has(file->entries[i].entry, file->next, file->entries[i].value))
			return false;
	}
	return true;
}

static int plan_addition(struct plan_file *file) {
	const char *text = file->file.text ? file->file.text : "";
	file->next = add_entries(file, text);
	if (!file->next || !has_entries(file))
		return report_as(STET_E_IO,
		                 "%s has a layout that stet cannot change. Add stet by hand; "
		                 "docs/clients.md shows how. Nothing was changed.",
		                 file->file.path);
	file->changes = !file->file.text || strcmp(text, file->next) != 0;
	return DONE;
}

/* ---- taking out ---- */

static char *remove_entries(const struct plan_file *file, const char *text, const char *before) {
	char *out = strdup(text);
	/* In reverse: an entry that others share comes first. */
	for (size_t i = file->count; out && i > 0; i--) {
		const struct planned_entry *planned = &file->entries[i - 1];
		char *next = entry_remove(planned->entry, out, planned->value, before);
		free(out);
		out = next;
	}
	return out;
}

/* Whether the file has entries of the client that belong to its other scope. */
static bool has_others(const struct plan *plan, const struct plan_file *file, const char *root) {
	for (const struct entry *entry = plan->client->entries; entry->value; entry++) {
		bool ours = false;
		for (size_t i = 0; i < file->count; i++)
			ours = ours || file->entries[i].entry == entry;
		char *path = ours ? NULL : client_path(plan->client, entry->file, root, !plan->user);
		bool here = path && strcmp(path, file->file.path) == 0;
		free(path);
		if (here && entry_exists(entry, file->file.text))
			return true;
	}
	return false;
}

static int plan_removal(const struct plan *plan, struct plan_file *file, const char *root) {
	const char *text = file->file.text;
	if (!text)
		return DONE;
	const char *before = file->recorded ? file->record.before : NULL;
	bool current =
		file->recorded && record_is_current(&file->record, text) && !has_others(plan, file, root);
	bool whole = file->entries[0].entry->kind == ENTRY_TEXT;
	if (current) {
		file->next = before ? strdup(before) : NULL;
		file->changes = true;
		return before && !file->next ? report_nomem() : DONE;
	}
	if (whole) {
		/* Without a record, only the unchanged file is known to be stet's. */
		file->changes = !file->entries[0].is_new;
		file->foreign = file->entries[0].is_new;
		return DONE;
	}
	/* If there was no file before, or an empty one, compare with an empty object. */
	file->next = remove_entries(file, text, file->recorded && !before ? "" : before);
	file->changes = file->next && strcmp(file->next, text) != 0;
	return file->next ? DONE
	                  : report_as(STET_E_IO,
	                              "%s has a layout that stet cannot change. Remove stet by hand.",
	                              file->file.path);
}

struct project_search {
	const struct client *client;
	/* The file of the server in this project. */
	const char *own;
};

/* Whether a file has the client's server in another project. */
static bool is_other_project(const char *path, void *arg) {
	const struct project_search *search = arg;
	const struct client *client = search->client;
	size_t len = strlen(path), end = strlen(client->files[0].project);
	if (len <= end || path[len - end - 1] != '/' ||
	    strcmp(path + len - end, client->files[0].project) != 0 || strcmp(path, search->own) == 0)
		return false;
	char *text = config_file_peek(path);
	bool has = text && entry_exists(&client->entries[0], text);
	free(text);
	return has;
}

static bool has_other_projects(const struct plan *plan, const char *root) {
	char *own = client_path(plan->client, 0, root, false);
	struct project_search search = {plan->client, own};
	bool has = own && record_find(is_other_project, &search);
	free(own);
	return has;
}

/* Whether the other scope or another project has stet, and its entry is the same one: it stays for that. */
static bool is_needed_elsewhere(const struct plan *plan, const struct entry *entry,
                                const char *root) {
	const struct client_file *file = &plan->client->files[entry->file];
	if (!plan->remove || !file->user || !file->project || strcmp(file->user, file->project) != 0)
		return false;
	char *path = client_configured(plan->client, PART_SERVER, root, !plan->user);
	free(path);
	return path || has_other_projects(plan, root);
}

/* ---- the plan ---- */

static int plan_changes(struct plan *plan, const char *root) {
	int status = DONE;
	for (size_t i = 0; status == DONE && i < plan->count; i++) {
		struct plan_file *file = &plan->files[i];
		status = plan->remove ? plan_removal(plan, file, root) : plan_addition(file);
		plan->changes += file->changes;
	}
	return status;
}

/* The files of a project may lie below the home, too. */
static bool needs_home(const struct plan *plan) {
	for (size_t i = 0; i < CLIENT_FILES; i++) {
		const struct client_file *file = &plan->client->files[i];
		const char *name = plan->user ? file->user : file->project;
		if (name && strncmp(name, "~/", 2) == 0)
			return true;
	}
	return false;
}

int plan_make(struct plan *plan, const char *root) {
	int status = DONE;
	const char *home = getenv("HOME");
	if (needs_home(plan) && !(home && home[0] == '/'))
		return report_as(STET_E_INVALID,
		                 "HOME is not set, so the files of %s cannot be found. Set "
		                 "HOME to your home directory.",
		                 plan->client->title);
	plan->program = own_program();
	if (!plan->program)
		return report_nomem();
	if (strchr(plan->program, '\''))
		return report_as(STET_E_INVALID,
		                 "The path of stet has a single quote: %s. Move it to another directory.",
		                 plan->program);
	for (const struct entry *entry = plan->client->entries; entry->value && status == DONE;
	     entry++) {
		if (is_planned(plan, entry) && !is_needed_elsewhere(plan, entry, root))
			status = plan_entry(plan, entry, root);
	}
	return status == DONE ? plan_changes(plan, root) : status;
}

/* Remember the text before: that of the record if the file did not change since, or the current text. */
static int remember(struct plan_file *file) {
	struct stet_error err = {0};
	struct record record = {0};
	const char *text = file->file.text;
	char *cleaned = NULL;
	if (stet_text_hash(file->next, strlen(file->next), record.after, &err) < 0)
		return report(&err);
	record.before = file->file.text;
	record.made = file->file.made;
	if (file->recorded && text && record_is_current(&file->record, text)) {
		record.before = file->record.before;
		record.made = file->record.made;
	} else if (file->recorded && text && file->entries[0].entry->kind != ENTRY_TEXT) {
		cleaned = remove_entries(file, text, file->record.before);
		record.before = cleaned ? cleaned : file->file.text;
	}
	bool good = record_write(file->file.path, &record);
	free(cleaned);
	if (!good)
		complain(
			"Cannot remember the earlier %s in the user's state directory: stet setup "
			"--remove will only take out stet's entries.",
			file->file.path);
	return DONE;
}

static int write_file(struct plan *plan, struct plan_file *file) {
	int status;
	if (!file->next)
		status = config_file_delete(&file->file, file->recorded ? file->record.made : NULL);
	else
		status = config_file_write(&file->file, file->next);
	if (status != DONE)
		return status;
	if (!plan->remove || file->others)
		return remember(file);
	record_remove(file->file.path);
	return DONE;
}

int plan_write(struct plan *plan) {
	int status = DONE;
	for (size_t i = 0; status == DONE && i < plan->count; i++) {
		/* In reverse to undo: the first file in a directory knows whether stet made it. */
		struct plan_file *file = &plan->files[plan->remove ? plan->count - 1 - i : i];
		if (file->changes)
			status = write_file(plan, file);
	}
	return status;
}

char *plan_document(const struct plan_file *file) {
	return add_entries(file, "");
}

void plan_release(struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) {
		struct plan_file *file = &plan->files[i];
		config_file_release(&file->file);
		for (size_t j = 0; j < file->count; j++)
			free(file->entries[j].value);
		record_release(&file->record);
		free(file->next);
	}
	free(plan->program);
}

char *client_configured(const struct client *client, enum part part, const char *root, bool user) {
	for (const struct entry *entry = client->entries; entry->value; entry++) {
		if (entry->part != part || (part == PART_SERVER && entry->file != 0))
			continue;
		char *path = choose_path(client, entry->file, root, user);
		char *text = path ? config_file_peek(path) : NULL;
		bool has = text && entry_exists(entry, text);
		free(text);
		if (has)
			return path;
		free(path);
	}
	return NULL;
}
