/*
 * The n-th allocation and the n-th system call fail, for every n, in every
 * tool: the answer is right, or a failure that says so; the file is the old one
 * or the new one, and what was done is never said not to have been.
 *
 * JSON gets its memory from here too, so that building an answer can fail at
 * every step.
 */
#include "lib/fault.h"
#include "lib/tools.h"

#define OLD "# One\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\nlast\n"

/* ---- memory for yyjson ---- */

static void *json_alloc(void *context, size_t size) {
	(void)context;
	return malloc(size);
}

static void *json_resize(void *context, void *memory, size_t old_size, size_t size) {
	(void)context;
	(void)old_size;
	return realloc(memory, size);
}

static void json_release(void *context, void *memory) {
	(void)context;
	free(memory);
}

static const yyjson_alc json_memory = {json_alloc, json_resize, json_release, NULL};

yyjson_mut_doc *__real_yyjson_mut_doc_new(const yyjson_alc *alc);
yyjson_mut_doc *__wrap_yyjson_mut_doc_new(const yyjson_alc *alc);
yyjson_mut_doc *__wrap_yyjson_mut_doc_new(const yyjson_alc *alc) {
	return __real_yyjson_mut_doc_new(alc ? alc : &json_memory);
}

yyjson_doc *__real_yyjson_read_opts(char *text, size_t len, yyjson_read_flag flags,
                                    const yyjson_alc *alc, yyjson_read_err *err);
yyjson_doc *__wrap_yyjson_read_opts(char *text, size_t len, yyjson_read_flag flags,
                                    const yyjson_alc *alc, yyjson_read_err *err);
yyjson_doc *__wrap_yyjson_read_opts(char *text, size_t len, yyjson_read_flag flags,
                                    const yyjson_alc *alc, yyjson_read_err *err) {
	return __real_yyjson_read_opts(text, len, flags, alc ? alc : &json_memory, err);
}

char *__real_yyjson_mut_val_write_opts(const yyjson_mut_val *value, yyjson_write_flag flags,
                                       const yyjson_alc *alc, size_t *len, yyjson_write_err *err);
char *__wrap_yyjson_mut_val_write_opts(const yyjson_mut_val *value, yyjson_write_flag flags,
                                       const yyjson_alc *alc, size_t *len, yyjson_write_err *err);
char *__wrap_yyjson_mut_val_write_opts(const yyjson_mut_val *value, yyjson_write_flag flags,
                                       const yyjson_alc *alc, size_t *len, yyjson_write_err *err) {
	return __real_yyjson_mut_val_write_opts(value, flags, alc ? alc : &json_memory, len, err);
}

char *__real_yyjson_val_write_opts(const yyjson_val *value, yyjson_write_flag flags,
                                   const yyjson_alc *alc, size_t *len, yyjson_write_err *err);
char *__wrap_yyjson_val_write_opts(const yyjson_val *value, yyjson_write_flag flags,
                                   const yyjson_alc *alc, size_t *len, yyjson_write_err *err);
char *__wrap_yyjson_val_write_opts(const yyjson_val *value, yyjson_write_flag flags,
                                   const yyjson_alc *alc, size_t *len, yyjson_write_err *err) {
	return __real_yyjson_val_write_opts(value, flags, alc ? alc : &json_memory, len, err);
}

/* ---- scenes ---- */

enum before {
	UNREAD,
	READ,
	/** Read, and then changed by somebody else, below what the calls change. */
	STALE,
};

static const struct scene {
	enum before before;
	int code;
	const char *tool;
	const char *args;
	/** What a.md is after a success; NULL for what it was. */
	const char *after;
} scenes[] = {
	{UNREAD, 0, "read_file", "{'path': 'a.md'}", NULL},
	{UNREAD, 0, "read_file", "{'path': 'a.md', 'limit': 2, 'lineNumbers': true}", NULL},
	{UNREAD, STET_E_INVALID, "read_file", "{'path': 'a.md', 'offset': 99}", NULL},
	{UNREAD, STET_E_INVALID, "read_file", "{'path': 'a.md', 'sesion': 'x'}", NULL},
	{UNREAD, STET_E_INVALID, "read_file", "{'path': ", NULL},
	{READ, 0, "write_file", "{'path': 'a.md', 'content': 'new'}", "new"},
	{READ, 0, "write_file", "{'path': 'b.md', 'content': 'new'}", NULL},
	{UNREAD, STET_E_CONFLICT, "write_file", "{'path': 'a.md', 'content': 'new'}", NULL},
	{STALE, STET_E_CONFLICT, "write_file", "{'path': 'a.md', 'content': 'new'}", NULL},
	{READ, 0, "edit_file", "{'path': 'a.md', 'oldText': '# One', 'newText': '# 1'}",
     "# 1\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\nlast\n"},
	{UNREAD, 0, "edit_file",
     "{'path': 'a.md', 'edits': [{'oldText': '# One', 'newText': '# 1'}, {'oldText': 'text', "
     "'newText': 'x', 'replaceAll': true}]}",
     "# 1\n\nx, x\n\n## Two\n\n```c\ncode\n```\n\nlast\n"},
	{UNREAD, 0, "edit_file",
     "{'path': 'a.md', 'oldText': '# One', 'newText': '# 1', 'dryRun': true}", NULL},
	{UNREAD, 0, "edit_file", "{'path': 'b.md', 'oldText': '', 'newText': 'x'}", NULL},
	{UNREAD, STET_E_NO_MATCH, "edit_file", "{'path': 'a.md', 'oldText': '#  one', 'newText': 'x'}",
     NULL},
	{UNREAD, STET_E_AMBIGUOUS, "edit_file", "{'path': 'a.md', 'oldText': 'text', 'newText': 'x'}",
     NULL},
	{STALE, STET_E_CONFLICT, "edit_file", "{'path': 'a.md', 'oldText': '# One', 'newText': '# 1'}",
     NULL},
	{STALE, 0, "edit_file",
     "{'path': 'a.md', 'oldText': '# One', 'newText': '# 1', 'onStale': 'merge'}",
     "# 1\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\nlast\nfrom outside\n"},
	{READ, 0, "text_replace", "{'filePath': 'a.md', 'oldText': 'text', 'newText': 'x'}",
     "# One\n\nx, text\n\n## Two\n\n```c\ncode\n```\n\nlast\n"},
	{READ, 0, "text_replace",
     "{'filePath': 'a.md', 'oldText': 'text', 'newText': 'x', 'occurrence': 2}",
     "# One\n\ntext, x\n\n## Two\n\n```c\ncode\n```\n\nlast\n"},
	{READ, 0, "text_replace", "{'filePath': 'a.md', 'oldText': 'text', 'newText': 'text'}", NULL},
	{READ, STET_E_NO_MATCH, "text_replace",
     "{'filePath': 'a.md', 'oldText': 'texts', 'newText': 'x'}", NULL},
	{READ, STET_E_INVALID, "text_replace",
     "{'filePath': 'a.md', 'oldText': 'text', 'newText': 'x', 'occurrence': 3}", NULL},
	{STALE, 0, "text_replace",
     "{'filePath': 'a.md', 'oldText': 'text', 'newText': 'x', 'onStale': 'merge'}",
     "# One\n\nx, text\n\n## Two\n\n```c\ncode\n```\n\nlast\nfrom outside\n"},
	{READ, 0, "text_patch",
     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'lines': {'start': 11}}}",
     "# One\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\n"},
	{READ, 0, "text_patch",
     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': 'One'}, 'content': "
     "'new'}",
     "# One\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\nlast\nnew\n"},
	{READ, 0, "text_patch",
     "{'filePath': 'a.md', 'operation': 'replace', 'target': '{\\\"codeBlock\\\": {\\\"index\\\": "
     "0}}', 'content': 'new'}",
     "# One\n\ntext, text\n\n## Two\n\n```c\nnew\n```\n\nlast\n"},
	{READ, STET_E_NO_MATCH, "text_patch",
     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'wholeSection': 'Three'}}", NULL},
	{READ, STET_E_INVALID, "text_patch",
     "{'filePath': 'a.md', 'operation': 'delete', 'target': '{'}", NULL},
	{STALE, 0, "text_patch",
     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': 'One'}, 'content': '# 1', "
     "'onStale': 'merge'}",
     "# 1\n\ntext, text\n\n## Two\n\n```c\ncode\n```\n\nlast\nfrom outside\n"},
	{UNREAD, 0, "text_inspect", "{'filePath': 'a.md'}", NULL},
	{UNREAD, 0, "text_inspect", "{'filePath': 'a.txt'}", NULL},
	{UNREAD, 0, "text_inspect",
     "{'filePath': 'a.md', 'mode': 'search', 'query': 'T', 'context': 2}", NULL},
	{UNREAD, 0, "text_inspect",
     "{'filePath': 'a.md', 'mode': 'search', 'query': '^t.*', 'regex': true}", NULL},
	{UNREAD, 0, "text_inspect", "{'filePath': 'a.md', 'mode': 'lines', 'query': '1-3,8-'}", NULL},
};

/* One call with a fault in it. */
struct try {
	struct host *host;
	const struct scene *scene;
	const char *before;
	int code;
	char *answer;
	size_t len;
};

/* The same workspace for all: what it remembers of earlier calls must not matter. */
static void prepare(struct try *try) {
	struct host *host = try->host;
	stet_session_close(host->session);
	host->session = NULL;
	/* A new file: to truncate one waits for the disk. */
	unlink(dir_at(host->dir, "a.md"));
	unlink(dir_at(host->dir, "b.md"));
	dir_write(host->dir, "a.md", OLD);
	/* Each call starts from nothing. */
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 0, NULL), 0);
	assert_int_equal(stet_session_open(host->ws, "agent", &host->session, NULL), 0);
	if (try->scene->before != UNREAD)
		assert_int_equal(stet_session_track_read(host->session, "a.md", NULL), 0);
	try->before = OLD;
	if (try->scene->before == STALE) {
		try->before = OLD "from outside\n";
		dir_write(host->dir, "a.md", try->before);
	}
}

static void make_call(struct try *try) {
	char args[512];
	snprintf(args, sizeof args, "%s", try->scene->args);
	for (char *quote = args; (quote = strchr(quote, '\'')); quote++)
		*quote = '"';
	try->host->err = (struct stet_error){0};
	try->code = stet_call(try->host->session, try->scene->tool, args, strlen(args), &try->answer,
	                      &try->len, &try->host->err);
}

static void complain(const struct try *try, const char *what) {
	fail_msg("%s %s: %s (%s failed; %s: %s)", try->scene->tool, try->scene->args, what,
	         fault_where(), stet_error_name(try->code), try->host->err.message);
}

static void check_answer(struct try *try) {
	if (!try->answer) {
		if (try->code != STET_E_NOMEM)
			complain(try, "no answer");
		return;
	}
	yyjson_doc *doc = yyjson_read(try->answer, try->len, 0);
	if (!doc)
		complain(try, "the answer is not JSON");
	yyjson_val *root = yyjson_doc_get_root(doc);
	if (yyjson_get_bool(yyjson_obj_get(root, "isError")) != (try->code < 0))
		complain(try, "answer and code do not agree");
	yyjson_doc_free(doc);
}

/* The file is one of the two, and a failure does not deny what was done. */
static void check_file(struct try *try) {
	struct host *host = try->host;
	const char *after = try->scene->after ? try->scene->after : try->before;
	const char *is = dir_read(host->dir, "a.md");
	bool changed = strcmp(is, try->before) != 0;
	if (changed && strcmp(is, after) != 0)
		complain(try, "the file is neither the old one nor the new one");
	if (try->code == 0 && strcmp(is, after) != 0)
		complain(try, "a success that changed nothing");
	bool created = dir_has(host->dir, "b.md") && strstr(try->scene->args, "b.md");
	if (try->code < 0 && (changed || created) &&
	    !(try->code == STET_E_NOMEM && strstr(host->err.message, "succeeded, but memory ran out")))
		complain(try, "what was done is said not to have been");
}

static void check(struct try *try, enum fault_kind kind) {
	check_answer(try);
	check_file(try);
	if (kind == FAULT_ALLOC && try->code != try->scene->code && try->code != STET_E_NOMEM)
		complain(try, "another failure than that of memory");
	if (try->code < 0 && try->host->err.message[0] == '\0')
		complain(try, "no sentence");
	if (!fault_fired() && try->code != try->scene->code)
		complain(try, "not what it should be without a fault");
	stet_free(try->answer);
	try->answer = NULL;
	/* Ignore rescued bytes and notices: other tests check them. */
	for (char *notice; (notice = stet_workspace_notice(try->host->ws)); stet_free(notice))
		;
}

typedef void arm_fault(enum fault_kind kind, unsigned nth, int errnum);

static unsigned perform(struct host *host, const struct scene *scene, enum fault_kind kind,
                        int errnum, arm_fault *arm) {
	unsigned n = 1;
	do {
		struct try try = {.host = host, .scene = scene};
		prepare(&try);
		arm(kind, n++, errnum);
		make_call(&try);
		fault_off();
		check(&try, kind);
	} while (fault_fired());
	return n - 2;
}

static void perform_all(struct host *host, enum fault_kind kind, int errnum, arm_fault *arm) {
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	dir_write(host->dir, "a.txt", "[one]\nkey=1\n\n[two]\n");
	unsigned faults = 0;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		faults += perform(host, &scenes[i], kind, errnum, arm);
	assert_true(faults > 10 * sizeof scenes / sizeof *scenes);
}

static void every_allocation_may_fail(void **state) {
	perform_all(*state, FAULT_ALLOC, ENOMEM, fault_arm);
}

static void every_allocation_from_some_point_may_fail(void **state) {
	perform_all(*state, FAULT_ALLOC, ENOMEM, fault_arm_from);
}

static void every_system_call_may_fail(void **state) {
	perform_all(*state, FAULT_SYSTEM, EIO, fault_arm);
	perform_all(*state, FAULT_SYSTEM, ENOSPC, fault_arm);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(every_allocation_may_fail),
		host_claim(every_allocation_from_some_point_may_fail),
		host_claim(every_system_call_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
