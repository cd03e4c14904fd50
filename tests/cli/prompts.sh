#!/bin/bash
# stet prompt, compact and replay: what they print, and their exit statuses.
. "$(dirname "$0")/../lib/tap.sh"

says() { "${@:2}" 2>&1 | grep -qF -- "$1"; }
equal() { diff <("${@:2}") "$1"; }

echo '--- Repository State ---' >snapshot
echo 'You are a coder.' >template
cat >messages.json <<'END'
[{"role": "user", "content": "go"},
 {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}]},
 {"role": "tool", "tool_call_id": "a", "content": "one"},
 {"role": "assistant", "content": null, "tool_calls": [{"id": "b", "type": "function", "function": {"name": "x", "arguments": "{}"}}]},
 {"role": "tool", "tool_call_id": "b", "content": "two"}]
END
printf '%s\n' "$(tr '\n' ' ' <messages.json)" >joined.json

prompt=("$STET" prompt --snapshot snapshot)
compact=("$STET" compact --keep last --snapshot snapshot)
claim 'a prompt has the template' says '{"role":"system","content":"You are a coder.\n"}' "${prompt[@]}" --template template
claim 'and the snapshot' says '[Repo Snapshot]\n--- Repository State ---\n' "${prompt[@]}"
claim 'and the request' says '[Delta Request]\nFix it\n\nDO NOT recreate' "${prompt[@]}" --request 'Fix it'
claim 'takes the shape it is told' says '{"system":"You are' "${prompt[@]}" --template template --format anthropic
claim 'refuses another' exits 2 "${prompt[@]}" --format telex
claim 'says how many tokens it has' says ' tokens; left out: 0 replies' "${prompt[@]}" --verbose
claim 'compacts standard input' says '1 earlier reply, 1 tool result,' sh -c '"$@" <messages.json' - "${compact[@]}"
claim 'keeps the last exchange' says '"tool_call_id":"b","content":"two"' "${compact[@]}" messages.json
claim 'squashes the others' exits 1 says '"a"' "${compact[@]}" messages.json
claim 'hands the history back untouched' equal messages.json "${compact[@]}" --full messages.json
id=$(sha256sum messages.json | cut -c 1-16)
claim 'names the archive' says "Archive: $id" "${compact[@]}" --archive kept.jsonl messages.json
claim 'from which everything can be had again' equal joined.json "$STET" compact --archive kept.jsonl --restore "$id"
claim 'but nothing else' exits 1 "$STET" compact --archive kept.jsonl --restore 0000000000000000
claim 'refuses what is no list of messages' exits 2 "${compact[@]}" snapshot
claim 'refuses a file that is not there' exits 2 "${compact[@]}" nothing.json
claim 'does not compact what it cannot keep' exits 3 "${compact[@]}" --archive /no/such/dir/a messages.json

mkdir repo
printf 'package main\n' | "$STET" --root repo write main.go - >/dev/null
claim 'a snapshot names what was written' says '• main.go (' "$STET" --root repo snapshot
claim 'a prompt has the snapshot of the workspace' says '• main.go (' "$STET" --root repo prompt
printf 'x\n' >repo/other.py
claim 'a scan adds the others' says 'other.py' "$STET" --root repo snapshot --scan

"$STET_SOURCE_ROOT/tools/story" >story.jsonl
"$STET" replay story.jsonl | sed -n '/^metric/,$ p' | tr -s ' ' >measures
claim 'the story needs one write per file' says '44 writes of 4 files 4 writes yes' cat measures
claim 'and stays under 5,000 tokens' sh -c 'grep -Eq "^every turn in the budget up to [0-9]{2},[0-9]{3} tokens up to [0-4],[0-9]{3} tokens yes$" measures'
claim 'no prompt of it hides a loss' says '0 of 44 prompts hide one' cat measures
claim 'a restart in its middle is clean' says 'same state at turn 22, 0 writes refused, 4 of 4 files right yes' cat measures
claim 'it is complete after four turns' says ' 4 turns and ' cat measures
claim 'measures of success are all met' sh -c '[ "$(grep -c " yes$" measures)" = 5 ] && ! grep " no$" measures'
claim 'curves are drawn' says 'last exchange  ▁' "$STET" replay story.jsonl
claim 'a picture is drawn' sh -c '"$STET" replay --svg s.svg story.jsonl >/dev/null && grep -c "<polyline" s.svg | grep -qx 3'
claim 'prints JSON' says '{"turns":44,"files":4,"filesWritten":4,"writes":44' "$STET" --json replay story.jsonl
claim 'shows the snapshot' says '• cmd/main.go (' "$STET" replay --snapshot story.jsonl
claim 'names the line that is no row' says 'line 1 of the run' "$STET" replay messages.json
claim 'refuses an empty run' exits 2 "$STET" replay /dev/null
finish
