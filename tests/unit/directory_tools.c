/* The tools for directories, and those that read files in ways of their own. */
#include <sys/sysmacros.h>

#include "lib/tools.h"
#include "text/find/braces.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The strings of a list, parted by blanks. */
static void expect_strings(const char *path, const char *strings) {
	st_auto(st_buf) list = ST_BUF_INIT;
	size_t i, max;
	yyjson_val *item, *array = look(path);
	assert_non_null(array);
	yyjson_arr_foreach(array, i, max, item) {
		const char *name =
			yyjson_get_str(yyjson_is_obj(item) ? yyjson_obj_get(item, "name") : item);
		st_buf_addf(&list, "%s%s", i ? " " : "", name);
	}
	assert_string_equal(st_buf_cstr(&list), strings);
}

static void make_project(struct host *host) {
	dir_write(host->dir, ".gitignore", "*.o\nout/\n");
	dir_write(host->dir, "README.md", "# Read me\n");
	dir_write(host->dir, "src/main.c", "int main(void);\n");
	dir_write(host->dir, "src/main.o", "x");
	dir_write(host->dir, "src/ui/button.c", "b\n");
	dir_write(host->dir, "src/ui/button.h", "b\n");
	dir_write(host->dir, "node_modules/left/pad.js", "x");
	dir_write(host->dir, "out/result.txt", "x");
	dir_write(host->dir, ".git/config", "x");
}

static void set_structured(struct host *host) {
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STRUCTURED, 1, &host->err), 0);
}

/* ---- list_directory ---- */

static void a_directory_is_listed_by_name(void **state) {
	struct host *host = *state;
	make_project(host);
	assert_int_equal(symlink("README.md", dir_at(host->dir, "link")), 0);
	assert_int_equal(mkfifo(dir_at(host->dir, "pipe"), 0644), 0);
	call(host, "list_directory", "{}");
	expect_strings("entries", ".git .gitignore README.md link node_modules out pipe src");
	expect_str("path", ".");
	expect_str("entries.0.type", "directory");
	expect_str("entries.2.type", "file");
	expect_str("entries.3.type", "link");
	expect_str("entries.6.type", "other");
	expect_text("[DIR] .git\n[FILE] .gitignore\n[FILE] README.md\n[LINK] link\n");
	expect_text("[OTHER] pipe\n");
	expect_int("total", 8);
	expect_none("nextOffset");
	for (size_t i = 0; i < 4; i++) {
		static const char *const spellings[] = {"src/ui", "src/ui/", "./src/../src/ui/.",
		                                        "src//ui"};
		call(host, "list_directory", "{'path': '%s'}", spellings[i]);
		expect_str("path", "src/ui");
		expect_strings("entries", "button.c button.h");
	}
	call(host, "list_directory", "{'path': '%s/src'}", host->dir->path);
	expect_strings("entries", "main.c main.o ui");
}

static void a_long_listing_comes_in_parts(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 1005; i++) {
		char name[32];
		snprintf(name, sizeof name, "d/%04d", i);
		dir_write(host->dir, name, "");
	}
	call(host, "list_directory", "{'path': 'd'}");
	expect_count("entries", 1000);
	expect_int("nextOffset", 1000);
	expect_text("[1-1000 of 1005 entries. Continue with offset 1000.]");
	call(host, "list_directory", "{'path': 'd', 'offset': 1000}");
	expect_strings("entries", "1000 1001 1002 1003 1004");
	expect_none("nextOffset");
	call(host, "list_directory", "{'path': 'd', 'offset': 3, 'limit': 2}");
	expect_strings("entries", "0003 0004");
	expect_int("nextOffset", 5);
	call(host, "list_directory", "{'path': 'd', 'offset': 9999}");
	expect_count("entries", 0);
	expect_text("The offset is out of range");
	refuse(host, STET_E_INVALID, "list_directory", "{'path': 'd', 'offset': -1}");
	refuse(host, STET_E_INVALID, "list_directory", "{'path': 'd', 'limit': -1}");
	dir_write(host->dir, "empty/x", "");
	unlink(dir_at(host->dir, "empty/x"));
	call(host, "list_directory", "{'path': 'empty'}");
	expect_text("[The directory is empty.]");
}

static void sizes_are_shown_as_people_read_them(void **state) {
	struct host *host = *state;
	static const struct {
		const char *name;
		off_t size;
		const char *text;
	} files[] = {
		{"a", 0, "[FILE] a  0 B\n"},
		{"b", 1023, "[FILE] b  1023 B\n"},
		{"c", 1024, "[FILE] c  1.00 KB\n"},
		{"d", 1536, "[FILE] d  1.50 KB\n"},
		{"e", (off_t)5 << 20, "[FILE] e  5.00 MB\n"},
		{"f", (off_t)3 << 30, "[FILE] f  3.00 GB\n"},
	};
	for (size_t i = 0; i < COUNT(files); i++) {
		dir_write(host->dir, files[i].name, "");
		assert_int_equal(truncate(dir_at(host->dir, files[i].name), files[i].size), 0);
	}
	dir_write(host->dir, "sub/x", "");
	call(host, "list_directory_with_sizes", "{'path': '.'}");
	for (size_t i = 0; i < COUNT(files); i++)
		expect_text(files[i].text);
	expect_strings("entries", "a b c d e f sub");
	expect_int("entries.3.size", 1536);
	expect_text("Total: 6 files, 1 directories\nCombined size: 3.00 GB\n");
	call(host, "list_directory_with_sizes", "{'path': '.', 'sortBy': 'size'}");
	expect_strings("entries", "f e d c b a sub");
	refuse(host, STET_E_INVALID, "list_directory_with_sizes", "{'path': '.', 'sortBy': 'date'}");
}

static void what_is_no_directory_is_refused(void **state) {
	struct host *host = *state;
	static const char *const tools[] = {"list_directory", "list_directory_with_sizes",
	                                    "directory_tree"};
	dir_write(host->dir, "a.txt", "x");
	assert_int_equal(symlink("/etc", dir_at(host->dir, "away")), 0);
	assert_int_equal(symlink("loop", dir_at(host->dir, "loop")), 0);
	for (size_t i = 0; i < COUNT(tools); i++) {
		refuse(host, STET_E_KIND, tools[i], "{'path': 'a.txt'}");
		expect_text("is not a directory");
		refuse(host, STET_E_NOT_FOUND, tools[i], "{'path': 'missing'}");
		refuse(host, STET_E_NOT_FOUND, tools[i], "{'path': 'a.txt/b'}");
		refuse(host, STET_E_OUTSIDE, tools[i], "{'path': '..'}");
		refuse(host, STET_E_OUTSIDE, tools[i], "{'path': '/'}");
		refuse(host, STET_E_OUTSIDE, tools[i], "{'path': 'away'}");
		refuse(host, STET_E_OUTSIDE, tools[i], "{'path': 'away/'}");
		refuse(host, STET_E_OUTSIDE, tools[i], "{'path': 'loop'}");
		refuse(host, STET_E_INVALID, tools[i], "{'path': 'a\\u0000'}");
	}
}

static void links_that_stay_inside_are_followed(void **state) {
	struct host *host = *state;
	make_project(host);
	assert_int_equal(symlink("src", dir_at(host->dir, "one")), 0);
	assert_int_equal(symlink("one/ui", dir_at(host->dir, "two")), 0);
	assert_int_equal(symlink(dir_at(host->dir, "two"), dir_at(host->dir, "three")), 0);
	call(host, "list_directory", "{'path': 'three'}");
	expect_str("path", "src/ui");
	call(host, "list_directory", "{'path': 'three/'}");
	expect_str("path", "src/ui");
	call(host, "list_directory", "{'path': 'three/..'}");
	expect_str("path", "src");
}

/* ---- directory_tree ---- */

static void a_tree_leaves_out_what_is_ignored_and_says_so(void **state) {
	struct host *host = *state;
	make_project(host);
	call(host, "directory_tree", "{'path': '.'}");
	expect_strings("tree",
	               ".gitignore README.md src/ src/main.c src/ui/ src/ui/button.c src/ui/button.h");
	expect_text(".gitignore\nREADME.md\nsrc/\n  main.c\n  ui/\n    button.c\n    button.h\n");
	expect_text("[Left out as ignored: 3 directories, 1 file (");
	expect_text("node_modules/");
	expect_int("ignored", 4);
	call(host, "directory_tree", "{'path': '.', 'includeIgnored': true}");
	expect_count("tree", 15);
	expect_none("ignored");
}

static void rules_above_a_directory_hold_in_it(void **state) {
	struct host *host = *state;
	make_project(host);
	call(host, "directory_tree", "{'path': 'src'}");
	expect_strings("tree", "main.c ui/ ui/button.c ui/button.h");
	expect_int("ignored", 1);
	expect_text("(main.o)");
	call(host, "directory_tree", "{'path': 'src', 'includeIgnored': true}");
	expect_strings("tree", "main.c main.o ui/ ui/button.c ui/button.h");
	/* A file that the caller names is shown. */
	call(host, "directory_tree", "{'path': 'node_modules'}");
	expect_strings("tree", "left/ left/pad.js");
	call(host, "directory_tree", "{'path': 'out'}");
	expect_strings("tree", "result.txt");
	/* A sibling whose name begins alike is another. */
	dir_write(host->dir, "src2/x.c", "x");
	call(host, "directory_tree", "{'path': 'src'}");
	expect_count("tree", 4);
}

static void the_state_directory_is_left_out(void **state) {
	struct host *host = *state;
	dir_write(host->dir, ".stet/rescued/x", "x");
	dir_write(host->dir, "a", "x");
	call(host, "directory_tree", "{}");
	expect_strings("tree", "a");
	expect_no_text(".stet");
	call(host, "directory_tree", "{'includeIgnored': true}");
	expect_strings("tree", "a");
	call(host, "search_files", "{'pattern': 'kept'}");
	expect_count("matches", 0);
	call(host, "list_directory", "{}");
	expect_count("entries", 1);
	call(host, "list_directory_with_sizes", "{}");
	expect_no_text(".stet");
	expect_text("1 files, 0 directories");
	dir_write(host->dir, ".gitignore", ".stet\n");
	call(host, "directory_tree", "{}");
	expect_no_text(".stet");
}

static void exclude_patterns_are_globs(void **state) {
	struct host *host = *state;
	make_project(host);
	static const struct {
		const char *patterns;
		const char *tree;
	} cases[] = {
		{"'*.md'", ".gitignore src/ src/main.c src/ui/ src/ui/button.c src/ui/button.h"},
		{"'ui'", ".gitignore README.md src/ src/main.c"},
		{"'src/*.c'", ".gitignore README.md src/ src/ui/ src/ui/button.c src/ui/button.h"},
		{"'**/*.{c,h}'", ".gitignore README.md src/ src/ui/"},
		{"'src/**'", ".gitignore README.md src/"},
		{"'src', '.gitignore'", "README.md"},
		{"'.*', '#x'", "README.md src/ src/main.c src/ui/ src/ui/button.c src/ui/button.h"},
		{"'!README.md'", "README.md"},
		{"'src/!(main.c)'", ".gitignore README.md src/ src/main.c"},
		{"'!(src|*.md)'", "README.md src/"},
		{"'+(README|.git*).*', '@(ui|x)'", ".gitignore src/ src/main.c"},
		{"'ui/'", ".gitignore README.md src/ src/main.c"},
		{"'./README.md'", ".gitignore src/ src/main.c src/ui/ src/ui/button.c src/ui/button.h"},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		call(host, "directory_tree", "{'path': '.', 'excludePatterns': [%s]}", cases[i].patterns);
		expect_strings("tree", cases[i].tree);
	}
	refuse(host, STET_E_INVALID, "directory_tree",
	       "{'path': '.', 'excludePatterns': ['{0..9}{0..9}{0..9}{0..9}']}");
	expect_text("alternatives");
	refuse(host, STET_E_INVALID, "directory_tree",
	       "{'path': '.', 'excludePatterns': ['@(@(@(@(@(a)))))']}");
	expect_text("too deeply");
}

static void a_large_tree_shows_the_upper_levels_first(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 30; i++) {
		char name[64];
		snprintf(name, sizeof name, "a/deep/er/%02d", i);
		dir_write(host->dir, name, "");
		snprintf(name, sizeof name, "b/%02d", i % 3);
		dir_write(host->dir, name, "");
	}
	dir_write(host->dir, "z", "");
	call(host, "directory_tree", "{'limit': 10}");
	expect_strings("tree", "a/ a/deep/ a/deep/er/ a/deep/er/00 a/deep/er/01 b/ b/00 b/01 b/02 z");
	expect_text("er/ (28 more below)");
	expect_text("[10 of 38 entries are shown. Call again with the path of a subdirectory");
	expect_int("total", 38);
	call(host, "directory_tree", "{'maxDepth': 1}");
	expect_strings("tree", "a/ b/ z");
	expect_text("a/ (32 more below)\nb/ (3 more below)\nz\n");
	call(host, "directory_tree", "{'maxDepth': 2}");
	expect_strings("tree", "a/ a/deep/ b/ b/00 b/01 b/02 z");
	refuse(host, STET_E_INVALID, "directory_tree", "{'maxDepth': -1}");
	refuse(host, STET_E_INVALID, "directory_tree", "{'limit': -1}");
}

/* ---- search_files ---- */

static void files_are_found_by_glob_or_by_a_part_of_their_name(void **state) {
	struct host *host = *state;
	make_project(host);
	dir_write(host->dir,
	          "src/Stra\xC3\x9F"
	          "e.txt",
	          "x");
	static const struct {
		const char *args;
		const char *matches;
	} cases[] = {
		{"'pattern': '*.c'", "src/main.c src/ui/button.c"},
		{"'pattern': '**/*.c'", "src/main.c src/ui/button.c"},
		{"'pattern': 'src/*.c'", "src/main.c"},
		{"'pattern': 'src/**/*.h'", "src/ui/button.h"},
		{"'pattern': '*.{h,md}'", "README.md src/ui/button.h"},
		{"'pattern': 'BUTTON'", "src/ui/button.c src/ui/button.h"},
		{"'pattern': 'STRASSE'",
	     "src/Stra\xC3\x9F"
	     "e.txt"},
		{"'pattern': 'u?'", "src/ui/"},
		{"'pattern': '[rR]*'", "README.md"},
		{"'pattern': '!(*.c|*.h|*.txt|src|ui)'", ".gitignore README.md"},
		{"'pattern': 'src/**/+(button|x).@(c|h)'", "src/ui/button.c src/ui/button.h"},
		{"'pattern': '?(README.md)'", "README.md"},
		{"'pattern': '*(b|u|t|o|n).[ch]'", "src/ui/button.c src/ui/button.h"},
		{"'pattern': 'ui', 'path': 'src'", "src/ui/"},
		{"'pattern': '*.c', 'path': 'src/ui'", "src/ui/button.c"},
		{"'pattern': 'ui/*.c', 'path': 'src'", "src/ui/button.c"},
		{"'pattern': '*.c', 'excludePatterns': ['ui']", "src/main.c"},
		{"'pattern': '*.o'", ""},
		{"'pattern': '*.o', 'includeIgnored': true", "src/main.o"},
		{"'pattern': 'pad.js', 'includeIgnored': true", "node_modules/left/pad.js"},
		{"'pattern': '*.c', 'limit': 1", "src/main.c"},
		{"'pattern': '*.c', 'offset': 1", "src/ui/button.c"},
		{"'pattern': '*.rs'", ""},
		{"'pattern': '%'", ""},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		call(host, "search_files", "{%s}", cases[i].args);
		expect_strings("matches", cases[i].matches);
	}
	call(host, "search_files", "{'pattern': '*.o'}");
	expect_text("No matches found\n[Left out as ignored: 3 directories, 1 file");
	call(host, "search_files", "{'pattern': '*.c', 'limit': 1}");
	expect_text("[1-1 of 2 matches. Continue with offset 1.]");
	expect_int("nextOffset", 1);
	refuse(host, STET_E_INVALID, "search_files", "{'pattern': ''}");
	refuse(host, STET_E_INVALID, "search_files", "{}");
}

/* Where programs parse the text, nothing but the list is in it. */
static void programs_get_a_tree_as_json(void **state) {
	struct host *host = *state;
	make_project(host);
	dir_write(host->dir, "src/a \"b\".c", "x");
	assert_int_equal(mkdir(dir_at(host->dir, "empty"), 0755), 0);
	set_structured(host);
	call(host, "directory_tree", "{}");
	assert_string_equal(
		said(0),
		"[{\"name\":\".gitignore\",\"type\":\"file\"},{\"name\":\"README.md\",\"type\":\"file\"},"
		"{\"name\":\"empty\",\"type\":\"directory\",\"children\":[]},"
		"{\"name\":\"src\",\"type\":\"directory\",\"children\":["
		"{\"name\":\"a \\\"b\\\".c\",\"type\":\"file\"},{\"name\":\"main.c\",\"type\":\"file\"},"
		"{\"name\":\"ui\",\"type\":\"directory\",\"children\":["
		"{\"name\":\"button.c\",\"type\":\"file\"},{\"name\":\"button.h\",\"type\":\"file\"}]}]}]");
	expect_part("remark", "[Left out as ignored: 3 directories, 1 file");
	call(host, "directory_tree", "{'path': 'empty'}");
	assert_string_equal(said(0), "[]");
	call(host, "directory_tree", "{'path': 'src', 'maxDepth': 1}");
	assert_non_null(strstr(said(0), "{\"name\":\"ui\",\"type\":\"directory\",\"children\":[]}]"));
	expect_part("remark", "3 of 5 entries are shown");
	call(host, "list_directory", "{'path': 'empty'}");
	assert_string_equal(said(0), "");
}

static void a_large_tree_is_json_all_the_same(void **state) {
	struct host *host = *state;
	for (int i = 0; i < 1500; i++) {
		char name[64];
		snprintf(name, sizeof name, "d%02d/\"\"\"\"\"\"\"\"\"\"\x01\x01%04d", i % 40, i);
		dir_write(host->dir, name, "");
	}
	set_structured(host);
	call(host, "directory_tree", "{}");
	yyjson_doc *doc = yyjson_read(said(0), strlen(said(0)), 0);
	assert_non_null(doc);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 40);
	yyjson_doc_free(doc);
	expect_part("remark", "of 1540 entries are shown");
}

static void programs_get_matches_as_absolute_paths(void **state) {
	struct host *host = *state;
	st_auto(st_buf) paths = ST_BUF_INIT;
	make_project(host);
	set_structured(host);
	st_buf_addf(&paths, "%s/src/ui\n%s/src/ui/button.c", host->dir->path, host->dir->path);
	call(host, "search_files", "{'path': 'src', 'pattern': '{ui,button.c}'}");
	assert_string_equal(said(0), st_buf_cstr(&paths));
	call(host, "search_files", "{'pattern': '*.c', 'limit': 1}");
	assert_null(strchr(said(0), '\n'));
	expect_part("remark", "[1-1 of 2 matches.");
	call(host, "search_files", "{'pattern': '*.c', 'offset': 5}");
	assert_string_equal(said(0), "");
	call(host, "search_files", "{'pattern': 'nothing', 'path': 'src'}");
	assert_string_equal(said(0), "No matches found");
}

/* Texts that programs split or compare are as those of the reference server. */
static void programs_get_the_texts_they_know(void **state) {
	struct host *host = *state;
	st_auto(st_buf) roots = ST_BUF_INIT;
	dir_write(host->dir, "a.txt", "a\n");
	dir_write(host->dir, "d/b.txt", "b");
	assert_int_equal(symlink("a.txt", dir_at(host->dir, "l")), 0);
	set_structured(host);
	call(host, "list_directory", "{'path': '.'}");
	assert_string_equal(said(0), "[FILE] a.txt\n[DIR] d\n[FILE] l");
	call(host, "list_directory_with_sizes", "{'path': 'd'}");
	assert_string_equal(said(0),
	                    "[FILE] b.txt                                 1 B\n\n"
	                    "Total: 1 files, 0 directories\nCombined size: 1 B");
	st_buf_addf(&roots, "Allowed directories:\n%s", host->dir->path);
	call(host, "list_allowed_directories", "{}");
	assert_string_equal(said(0), st_buf_cstr(&roots));
	call(host, "read_multiple_files", "{'paths': ['a.txt', 'none', 'd/b.txt']}");
	assert_string_equal(said(0),
	                    "a.txt:\na\n\n\n---\nnone: Error - File not found: \"none\". Check "
	                    "the path.\n---\nd/b.txt:\nb\n");
	call(host, "write_file", "{'path': 'new.txt', 'content': 'x'}");
	assert_string_equal(said(0), "Successfully wrote to new.txt");
	expect_part("remark", "fileHash: ");
	call(host, "create_directory", "{'path': 'x/y'}");
	assert_string_equal(said(0), "Successfully created directory x/y");
	call(host, "move_file", "{'source': 'new.txt', 'destination': 'old.txt'}");
	assert_string_equal(said(0), "Successfully moved new.txt to old.txt");
}

static void a_path_of_windows_is_no_name(void **state) {
	struct host *host = *state;
	static const char *const paths[] = {"C:\\\\Users\\\\a.txt", "c:/a.txt", "D:"};
	for (size_t i = 0; i < COUNT(paths); i++) {
		refuse(host, STET_E_INVALID, "write_file", "{'path': '%s', 'content': ''}", paths[i]);
		expect_text("is a Windows path");
	}
	/* One that is there is itself. */
	dir_write(host->dir, "c:/a.txt", "a\n");
	call(host, "read_file", "{'path': 'c:/a.txt'}");
}

static void programs_are_told_what_is_a_file(void **state) {
	struct host *host = *state;
	make_project(host);
	call(host, "get_file_info", "{'path': 'src'}");
	expect_no_text("isFile");
	set_structured(host);
	call(host, "get_file_info", "{'path': 'src'}");
	expect_text("\nisDirectory: true\nisFile: false\npermissions: ");
	call(host, "get_file_info", "{'path': 'README.md'}");
	expect_text("\nisDirectory: false\nisFile: true\npermissions: ");
}

static void a_search_does_not_follow_links(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a/x.c", "x");
	assert_int_equal(symlink("a", dir_at(host->dir, "b")), 0);
	assert_int_equal(symlink("..", dir_at(host->dir, "a/up")), 0);
	assert_int_equal(symlink("/etc", dir_at(host->dir, "etc")), 0);
	call(host, "search_files", "{'pattern': '*.c'}");
	expect_strings("matches", "a/x.c");
	call(host, "search_files", "{'pattern': 'passwd'}");
	expect_count("matches", 0);
}

/* ---- create_directory ---- */

static void directories_are_made_with_those_above(void **state) {
	struct host *host = *state;
	call(host, "create_directory", "{'path': 'a/b/c'}");
	expect_true("created");
	expect_str("path", "a/b/c");
	struct stat st;
	assert_int_equal(stat(dir_at(host->dir, "a/b/c"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	call(host, "create_directory", "{'path': 'a/b/c/'}");
	assert_true(yyjson_is_false(look("created")));
	expect_text("already exists");
	call(host, "create_directory", "{'path': '%s/d/e'}", host->dir->path);
	expect_true("created");
	expect_str("path", "d/e");
	call(host, "create_directory", "{'path': '.'}");
	call(host, "create_directory", "{'path': 'a/./b/../x'}");
	expect_str("path", "a/x");
	assert_int_equal(symlink("a", dir_at(host->dir, "link")), 0);
	call(host, "create_directory", "{'path': 'link/y'}");
	assert_true(dir_has(host->dir, "a/y"));
}

static void directories_are_not_made_elsewhere(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "file", "x");
	dir_write(host->dir, ".git/config", "x");
	assert_int_equal(symlink("/tmp", dir_at(host->dir, "away")), 0);
	refuse(host, STET_E_OUTSIDE, "create_directory", "{'path': '../x'}");
	refuse(host, STET_E_OUTSIDE, "create_directory", "{'path': 'away/stet-x'}");
	refuse(host, STET_E_OUTSIDE, "create_directory", "{'path': '/stet-x'}");
	refuse(host, STET_E_OUTSIDE, "create_directory", "{'path': '%s-x'}", host->dir->path);
	refuse(host, STET_E_KIND, "create_directory", "{'path': 'file'}");
	refuse(host, STET_E_KIND, "create_directory", "{'path': 'file/x'}");
	refuse(host, STET_E_PROTECTED, "create_directory", "{'path': '.git/x'}");
	refuse(host, STET_E_PROTECTED, "create_directory", "{'path': '.stet/x'}");
	refuse(host, STET_E_INVALID, "create_directory", "{'path': ''}");
	assert_false(dir_has(host->dir, ".git/x"));
	assert_int_equal(dir_count(host->dir, "."), 3);
}

/* ---- reading ---- */

static void head_and_tail_pick_lines(void **state) {
	struct host *host = *state;
	static const char *const tools[] = {"read_file", "read_text_file"};
	dir_write(host->dir, "a", "1\n2\n3\n4\n5");
	dir_write(host->dir, "empty", "");
	for (size_t i = 0; i < COUNT(tools); i++) {
		call(host, tools[i], "{'path': 'a', 'head': 2}");
		assert_string_equal(said(0), "1\n2\n");
		expect_int("nextOffset", 3);
		call(host, tools[i], "{'path': 'a', 'tail': 2}");
		assert_string_equal(said(0), "4\n5");
		expect_int("startLine", 4);
		expect_none("nextOffset");
		call(host, tools[i], "{'path': 'a', 'tail': 99}");
		assert_string_equal(said(0), "1\n2\n3\n4\n5");
		call(host, tools[i], "{'path': 'a', 'head': 99}");
		assert_string_equal(said(0), "1\n2\n3\n4\n5");
		call(host, tools[i], "{'path': 'a', 'tail': 0}");
		assert_string_equal(said(0), "1\n2\n3\n4\n5");
		call(host, tools[i], "{'path': 'a', 'head': 0}");
		assert_string_equal(said(0), "1\n2\n3\n4\n5");
		/* The parameters that the answer to head suggests are accepted, with and without head. */
		call(host, tools[i], "{'path': 'a', 'offset': 3, 'limit': 2}");
		assert_string_equal(said(0), "3\n4\n");
		call(host, tools[i], "{'path': 'a', 'offset': 3, 'head': 2}");
		assert_string_equal(said(0), "3\n4\n");
		refuse(host, STET_E_INVALID, tools[i], "{'path': 'a', 'limit': 1, 'head': 1}");
		call(host, tools[i], "{'path': 'empty', 'tail': 3}");
		assert_string_equal(said(0), "");
		refuse(host, STET_E_INVALID, tools[i], "{'path': 'a', 'head': 1, 'tail': 1}");
		refuse(host, STET_E_INVALID, tools[i], "{'path': 'a', 'head': -1}");
		refuse(host, STET_E_INVALID, tools[i], "{'path': 'a', 'tail': -1}");
	}
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'a', 'offset': 1, 'tail': 1}");
}

static void several_files_are_read_at_once(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "one\n");
	dir_write(host->dir, "b", "two\n");
	dir_write_bytes(host->dir, "c", "x\0y", 3);
	call(host, "read_multiple_files", "{'paths': ['a', 'missing', 'b', 'c', '', '../x']}");
	expect_text("2 of 6 files were read.");
	assert_string_equal(said(1), "a:\none\n");
	assert_non_null(strstr(said(2), "missing: Error - File not found"));
	assert_string_equal(said(3), "b:\ntwo\n");
	assert_non_null(strstr(said(4), "binary file"));
	expect_int("read", 2);
	expect_str("files.0.path", "a");
	expect_int("files.0.totalLines", 1);
	expect_part("files.1.error", "File not found");
	expect_part("files.4.error", "empty");
	expect_part("files.5.error", "outside");
	/* They count as read. */
	call(host, "write_file", "{'path': 'a', 'content': 'new'}");
	call(host, "write_file", "{'path': 'b', 'content': 'new'}");
	refuse(host, STET_E_INVALID, "read_multiple_files", "{'paths': []}");
	refuse(host, STET_E_INVALID, "read_multiple_files", "{'paths': [1]}");
	expect_text("must be a list of strings");
}

static void an_answer_of_several_files_is_bounded(void **state) {
	struct host *host = *state;
	st_auto(st_buf) big = ST_BUF_INIT, args = ST_BUF_INIT;
	for (int i = 0; i < 40000; i++)
		st_buf_adds(&big, "0123456789\n");
	dir_write(host->dir, "big", big.ptr);
	st_buf_adds(&args, "{'paths': [");
	for (int i = 0; i < 10; i++)
		st_buf_addf(&args, "%s'big'", i ? ", " : "");
	st_buf_adds(&args, "]}");
	call(host, "read_multiple_files", "%s", args.ptr);
	assert_true(whole_answer().len < 50000);
	expect_int("files.0.endLine", 1596);
	expect_part("files.9.error", "the answer is full");
	expect_part("remark", "[big: lines 1-1596 of 40000, fileHash ");
	expect_part("remark", "Continue with offset 1597.]");
}

/* {'paths': [...]} of so many paths. */
static void add_paths(struct st_buf *args, const char *format, int count) {
	st_buf_adds(args, "{'paths': [");
	for (int i = 0; i < count; i++) {
		st_buf_adds(args, i ? ", '" : "'");
		st_buf_addf(args, format, i);
		st_buf_addc(args, '\'');
	}
	st_buf_adds(args, "]}");
}

static void many_files_are_read_as_far_as_they_fit(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT, small = ST_BUF_INIT, all = ST_BUF_INIT, more = ST_BUF_INIT;
	for (int i = 0; i < 100; i++)
		st_buf_adds(&text, "0123456789\n");
	for (int i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof name, "d/%04d", i);
		dir_write(host->dir, name, i < 101 ? "x\n" : text.ptr);
	}
	add_paths(&small, "d/%04d", 101);
	call(host, "read_multiple_files", "%s", small.ptr);
	expect_text("101 of 101 files were read.");
	expect_count("files", 101);
	expect_none("notListed");

	add_paths(&all, "d/%04d", 1000);
	call(host, "read_multiple_files", "%s", all.ptr);
	size_t listed = yyjson_arr_size(look("files"));
	size_t read = yyjson_get_uint(look("read"));
	assert_true(read > 101 && listed == read + 50);
	assert_int_equal(yyjson_get_uint(look("notListed")), 1000 - listed);
	expect_text("are not listed; read the rest in another call.]");
	char last[80];
	snprintf(last, sizeof last, "d/%04zu: Error - the answer is full; read this file by itself.\n",
	         listed - 1);
	assert_string_equal(said(listed), last);
	refuse(host, STET_E_INVALID, "read_multiple_files", "%s",
	       (add_paths(&more, "missing%04d", 1001), more.ptr));
	expect_text("takes 1 to 1000 paths, not 1001");
}

/* A thousand long names that are not there would be an answer of megabytes. */
static void many_errors_are_bounded_too(void **state) {
	struct host *host = *state;
	st_auto(st_buf) format = ST_BUF_INIT, args = ST_BUF_INIT;
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&format, "x/");
	st_buf_adds(&format, "%d");
	add_paths(&args, format.ptr, 1000);
	call(host, "read_multiple_files", "%s", args.ptr);
	assert_true(whole_answer().len < 60000);
	assert_int_equal(yyjson_get_uint(look("notListed")) + yyjson_arr_size(look("files")), 1000);
}

static yyjson_val *block(size_t n, const char *key) {
	static yyjson_doc *doc;
	yyjson_doc_free(doc);
	doc = yyjson_read(whole_answer().ptr, whole_answer().len, 0);
	yyjson_val *content = yyjson_obj_get(yyjson_doc_get_root(doc), "content");
	return yyjson_obj_get(yyjson_arr_get(content, n), key);
}

static void media_come_as_what_they_are(void **state) {
	struct host *host = *state;
	dir_write_bytes(host->dir, "a.png", "\x89PNG\r\n\x1a\n\0x", 10);
	dir_write_bytes(host->dir, "b.WAV", "RIFF\0", 5);
	dir_write_bytes(host->dir, "c %\xC3\xA9.bin", "\0\1\2\3", 4);
	call(host, "read_media_file", "{'path': 'a.png'}");
	assert_string_equal(yyjson_get_str(block(0, "type")), "image");
	assert_string_equal(yyjson_get_str(block(0, "data")), "iVBORw0KGgoAeA==");
	assert_string_equal(yyjson_get_str(block(0, "mimeType")), "image/png");
	expect_str("mimeType", "image/png");
	expect_int("size", 10);
	call(host, "read_media_file", "{'path': 'b.WAV'}");
	assert_string_equal(yyjson_get_str(block(0, "type")), "audio");
	assert_string_equal(yyjson_get_str(block(0, "data")), "UklGRgA=");
	call(host, "read_media_file", "{'path': 'c %%\xC3\xA9.bin'}");
	assert_string_equal(yyjson_get_str(block(0, "type")), "resource");
	yyjson_val *resource = block(0, "resource");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(resource, "blob")), "AAECAw==");
	const char *uri = yyjson_get_str(yyjson_obj_get(resource, "uri"));
	assert_memory_equal(uri, "file:///", 8);
	assert_non_null(strstr(uri, "/c%20%25%C3%A9.bin"));
	/* It was shown in full. */
	call(host, "write_file", "{'path': 'a.png', 'content': 'new'}");
	assert_int_equal(truncate(dir_at(host->dir, "b.WAV"), (5 << 20) + 1), 0);
	refuse(host, STET_E_TOO_BIG, "read_media_file", "{'path': 'b.WAV'}");
	assert_int_equal(mkfifo(dir_at(host->dir, "pipe.png"), 0644), 0);
	refuse(host, STET_E_KIND, "read_media_file", "{'path': 'pipe.png'}");
}

static void a_file_of_5_mib_fits_a_message(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.png", "");
	assert_int_equal(truncate(dir_at(host->dir, "a.png"), 5 << 20), 0);
	call(host, "read_media_file", "{'path': 'a.png'}");
	assert_true(whole_answer().len < 8 << 20);
}

/* ---- spellings ---- */

static void odd_names_are_names(void **state) {
	struct host *host = *state;
	static const char *const names[] = {
		"with space.txt", "100%.txt",
		"%20.txt",        "caf\xC3\xA9.txt",
		"'quoted'.txt",   "$HOME.txt",
		"~tilde.txt",     "a~",
		"trail .txt ",    "\xE6\x97\xA5\xE6\x9C\xAC.txt",
	};
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *name = quoted(st_str(names[i]));
		call(host, "write_file", "{'path': %s, 'content': 'cost: 5\\n'}", name);
		assert_true(dir_has(host->dir, names[i]));
		/* A replacement is taken as it is. */
		call(host, "edit_file", "{'path': %s, 'oldText': '5', 'newText': '$& $1 $$ \\\\1'}", name);
		expect_file(host, names[i], "cost: $& $1 $$ \\1\n");
	}
	/* Quotes around a path are part of it. */
	refuse(host, STET_E_NOT_FOUND, "read_file", "{'path': %s}", quoted(ST_STR("\"100%.txt\"")));
}

static void a_name_whose_accents_are_written_otherwise_is_found(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "\xC3\xA0/caf\xC3\xA9.txt", "x");
	dir_write(host->dir, "cafe\xCC\x81.md", "x");
	call(host, "read_file", "{'path': 'a\xCC\x80/cafe\xCC\x81.txt'}");
	expect_str("path", "\xC3\xA0/caf\xC3\xA9.txt");
	call(host, "edit_file", "{'path': 'caf\xC3\xA9.md', 'oldText': 'x', 'newText': 'y'}");
	expect_file(host, "cafe\xCC\x81.md", "y");
	/* The paths of two such files would look the same. */
	call(host, "write_file", "{'path': 'caf\xC3\xA9.md', 'content': 'y'}");
	assert_false(dir_has(host->dir, "caf\xC3\xA9.md"));
	call(host, "write_file", "{'path': 'a\xCC\x80/new.txt', 'content': 'z'}");
	assert_true(dir_has(host->dir, "\xC3\xA0/new.txt"));
	/* One that is there as it is spelled is meant. */
	dir_write(host->dir, "caf\xC3\xA9.md", "composed");
	call(host, "read_file", "{'path': 'caf\xC3\xA9.md'}");
	assert_string_equal(said(0), "composed");
}

static void dots_and_slashes_that_lead_nowhere_are_left_away(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "x");
	dir_write(host->dir, "d/b.txt", "y");
	static const char *const spellings[] = {"a.txt/",     "nope/../a.txt",       "./a.txt",
	                                        "d/../a.txt", "no/such/../../a.txt", "d//..//a.txt/."};
	for (size_t i = 0; i < COUNT(spellings); i++) {
		call(host, "read_file", "{'path': '%s'}", spellings[i]);
		expect_str("path", "a.txt");
	}
	call(host, "write_file", "{'path': 'new.txt/', 'content': 'z'}");
	expect_file(host, "new.txt", "z");
	call(host, "list_directory", "{'path': 'nope/../d/'}");
	refuse(host, STET_E_OUTSIDE, "read_file", "{'path': 'd/../../a.txt'}");
	refuse(host, STET_E_NOT_FOUND, "read_file", "{'path': 'nope/../../a.txt'}");
	refuse(host, STET_E_NOT_FOUND, "read_file", "{'path': 'nope/a.txt'}");
}

static void a_name_in_another_case_is_pointed_out(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "README.md", "x");
	dir_write(host->dir, "Docs/a.txt", "x");
	refuse(host, STET_E_NOT_FOUND, "get_file_info", "{'path': 'readme.md'}");
	expect_text("Did you mean \"README.md\"?");
	expect_no_text("differs only");
	refuse(host, STET_E_NOT_FOUND, "list_directory", "{'path': 'docs'}");
	expect_text("There is \"Docs\"");
	/* Here the session has no write, which is another mistake. */
	refuse(host, STET_E_NOT_FOUND, "undo", "{'path': 'README.md'}");
	expect_no_text("differs only");
	refuse(host, STET_E_NOT_FOUND, "read_file", "{'path': 'other.md'}");
	expect_no_text("There is \"");
}

static void home_and_uris_are_paths(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a b.txt", "x");
	call(host, "read_file", "{'path': 'file://%s/a%%20b.txt'}", host->dir->path);
	expect_str("path", "a b.txt");
	call(host, "read_file", "{'path': 'file://localhost%s/a%%20b.txt'}", host->dir->path);
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'file://elsewhere%s/a'}", host->dir->path);
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'file://%s/a%%2'}", host->dir->path);
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'file://%s/a%%00'}", host->dir->path);
	refuse(host, STET_E_OUTSIDE, "read_file", "{'path': 'file:///etc/passwd'}");
	assert_int_equal(setenv("HOME", host->dir->path, 1), 0);
	call(host, "read_file", "{'path': '~/a b.txt'}");
	expect_str("path", "a b.txt");
	call(host, "list_directory", "{'path': '~'}");
	assert_int_equal(setenv("HOME", "/root", 1), 0);
	refuse(host, STET_E_OUTSIDE, "read_file", "{'path': '~/a b.txt'}");
}

/* ---- get_file_info, list_allowed_directories ---- */

static void what_is_known_of_a_file_is_told(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "hello\n");
	assert_int_equal(chmod(dir_at(host->dir, "a.txt"), 0640), 0);
	const struct timespec times[] = {{1000000000, 0}, {1700000000, 250000000}};
	assert_int_equal(utimensat(AT_FDCWD, dir_at(host->dir, "a.txt"), times, 0), 0);
	call(host, "get_file_info", "{'path': 'a.txt'}");
	expect_str("type", "file");
	expect_int("size", 6);
	expect_str("permissions", "640");
	expect_str("modified", "2023-11-14T22:13:20.250Z");
	expect_text("modified: 2023-11-14T22:13:20.250Z\n");
	expect_text("fileHash: ");
	/* It was not read by that. */
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'x'}");
	call(host, "get_file_info", "{'path': '.'}");
	expect_str("type", "directory");
	expect_str("path", ".");
	assert_int_equal(mkfifo(dir_at(host->dir, "pipe"), 0644), 0);
	alarm(30);
	call(host, "get_file_info", "{'path': 'a.txt'}");
	refuse(host, STET_E_NOT_FOUND, "get_file_info", "{'path': 'missing'}");
	refuse(host, STET_E_OUTSIDE, "get_file_info", "{'path': '/etc/passwd'}");
	alarm(0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_FILE, 3, NULL), 0);
	refuse(host, STET_E_TOO_BIG, "read_file", "{'path': 'a.txt'}");
}

static void the_workspace_is_named(void **state) {
	struct host *host = *state;
	call(host, "list_allowed_directories", "{}");
	expect_str("directories.0", stet_workspace_root(host->ws));
	expect_text("Allowed directories:\n/");
}

/* ---- braces ---- */

static void braces_are_written_out(void **state) {
	(void)state;
	static const struct {
		const char *pattern;
		const char *list;
	} cases[] = {
		{"*.c", "*.c"},
		{"*.{c,h}", "*.c *.h"},
		{"{a,b}{1,2}", "a1 a2 b1 b2"},
		{"{a,{b,c}d}", "a bd cd"},
		{"{a}", "{a}"},
		{"{a,b", "{a,b"},
		{"a}b,c", "a}b,c"},
		{"{,x}y", "xy y"},
		{"\\{a,b}", "\\{a,b}"},
		{"{a{b},c}", "a{b} c"},
		{"v{1..3}", "v1 v2 v3"},
		{"{08..10}", "08 09 10"},
		{"{-1..1}", "-1 0 1"},
		{"{9..1..4}", "1 5 9"},
		{"{a..e..2}", "a c e"},
		{"{c..a}x", "ax bx cx"},
		{"{1..a}", "{1..a}"},
		{"{1..2..}", "{1..2..}"},
		{"{1...3}", "{1...3}"},
		{"{0..9}{1,2..3}",
	     "01 02..3 11 12..3 21 22..3 31 32..3 41 42..3 51 52..3 61 62..3 71 72..3 81 "
	     "82..3 91 92..3"},
		{"${a,b}", "${a,b}"},
		{"", ""},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		st_auto(st_braces) braces = {0};
		assert_int_equal(st_braces_expand(&braces, st_str(cases[i].pattern), NULL), 0);
		const char *names[ST_BRACES_MAX];
		for (size_t k = 0; k < braces.count; k++)
			names[k] = st_buf_cstr(&braces.list[k]);
		/* They are compared without regard to their order. */
		for (size_t k = 1; k < braces.count; k++) {
			for (size_t j = k; j > 0 && strcmp(names[j - 1], names[j]) > 0; j--) {
				const char *other = names[j];
				names[j] = names[j - 1];
				names[j - 1] = other;
			}
		}
		st_auto(st_buf) list = ST_BUF_INIT;
		for (size_t k = 0; k < braces.count; k++)
			st_buf_addf(&list, "%s%s", k ? " " : "", names[k]);
		assert_string_equal(st_buf_cstr(&list), cases[i].list);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_directory_is_listed_by_name),
		host_claim(a_long_listing_comes_in_parts),
		host_claim(sizes_are_shown_as_people_read_them),
		host_claim(what_is_no_directory_is_refused),
		host_claim(links_that_stay_inside_are_followed),
		host_claim(a_tree_leaves_out_what_is_ignored_and_says_so),
		host_claim(rules_above_a_directory_hold_in_it),
		host_claim(the_state_directory_is_left_out),
		host_claim(exclude_patterns_are_globs),
		host_claim(a_large_tree_shows_the_upper_levels_first),
		host_claim(files_are_found_by_glob_or_by_a_part_of_their_name),
		host_claim(programs_get_a_tree_as_json),
		host_claim(a_large_tree_is_json_all_the_same),
		host_claim(programs_get_matches_as_absolute_paths),
		host_claim(programs_get_the_texts_they_know),
		host_claim(a_path_of_windows_is_no_name),
		host_claim(programs_are_told_what_is_a_file),
		host_claim(a_search_does_not_follow_links),
		host_claim(directories_are_made_with_those_above),
		host_claim(directories_are_not_made_elsewhere),
		host_claim(head_and_tail_pick_lines),
		host_claim(several_files_are_read_at_once),
		host_claim(an_answer_of_several_files_is_bounded),
		host_claim(many_files_are_read_as_far_as_they_fit),
		host_claim(many_errors_are_bounded_too),
		host_claim(media_come_as_what_they_are),
		host_claim(a_file_of_5_mib_fits_a_message),
		host_claim(odd_names_are_names),
		host_claim(a_name_whose_accents_are_written_otherwise_is_found),
		host_claim(dots_and_slashes_that_lead_nowhere_are_left_away),
		host_claim(a_name_in_another_case_is_pointed_out),
		host_claim(home_and_uris_are_paths),
		host_claim(what_is_known_of_a_file_is_told),
		host_claim(the_workspace_is_named),
		cmocka_unit_test(braces_are_written_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
