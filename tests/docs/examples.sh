#!/bin/bash
# Every C and shell example in the documentation works. A block of C with a main() is a program; any
# other is the body of one, with a session `session` over the workspace `ws`, and `err`. Examples run
# where docs/ is, and a file list.txt. Those of the shell run in a directory of their own.
. "$(dirname "$0")/../lib/tap.sh"

# As a user has it: installed, and found through pkg-config.
claim 'the library can be installed' \
	env DESTDIR="$PWD/root" meson install -C "$STET_BUILD_ROOT" --no-rebuild --quiet
pc=$(find root -name stet.pc)
export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$PWD/${pc%/*}
export LD_LIBRARY_PATH=$PWD/${pc%/pkgconfig/*}
ln -s "$STET_SOURCE_ROOT/docs" docs

# The compiler of this build. Of make only that it knows the word: the tests do not run themselves.
read -r compiler flags <<<"$STET_CC"
mkdir bin
cat >bin/cc <<END
#!/bin/sh
PATH='$PATH' # where ccache is not to find this very script
exec $(command -v "$compiler") $flags "\$@"
END
cat >bin/make <<END
#!/bin/sh
exec $(command -v make) -n SETUP=true -C "$STET_SOURCE_ROOT" "\$@"
END
chmod +x bin/cc bin/make
PATH=$PWD/bin:$(dirname "$STET"):$PATH
export HOME=$tap_dir/home XDG_CONFIG_HOME=$tap_dir/home/.config
unset STET_ROOT STET_SESSION
mkdir home

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

run_sh() {
	rm -rf run
	mkdir run
	ln -s "$STET_SOURCE_ROOT/docs" run/docs
	cp list.txt run
	(cd run && sh -eu "../$1")
}

count=0
for page in "$STET_SOURCE_ROOT"/*.md "$STET_SOURCE_ROOT"/docs/*.md; do
	blocks "$page" "$(basename "$page" .md)"
done
for block in *-*.*; do
	printf 'bread\nmilk\n' >list.txt
	case $block in
	*.c) claim "$block compiles and runs" run_c "$block" ;;
	*.sh) claim "$block runs" run_sh "$block" ;;
	*.text) continue ;;
	*) claim "$block: use one of c, sh, text" false ;;
	esac
	count=$((count + 1))
done
claim 'there are examples' test "$count" -ge 5
finish
