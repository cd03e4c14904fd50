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

# installs_without_a_compiler: in a root that has Python and pip, and neither a compiler nor stet.
installs_without_a_compiler() {
	bare_root root /usr/bin/python3
	mkdir -p root/usr/lib
	cp -R /usr/lib/python3* root/usr/lib
	libraries_into root root/usr/lib/python3*/lib-dynload/*.so
	cp "$wheel" root/tmp
	# shellcheck disable=SC2016 # for the inner shell
	in_root root /usr/bin/python3 -c '
import glob, os, shutil, subprocess, sys
assert not shutil.which("cc") and not shutil.which("gcc") and not shutil.which("stet")
subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", "/tmp/site",
                *glob.glob("/tmp/*.whl")], check=True)
sys.path.insert(0, "/tmp/site")
import stet
open("a.txt", "w").write("one\ntwo\n")
with stet.Session("/tmp") as session:
    session.read("a.txt")
    open("a.txt", "w").write("ONE\ntwo\n")
    try:
        session.edit("a.txt", "two", "2")
        sys.exit("a stale edit was made")
    except stet.ConflictError:
        session.edit("a.txt", "two", "2")
assert open("a.txt").read() == "ONE\n2\n"'
}

# Without pip: a wheel is a zip file.
unpack_wheel() {
	wheel=$("$STET_SOURCE_ROOT/tools/wheel" "$library" "$tap_dir") && python3 -m zipfile -e "$wheel" installed
}

is_typed() {
	[ -f installed/stet/py.typed ] && ! grep -nE '^ *def [a-z]\w*\(.*\):$' installed/stet/*.py
}

mapfile -t claims < <(names)
alone='it installs and works in a root without a compiler'
if library_or_skip 'the wheel installs' "$alone" 'the package is typed' "${claims[@]}"; then
	if python3 -m pip --version >/dev/null 2>&1; then
		claim 'the wheel installs' install_wheel
		wheel=$(echo ./*.whl)
		if ! /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
			skip "$alone" "Debian's pip is not installed: make check-all installs python3-pip"
		elif unshare --user --map-root-user true 2>/dev/null; then
			claim "$alone" installs_without_a_compiler
		else
			skip "$alone" 'no user namespace can be made'
		fi
	else
		unpack_wheel
		skip 'the wheel installs' 'pip is not installed: make check-all installs it'
		skip "$alone" 'pip is not installed: make check-all installs it'
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
