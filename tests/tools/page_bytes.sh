#!/bin/bash
# What the page costs: bytes of the program, and memory of stet mcp, against a program that is linked without the files.
. "$(dirname "$0")/../lib/tap.sh"

page=$(cat "$STET_SOURCE_ROOT"/page/* | wc -c)

at_most_60_kb() {
	echo "$page bytes"
	[ "$page" -gt 0 ] && [ "$page" -le $((60 * 1024)) ]
}

# Link the program again, with an empty list of files.
link_without() {
	local link files
	link=$(ninja -C "$STET_BUILD_ROOT" -t commands stet | tail -n 1) || return
	files=$(grep -o '[^ ]*web_files\.c\.o' <<<"$link")
	[ -n "$files" ] || return
	printf '#include "net/web.h"\nconst struct st_web_file st_web_files[] = {{0}};\n' >none.c
	# shellcheck disable=SC2086 # the first words are the compiler
	${link%% -*} -I "$STET_SOURCE_ROOT/src" -I "$STET_SOURCE_ROOT/include" -std=gnu2x -c none.c -o none.o || return
	link=${link/"$files"/"$PWD/none.o"}
	(cd "$STET_BUILD_ROOT" && eval "${link/-o stet /-o "$tap_dir/without" }")
}

stripped_bytes() {
	strip -o stripped "$1" && stat -c %s stripped
}

# Sections end at pages of memory, the table has a row for each file.
is_larger_by_the_page() {
	local with without
	with=$(stripped_bytes "$STET") && without=$(stripped_bytes "$tap_dir/without") || return
	echo "$with bytes, without the page $without, the page $page"
	[ "$with" -gt "$without" ] && [ $((with - without)) -le $((page + 8192)) ]
}

# Kilobytes of memory that stet mcp has for itself once it has answered. Of the program's file, which all processes
# share, the kernel maps pages that nobody asked for, more or fewer each time.
memory_of() {
	local answer
	coproc "$1" mcp --root "$tap_dir/ws" 2>/dev/null
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >&"${COPROC[1]}"
	read -r answer <&"${COPROC[0]}" && [[ $answer = *'"result"'* ]] && awk '/^RssAnon/ { print $2 }' "/proc/$COPROC_PID/status"
	kill "$COPROC_PID"
	wait "$COPROC_PID"
	return 0
}

# The least of several starts.
least_memory() {
	for _ in 1 2 3 4 5 6 7; do memory_of "$1"; done | sort -n | head -n 1
}

needs_no_more_memory() {
	local with without
	mkdir -p ws
	with=$(least_memory "$STET") && without=$(least_memory "$tap_dir/without") || return
	echo "$with kB of its own, without the page $without kB"
	[ -n "$with" ] && [ -n "$without" ] && [ "$with" -le $((without + without / 50)) ]
}

claim 'the files of the page have at most 60 KB' at_most_60_kb
larger='the program is larger by the bytes of the page'
memory='stet mcp needs no more memory with the page'
case ${STET_CC-} in
*-fsanitize=*) reason='sanitizers change the sizes' ;;
*) link_without >link.log 2>&1 && reason= || reason="the program was not linked again: $(tail -n 1 link.log)" ;;
esac
if [ -n "$reason" ]; then
	skip "$larger" "$reason"
	skip "$memory" "$reason"
else
	claim "$larger" is_larger_by_the_page
	claim "$memory" needs_no_more_memory
	is_larger_by_the_page | sed 's/^/# /'
	needs_no_more_memory | sed 's/^/# /'
fi
finish
