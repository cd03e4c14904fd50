/* Bad input: each is answered with a sentence that names the valid choices, and changes nothing. */
#include "lib/schema.h"
#include "lib/tools.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char text[] = "# One\nx\n## Two\nx\n```\ncode\n```\n";

/* A valid call of each tool that works on a file; a test spoils one argument. */
static const struct valid {
	const char *tool;
	const char *args;
} valid[] = {
	{"read_file", "\"path\": \"a.md\""},
	{"read_text_file", "\"path\": \"a.md\""},
	{"write_file", "\"path\": \"a.md\", \"content\": \"new\""},
	{"edit_file", "\"path\": \"a.md\", \"oldText\": \"## Two\", \"newText\": \"## 2\""},
	{"text_inspect", "\"filePath\": \"a.md\""},
	{"set_property", "\"filePath\": \"a.md\", \"key\": \"title\", \"value\": \"y\""},
	{"text_replace", "\"filePath\": \"a.md\", \"oldText\": \"x\", \"newText\": \"y\""},
	{"text_patch",
     "\"filePath\": \"a.md\", \"operation\": \"replace\", \"target\": {\"heading\": \"Two\"}, "
     "\"content\": \"y\""},
};

static void bad(struct host *host, int code, const char *tool, const char *args,
                const char *sentence) {
	refuse(host, code, tool, "%s", args);
	expect_text(sentence);
	expect_file(host, "a.md", text);
}

/* ---- text_replace ---- */

static void occurrence(struct host *host, const char *value, const char *sentence) {
	char args[256];
	snprintf(args, sizeof args,
	         "{'filePath': 'a.md', 'oldText': 'x', 'newText': 'y', 'occurrence': %s}", value);
	bad(host, STET_E_INVALID, "text_replace", args, sentence);
	expect_text("\"first\", \"last\", \"all\", or a number");
}

static void an_occurrence_that_is_none_names_the_choices(void **state) {
	struct host *host = *state;
	static const char *const values[] = {"-1",
	                                     "1.5",
	                                     "true",
	                                     "[]",
	                                     "{}",
	                                     "[1]",
	                                     "'0'",
	                                     "'-1'",
	                                     "'abc'",
	                                     "' 1'",
	                                     "'1 '",
	                                     "'+1'",
	                                     "'1.5'",
	                                     "'0x1'",
	                                     "'all!'",
	                                     "'first,last'",
	                                     "99999999999999999999999",
	                                     "-9223372036854775808"};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(values); i++)
		occurrence(host, values[i], "\"occurrence\" cannot be");
}

static void an_occurrence_beyond_the_last_names_the_lines(void **state) {
	struct host *host = *state;
	static const char *const values[] = {"3",
	                                     "3.0",
	                                     "1e3",
	                                     "'3'",
	                                     "9223372036854775807",
	                                     "9223372036854775808",
	                                     "18446744073709551615",
	                                     "'99999999999999999999999999'"};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(values); i++)
		occurrence(host, values[i], "occurs 2 times, at lines 2 and 4");
}

static void an_occurrence_of_null_was_left_out(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	call(host, "text_replace",
	     "{'filePath': 'a.md', 'oldText': 'x', 'newText': 'y', 'occurrence': null, 'session': "
	     "null}");
	expect_file(host, "a.md", "# One\ny\n## Two\nx\n```\ncode\n```\n");
}

static void an_empty_old_text_is_refused(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	bad(host, STET_E_INVALID, "text_replace", "{'filePath': 'a.md', 'oldText': '', 'newText': 'y'}",
	    "oldText is empty");
}

/* ---- text_patch ---- */

static void patch(struct host *host, const char *operation, const char *target,
                  const char *sentence) {
	char args[8192];
	snprintf(args, sizeof args,
	         "{'filePath': 'a.md', 'operation': '%s', 'target': %s, 'content': 'new'}", operation,
	         target);
	bad(host, STET_E_INVALID, "text_patch", args, sentence);
}

static void an_unknown_operation_names_the_choices(void **state) {
	struct host *host = *state;
	static const char *const names[] = {"append", "", "replace ", "remove"};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(names); i++)
		patch(host, names[i], "{'heading': 'Two'}", "use \"replace\", \"insert\" or \"delete\"");
	patch(host, "replaceLines", "{'lines': {'start': 1}}",
	      "use \"replace\" with the target \"lines\"");
}

static void no_two_or_unknown_targets_name_the_choices(void **state) {
	struct host *host = *state;
	static const char *const targets[] = {
		"{}",        "{'heading': 'Two', 'lines': {'start': 1}}",
		"[]",        "[{'heading': 'Two'}]",
		"1",         "true",
		"'heading'", "''",
		"'{'",       "'[{}]'",
		"'null'",    "'1'",
		"'{} {}'",
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(targets); i++)
		patch(host, "replace", targets[i],
		      "exactly one of lines {start, end}, heading, beforeHeading, appendToSection, "
		      "codeBlock {index}, wholeSection");
	patch(host, "replace", "{'line': 3}",
	      "\"lines\", \"heading\", \"beforeHeading\", \"appendToSection\", \"codeBlock\" or "
	      "\"wholeSection\"");
}

static void a_target_in_a_string_is_read_as_strictly(void **state) {
	struct host *host = *state;
	static const struct {
		const char *json;
		const char *sentence;
	} targets[] = {
		{"{\"heading\": \"Two\"", "does not hold a JSON object"},
		{"[\"heading\", \"Two\"]", "is not a JSON object"},
		{"\"{}\"", "is not a JSON object"},
		{"{\"heading\": \"Two\", \"heading\": \"One\"}", "twice"},
		{"{\"text\": \"x\"}", "use text_replace"},
		{"{\"lines\": {\"start\": \"1\"}}", "must be an integer"},
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(targets); i++)
		patch(host, "replace", quoted(st_str(targets[i].json)), targets[i].sentence);
}

static void removed_targets_name_their_successor(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	patch(host, "replace", "{'text': 'x'}", "use text_replace");
	patch(host, "replace", "{'pattern': 'x'}", "text_inspect");
	patch(host, "insert", "{'afterHeading': 'Two'}", "\"appendToSection\"");
	patch(host, "replace", "{'section': 'Two'}", "\"wholeSection\"");
}

static void lines_that_cannot_be_are_refused(void **state) {
	struct host *host = *state;
	static const struct {
		const char *target;
		const char *sentence;
	} targets[] = {
		{"{'lines': {'start': 8}}", "Line 8 is out of range: the file has 7 lines"},
		{"{'lines': {'start': 2, 'end': 8}}", "Line 8 is out of range: the file has 7 lines"},
		{"{'lines': {'start': 5, 'end': 4}}", "reversed"},
		{"{'lines': {'start': 0}}", "needs a line from 1 on"},
		{"{'lines': {'start': 0, 'end': 3}}", "needs a line from 1 on"},
		{"{'lines': {'start': 3, 'end': 0}}", "Lines count from 1"},
		{"{'lines': {'start': -1}}", "Lines count from 1"},
		{"{'lines': {'start': 1, 'end': -1}}", "Lines count from 1"},
		{"{'lines': {'start': 9223372036854775807}}", "the file has 7 lines"},
		{"{'lines': {'start': 18446744073709551615}}", "the file has 7 lines"},
		{"{'lines': {'start': -9223372036854775808}}", "Lines count from 1"},
		{"{'lines': {'start': '1'}}", "\"start\" of target \"lines\" must be an integer"},
		{"{'lines': {'start': 1, 'end': '2'}}", "\"end\" of target \"lines\" must be an integer"},
		{"{'lines': {'start': 1.5}}", "must be an integer"},
		{"{'lines': {'start': 1, 'end': 1e300}}", "must be an integer"},
		{"{'lines': {}}", "needs the argument \"start\""},
		{"{'lines': {'end': 2}}", "needs the argument \"start\""},
		{"{'lines': {'start': 1, 'stop': 2}}", "has no argument \"stop\". It takes: start, end"},
		{"{'lines': '1-2'}", "takes {\"start\": 3, \"end\": 5}"},
		{"{'lines': [1, 2]}", "takes {\"start\": 3, \"end\": 5}"},
		{"{'lines': 1}", "takes {\"start\": 3, \"end\": 5}"},
		{"{'lines': null}", "takes {\"start\": 3, \"end\": 5}"},
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(targets); i++)
		patch(host, "replace", targets[i].target, targets[i].sentence);
	patch(host, "insert", "{'lines': {'start': 0, 'end': 2}}", "takes no end");
}

static void code_blocks_that_are_not_there_are_refused_with_those_that_are(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	static const char *const indexes[] = {"1", "-1", "9223372036854775807", "18446744073709551615"};
	for (size_t i = 0; i < COUNT(indexes); i++) {
		char target[64];
		snprintf(target, sizeof target, "{'codeBlock': {'index': %s}}", indexes[i]);
		patch(host, "replace", target, "the text has 1, counted from 0: 0 in lines 5-7");
		snprintf(target, sizeof target, "{'codeBlock': %s}", indexes[i]);
		patch(host, "replace", target, "the text has 1, counted from 0: 0 in lines 5-7");
	}
	patch(host, "replace", "{'codeBlock': {}}", "needs the argument \"index\"");
	patch(host, "replace", "{'codeBlock': {'index': '0'}}", "must be an integer");
	patch(host, "replace", "{'codeBlock': {'number': 0}}", "has no argument \"number\"");
	patch(host, "replace", "{'codeBlock': '0'}", "takes {\"index\": 0}");
	patch(host, "replace", "{'codeBlock': 0.5}", "takes {\"index\": 0}");
	dir_write(host->dir, "b.md", "no code\n");
	refuse(host, STET_E_INVALID, "text_patch",
	       "{'filePath': 'b.md', 'operation': 'delete', 'target': {'codeBlock': {'index': 0}}}");
	expect_text("no fenced code block");
}

static void headings_that_cannot_be_are_refused(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	static const char *const names[] = {"heading", "beforeHeading", "appendToSection",
	                                    "wholeSection"};
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *operation = i == 3 ? "delete" : "insert";
		char args[256];
		static const char *const values[] = {"1",
		                                     "[]",
		                                     "true",
		                                     "{}",
		                                     "{'occurrence': 1}",
		                                     "{'text': 1}",
		                                     "{'text': 'Two', 'number': 1}",
		                                     "{'text': 'Two', 'occurrence': '1'}"};
		for (size_t k = 0; k < COUNT(values); k++) {
			snprintf(args, sizeof args, "{'%s': %s}", names[i], values[k]);
			patch(host, operation, args, names[i]);
		}
		static const char *const occurrences[] = {"2", "-1", "9223372036854775807",
		                                          "18446744073709551615"};
		for (size_t k = 0; k < COUNT(occurrences); k++) {
			snprintf(args, sizeof args,
			         "{'filePath': 'a.md', 'operation': '%s', 'target': {'%s': {'text': 'Two', "
			         "'occurrence': %s}}, 'content': 'x'}",
			         operation, names[i], occurrences[k]);
			int code = try_call(host, "text_patch", "%s", args);
			assert_true(code == STET_E_NO_MATCH || code == STET_E_INVALID);
			expect_file(host, "a.md", text);
		}
		snprintf(args, sizeof args,
		         "{'filePath': 'a.md', 'operation': '%s', 'target': {'%s': ''}, 'content': 'x'}",
		         operation, names[i]);
		assert_true(try_call(host, "text_patch", "%s", args) < 0);
	}
	expect_file(host, "a.md", text);
}

static void markdown_targets_are_refused_elsewhere(void **state) {
	struct host *host = *state;
	static const char *const targets[] = {"{'heading': 'Two'}", "{'beforeHeading': 'Two'}",
	                                      "{'appendToSection': 'Two'}",
	                                      "{'codeBlock': {'index': 0}}", "{'wholeSection': 'Two'}"};
	dir_write(host->dir, "a.c", text);
	for (size_t i = 0; i < COUNT(targets); i++) {
		refuse(host, STET_E_INVALID, "text_patch",
		       "{'filePath': 'a.c', 'operation': '%s', 'target': %s, 'content': 'x'}",
		       i == 4 ? "replace" : "insert", targets[i]);
		expect_text("Only Markdown files support");
		expect_text("\"lines\", or text_replace");
	}
	expect_file(host, "a.c", text);
}

/* ---- edit_file ---- */

static void edits_that_are_none_are_refused(void **state) {
	struct host *host = *state;
	static const struct {
		const char *args;
		const char *sentence;
	} calls[] = {
		{"'edits': []", "at least one"},
		{"'edits': {}", "must be a list"},
		{"'edits': 'x'", "must be a list"},
		{"'edits': [1]", "must be a JSON object"},
		{"'edits': [null]", "must be a JSON object"},
		{"'edits': [{}]", "needs the argument \"oldText\""},
		{"'edits': [{'oldText': 'x'}]", "needs the argument \"newText\""},
		{"'edits': [{'oldText': 1, 'newText': 'y'}]", "must be a string"},
		{"'edits': [{'oldText': 'x', 'newText': null}]", "needs the argument \"newText\""},
		{"'edits': [{'oldText': 'x', 'newText': 'y', 'replaceAll': 'yes'}]", "true or false"},
		{"'edits': [{'oldText': 'x', 'newText': 'y', 'all': true}]",
	     "It takes: oldText, newText, replaceAll"},
		{"'edits': [{'oldText': 'x', 'oldStr': 'x', 'newText': 'y'}]",
	     "was given twice, once as \"oldStr\""},
		{"'edits': [{'oldText': 'x', 'newText': 'y'}], 'oldText': 'x'", "not both"},
		{"'edits': [{'oldText': 'x', 'newText': 'y'}], 'replaceAll': true",
	     "into the \"edits\" that need it"},
		{"'oldText': 'x'", "or \"oldText\" and \"newText\""},
		{"'newText': 'x'", "or \"oldText\" and \"newText\""},
		{"'dryRun': true", "\"edits\" (a list of {oldText, newText})"},
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(calls); i++) {
		char args[256];
		snprintf(args, sizeof args, "{'path': 'a.md', %s}", calls[i].args);
		bad(host, STET_E_INVALID, "edit_file", args, calls[i].sentence);
	}
}

static void too_many_edits_are_refused(void **state) {
	struct host *host = *state;
	st_auto(st_buf) args = ST_BUF_INIT;
	dir_write(host->dir, "a.md", text);
	st_buf_adds(&args, "{'path': 'a.md', 'edits': [{'oldText': 'x', 'newText': 'y'}");
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&args, ", {'oldText': 'x', 'newText': 'y'}");
	st_buf_adds(&args, "]}");
	bad(host, STET_E_INVALID, "edit_file", args.ptr, "up to 1000 edits at once, not 1001");
}

/* ---- the file ---- */

/* Every tool's valid call with another file. */
static int call_on(struct host *host, size_t tool, const char *path) {
	const char *file = strstr(valid[tool].args, "\"a.md\"");
	return try_call(host, valid[tool].tool, "{%.*s%s%s}", (int)(file - valid[tool].args),
	                valid[tool].args, quoted(st_str(path)), file + strlen("\"a.md\""));
}

static void paths_that_cannot_be_are_refused(void **state) {
	struct host *host = *state;
	char long_path[5000];
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = '\0';
	const struct {
		const char *path;
		/* For write_file, where 0 is allowed and not tried, and for the others. */
		int written, code;
	} paths[] = {
		{"", STET_E_INVALID, STET_E_INVALID},
		{"..", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"../a.md", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"/", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"/etc/passwd", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"sub/../../a.md", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"away/passwd", STET_E_OUTSIDE, STET_E_OUTSIDE},
		{"no/such/dir.md", 0, STET_E_NOT_FOUND},
		{"a.md/b", STET_E_KIND, STET_E_NOT_FOUND},
		{long_path, STET_E_INVALID, STET_E_INVALID},
	};
	dir_write(host->dir, "a.md", text);
	assert_int_equal(mkdir(dir_at(host->dir, "sub"), 0755), 0);
	assert_int_equal(symlink("/etc", dir_at(host->dir, "away")), 0);
	for (size_t i = 0; i < COUNT(valid); i++) {
		for (size_t k = 0; k < COUNT(paths); k++) {
			bool writes = strcmp(valid[i].tool, "write_file") == 0;
			if (writes && paths[k].written == 0)
				continue;
			int code = call_on(host, i, paths[k].path);
			if (code != (writes ? paths[k].written : paths[k].code))
				fail_msg("%s on \"%.50s\": %s", valid[i].tool, paths[k].path, host->err.message);
		}
	}
	assert_int_equal(dir_count(host->dir, "."), 3);
	expect_file(host, "a.md", text);
}

static void a_nul_in_a_path_does_not_cut_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(valid); i++) {
		const char *file = strstr(valid[i].args, "a.md");
		refuse(host, STET_E_INVALID, valid[i].tool, "{%.*s%s%s}", (int)(file - valid[i].args),
		       valid[i].args, "a.md\\u0000.png", file + 4);
		expect_text("NUL");
	}
	expect_file(host, "a.md", text);
}

static void what_is_not_a_regular_file_is_refused_at_once(void **state) {
	struct host *host = *state;
	assert_int_equal(mkdir(dir_at(host->dir, "dir.md"), 0755), 0);
	assert_int_equal(mkfifo(dir_at(host->dir, "pipe.md"), 0644), 0);
	alarm(60);
	for (size_t i = 0; i < COUNT(valid); i++) {
		assert_int_equal(call_on(host, i, "dir.md"), STET_E_KIND);
		expect_text("is a directory");
		assert_int_equal(call_on(host, i, "pipe.md"), STET_E_KIND);
		expect_text("is a named pipe");
	}
	alarm(0);
	refuse(host, STET_E_EXISTS, "edit_file", "{'path': 'pipe.md', 'oldText': '', 'newText': 'x'}");
}

static void binary_files_are_left_alone(void **state) {
	struct host *host = *state;
	dir_write_bytes(host->dir, "b.md", "# One\0x", 7);
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (strcmp(valid[i].tool, "write_file") == 0)
			continue;
		assert_int_equal(call_on(host, i, "b.md"), STET_E_BINARY);
		expect_text("binary file");
	}
}

static void endings_that_are_not_allowed_are_refused_with_those_that_are(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_allow(host->ws, ".txt,.rst", NULL), 0);
	dir_write(host->dir, "a.md", text);
	dir_write(host->dir, "txt", text);
	dir_write(host->dir, ".txt", text);
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (strncmp(valid[i].tool, "text_", 5) != 0 && strcmp(valid[i].tool, "edit_file") != 0)
			continue;
		assert_int_equal(call_on(host, i, "a.md"), STET_E_EXTENSION);
		expect_text("Allowed: .txt, .rst.");
		assert_int_equal(call_on(host, i, "txt"), STET_E_EXTENSION);
		assert_int_equal(call_on(host, i, ".txt"), STET_E_EXTENSION);
	}
	expect_file(host, "a.md", text);
}

/* The most memory this process has had, in KiB. */
static long peak_memory(void) {
	FILE *file = fopen("/proc/self/status", "r");
	assert_non_null(file);
	char line[256];
	long peak = -1;
	while (fgets(line, sizeof line, file) && peak < 0)
		sscanf(line, "VmHWM: %ld", &peak);
	fclose(file);
	assert_true(peak > 0);
	return peak;
}

static void a_file_of_100_mb_is_refused_without_reading_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	dir_write(host->dir, "big.md", text);
	assert_int_equal(truncate(dir_at(host->dir, "big.md"), 100 << 20), 0);
	long before = peak_memory();
	for (size_t i = 0; i < COUNT(valid); i++) {
		assert_int_equal(call_on(host, i, "big.md"), STET_E_TOO_BIG);
		expect_text("has 104857600 bytes; the limit is 67108864");
	}
	assert_true(peak_memory() - before < 20 << 10);
}

static void a_result_beyond_the_limit_is_refused(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_FILE, 40, NULL), 0);
	dir_write(host->dir, "a.md", text);
	call(host, "read_file", "{'path': 'a.md'}");
	static const char long_text[] = "0123456789 0123456789 0123456789 0123456789";
	static const char *const calls[][2] = {
		{"write_file", "{'path': 'a.md', 'content': '%s'}"},
		{"write_file", "{'path': 'new.md', 'content': '%s'}"},
		{"edit_file", "{'path': 'a.md', 'oldText': '# One', 'newText': '%s'}"},
		{"edit_file", "{'path': 'new.md', 'oldText': '', 'newText': '%s'}"},
		{"text_replace", "{'path': 'a.md', 'oldText': '# One', 'newText': '%s'}"},
		{"text_patch",
	     "{'path': 'a.md', 'operation': 'replace', 'target': {'lines': {'start': 1}}, 'content': "
	     "'%s'}"},
	};
	for (size_t i = 0; i < COUNT(calls); i++) {
		const char *place = strstr(calls[i][1], "%s");
		refuse(host, STET_E_TOO_BIG, calls[i][0], "%.*s%s%s", (int)(place - calls[i][1]),
		       calls[i][1], long_text, place + 2);
		expect_text("40");
	}
	expect_file(host, "a.md", text);
	assert_false(dir_has(host->dir, "new.md"));
}

/* ---- hashes ---- */

static void hashes_that_cannot_be_are_refused(void **state) {
	struct host *host = *state;
	static const struct {
		const char *hash;
		int code;
		const char *sentence;
	} hashes[] = {
		{"0123456789abcde", STET_E_INVALID, "16 to 64 hex digits"},
		{"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", STET_E_INVALID,
	     "16 to 64 hex digits"},
		{"0123456789abcdeg", STET_E_INVALID, "hex digits"},
		{"sha256:0123456789abcdef", STET_E_INVALID, "hex digits"},
		{"0123456789abcdef", STET_E_CONFLICT, "Its hash is"},
	};
	dir_write(host->dir, "a.md", text);
	call(host, "read_file", "{'path': 'a.md'}");
	const char *hash = hash_of_answer();
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (strncmp(valid[i].tool, "read_", 5) == 0 || strcmp(valid[i].tool, "text_inspect") == 0)
			continue;
		for (size_t k = 0; k < COUNT(hashes); k++) {
			char args[512];
			snprintf(args, sizeof args, "{%s, 'expectedHash': '%s'}", valid[i].args,
			         hashes[k].hash);
			bad(host, hashes[k].code, valid[i].tool, args, hashes[k].sentence);
			if (hashes[k].code == STET_E_CONFLICT)
				expect_str("currentHash", hash);
		}
	}
}

/* ---- arguments as such ---- */

static void missing_arguments_are_named(void **state) {
	struct host *host = *state;
	static const struct {
		const char *tool;
		const char *args;
		const char *name;
	} calls[] = {
		{"read_file", "{}", "path"},
		{"write_file", "{'content': 'x'}", "path"},
		{"write_file", "{'path': 'a.md'}", "content"},
		{"edit_file", "{'oldText': 'x', 'newText': 'y'}", "path"},
		{"text_inspect", "{}", "filePath"},
		{"text_replace", "{'oldText': 'x', 'newText': 'y'}", "filePath"},
		{"text_replace", "{'filePath': 'a.md', 'newText': 'y'}", "oldText"},
		{"text_replace", "{'filePath': 'a.md', 'oldText': 'x'}", "newText"},
		{"text_replace", "{'filePath': 'a.md', 'oldText': 'x', 'newText': null}", "newText"},
		{"text_patch", "{'filePath': 'a.md', 'target': {'lines': {'start': 1}}, 'content': 'x'}",
	     "operation"},
		{"text_patch", "{'filePath': 'a.md', 'operation': 'delete'}", "target"},
		{"text_patch", "{'filePath': 'a.md', 'operation': 'delete', 'target': null}", "target"},
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(calls); i++) {
		char sentence[64];
		snprintf(sentence, sizeof sentence, "%s needs the argument \"%s\": ", calls[i].tool,
		         calls[i].name);
		bad(host, STET_E_INVALID, calls[i].tool, calls[i].args, sentence);
	}
	for (size_t i = 0; i < COUNT(valid); i++)
		assert_int_equal(try_call_raw(host, valid[i].tool, st_strn(NULL, 0)), STET_E_INVALID);
}

static bool only_reads(const char *tool) {
	return strncmp(tool, "read_", 5) == 0 || strcmp(tool, "text_inspect") == 0;
}

/* "append" or "dryRun" would change what is done. */
static void what_writes_refuses_arguments_that_it_does_not_have(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	call(host, "read_file", "{'path': 'a.md'}");
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (only_reads(valid[i].tool))
			continue;
		refuse(host, STET_E_INVALID, valid[i].tool, "{%s, 'append': true}", valid[i].args);
		expect_text("has no argument \"append\". It takes: ");
		/* A long name is cut between characters. */
		st_auto(st_buf) name = ST_BUF_INIT;
		for (int k = 0; k < 1000; k++)
			st_buf_adds(&name, k ? "\xC3\xA9" : "x");
		refuse(host, STET_E_INVALID, valid[i].tool, "{%s, '%s': 2}", valid[i].args, name.ptr);
		expect_no_text("\xEF\xBF\xBD");
	}
	expect_file(host, "a.md", text);
}

static void what_reads_ignores_arguments_that_it_does_not_have_and_says_so(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (!only_reads(valid[i].tool))
			continue;
		call(host, valid[i].tool, "{%s, 'recursive': true, 'none': null}", valid[i].args);
		assert_non_null(memmem(whole_answer().ptr, whole_answer().len, "\\\"recursive\\\"", 13));
		assert_null(memmem(whole_answer().ptr, whole_answer().len, "\\\"none\\\"", 8));
		refuse(host, STET_E_INVALID, valid[i].tool, "{%s, 'sesion': 'x'}", valid[i].args);
		expect_text("has no argument \"sesion\". It takes: ");
	}
}

static void what_models_say_about_a_call_changes_nothing(void **state) {
	struct host *host = *state;
	call(host, "write_file",
	     "{'path': 'new', 'content': 'x', 'explanation': 'because', 'encoding': 'UTF-8'}");
	expect_file(host, "new", "x");
	refuse(host, STET_E_INVALID, "write_file",
	       "{'path': 'other', 'content': 'x', 'encoding': 'latin1'}");
	assert_false(dir_has(host->dir, "other"));
}

static void optional_arguments_of_0_or_nothing_were_left_out(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	call(host, "read_file",
	     "{'path': 'a.md', 'offset': 0, 'limit': 0, 'head': 0, 'tail': 0, 'lineNumbers': false, "
	     "'session': ''}");
	assert_string_equal(said(0), text);
	call(host, "read_text_file", "{'path': 'a.md', 'head': 0, 'tail': 0.0}");
	assert_string_equal(said(0), text);
	call(host, "text_inspect",
	     "{'filePath': 'a.md', 'mode': '', 'query': '', 'regex': false, 'context': 0}");
	call(host, "directory_tree", "{'path': '', 'maxDepth': 0, 'limit': 0, 'excludePatterns': []}");
	call(host, "list_directory_with_sizes", "{'path': '.', 'sortBy': '', 'offset': 0, 'limit': 0}");
	call(
		host, "text_replace",
		"{'filePath': 'a.md', 'oldText': 'x', 'newText': 'y', 'occurrence': 0, 'expectedHash': '', "
		"'onStale': ''}");
	call(host, "text_replace",
	     "{'filePath': 'a.md', 'oldText': 'y', 'newText': 'x', 'occurrence': ''}");
	expect_file(host, "a.md", text);
	call(host, "edit_file",
	     "{'path': 'a.md', 'edits': [{'oldText': 'code', 'newText': 'c'}], 'oldText': '', "
	     "'newText': "
	     "'', 'replaceAll': false, 'dryRun': false, 'expectedHash': '', 'onStale': ''}");
	call(host, "edit_file", "{'path': 'a.md', 'edits': [], 'oldText': 'c\\n', 'newText': ''}");
	/* Where nothing is a value, it is one. */
	call(host, "edit_file", "{'path': 'a.md', 'oldText': 'One', 'newText': ''}");
}

static void integers_may_be_written_as_fractions(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	call(host, "read_text_file", "{'path': 'a.md', 'head': 1.0}");
	assert_string_equal(said(0), "# One\n");
	call(host, "read_file", "{'path': 'a.md', 'offset': 2.0, 'limit': 1e0}");
	assert_string_equal(said(0), "x\n");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'lines': {'start': 2.0, 'end': "
	     "2.0}}, 'content': 'y'}");
	expect_file(host, "a.md", "# One\ny\n## Two\nx\n```\ncode\n```\n");
	call(host, "text_replace",
	     "{'filePath': 'a.md', 'oldText': 'x', 'newText': 'z', 'occurrence': 1.0}");
	refuse(host, STET_E_INVALID, "read_text_file", "{'path': 'a.md', 'head': 1.5}");
	expect_text("must be an integer");
}

static void the_signs_between_words_and_their_case_do_not_matter(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	call(host, "read_file", "{'Path': 'a.md', 'LINE-NUMBERS': true, 'limit': 1}");
	assert_string_equal(said(0), "     1\t# One\n");
}

static void arguments_given_twice_are_refused(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	bad(host, STET_E_INVALID, "text_replace",
	    "{'filePath': 'a.md', 'oldText': 'x', 'newText': 'y', 'newText': 'z'}", "twice");
	bad(host, STET_E_INVALID, "text_replace",
	    "{'filePath': 'a.md', 'path': 'b.md', 'oldText': 'x', 'newText': 'y'}", "twice");
	bad(host, STET_E_INVALID, "edit_file",
	    "{'path': 'a.md', 'edits': [{'oldText': 'x', 'newText': 'y', 'newText': 'z'}]}", "twice");
}

static void choices_are_named(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", text);
	bad(host, STET_E_INVALID, "text_inspect", "{'filePath': 'a.md', 'mode': 'outline'}",
	    "must be one of structure|search|lines");
	bad(host, STET_E_INVALID, "text_inspect", "{'filePath': 'a.md', 'mode': 'lines\\u0000'}",
	    "must be one of");
	bad(host, STET_E_INVALID, "text_replace",
	    "{'filePath': 'a.md', 'oldText': 'x', 'newText': 'y', 'onStale': 'force'}",
	    "must be one of refuse|merge");
}

static void what_is_not_json_is_refused(void **state) {
	struct host *host = *state;
	static const struct {
		struct st_str args;
		const char *sentence;
	} calls[] = {
		{ST_STR("{"), "not valid JSON"},
		{ST_STR("nul"), "not valid JSON"},
		{ST_STR("{} {}"), "not valid JSON"},
		{ST_STR("{'path': 'a.md'}"), "not valid JSON"},
		{ST_STR("{\"path\": \"a.md\",}"), "not valid JSON"},
		{ST_STR("{\"path\": \"a.md\\ud800\"}"), "not valid JSON"},
		{ST_STR("{\"path\": \"a\xFF.md\"}"), "not valid JSON"},
		{ST_STR("{\"path\": \"\xED\xA0\x80\"}"), "not valid JSON"},
		{ST_STR("{\"path\": \"a\0.md\"}"), "not valid JSON"},
		{ST_STR(" "), "not valid JSON"},
		{ST_STR("[]"), "must be a JSON object, not an array"},
		{ST_STR("null"), "must be a JSON object, not null"},
		{ST_STR("\"path\""), "must be a JSON object, not a string"},
		{ST_STR("1"), "must be a JSON object, not a number"},
	};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < stet_tool_count(); i++) {
		for (size_t k = 0; k < COUNT(calls); k++) {
			assert_int_equal(try_call_raw(host, stet_tool_name(i), calls[k].args), STET_E_INVALID);
			expect_text(calls[k].sentence);
		}
	}
}

static void deep_nesting_is_refused(void **state) {
	struct host *host = *state;
	st_auto(st_buf) args = ST_BUF_INIT;
	dir_write(host->dir, "a.md", text);
	for (int i = 0; i < 1000000; i++)
		st_buf_addc(&args, i % 2 ? '{' : '[');
	assert_int_equal(try_call_raw(host, "text_patch", st_buf_str(&args)), STET_E_INVALID);
	expect_text("nest deeper than 64 levels");

	st_buf_clear(&args);
	for (int i = 0; i < 100; i++)
		st_buf_adds(&args, "{\"lines\": ");
	for (int i = 0; i < 100; i++)
		st_buf_adds(&args, i ? "}" : "1}");
	patch(host, "replace", quoted(st_buf_str(&args)), "nest deeper than 64 levels");
}

static void an_unknown_tool_is_answered_with_the_known_ones(void **state) {
	struct host *host = *state;
	char *answer = NULL;
	static const char *const names[] = {"no_such_tool", "", "READ_FILE", NULL};
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_int_equal(stet_call(host->session, names[i], "{}", 2, &answer, NULL, &host->err),
		                 STET_E_INVALID);
		assert_null(answer);
		for (size_t k = 0; k < stet_tool_count(); k++)
			assert_non_null(strstr(host->err.message, stet_tool_name(k)));
	}
}

/* ---- every argument of every tool, with every wrong type ---- */

static const char *const wrong_values[] = {
	"null",   "true",
	"false",  "0",
	"1",      "-1",
	"1.5",    "18446744073709551615",
	"1e308",  "'x'",
	"''",     "[]",
	"[1]",    "['a.md']",
	"{}",     "{'a': 1}",
	"[[[]]]", "[{'oldText': 1}]",
};

/* The valid arguments of a tool with one of them replaced or added. */
static void spoil(const char *args, const char *name, const char *value, struct st_buf *out) {
	st_auto(st_buf) object = ST_BUF_INIT;
	st_buf_addf(&object, "{%s}", args);
	yyjson_doc *doc = yyjson_read(object.ptr, object.len, 0);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
	st_auto(st_buf) json = ST_BUF_INIT;
	st_buf_adds(&json, value);
	for (size_t i = 0; i < json.len; i++)
		json.ptr[i] = json.ptr[i] == '\'' ? '"' : json.ptr[i];
	yyjson_doc *given = yyjson_read(json.ptr, json.len, 0);
	yyjson_mut_obj_remove_key(root, name);
	assert_true(yyjson_mut_obj_add_val(copy, root, name,
	                                   yyjson_val_mut_copy(copy, yyjson_doc_get_root(given))));
	st_buf_clear(out);
	assert_int_equal(st_json_write(copy, root, out, NULL), 0);
	yyjson_doc_free(given);
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
}

/* Whether a value is of a type that the parameter takes. */
static bool takes(yyjson_val *property, const char *value) {
	st_auto(st_buf) why = ST_BUF_INIT;
	st_auto(st_buf) json = ST_BUF_INIT;
	st_buf_adds(&json, value);
	for (size_t i = 0; i < json.len; i++)
		json.ptr[i] = json.ptr[i] == '\'' ? '"' : json.ptr[i];
	yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
	bool is_null = yyjson_is_null(yyjson_doc_get_root(doc));
	bool accepted = is_null || schema_accepts(property, yyjson_doc_get_root(doc), &why);
	yyjson_doc_free(doc);
	return accepted;
}

static void try_wrong_types(struct host *host, const struct valid *tool, const char *name,
                            yyjson_val *property) {
	st_auto(st_buf) args = ST_BUF_INIT;
	for (size_t i = 0; i < COUNT(wrong_values); i++) {
		dir_write(host->dir, "a.md", text);
		call(host, "read_file", "{'path': 'a.md'}");
		spoil(tool->args, name, wrong_values[i], &args);
		int code = try_call_raw(host, tool->tool, st_buf_str(&args));
		/* Nothing at all stands for what was left out, whatever the type. */
		bool nothing = strcmp(wrong_values[i], "''") == 0 || strcmp(wrong_values[i], "0") == 0;
		if (nothing || takes(property, wrong_values[i]))
			continue;
		if (code != STET_E_INVALID)
			fail_msg("%s took %s", tool->tool, args.ptr);
		if (!strstr(said(0), name))
			fail_msg("%s with %s does not name %s: %s", tool->tool, args.ptr, name, said(0));
		expect_file(host, "a.md", text);
	}
}

/* The valid call of a tool; types are checked before anything else, so that none will do too. */
static struct valid valid_call(const char *tool) {
	for (size_t i = 0; i < COUNT(valid); i++) {
		if (strcmp(valid[i].tool, tool) == 0)
			return valid[i];
	}
	return (struct valid){tool, ""};
}

static void every_argument_of_a_wrong_type_is_refused(void **state) {
	struct host *host = *state;
	size_t tried = 0;
	for (size_t i = 0; i < stet_tool_count(); i++) {
		struct valid tool = valid_call(stet_tool_name(i));
		char *json = stet_tool_json(i);
		yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
		stet_free(json);
		yyjson_val *schema = yyjson_obj_get(yyjson_doc_get_root(doc), "inputSchema"), *key,
				   *property;
		size_t n, max;
		yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), n, max, key, property) {
			try_wrong_types(host, &tool, yyjson_get_str(key), property);
			tried++;
		}
		yyjson_doc_free(doc);
	}
	assert_true(tried > 30);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(an_occurrence_that_is_none_names_the_choices),
		host_claim(an_occurrence_beyond_the_last_names_the_lines),
		host_claim(an_occurrence_of_null_was_left_out),
		host_claim(an_empty_old_text_is_refused),
		host_claim(an_unknown_operation_names_the_choices),
		host_claim(no_two_or_unknown_targets_name_the_choices),
		host_claim(a_target_in_a_string_is_read_as_strictly),
		host_claim(removed_targets_name_their_successor),
		host_claim(lines_that_cannot_be_are_refused),
		host_claim(code_blocks_that_are_not_there_are_refused_with_those_that_are),
		host_claim(headings_that_cannot_be_are_refused),
		host_claim(markdown_targets_are_refused_elsewhere),
		host_claim(edits_that_are_none_are_refused),
		host_claim(too_many_edits_are_refused),
		host_claim(paths_that_cannot_be_are_refused),
		host_claim(a_nul_in_a_path_does_not_cut_it),
		host_claim(what_is_not_a_regular_file_is_refused_at_once),
		host_claim(binary_files_are_left_alone),
		host_claim(endings_that_are_not_allowed_are_refused_with_those_that_are),
		host_claim(a_file_of_100_mb_is_refused_without_reading_it),
		host_claim(a_result_beyond_the_limit_is_refused),
		host_claim(hashes_that_cannot_be_are_refused),
		host_claim(missing_arguments_are_named),
		host_claim(what_writes_refuses_arguments_that_it_does_not_have),
		host_claim(what_reads_ignores_arguments_that_it_does_not_have_and_says_so),
		host_claim(what_models_say_about_a_call_changes_nothing),
		host_claim(optional_arguments_of_0_or_nothing_were_left_out),
		host_claim(integers_may_be_written_as_fractions),
		host_claim(the_signs_between_words_and_their_case_do_not_matter),
		host_claim(arguments_given_twice_are_refused),
		host_claim(choices_are_named),
		host_claim(what_is_not_json_is_refused),
		host_claim(deep_nesting_is_refused),
		host_claim(an_unknown_tool_is_answered_with_the_known_ones),
		host_claim(every_argument_of_a_wrong_type_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
