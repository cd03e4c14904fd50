# shellcheck shell=bash
# For the tests of bindings/, after lib/tap.sh: the self-contained library, linked from the objects of
# this build.
#
#     if library_or_skip 'a session refuses a stale edit'; then
#             STET_LIBRARY=$library/libstet.so python3 ...
#     fi

# library_or_skip NAME...: the library is in the directory $library. False where it cannot be linked:
# then a claim of each name is skipped for that reason.
library_or_skip() {
	local name reason
	library=$tap_dir/library
	case $STET_CC in
	*-fsanitize*) reason='the sanitizers need the program to be built with them' ;;
	*)
		if "$STET_SOURCE_ROOT/tools/self-contained" "$STET_CORE" "$library" 2>"$tap_dir/.library"; then
			return 0
		fi
		reason=$(tail -n 1 "$tap_dir/.library")
		;;
	esac
	for name; do
		skip "$name" "${reason:-tools/self-contained failed}"
	done
	return 1
}
