#!/bin/bash
# tools/arm64: the program, the libraries, the Node addon and quick unit tests build with Debian's cross compiler;
# the unit tests and the claims of the Node binding pass under qemu. make arm64 builds the other programs, too.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

# The programs of tests/unit that take a few seconds under qemu, but those that start stet, which qemu alone cannot.
units=(apply arena background base change change_set change_set_log commit config context copy_append document edits
	fence field file file_tools find foreign_lists gate glob head imports instructions_tools intervals kinds line_ranges
	links manager markdown mcp_core mcp_hostile move_delete nearby notices page pool root roots schemas session
	state_tools store_check text_base text_patch tracker unicode versions walk)

# Cases that cannot pass, each with the reason.
declare -A impossible=(
	[the_whole_filesystem_can_be_a_root]='qemu -L redirects absolute paths'
	[without_openat2_the_walk_is_the_same]='qemu has no seccomp'
	[running_out_of_memory_is_an_answer]='RLIMIT_AS has no effect under qemu'
)

is_for_arm64() {
	local file
	for file in stet libstet.so.0 self-contained/libstet.so; do
		readelf -h "$build/$file" | grep -q 'Machine: *AArch64' || { echo "$file"; return 1; }
	done
}

passes_under_qemu() {
	local name failed=0
	meson test -C "$build" --no-rebuild --timeout-multiplier 5 "${units[@]}" >report 2>&1
	while read -r name; do
		[ "${impossible[$name]-}" ] || { echo "not ok: $name"; failed=1; }
	done < <(grep -av ' # SKIP ' "$build/meson-logs/testlog.txt" | sed -n 's/^not ok [0-9]* - \([^ ]*\).*/\1/p')
	! grep -aE 'TIMEOUT|killed by signal' report && [ "$failed" -eq 0 ]
}

edits_under_qemu() {
	mkdir work
	printf 'one\ntwo\n' >work/a.txt
	"$build/qemu" "$build/stet" --root work edit a.txt one 1 &&
		[ "$(cat work/a.txt)" = "$(printf '1\ntwo')" ]
}

# installs_addon: as npm installs it on arm64; it refuses packages of another machine unless forced.
installs_addon() {
	export npm_config_cache=$tap_dir/cache npm_config_update_notifier=false npm_config_fund=false
	mkdir installed && echo '{"type": "module"}' >installed/package.json
	(cd installed && npm install --offline --ignore-scripts --force --no-audit --loglevel=error "$build"/packages/*.tgz)
}

# checks PROGRAM: a host of arm64 checks a file, twice.
checks() {
	echo one >installed/checked.txt
	(cd installed && "$build/qemu" "$1" -e "
		const { FileTracker } = require('stet');
		const tracker = new FileTracker('.');
		tracker.trackRead('checked.txt');
		const before = tracker.hasBeenModifiedSinceRead('checked.txt');
		require('fs').writeFileSync('checked.txt', 'two');
		console.log(process.arch, before, tracker.hasBeenModifiedSinceRead('checked.txt'));") >out
	cat out
	[ "$(cat out)" = 'arm64 false true' ]
}

# run_cases: the claims of the Node binding in Node 22. A process under qemu cannot start Node again by itself.
run_cases() {
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$build/qemu" "$packages/node" >host
	chmod +x host
	cp "$STET_SOURCE_ROOT/tests/bindings/node/cases.mjs" installed
	(cd installed && STET_TEST_HOST=$tap_dir/host STET_TEST_DIR=$tap_dir "$build/qemu" "$packages/node" --expose-gc cases.mjs) \
		>results 2>errors
}

programs=('the program, the libraries and the tests build for arm64' 'the programs are for arm64' 'the man page is the same'
	'quick unit tests pass under qemu' 'stet edits a file under qemu')
properties=('the self-contained library needs only libc and libm' 'it exports stet_* alone'
	'it has no text relocations' 'it needs no glibc after 2.36' 'the wheel is for arm64')
mapfile -t cases < <(node_claims)
addon=('the Node packages install' 'the addon answers a check in Node 20' 'in Node 22' 'in Bun')
for name in "${cases[@]}"; do
	addon+=("Node 22: $name")
done

# skip_all REASON NAME...
skip_all() {
	local name
	for name in "${@:2}"; do
		skip "$name" "$1"
	done
}

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
	"$STET_SOURCE_ROOT/tools/arm64" "$build" stet libstet.so.0 stet.1 "${units[@]/#/tests/test-}" >log 2>&1 &&
		status=0 || status=$?
	[ "$status" -ne 77 ] || reason=$(tail -n 1 log)
fi
if [ "$reason" ]; then
	skip_all "$reason" "${programs[@]}" "${properties[@]}" "${addon[@]}"
	finish
fi

[ "$status" -eq 0 ] || grep -aE -A3 'error:|FAILED' log | head -n 20 | sed 's/^/# /'
claim "${programs[0]}" test "$status" -eq 0
claim "${programs[1]}" is_for_arm64
claim "${programs[2]}" cmp "$build/stet.1" "$STET_BUILD_ROOT/stet.1"
claim "${programs[3]}" passes_under_qemu
claim "${programs[4]}" edits_under_qemu
so=$build/self-contained/libstet.so
claim "${properties[0]}" needs_only_libc "$so"
claim "${properties[1]}" exports_only_stet "$so"
claim "${properties[2]}" has_no_text_relocations "$so"
claim "${properties[3]}" needs_glibc_up_to 2.36 "$so"
claim "${properties[4]}" ls "$build"/packages/stet-*-py3-none-manylinux_2_36_aarch64.whl

if ! packages=$("$STET_SOURCE_ROOT/tools/npm" --present arm64 2>&1); then
	skip_all "$packages" "${addon[@]}"
	finish
fi
claim "${addon[0]}" installs_addon
claim "${addon[1]}" checks "$packages/node20"
claim "${addon[2]}" checks "$packages/node"
claim "${addon[3]}" checks "$packages/bun"
run_cases
for name in "${cases[@]}"; do
	claim "Node 22: $name" grep -qx "ok $name" results
done
[ "$tap_failed" -eq 0 ] || sed 's/^/# /' errors
finish
