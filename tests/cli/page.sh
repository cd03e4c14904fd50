#!/bin/bash
# stet page, and the page of stet serve: who may ask, and for what.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/server.sh"

umask 022
mkdir one home
echo one >one/a.txt
export HOME=$tap_dir/home
unset XDG_STATE_HOME STET_TOKEN STET_SESSION DISPLAY WAYLAND_DISPLAY

"$STET" --root one --session alice read a.txt >/dev/null
"$STET" --root one --session bob edit a.txt one two >/dev/null

lacks() { ! "${@:2}" | grep -qiF -- "$1"; }
with_host() { local host=$1; "${@:2}"; }
with_token() { local authorization="Authorization: Bearer $1\r\n"; "${@:2}"; }
without_token() { local authorization=; "$@"; }

start page --no-open one
host=127.0.0.1:$port
authorization="Authorization: Bearer $token\r\n"
claim 'prints an address with a token of this run' \
	grep -qxE 'http://127\.0\.0\.1:[0-9]+/#token=[0-9a-f]{48}' url
claim 'makes no token file' test ! -e home/.local/state/stet/token
claim 'serves the page to everybody' says ' 200 OK' without_token ask GET / ''
claim 'with a strict policy' says "default-src 'none'; script-src 'self'" ask GET / ''
claim 'serves the history with a token' says '"path":"a.txt"' ask GET /api/v1/history ''
claim 'as JSON that no cache keeps' says 'Cache-Control: no-store' ask GET /api/v1/history ''
# The bytes of the files that the page consists of; each is embedded as it is.
files() { cat "$STET_SOURCE_ROOT"/page/*; }
served() { diff <(without_token ask GET "/$1" '' | sed '1,/^\r$/d') "$STET_SOURCE_ROOT/page/$1"; }
claim 'the page has at most 60 KB' test "$(files | wc -c)" -le 61440
claim 'and asks no other host' exits 1 grep -qE 'https?://|//[a-z]+\.' <(files)
for file in "$STET_SOURCE_ROOT"/page/*; do
	claim "$(basename "$file") is served as it is" served "$(basename "$file")"
done
claim 'has no CORS headers' lacks access-control ask GET /api/v1/history "Origin: http://$host\r\n"
claim 'no token: 401' says ' 401 ' without_token ask GET /api/v1/history ''
claim 'wrong token: 401' says ' 401 ' with_token 0123456789abcdef0123456789abcdef ask GET /api/v1/history ''
claim 'a token in the query is none' says ' 401 ' without_token ask GET "/api/v1/history?token=$token" ''
claim 'foreign Host: 403, with a token too' says ' 403 ' with_host evil.example ask GET /api/v1/history ''
claim 'foreign Host: 403 for static files' says ' 403 ' with_host "evil.example:$port" ask GET / ''
claim 'foreign Origin: 403' says ' 403 ' ask GET /api/v1/history 'Origin: http://evil.example\r\n'
claim 'another port of localhost is another origin' says ' 403 ' ask GET /api/v1/history 'Origin: http://127.0.0.1:1\r\n'
claim 'Origin null: 403' says ' 403 ' ask GET /api/v1/history 'Origin: null\r\n'
claim 'a request that another site caused: 403' says ' 403 ' ask GET /api/v1/history 'Sec-Fetch-Site: cross-site\r\n'
claim 'a preflight is refused' says ' 40' ask OPTIONS /api/v1/undo "Origin: http://$host\r\nAccess-Control-Request-Method: POST\r\n"
for path in /../a.txt /..%2fa.txt /%2e%2e/a.txt /app.js/../a.txt /a.txt //a.txt /.stet/stet.db; do
	claim "$path is not there" says ' 404 ' ask GET "$path" ''
done
claim 'an encoded path of the interface is not there' says ' 404 ' ask GET /api%2fv1/history ''
claim 'an unknown section: 400, with the list' says 'The sections are: now' ask GET /api/v1/nothing ''
claim 'no such write: 404' says 'There is no write 99' ask GET '/api/v1/write?id=99' ''
claim 'an id that is no number: 400' says '"id\" takes the number' ask GET '/api/v1/write?id=one' ''
claim 'for a conflict, too' says '"id\" takes the number' ask GET '/api/v1/conflict' ''
claim 'a search for what is no UTF-8: 400, not everything' says ' 400 ' ask GET '/api/v1/history?path=%ff' ''
claim 'no such workspace: 404' says ' 404 ' ask GET '/api/v1/now?ws=7' ''
claim 'a search with odd letters finds nothing' says '"writes":[]' ask GET '/api/v1/history?path=%3Cscript%3E' ''
claim 'a file of the tree is no section' says ' 400 ' ask GET /api/v1/a.txt ''
claim 'nor is one above' says ' 400 ' ask GET /api/v1/../../a.txt ''
claim 'POST to a section: 405' says ' 405 ' ask POST /api/v1/history '' '{}'
claim 'undo is refused without --allow-undo' says 'start it with --allow-undo' \
	ask POST /api/v1/undo 'Content-Type: application/json\r\nX-Stet-Page: 1\r\n' '{"id":1}'
claim 'there is no MCP' says ' 404 ' ask POST /mcp '' '{}'
claim 'ends on a signal' stop

undo() { ask POST /api/v1/undo 'Content-Type: application/json\r\nX-Stet-Page: 1\r\n' "$1"; }
expected() { undo "$1" | sed -n 's/.*"expected":"\([0-9a-f]*\)".*/\1/p'; }
start page --no-open --allow-undo one
host=127.0.0.1:$port
authorization="Authorization: Bearer $token\r\n"
claim 'undo needs the header of the page' says ' 403 ' ask POST /api/v1/undo 'Content-Type: application/json\r\n' '{"id":1}'
claim 'undo needs JSON' says ' 403 ' ask POST /api/v1/undo 'Content-Type: text/plain\r\nX-Stet-Page: 1\r\n' '{"id":1}'
claim 'undo is a POST' says ' 405 ' ask GET /api/v1/undo 'X-Stet-Page: 1\r\n'
claim 'undo needs a write' says ' 400 ' undo '{}'
claim 'undo needs valid JSON' says ' 400 ' undo '{'
claim 'nor a file elsewhere' says ' 400 ' undo '{"agent":"bob","path":"../../etc/passwd"}'
claim 'a preview changes nothing' says '"expected":"' undo '{"id":1}'
claim 'the file is as it was' grep -qx two one/a.txt
claim 'another digest: 409, with the new preview' says ' 409 ' undo '{"id":1,"expected":"00"}'
digest=$(expected '{"id":1}')
"$STET" --root one --session carol edit a.txt two 'two and' >/dev/null
claim 'a file that changed since the preview: 409' says ' 409 ' undo "{\"id\":1,\"expected\":\"$digest\"}"
claim 'and its change is still there' grep -qx 'two and' one/a.txt
digest=$(expected '{"id":2}')
claim 'with the digest of the preview it is undone' says ' 200 ' undo "{\"id\":2,\"expected\":\"$digest\"}"
claim 'the file is what it was' grep -qx two one/a.txt
digest=$(expected '{"id":2,"redo":true}')
claim 'and is redone' says ' 200 ' undo "{\"id\":2,\"redo\":true,\"expected\":\"$digest\"}"
claim 'the file has the change again' grep -qx 'two and' one/a.txt
claim 'what was undone cannot be undone again' says 'already undone' undo '{"id":3}'
ask GET /api/v1/stream '' >lines &
for _ in {1..200}; do
	grep -q changes lines && break
	sleep 0.05
done
claim 'a stream tells of changes' grep -qE '^\{"changes":[0-9]+\}' lines
claim 'ends on a signal while a client listens' stop

# The browser: a program in its place keeps what it is given, and runs on until the test lets it end.
mkdir bin run
mkfifo closed
cat >bin/xdg-open <<'END'
#!/bin/sh
printf '%s\n' "$@" >arguments
cp "$1" shown
exec cat closed
END
chmod +x bin/xdg-open
on_desktop() {
	PATH=$tap_dir/bin:$PATH DISPLAY=:9 XDG_RUNTIME_DIR=$tap_dir/run \
		script -qec "echo \$\$ >pid; exec '$STET' page $1 one" /dev/null </dev/null >url
}
await() { for _ in {1..600}; do "$@" && return; sleep 0.05; done; return 1; }
opens_the_page() { grep -qF "$(tr -d '\r' <url)" shown; }
if script -qec true /dev/null </dev/null >script.out 2>&1; then
	on_desktop '' &
	desktop=$!
	claim 'on a desktop it opens the browser' await test -s shown
	claim 'at its address' opens_the_page
	claim 'which is not among the arguments that others see' lacks token cat arguments
	claim 'but in a file of this user alone' test "$(stat -c %a "$(cat arguments)")" = 600
	port=$(sed 's|.*:\([0-9]*\)/.*|\1|' url | tr -d '\r')
	host=127.0.0.1:$port
	claim 'it answers while the browser runs' says ' 200 OK' without_token ask GET / ''
	kill "$(cat pid)"
	wait "$desktop"
	claim 'when it ends the file is gone' test ! -e "$(cat arguments)"
	: >closed
	rm -f shown pid url
	on_desktop --no-open &
	desktop=$!
	claim 'with --no-open it only prints the address' await grep -q token= url
	kill "$(cat pid)"
	wait "$desktop"
	claim 'and opens nothing' test ! -e shown
else
	skip 'on a desktop it opens the browser' 'there are no terminals here'
fi

start serve --page one
host=127.0.0.1:$port
own=$(cat home/.local/state/stet/token)
claim 'serve --page says where the page is' grep -qx "page: http://127.0.0.1:$port/" url
claim 'and does not print the token into a file' exits 1 grep -qF "$own" url
authorization="Authorization: Bearer $own\r\n"
claim 'it serves the page' says ' 200 OK' ask GET / ''
claim 'it serves the history' says '"path":"a.txt"' ask GET /api/v1/history ''
claim 'it serves MCP' says ' 4' ask POST /mcp 'Content-Type: application/json\r\n' '{}'
claim 'it ends' stop
start serve one
host=127.0.0.1:$port
claim 'without --page there is none' says ' 404 ' ask GET / ''
claim 'nor its interface' says ' 404 ' ask GET /api/v1/history ''
claim 'it ends as well' stop
finish
