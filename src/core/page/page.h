/**
 * core/page turns the state of a workspace into what people look at: sections
 * in JSON, for the page of the server, and for stet top. It only reads.
 *
 * Every list is bounded, and so is what it costs: a section reads at most
 * ST_PAGE_WINDOW entries, however long the history is. stet/page.h has the
 * public contract.
 */
#ifndef STET_CORE_PAGE_PAGE_H
#define STET_CORE_PAGE_PAGE_H

#include "base/json.h"
#include "core/places/reach.h"
#include "core/state/state.h"
#include "stet/page.h"

enum {
	/** How many entries a list has, unless asked for another number, and at most. */
	ST_PAGE_LIMIT = 50,
	ST_PAGE_LIMIT_MAX = 200,
	/** How many entries of the log one answer looks at. */
	ST_PAGE_WINDOW = 2000,
	/** The most bytes of a diff. */
	ST_PAGE_DIFF_MAX = 256 << 10,
};

/** The session of the page itself, for undo and redo: a person, not an agent. */
#define ST_PAGE_SESSION "stet-page"

/** One answer. */
struct st_page {
	struct stet_workspace *ws;
	/** The arguments; NULL for none. */
	yyjson_val *args;
	yyjson_mut_doc *doc;
	/** The object to fill. */
	yyjson_mut_val *root;
	/** Which files the reader may know of; NULL for all. */
	const struct st_reach *reach;
};

/** As stet_page(), for a reader with a limit. */
[[nodiscard]] int st_page(struct stet_workspace *ws, const struct st_reach *reach,
                          const char *section, struct st_str args, char **out, size_t *out_len,
                          struct stet_error *err);

typedef int st_page_section(struct st_page *page, struct stet_error *err);

st_page_section st_page_now, st_page_conflicts, st_page_conflict, st_page_rescued;
st_page_section st_page_history, st_page_write, st_page_run, st_page_diff, st_page_context;
st_page_section st_page_places, st_page_forecast;

/* ---- shared by the sections ---- */

/** A string argument; NULL if it is missing or empty. */
const char *st_page_text(const struct st_page *page, const char *name);

/** A number argument, `missing` without it. Negative numbers count as missing. */
int64_t st_page_int(const struct st_page *page, const char *name, int64_t missing);

/** The argument `id`, which must be there. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_page_id(const struct st_page *page, int64_t *id, struct stet_error *err);

/** The argument `limit`, within its bounds. */
int64_t st_page_limit(const struct st_page *page);

/** Whether a path and a writer, NULL for none, are what the arguments `path` and `agent` search for. */
bool st_page_matches(const struct st_page *page, const char *path, const char *who);

/** Add a time, in milliseconds since 1970. */
void st_page_add_time(struct st_page *page, yyjson_mut_val *object, const char *key, int64_t ns);

/** Add the name of a session as people know it; nothing for NULL. */
void st_page_add_who(struct st_page *page, yyjson_mut_val *object, const char *key,
                     const char *who);

/** Add the hash of a version, null for no file. */
void st_page_add_version(struct st_page *page, yyjson_mut_val *object, const char *key,
                         const struct st_version *version);

void st_page_add_number(struct st_page *page, yyjson_mut_val *object, const char *key,
                        int64_t number);

/**
 * Add `diff`, and `cut` if it has more; or `noDiff` with the reason.
 *
 * @before, @after  Versions of the file.
 */
[[nodiscard]] int st_page_add_diff(struct st_page *page, yyjson_mut_val *object, const char *path,
                                   const struct st_version *before, const struct st_version *after,
                                   struct stet_error *err);

/** The same, for two texts. */
[[nodiscard]] int st_page_add_texts(struct st_page *page, yyjson_mut_val *object, const char *path,
                                    struct st_str before, struct st_str after,
                                    struct stet_error *err);

/** Run a function in a transaction that reads; nothing if there is no state. */
[[nodiscard]] int st_page_read(struct st_page *page, st_store_fn *fn, void *data,
                               struct stet_error *err);

/** Add `attention` for rescued bytes, or a list of all with `limit`; newest first. */
[[nodiscard]] int st_page_list_rescued(struct st_page *page, yyjson_mut_val *list, size_t limit,
                                       struct stet_error *err);

#endif
