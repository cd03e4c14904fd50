#!/bin/bash
# The reverse proxy of docs/serve.md, as printed there, with a real nginx.
. "$(dirname "$0")/../lib/tap.sh"

for program in nginx curl; do
	command -v "$program" >/dev/null || {
		skip 'the nginx of docs/serve.md works' "there is no $program"
		finish
	}
done
[ "$(id -u)" -eq 0 ] || {
	skip 'the nginx of docs/serve.md works' 'its workers have to run as the user of the server: needs root'
	finish
}

mkdir one logs
echo hello >one/a.txt
"$STET" serve --listen "unix:$tap_dir/stet.sock" one >url &
server=$!
sed -n '/^location \/mcp {/,/^}/p' "$STET_SOURCE_ROOT/docs/serve.md" | sed "s|/run/stet|$tap_dir|" >location
cat >nginx.conf <<END
user root;
daemon off;
pid $tap_dir/nginx.pid;
error_log $tap_dir/logs/error.log;
events {}
http {
	access_log off;
	client_body_temp_path $tap_dir/logs/body;
	proxy_temp_path $tap_dir/logs/proxy;
	fastcgi_temp_path $tap_dir/logs/fastcgi;
	uwsgi_temp_path $tap_dir/logs/uwsgi;
	scgi_temp_path $tap_dir/logs/scgi;
	server {
		listen unix:$tap_dir/front.sock;
		include $tap_dir/location;
	}
}
END
until [ -s url ]; do read -rt 0.05 <> <(:); done
nginx -e logs/error.log -p "$tap_dir" -c nginx.conf &
proxy=$!
trap 'kill $proxy $server 2>/dev/null; rm -rf "$tap_dir"' EXIT
until [ -S front.sock ] || ! kill -0 "$proxy" 2>/dev/null; do read -rt 0.05 <> <(:); done

post() { curl -sS --max-time 20 --unix-socket front.sock http://team.example/mcp -H 'Content-Type: application/json' "$@"; }
version='MCP-Protocol-Version: 2026-07-28'
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
answer=$(post -H "$version" -H 'Mcp-Method: tools/call' -H 'Mcp-Name: read_file' \
	-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},'"$meta"'}}' 2>&1)
holds() { [[ $1 == *"$2"* ]] || { echo "$1"; return 1; }; }
claim 'a client reads a file through the proxy' holds "$answer" hello
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
post -D headers -o /dev/null -d "$initialize"
session=$(tr -d '\r' <headers | sed -n 's/^Mcp-Session-Id: //Ip')
claim 'a client begins a session through the proxy' test -n "$session"
post -H "Mcp-Session-Id: $session" -o /dev/null -d \
	'{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file://'"$(realpath one/a.txt)"'"}}'
mkfifo stream
curl -sSN --max-time 20 --unix-socket front.sock http://team.example/mcp -H 'Accept: text/event-stream' \
	-H "Mcp-Session-Id: $session" >stream &
exec 7<stream
echo more >>one/a.txt
updated() { timeout 20 grep -q -m 1 'resources/updated' <&7; }
claim 'an event arrives through the proxy while the stream is open' updated
kill "$proxy" "$server"
wait "$proxy" "$server" 2>/dev/null
[ ! -s logs/error.log ] || sed 's/^/# /' logs/error.log
finish
