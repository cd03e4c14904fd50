/**
 * Link reference definitions: lines such as `[name]: /url "title"`.
 *
 * A paragraph may begin with any number of them. libcmark removes them without a
 * trace, so a paragraph, or a setext heading made from one, seems to begin where
 * the definitions do. This scanner follows libcmark's rules exactly and finds where
 * it really begins.
 */
#ifndef STET_TEXT_MARKDOWN_LINKDEF_H
#define STET_TEXT_MARKDOWN_LINKDEF_H

#include "base/str.h"

/**
 * The length of the link definitions at the start of a paragraph.
 *
 * @paragraph  Its lines, without their indentation, with their endings.
 * @return     The length in bytes, always whole lines; 0 if there are none.
 */
size_t st_linkdef_skip(struct st_str paragraph);

#endif
