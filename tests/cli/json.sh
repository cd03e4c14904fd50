#!/bin/bash
# --json has one shape, whatever the command: each line of the output is an object, and there is one line, but
# for stet watch, which prints one for each event. Its status is success, conflict or error; with the last two
# come the name of the error and a message. docs/commands.md says the same. stet mcp speaks MCP, and stet hook
# answers as its client expects, in any case.
. "$(dirname "$0")/../lib/tap.sh"

PATH=$(dirname "$STET"):$PATH
export HOME=$tap_dir/home XDG_CONFIG_HOME=$tap_dir/home/.config
unset STET_ROOT STET_SESSION STET_TOKEN XDG_STATE_HOME
mkdir home work
cd work || exit 99
printf 'bread\nmilk\n' >list.txt
printf '# Server\n\n## Setup\n\nNone.\n' >guide.md
printf 'Keep lines short.\n' >AGENTS.md
printf '[{"role": "user", "content": "Write the parser."}]\n' >messages.json
printf '{"turn": 1, "tool": "write_file", "op": "write", "path": "p.c", "args": {"content": "int p;"}}\n' >run.jsonl
printf -- '--- a/shop.txt\n+++ b/shop.txt\n@@ -1 +1 @@\n-bread\n+cheese\n' >fix.patch
printf 'bread\n' >shop.txt
mkfifo fifo

# obeys STATUS MEMBER: the standard input is such an answer, with that status and that member.
obeys() {
	python3 -c '
import json, sys
status, member = sys.argv[1:]
text = sys.stdin.read()
lines = text.splitlines()
assert text.endswith("\n") and len(lines) == 1, text
answer = json.loads(lines[0])
assert isinstance(answer, dict), answer
assert answer["status"] == status, answer
assert member in answer, sorted(answer)
if status != "success":
    assert isinstance(answer["error"], str) and isinstance(answer["message"], str), answer
else:
    assert "error" not in answer, answer
' "$1" "$2"
}

# answers STATUS MEMBER ARGUMENT...: so does stet --json with these arguments, and its exit status agrees.
answers() {
	local status=$1 member=$2 code want=0
	shift 2
	stet --json "$@" >../first <../input
	code=$?
	[ "$status" = success ] || want=1
	[ $((code != 0)) -eq "$want" ] && obeys "$status" "$member" <../first
}

# Each line: a command, the status of its answer, a member of it, and the arguments.
while read -r command status member line; do
	commands="$commands $command:$status"
	printf 'oat milk\n' >../input
	case $command in record) echo '{"path": "list.txt"}' >../input ;; esac
	eval "set -- $line"
	claim "stet $line" answers "$status" "$member" "$@"
done <<'END'
read success totalLines read list.txt
read success content --session me read list.txt
read error message read nothing.txt
read error error read
read error error read list.txt --offset none
write success fileHash write new.txt
write error message write .git/new.txt
write conflict reason --session other write list.txt
edit success fileHash --session me edit list.txt milk tea
edit error message edit list.txt wine beer
replace success fileHash replace list.txt tea milk
replace error message replace list.txt wine beer
apply success files apply fix.patch
apply error message apply no-such.patch
patch success fileHash patch guide.md insert Done. --append-to Setup
patch error message patch guide.md delete --section Usage
inspect success structure inspect guide.md
inspect success matches inspect list.txt --search milk
inspect error message inspect fifo
grep success matches grep milk list.txt
grep success counts grep --mode count milk
grep error message grep milk fifo
check success files check list.txt guide.md
check error files check list.txt nothing.txt
hash success files hash list.txt guide.md
hash error files hash list.txt nothing.txt
agents success files agents
agents success files agents list.txt
agents error message agents ../..
snapshot success files snapshot
snapshot error message snapshot --budget none
story success storyId story LOGIN-7
story error message story ''
task success tasks task add 'write the parser'
task error message task done 77
record success files record write_file
record error message record
prompt success prompt prompt --request 'Go on.'
prompt error message prompt --template nothing.txt
compact success archive compact --keep last messages.json
compact success prompt --set useSnapshot=false compact messages.json
compact error message compact list.txt
compact error message compact --restore 0123456789abcdef --archive list.txt
replay success turns replay run.jsonl --snapshot
replay error message replay list.txt
log success writes log
log error message log ../..
undo success fileHash undo list.txt
undo error message undo nothing.txt
who success places who
who error message who list.txt
forecast success pairs forecast
forecast error message forecast ../elsewhere
show success writes show 1
show error message show 99999
diff success files diff --since 1h
diff error message diff --of nobody
changes success stale --session me changes
changes error message --session "$(printf 'a\nb')" changes
doctor success findings doctor
doctor error message --set nothing=1 doctor
setup success clients setup
setup success files setup claude --print
setup success changed setup claude
setup error message setup nobody
watch error message watch nothing
serve error message serve --listen 127.0.0.1:99999
mcp error message mcp nothing
page error message page --listen 127.0.0.1:99999
top success agents top --once
top error message top nothing
END

# One file of several that changed makes a conflict of the answer.
stet --session me read list.txt >../out 2>&1
echo butter >>list.txt
claim 'stet check says which file changed' answers conflict files --session me check list.txt guide.md

first_line() {
	local pid
	mkfifo ../line
	"$@" >../line 2>../complaints &
	pid=$!
	head -n 1 <../line >../first
	kill "$pid"
	wait "$pid"
	rm ../line
}
first_line stet serve --json
first_obeys() { obeys "$@" <../first; }
claim 'stet serve --json says where it is' first_obeys success url
claim 'and where its token is' first_obeys success tokenFile
commands="$commands serve:success"

first_line stet page --json
claim 'stet page --json says where it is' first_obeys success url
commands="$commands page:success"

first_line stet watch --json
claim 'stet watch --json begins with an object too' test "$(cat ../first)" = '{"event":"ready"}'
commands="$commands watch:success mcp:success hook:success"

# To an agent the exit status 2 of a hook means "block": it is 0 after an error too.
stet --json hook --nothing >../first
claim 'stet hook --nothing exits with 0' test $? -eq 0
claim 'and says in JSON what is wrong' first_obeys error message
commands="$commands hook:error"

# No command is left out.
is_covered() { case $commands in *" $1:$2"*) ;; *) false ;; esac; }
for command in $(stet --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	claim "stet $command answers in JSON when it is done" is_covered "$command" success
	claim "stet $command answers in JSON when it fails" is_covered "$command" error
done
claim 'without a command there is an answer too' answers error message
claim 'and for a command that there is not' answers error message raed list.txt
finish
