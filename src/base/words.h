/**
 * What messages call the things that a caller gave: an agent gave arguments to
 * a tool, a person operands and options to a command.
 *
 *     st_fail(err, STET_E_INVALID, "%s is empty.", st_word(ST_WORD_OLD_TEXT));
 *
 * says "oldText is empty." or "OLD is empty.", by stet_speak().
 */
#ifndef STET_BASE_WORDS_H
#define STET_BASE_WORDS_H

#include "stet/error.h"

enum st_word {
	ST_WORD_OLD_TEXT,
	ST_WORD_NEW_TEXT,
	ST_WORD_OCCURRENCE,
	/** To be followed by the reason: "set replaceAll to ...". */
	ST_WORD_SET_REPLACE_ALL,
	/** To be followed by the hash. */
	ST_WORD_PASS_HASH,
	/** A sentence: where hashes come from. */
	ST_WORD_HASH_SOURCE,
	ST_WORD_EDITS,
	ST_WORD_EDIT_FILE,
	ST_WORD_TEXT_REPLACE,
	/** What keeps the indentation of new text. */
	ST_WORD_KEEP_INDENT,
	/** What says which of several headings is meant. */
	ST_WORD_WHICH_HEADING,
	/** What makes the largest file larger, and who else takes it. */
	ST_WORD_RAISE_MAX_FILE,
	/** The places of text_patch, in the order of enum st_patch_target. */
	ST_WORD_TARGETS,
	ST_WORD_COUNT = ST_WORD_TARGETS + 6,
};

/** A word or phrase, for whoever is spoken to. */
const char *st_word(enum st_word word);

/** Who is spoken to. */
enum stet_reader st_reader(void);

#endif
