#!/bin/bash
# make demo: it runs, says what it should, and leaves nothing behind.
. "$(dirname "$0")/../lib/tap.sh"

# says TEXT: a line of the demo has it.
says() {
	grep -F -- "$1" out || {
		cat out
		return 1
	}
}

export TMPDIR=$tap_dir
claim 'the demo runs' sh -c '"$STET_SOURCE_ROOT/tools/demo" "$STET_BUILD_ROOT" >out'
claim 'an edit is refused' says 'was modified since you last read it'
claim 'the refusal shows what changed' says '+timeout = 30'
claim 'the edit made again is there' says 'port = 9090'
claim 'an unread file is not overwritten' says 'you have not read all of'
claim 'the race loses nothing' says 'Through stet, nothing is lost'
claim 'the new step is in its section' says '3. Start the server.'
claim 'an AGENTS.md comes along' says '[Loaded from src/AGENTS.md]'
claim 'no temporary file is left' says 'and 0 temporary'
claim 'the story needs one write per file' sh -c 'tr -s " " <out | grep -F "44 writes of 4 files 4 writes"'
claim 'no prompt of it hides a loss' says '0 of 44 prompts hide one'
claim 'a restart in the middle of it is clean' says 'same state at turn 22, 0 writes refused, 4 of 4 files right'
claim 'it would be complete after four turns' says ' 4 turns and '
claim 'every measure of it is met' sh -c 'sed -n "/^metric/,\$ p" out | { ! grep " no\$"; }'
claim 'the workspace is removed' test "$(echo ./*)" = ./out
finish
