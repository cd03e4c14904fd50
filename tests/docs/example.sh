#!/bin/bash
# docs/example.c, built on the public headers alone: what it prints is in docs/example.out.
. "$(dirname "$0")/../lib/tap.sh"

claim 'the example runs' sh -c '"$STET_BUILD_ROOT/tests/example" >out'
claim 'the example prints docs/example.out' diff -u "$STET_SOURCE_ROOT/docs/example.out" out
printf 'bread\noat milk\nbutter\n' >expected
claim 'both changes are in the file' diff -u expected list.txt
finish
