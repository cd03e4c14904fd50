# shellcheck shell=bash
# Claims in shell, printed as TAP. A script sources this, makes its claims, and ends with finish:
#
#     . "$(dirname "$0")/../lib/tap.sh"
#     claim 'true is true' true
#     claim 'the version is printed' test "$("$STET" --version)" = 'stet 0.1.0'
#     skip 'an owner is kept' 'only root can set one'
#     if npm_or_skip 'the tokenizer agrees'; then
#             claim 'the tokenizer agrees' "$npm_node" count.mjs
#     fi
#     finish
#
# tests/meson.build sets STET (the program), STET_SOURCE_ROOT and STET_BUILD_ROOT. The script runs
# in an empty directory, removed at the end.

tap_count=0
tap_failed=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/stet-test-XXXXXX")
trap 'rm -rf "$tap_dir"' EXIT
cd "$tap_dir" || exit 99

# claim NAME COMMAND [ARG...]: the command succeeds. What it prints becomes a comment if not.
claim() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1 </dev/null) && status=0 || status=$?
	tap_count=$((tap_count + 1))
	if [ "$status" -eq 0 ]; then
		echo "ok $tap_count - $name"
		return
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $name"
	printf '%s\n' "$*: exit status $status" "$output" | sed 's/^/# /'
}

# skip NAME REASON: the claim cannot be tested here.
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# npm_or_skip NAME...: the packages of tests/npm are in $npm_dir, and $npm_node is the Node to run
# them with. False where they can not be had: then a claim of each name is skipped for that reason.
npm_or_skip() {
	local name reason
	if npm_dir=$("$STET_SOURCE_ROOT/tools/npm" 2>"$tap_dir/.npm"); then
		# shellcheck disable=SC2034 # for the script
		npm_node=$npm_dir/node
		return 0
	fi
	reason=$(tail -n 1 "$tap_dir/.npm")
	for name; do
		skip "$name" "${reason:-tools/npm failed}"
	done
	return 1
}

# exits STATUS COMMAND [ARG...]: for claims about the exit status.
exits() {
	local expected=$1 status
	shift
	"$@" && status=0 || status=$?
	[ "$status" -eq "$expected" ]
}

# Print the plan and end the script. Without it the run counts as broken off.
finish() {
	echo "1..$tap_count"
	exit $((tap_failed > 0))
}
