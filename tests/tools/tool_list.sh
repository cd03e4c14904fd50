#!/bin/bash
# The list of tools, as a model's context has to carry it: counted with the real tokenizer.
. "$(dirname "$0")/../lib/tap.sh"

count() {
	"$STET_BUILD_ROOT/dump" | "$npm_node" -e '
		const { createRequire } = require("module");
		const { encode } = createRequire(process.argv[1] + "/")("gpt-tokenizer/encoding/o200k_base");
		const tools = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(encode(JSON.stringify({ tools })).length);
	' "$npm_dir"
}

if npm_or_skip 'the list of tools has fewer than 6,300 tokens'; then
	tokens=$(count)
	echo "# $tokens tokens"
	claim 'the list of tools has fewer than 6,300 tokens' test "$tokens" -lt 6300
fi
finish
