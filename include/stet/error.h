/**
 * Errors: one table of codes, and a message that says what to do.
 *
 * A function that can fail returns 0 (or a count) on success and a negative
 * STET_E_* code on failure. Its last parameter is a `struct stet_error *`, which
 * may be NULL; on failure it receives the same code and one or more sentences:
 * what was wrong, where, and what to do next. A call that succeeds leaves it empty.
 *
 * A NULL handle is refused, never followed: a function that can fail returns
 * STET_E_INVALID, the others return NULL, 0 or "", or do nothing.
 *
 *     struct stet_error *err = stet_error_new();
 *     struct stet_workspace *ws = NULL;
 *
 *     if (stet_workspace_open("/no/such/dir", &ws, err) < 0)
 *             fprintf(stderr, "%s: %s\n", stet_error_name(stet_error_code(err)),
 *                     stet_error_message(err));
 *     stet_workspace_close(ws);
 *     stet_error_free(err);
 */
#ifndef STET_ERROR_H
#define STET_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* A program that reads the headers without a compiler, as cffi does, may define these as nothing. */
#ifndef STET_API
#if defined(__GNUC__)
#define STET_API __attribute__((visibility("default")))
#else
#define STET_API
#endif
#endif
#ifndef STET_NODISCARD
#if defined(__GNUC__)
#define STET_NODISCARD __attribute__((warn_unused_result))
#else
#define STET_NODISCARD
#endif
#endif

/**
 * All errors: code, name, value, meaning, JSON-RPC code, and exit status of the
 * command line (1 refused, 2 bad input, 3 system error).
 */
#define STET_CODES(X) \
	X(CONFLICT, "conflict", -1, "the file changed since it was last seen", 1, 1) \
	X(NO_MATCH, "no_match", -2, "the text to change was not found in the file", 2, 1) \
	X(AMBIGUOUS, "ambiguous", -3, "the text to change occurs more than once", 3, 1) \
	X(EXISTS, "exists", -4, "the file already exists", 4, 1) \
	X(BUSY, "busy", -5, "another process is writing the file", 5, 1) \
	X(INVALID, "invalid", -6, "the request is not valid", -32602, 2) \
	X(NOT_FOUND, "not_found", -7, "file not found", 7, 2) \
	X(OUTSIDE, "outside", -8, "the path leads out of the workspace", 8, 2) \
	X(PROTECTED, "protected", -9, "the path belongs to git or to stet itself", 9, 2) \
	X(KIND, "kind", -10, "not a regular file", 10, 2) \
	X(BINARY, "binary", -11, "not a text file", 11, 2) \
	X(TOO_BIG, "too_big", -12, "larger than the limit", 12, 2) \
	X(EXTENSION, "extension", -13, "this file type is not allowed", 13, 2) \
	X(ACCESS, "access", -14, "permission denied", 14, 3) \
	X(NO_SPACE, "no_space", -15, "no space left", 15, 3) \
	X(NOMEM, "nomem", -16, "out of memory", -32603, 3) \
	X(IO, "io", -17, "the system reported an error", 17, 3) \
	X(LIMIT, "limit", -18, "a limit of the system was reached", 18, 3) \
	X(CANCELLED, "cancelled", -19, "the request was cancelled", 19, 3)

/** The codes: STET_E_CONFLICT and so on; 0 is success. */
enum stet_code {
#define X(code, name, value, text, rpc, status) STET_E_##code = value,
	STET_CODES(X)
#undef X
};

/**
 * An error. C programs may put a zeroed one on the stack; programs in other
 * languages use stet_error_new(). The layout will not change.
 */
struct stet_error {
	/** A STET_E_* code, or 0. */
	int code;
	/** One or more sentences, NUL-terminated; empty if code is 0. */
	char message[2044];
};

/** Make an empty error on the heap; NULL if out of memory. */
STET_API struct stet_error *stet_error_new(void);
/** Free an error that stet_error_new() made; NULL is fine. */
STET_API void stet_error_free(struct stet_error *err);
/** The code in an error; 0 for NULL or no error. */
STET_API int stet_error_code(const struct stet_error *err);
/** The message in an error; never NULL. */
STET_API const char *stet_error_message(const struct stet_error *err);
/** A code's name, such as "conflict"; "ok" for 0; "unknown" for an unknown code. */
STET_API const char *stet_error_name(int code);
/** The meaning of a code, in a few words; never NULL. */
STET_API const char *stet_error_text(int code);
/** The JSON-RPC error code for a code. */
STET_API int stet_error_rpc(int code);
/** The command line's exit status for a code: 0, 1, 2 or 3. */
STET_API int stet_error_exit(int code);

#ifdef __cplusplus
}
#endif

#endif
