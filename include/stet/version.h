/** The version of stet. */
#ifndef STET_VERSION_H
#define STET_VERSION_H

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library in use, such as "0.1.0"; never NULL, not to be freed. */
STET_API const char *stet_version(void);

#ifdef __cplusplus
}
#endif

#endif
