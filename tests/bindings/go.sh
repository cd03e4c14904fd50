#!/bin/bash
# The Go binding: the tests of bindings/go, in the module that tools/go-module packs and against an installed
# library, with Debian's Go and without a network.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

export GOPROXY=off GOFLAGS=-mod=mod GOPATH=$tap_dir/gopath GOCACHE=$STET_BUILD_ROOT/go-cache CGO_CFLAGS=-O2
unset STET_ROOT STET_SESSION

# names: the tests as sentences.
names() {
	sed -n 's/^func Test\([A-Za-z0-9]*\)(t .*/\1/p' "$STET_SOURCE_ROOT"/bindings/go/*_test.go
}

sentence() {
	sed 's/\([A-Z]\)/ \L\1/g; s/^ //' <<<"$1"
}

test_module() {
	(cd stet-go && go test -v -tags stet_archive . >"$tap_dir/results" 2>&1)
	grep -q '^ok' results
}

is_formatted() {
	local unformatted
	unformatted=$(gofmt -l "$STET_SOURCE_ROOT/bindings/go")
	[ -z "$unformatted" ] || { echo "$unformatted"; return 1; }
}

has_no_faults_for_vet() {
	(cd stet-go && go vet -tags stet_archive ./...)
}

# runs_the_readme: each block of Go is a program, in a module that uses the binding with the lines of the README.
runs_the_readme() {
	local program count=0
	mkdir -p readme here
	awk '/^```go$/ { out = "readme/" ++n ".go"; next } /^```text$/ { out = "readme/lines"; next } /^```$/ { out = "" }
		out { print >out }' stet-go/README.md
	{ echo 'module reader' && cat readme/lines; } >go.mod
	for program in readme/*.go; do
		count=$((count + 1))
		go build -tags stet_archive -o "readme-$count" "$program" && (cd here && "../readme-$count") || return
	done
	[ "$count" -eq 3 ]
}

# runs_alone: a program linked with the archive runs when the sources are gone.
runs_alone() {
	(cd stet-go && go build -tags stet_archive -o "$tap_dir/agent" ./example) || return
	mv stet-go elsewhere
	mkdir agent-root
	(cd agent-root && ../agent) >story && mv elsewhere stet-go
	grep -q 'was modified since you last read it' story && grep -q 'Use single quotes' story &&
		grep -q -e '--- Repository State ---' story &&
		[ "$(cat agent-root/src/hello.py)" = "$(printf "# greetings\nprint('hello, world')")" ]
}

# links_what_pkg_config_names: the same module, from the sources, with the library as it is installed.
links_what_pkg_config_names() {
	DESTDIR=$PWD/root meson install -C "$STET_BUILD_ROOT" --no-rebuild --quiet || return
	local pc
	pc=$(find root -name stet.pc)
	export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$PWD/${pc%/*}
	export LD_LIBRARY_PATH=$PWD/${pc%/pkgconfig/*}
	(cd "$STET_SOURCE_ROOT/bindings/go" && go test -run 'Stale|Restart|Watcher' .)
}

mapfile -t tests < <(names)
claims=('the module is formatted' 'go vet has nothing to say' 'the examples of the README run'
	'a program runs without the sources' 'it needs libc and libm only' 'the module links an installed library')
for name in "${tests[@]}"; do
	claims+=("$(sentence "$name")")
done
if ! command -v go >/dev/null; then
	for name in "${claims[@]}"; do
		skip "$name" 'Go is not installed: make check-all installs golang-go and runs this'
	done
elif library_or_skip "${claims[@]}"; then
	"$STET_SOURCE_ROOT/tools/go-module" "$library" . >/dev/null
	claim "${claims[0]}" is_formatted
	claim "${claims[1]}" has_no_faults_for_vet
	test_module
	for name in "${tests[@]}"; do
		claim "$(sentence "$name")" grep -q -e "^--- PASS: Test$name " results
	done
	[ "$tap_failed" -eq 0 ] || sed 's/^/# /' results
	claim "${claims[2]}" runs_the_readme
	claim "${claims[3]}" runs_alone
	claim "${claims[4]}" needs_only_libc agent
	claim "${claims[5]}" links_what_pkg_config_names
fi
finish
