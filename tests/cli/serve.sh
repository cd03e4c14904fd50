#!/bin/bash
# stet serve: where it listens, who may come in, how it ends.
. "$(dirname "$0")/../lib/tap.sh"

mkdir one two
echo hello >one/a.txt
echo secret-of-the-first-agent >tokens

# start [ARG...]: a server in the background, which listens at $port.
start() {
	rm -f url pid status
	("$STET" serve "$@" >url 2>complaints & echo $! >pid; wait $!; echo $? >status) &
	for _ in {1..1200}; do
		[ -s url ] && break
		sleep 0.05
	done
	port=$(sed 's|.*:||; s|/mcp$||' url)
}

# stop: have it end, and as it should.
stop() {
	kill -TERM "$(cat pid)"
	for _ in {1..1200}; do
		[ -s status ] && break
		sleep 0.05
	done
	[ "$(cat status)" -eq 0 ]
}

# ask METHOD PATH HEADERS [BODY]: the answer of the server.
ask() {
	local body=${4-}
	exec 5<>"/dev/tcp/127.0.0.1/$port" || return
	printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%b' "$1" "$2" "$3" >&5
	printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body" >&5
	timeout 10 cat <&5
	exec 5>&-
}

says() { "${@:2}" | grep -qF -- "$1"; }
list='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
headers='Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n'

start one two
claim 'prints its URL, on this machine' grep -qx 'http://127\.0\.0\.1:[0-9]*/mcp' url
claim 'answers to MCP' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'is well' says '200 OK' ask GET /healthz ''
read='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
claim 'reads a file' says 'hello' ask POST /mcp \
	"${headers/list/call}Mcp-Name: read_file\r\n" "$read"
claim 'counts calls' says 'stet_calls_total{tool="read_file",outcome="ok"} 1' ask GET /metrics ''
claim 'has metrics' says 'stet_kept_total 0' ask GET /metrics ''
claim 'ends on a signal' stop
claim 'complains of nothing' diff -u /dev/null complaints

start --tools text one
claim 'offers the tools that were picked' says '"name":"text_replace"' ask POST /mcp "$headers" "$list"
claim 'and no others' exits 1 says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'ends then too' stop

start --token-file tokens one
claim 'asks for the token' says '401 Unauthorized' ask POST /mcp "$headers" "$list"
claim 'takes the token' says '"name":"read_file"' \
	ask POST /mcp "${headers}Authorization: Bearer secret-of-the-first-agent\r\n" "$list"
claim 'ends with tokens' stop

export STET_TOKEN=secret-of-the-second-agent
start --listen 0.0.0.0:0 one
unset STET_TOKEN
claim 'takes a token from the environment' says '"name":"read_file"' \
	ask POST /mcp "${headers}Authorization: Bearer secret-of-the-second-agent\r\n" "$list"
claim 'ends with that' stop

claim 'does not listen to others without a token' exits 2 "$STET" serve --listen 0.0.0.0:0 one
claim 'refuses an address that is none' exits 2 "$STET" serve --listen nowhere:x one
claim 'refuses a short token' exits 2 "$STET" serve --token-file one/a.txt one
claim 'refuses a directory that is not there' exits 2 "$STET" serve three
claim 'refuses a group that is not there' exits 2 "$STET" serve --tools fish one
claim 'leaves no state behind' test ! -e one/.stet
finish
