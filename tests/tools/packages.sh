#!/bin/bash
# What make install, uninstall and container do, and tools/address.
. "$(dirname "$0")/../lib/tap.sh"

uninstalls_everything() {
	DESTDIR=$PWD/root meson install -C "$STET_BUILD_ROOT" --no-rebuild --quiet || return
	local before
	before=$(find root ! -type d | wc -l)
	mkdir -p root/usr/local/bin
	echo mine >root/usr/local/bin/mine
	"$STET_SOURCE_ROOT/tools/uninstall" "$STET_BUILD_ROOT" "$PWD/root" || return
	find root ! -type d
	[ "$before" -gt 20 ] && [ "$(find root ! -type d)" = root/usr/local/bin/mine ] && ! find root -name stet | grep .
}

installs_without_tests() {
	make -C "$STET_SOURCE_ROOT" SETUP=true -n install | tee plan
	grep -q 'install -C build-install' plan && grep -q 'options.build-install = .*-Dtests=false' "$STET_SOURCE_ROOT/Makefile"
}

# in_empty_root ARG...: the static program in a root that has the workspace, /proc and nothing else.
in_empty_root() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --user --map-root-user --mount --pid --fork sh -c '
		mount -t proc proc empty/proc && exec chroot empty /stet --root /work --session me "$@"' sh "$@"
}

recovers_in_an_empty_root() {
	mkdir -p empty/work empty/proc
	cp static empty/stet
	printf 'one\ntwo\n' >empty/work/a.txt
	in_empty_root read a.txt && printf 'ONE\ntwo\n' >empty/work/a.txt || return
	! in_empty_root edit a.txt one 1 && in_empty_root edit a.txt two 2 && grep -qx 2 empty/work/a.txt
}

sets_the_address() {
	mkdir copy
	cp -R "$STET_SOURCE_ROOT"/{bench,bindings,debian,docs,include,npm,page,src,systemd,*.*} copy
	cd copy || return
	"$STET_SOURCE_ROOT/tools/address" https://github.com/ada/stet || return
	[ "$("$STET_SOURCE_ROOT/tools/address")" = https://github.com/ada/stet ] &&
		grep -q '"io.github.ada/stet"' server.json && grep -q '"mcpName": "io.github.ada/stet"' npm/package.json &&
		grep -qx 'module github.com/ada/stet' bindings/go/go.mod &&
		! grep -rnE 'example\.org/stet|org\.example/stet' . &&
		exits 1 "$STET_SOURCE_ROOT/tools/address" stet.example
}

claim 'make install builds no tests' installs_without_tests
claim 'make uninstall removes what make install installed, and nothing else' uninstalls_everything
claim 'the address is set in one place' sets_the_address
static=('the static program needs no library' 'it works in an empty root' 'the container recipe has that program')
case $STET_CC in
*-fsanitize*) reason='the sanitizers link shared libraries' ;;
*)
	"$STET_SOURCE_ROOT/tools/static-program" "$STET_BUILD_ROOT" static >log 2>&1 && reason= || reason=$(tail -n 1 log)
	;;
esac
if [ "$reason" ]; then
	for name in "${static[@]}"; do
		skip "$name" "$reason"
	done
else
	claim "${static[0]}" grep -q 'no dynamic section' <(readelf -d static 2>&1)
	mkdir -p empty/proc
	if unshare --user --map-root-user --mount --pid --fork mount -t proc proc empty/proc 2>/dev/null; then
		claim "${static[1]}" recovers_in_an_empty_root
	else
		skip "${static[1]}" 'no user namespace with a /proc can be made'
	fi
	claim "${static[2]}" grep -qx 'COPY dist/stet /stet' "$STET_SOURCE_ROOT/Containerfile"
fi
finish
