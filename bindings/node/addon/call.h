/**
 * A call from JavaScript: its arguments as C has them, and its result.
 *
 * The addon is a table of functions. A function's signature has a letter for each argument, so that
 * one place checks them all before the function runs:
 *
 *     static napi_value track(struct call *call) {
 *             return call_done(call, stet_session_track(SESSION(call), TEXT(call, 1).ptr,
 *                                                       TEXT(call, 2).ptr, TEXT(call, 2).len,
 *                                                       &call->err));
 *     }
 *     ...
 *     {"track", "Spt", track},
 *
 * Nothing outlives a call: its copies are freed after it, and each result is a value of
 * JavaScript.
 */
#ifndef STET_NODE_CALL_H
#define STET_NODE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAPI_VERSION 8
#include <node_api.h>

#include <stet/stet.h>

struct poller;

/** One instance of the addon: the main thread and each worker has its own. */
struct addon {
	/** The function of index.js that makes an error. */
	napi_ref make_error;
	/** The function of index.js that receives readable descriptors, and the thread that waits for them. */
	napi_ref on_readable;
	struct poller *poller;
	/** The open objects, to be closed at the end of the instance: Bun does not finalize all of them. */
	struct handle *handles;
};

/** An object of the library, in an external value. A closed one has no pointer. */
enum handle_kind {
	HANDLE_WORKSPACE,
	HANDLE_SESSION,
	HANDLE_WATCHER,
	HANDLE_MANAGER,
};

struct handle {
	uint64_t magic;
	enum handle_kind kind;
	void *pointer;
	/** Changes that the dispatch of a watcher or manager has reported: path, NUL, event, NUL, ... */
	struct changes *changes;
	/** The list of the addon. */
	struct handle *next, **link;
};

/** Text: bytes with their length, and a NUL behind them. */
struct text {
	char *ptr;
	size_t len;
};

union argument {
	struct handle *handle;
	struct text text;
	int64_t number;
};

enum { MAX_ARGUMENTS = 6 };

struct call {
	napi_env env;
	struct addon *addon;
	napi_value values[MAX_ARGUMENTS];
	union argument arguments[MAX_ARGUMENTS];
	/** A letter per argument, as below. */
	const char *signature;
	/** For paths of ordinary length, which then need no memory of their own. */
	char path[512];
	bool path_is_used;
	struct stet_error err;
};

/**
 * A function of the addon.
 *
 * @signature  W a workspace, S a session (or the one of a manager), F a watcher, M a manager, E a watcher
 *             or a manager, H any handle; p a path, s a string without NUL, t a text, each a string or
 *             bytes; o like s or undefined; n a number that is not negative; f a function.
 */
struct function {
	const char *name;
	const char *signature;
	napi_value (*run)(struct call *call);
};

/** The tables of functions; a name of NULL ends each. */
extern const struct function session_functions[];
extern const struct function instructions_functions[];
extern const struct function event_functions[];
extern const struct function state_functions[];

/** The callback of all functions: data is a struct function. */
napi_value call_run(napi_env env, napi_callback_info info);

#define TEXT(call, n) ((call)->arguments[n].text)
#define PATH(call, n) ((const char *)(call)->arguments[n].text.ptr)
#define NUMBER(call, n) ((call)->arguments[n].number)
#define HANDLE(call) ((call)->arguments[0].handle)
/** The pointer of the first argument; NULL if it is closed, which the library refuses with a sentence. */
#define POINTER(call) (HANDLE(call)->pointer)
/** The session of the first argument, which may be a manager. */
#define SESSION(call) call_session(call)
/** The workspace of that session. */
#define WORKSPACE(call) stet_session_workspace(call_session(call))

struct stet_session *call_session(struct call *call);

/** Throw the error of a call that failed. Returns NULL, as all results of calls that throw. */
napi_value call_throw(struct call *call, int code, napi_value answer);

/** Return undefined, or throw if the code is negative. */
napi_value call_done(struct call *call, int code);

/** Wrap an object that the library made. Throws, and frees it, if that fails or the code is negative. */
napi_value call_handle(struct call *call, int code, enum handle_kind kind, void *pointer);

/** The answer as an object; freed. A conflict is thrown with it. */
napi_value call_answer(struct call *call, int code, struct stet_answer *answer);

/** The file state specification's ConflictResult; the answer is freed. */
napi_value call_conflict(struct call *call, int code, struct stet_answer *answer);

/** A string that the library made, freed; null for NULL. */
napi_value call_string(struct call *call, int code, char *text, size_t len);

/** A list of instructions as [{path, content}], without those that were deleted; freed. */
napi_value call_instructions(struct call *call, int code, struct stet_instructions *list);

napi_value value_of_bool(napi_env env, bool truth);
napi_value value_of_text(napi_env env, const char *text, size_t len);
napi_value value_of_string(napi_env env, const char *string);
napi_value value_of_bytes(napi_env env, const char *bytes, size_t len);
napi_value value_of_number(napi_env env, double number);
napi_value value_of_null(napi_env env);
/** Set a member, unless the value could not be made. */
void value_set(napi_env env, napi_value object, const char *name, napi_value value);

/** Whether bytes are UTF-8. */
bool is_utf8(const char *bytes, size_t len);

/**
 * Close the object in a handle; a second time does nothing.
 *
 * @env  To tell the garbage collector; NULL if it does not know the handle or ends.
 */
void handle_close(napi_env env, struct handle *handle);

/** Close all objects of an instance, which ends. */
void handles_close(struct addon *addon);

/** Free what a dispatch has reported. */
void changes_free(struct changes *changes);

#endif
