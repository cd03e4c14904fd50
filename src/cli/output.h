/**
 * Printing text, colours, tables, errors and progress.
 *
 * Output to a terminal may have colours, and control characters are made
 * visible, so that names and contents of files cannot control the terminal.
 * Output to a pipe or file is the plain bytes, without progress.
 */
#ifndef STET_CLI_OUTPUT_H
#define STET_CLI_OUTPUT_H

#include <stdio.h>

#include "cli/commands.h"

/** Decide on colours, by --color, NO_COLOR, TERM and whether a stream is a terminal. */
void output_init(const char *color);

enum style { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/** The escape sequence that begins a style, or with PLAIN ends it; "" if the stream has no colours. */
const char *paint(FILE *stream, enum style style);

/** Write text to a stream. done() reports errors. */
void put(FILE *stream, const char *text, size_t len);

/** Write a line: the text, and a line end if it has none. */
void put_line(FILE *stream, const char *text, size_t len);

/** Write a file name; in double quotes, even to a pipe, if it has characters that cannot be seen. */
void put_name(FILE *stream, const char *name);

/** As put(), for a unified diff, with its usual colours. */
void put_diff(FILE *stream, const char *diff, size_t len);

/** Flush standard output. Returns the exit status: DONE, or SYSTEM if output was lost. */
int done(void);

/** The word that goes with a count: "1 file", "2 files". */
static inline const char *plural(uint64_t count, const char *one, const char *many) {
	return count == 1 ? one : many;
}

/**
 * Translate a message of the library: replace the names of tools and arguments
 * by those of commands and options (oldText by OLD), except in double quotes,
 * which quote files. Free it with free(); NULL if memory ran out.
 */
char *translate(const char *text);

/** Print "stet: " and a message, translated, to standard error. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/**
 * Report an error: on standard error, or with --json as the answer. Returns the
 * exit status for the error.
 */
int report(const struct stet_error *err);

/** Report an error by its code and message. */
__attribute__((format(printf, 2, 3))) int report_as(enum stet_code code, const char *format, ...);

/** Report that memory ran out. Returns SYSTEM. */
int report_nomem(void);

/** Print answers as JSON from now on. Called by main. */
void output_json(void);
bool is_json(void);

/**
 * Print the answer to --json: one object on one line. Its `status` is
 * "success" unless it was set before.
 *
 * @return DONE, or the exit status after reporting an error.
 */
int put_json(struct stet_json *json);

/**
 * For commands with several files: add one file's error at a JSON pointer. The
 * first error also goes to the top of the answer.
 */
void add_failure(struct stet_json *json, const char *pointer, const char *path,
                 const struct stet_error *err);

/**
 * A table whose columns are aligned by the width of text on a screen. Cells are
 * added row by row and printed at the end.
 *
 *     struct table table = {.columns = 2, .right = 1u << 0};
 *     table_addf(&table, "%zu", size);
 *     table_add(&table, path);
 *     status = table_print(&table);
 *
 * The last column is not padded. table_print() reports if memory ran out.
 */
struct table {
	unsigned columns;
	/** A bit for each column that is aligned to the right. */
	unsigned right;
	/** How many columns the screen has, 0 if it does not matter; the texts of column `cut` lose their beginning. */
	size_t screen;
	unsigned cut;
	/** The first row is a heading. */
	bool heading;
	char **cells;
	size_t count;
	size_t room;
	bool failed;
};

void table_add(struct table *table, const char *text);
/** Add a cell with the name of a file, quoted as by put_name(), and a remark after it. */
void table_add_name(struct table *table, const char *name, const char *behind);
__attribute__((format(printf, 2, 3))) void table_addf(struct table *table, const char *format, ...);

/** Print and release a table. Returns DONE or SYSTEM. */
int table_print(struct table *table);
void table_release(struct table *table);

/**
 * Begin a long step. After half a second, its name appears on standard error if
 * that is a terminal. Steps do not nest.
 *
 * @what  A string literal, such as "Searching the tree".
 */
void progress_begin(const char *what);

/** Set the number that appears after the name; 0 for none. */
void progress_count(size_t count);
void progress_end(void);

#endif
