/**
 * The part of JSON Schema that the tools' schemas use: type, properties,
 * required, enum, items. Stricter than the standard in one respect: an object
 * whose schema lists properties may have no others.
 *
 *     st_auto(st_buf) why = ST_BUF_INIT;
 *     if (!schema_accepts(schema, value, &why))
 *             fail_msg("%s", st_buf_cstr(&why));
 */
#ifndef STET_TESTS_LIB_SCHEMA_H
#define STET_TESTS_LIB_SCHEMA_H

#include "base/json.h"

/**
 * Check a value against a schema.
 *
 * @why    Receives what is wrong and where, if something is.
 */
bool schema_accepts(yyjson_val *schema, yyjson_val *value, struct st_buf *why);

/** Whether a schema is one that schema_accepts() understands in every part. */
bool schema_is_known(yyjson_val *schema, struct st_buf *why);

#endif
