#!/bin/bash
# What is printed to a terminal and what to a pipe: colours, control characters, tables, progress.
. "$(dirname "$0")/../lib/tap.sh"

unset NO_COLOR STET_SESSION STET_ROOT
export HOME=$tap_dir TERM=xterm
PATH=$(dirname "$STET"):$PATH
esc=$'\033'
printf 'bread\nmilk\n' >list.txt

# on_terminal COMMAND: what it prints there, with its exit status.
on_terminal() { script -qec "$1" /dev/null </dev/null; }
shows() { on_terminal "$2" | grep -qF -- "$1"; }
hides() { ! on_terminal "$2" | grep -qF -- "$1"; }
pipes() { sh -c "$2" 2>&1 | grep -qF -- "$1"; }
quiet() { ! sh -c "$2" 2>&1 | grep -qF -- "$1"; }

if [ "$(on_terminal 'echo here' 2>/dev/null)" != $'here\r' ]; then
	skip 'colours and progress on a terminal' 'there are no terminals here'
	finish
fi

claim 'a diff has colours on a terminal' shows "${esc}[32m+tea" 'stet edit list.txt milk tea --dry-run'
claim 'and none in a pipe' quiet "$esc" 'stet edit list.txt milk tea --dry-run'
claim 'NO_COLOR turns them off' hides "${esc}[" 'NO_COLOR=1 stet edit list.txt milk tea --dry-run'
claim 'so does a terminal that has none' hides "${esc}[" 'TERM=dumb stet edit list.txt milk tea --dry-run'
claim '--color never does too' hides "${esc}[" 'stet --color never edit list.txt milk tea --dry-run'
claim '--color always colours in a pipe' pipes "${esc}[32m" 'stet --color always edit list.txt milk tea --dry-run'

printf 'red \033[31m alert\n' >escape.txt
claim 'what a file says does not command a terminal' hides "${esc}[31m" 'stet read --no-agents escape.txt'
claim 'and is itself in a pipe' pipes "${esc}[31m" 'stet read --no-agents escape.txt'

# Neither in its bytes nor in its name. 0x9B and U+009B are what ESC [ is.
csi8=$'\x9b' csi=$'\xc2\x9b'
odd=$'n\033[31m\xc2\x9b31m\xe2\x80\xae.txt'
printf 'eight bits \x9b31m, two bytes \xc2\x9b31m, backwards \xe2\x80\xae\n' >c1.txt
printf 'x\n' >"$odd"
clean() { # COMMAND: prints something, and of all that nothing that a terminal obeys
	on_terminal "$1" >printed
	[ -s printed ] && ! LC_ALL=C grep -qP '\x1b|\xc2\x9b|(?<![\xc0-\xff])\x9b|\xe2\x80\xae' printed
}
export odd NO_COLOR=1
claim 'the byte 0x9B and U+009B of a file do not command a terminal' clean 'stet read --no-agents c1.txt'
claim 'nor do those of a diff' clean 'stet edit c1.txt bits Bits --dry-run'
claim 'nor a name that stet hash prints' clean 'stet hash "$odd"'
claim 'nor one that stet check prints' clean 'stet check "$odd"'
claim 'nor one in the JSON of stet hash' clean 'stet --json hash "$odd"'
claim 'nor one in a complaint' clean 'stet read "$odd/x"; true'
stet edit "$odd" x y >/dev/null
claim 'nor one in the log' clean 'stet log'
claim 'nor one in stet top' clean 'stet top --once'
ends_with_q() { printf q | script -qec 'stet top' /dev/null | grep -qF "${esc}[?1049l"; }
claim 'stet top ends with q, and gives the screen back' ends_with_q
mkdir -p "many/${long:=$(printf 'long%.0s' {1..30})}"
for i in {1..20}; do
	stet --root many --session "worker-$i" write "$long/file-$i.c" <list.txt >/dev/null
done
# picture LINES COLUMNS: the first one of stet top on a terminal of this size.
picture() {
	printf q | script -qec "stty rows $1 cols $2; stet --root many top" /dev/null |
		tr -d '\r' | sed -n '/\[?2026h/,/\[?2026l/p' | sed 's/\x1b\[[?0-9]*[A-Za-z]//g'
}
fits() { [ "$(picture "$1" "$2" | tee printed | wc -l)" -le "$1" ] && [ "$(wc -L <printed)" -le "$2" ]; }
for size in '24 80' '30 80' '50 200'; do
	# shellcheck disable=SC2086 # two numbers
	claim "stet top fits a screen of $size" fits $size
done
claim 'and shows who changed a file with a long path, and the end of the path' \
	grep -qE 'created  ….*/file-20\.c  worker-20$' <(picture 24 80)
sqlite3 .stet/stet.db "UPDATE writes SET session = 'x' || char(27, 10) || 'y'"
claim 'a name that came with the state stays on its line, in a pipe too' \
	test "$(stet log | grep -c 'x\\u001b\\ny')" = 1
claim 'nor one in the snapshot' clean 'stet snapshot'
claim 'nor one in the header of a diff' clean 'stet edit "$odd" y z --dry-run'
watched() { # what stet watch says of a file of that name
	coproc watch { exec script -qec 'stet watch' /dev/null; }
	local line pid=$watch_PID
	IFS= read -r line <&"${watch[0]}" && printf 'y\n' >"2$odd"
	IFS= read -r line <&"${watch[0]}"
	kill "$pid"
	wait "$pid" 2>/dev/null
	printf '%s\n' "$line" >watched
	grep -q '^add.*2n' watched && clean 'cat watched'
}
claim 'nor one that stet watch prints' watched
unset NO_COLOR

# Columns stand below each other on the screen, however many bytes their text has.
stet --session 漢字 edit list.txt milk 茶 >/dev/null
stet --session ascii edit list.txt bread toast >/dev/null
column() { # NAME: on which column of the screen "list.txt" begins in its line
	stet log | grep " $1 " | python3 -c '
import sys, unicodedata
line = sys.stdin.read().split("list.txt")[0]
print(sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line))'
}
aligned() { [ "$(column ascii)" -gt 30 ] && [ "$(column 漢字)" = "$(column ascii)" ]; }
claim 'tables are aligned by how wide text is' aligned

# A state that somebody holds for seconds: there is something to wait for.
held() {
	sqlite3 .stet/stet.db 'PRAGMA locking_mode = EXCLUSIVE' 'BEGIN EXCLUSIVE' ".shell $1" >out 2>&1
	grep -qF 'is locked by another process' out
}
says_so() { held 'script -qec "stet task list" /dev/null </dev/null' && grep -qF 'Working ...' out; }
is_quiet() { held 'stet task list' && ! grep -qF 'Working' out; }
claim 'what takes long is said on a terminal' says_so
claim 'and not in a pipe' is_quiet
finish
