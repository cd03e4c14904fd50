/* Tables whose columns are aligned by the width of text on a screen. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

/* Takes ownership of the cell; NULL marks the table as failed. */
static void add_cell(struct table *table, char *cell) {
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 64;
		char **cells = reallocarray(table->cells, room, sizeof *cells);
		if (cells) {
			table->cells = cells;
			table->room = room;
		}
	}
	if (!cell || table->count == table->room) {
		table->failed = true;
		free(cell);
		return;
	}
	table->cells[table->count++] = cell;
}

void table_add(struct table *table, const char *text) {
	add_cell(table, strdup(text ? text : ""));
}

void table_add_name(struct table *table, const char *name, const char *behind) {
	char *printable = stet_text_name(name, strlen(name)), *text = NULL;
	if (printable && asprintf(&text, "%s%s", printable, behind) < 0)
		text = NULL;
	stet_free(printable);
	add_cell(table, text);
}

void table_addf(struct table *table, const char *format, ...) {
	char *text = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	add_cell(table, text);
}

static size_t width_of(const char *cell) {
	return stet_text_width(cell, strlen(cell));
}

static size_t widest(const struct table *table, unsigned column) {
	size_t most = 0;
	for (size_t i = column; i < table->count; i += table->columns) {
		size_t width = width_of(table->cells[i]);
		most = width > most ? width : most;
	}
	return most;
}

/* What cut cells keep at least. */
enum { CUT_MIN = 12 };

/* Make the column that may be cut as narrow as the screen needs it. */
static void fit_screen(const struct table *table, size_t *widths) {
	size_t *cut = &widths[table->cut], total = 2 * (size_t)(table->columns - 1);
	for (unsigned column = 0; column < table->columns; column++)
		total += widths[column];
	if (table->screen == 0 || total <= table->screen || *cut <= CUT_MIN)
		return;
	size_t over = total - table->screen;
	*cut = *cut > over + CUT_MIN ? *cut - over : CUT_MIN;
}

/* The end of a text, as long as it fits. */
static const char *end_of(const char *text, size_t width) {
	while (*text && width_of(text) > width) {
		text++;
		while ((*text & 0xc0) == 0x80)
			text++;
	}
	return text;
}

static void print_cell(const struct table *table, size_t i, const size_t *widths) {
	unsigned column = (unsigned)(i % table->columns);
	const char *cell = table->cells[i];
	size_t width = width_of(cell);
	if (width > widths[column]) {
		cell = end_of(cell, widths[column] - 1);
		width = width_of(cell) + 1;
		fputs("\u2026", stdout);
	}
	int pad = widths[column] > width ? (int)(widths[column] - width) : 0;
	bool right = table->right >> column & 1, last = column + 1 == table->columns;
	printf("%*s", right ? pad : 0, "");
	put(stdout, cell, strlen(cell));
	if (last)
		putchar('\n');
	else
		printf("%*s  ", right ? 0 : pad, "");
}

void table_release(struct table *table) {
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}

int table_print(struct table *table) {
	size_t widths[16] = {0};
	bool failed = table->failed || table->columns == 0 || table->columns > 16;
	for (unsigned column = 0; !failed && column < table->columns; column++)
		widths[column] = widest(table, column);
	if (!failed)
		fit_screen(table, widths);
	for (size_t i = 0; !failed && i < table->count; i++) {
		if (i == 0 && table->heading)
			fputs(paint(stdout, BOLD), stdout);
		if (i == table->columns && table->heading)
			fputs(paint(stdout, PLAIN), stdout);
		print_cell(table, i, widths);
	}
	table_release(table);
	return failed ? report_nomem() : DONE;
}
