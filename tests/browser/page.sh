#!/bin/bash
# The page in a real browser: runs claims.mjs, or skips where Chromium or its driver is missing.
. "$(dirname "$0")/../lib/tap.sh"

script=${1:-claims}
chromium=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$chromium" ]; then
	skip "the page in a browser: $script" 'Chromium is not installed: apt-get install --no-install-recommends chromium'
	finish
fi
if ! BROWSER_NPM=$("$STET_SOURCE_ROOT/tools/npm" browser 2>"$tap_dir/.npm"); then
	reason=$(tail -n 1 "$tap_dir/.npm")
	skip "the page in a browser: $script" "${reason:-tools/npm failed}"
	finish
fi
export BROWSER_NPM
case ${STET_CC-} in
*-fsanitize=*) export SOON_MS=5000 ;;
esac
"$BROWSER_NPM/node" "$STET_SOURCE_ROOT/tests/browser/$script.mjs"
