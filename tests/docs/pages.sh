#!/bin/bash
# The pages agree with the rest: links lead somewhere, and what must be listed is.
. "$(dirname "$0")/../lib/tap.sh"
cd "$STET_SOURCE_ROOT" || exit 99

# The anchors of a page, one a line, as its headings make them.
anchors() {
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links_resolve() {
	local page=$1 link file status=0
	while read -r link; do
		file=${link%%#*}
		file=${file:+$(dirname "$page")/$file}
		if [ ! -e "${file:-$page}" ]; then
			echo "$link leads nowhere"
			status=1
		elif [[ $link == *'#'* ]] && ! anchors "${file:-$page}" | grep -qx -- "${link#*#}"; then
			echo "$link: there is no such heading"
			status=1
		fi
	done < <(grep -o ']([^)]*)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*://')
	return $status
}

# names PAGE: every line of the standard input, of which there are some, is in the page.
names() {
	local line count=0 status=0
	while read -r line; do
		count=$((count + 1))
		grep -qF -- "$line" "$1" || {
			echo "$line is missing"
			status=1
		}
	done
	return $((status || count == 0))
}

names_the_codes() {
	sed -n 's/^\tX(\([A-Z_]*\), "\([a-z_]*\)", -[0-9]*, "\([^"]*\)", [-0-9]*, \([0-9]\)).*/| `STET_E_\1` | \2 | \3 | \4 |/p' \
		include/stet/error.h | names docs/library.md
}

names_the_words() {
	sed -n 's/^\([a-z-]*\):.*## .*/`make \1`/p' Makefile | sed 's/ all`$/`/' | names CONTRIBUTING.md
}

names_the_folders() {
	find src eval -name '*.c' -printf '`%h`\n' | sort -u | names docs/architecture.md
}

names_the_locks() {
	grep -rlE --include='*.[ch]' 'pthread_mutex_t [a-z_]+( =|;)' src | sed 's|^src/||; s|\.[ch]$||' | names docs/threads.md
}

# The pages have no function that the source lacks: a rename must reach them.
names_functions_that_exist() {
	local name count=0 status=0
	for name in $(grep -ohE '`st(et)?_[a-z_]*\(\)`' docs/architecture.md docs/threads.md | tr -d '`()' | sort -u); do
		count=$((count + 1))
		grep -rqw --include='*.[ch]' "$name" src || {
			echo "$name() is not in src/"
			status=1
		}
	done
	return $((status || count < 30))
}

claim 'the generated pages can be made' tools/make-docs "$STET_BUILD_ROOT" "$tap_dir"
for page in tools.md commands.md editing-guide.md; do
	claim "docs/$page is as make docs makes it" diff -u "docs/$page" "$tap_dir/$page"
done
for page in *.md docs/*.md; do
	claim "the links in $page lead somewhere" links_resolve "$page"
done
claim 'docs/library.md has every error code as it is in error.h' names_the_codes
claim 'CONTRIBUTING.md names every word of the Makefile' names_the_words
claim 'docs/architecture.md names every folder of the source' names_the_folders
claim 'docs/threads.md names every file with a lock' names_the_locks
claim 'docs/architecture.md and docs/threads.md name functions that exist' names_functions_that_exist
finish
