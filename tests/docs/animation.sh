#!/bin/bash
# The animation of the README: a recorded terminal, which is what the commands print today.
. "$(dirname "$0")/../lib/tap.sh"

shown=$STET_SOURCE_ROOT/docs/story.svg
claim 'it can be recorded' "$STET_SOURCE_ROOT/tools/animate" "$(dirname "$STET")" story.svg
claim 'docs/story.svg is what make docs records' diff -u "$shown" story.svg
claim 'it is well-formed' python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$shown"
claim 'it shows the refusal and both changes' \
	sh -c 'grep -q "was modified since you last read it" "$1" && grep -q ">tea<" "$1" && grep -q ">butter<" "$1"' - "$shown"
claim 'it asks nobody for anything' exits 1 grep -qE '(href|url\(|@import|<script|<image)' "$shown"
claim 'it is small' test "$(wc -c <"$shown")" -lt 10000
claim 'README shows it' grep -q '(docs/story.svg)' "$STET_SOURCE_ROOT/README.md"
finish
