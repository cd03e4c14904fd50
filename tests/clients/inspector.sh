#!/bin/bash
# The official inspector's command line against stet mcp and stet serve.
. "$(dirname "$0")/../lib/tap.sh"

dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	skip 'the inspector finds no fault, and calls tools in both eras' "$(cat reason)"
	finish
}
export HOME=$tap_dir
mkdir ws

# inspect SERVER ARG...: SERVER is a URL, or stdio.
inspect() {
	local server=("$1")
	[ "$1" != stdio ] || server=("$STET" mcp ws)
	timeout 60 "$dir/node" "$dir/node_modules/.bin/mcp-inspector" --cli "${server[@]}" "${@:2}" -q
}

# call SERVER ERA TOOL JSON: the answer.
call() {
	inspect "$1" --protocol-era "$2" --method tools/call --tool-name "$3" --tool-args-json "$4" --format json
}

says() { "${@:2}" | grep -qF -- "$1"; }
is() { [ "$(cat ws/a.txt)" = "$1" ]; }

# What a script would do with it: read, edit, meet a conflict, recover.
go_through() {
	local server=$1 era=$2 hash
	echo one >ws/a.txt
	hash=$(sha256sum ws/a.txt | cut -c 1-16)
	claim "$3: reads" says "$hash" call "$server" "$era" read_file '{"path":"a.txt"}'
	claim "$3: edits" says success call "$server" "$era" edit_file \
		"{\"path\":\"a.txt\",\"oldText\":\"one\",\"newText\":\"two\",\"expectedHash\":\"$hash\"}"
	claim "$3: has edited" is two
	claim "$3: meets a conflict" says conflict call "$server" "$era" edit_file \
		"{\"path\":\"a.txt\",\"oldText\":\"two\",\"newText\":\"three\",\"expectedHash\":\"$hash\"}"
	claim "$3: has not edited then" is two
	hash=$(sha256sum ws/a.txt | cut -c 1-16)
	claim "$3: recovers" says success call "$server" "$era" edit_file \
		"{\"path\":\"a.txt\",\"oldText\":\"two\",\"newText\":\"three\",\"expectedHash\":\"$hash\"}"
}

"$STET" serve ws >url &
server=$!
trap 'kill $server; rm -rf "$tap_dir"' EXIT
until [ -s url ]; do sleep 0.05; done
url=$(cat url)

claim 'stdio: the schemas are portable' inspect stdio --method tools/list --strict
claim 'HTTP: the schemas are portable' inspect "$url" --method tools/list --strict
go_through "$url" modern 'HTTP, modern'
claim 'stdio, legacy: calls' says a.txt call stdio legacy list_directory '{"path":"."}'
claim 'stdio, modern: calls' says a.txt call stdio modern list_directory '{"path":"."}'
claim 'HTTP, legacy: calls' says a.txt call "$url" legacy list_directory '{"path":"."}'
finish
