/** Answers about places, as JSON objects, for stet/places.h and the tool others. */
#ifndef STET_CORE_PLACES_ANSWERS_H
#define STET_CORE_PLACES_ANSWERS_H

#include "base/json.h"
#include "core/places/places.h"

/**
 * Fill an object with what stet_who() answers, as far as the caller may know of it;
 * NULL for everything. Returns 0 or a code.
 */
[[nodiscard]] int st_who_fill(struct st_places *places, const struct st_reach *reach,
                              yyjson_mut_doc *doc, yyjson_mut_val *root, struct stet_error *err);

/** As stet_who(), for a caller with a limit. */
[[nodiscard]] int st_who(struct stet_workspace *ws, const struct st_reach *reach, char **out,
                         size_t *out_len, struct stet_error *err);

/** The scope of a forecast. */
struct st_forecast_request {
	/** Only this file, relative to the checkout; NULL for all. */
	const char *path;
	/** All pairs, not only those with this place. */
	bool all;
	/** Which files the caller may know of; NULL for all. */
	const struct st_reach *reach;
};

/** Fill an object with what stet_forecast() answers. Returns 0 or a code. */
[[nodiscard]] int st_forecast_fill(struct st_places *places,
                                   const struct st_forecast_request *request, yyjson_mut_doc *doc,
                                   yyjson_mut_val *root, struct stet_error *err);

/** The path of a file relative to the checkout; it need not exist. Returns 0 or a code. */
[[nodiscard]] int st_forecast_path(struct stet_workspace *ws, const char *path,
                                   struct st_buf *whole, struct stet_error *err);

/**
 * Add `repository`. It can be a path that the caller may not know; then it is the
 * workspace's root.
 */
void st_add_repository(struct st_places *places, const struct st_reach *reach, yyjson_mut_doc *doc,
                       yyjson_mut_val *root);

/** Append "5 minutes ago"; "just now" within a minute. */
void st_add_ago(struct st_buf *out, int64_t seconds);

/** Write an object that a function fills. Returns 0 or its code. */
typedef int st_places_fill(struct st_places *places, const void *request, yyjson_mut_doc *doc,
                           yyjson_mut_val *root, struct stet_error *err);
[[nodiscard]] int st_places_answer(struct stet_workspace *ws, st_places_fill *fill,
                                   const void *request, char **out, size_t *out_len,
                                   struct stet_error *err);

#endif
