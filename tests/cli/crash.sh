#!/bin/bash
# A crash of the machine: what has reached the disk when a write is acknowledged is enough to find it there. The
# disk is a file; what it holds at that moment is copied, as a crash would leave it, repaired and looked at.
. "$(dirname "$0")/../lib/tap.sh"

PATH=$PATH:/usr/sbin:/sbin

unmount() {
	umount now later 2>/dev/null
	rm -rf "$tap_dir"
}
trap unmount EXIT
mkdir now later

# A filesystem with a file that is safely on the disk.
lay_disk() {
	truncate -s 32M disk && mkfs.ext4 -q -F -O "$1" disk && mount -o loop disk now &&
		echo old >now/a.txt && sync -f now/a.txt
}

# ask METHOD PARAMS: the answer of the server.
ask() {
	printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2" >&5
	read -r -t 60 answer <&6 && [[ $answer == *'"result"'* ]]
}

# write TOOL ARGUMENTS: it succeeds.
write() {
	ask tools/call "{\"name\":\"$1\",\"arguments\":$2}" && [[ $answer == *'"result"'* && $answer != *'"isError"'* ]]
}

# write_and_crash DURABILITY TOOL ARGUMENTS: a first write, this one, and a copy of the disk as soon as it is
# answered. With the first one the state comes into being, for which more is synced than for a write.
write_and_crash() {
	local status=0 pid
	rm -f questions answers
	mkfifo questions answers
	"$STET" mcp --durability "$1" now <questions >answers &
	pid=$!
	exec 5>questions 6<answers
	ask initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"crash","version":"1"}}' &&
		write edit_file '{"path":"a.txt","oldText":"old","newText":"newer"}' && write "$2" "$3" || status=1
	cp disk crashed
	exec 5>&- 6<&-
	wait "$pid"
	umount now
	return $status
}

# finds PATTERN FILE JOURNAL DURABILITY TOOL ARGUMENTS: what is there after a crash right behind the answer.
finds() {
	local status=0
	lay_disk "$3" || return
	write_and_crash "$4" "$5" "$6" || status=1
	e2fsck -fy crashed
	mount -o loop crashed later || return
	grep -qxE -- "$1" "later/$2" || status=1
	umount later
	return $status
}

can_crash() {
	{ command -v mkfs.ext4 && command -v e2fsck && lay_disk has_journal && umount now; } >/dev/null 2>&1
}

# try NAME PATTERN...: a claim, where it can be tried.
try() {
	if [ -n "$able" ]; then
		claim "$1" finds "${@:2}"
	else
		skip "$1" 'it takes root, loop devices and e2fsprogs'
	fi
}

able=$(can_crash && echo yes)
edit='{"path":"a.txt","oldText":"newer","newText":"newest"}'
try 'an edit survives a crash of the machine' newest a.txt has_journal full edit_file "$edit"
try 'an edit survives it without a journal' newest a.txt ^has_journal full edit_file "$edit"
new='{"path":"b.txt","content":"new\n"}'
try 'a new file survives a crash of the machine' new b.txt has_journal full write_file "$new"
try 'a new file survives it without a journal' new b.txt ^has_journal full write_file "$new"
try 'a relaxed edit is there or not, and never half' 'old|newer|newest' a.txt has_journal relaxed edit_file "$edit"
finish
