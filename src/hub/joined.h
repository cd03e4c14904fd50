/** A hub that was joined, for the files of src/hub. */
#ifndef STET_HUB_JOINED_H
#define STET_HUB_JOINED_H

#include "hub/hub.h"

struct st_hub {
	struct st_pq *pq;
	/** The numbers of the repository and the place, as text for parameters. */
	char repo[24], place[24];
	/** The machine, whose own events are not received. */
	char *machine;
};

#endif
