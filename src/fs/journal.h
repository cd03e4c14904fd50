/**
 * What the journal of a filesystem does for a commit.
 *
 * To be there after a crash, a new version needs its bytes on the disk, then
 * its name, each waited for: two fsyncs, of the file and of the directory. A
 * journal that takes up the change of a name together with a change of the
 * file itself makes both durable with the file: one fsync, after the exchange,
 * is enough, if the bytes were on their way to the disk before it.
 *
 * Of ext4 this is known: an exchange or rename changes the file's ctime within
 * the same transaction, an fsync of the file commits the transaction of its
 * last change, and the disk is told to flush before the transaction counts.
 * So bytes that were written, though not flushed, before the exchange are safe
 * whenever the exchange is; whoever causes the transaction to be committed.
 */
#ifndef STET_FS_JOURNAL_H
#define STET_FS_JOURNAL_H

#include <stdbool.h>

/** Whether the filesystem of a directory is known to be of that kind; false if in doubt. */
bool st_journal_takes_names(int dirfd);

#endif
