/* Messages of the library name tools and arguments; the user of a shell knows commands and options. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

/* A phrase comes before any phrase that is its prefix. */
static const struct {
	const char *tool, *shell;
} phrases[] = {
	/* A file of edits uses the tool's names. */
	{"{oldText, newText}", "{oldText, newText}"},
	{"oldText", "OLD"},
	{"newText", "NEW"},
	{"\"occurrence\" in the target", "--occurrence"},
	{"\"occurrence\"", "--occurrence"},
	{"set replaceAll", "give --all (replaceAll in a file of edits)"},
	{"expectedHash", "--expect"},
	{"preserveIndent: false", "--keep-indent"},
	{"Use the fileHash of the last answer about this file.", "stet hash prints the one of a file."},
	{"Raise the limit, or use another tool for it.",
     "Raise it with --set maxFile=BYTES, or use another program."},
	{"The argument \"edits\" of edit_file", "The file that --edits names"},
	{"pass literal: true", "give --literal"},
	{"pass literal", "give --literal"},
	{"pass glob", "give --glob"},
	{"Pass multiline: true", "Give --multiline"},
	{"see includeIgnored", "see --no-ignore"},
	{"see hidden", "see --hidden"},
	{"read_file shows them", "stet read shows them"},
	{"edit_file", "stet edit"},
	{"text_replace", "stet replace"},
	{"text_inspect (mode \"search\", regex true)", "stet inspect --regex"},
	{"text_inspect", "stet inspect"},
	{"the target \"lines\"", "--lines"},
	{"the target \"heading\"", "--heading"},
	{"the target \"beforeHeading\"", "--before"},
	{"the target \"appendToSection\"", "--append-to"},
	{"the target \"codeBlock\"", "--code-block"},
	{"the target \"wholeSection\" or \"appendToSection\"", "--section or --append-to"},
	{"the target \"wholeSection\"", "--section"},
};

static bool is_word(char c) {
	return isalnum((unsigned char)c) || c == '_';
}

/* The phrase at an offset, as whole words; -1 if there is none. */
static int find_phrase(const char *text, size_t at) {
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		size_t len = strlen(phrases[i].tool);
		if (strncmp(text + at, phrases[i].tool, len) == 0 && !is_word(text[at + len]) &&
		    (at == 0 || !is_word(text[at - 1])))
			return (int)i;
	}
	return -1;
}

/* The end of the quotation that begins at an offset. */
static size_t skip_quotation(const char *text, size_t at) {
	for (at++; text[at] && text[at] != '"'; at++)
		at += text[at] == '\\' && text[at + 1];
	return at + (text[at] == '"');
}

char *translate(const char *text) {
	char *out = NULL;
	size_t len;
	FILE *stream = open_memstream(&out, &len);
	if (!stream)
		return NULL;
	for (size_t at = 0, next; text[at]; at = next) {
		int phrase = find_phrase(text, at);
		if (phrase >= 0) {
			fputs(phrases[phrase].shell, stream);
			next = at + strlen(phrases[phrase].tool);
		} else {
			next = text[at] == '"' ? skip_quotation(text, at) : at + 1;
			fwrite(text + at, 1, next - at, stream);
		}
	}
	if (fclose(stream) == 0)
		return out;
	free(out);
	return NULL;
}
