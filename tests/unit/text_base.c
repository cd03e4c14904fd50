/* What the text tools share: hashes of files, expected hashes, paths, endings. */
#include <ctype.h>

#include "lib/run.h"
#include "lib/tools.h"

static const char *hash_of(struct host *host, const char *name) {
	call(host, "text_inspect", "{'filePath': '%s'}", name);
	return hash_of_answer();
}

static void ComputeFileHash_SameContent_ReturnsSameHash(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	dir_write(host->dir, "b.txt", "one\ntwo\n");
	assert_string_equal(hash_of(host, "a.txt"), hash_of(host, "b.txt"));
}

/* fault 1: line ends and a missing final newline count. */
static void ComputeFileHash_DifferentContent_ReturnsDifferentHash(void **state) {
	struct host *host = *state;
	static const char *const others[] = {"one\ntwo",   "one\r\ntwo\n",           "one\ntwo\n\n",
	                                     "one\nTwo\n", "\xEF\xBB\xBFone\ntwo\n", ""};
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		dir_write(host->dir, "b.txt", others[i]);
		assert_string_not_equal(hash_of(host, "a.txt"), hash_of(host, "b.txt"));
	}
}

static void the_hash_is_what_sha256sum_says(void **state) {
	struct host *host = *state;
	st_auto(st_buf) output = ST_BUF_INIT;
	dir_write_bytes(host->dir, "a.txt", "caf\xE9\r\nx", 7);
	assert_int_equal(run(host->dir, &output, (const char *[]){"sha256sum", "a.txt", NULL}), 0);
	assert_memory_equal(hash_of(host, "a.txt"), output.ptr, 16);
}

static void ValidateExpectedHash_Matching_DoesNotThrow(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "text_replace",
	     "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'two', 'expectedHash': '%s'}",
	     hash_of(host, "a.txt"));
	expect_file(host, "a.txt", "two\n");
}

static void an_expected_hash_is_a_prefix_in_any_case(void **state) {
	struct host *host = *state;
	st_auto(st_buf) output = ST_BUF_INIT;
	dir_write(host->dir, "a.txt", "one\n");
	assert_int_equal(run(host->dir, &output, (const char *[]){"sha256sum", "a.txt", NULL}), 0);
	for (int len = 16; len <= 64; len += 12)
		call(host, "text_replace",
		     "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'one', 'expectedHash': '%.*s'}",
		     len, output.ptr);
	for (char *digit = output.ptr; *digit != ' '; digit++)
		*digit = (char)toupper(*digit);
	call(host, "text_replace",
	     "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'one', 'expectedHash': '%.64s'}",
	     output.ptr);
	expect_true("noop");
}

static void ValidateExpectedHash_Mismatching_ThrowsWithCurrentHash(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	const char *hash = hash_of(host, "a.txt");
	refuse(host, STET_E_CONFLICT, "text_replace",
	       "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'two', 'expectedHash': "
	       "'0123456789abcdef'}");
	expect_text(hash);
	expect_str("currentHash", hash);
	expect_str("expectedHash", "0123456789abcdef");
	expect_str("reason", "hash");
	expect_list("stillMatches", "1");
	expect_file(host, "a.txt", "one\n");
}

static void every_text_tool_checks_the_path(void **state) {
	struct host *host = *state;
	static const char *const calls[][2] = {
		{"text_inspect", "{'filePath': '%s'}"},
		{"text_replace", "{'filePath': '%s', 'oldText': 'root', 'newText': 'x'}"},
		{"text_patch",
	     "{'filePath': '%s', 'operation': 'delete', 'target': {'lines': {'start': 1}}}"},
		{"edit_file", "{'path': '%s', 'oldText': 'root', 'newText': 'x'}"},
		{"edit_file", "{'path': '%s', 'oldText': '', 'newText': 'x'}"},
		{"read_file", "{'path': '%s'}"},
		{"write_file", "{'path': '%s', 'content': 'x'}"},
	};
	static const char *const paths[] = {"/etc/passwd", "../outside.txt", "a/../../outside.txt",
	                                    "out/passwd"};
	assert_int_equal(symlink("/etc", dir_at(host->dir, "out")), 0);
	assert_int_equal(mkdir(dir_at(host->dir, "a"), 0755), 0);
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
			char args[256];
			snprintf(args, sizeof args, "%.*s%s%s", (int)(strstr(calls[i][1], "%s") - calls[i][1]),
			         calls[i][1], paths[k], strstr(calls[i][1], "%s") + 2);
			refuse(host, STET_E_OUTSIDE, calls[i][0], "%s", args);
		}
	}
	assert_int_equal(dir_count(host->dir, "."), 2);
}

/* Either name of the path argument, an absolute path, a detour: all the same file. */
static void a_path_may_be_spelled_in_many_ways(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "sub/a.txt", "one\n");
	assert_int_equal(symlink("sub", dir_at(host->dir, "link")), 0);
	static const char *const keys[] = {"path", "filePath", "file_path"};
	const char *const paths[] = {"sub/a.txt", "./sub//a.txt", "link/../sub/a.txt", "link/a.txt",
	                             dir_at(host->dir, "sub/a.txt")};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
			call(host, "text_inspect", "{'%s': '%s'}", keys[i], paths[k]);
			expect_str("filePath", "sub/a.txt");
			call(host, "read_file", "{'%s': '%s'}", keys[i], paths[k]);
			expect_str("path", "sub/a.txt");
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(ComputeFileHash_SameContent_ReturnsSameHash),
		host_claim(ComputeFileHash_DifferentContent_ReturnsDifferentHash),
		host_claim(the_hash_is_what_sha256sum_says),
		host_claim(ValidateExpectedHash_Matching_DoesNotThrow),
		host_claim(an_expected_hash_is_a_prefix_in_any_case),
		host_claim(ValidateExpectedHash_Mismatching_ThrowsWithCurrentHash),
		host_claim(every_text_tool_checks_the_path),
		host_claim(a_path_may_be_spelled_in_many_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
