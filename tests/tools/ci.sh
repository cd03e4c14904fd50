#!/bin/bash
# .ci/run: runs everything whatever happens, and its last line counts all of it. A make of our own
# stands in for the real one.
. "$(dirname "$0")/../lib/tap.sh"

mkdir bin repo repo/.ci
cp "$STET_SOURCE_ROOT/.ci/run" repo/.ci
cat >bin/make <<'END'
#!/bin/sh
echo "$@" >>calls
cat "print-$1"
exit "$(cat "status-$1" 2>/dev/null || echo 0)"
END
chmod +x bin/make
PATH=$PWD/bin:$PATH
printf '%s\n' 'skipped: a: no npm' '3 passed, 0 failed, 1 skipped' >repo/print-check
echo '2 passed, 0 failed' >repo/print-check-all
echo '3 passed, 0 failed' >repo/print-asan
echo '4 passed, 0 failed' >repo/print-tsan

ends_with() {
	local status output
	output=$(repo/.ci/run 2>&1) && status=0 || status=$?
	echo "$output"
	[ "$status" -eq "$1" ] && [ "$(tail -n 1 <<<"$output")" = "$2" ] && grep -qxF "${3:-$2}" <<<"$output"
}

claim 'counts all runs, and prints what was left out' ends_with 0 '12 passed, 0 failed, 1 skipped' 'make check: a: no npm'
apart='agents bindings hub page'
printf '%s\n' "check TESTS=$(printf -- ' --no-suite %s' $apart | cut -c 2-)" \
	"check-all TESTS=$(printf -- ' --suite %s' $apart | cut -c 2-)" \
	"asan TESTS=$(printf -- ' --no-suite %s' $apart | cut -c 2-)" 'tsan TESTS=--suite threads' >expected
claim 'runs slow suites apart from the others, and the sanitizers last' diff expected repo/calls
echo 1 >repo/status-check
echo '2 passed, 1 failed' >repo/print-check
claim 'a failure fails, and the rest runs nevertheless' ends_with 1 '11 passed, 1 failed'
rm repo/status-check
: >repo/print-check
claim 'a run without its count is a failure' ends_with 1 '9 passed, 1 failed'
echo '3 passed, 0 failed' >repo/print-check
rm repo/print-asan
mkfifo repo/print-asan
CI_SECONDS=4 claim 'the sanitizers are not left out for want of time: that is a failure' \
	ends_with 1 '9 passed, 1 failed'
finish
