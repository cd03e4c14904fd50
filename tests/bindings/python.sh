#!/bin/bash
# The Python binding: the claims of python_cases.py, against the package that pip installs from the wheel.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

names() {
	sed -n 's/^    def test_\(.*\)(self):$/\1/p' "$STET_SOURCE_ROOT/tests/bindings/python_cases.py" | tr _ ' '
}

install_wheel() {
	wheel=$("$STET_SOURCE_ROOT/tools/wheel" "$library" "$tap_dir") &&
		python3 -m pip install --quiet --no-index --no-deps --root-user-action=ignore --target installed "$wheel"
}

# Without pip: a wheel is a zip file.
unpack_wheel() {
	wheel=$("$STET_SOURCE_ROOT/tools/wheel" "$library" "$tap_dir") && python3 -m zipfile -e "$wheel" installed
}

is_typed() {
	[ -f installed/stet/py.typed ] && ! grep -nE '^ *def [a-z]\w*\(.*\):$' installed/stet/*.py
}

mapfile -t claims < <(names)
if library_or_skip 'the wheel installs' 'the package is typed' "${claims[@]}"; then
	if python3 -m pip --version >/dev/null 2>&1; then
		claim 'the wheel installs' install_wheel
	else
		unpack_wheel
		skip 'the wheel installs' 'pip is not installed: make check-all installs it'
	fi
	claim 'the package is typed' is_typed
	PYTHONPATH=$tap_dir/installed PYTHONDONTWRITEBYTECODE=1 PYTHONASYNCIODEBUG='' \
		python3 "$STET_SOURCE_ROOT/tests/bindings/python_cases.py" >results 2>errors
	for name in "${claims[@]}"; do
		claim "$name" grep -qx "ok $name" results
	done
	[ "$tap_failed" -eq 0 ] || sed 's/^/# /' errors
fi
finish
