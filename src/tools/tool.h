/**
 * The tools that agents call: one function from JSON to JSON for each, with a
 * name, a description and a table of parameters.
 *
 * This folder holds the tools (files/, text/, state/: one `const struct
 * st_tool` per file) and the code they share: checking arguments (args.c),
 * finding the file that a path means (route.h), running a call and writing its
 * answer (call.c), parameters, schemas and parts of answers that tools share
 * (render.h), and the host, which serves several clients in several
 * workspaces (host.h).
 *
 * The table st_tools drives stet_call(), the MCP server, the command line and
 * the reference documentation. A tool's table of parameters drives its input
 * schema and the check of arguments, which happens before the tool runs.
 */
#ifndef STET_TOOLS_TOOL_H
#define STET_TOOLS_TOOL_H

#include "base/json.h"
#include "core/session/change.h"
#include "core/session/session.h"

/** The type of a parameter's value, in the words of JSON Schema. */
enum st_param_type {
	ST_PARAM_STRING,
	ST_PARAM_INTEGER,
	ST_PARAM_BOOLEAN,
	/** A list of strings. */
	ST_PARAM_STRINGS,
	/** Any value that `schema` allows; the tool checks it. */
	ST_PARAM_ANY,
};

struct st_param {
	const char *name;
	/** Other names that callers may use, separated by blanks; may be NULL. */
	const char *aliases;
	enum st_param_type type;
	bool required;
	/** 0 and "" are values. For other optional parameters they count as left out. */
	bool blank;
	/** The schema leaves it out, which saves tokens: for programs. */
	bool unlisted;
	/** One sentence for a model. */
	const char *description;
	/** For strings: the allowed values, in any case, separated by "|"; may be NULL. */
	const char *choices;
	/** For ST_PARAM_ANY: the members of its JSON Schema, without the braces. */
	const char *schema;
};

enum { ST_PARAMS_MAX = 16 };

/** What a client may assume about a tool; the hints of MCP. */
enum st_hints {
	ST_HINT_READ_ONLY = 1,
	ST_HINT_DESTRUCTIVE = 2,
	ST_HINT_IDEMPOTENT = 4,
	/** Not a hint of MCP: the tool's subject is instructions, so its answer gets none attached. */
	ST_HINT_INSTRUCTS = 8,
	/** Not a hint of MCP: a program reads the answer, so it has nothing but the tool's text. */
	ST_HINT_PLAIN = 16,
};

/**
 * Which lists of tools contain a tool. A client sends the whole list to its
 * model with each request, so the default list is short. Clients may also call
 * tools that their list does not contain.
 */
enum st_listed {
	/** Only `--tools all`, and the list of its group, such as `--tools text`. */
	ST_LISTED_ALL,
	/** Also the default list, which has everything that a model needs. */
	ST_LISTED_DEFAULT,
	/** Also the shortest list, `--tools core`. */
	ST_LISTED_CORE,
};

/** Groups of tools; a server may list only some groups. */
enum st_group {
	/** Files and directories: read, write, edit, search, move. New tools about files belong here. */
	ST_GROUP_FILES,
	/** Parts of one text: replace, patch, inspect. They keep the names of arguments of their specification (`filePath`). */
	ST_GROUP_TEXT,
	/** The state of the work: sessions, tasks, the log, undo. */
	ST_GROUP_STATE,
};

struct st_call;

struct st_tool {
	const char *name;
	/** Another name that callers may use; may be NULL. */
	const char *alias;
	const char *title;
	/** For a model: when to use the tool, and what it answers. */
	const char *description;
	/** The last entry has the name NULL. */
	const struct st_param *params;
	/**
	 * JSON Schema of the answer's data, without the members that
	 * st_common_schema has. Clients get a shortened form (listed.c); tests and
	 * the documentation use all of it.
	 */
	const char *output_schema;
	/** The form that clients get, where the shortened one will not do; may be NULL. */
	const char *listed_schema;
	unsigned hints;
	enum st_group group;
	enum st_listed listed;
	/** In the default list, too, where a workspace is a vault. */
	bool for_vaults;
	/** Asks clients that load tools on demand to load this one at the start. */
	bool always_load;
	/** Fill call->result and call->text. Returns 0, or a code with err filled. */
	int (*run)(struct st_call *call, struct stet_error *err);
};

/** The caller that waits for a call; embed it. base/cancel.h tells whether the caller gave up. */
struct st_call_watch {
	/** Receives the number of items that a long call has handled so far. */
	void (*progress)(struct st_call_watch *watch, size_t done);
	/** The client program's name for itself; empty if it gave none. */
	struct st_str client;
};

/** A part of a file as the text of an answer, with the objects that hold the bytes. */
struct st_excerpt {
	struct st_str text;
	struct st_place place;
	struct st_file file;
	/** Holds the text if it has line numbers. */
	struct st_buf numbered;
};

#define ST_EXCERPT_INIT \
	{ .place = ST_PLACE_INIT, .file = ST_FILE_INIT, .numbered = ST_BUF_INIT }

void st_excerpt_release(struct st_excerpt *excerpt);

/** One call of a tool, from its arguments to its answer. */
struct st_call {
	/** The session in the workspace that the call's path leads to; see st_call_path(). */
	struct stet_session *session;
	/** The client's sessions, one per workspace that it may use. */
	struct stet_session **sessions;
	size_t session_count;
	/** `sessions` is an array of this call, not of the client. */
	bool owns_sessions;
	/** The client that calls; NULL for stet_call(), which has one session and no client. */
	struct stet_client *client;
	/** The call asked for `client` by name and has to release it. */
	bool named;
	/** st_client_begin_call() got as far as st_client_end_call() has to undo. */
	bool begun;
	/** May be NULL. */
	struct st_call_watch *watch;
	const struct st_tool *tool;
	/** The arguments in the order of tool->params; NULL for those left out. */
	yyjson_val *args[ST_PARAMS_MAX];
	/** The last path argument that was resolved; NULL for none. */
	const char *path;
	/** The answer carries its data as structuredContent besides the text. */
	bool structured;
	/** The most bytes of text that the answer may have; see st_call_room(). */
	size_t page;
	/** The answer as data. */
	yyjson_mut_doc *doc;
	yyjson_mut_val *result;
	/** The answer as text. */
	struct st_buf text;
	/** Replaces `text` with a part of a file, which may be large and is not copied. */
	struct st_excerpt excerpt;
	/** The blocks that follow the text; see st_call_block(). */
	yyjson_mut_val *content;
	/** One line of facts about the answer, and notices: everything that must not mix with a file's text. */
	struct st_buf remark;
	/** Instruction files that newly apply, a block each; the last blocks of the answer. */
	yyjson_mut_val *instructions;
	/** How many bytes `content` and `instructions` have so far. */
	size_t block_bytes;
	/** The data of a failure that has more than a message (a refusal, near misses); or NULL. */
	yyjson_mut_val *failure;
	/** The structuredContent is {"content": the blocks of the answer} and nothing else. */
	bool mirrors;
	/** The data has no copy of the text: the caller reads that from the content. */
	bool text_once;
};

/**
 * Report progress, and stop if the caller gave up. A tool that handles many
 * items calls this now and then.
 *
 * @return 0 or STET_E_CANCELLED.
 */
[[nodiscard]] int st_call_step(struct st_call *call, size_t done, struct stet_error *err);

/**
 * How many more bytes of text the answer may have, after a reserve for the line
 * of facts and for notices. Clients cut longer answers, or hide them from their
 * model, so a tool with more to say stops here and says how to continue.
 */
size_t st_call_room(const struct st_call *call);

/** Add a notice to the answer: to the remark, and to `notices` in the data. */
void st_call_notice(struct st_call *call, const char *notice);

/** Add a block of text to the answer, after the text. */
void st_call_block(struct st_call *call, struct st_str text);

/** Add instructions to the answer, after all other blocks. */
void st_call_add_instructions(struct st_call *call, struct st_str text);

/** Add a block of any kind, made with call->doc. An answer with such a block needs no text. */
void st_call_block_of(struct st_call *call, yyjson_mut_val *block);

/** JSON Schema of the members that the data of any answer may have: for changes, refusals, notices. */
extern const char st_common_schema[];

/** All tools; the last entry is NULL. */
extern const struct st_tool *const st_tools[];

/** Find a tool by its name or alias; NULL if there is none. */
const struct st_tool *st_tool_find(struct st_str name);

/** Write the input schema of a tool. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_tool_schema(const struct st_tool *tool, struct st_buf *out,
                                 struct stet_error *err);

/**
 * Match the members of an object with parameters. Refuses unknown, duplicate
 * and missing members and wrong types: a misspelt "end" must not turn ten lines
 * into one.
 *
 * @what    What has the parameters, for messages: "text_patch", "target \"lines\"".
 * @params  The last entry has the name NULL.
 * @object  NULL counts as an empty object.
 * @values  Receives a value or NULL for each parameter.
 * @return  0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_args_bind(const char *what, const struct st_param *params, yyjson_val *object,
                               yyjson_val **values, struct stet_error *err);

/**
 * Match the arguments of a call with the tool's parameters, into call->args.
 * More lenient than st_args_bind(): for optional arguments, 0 and "" count as
 * left out; tools that only read ignore unknown arguments, with a remark.
 */
[[nodiscard]] int st_call_bind(struct st_call *call, yyjson_val *args, struct stet_error *err);

/** An argument by its parameter's name; NULL if the caller left it out. */
yyjson_val *st_arg(const struct st_call *call, const char *name);

/** An argument as a string, a number, a flag. If the caller left it out: empty, or `missing`. */
struct st_str st_arg_str(const struct st_call *call, const char *name);
int64_t st_arg_int(const struct st_call *call, const char *name, int64_t missing);
bool st_arg_flag(const struct st_call *call, const char *name, bool missing);

#endif
