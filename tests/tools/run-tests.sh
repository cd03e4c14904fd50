#!/bin/bash
# tools/run-tests: counts cases, and nothing that went wrong counts as right. A meson of our own
# leaves the log that the real one would.
. "$(dirname "$0")/../lib/tap.sh"

mkdir bin build build/meson-logs
cat >bin/meson <<'END'
#!/bin/sh
cp log build/meson-logs/tools-run-tests.json
exit "$(cat status)"
END
chmod +x bin/meson
PATH=$PWD/bin:$PATH

# program STDOUT STATUS [RESULT]: add a program to the log of the next run.
program() {
	printf '{"name": "p", "stdout": "%s", "returncode": %s, "result": "%s"}\n' \
		"$1" "$2" "${3:-OK}" >>log
}

# counts CLAIM STATUS LAST-LINE [LINE]: run, compare, and begin a new log.
counts() {
	claim "$1" summary_is "$2" "$3" "${4:-}"
	: >log
	echo 0 >status
}

summary_is() {
	local output status
	output=$("$STET_SOURCE_ROOT/tools/run-tests" build) && status=0 || status=$?
	echo "$output"
	[ "$status" -eq "$1" ] && [ "$(tail -n 1 <<<"$output")" = "$2" ] && grep -qxF "$3" <<<"$output"
}

: >log
echo 0 >status
counts 'a run without tests fails' 1 '0 passed, 1 failed' 'FAILED: no test ran'

program '1..2\nok 1 - a\nok 2 - b\n' 0
program 'ok 1 - c\n1..1\n' 0
counts 'cases are counted, the plan first or last' 0 '3 passed, 0 failed'

program 'no TAP at all\n' 0
counts 'a program without TAP is one case' 0 '1 passed, 0 failed'

program '1..2\nok 1 - a\nnot ok 2 - b\n' 1 FAIL
echo 1 >status
counts 'a failed case is named' 1 '1 passed, 1 failed' 'FAILED: p: b'

program '1..2\nok 1 - a\n# skip: no disk\nnot ok 2 # SKIP b\n' 0
counts 'a skip as cmocka prints it is listed with its reason' 0 '1 passed, 0 failed, 1 skipped' \
	'skipped: p: b: no disk'

program 'ok 1 - a # SKIP only root can\n1..1\n' 0
program 'ok 1 - b\n1..1\n' 0
counts 'a skip as tap.sh prints it is listed with its reason' 0 '1 passed, 0 failed, 1 skipped' \
	'skipped: p: a: only root can'

program '1..0 # SKIP no network\n' 0
program 'ok 1 - b\n1..1\n' 0
counts 'a program may be skipped as a whole' 0 '1 passed, 0 failed, 1 skipped' \
	'skipped: p: no network'

program '1..3\nok 1 - a\n' -11 FAIL
counts 'a crash in the middle is a failure' 1 '1 passed, 1 failed' 'FAILED: p: stopped after 1 of 3 cases'

program 'ok 1 - a\n' 0
counts 'a script that ends before its plan is a failure' 1 '1 passed, 1 failed' \
	'FAILED: p: stopped after 1 cases'

program '1..1\nok 1 - a\n' 1 FAIL
counts 'a leak found at the end is a failure' 1 '1 passed, 1 failed' 'FAILED: p: exit status 1'

program '' -15 TIMEOUT
counts 'a timeout is a failure' 1 '0 passed, 1 failed' 'FAILED: p: timed out'

program 'ok 1 - a\n1..1\n' 0
echo 2 >status
counts 'a failure of meson itself is a failure' 1 '1 passed, 1 failed' \
	'FAILED: meson test: exit status 2'
finish
