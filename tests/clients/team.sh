#!/bin/bash
# stet serve for a team, with real clients: TLS, tokens that allow less, names in logs and conflicts.
. "$(dirname "$0")/../lib/tap.sh"

dir=$("$STET_SOURCE_ROOT/tools/npm" 2>reason) || {
	skip 'a team uses one server over TLS' "$(cat reason)"
	finish
}
# certificate NAME DAYS HOST: NAME.pem and NAME.key.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
		-addext "subjectAltName=DNS:$3,IP:127.0.0.1" -days "$2" -out "$1.pem" -keyout "$1.key" 2>>openssl.log ||
		cat openssl.log >&2
	chmod 600 "$1.key"
}
certificate server 30 localhost
certificate next 30 localhost
certificate other 30 localhost
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=expired -out csr -keyout expired.key
	openssl x509 -req -in csr -signkey expired.key -days -1 -out expired.pem
	chmod 600 expired.key
} 2>>openssl.log || cat openssl.log >&2
cat server.pem next.pem >trusted.pem
TMPDIR=$tap_dir STET_NPM=$dir STET_CERTS=$PWD NODE_EXTRA_CA_CERTS=$PWD/trusted.pem \
	"$dir/node" "$STET_SOURCE_ROOT/tests/clients/team.mjs"
