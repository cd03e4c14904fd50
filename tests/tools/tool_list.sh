#!/bin/bash
# The list of tools, as clients hand it to their model, counted with the real tokenizer.
. "$(dirname "$0")/../lib/tap.sh"

# count LIST: the tokens of name, description and input schema of each tool listed.
count() {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/list"}' | "$STET" mcp --tools "$1" |
		"$npm_node" -e '
		const { createRequire } = require("module");
		const { encode } = createRequire(process.argv[1] + "/")("gpt-tokenizer/encoding/o200k_base");
		const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
		const { tools } = JSON.parse(lines[1]).result;
		const sent = tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.inputSchema }));
		console.log(encode(JSON.stringify(sent)).length);
	' "$npm_dir"
}

if npm_or_skip 'the lists of tools keep to their tokens'; then
	for list in default:2500 core:1000 all:4500; do
		tokens=$(count "${list%:*}")
		echo "# ${list%:*}: $tokens tokens"
		claim "the list ${list%:*} has at most ${list#*:} tokens" test "$tokens" -le "${list#*:}"
	done
fi
finish
