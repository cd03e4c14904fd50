/**
 * What the commands print: text, colours, tables, complaints, progress.
 *
 * Output to a terminal may be coloured, and control characters in it are shown
 * instead of sent: names and contents of files are not trusted to command a
 * terminal. Output to anything else is the bytes themselves, and quiet.
 */
#ifndef STET_CLI_OUTPUT_H
#define STET_CLI_OUTPUT_H

#include <stdio.h>

#include "cli/commands.h"

/** Decide on colours, by --color, NO_COLOR, TERM and what the streams are. Called once, by main. */
void output_init(const char *color);

enum style { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/** The sequence that begins a style on a stream, PLAIN ends it; "" without colours. */
const char *paint(FILE *stream, enum style style);

/** Write text to a stream. What did not arrive is noticed by done(). */
void put(FILE *stream, const char *text, size_t len);

/** Write a line: the text, and a line end if it has none. */
void put_line(FILE *stream, const char *text, size_t len);

/** Write a name, in double quotes if it holds what a reader cannot see, also to a pipe. */
void put_name(FILE *stream, const char *name);

/** As put(), a unified diff with the colours of one. */
void put_diff(FILE *stream, const char *diff, size_t len);

/** The exit status of a command that has said all: DONE, or SYSTEM if output was lost. */
int done(void);

/** The word that goes with a count: "1 file", "2 files". */
static inline const char *plural(uint64_t count, const char *one, const char *many) {
	return count == 1 ? one : many;
}

/**
 * A message of the library in the words of the command line: OLD for oldText,
 * and so on, but not inside of double quotes, where files are quoted. Free it
 * with free(); NULL without memory.
 */
char *translate(const char *text);

/** Say something on standard error, as "stet: ...", in the words of the command line. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/**
 * Say why a call failed: on standard error, or with --json as the object that
 * is the answer. Returns the exit status that belongs to the error.
 */
int report(const struct stet_error *err);

/** The same of a failure that has no error yet, by its code. */
__attribute__((format(printf, 2, 3))) int report_as(enum stet_code code, const char *format, ...);

/** Say that memory is short. Returns SYSTEM. */
int report_nomem(void);

/** Answers are JSON from now on. Called by main. */
void output_json(void);
bool is_json(void);

/**
 * Print the answer to --json: one object on one line. Its `status` is
 * "success" unless it was set.
 *
 * @return DONE, or the status of a failure after saying why.
 */
int put_json(struct stet_json *json);

/**
 * For commands over several files: how one of them failed goes to a pointer,
 * and the first failure to the top of the answer as well.
 */
void add_failure(struct stet_json *json, const char *pointer, const char *path,
                 const struct stet_error *err);

/**
 * A table, aligned by how wide text is on a screen. The cells are added row by
 * row and printed at the end.
 *
 *     struct table table = {.columns = 2, .right = 1u << 0};
 *     table_addf(&table, "%zu", size);
 *     table_add(&table, path);
 *     status = table_print(&table);
 *
 * The last column is not padded. Running out of memory shows in table_print().
 */
struct table {
	unsigned columns;
	/** A bit for each column that is aligned to the right. */
	unsigned right;
	/** The first row is a heading. */
	bool heading;
	char **cells;
	size_t count;
	size_t room;
	bool failed;
};

void table_add(struct table *table, const char *text);
/** A cell for the name of a file, quoted if it must be, and a remark behind it. */
void table_add_name(struct table *table, const char *name, const char *behind);
__attribute__((format(printf, 2, 3))) void table_addf(struct table *table, const char *format, ...);

/** Print and release a table. Returns DONE or SYSTEM. */
int table_print(struct table *table);
void table_release(struct table *table);

/**
 * Say on standard error, if it is a terminal, what is being waited for, once
 * that takes more than half a second. One at a time.
 *
 * @what  A literal, such as "Looking through the tree".
 */
void progress_begin(const char *what);

/** How far it is: a number that is shown behind the words, if it is not 0. */
void progress_count(size_t count);
void progress_end(void);

#endif
