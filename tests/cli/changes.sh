#!/bin/bash
# stet changes: what a session that outlives its process should read again.
. "$(dirname "$0")/../lib/tap.sh"

mkdir repo
printf 'one\n' >repo/a
printf 'one\n' >repo/b
stet() { "$STET" --root repo --session me "$@"; }
is() { diff <(printf '%b' "$1") <("${@:2}" 2>/dev/null); }
says() { "${@:2}" 2>&1 | grep -qF -- "$1"; }

claim 'has nothing to say of a new session' is '' stet changes
stet read a >/dev/null
stet read b >/dev/null
claim 'has nothing to say of what is as it was read' is '' stet changes
printf 'two\n' >repo/a
rm repo/b
claim 'names what is not' is 'a\nb\n' sh -c '"$STET" --root repo --session me changes | sort'
claim 'prints JSON, with a clock' says '"clock":"c:' stet --json changes
claim 'answers a strange clock with everything' says '"fresh":true' stet --json changes c:1:1
stet read a >/dev/null
claim 'is satisfied by a read' is 'b\n' stet changes
claim 'refuses a second clock' exits 2 stet changes a b
finish
