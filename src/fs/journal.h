/**
 * What the journal of a filesystem does for a commit.
 *
 * To be there after a crash, a new version needs its bytes on the disk before
 * its name, and then the name: an fsync of the file, and one of the directory.
 * A journal that makes the disk flush what it was sent before a change of a
 * name counts saves the first one: bytes that have arrived at the disk when the
 * name changes are safe whenever the name is, whoever causes that.
 *
 * Of ext4 this is known, with a journal on its own device and in its usual
 * mode. While bytes are still on their way it makes no such promise: room for
 * them, and the file's new size, may be in the journal before them.
 */
#ifndef STET_FS_JOURNAL_H
#define STET_FS_JOURNAL_H

#include <stdbool.h>

/** Whether the filesystem of a directory is known to do that; false if in doubt. */
bool st_journal_flushes_first(int dirfd);

#endif
