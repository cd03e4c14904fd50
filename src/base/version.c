/* The version that meson.build sets. */
#include "stet/version.h"

const char *stet_version(void) {
	return STET_VERSION;
}
