#!/bin/bash
# The command line: what it prints, and with which exit status.
. "$(dirname "$0")/../lib/tap.sh"

claim 'prints its version' grep -Eqx 'stet [0-9]+\.[0-9]+\.[0-9]+' <("$STET" --version)
claim 'prints help when asked' grep -q '^Usage: stet' <("$STET" --help)
claim 'refuses an unknown command with status 2' exits 2 "$STET" no-such-command
claim 'names the unknown command' grep -q '"no-such-command"' <("$STET" no-such-command 2>&1)
claim 'wants a command' exits 2 "$STET"
claim 'says so when the output is lost' exits 3 sh -c '"$STET" --version >/dev/full'
finish
