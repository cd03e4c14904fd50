#!/bin/bash
# The official inspector's command line against stet mcp and stet serve.
. "$(dirname "$0")/../lib/tap.sh"

dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	skip 'the inspector finds no fault, and calls tools in both eras' "$(cat reason)"
	finish
}
export HOME=$tap_dir
unset STET_TOKEN XDG_STATE_HOME
export MCP_INSPECTOR_SECRET_STORE=memory
mkdir ws
echo one >ws/a.txt

# inspect SERVER ARG...: SERVER is a URL, or stdio.
inspect() {
	local server=("$1" --header "$authorization")
	[ "$1" != stdio ] || server=("$STET" mcp ws)
	timeout 60 "$dir/node" "$dir/node_modules/.bin/mcp-inspector" --cli "${server[@]}" "${@:2}" -q
}

# call SERVER ERA TOOL JSON: the answer.
call() {
	inspect "$1" --protocol-era "$2" --method tools/call --tool-name "$3" --tool-args-json "$4" --format json
}

says() { "${@:2}" | grep -qF -- "$1"; }
is() { [ "$(cat ws/a.txt)" = "$1" ]; }

# The same client with a connection that stays, by the name of which its commands go.
keep() {
	timeout 60 "$dir/node" "$dir/node_modules/.bin/mcpdo" "$@" 2>&1
}

# wait_for TEXT FILE: somebody writes that, sooner or later.
wait_for() {
	for _ in {1..600}; do
		grep -qF -- "$1" "$2" && return
		sleep 0.1
	done
	cat "$2"
	return 1
}

# By 2026-07-28 a connection is no session: one is named. It does no harm in the other era.
tool() { keep --connection "$1" tools/call "$2" "{\"session\":\"inspector\",\"path\":\"a.txt\"$3}"; }
edit_a() { tool "$1" edit_file ",\"oldText\":\"$2\",\"newText\":\"$3\""; }

# go_through NAME ERA SERVER...: read, edit, meet a conflict, recover, be told of a change.
go_through() {
	local name=$1 era=$2 what="$1, $2"
	shift 2
	echo one >ws/a.txt
	claim "$what: connects" keep connect "@$name" --era "$era" "$@"
	claim "$what: reads" says one tool "$name" read_file ""
	claim "$what: edits" edit_a "$name" one two
	claim "$what: has edited" is two
	echo else >>ws/a.txt
	claim "$what: meets a conflict" says '+else' edit_a "$name" two three
	claim "$what: has not edited then" is $'two\nelse'
	claim "$what: recovers" edit_a "$name" two three
	claim "$what: has kept both changes" is $'three\nelse'
	keep --connection "$name" resources/subscribe "file://$PWD/ws/a.txt" >"told.$name" &
	claim "$what: subscribes" wait_for Subscribed "told.$name"
	echo more >>ws/a.txt
	claim "$what: hears of a change" wait_for "updated: file://$PWD/ws/a.txt" "told.$name"
	claim "$what: disconnects" keep disconnect "$name"
}

"$STET" serve ws >url &
server=$!
eval "$("$dir/node" "$dir/node_modules/.bin/mcpdo" private)"
trap 'keep daemon stop >/dev/null; kill $server; rm -rf "$tap_dir"' EXIT
until [ -s url ]; do sleep 0.05; done
url=$(head -n 1 url)
authorization="Authorization: Bearer $(cat "$HOME/.local/state/stet/token")"

claim 'stdio: the schemas are portable' inspect stdio --method tools/list --strict
claim 'HTTP: the schemas are portable' inspect "$url" --method tools/list --strict
claim 'stdio, legacy: calls once' says a.txt call stdio legacy list_directory '{"path":"."}'
claim 'stdio, modern: calls once' says a.txt call stdio modern list_directory '{"path":"."}'
claim 'HTTP, legacy: calls once' says a.txt call "$url" legacy list_directory '{"path":"."}'
claim 'HTTP, modern: calls once' says a.txt call "$url" modern list_directory '{"path":"."}'
go_through stdio legacy -- "$STET" mcp ws
go_through HTTP modern "$url" --header "$authorization"
finish
