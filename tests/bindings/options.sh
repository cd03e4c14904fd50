#!/bin/bash
# Every binding has every option of a workspace, with the number of the header.
. "$(dirname "$0")/../lib/tap.sh"

bindings=$STET_SOURCE_ROOT/bindings
sed -n 's/^\tSTET_OPTION_\([A-Z_]*\) = \([0-9]*\),.*/\1 \2/p' "$STET_SOURCE_ROOT/include/stet/workspace.h" >options

# The options of each binding, as lines NAME NUMBER.
python_options() {
	sed -n '/OPTIONS = {/,/}/p' "$bindings/python/stet/session.py" | grep -o '"[a-z_]*": [0-9]*' |
		sed 's/[":]//g; s/[a-z_]*/\U&/'
}

node_options() {
	sed -n '/^const OPTIONS = \[/,/\]/p' "$bindings/node/index.js" | grep -o "'[A-Za-z]*'" |
		sed "s/'//g; s/[A-Z]/_&/g; s/.*/\U&/" | awk '{ print $0, NR - 1 }'
}

go_options() {
	sed -n 's/.*= C\.STET_OPTION_\([A-Z_]*\)$/\1/p' "$bindings/go/workspace.go" |
		awk 'NR == FNR { number[$1] = $2; next } { print $1, number[$1] }' options -
}

for binding in python node go; do
	claim "the options of $binding are those of the header" diff options <("${binding}_options")
done
finish
