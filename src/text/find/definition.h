/**
 * The name that a line of source code defines: a function, a method, a type, a
 * module. A guess by the looks of the line, for many languages at once; it is
 * meant for tables of contents.
 *
 *     st_definition(ST_STR("static int read_row(struct row *row) {"));   "read_row"
 *     st_definition(ST_STR("  def mount(_params, socket) do"));          "mount"
 *     st_definition(ST_STR("\tif (ready(x)) {"));                        ""
 */
#ifndef STET_TEXT_FIND_DEFINITION_H
#define STET_TEXT_FIND_DEFINITION_H

#include "base/str.h"

/** The name that a line defines, a view into the line; empty for none. */
struct st_str st_definition(struct st_str line);

#endif
