#!/bin/bash
# stet agents: what it lists, what applies to a path, and its exit statuses.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p repo/src/ui repo/node_modules/pkg repo/old repo/empty
printf '# Root\n' >repo/AGENTS.md
printf '# Src\n' >repo/src/agents.md
printf '# Override\n' >repo/src/ui/AGENTS.override.md
printf '# Ui\n' >repo/src/ui/AGENTS.md
printf '# Package\n' >repo/node_modules/pkg/AGENTS.md
ln -s ../gone.md repo/old/AGENTS.md

is() { diff <(printf '%b' "$1") <("${@:2}" 2>/dev/null); }
in_repo() { cd repo && "$@"; }
says() { "${@:2}" 2>&1 | grep -qF -- "$1"; }

claim 'lists sizes, and why a file is not loaded' is \
	' 7  AGENTS.md\n 0  old/AGENTS.md  not loaded: is a link that leads to no file\n 6  src/agents.md\n11  src/ui/AGENTS.override.md\n 5  src/ui/AGENTS.md  not loaded: gives way to src/ui/AGENTS.override.md\n' \
	"$STET" --root repo agents
claim 'prints the paths of what is loaded' is \
	'AGENTS.md\nsrc/agents.md\nsrc/ui/AGENTS.override.md\n' "$STET" --root repo agents --paths
claim 'prints what applies to a path, the root first' is \
	'[Project instructions from AGENTS.md]\n\n# Root\n\n[Loaded from src/agents.md]\n\n# Src\n' \
	"$STET" --root repo agents src/new.c
claim 'takes a directory as well' is 'AGENTS.md\nsrc/agents.md\nsrc/ui/AGENTS.override.md\n' \
	"$STET" --root repo agents --paths src/ui
claim 'takes the working directory as the root' is 'AGENTS.md\n' \
	in_repo "$STET" agents --paths -- README
claim 'prints JSON' says '"path":"src/agents.md","change":"listed","size":6' \
	"$STET" --root repo --json agents
claim 'prints JSON of a path too' says '"content":"# Src\n"' "$STET" --root repo agents --json src/x
claim 'loads nothing from node_modules' is 'AGENTS.md\n' \
	"$STET" --root repo agents --paths node_modules/pkg/index.js
claim 'says what it skipped' says 'old/AGENTS.md" is a link that leads to no file' \
	"$STET" --root repo agents old/x.c
claim 'does nothing in a tree without instructions' is '' "$STET" --root repo/empty agents
claim 'leaves no state behind' test ! -e repo/.stet
claim 'refuses a path outside the root' exits 2 "$STET" --root repo agents ../x
claim 'refuses an unknown option' exits 2 "$STET" agents --no-such
claim 'refuses a second path' exits 2 "$STET" agents a b
claim 'refuses a root that is not there' exits 2 "$STET" --root no-such agents
claim 'wants a value behind --root' exits 2 "$STET" --root
claim 'says so when the output is lost' exits 3 sh -c '"$STET" --root repo agents >/dev/full'
claim 'prints help' says 'Usage: stet agents [OPTION...] [PATH]' "$STET" agents --help
claim 'is in the list of commands' says '  agents ' "$STET" --help
finish
