# A thin front over meson and ninja: one word per job. Each first installs what is missing
# (tools/setup); SETUP=true leaves that out.

SETUP = tools/setup
PREFIX = /usr/local
DESTDIR =
FUZZ_SECONDS = 60
# Which tests: options and names for meson test, such as "--no-suite agents".
TESTS =

options.build = --prefix=$(PREFIX)
# Another compiler's warnings are no reason to leave out the tests: make lint has them.
options.build-asan = -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false
options.build-tsan = -Db_sanitize=thread -Db_lundef=false -Dwerror=false
options.build-cover = -Db_coverage=true
options.build-fuzz = -Dfuzz=true -Dtests=false $(options.build-asan)
# Of gcc's analyser what gcc 12 is right about: it does not follow pointers into arrays and structs.
analysed = -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-null-argument \
	-Wno-analyzer-null-dereference -Wno-analyzer-use-of-uninitialized-value
options.build-lint = -Dtests=false -Dc_args="$(analysed)"
options.build-install = --prefix=$(PREFIX) -Dtests=false
options.build-static = -Dtests=false -Dportable=true -Dwerror=false --buildtype=release
options.build-bench = -Dbench=true -Dtests=false --buildtype=release

export ASAN_OPTIONS = halt_on_error=1:detect_leaks=1:allocator_may_return_null=1
export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS = halt_on_error=1:second_deadlock_stack=1

MAKEFLAGS += --no-print-directory
.PHONY: all check check-all asan tsan cover fuzz lint format bench torture conformance demo docs deb self-contained npm-binding abi install uninstall arm64 container clean help setup packages extras static npm

all: build/build.ninja ## build build/stet, build/libstet.so and build/libstet.a
	@ninja -C build

check: all packages ## run the tests, but for those that need more than debian/control has
	@tools/run-tests build $(TESTS)

check-all: all packages extras ## install what any test needs, the coding agents too (2 GB), and run every test
	@tools/run-tests build $(TESTS)

asan: build-asan/build.ninja packages ## run every test under the address and undefined-behaviour sanitizers
	@ninja -C build-asan
	@tools/run-tests build-asan --timeout-multiplier 3 $(TESTS)

# The old TSan runtimes cannot place their shadow memory under the address randomization of new kernels.
tsan: build-tsan/build.ninja packages ## run every test under the thread sanitizer
	@ninja -C build-tsan
	@setarch --addr-no-randomize tools/run-tests build-tsan --timeout-multiplier 5 $(TESTS)

cover: build-cover/build.ninja packages ## measure what the tests cover, in build-cover/coverage/index.html
	@ninja -C build-cover
	@find build-cover -name '*.gcda' -delete
	@tools/run-tests build-cover
	@mkdir -p build-cover/coverage
	@gcovr --root . --object-directory build-cover --filter src/ --print-summary \
		--html-details build-cover/coverage/index.html

fuzz: build-fuzz/build.ninja ## fuzz each target for FUZZ_SECONDS (60)
	@ninja -C build-fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz build-fuzz

lint: all build-lint/build.ninja ## check the style, layers and exports; run the static analysers
	@tools/lint --all
	@ninja -C build-lint

format: setup ## rewrite the source as clang-format has it
	@git ls-files '*.c' '*.h' | xargs clang-format -i

bench: build-bench/build.ninja ## run the benchmarks, on a release build: all, or ONLY="grep walk"; on the tree TREE if given
	@ninja -C build-bench
	@ONLY="$(ONLY)" tools/bench build-bench $(TREE)

torture: all packages ## run the torture tests with their full counts
	@STET_TORTURE=1 tools/run-tests build --suite torture --timeout-multiplier 20

conformance: all ## run the official MCP conformance suite
	@tools/run-tests build --suite conformance

# Only what it shows is built: whoever tries it first need not wait for the tests.
demo: build/build.ninja ## show the main job at work
	@ninja -C build stet demo
	@tools/demo

docs: all ## write the generated pages of docs/ anew
	@tools/make-docs build
	@tools/animate build

deb: setup ## build the Debian packages, beside this directory
	@dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary

static: build-static/build.ninja ## pack the program with what it needs into dist/, to run anywhere
	@ninja -C build-static
	@tools/pack tar build-static

npm: build-static/build.ninja ## pack the program as an npm package into dist/
	@ninja -C build-static
	@tools/pack npm build-static

self-contained: build-static/build.ninja ## link build-self-contained/libstet.so, with its libraries inside
	@ninja -C build-static src/libstet-core.a
	@tools/self-contained build-static/src/libstet-core.a build-self-contained

npm-binding: self-contained ## pack the Node binding as npm packages into dist/
	@tools/pack-node build-self-contained

abi: all ## compare libstet.so with tools/libstet.abi: could programs that are compiled break?
	@command -v abidw >/dev/null || $(SETUP) --all
	@tools/abi build/libstet.so && echo "abi: programs that are compiled go on working"

install: build-install/build.ninja ## install below DESTDIR and PREFIX (/usr/local), without building the tests
	@meson configure build-install -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C build-install

uninstall: build-install/build.ninja ## remove what make install installed below DESTDIR and PREFIX
	@meson configure build-install -Dprefix=$(PREFIX)
	@tools/uninstall build-install "$(DESTDIR)"

arm64: setup ## build everything for arm64 in build-arm64, with Debian's cross compiler
	@command -v aarch64-linux-gnu-gcc qemu-aarch64-static >/dev/null || $(SETUP) --all
	@tools/arm64 build-arm64

container: build-static/build.ninja ## link the program into dist/stet with all it needs, for the Containerfile
	@ninja -C build-static
	@tools/static-program build-static dist/stet

clean: ## remove everything that was built
	rm -rf build build-asan build-tsan build-cover build-fuzz build-lint build-bench build-static build-install build-arm64 build-self-contained dist

help: ## list these
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s%s\n", $$1, $$2 }' Makefile

setup:
	@$(SETUP)

# The packages of tests/npm. Where they can not be had, the tests that need them say so.
packages: setup
	@tools/npm >/dev/null 2>&1 || true

# What is too large for make check: the coding agents of tests/agents, and packages of few tests.
extras: setup
	@$(SETUP) --all
	@tools/npm browser >/dev/null 2>&1 || true
	@tools/npm agents >/dev/null 2>&1 || true
	@tools/npm node >/dev/null 2>&1 || true
	@tools/npm arm64 >/dev/null 2>&1 || true

build-asan/build.ninja build-tsan/build.ninja build-fuzz/build.ninja: export CC = clang
%/build.ninja: | setup
	meson setup $* $(options.$*)
