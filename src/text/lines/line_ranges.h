/**
 * Line ranges as people write them: "50-60", "1,5-8", "90-".
 *
 *     st_auto(st_intervals) wanted = {0};
 *     if (st_line_ranges_parse(ST_STR("1, 5-8, 90-"), lines.count, &wanted, err) < 0)
 *             return err->code;
 */
#ifndef STET_TEXT_LINES_LINE_RANGES_H
#define STET_TEXT_LINES_LINE_RANGES_H

#include "base/error.h"
#include "base/intervals.h"
#include "base/str.h"

/**
 * Read ranges and clamp them to a file.
 *
 * Ranges stand in any order and may overlap; blanks around numbers, dashes and
 * commas do not matter. "90-" reaches to the end of the file. "-5" is refused,
 * since it could be the first five lines or the last. What lies beyond the end
 * is left out: if all of it does, the set is empty.
 *
 * @query  The ranges; at most ST_INTERVALS_MAX of them.
 * @lines  How many lines the file has.
 * @out    Receives the line numbers; what it held is forgotten, also on failure.
 * @return 0, or STET_E_INVALID, STET_E_NOMEM.
 */
[[nodiscard]] int st_line_ranges_parse(struct st_str query, size_t lines, struct st_intervals *out,
                                       struct stet_error *err);

#endif
