#!/bin/bash
# The self-contained library, read from the file.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

# exports_the_same FILE FILE
exports_the_same() {
	diff <(exported "$1") <(exported "$2")
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
