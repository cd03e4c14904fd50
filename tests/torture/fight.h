/**
 * A fight: races between one hostile process and one writer over a page, and
 * the score.
 *
 * The accounting. In each race the hostile process writes one numbered record
 * to the page while a session changes its own line of it, and both are done
 * before the next race begins. Only these two write, so whatever is missing
 * afterwards was lost between them. At the end of a race the record is in the
 * file, or it is owed: then a notice has to name a kept copy that holds it, at
 * the latest when the workspace has settled. A record that is still owed then
 * is lost. Records that stay in the file once they are there (those that were
 * appended) are looked for once more in the end.
 *
 * An edit that was acknowledged has to be in the file when its race is over.
 * The exception is a hostile process that writes back all of what it read (it
 * renames, or truncates) and was at work during the edit: it undoes the edit
 * by its own fault, and nobody can tell.
 */
#ifndef STET_TESTS_TORTURE_FIGHT_H
#define STET_TESTS_TORTURE_FIGHT_H

#include "lib/test.h"
#include "stet/session.h"
#include "torture/hostile.h"
#include "torture/page.h"

/** The result of a fight. */
struct score {
	unsigned acked, gave_up;
	unsigned conflicts, busy, other;
	unsigned exchanged, verified, in_place;
	/** Copies that notices named, and notices that named none. */
	unsigned kept, unkept;
	/** Records; acknowledged edits; pages that were torn after a race. */
	unsigned lost, lost_edits, torn;
	/** Of the lost records, those that the answer had not said could be lost. */
	unsigned silent;
};

struct fight;

/** A way to put a number into stet's line: 0 if acknowledged, else a code. */
struct writer {
	const char *name;
	int (*try)(struct fight *fight, unsigned number);
};

/** Edits of the line; whole files, read before; and what the tools of today do. */
extern const struct writer writer_edits, writer_writes, writer_naive;

/** Fill in the first part, the rest with zeros. */
struct fight {
	const struct hostile_kind *kind;
	const struct writer *writer;
	size_t size;
	/** How many records there will be at most. */
	unsigned races;
	bool durable;
	/** The file has a second name, so it is written in place. */
	bool linked;
	/** Where stet sees the directory; NULL if it is where the others do. */
	const char *seen_at;

	const struct dir *dir;
	char path[512];
	struct hostile hostile;
	struct stet_workspace *ws;
	struct stet_session *session;
	/* stet's line, as the session last saw it. */
	char line[PAGE_LINE_LEN + 1];
	struct st_buf text;
	/* How long a race takes. */
	int64_t typical_ns;
	/* By record: whether it was in the file after its race, and whether a kept copy has it. */
	bool *arrived, *kept;
	/* Whether the current answer admits what it cannot promise; the last race whose answer did not. */
	bool told;
	unsigned last_untold;
	struct score score;
};

/** Make the page, start the hostile process and open a session. */
void fight_begin(struct fight *fight, const struct dir *dir);

/** Have the session read the page, and the hostile process get ready for a record. */
void fight_ready(struct fight *fight, unsigned record);

/** Account for a notice that somebody got. */
void fight_hear(struct fight *fight, const char *notice);

/** Count an answer of the writer that is no success. */
void fight_count(struct fight *fight, int code);

/** Count one that is, and whether its answer said what it cannot promise. */
void fight_acked(struct fight *fight, unsigned number);

/**
 * Try until it is acknowledged, as an agent that follows the protocol would.
 *
 * @began_ns  When the last try began.
 * @return    Whether it was, within a minute.
 */
bool fight_until_acked(struct fight *fight, unsigned number, int64_t *began_ns);

/**
 * Both are done: look what is in the file.
 *
 * @number      What the session put into its line, if that was acked.
 * @overlapped  Whether the hostile process may have read before and written after that.
 */
void fight_judge(struct fight *fight, unsigned number, bool acked, bool overlapped);

/** Let stet check replaced files a last time, and take the notices. */
void fight_settle(struct fight *fight);

/** Stop the hostile process, settle, count what was lost and print the score. */
void fight_end(struct fight *fight);

/** Nothing lost, nothing torn, every race acknowledged in the end, every notice with a copy. */
bool fight_is_clean(const struct fight *fight);

/**
 * The same where stet does not see all that others do: for each lost record, an answer
 * had said that it could get lost.
 */
bool fight_is_honest(const struct fight *fight);

/** Fail if a temporary file of a commit is still in the directory. */
void assert_no_leftover(const struct dir *dir);

/** The head of the table that fight_end() prints lines of. */
void fight_print_head(void);

/** As dir_setup(), with a directory in memory instead of on the disk. */
int memory_setup(void **state);

/** Whether the counts are to be full (STET_TORTURE=1). */
bool in_full(void);

#endif
