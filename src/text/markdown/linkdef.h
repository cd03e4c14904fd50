/**
 * Link reference definitions: lines such as `[name]: /url "title"`.
 *
 * A paragraph may begin with any number of them. libcmark takes them out
 * without a trace, so that a paragraph, or a heading that grew out of one,
 * seems to begin where the definitions do. This scanner, which follows
 * libcmark's rules to the letter, says where it really begins.
 */
#ifndef STET_TEXT_MARKDOWN_LINKDEF_H
#define STET_TEXT_MARKDOWN_LINKDEF_H

#include "base/str.h"

/**
 * How many bytes of a paragraph are link definitions.
 *
 * @paragraph  Its lines, without what is before each one's first character,
 *             with their endings.
 * @return     The length of the definitions it begins with, always whole
 *             lines; 0 if there are none.
 */
size_t st_linkdef_skip(struct st_str paragraph);

#endif
