#!/bin/bash
# Real MCP clients against stet mcp and stet serve.
. "$(dirname "$0")/../lib/tap.sh"

dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	skip 'real clients read, edit, meet a conflict, recover and subscribe' "$(cat reason)"
	finish
}
TMPDIR=$tap_dir STET_NPM=$dir "$dir/node" "$STET_SOURCE_ROOT/tests/clients/clients.mjs"
