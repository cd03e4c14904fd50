/**
 * Raising errors. The codes and the struct are public (stet/error.h); this is
 * how the library fills them, in one line:
 *
 *     return st_fail(err, STET_E_NO_MATCH, "No line of %s contains it.", st_quoted(path));
 */
#ifndef STET_BASE_ERROR_H
#define STET_BASE_ERROR_H

#include "base/quote.h"
#include "stet/error.h"

/** Fill err (may be NULL) with a code and a formatted message; returns code. */
__attribute__((format(printf, 3, 4))) int st_fail(struct stet_error *err, int code,
                                                  const char *format, ...);

/**
 * As st_fail(), for a failed system call: the code is chosen by errnum, and
 * its text follows the message after a colon. Returns the code; errno is errnum.
 */
__attribute__((format(printf, 3, 4))) int st_fail_errno(struct stet_error *err, int errnum,
                                                        const char *format, ...);

/** As st_fail() with STET_E_NOMEM and its usual sentence. */
int st_fail_nomem(struct stet_error *err);

/** The code that stands for an errno. */
int st_code_of_errno(int errnum);

/*
 * What comes back is the code that went in, and only here can compilers and
 * analysers see that: else they follow paths on which a failure returned 0.
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
