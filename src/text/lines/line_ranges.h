/**
 * Parse line ranges as people write them: "50-60", "1,5-8", "90-".
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
 * Parse ranges and clamp them to a file.
 *
 * Ranges may come in any order and overlap; blanks around numbers, dashes and
 * commas do not matter. "90-" reaches to the end of the file. The parser refuses
 * "-5", which could mean the first five lines or the last five. It drops lines
 * beyond the end of the file, so the set may turn out empty.
 *
 * @query  The ranges; at most ST_INTERVALS_MAX of them.
 * @lines  How many lines the file has.
 * @out    Receives the line numbers. Its old contents are gone, even on failure.
 * @return 0, or STET_E_INVALID, STET_E_NOMEM.
 */
[[nodiscard]] int st_line_ranges_parse(struct st_str query, size_t lines, struct st_intervals *out,
                                       struct stet_error *err);

#endif
