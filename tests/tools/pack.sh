#!/bin/bash
# make npm and make static: what is packed runs by itself, and answers as a server.
. "$(dirname "$0")/../lib/tap.sh"

if ! command -v npm >/dev/null; then
	skip 'the npm package answers' 'there is no npm'
	finish
fi
export npm_config_cache=$tap_dir/cache npm_config_update_notifier=false npm_config_fund=false

pack() { "$STET_SOURCE_ROOT/tools/pack" "$1" "$STET_BUILD_ROOT" "$tap_dir/dist" >"packed-$1"; }

claim 'the npm package can be packed' pack npm
mkdir empty
cd empty || exit 99
claim 'it installs from its tarball, without a network or scripts' \
	npm install --offline --ignore-scripts --no-audit --silent "$(cat ../packed-npm)"

cat >requests <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
END
discover='{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}'
answers() { # PATTERN, requests on standard input
	npx --offline stet-mcp mcp >out 2>err
	grep -q "$1" out || {
		cat out err
		return 1
	}
}
answers_file() { answers "$1" <requests; }
answers_line() { answers "$2" <<<"$1"; }
claim 'npx answers initialize' answers_file '"protocolVersion":"2025-11-25"'
claim 'npx lists the tools' answers_file '"name":"edit_file"'
claim 'npx answers server/discover' answers_line "$discover" '"2026-07-28"'
claim 'the version is that of the program' \
	test "$(sed -n 's/.*"version": "\(.*\)".*/\1/p' node_modules/stet-mcp/package.json)" = \
	"$("$STET" --version | cut -d ' ' -f 2)"
cd ..

claim 'an archive can be packed' pack tar
claim 'it unpacks' tar -xzf "$(cat packed-tar)"
claim 'what was unpacked runs' sh -c './stet-*/bin/stet --version'
names_the_version() {
	local version
	version=$("$STET" --version | cut -d ' ' -f 2)
	[ "$(grep -c "\"version\": \"$version\"" "$STET_SOURCE_ROOT/server.json")" = 2 ] &&
		grep -q "\"version\": \"$version\"" "$STET_SOURCE_ROOT/npm/package.json"
}
claim 'server.json and package.json have the version of the program' names_the_version
finish
