#!/bin/bash
# Two users of one machine: the second can do nothing through the first's server, socket or state.
. "$(dirname "$0")/../lib/tap.sh"

unset STET_TOKEN XDG_STATE_HOME
[ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>reason || {
	skip 'a second user can do nothing' "it takes root to be two users; run the tests as root"
	finish
}

# Two users that are not root, each with a home; the program where both can run it.
chmod 711 "$tap_dir"
mkdir -m 711 bin shared
cp "$STET" bin/stet
as_first=(setpriv --reuid 64001 --regid 64001 --clear-groups env HOME="$tap_dir/first")
first() { "${as_first[@]}" "$@"; }
second() { setpriv --reuid 64002 --regid 64002 --clear-groups env HOME="$tap_dir/second" "$@"; }
mkdir -m 700 first second
mkdir first/project
echo secret-of-the-first >first/project/a.txt
chmod 700 first/project
chmod 600 first/project/a.txt
chown -R 64001:64001 first
chown -R 64002:64002 second
chmod 777 shared
program=$tap_dir/bin/stet

# start OUTPUT ARG...: a server of the first user in the background; its process is $server.
start() {
	local output=$1
	shift
	(cd first/project && exec "${as_first[@]}" "$program" serve "$@" >"$tap_dir/$output" 2>&1) &
	server=$!
	for _ in {1..1200}; do
		[ -s "$output" ] && break
		sleep 0.05
	done
}
says() { "${@:2}" 2>&1 | grep -qF -- "$1"; }

# The client: python, where a call has no curl. ask USER WHERE TOKEN: read the file through the server.
cat >ask.py <<'end'
import http.client, json, socket, sys
where, token = sys.argv[1:]
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(where[5:])
if where.startswith('unix:'):
    server = Local('localhost')
else:
    server = http.client.HTTPConnection(where.split('/')[2])
meta = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
call = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call',
        'params': {'name': 'read_file', 'arguments': {'path': 'a.txt'}, '_meta': meta}}
headers = {'Content-Type': 'application/json', 'MCP-Protocol-Version': '2026-07-28',
           'Mcp-Method': 'tools/call', 'Mcp-Name': 'read_file'}
if token:
    headers['Authorization'] = 'Bearer ' + token
try:
    server.request('POST', '/mcp', json.dumps(call), headers)
except (BrokenPipeError, ConnectionResetError):
    # Turned away before it said anything.
    print(server.sock.recv(1000).decode())
    sys.exit()
answer = server.getresponse()
print(answer.status, '', flush=True)
print(answer.read().decode())
end
chmod 644 ask.py
token_of_first() { first cat "$tap_dir/first/.local/state/stet/token"; }

start url .
url=$(head -n 1 url)
claim 'the first user reads a file through the own server' \
	says secret-of-the-first first python3 ask.py "$url" "$(token_of_first)"
claim 'the second gets no answer there' says '401 ' second python3 ask.py "$url" ''
claim 'nor by guessing' says '401 ' second python3 ask.py "$url" "$(printf 'f%.0s' {1..64})"
claim 'nor the token' exits 1 second cat "$tap_dir/first/.local/state/stet/token"
claim 'nor by a token file of the first' says 'ermission denied' \
	second "$program" serve --token-file "$tap_dir/first/.local/state/stet/token" shared
kill "$server"

# The directory of the socket is open to all, and so is the socket's file in the worst case.
start socket --listen "unix:$tap_dir/shared/socket" .
claim 'the socket is for its user alone' test "$(stat -c '%a %u' shared/socket)" = '600 64001'
claim 'its user reads a file through it' \
	says secret-of-the-first first python3 ask.py "unix:$tap_dir/shared/socket" ''
claim 'the second cannot connect' says 'PermissionError' \
	second python3 ask.py "unix:$tap_dir/shared/socket" ''
chmod 777 shared/socket
claim 'and is refused by the server itself' says '403 ' \
	second python3 ask.py "unix:$tap_dir/shared/socket" ''
claim 'root is not' says secret-of-the-first python3 ask.py "unix:$tap_dir/shared/socket" ''
claim 'the second cannot take its place' says 'already exists' \
	second "$program" serve --listen "unix:$tap_dir/shared/socket" second
kill "$server"
wait "$server"
claim 'the socket goes with the server' test ! -e shared/socket

# A state directory that the second prepared for the first.
second mkdir -m 777 "$tap_dir/shared/stet"
claim 'a state directory of the second is refused' says 'not allowed' \
	first env XDG_STATE_HOME="$tap_dir/shared" timeout 10 "$program" serve "$tap_dir/first/project"
second sh -c "echo 0123456789abcdef0123 >'$tap_dir/shared/tokens'; chmod 644 '$tap_dir/shared/tokens'"
claim 'and a token file of the second' says 'belongs to another user' \
	first timeout 10 "$program" serve --token-file "$tap_dir/shared/tokens" "$tap_dir/first/project"
finish
