#!/bin/bash
# The official conformance suite, for both eras, against the fixture: every scenario that a revision
# requires has to pass.
. "$(dirname "$0")/../lib/tap.sh"

revisions=(2025-11-25 2026-07-28)
dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	for revision in "${revisions[@]}"; do
		skip "conforms to $revision" "$(cat reason)"
	done
	finish
}

# The fixture serves until its standard input ends.
coproc fixture { exec "$STET_BUILD_ROOT/tests/conformance-fixture"; }
pid=$fixture_PID
read -r url <&"${fixture[0]}"

conforms() {
	timeout 120 "$dir/node" "$dir/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
		server --url "$url" --requirements "$1" -o "results-$1"
}

for revision in "${revisions[@]}"; do
	claim "conforms to $revision" conforms "$revision"
done
fd=${fixture[1]}
exec {fd}>&-
wait "$pid"
claim 'the fixture ends as it should' test $? -eq 0
finish
