#!/bin/bash
# The list of tools, as a model's context has to carry it: counted with the real tokenizer.
. "$(dirname "$0")/../lib/tap.sh"

# at_most TOKENS OPTION...: of the list that stet mcp sends with these options.
at_most() {
	local limit=$1 tokens
	shift
	tokens=$("$npm_node" "$STET_SOURCE_ROOT/tests/npm/tool-list.mjs" "$STET" mcp "$@" .) &&
		echo "$tokens tokens" && [ "$tokens" -gt 0 ] && [ "$tokens" -le "$limit" ]
}

default='the list of tools has at most 2,500 tokens'
core='the list of --tools core has at most 1,000 tokens'
vault='the list of a vault has at most 2,700 tokens'
all='the list of --tools all has at most 6,000 tokens'
if npm_or_skip "$default" "$core" "$vault" "$all"; then
	claim "$default" at_most 2500
	claim "$core" at_most 1000 --tools core
	claim "$vault" at_most 2700 --vault
	claim "$all" at_most 6000 --tools all
fi
finish
