/**
 * Tools: a name, what it is for, its arguments, and a function from JSON to
 * JSON. One table drives stet_call(), the MCP server, the command line and the
 * reference documentation.
 *
 * A tool is a file src/tools/NAME.c with one `const struct st_tool`. Its
 * parameters are a table too: calls are checked against it before the tool
 * runs, and the input schema is made from it.
 */
#ifndef STET_TOOLS_TOOL_H
#define STET_TOOLS_TOOL_H

#include "base/json.h"
#include "core/session/change.h"
#include "core/session/session.h"

/** What a parameter takes; the words of JSON Schema. */
enum st_param_type {
	ST_PARAM_STRING,
	ST_PARAM_INTEGER,
	ST_PARAM_BOOLEAN,
	/** A list of strings. */
	ST_PARAM_STRINGS,
	/** Checked by the tool itself; `schema` says what it takes. */
	ST_PARAM_ANY,
};

struct st_param {
	const char *name;
	/** Other spellings that are taken too, separated by blanks; may be NULL. */
	const char *aliases;
	enum st_param_type type;
	bool required;
	/** 0 or "" is a value of it; of other optional ones that is as good as nothing. */
	bool blank;
	/** One sentence for a model. */
	const char *description;
	/** For strings: the values it takes, in any case, separated by "|"; may be NULL. */
	const char *choices;
	/** For ST_PARAM_ANY: members of its schema, as JSON without the braces. */
	const char *schema;
};

enum { ST_PARAMS_MAX = 16 };

/** What a client may assume about a tool; the hints of MCP. */
enum st_hints {
	ST_HINT_READ_ONLY = 1,
	ST_HINT_DESTRUCTIVE = 2,
	ST_HINT_IDEMPOTENT = 4,
	/** Not MCP's: it is about instructions itself, so that none are added to its answer. */
	ST_HINT_INSTRUCTS = 8,
};

/**
 * In which lists of tools a tool is shown. Clients pay for every word of a
 * list in each request, so the default one is short; what is not shown can be
 * called all the same.
 */
enum st_listed {
	/** Only in the list of all. */
	ST_LISTED_ALL,
	/** Also in the default list, which has everything that a model needs. */
	ST_LISTED_DEFAULT,
	/** Also in the shortest list. */
	ST_LISTED_CORE,
};

/** What tools are for; a server may list some of the groups. */
enum st_group {
	ST_GROUP_FILES,
	ST_GROUP_TEXT,
	ST_GROUP_STATE,
};

struct st_call;

struct st_tool {
	const char *name;
	/** The name in the specification it comes from, taken too; may be NULL. */
	const char *alias;
	const char *title;
	/** For a model: when to use it, and what it answers. */
	const char *description;
	/** Ends with one whose name is NULL. */
	const struct st_param *params;
	/**
	 * A JSON Schema of the data; what st_common_schema has need not be listed.
	 * Clients get it in short, tests and people in full.
	 */
	const char *output_schema;
	/** What clients get instead of it in short; NULL for that. */
	const char *listed_schema;
	unsigned hints;
	enum st_group group;
	enum st_listed listed;
	/** Shown from the start by clients that otherwise show tools after a search. */
	bool always_load;
	/** Fill call->result and call->text. 0, or a code with err filled. */
	int (*run)(struct st_call *call, struct stet_error *err);
};

/** Who waits for a call that may take long; base/cancel.h has whether anybody still does. Embed it. */
struct st_call_watch {
	/** How many things were looked at so far. */
	void (*progress)(struct st_call_watch *watch, size_t done);
	/** What its program calls itself; empty if it does not say. */
	struct st_str client;
};

/** A part of a file to show, and what holds its text. */
struct st_excerpt {
	struct st_str text;
	struct st_place place;
	struct st_file file;
	/** With numbers before the lines, the text is here. */
	struct st_buf numbered;
};

#define ST_EXCERPT_INIT \
	{ .place = ST_PLACE_INIT, .file = ST_FILE_INIT, .numbered = ST_BUF_INIT }

void st_excerpt_release(struct st_excerpt *excerpt);

/** A call under way. */
struct st_call {
	/** The session it is about, out of those of all workspaces; see st_call_path(). */
	struct stet_session *session;
	struct stet_session **sessions;
	size_t session_count;
	/** Whose call it is; NULL if it came to a session alone. */
	struct stet_client *client;
	/** The agent was asked for by name, and has to be released. */
	bool named;
	/** May be NULL. */
	struct st_call_watch *watch;
	const struct st_tool *tool;
	/** The arguments in the order of tool->params; NULL for those not given. */
	yyjson_val *args[ST_PARAMS_MAX];
	/** The path that was looked at last; NULL for none. */
	const char *path;
	/** The answer carries its data as structuredContent besides the text. */
	bool structured;
	/** The most bytes of text that the answer may have; see st_call_room(). */
	size_t page;
	/** The answer: what it says as data, and as text. */
	yyjson_mut_doc *doc;
	yyjson_mut_val *result;
	struct st_buf text;
	/** In place of that text: a file's, which may be large and is not copied for it. */
	struct st_excerpt excerpt;
	/** The blocks that follow the text; see st_call_block(). */
	yyjson_mut_val *content;
	/** The facts about it in one short line, and what else stands beside a file's text; empty for nothing. */
	struct st_buf remark;
	/** AGENTS.md that newly apply, a block each, behind everything else. */
	yyjson_mut_val *instructions;
	/** How many bytes the blocks and instructions have so far. */
	size_t block_bytes;
	/** More than a message about a failure, or NULL: a refusal, near misses. */
	yyjson_mut_val *failure;
	/** The structuredContent is {"content"}, the blocks of the answer, and nothing else. */
	bool mirrors;
};

/**
 * Tell how far the call is, and ask whether to go on; for a tool that looks at
 * many things, now and then.
 *
 * @return 0 or STET_E_CANCELLED.
 */
[[nodiscard]] int st_call_step(struct st_call *call, size_t done, struct stet_error *err);

/**
 * How many more bytes of text the answer may have, room for the line of facts
 * and for notices left aside. Clients cut what is longer, or hide it from
 * their model, so a tool that has more to say stops here and says how to go on.
 */
size_t st_call_room(const struct st_call *call);

/** Add a notice to the answer, as a remark and as one of `notices`. */
void st_call_notice(struct st_call *call, const char *notice);

/** Add a block of text to the answer, after the text. */
void st_call_block(struct st_call *call, struct st_str text);

/** Add instructions to the answer, behind everything else. */
void st_call_add_instructions(struct st_call *call, struct st_str text);

/** Add a block of another kind, made with the call's document. An answer that has one needs no text. */
void st_call_block_of(struct st_call *call, yyjson_mut_val *block);

/** A JSON Schema of the members that the data of any answer may have: of changes, refusals, notices. */
extern const char st_common_schema[];

/** All tools, ending with NULL. */
extern const struct st_tool *const st_tools[];

/** The tool of a name or alias; NULL if there is none. */
const struct st_tool *st_tool_find(struct st_str name);

/** The input schema of a tool. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_tool_schema(const struct st_tool *tool, struct st_buf *out,
                                 struct stet_error *err);

/**
 * Match the members of an object with parameters: unknown ones, those given
 * twice, missing ones and wrong types are refused. A misspelt "end" must not
 * turn ten lines into one.
 *
 * @what    What takes them, for messages: "text_patch", "target \"lines\"".
 * @params  Ends with one whose name is NULL.
 * @object  May be NULL for an empty one.
 * @values  Receives a value or NULL for each of the parameters.
 * @return  0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_args_bind(const char *what, const struct st_param *params, yyjson_val *object,
                               yyjson_val **values, struct stet_error *err);

/**
 * Match the arguments of a call with the tool's parameters, into call->args.
 * As st_args_bind(), but more lenient: 0 and "" stand for an optional argument
 * that was left out, and a tool that only reads ignores what it does not know,
 * which a remark says.
 */
[[nodiscard]] int st_call_bind(struct st_call *call, yyjson_val *args, struct stet_error *err);

/** An argument by its parameter's name; NULL if it was not given. */
yyjson_val *st_arg(const struct st_call *call, const char *name);

/** The same as a view, a number, a flag; `missing` if it was not given. */
struct st_str st_arg_str(const struct st_call *call, const char *name);
int64_t st_arg_int(const struct st_call *call, const char *name, int64_t missing);
bool st_arg_flag(const struct st_call *call, const char *name, bool missing);

#endif
