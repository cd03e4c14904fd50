/** Let views borrow from a text of their own: for copies of structs that hold views. */
#ifndef STET_BASE_VIEWS_H
#define STET_BASE_VIEWS_H

#include "base/buf.h"
#include "base/error.h"

/** Append what views show to an empty text, and let them show that. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] static inline int st_views_own(struct st_str *const views[], size_t count,
                                             struct st_buf *text, struct stet_error *err) {
	for (size_t i = 0; i < count; i++)
		st_buf_add(text, *views[i]);
	if (text->failed)
		return st_fail_nomem(err);
	const char *at = st_buf_cstr(text);
	for (size_t i = 0; i < count; i++) {
		views[i]->ptr = at;
		at += views[i]->len;
	}
	return 0;
}

#endif
