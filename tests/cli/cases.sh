#!/bin/bash
# Command lines with what they print: tests/cli/COMMAND/NAME/cmd is run by sh in a copy of
# tests/cli/fixture, with the file stdin beside it, if there is one, as its input. What it prints,
# standard error and exit status included, is in the file expected. To write those anew, by what the
# program says now: tests/cli/cases.sh --update [COMMAND[/NAME]...], with STET set to the program.
cases=$(cd "$(dirname "$0")" && pwd)
update=
if [ "${1:-}" = --update ]; then
	update=yes
	shift
fi
. "$cases/../lib/tap.sh"

PATH=$(dirname "$STET"):$PATH
export NO_COLOR=1 HOME=$tap_dir/home XDG_CONFIG_HOME=$tap_dir/home/.config
unset STET_SESSION STET_ROOT
mkdir home

# result CASE: what its command prints, in a directory of its own.
result() {
	local dir=$cases/$1 input=/dev/null
	[ ! -e "$dir/stdin" ] || input=$dir/stdin
	rm -rf work home
	mkdir home
	cp -r "$cases/fixture" work
	(cd work && sh "$dir/cmd" <"$input" 2>&1; echo "exit status $?") | sed "s|$tap_dir/work|ROOT|g; s|$tap_dir/home|HOME|g; s|$STET|stet|g"
}

as_expected() {
	result "$1" >out
	if [ -n "$update" ]; then
		cp out "$cases/$1/expected"
	fi
	diff -u "$cases/$1/expected" out
}

[ $# -gt 0 ] || set -- $(cd "$cases" && ls -d -- */ | grep -v '^fixture/')
for name; do
	for cmd in "$cases/${name%/}"/cmd "$cases/${name%/}"/*/cmd; do
		case=${cmd#"$cases/"}
		[ ! -e "$cmd" ] || claim "${case%/cmd}" as_expected "${case%/cmd}"
	done
done
claim 'there are cases' test "$tap_count" -gt 0
finish
