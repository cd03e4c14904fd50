#!/bin/bash
# The self-contained library, read from the file.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

# needs_only_libc FILE
needs_only_libc() {
	local others
	others=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm)\.so\.6$|^ld-linux')
	[ -z "$others" ] || { echo "$others"; return 1; }
}

# exports_only_stet FILE
exports_only_stet() {
	local names
	names=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//')
	[ "$(grep -c '^stet_' <<<"$names")" -gt 200 ] && ! grep -v '^stet_' <<<"$names"
}

# exports_the_same FILE FILE
exports_the_same() {
	diff <(nm -D --defined-only "$1" | awk '{ print $3 }' | sort) \
		<(nm -D --defined-only "$2" | awk '{ print $3 }' | sort)
}

has_no_text_relocations() {
	! readelf -d "$1" | grep TEXTREL
}

# needs_glibc_up_to VERSION FILE
needs_glibc_up_to() {
	local newest
	newest=$(readelf -V "$2" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
	echo "needs glibc $newest"
	[ "$(printf '%s\n' "$newest" "$1" | sort -V | tail -n 1)" = "$1" ]
}

# links_an_archive: a program linked with libstet.a needs nothing else.
links_an_archive() {
	cat >program.c <<-'END'
		#include <stet/stet.h>
		#include <stdio.h>
		int main(void) {
			struct stet_session *session = stet_session_default(NULL);
			return stet_session_track_read(session, "program.c", NULL) < 0 || puts(stet_version()) < 0;
		}
	END
	cc -I"$STET_SOURCE_ROOT/include" -o program program.c "$library/libstet.a" -lm &&
		needs_only_libc program && ./program
}

claims=('it needs only libc and libm' 'it exports stet_* alone' 'it exports what the ordinary library does'
	'it has no text relocations' 'it needs no glibc after 2.36' 'a program links the archive with libm only'
	'the ordinary library needs more')
if library_or_skip "${claims[@]}"; then
	so=$library/libstet.so
	ordinary=$STET_BUILD_ROOT/libstet.so
	claim "${claims[0]}" needs_only_libc "$so"
	claim "${claims[1]}" exports_only_stet "$so"
	claim "${claims[2]}" exports_the_same "$so" "$ordinary"
	claim "${claims[3]}" has_no_text_relocations "$so"
	claim "${claims[4]}" needs_glibc_up_to 2.36 "$so"
	claim "${claims[5]}" links_an_archive
	claim "${claims[6]}" exits 1 needs_only_libc "$ordinary"
fi
finish
