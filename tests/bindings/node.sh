#!/bin/bash
# The Node binding, as npm installs it from its tarballs: the cases of specification 1 and those of
# cases.mjs, each in Node 20, Node 22 and Bun.
. "$(dirname "$0")/../lib/tap.sh"
. "$STET_SOURCE_ROOT/tests/lib/bindings.sh"

here=$STET_SOURCE_ROOT/tests/bindings/node
hosts=('Node 20' 'Node 22' Bun)

mapfile -t cases < <(node_claims)
packaging=('the packages can be packed' 'they install without a network and without scripts'
	'and in a root without a compiler' 'no package has an install script' 'the addon needs libc and libm alone, of glibc 2.36 at most' 'the types are those of the values')
claims=("${packaging[@]}")
for host in "${hosts[@]}"; do
	claims+=("$host loads the same file")
	for file in "$here"/spec1/*.ts; do
		claims+=("$host passes $(basename "$file" .test.ts) of specification 1")
	done
	claims+=("$host binds nothing of the addon's libraries outside it"
		"$host binds nothing of the self-contained library's libraries outside it")
	claims+=("$host runs the examples of the README" "$host runs the agent loop")
	for name in "${cases[@]}"; do
		claims+=("$host: $name")
	done
done
claims+=('the ordinary library would be bound to the OpenSSL of Node 20' 'and of Node 22')

# packages_or_skip: tests/node is in $packages. False where it is not installed.
packages_or_skip() {
	local name reason
	if packages=$("$STET_SOURCE_ROOT/tools/npm" --present node 2>"$tap_dir/.npm"); then
		return 0
	fi
	reason=$(tail -n 1 "$tap_dir/.npm")
	for name in "${claims[@]}"; do
		skip "$name" "$reason"
	done
	return 1
}

pack() {
	"$STET_SOURCE_ROOT/tools/pack-node" "$library" "$tap_dir/dist" >tarballs
}

export npm_config_cache=$tap_dir/cache npm_config_update_notifier=false npm_config_fund=false
install() {
	mkdir -p installed && echo '{"type": "module"}' >installed/package.json
	# shellcheck disable=SC2046 # two files
	(cd installed && npm install --offline --ignore-scripts --no-audit --loglevel=error $(cat ../tarballs))
}

# installs_without_a_compiler: in a root that has Node and npm, and neither a compiler, a shell nor stet.
installs_without_a_compiler() {
	bare_root root "$packages/node"
	cp -R "$npm_package" root/npm
	# shellcheck disable=SC2046 # two files
	cp $(cat tarballs) root/tmp
	in_root root /usr/bin/node -e "
		const { execFileSync } = require('child_process');
		const fs = require('fs');
		fs.writeFileSync('package.json', '{}');
		execFileSync('/usr/bin/node', ['/npm/bin/npm-cli.js', 'install', '--offline', '--ignore-scripts', '--no-audit',
			...fs.readdirSync('.').filter((name) => name.endsWith('.tgz')).map((name) => './' + name)]);
		const { ConflictError, Session } = require('stet');
		const session = new Session('.');
		fs.writeFileSync('a.txt', 'one\\ntwo\\n');
		session.read('a.txt');
		fs.writeFileSync('a.txt', 'ONE\\ntwo\\n');
		require('assert').throws(() => session.edit('a.txt', 'two', '2'), ConflictError);
		session.edit('a.txt', 'two', '2');
		require('assert').equal(fs.readFileSync('a.txt', 'utf8'), 'ONE\\n2\\n');"
}

has_no_scripts() {
	! grep -n '"scripts"' installed/node_modules/{stet,@stet/*}/package.json
}

is_self_contained() {
	local addon
	addon=$(echo installed/node_modules/@stet/*/stet.node)
	needs_only_libc "$addon" && has_no_text_relocations "$addon" && needs_glibc_up_to 2.36 "$addon"
}

# readme: the blocks of the README as readme-N.mts, and the agent loop.
readme() {
	awk -v n=0 '/^```ts$/ { file = "installed/readme-" ++n ".mts"; next } /^```/ { file = "" } file { print >file }' \
		installed/node_modules/stet/README.md
	cp installed/node_modules/stet/example.ts installed/example.mts
}

# What index.d.ts declares is what index.js exports, and the cases, the README and the loop use it correctly.
is_typed() {
	cp "$here"/*.mjs "$here"/*.d.ts "$here"/tsconfig.json "$here"/spec1/*.ts installed
	readme
	ln -sfn "$packages/node_modules/@types" "$packages/node_modules/typescript" "$packages/node_modules/undici-types" \
		installed/node_modules/
	(cd installed && "$packages/node" node_modules/typescript/bin/tsc -p . && "$packages/node" types.mjs)
}

program_of() {
	case $1 in
	'Node 20') echo "$packages/node20" ;;
	'Node 22') echo "$packages/node" ;;
	Bun) echo "$packages/bun" ;;
	esac
}

loads() {
	(cd installed && "$(program_of "$1")" -e "console.log(require('stet').version)")
}

# bound FILE HOST CODE: the symbols that the code has bound from FILE to another file than libc, libm and
# the loader, but for those of Node-API. A host may stand in for a function of libc (the address of a
# function belongs to the program that takes it), so those do not count either.
bound() {
	rm -f bindings.*
	(cd installed && LD_DEBUG=bindings LD_DEBUG_OUTPUT=$tap_dir/bindings "$(program_of "$2")" -e "$3") || return
	sed -n "s|.*binding file [^ ]*$1 \[0\] to \([^ ]*\) \[0\]: [a-z]* symbol \`\([^']*\)'.*|\1 \2|p" bindings.* |
		grep -vE "$1 |^[^ ]*/(libc|libm)\.so\.6 |^[^ ]*/ld-linux| (napi|node_api)_" | sort -u |
		awk 'NR == FNR { libc[$1]; next } !($2 in libc)' libc -
}

# Whatever comes of it, dlopen binds.
dlopens() {
	echo "try { process.dlopen({ exports: {} }, '$1', 2) } catch {}"
}

binds_nothing() {
	bound "$@" >out && cat out && [ ! -s out ] && grep -q "binding file [^ ]*$1 .*libc\.so" bindings.*
}

binds_openssl_outside() {
	bound 'libstet\.so[.0-9]*' "$1" "$(dlopens "$STET_BUILD_ROOT/libstet.so")" | grep "node.* EVP_"
}

# passes_spec HOST FILE: every case of a file.
passes_spec() {
	local count name
	count=$(grep -c '^ *test(' "$here/spec1/$2.test.ts")
	cd installed || return
	if [ "$1" = Bun ]; then
		"$packages/bun" test "./$2.test.ts" 2>&1 | tee out
		grep -Eq "^ *$count pass$" out && grep -Eq '^ *0 fail$' out
	else
		"$packages/node" --no-warnings strip.mjs . "$2.test.ts" || return
		"$(program_of "$1")" --test --test-reporter=tap "$2.test.mjs" | tee out
		grep -qx "# pass $count" out && grep -qx '# fail 0' out
	fi
}

# runs HOST FILE: in an empty directory beside the packages.
runs() {
	cd installed || return
	"$packages/node" --no-warnings strip.mjs . "$2.mts" && rm -rf run && mkdir run && cd run &&
		timeout 60 "$(program_of "$1")" "../$2.mjs"
}

runs_readme() {
	local file
	[ "$(ls installed/readme-*.mts | wc -l)" -gt 4 ] || return
	for file in installed/readme-*.mts; do
		(runs "$1" "$(basename "$file" .mts)") || return
	done
}

runs_loop() {
	(runs "$1" example) >out && cat out && grep -q 'was modified since' out && grep -qF -- '--- Repository State ---' out &&
		grep -q 'Use single quotes' out
}

run_cases() {
	cp "$here/cases.mjs" installed
	(cd installed && STET_TEST_DIR=$tap_dir "$(program_of "$1")" --expose-gc cases.mjs) >results 2>errors
}

if packages_or_skip && library_or_skip "${claims[@]}"; then
	claim "${packaging[0]}" pack
	claim "${packaging[1]}" install
	npm_package=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
	if [ ! -d "$npm_package/node_modules" ]; then
		skip "${packaging[2]}" 'npm is not one package here'
	elif in_root / true 2>/dev/null; then
		claim "${packaging[2]}" installs_without_a_compiler
	else
		skip "${packaging[2]}" 'no user namespace can be made'
	fi
	claim "${packaging[3]}" has_no_scripts
	claim "${packaging[4]}" is_self_contained
	claim "${packaging[5]}" is_typed
	for file in libc.so.6 libm.so.6; do
		nm -D --defined-only "$(cc -print-file-name=$file)" | awk '{ sub("@.*", "", $3); print $3 }'
	done >libc
	for host in "${hosts[@]}"; do
		claim "$host loads the same file" loads "$host"
		for file in "$here"/spec1/*.ts; do
			name=$(basename "$file" .test.ts)
			claim "$host passes $name of specification 1" passes_spec "$host" "$name"
		done
		claim "$host binds nothing of the addon's libraries outside it" binds_nothing 'stet\.node' "$host" \
			"const s = new (require('stet').Session)('.'); s.write('bound', ''); s.call('delete_file', { path: 'bound' })"
		claim "$host binds nothing of the self-contained library's libraries outside it" \
			binds_nothing 'libstet\.so' "$host" "$(dlopens "$library/libstet.so")"
		claim "$host runs the examples of the README" runs_readme "$host"
		claim "$host runs the agent loop" runs_loop "$host"
		before=$tap_failed
		run_cases "$host"
		for name in "${cases[@]}"; do
			claim "$host: $name" grep -qx "ok $name" results
		done
		[ "$tap_failed" -eq "$before" ] || sed 's/^/# /' errors
	done
	claim "${claims[-2]}" binds_openssl_outside 'Node 20'
	claim "${claims[-1]}" binds_openssl_outside 'Node 22'
fi
finish
