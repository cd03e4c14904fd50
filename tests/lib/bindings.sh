# shellcheck shell=bash
# For the tests of bindings/, after lib/tap.sh: the self-contained library, linked from the objects of
# this build, and what a file that has it inside must be like.
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

# needs_only_libc FILE: no other shared library than libc, libm and the loader.
needs_only_libc() {
	local others
	others=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm)\.so\.6$|^ld-linux')
	[ -z "$others" ] || { echo "$others"; return 1; }
}

# exported FILE: the symbols that it exports, for any machine (nm knows its own alone).
exported() {
	readelf -W --dyn-syms "$1" | awk '$5 != "LOCAL" && $7 ~ /^[0-9]+$/ { print $8 }' | sort
}

# exports_only_stet FILE
exports_only_stet() {
	local names
	names=$(exported "$1" | sed 's/@.*//')
	[ "$(grep -c '^stet_' <<<"$names")" -gt 200 ] && ! grep -v '^stet_' <<<"$names"
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

# bare_root DIR PROGRAM...: a root with the programs in /usr/bin and their shared libraries, and nothing else.
bare_root() {
	local program
	mkdir -p "$1"/{dev,tmp,usr/bin}
	for program in "${@:2}"; do
		cp -L "$program" "$1/usr/bin/"
	done
	libraries_into "$1" "$1"/usr/bin/*
}

# libraries_into DIR FILE...: the shared libraries that the files need.
libraries_into() {
	local file
	ldd "${@:2}" | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r file; do
		[ ! -f "$file" ] || { mkdir -p "$1$(dirname "$file")" && cp -L "$file" "$1$file"; }
	done
}

# in_root DIR COMMAND...: in DIR/tmp.
in_root() {
	unshare --user --map-root-user --root="$1" --wd=/tmp "${@:2}"
}

# node_claims: the names of the cases of node/cases.mjs.
node_claims() {
	sed -n "s/^  \(async \)\?'\(.*\)'() {\$/\2/p" "$STET_SOURCE_ROOT/tests/bindings/node/cases.mjs"
}
