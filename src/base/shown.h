/**
 * Names from outside, as sentences show them: in double quotes, with whatever
 * could end the quotes or the line, hide, or change the order of what is read
 * written as an escape. So a file's name stays a name, whatever is in it.
 *
 *     return st_fail(err, STET_E_KIND, "%s is a directory.", st_shown(path));
 */
#ifndef STET_BASE_SHOWN_H
#define STET_BASE_SHOWN_H

#include "base/str.h"

/** Room for one; a longer name is cut, which three dots show. */
struct st_shown {
	char text[1024];
};

/**
 * Write a name into the room.
 *
 * Quotes and backslashes get a backslash; line ends and tabs are \n, \r and
 * \t, bytes that are not UTF-8 \xHH, other controls and characters that take
 * no room \uHHHH.
 *
 * @return room->text.
 */
const char *st_shown_into(struct st_shown *room, struct st_str name);

/** The same in a room that lasts until the end of the block; name is a string, or a view. */
#define st_shown(name) st_shown_into(&(struct st_shown){0}, st_str(name))
#define st_shown_str(name) st_shown_into(&(struct st_shown){0}, name)

#endif
