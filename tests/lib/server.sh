# shellcheck shell=bash
# For tests of stet serve and stet page, after lib/tap.sh: a server in the background, and requests to it
# as bytes, which a client of HTTP would not send.
#
#     start serve one
#     authorization="Authorization: Bearer $(cat token)\r\n"
#     claim 'is well' says '200 OK' ask GET /healthz ''
#     claim 'ends on a signal' stop

host=localhost
authorization=

# start COMMAND [ARG...]: stet listens at $port; $token is that of the page's address. Its output is in the
# files url and complaints, its process in pid, and in the end its exit status in status.
start() {
	rm -f url pid status
	("$STET" "$@" >url 2>complaints & echo $! >pid; wait $!; echo $? >status) &
	for _ in {1..1200}; do
		[ -s url ] || [ -s status ] && break
		sleep 0.05
	done
	port=$(sed -n '1s|.*:\([0-9]*\)/.*|\1|p' url)
	# shellcheck disable=SC2034 # for the script
	token=$(sed -n '1s|.*#token=||p' url)
}

# stop: it ends on a signal, and as it should.
stop() {
	kill -TERM "$(cat pid)"
	for _ in {1..1200}; do
		[ -s status ] && break
		sleep 0.05
	done
	[ "$(cat status)" -eq 0 ]
}

# ask METHOD PATH HEADERS [BODY]: the answer; $host and $authorization go along.
ask() {
	local body=${4-}
	exec 5<>"/dev/tcp/127.0.0.1/$port" || return
	printf '%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%b' "$1" "$2" "$host" "$3$authorization" >&5
	printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body" >&5
	timeout 10 cat <&5
	exec 5>&-
}

# says TEXT COMMAND [ARG...]: the text is in its output.
says() { "${@:2}" | grep -qF -- "$1"; }
