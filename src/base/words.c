#include "base/words.h"

#include <stdatomic.h>

static _Atomic unsigned reader = STET_READER_AGENT;

/* A row for each word: as an agent knows it, and as a person at a shell does. */
static const char *const words[ST_WORD_COUNT][2] = {
	[ST_WORD_OLD_TEXT] = {"oldText", "OLD"},
	[ST_WORD_NEW_TEXT] = {"newText", "NEW"},
	[ST_WORD_OCCURRENCE] = {"occurrence", "--occurrence"},
	[ST_WORD_SET_REPLACE_ALL] = {"set replaceAll", "give --all (replaceAll in a file of edits)"},
	[ST_WORD_PASS_HASH] = {"pass expectedHash", "give --expect"},
	[ST_WORD_HASH_SOURCE] = {"Use the fileHash of the last answer about this file.",
                             "stet hash prints the one of a file."},
	[ST_WORD_EDITS] = {"The argument \"edits\" of edit_file", "What --edits names"},
	[ST_WORD_EDIT_FILE] = {"edit_file", "stet edit"},
	[ST_WORD_TEXT_REPLACE] = {"text_replace", "stet replace"},
	[ST_WORD_KEEP_INDENT] = {"preserveIndent: false", "--keep-indent"},
	[ST_WORD_WHICH_HEADING] = {"\"occurrence\" in the target", "--occurrence"},
	[ST_WORD_RAISE_MAX_FILE] = {"Raise the limit, or use another tool for it.",
                                "Raise it with --set maxFile=BYTES, or use another program."},
	[ST_WORD_TARGETS] = {"the target \"lines\"", "--lines"},
	{"the target \"heading\"", "--heading"},
	{"the target \"beforeHeading\"", "--before"},
	{"the target \"appendToSection\"", "--append-to"},
	{"the target \"codeBlock\"", "--code-block"},
	{"the target \"wholeSection\"", "--section"},
};

void stet_speak(enum stet_reader to) {
	atomic_store_explicit(&reader, to == STET_READER_SHELL ? to : STET_READER_AGENT,
	                      memory_order_relaxed);
}

enum stet_reader st_reader(void) {
	return (enum stet_reader)atomic_load_explicit(&reader, memory_order_relaxed);
}

const char *st_word(enum st_word word) {
	return words[word][st_reader()];
}
