/**
 * All of stet: include this one, link with `pkg-config --cflags --libs stet`.
 *
 * Every function takes pointers and integers only, so that any foreign
 * function interface can call it; text is a pointer and a length.
 */
#ifndef STET_STET_H
#define STET_STET_H

#include "stet/instructions.h"
#include "stet/context.h"
#include "stet/host.h"
#include "stet/config.h"
#include "stet/error.h"
#include "stet/json.h"
#include "stet/manager.h"
#include "stet/serve.h"
#include "stet/mcp.h"
#include "stet/session.h"
#include "stet/state.h"
#include "stet/text.h"
#include "stet/tools.h"
#include "stet/version.h"
#include "stet/watch.h"

#endif
