/** A hub that was joined, for the files of src/hub. */
#ifndef STET_HUB_JOINED_H
#define STET_HUB_JOINED_H

#include "base/json.h"
#include "hub/hub.h"

struct st_hub {
	struct st_pq *pq;
	/** The numbers of the repository and the place, as text for parameters. */
	char repo[24], place[24];
	/** The machine, whose own events are not received. */
	char *machine;
};

/** Makes the JSON of the i-th item. */
typedef yyjson_mut_val *st_hub_json_fn(yyjson_mut_doc *doc, const void *items, size_t i);

/** Append a list of items as JSON. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_hub_write_list(st_hub_json_fn *make, const void *items, size_t count,
                                    struct st_buf *out, struct stet_error *err);

#endif
