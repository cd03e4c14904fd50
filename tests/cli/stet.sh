#!/bin/bash
# The command line: what it prints, and with which exit status.
. "$(dirname "$0")/../lib/tap.sh"

claim 'prints its version' grep -Eqx 'stet [0-9]+\.[0-9]+\.[0-9]+' <("$STET" --version)
claim 'prints help when asked' grep -q '^Usage: stet' <("$STET" --help)
claim 'refuses an unknown command with status 2' exits 2 "$STET" no-such-command
claim 'names the unknown command' grep -q '"no-such-command"' <("$STET" no-such-command 2>&1)
claim 'wants a command' exits 2 "$STET"
claim 'says so when the output is lost' exits 3 sh -c '"$STET" --version >/dev/full'
claim 'suggests the command that was meant' grep -q 'Did you mean agents?' <("$STET" agnets 2>&1)
claim 'suggests the option that was meant' grep -q 'Did you mean --paths?' <("$STET" agents --path 2>&1)
claim 'takes options on both sides of the command' exits 2 "$STET" agents --root no-such
claim 'takes the value of an option behind =' exits 2 "$STET" --root=no-such agents
claim 'names the words that an option takes' \
	grep -q 'auto|always|never, not "purple"' <("$STET" --color purple agents 2>&1)

# A PATH is a file of the workspace, which - is not.
says_dash() { ! "$@" 2>complaints && grep -q '^stet [a-z]*: a PATH is .* give ./-\.$' complaints; }
for command in read write edit inspect check agents log undo; do
	claim "stet $command says that - is standard input" says_dash "$STET" "$command" -
done
claim 'stet replace says so too' says_dash "$STET" replace - a b
claim 'stet patch says so too' says_dash "$STET" patch - delete
is_there() { echo x >./- && [ "$("$STET" read ./-)" = x ]; }
claim 'a file of that name can be read' is_there

claim 'colours nothing in a pipe' sh -c '! "$STET" --help | grep -q "\[0m"'
claim 'colours when told to' sh -c '"$STET" --color always --help | grep -q "\[1m"'
finish
