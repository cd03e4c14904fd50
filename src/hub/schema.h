/** The tables of a hub: made and updated by one client at a time. */
#ifndef STET_HUB_SCHEMA_H
#define STET_HUB_SCHEMA_H

#include "hub/pq.h"

/**
 * Create the tables, or check that they are those of this stet.
 *
 * @return 0; STET_E_ACCESS (of a newer stet, not stet's, or the role may not
 *         create them); the codes of st_pq_query().
 */
[[nodiscard]] int st_hub_migrate(struct st_pq *pq, struct stet_error *err);

#endif
