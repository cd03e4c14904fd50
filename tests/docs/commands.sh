#!/bin/bash
# The examples of each command's --help, which the man page and docs/commands.md have too, do what they
# say: all in one workspace, in their order. And what pages quote without running it is true.
. "$(dirname "$0")/../lib/tap.sh"

PATH=$(dirname "$STET"):$PATH
export HOME=$tap_dir/home XDG_CONFIG_HOME=$tap_dir/home/.config
unset STET_ROOT STET_SESSION STET_TOKEN XDG_STATE_HOME
# Every command goes by the configuration: the state directory of all of them is another one here.
mkdir -p home/project home/.config/stet work/src work/docs
printf '{"stateDir": ".maestro"}\n' >home/.config/stet/config.json
cd work || exit 99

# What the examples speak of.
printf '# Server\n\n## Setup\n\n1. Install it.\n2. Edit it.\n\n## Old news\n\nNone.\n' >README.md
seq -f 'int x%g;' 200 | tee src/main.c >main.c
printf 'port = 8080\n' >server.conf
printf 'hello\n' >config.json
printf '{}\n' >new.json
printf -- '--- a/server.conf\n+++ b/server.conf\n@@ -1 +1 @@\n-port = 9090\n+port = 9091\n' >fix.patch
printf '[{"oldText": "int x7;", "newText": "int y;"}]\n' >edits.json
printf 'teh milk, teh tea\n' >notes.md
printf 'You write code.\n' >coder.txt
printf '[{"role": "user", "content": "Write the parser."}]\n' | tee messages.json >request.json
printf '0123456789abcdef0123\n' >tokens
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
	-out cert.pem -keyout key.pem 2>/dev/null
chmod 600 tokens key.pem
printf '{"turn": 1, "tool": "write_file", "op": "write", "path": "p.c", "args": {"content": "int p;"}}\n' >run.jsonl
stet --session me edit request.json parser lexer >../prepared || exit 99
echo 0 >count.txt
for n in {0..11}; do
	stet --session reviewer edit count.txt "$n" "$((n + 1))" >>../prepared || exit 99
done

# begins LINE: what runs until it is ended prints its first line; the ports of examples may be taken.
begins() {
	local line=${1//:7070/:0} pid
	rm -f ../line
	mkfifo ../line
	sh -c "exec $line" >../line 2>../complaints &
	pid=$!
	read -r -t 60 first <../line
	kill "$pid"
	wait "$pid"
	cat ../complaints
	[ -n "$first" ]
}

example() {
	case $1 in
	'stet serve'* | 'stet watch'* | 'stet page'*) begins "$1" ;;
	# The hash is made up, and answered as one that is not in the archive.
	*--restore*) sh -c "$1" 2>&1 | grep -q '0123456789abcdef' ;;
	*) sh -c "$1" </dev/null ;;
	esac
}

count=0
for command in $(stet --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	stet "$command" --help | sed -n '/^Examples/,$s/^  \([^#].*\)/\1/p' >../examples
	claim "stet $command has an example" test -s ../examples
	while read -r line; do
		count=$((count + 1))
		claim "$line" example "$line"
	done <../examples
done
claim 'there are examples' test "$count" -gt 30
claim 'the state is where the configuration says' test -s .maestro/repostate.json
claim 'no command made another state directory' test -z "$(find .. -name .stet)"

# fenced PAGE HEADING: the first fenced block below a heading, its blanks folded.
fenced() { sed -n "/^## $2\$/,/^## /p" "$1" | awk '/^```/ { if (on) exit; on = 1; next } on' | tr -s ' \t\n' ' '; }
as_written() {
	rm -rf "$HOME" && mkdir "$HOME"
	stet setup "$2" --print 2>/dev/null | tr -s ' \t\n' ' ' >../printed
	fenced "$STET_SOURCE_ROOT/docs/clients.md" "$1" | diff ../printed -
}
while IFS=: read -r title name; do
	rm -rf .mcp.json
	claim "docs/clients.md has what stet setup $name writes" as_written "$title" "$name"
done <<'END'
Claude Code:claude
Codex:codex
Gemini CLI:gemini
Qwen Code:qwen
opencode:opencode
VS Code:vscode
Cursor:cursor
Zed:zed
END

# README shows the refusal as an agent gets it, and docs/example.c prints it.
in_readme() {
	awk '/^```text/ { on = 1; next } on && /^```/ { exit } on' "$STET_SOURCE_ROOT/README.md" | tr -s ' \n' ' '
}
call() {
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":%s}}\n' "$1" "$2" \
		'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
}
refused() {
	printf 'bread\nmilk\n' >list.txt
	call read_file '{"path": "list.txt"}' | stet --session readme mcp >../answer
	echo butter >>list.txt
	call edit_file '{"path": "list.txt", "edits": [{"oldText": "milk", "newText": "tea"}]}' |
		stet --session readme mcp >../answer
	python3 -c 'import json, sys; print(json.load(sys.stdin)["result"]["content"][0]["text"])' <../answer |
		tr -s ' \n' ' ' >../refusal
	in_readme | diff - ../refusal
}
claim 'README quotes the refusal as an agent gets it' refused
quoted() {
	tr -s ' \n' ' ' <"$STET_SOURCE_ROOT/docs/example.out" >../printed
	grep -qF "$(in_readme)" ../printed
}
claim 'and as docs/example.c prints it' quoted

# Lines of pages that cannot be run there, as those that serve: their options are understood.
understood() { eval "set -- $1"; "$@" --help >/dev/null; }
awk '/^```/ { on = !on } on' "$STET_SOURCE_ROOT"/docs/{serve,mcp,state,clients}.md |
	sed -nE 's/^(\$ )?(stet .*)/\2/p' >../lines
claim 'docs/serve.md shows how to serve' grep -q '^stet serve' ../lines
while read -r line; do
	claim "understood: $line" understood "$line"
done <../lines
finish
