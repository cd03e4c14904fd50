#!/bin/bash
# Every C, shell, Python and TypeScript example in the documentation works. The shell blocks of a page run as they are printed, one
# after the other, in one directory that holds nothing at first but docs/, as somebody would type them. A
# block of C with a main() is a program; any other is the body of one, with a session `session` over the
# workspace `ws`, and `err`, where docs/ and a file list.txt are. The examples in the public headers compile in
# the same way.
. "$(dirname "$0")/../lib/tap.sh"

# As a user has it: installed, and found through pkg-config.
claim 'the library can be installed' \
	env DESTDIR="$PWD/root" meson install -C "$STET_BUILD_ROOT" --no-rebuild --quiet
pc=$(find root -name stet.pc)
export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$PWD/${pc%/*}
export LD_LIBRARY_PATH=$PWD/${pc%/pkgconfig/*}
ln -s "$STET_SOURCE_ROOT/docs" docs

# The compiler of this build. make plays the demo; otherwise it only says what it would do, because the tests
# must not run themselves.
read -r compiler flags <<<"$STET_CC"
mkdir bin
cat >bin/cc <<END
#!/bin/sh
PATH='$PATH' # where ccache is not to find this very script
exec $(command -v "$compiler") $flags "\$@"
END
cat >bin/make <<END
#!/bin/sh
[ "\$*" != demo ] || exec "$STET_SOURCE_ROOT/tools/demo" "$STET_BUILD_ROOT"
exec $(command -v make) -n SETUP=true -C "$STET_SOURCE_ROOT" "\$@"
END
chmod +x bin/cc bin/make
PATH=$PWD/bin:$(dirname "$STET"):$PATH
unset STET_ROOT STET_SESSION STET_TOKEN XDG_STATE_HOME XDG_CONFIG_HOME

# blocks FILE NAME: write the fenced blocks of a page to NAME-LINE.LANGUAGE.
blocks() {
	awk -v name="$2" '
		!out && /^ *```./ { sub(/^ *```/, ""); out = name "-" NR "." $0; printf "" >out; next }
		out && /^ *```$/ { out = ""; next }
		out { print >out }' "$1"
}

body() {
	cat <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		#include <stet/stet.h>

		int main(void) {
			struct stet_error *err = stet_error_new();
			struct stet_workspace *ws = NULL;
			struct stet_session *session = NULL;
			if (stet_workspace_open(".", &ws, err) < 0 || stet_session_open(ws, NULL, &session, err) < 0)
				return 1;
			{
	END
	echo "#line 1 \"$1\""
	cat "$1"
	cat <<-'END'
			}
			stet_session_close(session);
			stet_workspace_close(ws);
			stet_error_free(err);
			return 0;
		}
	END
}

run_c() {
	if grep -q 'int main' "$1"; then cp "$1" program.c; else body "$1" >program.c; fi
	# shellcheck disable=SC2046 # flags
	cc -std=c11 -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs stet) -o program &&
		./program >out 2>errors || return 1
	cat errors
	# An example complains on standard error, and has something to say if all is well.
	[ ! -s errors ] && { [ -s out ] || ! grep -qE '^[^"]*\b(printf|puts)\(' "$1"; }
}

# header_blocks HEADER NAME: write the indented blocks of C in its comments to NAME-LINE.c.
header_blocks() {
	awk -v name="$2" '
		/^ \*     / && (text || blank) { if (!text) line = NR; text = text substr($0, 8) "\n"; next }
		/^ \*$/ { if (text) text = text "\n"; blank = 1; next }
		{ if (text ~ /;/) printf "%s", text >(name "-" line ".c"); text = ""; blank = 0 }' "$1"
}

compile_c() {
	{
		if grep -q 'int main' "$1"; then
			printf '#include <stdio.h>\n#include <stet/stet.h>\n'
			cat "$1"
		else
			body "$1"
		fi
	} >program.c
	# shellcheck disable=SC2046 # flags
	cc -std=c11 -Wall -Wextra -Werror -c program.c $(pkg-config --cflags stet) -o program.o
}

# run_sh BLOCK: in the directory of its page, which also has a home of its own.
run_sh() {
	local page=${1%-*}
	if [ ! -d "$page.d" ]; then
		mkdir "$page.d" "$page.home"
		ln -s "$STET_SOURCE_ROOT/docs" "$page.d/docs"
	fi
	(cd "$page.d" && HOME=$tap_dir/$page.home sh -eu "../$1") >out 2>&1
	local status=$?
	tee -a "$page.out" <out
	return $status
}

# run_program INTERPRETER... BLOCK: a program of a page in another language, in a directory of its own.
run_program() {
	local block=${*: -1}
	mkdir "$block.d"
	(cd "$block.d" && HOME=$tap_dir/$block.d "${@:1:$#-1}" "../$block")
}

# run_or_skip BLOCK ENDING INTERPRETER...: skip the program where there is no such interpreter.
run_or_skip() {
	local block=$1
	if ! "${@:3}" --version >/dev/null 2>&1; then
		skip "$block runs" "there is no $3"
		return
	fi
	mv "$block" "$block.$2"
	claim "$block runs" run_program "${@:3}" "$block.$2"
}

# Node that takes TypeScript as it is: that of tests/npm, or the system's.
node=node
if npm=$("$STET_SOURCE_ROOT/tools/npm" 2>/dev/null); then node=$npm/node; fi

# refuses PAGE COUNT: the blocks of a page were refused so often because somebody else had written.
refuses() { [ "$(grep -c 'was modified since you last read it' "$1.out")" -eq "$2" ]; }

count=0
for page in "$STET_SOURCE_ROOT"/*.md "$STET_SOURCE_ROOT"/docs/*.md; do
	blocks "$page" "$(basename "$page" .md)"
done
export HOME=$tap_dir/home
mkdir home
for block in $(printf '%s\n' *-*.* | sort -V); do
	printf 'bread\nmilk\n' >list.txt
	case $block in
	*.c) claim "$block compiles and runs" run_c "$block" ;;
	*.sh) claim "$block runs" run_sh "$block" ;;
	*.python) run_or_skip "$block" py python3 ;;
	*.ts) run_or_skip "$block" ts "$node" --no-warnings --experimental-strip-types ;;
	*.text) continue ;;
	*) claim "$block: use one of c, sh, python, ts, text" false ;;
	esac
	count=$((count + 1))
done
mkdir headers
for header in "$STET_SOURCE_ROOT"/include/stet/*.h; do
	header_blocks "$header" "headers/$(basename "$header" .h)"
done
for block in headers/*.c; do
	claim "the example $block compiles" compile_c "$block"
done
claim 'README shows two refusals: one in the demo, one by hand' refuses README 2
claim 'the guide shows two' refuses guide 2
claim 'docs/library.md shows one' refuses library 1
claim 'there are examples' test "$count" -ge 5
finish
