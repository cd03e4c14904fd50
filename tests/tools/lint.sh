#!/bin/bash
# tools/lint: quiet on a small tree that is right, and each check fails once something is wrong.
. "$(dirname "$0")/../lib/tap.sh"

# A tree that passes, with a library that exports what its header declares.
good_tree() {
	mkdir -p include/stet src/base src/text/find src/cli build
	cat >include/stet/one.h <<-'END'
		#ifndef STET_ONE_H
		#define STET_ONE_H

		/** The one function. */
		STET_API int stet_one(void);

		#endif
	END
	cat >src/base/one.h <<-'END'
		#ifndef STET_BASE_ONE_H
		#define STET_BASE_ONE_H

		#include <pcre2.h>

		#endif
	END
	printf '#include "base/one.h"\n' >src/text/find/two.c
	printf '#include "stet/one.h"\n' >src/cli/main.c
	printf "files('text/find/two.c', 'cli/main.c')\n" >src/meson.build
	mkdir -p tests/api
	printf 'int x = stet_one();\n' >tests/api/one.c
	printf "files('api/one.c')\n" >tests/meson.build
	library 'int stet_one(void) { return 1; }'
}

library() {
	echo "$1" | cc -shared -fPIC -o build/libstet.so -x c -
}

# passes and fails CHECK each run the linter on a fresh good tree after one change.
passes() {
	local claim=$1
	rm -rf tree && mkdir tree
	claim "$claim" linted_after "${@:2}"
}

fails() {
	local claim=$1 check=$2
	rm -rf tree && mkdir tree
	claim "$claim" only_fails "$check" "${@:3}"
}

linted_after() {
	(cd tree && good_tree && "$@") && "$STET_SOURCE_ROOT/tools/lint" --root tree
}

only_fails() {
	local check=$1 output
	shift
	output=$(linted_after "$@") && return 1
	echo "$output"
	[ "$(grep -c '^not ok' <<<"$output")" -eq 1 ] && grep -q "^not ok .* - $check\$" <<<"$output"
}

append() {
	printf '%b\n' "$2" >>"$1"
}

replace() {
	sed -i "$2" "$1"
}

passes 'a right tree passes' true
passes 'banned names in comments, strings and members pass' \
	append src/text/find/two.c '/* gets() */ // atoi(\nchar *s = "strcpy(";\nint x = y->gets(1);'
passes 'a skip pattern such as a temporary name passes' append src/text/find/two.c 'char t[] = "aXXXXXX";'
passes 'several declarations may share a comment' replace include/stet/one.h \
	's/^STET_API.*/&\nSTET_API int stet_one(void);/'

eval_including() {
	mkdir eval && echo "#include \"$1\"" >eval/a.c && echo "f('a.c')" >eval/meson.build
}
passes 'the evaluation may look into the library' eval_including base/one.h
fails 'the evaluation including a tool' includes_go_downwards eval_including tools/table.h
fails 'an include upwards' includes_go_downwards append src/base/one.h '#include "text/find/two.h"'
fails 'an include without its layer' includes_go_downwards append src/base/one.h '#include "two.h"'
fails 'the command line looking inside' includes_go_downwards \
	append src/cli/main.c '#include "base/one.h"'
fails 'a public header looking inside' includes_go_downwards \
	append include/stet/one.h '#include "base/one.h"'
fails 'a file in no layer' includes_go_downwards \
	sh -c 'mkdir src/misc && echo "#include <errno.h>" >src/misc/a.c && echo "f('"'misc/a.c'"')" >>src/meson.build'
fails 'a folder that includes one above it' folders_use_each_other_in_one_direction \
	append src/text/find/two.c '#include "text/patch/edits.h"'
passes 'a folder may include one below it' append src/text/find/two.c '#include "text/lines/lines.h"'
fails 'a folder that no layer has' folders_use_each_other_in_one_direction \
	sh -c 'mkdir src/text/misc && echo "int a;" >src/text/misc/a.c && echo "f('"'text/misc/a.c'"')" >>src/meson.build'
fails 'an old name as an identifier' no_old_name_is_used append src/text/find/two.c 'int desk;'
fails 'an old name behind a prefix' no_old_name_is_used append src/text/find/two.c 'int st_shelf_put(void);'
fails 'an old name as the name of a file' no_old_name_is_used \
	sh -c 'echo "int a;" >src/text/find/shelf.c && echo "f('"'text/find/shelf.c'"')" >>src/meson.build'
passes 'an old name in a comment, or as a part of another name' \
	append src/text/find/two.c '/* It does not work. */ int keep_alive;'
fails 'a library included twice' each_library_is_known_to_one_file \
	append src/text/find/two.c '#include <pcre2.h>'
fails 'a banned function' no_banned_function_is_used append src/text/find/two.c 'int x = atoi(s);'
fails 'a library that prints' no_banned_function_is_used append src/text/find/two.c 'void f() { puts(""); }'
fails 'a tool that reads past the allowed types' tools_load_files_through_the_fence \
	sh -c 'mkdir src/tools && echo "int x = st_file_load(0);" >src/tools/a.c && echo "f('"'tools/a.c'"')" >>src/meson.build'
fails 'an export of another name' every_export_is_documented \
	library 'int stet_one(void) { return 1; } int leak(void) { return 1; }'
fails 'an export that no header declares' every_export_is_documented \
	library 'int stet_one(void) { return 1; } int stet_two(void) { return 1; }'
fails 'a declaration that is not exported' every_export_is_documented library 'int stet_x;'
fails 'a declaration without a comment' every_export_is_documented \
	replace include/stet/one.h 's,^/\*\* .*,,'
fails 'a public function that no program from outside calls' every_public_function_is_called_from_outside \
	replace tests/api/one.c 's/stet_one()/1/'
fails 'a function that only its own file calls' every_shared_function_is_shared sh -c '
	echo "int st_two(void);" >>src/base/one.h; echo "int st_two(void) { return 1; }" >>src/text/find/two.c'
passes 'a function that another file calls' sh -c '
	echo "int st_two(void);" >>src/base/one.h; echo "int st_two(void) { return 1; }" >>src/text/find/two.c
	echo "int x = st_two();" >>tests/api/one.c'
architecture() {
	mkdir docs && echo "$1" >docs/architecture.md && printf 'int find_two(void) {\n}\n' >>src/text/find/two.c
}
passes 'a function in the file that the map names' architecture '`find_two()` (text/find/two)'
fails 'a function that is not there' architecture_names_real_functions architecture 'see `find_three()`'
fails 'a function in another file' architecture_names_real_functions architecture '`find_two()` (text/find/one)'
fails 'white space at the end of a line' text_is_clean append src/text/find/two.c 'int a; '
fails 'a missing newline at the end' text_is_clean sh -c 'printf "int a;" >>src/text/find/two.c'
fails 'a merge that left a conflict' text_is_clean append src/text/find/two.c '<<<''<<<< HEAD'
fails 'one of many' nothing_counts_1_files sh -c 'mkdir docs && echo "1 files" >docs/a.md'
passes 'a line of the reference server' sh -c 'mkdir docs && echo "Total: 1 files, 1 directories" >docs/a.md'
fails 'unfinished business' text_is_clean append src/text/find/two.c '/* TO''DO */'
fails 'a guard of another name' guards_are_named_after_the_file \
	replace src/base/one.h 's/STET_BASE_ONE_H/ONE_H/'
fails 'a source that is not built' every_source_is_built append src/base/left.c 'int a;'
finish
