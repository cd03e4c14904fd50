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
