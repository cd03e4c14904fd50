#!/bin/bash
# tools/abi: what breaks programs that are compiled already is a failure, and nothing else is. Each change is
# made to a copy of the headers and one source file, which is compiled and linked with the other objects.
. "$(dirname "$0")/../lib/tap.sh"

abi=$STET_SOURCE_ROOT/tools/abi
objects=$STET_BUILD_ROOT/src/libstet-core.a.p
libraries=(-lcmark -lcrypto -levent_core -lpcre2-8 -lsqlite3 -lutf8proc -lyyjson -lzstd)

# changed SOURCE SED-SCRIPT FILE...: link changed.so, with the script applied to the files below include/ and src/.
changed() {
	local source=$1 script=$2 object
	shift 2
	rm -rf copy changed.so
	mkdir copy
	cp -R "$STET_SOURCE_ROOT/include" "$STET_SOURCE_ROOT/src" copy
	for file; do
		cp "copy/$file" before
		sed -i "$script" "copy/$file"
		! cmp -s before "copy/$file" || { echo "$file has no such line"; return 2; }
	done
	object=$(tr / _ <<<"$source").o
	cc -std=gnu2x -g -O1 -fPIC -w -D_GNU_SOURCE -DSTET_VERSION='"0"' -fvisibility=hidden \
		-DTOKENS_BIN="\"$STET_SOURCE_ROOT/src/text/tokens/tokens.bin\"" \
		-Icopy/include -Icopy/src -c -o changed.o "copy/src/$source" || return 2
	[ -f "$objects/$object" ] || { echo "no $object"; return 2; }
	find "$objects" -name '*.o' ! -name "$object" -print0 |
		xargs -0 cc -shared -o changed.so -Wl,-soname,libstet.so.0 -Wl,--version-script="$STET_SOURCE_ROOT/src/libstet.map" changed.o
}

# breaks WHAT SOURCE SED-SCRIPT FILE...: the change is a failure, and the report says WHAT.
breaks() {
	local what=$1 status
	shift
	changed "$@" || return
	"$abi" changed.so >report 2>&1 && status=0 || status=$?
	cat report
	[ "$status" -eq 1 ] && grep -q "$what" report
}

# fits SOURCE SED-SCRIPT FILE...: the change is none for programs.
fits() {
	changed "$@" && "$abi" changed.so
}

refuses_a_stripped_library() {
	local status
	strip -o stripped.so "$STET_BUILD_ROOT/libstet.so"
	"$abi" stripped.so >report 2>&1 && status=0 || status=$?
	cat report
	[ "$status" -eq 1 ] && grep -q 'has no debug information' report
}

claims=('the library is what the description says' 'an enum value that shifts others is a failure'
	'so it is in an enum that is passed as int' 'a grown public struct is a failure'
	'a changed signature is a failure' 'a function that is gone is a failure'
	'a new enum value at the end is none' 'a grown opaque struct is none'
	'a library without debug information is refused')
reason=
case $STET_CC in
*-fsanitize*) reason='a library for the sanitizers is another one' ;;
esac
command -v abidw >/dev/null || reason='abidw is not installed: make check-all installs abigail-tools and runs this'
if [ "$reason" ]; then
	for name in "${claims[@]}"; do
		skip "$name" "$reason"
	done
	finish
fi

inserted='s/STET_OPTION_MAX_FILE = 1,/STET_OPTION_NEW = 1, STET_OPTION_MAX_FILE = 20,/'
shifted='s/STET_CONTEXT_TEMPLATE = 1,/STET_CONTEXT_NEW = 1, STET_CONTEXT_TEMPLATE = 20,/'
appended='s/STET_OPTION_VAULT = 18,/STET_OPTION_VAULT = 18, STET_OPTION_NEW = 19,/'
claim "${claims[0]}" "$abi" "$STET_BUILD_ROOT/libstet.so"
claim "${claims[1]}" breaks 'STET_OPTION_MAX_FILE' core/workspace/workspace.c "$inserted" include/stet/workspace.h
claim "${claims[2]}" breaks 'STET_CONTEXT_TEMPLATE' core/prompt/context.c "$shifted" include/stet/context.h
claim "${claims[3]}" breaks 'struct stet_error' base/error.c 's/char message\[2044\];/&\n\tint more;/' include/stet/error.h
claim "${claims[4]}" breaks 'size_t stet_tokens' core/prompt/context.c \
	's/stet_tokens(const char \*text, size_t len)/stet_tokens(const char *text, int len)/' \
	include/stet/context.h src/core/prompt/context.c
claim "${claims[5]}" breaks 'stet_version' base/version.c 's/stet_version(void)/stet_release(void)/' \
	include/stet/version.h src/base/version.c
claim "${claims[6]}" fits core/workspace/workspace.c "$appended" include/stet/workspace.h
claim "${claims[7]}" fits core/session/answer.c 's/^struct stet_answer {/&\n\tchar more[999];/' src/core/session/answer.h
claim "${claims[8]}" refuses_a_stripped_library
finish
