/**
 * All of stet: include this header, link with `pkg-config --cflags --libs stet`.
 *
 * Every function takes only pointers and integers, so that any foreign
 * function interface can call it. Text is a pointer and a length.
 */
#ifndef STET_STET_H
#define STET_STET_H

#include "stet/answer.h"
#include "stet/config.h"
#include "stet/context.h"
#include "stet/error.h"
#include "stet/hook.h"
#include "stet/host.h"
#include "stet/instructions.h"
#include "stet/json.h"
#include "stet/manager.h"
#include "stet/mcp.h"
#include "stet/page.h"
#include "stet/serve.h"
#include "stet/session.h"
#include "stet/places.h"
#include "stet/state.h"
#include "stet/text.h"
#include "stet/tools.h"
#include "stet/version.h"
#include "stet/watch.h"
#include "stet/workspace.h"

#endif
