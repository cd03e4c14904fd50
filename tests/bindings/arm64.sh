#!/bin/bash
# make arm64: everything builds with Debian's cross compiler, and quick unit tests pass under qemu.
. "$(dirname "$0")/../lib/tap.sh"

# Programs of tests/unit that start no other program, which qemu alone cannot run, and take seconds.
units=(apply arena base change change_set commit config edits field file file_tools glob head intervals manager
	move_delete patch root session tracker versions)

# Cases that cannot pass, each with the reason.
declare -A impossible=(
	[the_whole_filesystem_can_be_a_root]='qemu -L redirects absolute paths'
)

is_for_arm64() {
	local file
	for file in stet libstet.so.0; do
		readelf -h "$build/$file" | grep -q 'Machine: *AArch64' || { echo "$file"; return 1; }
	done
}

passes_under_qemu() {
	local name failed=0
	meson test -C "$build" --no-rebuild --timeout-multiplier 5 "${units[@]}" >report 2>&1
	while read -r name; do
		[ "${impossible[$name]-}" ] || { echo "not ok: $name"; failed=1; }
	done < <(grep -av ' # SKIP ' "$build/meson-logs/testlog.txt" | sed -n 's/^not ok [0-9]* - //p')
	! grep -aE 'TIMEOUT|killed by signal' report && [ "$failed" -eq 0 ]
}

edits_under_qemu() {
	local root
	mkdir work
	printf 'one\ntwo\n' >work/a.txt
	root=$(sed -n "s/^sys_root = '\(.*\)'/\1/p" "$build/cross.ini")
	qemu-aarch64-static -L "$root" "$build/stet" --root work edit a.txt one 1 &&
		[ "$(cat work/a.txt)" = "$(printf '1\ntwo')" ]
}

claims=('everything builds for arm64' 'the programs are for arm64' 'the man page is the same'
	'quick unit tests pass under qemu' 'stet edits a file under qemu')
case $STET_CC in
*-fsanitize*) reason='the sanitizers run natively' ;;
*) reason= ;;
esac
for program in aarch64-linux-gnu-gcc qemu-aarch64-static; do
	command -v "$program" >/dev/null ||
		reason="$program is not installed: make check-all installs gcc-aarch64-linux-gnu and qemu-user-static"
done
build=$STET_SOURCE_ROOT/build-arm64
if [ -z "$reason" ]; then
	"$STET_SOURCE_ROOT/tools/arm64" "$build" >log 2>&1 && status=0 || status=$?
	[ "$status" -ne 77 ] || reason=$(tail -n 1 log)
fi
if [ "$reason" ]; then
	for name in "${claims[@]}"; do
		skip "$name" "$reason"
	done
else
	[ "$status" -eq 0 ] || grep -aE -A3 'error:|FAILED' log | head -n 20 | sed 's/^/# /'
	claim "${claims[0]}" test "$status" -eq 0
	claim "${claims[1]}" is_for_arm64
	claim "${claims[2]}" cmp "$build/stet.1" "$STET_BUILD_ROOT/stet.1"
	claim "${claims[3]}" passes_under_qemu
	claim "${claims[4]}" edits_under_qemu
fi
finish
