#!/bin/bash
# The man page and the completions, as tools/make-pages makes them from the table of commands.
. "$(dirname "$0")/../lib/tap.sh"

completes() {
	local want=$1
	shift
	COMPREPLY=()
	COMP_WORDS=(stet "$@") COMP_CWORD=$#
	_stet stet "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
	echo "${COMPREPLY[*]}"
	[ "${COMPREPLY[*]}" = "$want" ]
}

claim 'the pages can be made' "$STET_SOURCE_ROOT/tools/make-pages" "$STET_BUILD_ROOT/commands.json" .
mandoc -T lint stet.1 >complaints 2>&1
claim 'mandoc has nothing to say about the man page' diff /dev/null complaints
for command in $("$STET" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	claim "the man page has stet $command" grep -qx ".Ss stet $command" stet.1
done
claim 'bash can read its completions' bash -n stet.bash
. ./stet.bash
claim 'bash completes a command' completes edit ed
claim 'bash completes an option' completes --dry-run edit --d
claim 'bash completes the words of an option' completes merge edit --on-stale m
claim 'bash completes the words of an operand' completes replace patch list.txt rep
for shell in zsh fish; do
	file=$([ $shell = zsh ] && echo _stet || echo stet.fish)
	if command -v $shell >/dev/null; then
		claim "$shell can read its completions" $shell -n "$file"
	else
		skip "$shell can read its completions" "there is no $shell"
	fi
done
finish
