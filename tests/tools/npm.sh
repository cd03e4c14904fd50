#!/bin/bash
# tools/npm: the packages once for all, or a sentence that says why not. An npm of our own stands in
# for the real one.
. "$(dirname "$0")/../lib/tap.sh"

npm=$STET_SOURCE_ROOT/tools/npm
export XDG_CACHE_HOME=$PWD/cache
mkdir bin
cat >bin/npm <<'END'
#!/bin/sh
echo call >>"$CALLS"
[ ! -e "$CALLS.fail" ] || { echo 'npm error code ENOTFOUND'; exit 1; }
for arch in x64 arm64; do
	mkdir -p node_modules/node-linux-$arch/bin
	ln -s /bin/true node_modules/node-linux-$arch/bin/node
done
END
chmod +x bin/npm
export CALLS=$PWD/calls
with_npm() { PATH=$PWD/bin:$PATH "$@"; }
absent() { diff <(echo "$1"; echo 77) <("${@:2}" 2>&1; echo $?); }
calls() { test "$(wc -l <"$CALLS")" -eq "$1"; }

mkdir without
for program in sh cat sha256sum cut uname dirname; do
	ln -s "$(command -v $program)" without/
done
without_npm() { PATH=$PWD/without "$@"; }

claim 'says that npm is not installed' absent 'npm is not installed' without_npm "$npm"
touch calls.fail
claim 'says why npm failed' absent 'npm packages could not be installed: npm error code ENOTFOUND' \
	with_npm "$npm"
claim 'says it again' absent 'npm packages could not be installed: npm error code ENOTFOUND' \
	with_npm "$npm"
claim 'without trying again at once' calls 1
rm -r calls.fail cache
: >calls
dir=$(with_npm "$npm")
claim 'prints the directory with Node in it' "$dir/node"
claim 'prints the same the next time' test "$(without_npm "$npm")" = "$dir"
claim 'installs once' calls 1

: >calls
claim 'with --present installs nothing, and names the command that does' \
	absent 'tests/agents is not installed: make check-all installs it and runs this' with_npm "$npm" --present agents
claim 'nor asks npm' calls 0
touch calls.fail
with_npm "$npm" agents 2>/dev/null
claim 'with --present says why it could not be installed' \
	absent 'npm packages could not be installed: npm error code ENOTFOUND' with_npm "$npm" --present agents
rm -r calls.fail cache
agents=$(with_npm "$npm" agents)
claim 'installs the agents' "$agents/node"
claim 'with --present prints where they are' test "$(without_npm "$npm" --present agents)" = "$agents"
for set in npm agents node; do
	claim "the lock file of $set names no host to fetch from" \
		test "$(grep -c '"resolved"' "$STET_SOURCE_ROOT/tests/$set/package-lock.json")" -eq 0
done
finish
