/* The names that lines of source code define, in several languages. */
#include "text/find/definition.h"

#include "lib/test.h"

static const struct {
	const char *line;
	const char *name;
} lines[] = {
	{"static int read_row(struct row *row) {", "read_row"},
	{"struct st_buf *st_buf_new(void) {", "st_buf_new"},
	{"struct row {", "row"},
	{"enum color { RED };", "color"},
	{"def load(path):", "load"},
	{"    async def fetch(self):", "fetch"},
	{"class Parser(Base):", "Parser"},
	{"  defp load_transcript(session_id) do", "load_transcript"},
	{"defmodule SpotterWeb.SessionLive do", "SpotterWeb.SessionLive"},
	{"func (s *Server) Serve(l net.Listener) error {", "Serve"},
	{"pub fn parse(text: &str) -> Ast {", "parse"},
	{"export interface MarkdownTheme {", "MarkdownTheme"},
	{"export async function init(name?: string): Promise<void> {", "init"},
	{"\tprivate showThemeSelector(): void {", "showThemeSelector"},
	{"\tif (ready(x)) {", ""},
	{"while (next(x)) {", ""},
	{"\t} else if (ready(x)) {", ""},
	{"\titems.forEach((item) => {", ""},
	{"const all = items.map((item) => {", ""},
	{"\t\t\tdeep(inside) {", ""},
	{"return f(x);", ""},
	{"a class of its own", ""},
	{"", ""},
	{"{", ""},
	{"(", ""},
	{"def", ""},
};

static void finds_what_a_line_defines(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct st_str name = st_definition(st_str(lines[i].line));
		if (!st_str_eq(name, st_str(lines[i].name)))
			fail_msg("%s: found \"%.*s\"", lines[i].line, (int)name.len, name.ptr);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_a_line_defines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
