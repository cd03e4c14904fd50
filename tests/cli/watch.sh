#!/bin/bash
# stet watch: its first line, a line for each change, and how it ends.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p repo/src repo/node_modules
printf '*.o\n' >repo/.gitignore
echo 1 >repo/src/a.c

# next LINE: the next line that the watcher prints is this one.
next() {
	local line
	IFS= read -r -t 60 -u "$out" line && [ "$line" = "$1" ] || { echo "got: $line"; return 1; }
}
says() { "${@:2}" 2>&1 | grep -qF -- "$1"; }

coproc stet { exec "$STET" --root repo watch 2>err; }
watcher=$stet_PID
exec {out}<&"${stet[0]}"

claim 'says that it is ready' next READY
echo 2 >repo/src/b.c
claim 'prints what appears' next $'add\tsrc/b.c'
echo 3 >repo/src/a.c
claim 'prints what changes' next $'change\tsrc/a.c'
touch repo/src/a.o repo/node_modules/m.js
rm repo/src/b.c
claim 'prints what goes, and nothing that is ignored' next $'unlink\tsrc/b.c'
mkdir -p repo/new/deep && touch repo/new/deep/file
claim 'watches new directories' next $'add\tnew/deep/file'
touch $'repo/one\nadd\ttwo'
claim 'prints a name with a line end in one line' next $'add\t"one\\nadd\\ttwo"'
kill "$watcher"
wait "$watcher"
claim 'ends well on a signal' test "$?" -eq 0
claim 'had nothing to complain about' test ! -s err

mkdir gone
coproc stet { exec "$STET" watch gone 2>err; }
watcher=$stet_PID
exec {out}<&"${stet[0]}"
claim 'takes the directory as an argument' next READY
rmdir gone
wait "$watcher"
claim 'fails when the directory goes' test "$?" -eq 2
claim 'and says so' grep -q 'gone' err

coproc stet { exec "$STET" --json watch repo; }
watcher=$stet_PID
exec {out}<&"${stet[0]}"
claim 'is ready in JSON too' next '{"event":"ready"}'
touch repo/json
claim 'prints JSON' next '{"event":"add","path":"json"}'
kill "$watcher"
wait "$watcher"

claim 'ends when nobody reads' sh -c 'timeout 60 "$STET" watch repo | { read -r ready; exec <&-; touch repo/x; echo "$ready"; }'
claim 'leaves no state behind' test ! -e repo/.stet
claim 'refuses a directory that is not there' exits 2 "$STET" watch no-such
claim 'refuses a file' exits 2 "$STET" watch repo/.gitignore
claim 'refuses an unknown option' exits 2 "$STET" watch --no-such
claim 'refuses a second directory' exits 2 "$STET" watch repo repo
claim 'says so when the output is lost' exits 3 sh -c '"$STET" watch repo >/dev/full'
claim 'prints help' says 'Usage: stet watch' "$STET" watch --help
finish
