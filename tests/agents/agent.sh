#!/bin/bash
# agent.sh SCRIPT AGENT: run a script of this directory with a real coding agent, on loopback alone.
. "$(dirname "$0")/../lib/tap.sh"

npm=$STET_SOURCE_ROOT/tools/npm
{ STET_AGENTS=$("$npm" --present agents) && STET_NPM=$("$npm"); } 2>reason || {
	skip "$2: $1" "$(cat reason)"
	finish
}
# These two take minutes for a few races.
case "$1 $2" in
'native-races opencode' | 'native-races gemini')
	[ -n "${STET_TORTURE-}" ] || {
		skip "$2: $1" 'it takes minutes: make torture runs it'
		finish
	}
	;;
esac
export STET_AGENTS STET_NPM TMPDIR=$tap_dir
cd "$STET_SOURCE_ROOT/tests/agents" || exit 99
./offline "$STET_AGENTS/node" "$1.mjs" "$2" ${3+"$3"}
