#!/bin/bash
# stet serve: where it listens, who may come in, how it ends.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/server.sh"

umask 022
mkdir one two home
echo hello >one/a.txt
(umask 077; echo secret-of-the-first-agent >tokens)
export HOME=$tap_dir/home
unset XDG_STATE_HOME STET_TOKEN

complaint() { timeout 10 "$STET" "$@" 2>&1; }
list='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
headers='Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n'

# Who has a token, and who has not.
own=$HOME/.local/state/stet/token
bearer() { authorization="Authorization: Bearer $1\r\n"; }

# A name that is exported for the commands is no name for all clients.
export STET_SESSION=me

start serve one two
claim 'prints its URL, on this machine' grep -qx 'http://127\.0\.0\.1:[0-9]*/mcp' url
claim 'prints where the token is' grep -qx "token file: $own" url
claim 'does not print the token into a file' exits 1 grep -qf "$own" url
claim 'makes a token of 256 bits' grep -qxE '[0-9a-f]{64}' "$own"
claim 'which is for its user alone' test "$(stat -c %a "$own" "${own%/*}" | xargs)" = '600 700'
claim 'asks for it on this machine too' says '401 Unauthorized' ask POST /mcp "$headers" "$list"
claim 'says where it is' says "$own" ask POST /mcp "$headers" "$list"
claim 'but not what it is' exits 1 says "$(cat "$own")" ask POST /mcp "$headers" "$list"
claim 'tells nobody else what it did' says '401 Unauthorized' ask GET /metrics ''
claim 'is well, for everybody' says '200 OK' ask GET /healthz ''
bearer "$(cat "$own")"
claim 'answers to MCP' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'is well' says '200 OK' ask GET /healthz ''
read='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
claim 'reads a file' says 'hello' ask POST /mcp \
	"${headers/list/call}Mcp-Name: read_file\r\n" "$read"
claim 'counts calls' says 'stet_calls_total{tool="read_file",outcome="ok"} 1' ask GET /metrics ''
claim 'has metrics' says 'stet_rescued_total 0' ask GET /metrics ''
claim 'ends on a signal' stop
claim 'complains of nothing' diff -u /dev/null complaints

cp "$own" before
start serve one
claim 'the next one has the same token' cmp "$own" before
claim 'ends too' stop

# Somebody else's, or for everybody to read.
chmod 644 "$own"
claim 'refuses its token if others can read it' exits 3 "$STET" serve one
claim 'and says so' says "chmod 600" complaint serve one
chmod 600 "$own"
chmod 777 "${own%/*}"
claim 'refuses a directory that others can change' says 'not allowed' complaint serve one
chmod 700 "${own%/*}"
homeless() { HOME=$PWD/nowhere complaint "$@"; }
claim 'makes no home directory' says 'set HOME or XDG_STATE_HOME' homeless serve one

start serve --no-auth one
claim 'warns of --no-auth' grep -q 'warning: .*every user' complaints
authorization=
claim 'asks for no token then' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'ends without authentication' stop
claim 'refuses --no-auth beyond this machine' says 'not allowed' \
	complaint serve --no-auth --listen 0.0.0.0:0 one
claim 'refuses --no-auth with a token' says 'not allowed' \
	complaint serve --no-auth --token-file tokens one

bearer "$(cat "$own")"
start serve --tools text one
claim 'offers the tools that were picked' says '"name":"text_replace"' ask POST /mcp "$headers" "$list"
claim 'and no others' exits 1 says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'ends then too' stop

start serve --token-file tokens one
claim 'asks for the token' says '401 Unauthorized' ask POST /mcp "$headers" "$list"
claim 'names the file' says ' tokens ' ask POST /mcp "$headers" "$list"
bearer secret-of-the-first-agent
claim 'takes the token' says '"name":"read_file"' ask POST /mcp "$headers" "$list"

# wait_for TEXT: it complains of that.
wait_for() {
	for _ in {1..1200}; do
		grep -qF -- "$1" complaints && return
		sleep 0.05
	done
	return 1
}
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
session=$(ask POST /mcp 'Content-Type: application/json\r\n' "$initialize" | tr -d '\r' | sed -n 's/^Mcp-Session-Id: //p')
claim 'begins a session' test -n "$session"
echo secret-of-the-next-agent >tokens
kill -HUP "$(cat pid)"
claim 'SIGHUP has the tokens read again' wait_for 'The 1 token was reloaded.'
claim 'the old one is worth nothing' says '401 Unauthorized' ask POST /mcp "$headers" "$list"
bearer secret-of-the-next-agent
claim 'the new one is taken' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'sessions of the old one have ended' says 'stet_sessions 0' ask GET /metrics ''
chmod 644 tokens
kill -HUP "$(cat pid)"
claim 'what it cannot take, it says' wait_for 'The tokens were not reloaded'
claim 'and goes on with what it has' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
chmod 600 tokens
claim 'ends with tokens' stop

export STET_TOKEN=secret-of-the-second-agent
start serve --listen 0.0.0.0:0 --insecure one
unset STET_TOKEN
bearer secret-of-the-second-agent
claim 'takes a token from the environment' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'ends with that' stop

# A program that starts stet serve as systemd does: its socket is descriptor 3.
cat >activate <<'END'
#!/usr/bin/env python3
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(os.environ["REAL_STET"], ["stet", *sys.argv[1:]])
END
chmod +x activate
export REAL_STET=$STET
STET=$PWD/activate
start serve --listen systemd --token-file tokens one
STET=$REAL_STET
bearer secret-of-the-next-agent
claim 'takes the socket of systemd' says '"name":"read_file"' ask POST /mcp "$headers" "$list"
claim 'and ends with it' stop
if command -v systemd-analyze >/dev/null; then
	mkdir -p units bin && ln -sf "$STET" bin/stet
	sed "s|/usr/bin/stet|$PWD/bin/stet|; s|^User=.*||" "$STET_SOURCE_ROOT/systemd/stet.service" >units/stet.service
	cp "$STET_SOURCE_ROOT/systemd/stet.socket" units
	claim 'has units that systemd understands' systemd-analyze verify --man=no units/stet.service units/stet.socket
else
	skip 'has units that systemd understands' 'there is no systemd-analyze'
fi

claim 'does not listen to others without a token' exits 2 "$STET" serve --listen 0.0.0.0:0 one
claim 'nor without a certificate' says '--tls-cert' complaint serve --listen 0.0.0.0:0 --token-file tokens one
claim 'refuses an address that is none' exits 2 "$STET" serve --listen nowhere:x one
claim 'refuses a port that is none' exits 2 timeout 10 "$STET" serve --listen 127.0.0.1:99999 one
claim 'and says so too' says 'out of range' complaint serve --listen 127.0.0.1:99999 one
claim 'refuses tokens that others can read' says 'chmod 600' complaint serve --token-file one/a.txt one
mkfifo -m 600 pipe
claim 'does not wait for a pipe' says 'not a regular file' complaint serve --token-file pipe one
chmod 600 one/a.txt
claim 'refuses a short token' exits 2 "$STET" serve --token-file one/a.txt one
claim 'refuses a directory that is not there' exits 1 "$STET" serve three
claim 'refuses a group that is not there' exits 2 "$STET" serve --tools fish one
claim 'leaves no state behind' test ! -e one/.stet
finish
