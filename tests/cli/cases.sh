#!/bin/bash
# Command lines with what they print: tests/cli/COMMAND/NAME/cmd is run by sh in a copy of
# tests/cli/fixture, with the file stdin beside it, if there is one, as its input. What it prints,
# standard error and exit status included, is in the file expected. To write those anew, by what the
# program says now: tests/cli/cases.sh --update [COMMAND[/NAME]...], with STET set to the program.
#
# A case that asks much of the machine has a script beside it, needs: if that fails, the case is
# skipped, for the reason in its first line. As a command there is unprivileged COMMAND, whom file
# permissions bind even if the tests run as root.
cases=$(cd "$(dirname "$0")" && pwd)
update=
if [ "${1:-}" = --update ]; then
	update=yes
	shift
fi
STET=$(realpath "$STET")
. "$cases/../lib/tap.sh"

PATH=$(dirname "$STET"):$PATH
export NO_COLOR=1 HOME=$tap_dir/home XDG_CONFIG_HOME=$tap_dir/home/.config
unset STET_SESSION STET_ROOT STET_TOKEN XDG_STATE_HOME
mkdir home

mkdir bin
cat >bin/unprivileged <<'end'
#!/bin/sh
[ "$(id -u)" -ne 0 ] || set -- setpriv --bounding-set=-dac_override,-dac_read_search,-fowner "$@"
exec "$@"
end
chmod +x bin/unprivileged
PATH=$tap_dir/bin:$PATH

# fresh: an empty home, and the fixture to work in.
fresh() {
	chmod -R u+rwx work 2>/dev/null
	rm -rf work home
	mkdir home
	cp -r "$cases/fixture" work
}

# is_possible CASE: whether the machine has what it needs.
is_possible() {
	[ -e "$cases/$1/needs" ] || return 0
	fresh
	(cd work && sh -e "$cases/$1/needs") >/dev/null 2>&1
}

# result CASE: what its command prints, in a directory of its own.
result() {
	local dir=$cases/$1 input=/dev/null
	[ ! -e "$dir/stdin" ] || input=$dir/stdin
	fresh
	(cd work && sh "$dir/cmd" <"$input" 2>&1; echo "exit status $?") | sed "s|$tap_dir/work|ROOT|g; s|$tap_dir/home|HOME|g; s|$STET|stet|g"
}

as_expected() {
	result "$1" >out
	if [ -n "$update" ]; then
		cp out "$cases/$1/expected"
	fi
	diff -u "$cases/$1/expected" out
}

# Every command of the table has a case in which it does its work, and one in which it does not.
commands() { "$STET" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
is_shown() {
	grep -qx "exit status $2" "$cases/$1"/*/expected
}

is_never_shown() { ! is_shown "$@"; }

# is_refused CASE: it fails, or says on standard error or in an answer what it did not take.
is_refused() {
	grep -qe '^exit status [123]$' -e '^status [123]$' -e '^stet: ' \
		-e '^stet hook: ' -e '"error":' -e '^broken ' \
		-e '^weak ' -e '"isError":true' "$cases/$1/expected"
}

if [ $# -eq 0 ]; then
	claim 'the commands are listed' test "$(commands | wc -l)" -gt 20
	for command in $(commands); do
		claim "stet $command has a case that is done" is_shown "$command" 0
		# stet hook succeeds whatever happens: exit status 2 means "block" to an agent.
		if [ "$command" = hook ]; then
			claim 'stet hook has no case that fails' is_never_shown hook '[123]'
			claim 'stet hook has a case that is refused' is_refused hook/unknown-option
		else
			claim "stet $command has a case that is refused" is_shown "$command" '[123]'
		fi
	done
	while IFS=: read -r what list; do
		for case in $list; do
			claim "refused: $what: $case" is_refused "$case"
		done
	done < <(grep -v '^#' "$cases/refused")
fi

[ $# -gt 0 ] || set -- $(cd "$cases" && ls -d -- */ | grep -v '^fixture/')
for name; do
	for cmd in "$cases/${name%/}"/cmd "$cases/${name%/}"/*/cmd; do
		case=${cmd#"$cases/"}
		case=${case%/cmd}
		if [ ! -e "$cmd" ]; then
			continue
		elif is_possible "$case"; then
			claim "$case" as_expected "$case"
		else
			skip "$case" "$(sed -n '1s/^# //p' "$cases/$case/needs")"
		fi
	done
done
claim 'there are cases' test "$tap_count" -gt 0
finish
