/* grep: search the contents of files. */
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/quote.h"
#include "text/find/glob.h"
#include "tools/files/grep_page.h"
#include "tools/files/tree.h"

enum {
	LINES_DEFAULT = 200,
	FILES_DEFAULT = 500,
	SHOWN_MAX = 10'000,
	/* Up to this offset the search keeps only what the answer may show. */
	KEPT_MAX = 100'000,
	NAMES_SHOWN = 3,
	/* Room for the sentences below the list. */
	NOTE_BYTES = 1200,
};

enum mode { MODE_LINES, MODE_FILES, MODE_COUNT };

struct request {
	struct st_call *call;
	enum mode mode;
	unsigned flags;
	size_t context;
	bool hidden;
	struct st_pattern *pattern;
	struct st_glob *glob;
	/* The directory that is walked, what is left out there, and room for a path. */
	struct st_dir dir;
	struct st_tree tree;
	struct st_buf path;
	size_t hidden_count;
	/* How many of several paths could not be searched, and why. */
	size_t failed;
	struct st_buf problems;
	struct st_tree_grep search;
};

static void request_release(struct request *request) {
	st_pattern_free(request->pattern);
	st_glob_free(request->glob);
	st_dir_release(&request->dir);
	st_tree_release(&request->tree);
	st_buf_release(&request->path);
	st_buf_release(&request->problems);
	st_tree_grep_release(&request->search);
}

/* ---- the arguments ---- */

static enum mode mode_of(struct st_str mode) {
	return strcasecmp(mode.ptr, "files") == 0   ? MODE_FILES
	       : strcasecmp(mode.ptr, "count") == 0 ? MODE_COUNT
	                                            : MODE_LINES;
}

/* How many lines or files an answer may have. */
static size_t most_shown(const struct request *request) {
	return st_arg_int(request->call, "limit", 0) > 0 ? SHOWN_MAX
	       : request->mode == MODE_LINES             ? LINES_DEFAULT
	                                                 : FILES_DEFAULT;
}

/* Let the search keep only the lines and files that the answer may show. */
static int set_bounds(struct request *request, struct stet_error *err) {
	struct st_tree_grep *search = &request->search;
	struct st_part part;
	int code = st_call_part(request->call, SIZE_MAX, most_shown(request), &part, err);
	if (code < 0 || part.end > KEPT_MAX)
		return code;
	/* A file to which several paths lead is counted once, so all are kept then. */
	search->found.most = st_arg(request->call, "paths") ? 0 : part.end;
	/* The lines around the last one may match, too. */
	search->hits = request->mode == MODE_LINES ? part.end + request->context : 0;
	return 0;
}

static int read_request(struct request *request, struct stet_error *err) {
	struct st_call *call = request->call;
	int64_t context = st_arg_int(call, "context", 0);
	if (context < 0 || context > ST_GREP_CONTEXT_MAX)
		return st_fail(err, STET_E_INVALID, "\"context\" of grep must be from 0 to %d lines.",
		               ST_GREP_CONTEXT_MAX);
	request->context = (size_t)context;
	request->mode = mode_of(st_arg_str(call, "mode"));
	call->text_once = !st_arg_flag(call, "list", true);
	request->hidden = st_arg_flag(call, "hidden", false);
	request->flags = (st_arg_flag(call, "literal", false) ? ST_GREP_LITERAL : 0) |
	                 (st_arg_flag(call, "ignoreCase", false) ? ST_GREP_CASELESS : 0) |
	                 (st_arg_flag(call, "multiline", false) ? ST_GREP_SPAN : 0);
	int code = st_grep_compile(st_arg_str(call, "pattern"), request->flags, &request->pattern, err);
	request->search = (struct st_tree_grep){
		.pattern = request->pattern,
		.flags = request->flags,
		.first_only = request->mode == MODE_FILES,
	};

	if (code == 0)
		code = set_bounds(request, err);
	if (code == 0 && st_arg(call, "glob"))
		code = st_glob_new(st_arg_str(call, "glob"), &request->glob, err);
	return code;
}

/* ---- the files ---- */

static bool is_hidden(struct st_str path) {
	for (size_t i = 0; i < path.len; i++) {
		if (path.ptr[i] == '.' && (i == 0 || path.ptr[i - 1] == '/'))
			return true;
	}
	return false;
}

/* The path of an entry below the root. */
static struct st_str whole_path(struct request *request, struct st_str path) {
	if (!*request->dir.path)
		return path;
	st_buf_clear(&request->path);
	st_buf_addf(&request->path, "%s/", request->dir.path);
	st_buf_add(&request->path, path);
	return st_buf_str(&request->path);
}

/* Neither git's directory nor a state directory is ever searched. */
static bool is_protected(struct request *request, struct st_str path) {
	return st_path_is_protected(whole_path(request, path).ptr,
	                            request->call->session->ws->writes.state_dir);
}

static enum st_tree_choice is_wanted(void *data, struct st_str path, enum st_walk_type type) {
	struct request *request = data;
	bool is_dir = type == ST_WALK_DIR;
	if (!is_dir && type != ST_WALK_FILE)
		return ST_TREE_NO;
	if (is_hidden(path)) {
		if (is_protected(request, path))
			return ST_TREE_PRUNE;
		request->hidden_count += !request->hidden;
		if (!request->hidden)
			return ST_TREE_PRUNE;
	}
	/* As in rg, a glob with a slash begins at the root, wherever the search begins. */
	if (is_dir ||
	    (request->glob && !st_glob_match(request->glob, whole_path(request, path), false)))
		return ST_TREE_NO;
	return ST_TREE_YES;
}

static void add_found(void *data, const struct st_walk_entry *entry, struct st_str path) {
	struct request *request = data;
	/* A failure shows at the end of the search. */
	st_tree_grep_add(&request->search, entry->dir, whole_path(request, path));
}

/* A file that is named is searched whatever the rules say, but it must be one that tools may read. */
static int add_named(struct request *request, const char *path, const struct st_place *place,
                     struct stet_error *err) {
	struct stet_session *session = request->call->session;
	bool is_file = place->exists && S_ISREG(place->st.st_mode) &&
	               (uint64_t)place->st.st_size <= session->ws->max_file;
	if (is_file && st_workspace_check_type(session->ws, place->path, NULL) == 0 &&
	    faccessat(place->dirfd, place->name, R_OK, AT_EACCESS) == 0) {
		st_tree_grep_add(&request->search, place->dirfd, st_str(place->path));
		return 0;
	}
	/* The read reports the problem. */
	st_auto(st_place) again = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_session_load(session, path, &again, &file, err);
	if (code == 0)
		st_tree_grep_add(&request->search, again.dirfd, st_str(again.path));
	return code;
}

/* Search the file that a path names, or those below a directory. */
static int search_path(struct request *request, const char *path, struct stet_error *err) {
	struct st_call *call = request->call;
	st_auto(st_place) place = ST_PLACE_INIT;
	const struct stet_workspace *ws = call->session->ws;
	int code = st_root_locate_as(&ws->root, st_str(path), ST_LOCATE_DIR, &place, err);
	if (code < 0)
		return code;
	if (st_path_is_protected(place.path, ws->writes.state_dir))
		return st_fail(err, STET_E_PROTECTED,
		               "%s is not searched: it belongs to git or to stet itself.",
		               st_quoted(place.path));
	if (!place.exists || !S_ISDIR(place.st.st_mode))
		return add_named(request, path, &place, err);
	request->tree.found = add_found;
	st_dir_release(&request->dir);
	return st_tree_collect(call, path, is_wanted, request, &request->dir, &request->tree, err);
}

/* Search one of several paths, which must be in the workspace of the search. */
static int search_one(struct request *request, struct st_str path, struct stet_error *err) {
	struct st_call *call = request->call;
	struct stet_session *session = call->session;
	const char *found = st_call_find(call, "An item of \"paths\"", path, err);
	bool elsewhere = call->session != session;
	call->session = session;
	if (!found)
		return err->code;
	if (elsewhere)
		return st_fail(err, STET_E_INVALID, "%s is in another workspace. Search there on its own.",
		               st_quoted(found));
	return search_path(request, found, err);
}

/* Search several paths. Those that cannot be searched are named in the answer, unless all are such. */
static int search_paths(struct request *request, yyjson_val *paths, struct stet_error *err) {
	size_t count = yyjson_arr_size(paths);
	yyjson_arr_iter items = yyjson_arr_iter_with(paths);
	for (yyjson_val *item; (item = yyjson_arr_iter_next(&items));) {
		int code = search_one(request, st_json_str(item), err);
		if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
			return code;
		if (code == 0)
			continue;
		if (++request->failed == count && count > 1) {
			const struct stet_error last = *err;
			return st_fail(err, code, "None of the %zu paths can be searched. %s", count,
			               last.message);
		}
		if (request->failed == count)
			return code;
		st_buf_addf(&request->problems, "[%s]\n", err->message);
	}
	return request->problems.failed ? st_fail_nomem(err) : 0;
}

static int search_files(struct request *request, struct stet_error *err) {
	struct st_call *call = request->call;
	yyjson_val *paths = st_arg(call, "paths");
	bool several = yyjson_arr_size(paths) > 0;
	const char *path = several ? NULL : st_call_directory(call, err);
	if (!several && !path)
		return err->code;
	int code = st_tree_grep_begin(&request->search, call->session->ws, err);
	if (code == 0)
		code = several ? search_paths(request, paths, err) : search_path(request, path, err);
	return code < 0 ? code : st_tree_grep_end(&request->search, err);
}

/* ---- the answer ---- */

/* The first files in which a limit ended the search, and the limit. */
struct stopped {
	struct st_buf names;
	const char *why;
};

static void stopped_release(struct stopped *stopped) {
	st_buf_release(&stopped->names);
}

static void name_stopped(const struct st_grep_found *found, struct stopped *stopped) {
	size_t count = 0;
	for (size_t i = 0; i < found->count; i++) {
		const struct st_grep_file file = st_grep_found_at(found, i);
		if (!file.why)
			continue;
		stopped->why = file.why;
		if (++count > NAMES_SHOWN)
			continue;
		st_buf_adds(&stopped->names, stopped->names.len > 0 ? ", " : "");
		st_quote_name_max(&stopped->names, st_str(file.path), 200);
	}
}

/* How many files there were. */
static size_t all_files(const struct st_tree_grep *search) {
	size_t count = 0;
	for (size_t i = 0; i < ST_GREP_STATES; i++)
		count += search->states[i];
	return count;
}

/* Whether a limit ended the search, or that of a file. */
static bool is_incomplete(const struct st_tree_grep *search) {
	return search->states[ST_GREP_STOPPED] + search->states[ST_GREP_WAITING] > 0 ||
	       search->found.cut;
}

/* One item of a list of what was not searched: "3 binary files". */
static void add_count(struct st_buf *out, size_t count, const char *kind, const char *one,
                      const char *many, const char *behind) {
	if (count == 0)
		return;
	st_buf_addf(out, "%s%zu %s%s%s", out->len > 0 ? ", " : "", count, kind,
	            st_plural(count, one, many), behind);
}

static void note_left_out(struct request *request, struct st_buf *note) {
	const struct st_tree *tree = &request->tree;
	const size_t *states = request->search.states;
	st_auto(st_buf) list = ST_BUF_INIT;
	size_t ignored = tree->ignored_dirs + tree->ignored_files;
	add_count(&list, tree->ignored_dirs, "ignored ", "directory", "directories",
	          tree->ignored_files ? "" : " (see includeIgnored)");
	add_count(&list, tree->ignored_files, "ignored ", "file", "files", " (see includeIgnored)");
	add_count(&list, request->hidden_count, "hidden ", "entry", "entries", " (see hidden)");
	add_count(&list, states[ST_GREP_BINARY], "binary ", "file", "files", "");
	add_count(&list, states[ST_GREP_UTF16], "UTF-16 ", "file", "files", "");
	add_count(&list, states[ST_GREP_TOO_BIG], "too large ", "file", "files", "");
	add_count(&list, states[ST_GREP_NOT_ALLOWED], "", "file", "files",
	          " of types that are not allowed");
	add_count(&list, states[ST_GREP_UNREADABLE], "unreadable ", "file", "files", "");
	add_count(&list, tree->unreadable, "unreadable ", "directory", "directories", "");
	if (list.len > 0)
		st_buf_addf(note, "[Not searched: %s.]\n", st_buf_cstr(&list));
	if (ignored > 0)
		st_json_add_size(request->call->doc, request->call->result, "ignored", ignored);
	size_t binary = states[ST_GREP_BINARY] + states[ST_GREP_UTF16];
	if (binary > 0)
		st_json_add_size(request->call->doc, request->call->result, "binary", binary);
}

/* Say which limit was reached: an answer that is not complete must not look as if it were. */
static void note_limits(const struct request *request, const struct stopped *stopped,
                        struct st_buf *note) {
	const struct st_tree_grep *search = &request->search;
	size_t count = search->states[ST_GREP_STOPPED], waiting = search->states[ST_GREP_WAITING];
	if (count > 0)
		st_buf_addf(note,
		            "[Not complete: in %zu %s (%s%s) the search stopped early, since %s. Make the "
		            "pattern more specific: no repetition inside a repetition such as (a+)+, or "
		            "pass literal.]\n",
		            count, st_plural(count, "file", "files"), st_buf_cstr(&stopped->names),
		            count > NAMES_SHOWN ? ", ..." : "", stopped->why);
	if (waiting > 0)
		st_buf_addf(note,
		            "[Not complete: the time limit of %d seconds was reached before %zu %s of %zu "
		            "were searched. Search in a directory further down, or pass glob.]\n",
		            ST_GREP_TREE_MS / 1000, waiting, st_plural(waiting, "file", "files"),
		            all_files(search));
	if (search->found.cut)
		st_buf_addf(note,
		            "[Not complete: more than %zu files match; the others are not counted. Search "
		            "in a directory further down, or pass glob.]\n",
		            search->found.count);
	if (is_incomplete(search))
		st_json_add_true(request->call->doc, request->call->result, "incomplete");
}

/* The list of what was found in the data; NULL if the caller reads only the text. */
static yyjson_mut_val *data_list(struct st_call *call, const char *key) {
	bool wanted = call->structured && st_arg_flag(call, "list", true);
	return wanted ? st_json_add_array(call->doc, call->result, key) : NULL;
}

/* The page of lines. @return The code; part->end receives where it ends. */
static int render_lines(struct request *request, struct st_part *part, struct st_buf *note,
                        struct stet_error *err) {
	struct st_call *call = request->call;
	size_t room = st_call_room(call);
	struct st_grep grep = {0};
	int code = st_grep_init(&grep, request->pattern, request->flags, err);
	struct st_grep_page page = {
		.call = call,
		.grep = &grep,
		.context = request->context,
		.room = room > NOTE_BYTES ? room - NOTE_BYTES : 0,
		.instructions_room = room / 2,
		.is_recorded = st_arg_flag(call, "record", true),
		.list = data_list(call, "matches"),
	};
	size_t before = 0, at = part->first;
	for (size_t i = 0; code == 0 && i < request->search.found.count && at < part->end && !page.full;
	     i++) {
		const struct st_grep_file file = st_grep_found_at(&request->search.found, i);
		size_t end = before + file.lines, sent;
		if (at < end) {
			size_t last = end < part->end ? end : part->end;
			code = st_grep_page_add(&page, &file, at - before, last - at, &sent, err);
			/* Lines that are gone since are passed over. */
			at = page.full ? at + sent : last;
		}
		before = end;
	}
	st_grep_release(&grep);
	part->end = at;
	if (page.cut)
		st_buf_adds(note, "[Long lines are cut at [...]; read_file shows them.]\n");
	if (page.lossy)
		st_buf_adds(note,
		            "[Some lines are not valid UTF-8: U+FFFD stands for their other bytes.]\n");
	if (page.changed > 0)
		st_buf_addf(note, "[%zu %s changed during the search.]\n", page.changed,
		            st_plural(page.changed, "file", "files"));
	return code;
}

static void add_file_data(struct request *request, const struct st_grep_file *file,
                          struct st_str path, yyjson_mut_val *list) {
	yyjson_mut_doc *doc = request->call->doc;
	yyjson_mut_val *name = st_json_text(doc, path), *item = yyjson_mut_obj(doc);
	if (request->mode == MODE_FILES) {
		st_json_push(doc, list, name);
		return;
	}
	st_json_add(doc, item, "path", name);
	st_json_add_size(doc, item, "count", file->lines);
	st_json_push(doc, list, item);
}

static void render_file(struct request *request, const struct st_grep_file *file,
                        yyjson_mut_val *list) {
	struct st_call *call = request->call;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_grep_add_path(call, &path, file->path);
	call->text.failed |= path.failed;
	st_quote_name(&call->text, st_buf_str(&path));
	if (request->mode == MODE_COUNT)
		st_buf_addf(&call->text, ":%zu", file->lines);
	st_buf_addc(&call->text, '\n');
	if (list && !path.failed)
		add_file_data(request, file, st_buf_str(&path), list);
}

/* The page of files, with or without their counts. */
static void render_files(struct request *request, struct st_part *part) {
	struct st_call *call = request->call;
	const char *key = request->mode == MODE_FILES ? "files" : "counts";
	yyjson_mut_val *list = data_list(call, key);
	size_t at = 0;
	for (size_t i = 0; i < request->search.found.count && at < part->end; i++) {
		const struct st_grep_file file = st_grep_found_at(&request->search.found, i);
		if (file.lines == 0 || at++ < part->first)
			continue;
		size_t need = strlen(call->session->ws->root.path) + strlen(file.path) * 4 + NOTE_BYTES;
		if (st_call_room(call) < need && call->text.len > 0)
			part->end = at - 1;
		else
			render_file(request, &file, list);
	}
}

static size_t total_of(const struct request *request) {
	const struct st_grep_found *found = &request->search.found;
	return request->mode == MODE_LINES ? found->lines : found->matched;
}

static void note_total(struct request *request, const struct st_part *part, struct st_buf *note) {
	struct st_call *call = request->call;
	bool by_lines = request->mode == MODE_LINES;
	size_t total = total_of(request), files = request->search.found.matched;
	size_t searched = request->search.states[ST_GREP_SEARCHED];
	st_json_add_size(call->doc, call->result, "total", total);
	st_json_add_size(call->doc, call->result, "filesMatched", files);
	/* Several paths may lead to the same files. */
	if (total == 0 && !is_incomplete(&request->search) && st_arg(call, "paths"))
		st_buf_adds(note, "[No match.]\n");
	else if (total == 0 && !is_incomplete(&request->search))
		st_buf_addf(note, "[No match in %zu %s.]\n", searched,
		            st_plural(searched, "file", "files"));
	else if (total == 0)
		st_buf_adds(note, "[No match so far.]\n");
	if (total == 0)
		return;
	const char *what = by_lines ? st_plural(total, "matching line", "matching lines")
	                            : st_plural(total, "matching file", "matching files");
	if (part->first == part->end) {
		st_buf_addf(note, "[The offset is out of range: there %s %zu %s.]\n",
		            st_plural(total, "is", "are"), total, what);
		return;
	}
	if (part->first == 0 && part->end == total)
		return;
	st_buf_addf(note, "[%zu-%zu of %zu %s", part->first + 1, part->end, total, what);
	if (by_lines)
		st_buf_addf(note, " in %zu %s", files, st_plural(files, "file", "files"));
	if (part->end < total) {
		st_json_add_size(call->doc, call->result, "nextOffset", part->end);
		st_buf_addf(note, ". Continue with offset %zu", part->end);
	}
	st_buf_adds(note, ".]\n");
}

static int render(struct request *request, struct stet_error *err) {
	struct st_call *call = request->call;
	st_auto(stopped) stopped = {.names = ST_BUF_INIT};
	st_auto(st_buf) note = ST_BUF_INIT, remarks = ST_BUF_INIT;
	struct st_part part;
	bool by_lines = request->mode == MODE_LINES;
	name_stopped(&request->search.found, &stopped);
	int code = st_call_part(call, total_of(request), most_shown(request), &part, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	if (by_lines)
		code = render_lines(request, &part, &remarks, err);
	else
		render_files(request, &part);
	if (code < 0)
		return code;
	note_total(request, &part, &note);
	st_buf_add(&note, st_buf_str(&remarks));
	note_limits(request, &stopped, &note);
	note_left_out(request, &note);
	st_buf_add(&note, st_buf_str(&request->problems));
	if (request->failed > 0)
		st_json_add_size(call->doc, call->result, "failedPaths", request->failed);
	if (note.failed || remarks.failed || stopped.names.failed)
		return st_fail_nomem(err);
	if (call->structured)
		st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
	st_buf_add(st_call_footer(call), st_buf_str(&note));
	/* Only an answer that is wanted reaches the caller. */
	return st_cancel_check_now(err);
}

static int run_grep(struct st_call *call, struct stet_error *err) {
	st_auto(request) request = {.call = call, .dir = ST_DIR_INIT, .path = ST_BUF_INIT};
	int code = read_request(&request, err);
	if (code == 0)
		code = search_files(&request, err);
	return code < 0 ? code : render(&request, err);
}

static const struct st_param params[] = {
	{.name = "pattern",
     .aliases = "query regex",
     .required = true,
     .description = "A PCRE2 regex."},
	{.name = "path",
     .aliases = "directory dir filePath file_path",
     .description = "File or directory; default: the workspace."},
	{.name = "paths",
     .type = ST_PARAM_STRINGS,
     .unlisted = true,
     .description = "Files and directories instead of path."},
	{.name = "record",
     .type = ST_PARAM_BOOLEAN,
     .unlisted = true,
     .description = "Whether the lines count as seen; default: true."},
	{.name = "list",
     .type = ST_PARAM_BOOLEAN,
     .unlisted = true,
     .description = "Whether the data has the matches and the text, too; default: true."},
	{.name = "glob", .aliases = "include", .description = "Only these files: *.c, src/**."},
	{.name = "literal", .type = ST_PARAM_BOOLEAN, .description = "The pattern is plain text."},
	{.name = "ignoreCase",
     .aliases = "ignore_case caseInsensitive case_insensitive",
     .type = ST_PARAM_BOOLEAN,
     .description = "Ignore case."},
	{.name = "multiline", .type = ST_PARAM_BOOLEAN, .description = "Matches may span lines."},
	{.name = "context", .type = ST_PARAM_INTEGER, .description = "Lines around each match."},
	{.name = "mode",
     .aliases = "outputMode output_mode",
     .choices = "lines|files|count",
     .description = "Default: lines."},
	ST_PARAM_OFFSET,
	ST_PARAM_LIMIT,
	{.name = "hidden", .type = ST_PARAM_BOOLEAN, .description = "Hidden files too."},
	ST_PARAM_IGNORED,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_grep_tool = {
	.name = "grep",
	.title = "Search in files",
	.description = "Search the contents of files. Answers path:line:text.",
	.params = params,
	.output_schema = ST_OUTPUT(
		"\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":"
		"{\"type\":\"string\"},\"line\":{\"type\":\"integer\"},\"text\":{\"type\":\"string\"}}}},"
		"\"files\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"counts\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":"
		"{\"type\":\"string\"},\"count\":{\"type\":\"integer\"}}}},"
		"\"total\":{\"type\":\"integer\"},\"filesMatched\":{\"type\":\"integer\"},"
		"\"nextOffset\":{\"type\":\"integer\"},\"ignored\":{\"type\":\"integer\"},"
		"\"binary\":{\"type\":\"integer\"},\"incomplete\":{\"type\":\"boolean\"},"
		"\"failedPaths\":{\"type\":\"integer\"},"
		"\"note\":{\"type\":\"string\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run_grep,
};
