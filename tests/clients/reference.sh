#!/bin/bash
# The reference filesystem server from npm and stet mcp, asked the same.
. "$(dirname "$0")/../lib/tap.sh"

dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	skip 'stet does what the reference server does' "$(cat reason)"
	finish
}
TMPDIR=$tap_dir STET_NPM=$dir "$dir/node" "$STET_SOURCE_ROOT/tests/clients/reference.mjs"
