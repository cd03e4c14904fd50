/**
 * Raising errors. stet/error.h has the codes and the struct; the library fills
 * them in one line:
 *
 *     return st_fail(err, STET_E_NO_MATCH, "No line of %s contains it.", st_quoted(path));
 */
#ifndef STET_BASE_ERROR_H
#define STET_BASE_ERROR_H

#include "base/quote.h"
#include "stet/error.h"

/** Begin a public call that takes no handle: empty err, which may be NULL. */
void st_error_clear(struct stet_error *err);

/** Begin a public call on a handle: empty err, and refuse NULL. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_begin_call(const void *handle, struct stet_error *err);

/** End a public call that may have coped with a failure: empty err if the call succeeded. Returns the code. */
int st_end_call(int code, struct stet_error *err);

/** Fill err, which may be NULL, with a code and a formatted message. Returns the code. */
__attribute__((format(printf, 3, 4))) int st_fail(struct stet_error *err, int code,
                                                  const char *format, ...);

/**
 * Like st_fail(), for a failed system call: chooses the code by errnum, appends
 * the text of errnum after a colon, and sets errno to errnum. Returns the code.
 */
__attribute__((format(printf, 3, 4))) int st_fail_errno(struct stet_error *err, int errnum,
                                                        const char *format, ...);

/** Like st_fail(), with STET_E_NOMEM and its usual message. */
int st_fail_nomem(struct stet_error *err);

/** The code for an errno. */
int st_code_of_errno(int errnum);

/*
 * These macros show compilers and analysers that the functions return the given
 * code. Otherwise they would warn about paths on which a failure returns 0.
 */
#define st_fail(err, code, ...) \
	({ \
		const int st_failed_with = (code); \
		st_fail(err, st_failed_with, __VA_ARGS__); \
		st_failed_with; \
	})
#define st_fail_nomem(err) \
	({ \
		st_fail_nomem(err); \
		STET_E_NOMEM; \
	})

#endif
