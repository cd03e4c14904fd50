#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef st_fail
#undef st_fail_nomem

struct code {
	int value;
	const char *name;
	const char *text;
	int rpc;
	int status;
};

static const struct code codes[] = {
#define X(code, name, value, text, rpc, status) {value, name, text, rpc, status},
	STET_CODES(X)
#undef X
};

static const struct code *code_find(int value) {
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (codes[i].value == value)
			return &codes[i];
	}
	return NULL;
}

/* End a message that does not fit with dots, at a character boundary. */
static void truncate_message(struct stet_error *err) {
	static const char mark[] = "...";
	size_t end = sizeof err->message - sizeof mark;

	while (end > 0 && ((unsigned char)err->message[end] & 0xC0) == 0x80)
		end--;
	memcpy(err->message + end, mark, sizeof mark);
}

static void fill_message(struct stet_error *err, int code, const char *format, va_list args) {
	err->code = code;
	int len = vsnprintf(err->message, sizeof err->message, format, args);
	if (len < 0)
		err->message[0] = '\0';
	else if ((size_t)len >= sizeof err->message)
		truncate_message(err);
}

int st_fail(struct stet_error *err, int code, const char *format, ...) {
	if (err) {
		va_list args;
		va_start(args, format);
		fill_message(err, code, format, args);
		va_end(args);
	}
	return code;
}

int st_fail_errno(struct stet_error *err, int errnum, const char *format, ...) {
	int code = st_code_of_errno(errnum);
	errno = errnum;
	if (!err)
		return code;

	va_list args;
	va_start(args, format);
	fill_message(err, code, format, args);
	va_end(args);

	char reason[128];
	size_t used = strlen(err->message);
	int len = snprintf(err->message + used, sizeof err->message - used, ": %s.",
	                   strerror_r(errnum, reason, sizeof reason));
	if (len < 0 || (size_t)len >= sizeof err->message - used)
		truncate_message(err);
	errno = errnum;
	return code;
}

int st_fail_nomem(struct stet_error *err) {
	return st_fail(err, STET_E_NOMEM,
	               "Out of memory; nothing was changed. Try again, or with less at once.");
}

int st_code_of_errno(int errnum) {
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return STET_E_NOT_FOUND;
	case EEXIST:
		return STET_E_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return STET_E_ACCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return STET_E_NO_SPACE;
	case ENOMEM:
		return STET_E_NOMEM;
	case EMFILE:
	case ENFILE:
	case ENOLCK:
		return STET_E_LIMIT;
	case EISDIR:
		return STET_E_KIND;
	case ENAMETOOLONG:
	case EINVAL:
		return STET_E_INVALID;
	case EXDEV:
	case ELOOP:
		return STET_E_OUTSIDE;
	case EBUSY:
	case EAGAIN:
	case ETXTBSY:
		return STET_E_BUSY;
	default:
		return STET_E_IO;
	}
}

void st_error_clear(struct stet_error *err) {
	if (err) {
		err->code = 0;
		err->message[0] = '\0';
	}
}

int st_begin_call(const void *handle, struct stet_error *err) {
	st_error_clear(err);
	if (handle)
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "The handle is NULL: the object was not opened, or is closed already.");
}

int st_end_call(int code, struct stet_error *err) {
	if (code >= 0)
		st_error_clear(err);
	return code;
}

struct stet_error *stet_error_new(void) {
	return calloc(1, sizeof(struct stet_error));
}

void stet_error_free(struct stet_error *err) {
	free(err);
}

int stet_error_code(const struct stet_error *err) {
	return err ? err->code : 0;
}

const char *stet_error_message(const struct stet_error *err) {
	return err ? err->message : "";
}

const char *stet_error_name(int value) {
	const struct code *code = code_find(value);
	if (code)
		return code->name;
	return value == 0 ? "ok" : "unknown";
}

const char *stet_error_text(int value) {
	const struct code *code = code_find(value);
	if (code)
		return code->text;
	return value == 0 ? "success" : "unknown error";
}

int stet_error_rpc(int value) {
	const struct code *code = code_find(value);
	return code ? code->rpc : 0;
}

int stet_error_exit(int value) {
	const struct code *code = code_find(value);
	if (code)
		return code->status;
	return value == 0 ? 0 : 3;
}
