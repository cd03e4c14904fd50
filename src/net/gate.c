#include "net/gate.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"

static bool same_name(struct st_str a, const char *b) {
	return a.len == strlen(b) && strncasecmp(a.ptr, b, a.len) == 0;
}

/* The host in "name:port" or "[address]:port"; empty if malformed. */
static struct st_str host_of(struct st_str text) {
	if (text.len && text.ptr[0] == '[') {
		const char *end = memchr(text.ptr, ']', text.len);
		return end ? st_str_slice(text, 1, (size_t)(end - text.ptr)) : st_str("");
	}
	const char *colon = memchr(text.ptr, ':', text.len);
	struct st_str host = colon ? st_strn(text.ptr, (size_t)(colon - text.ptr)) : text;
	if (st_str_ends(host, ST_STR(".")))
		host.len--;
	return host;
}

static bool is_address(struct st_str host) {
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	if (host.len >= sizeof text)
		return false;
	memcpy(text, host.ptr, host.len);
	text[host.len] = '\0';
	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

/* DNS rebinding needs a name, so other addresses are allowed too, except on a loopback server. */
static bool is_own_name(const struct st_gate *gate, struct st_str host) {
	char own[256];
	if (same_name(host, "localhost") || same_name(host, "127.0.0.1") || same_name(host, "::1"))
		return true;
	for (size_t i = 0; i < gate->host_count; i++) {
		if (same_name(host, gate->hosts[i]))
			return true;
	}
	if (gate->loopback)
		return false;
	return is_address(host) || (gethostname(own, sizeof own) == 0 && same_name(host, own));
}

void st_gate_release(struct st_gate *gate) {
	for (size_t i = 0; i < gate->host_count; i++)
		free(gate->hosts[i]);
	*gate = (struct st_gate){0};
}

int st_gate_add_host(struct st_gate *gate, const char *host, struct stet_error *err) {
	if (gate->host_count == ST_GATE_HOSTS_MAX)
		return st_fail(err, STET_E_LIMIT, "At most %d host names can be given.", ST_GATE_HOSTS_MAX);
	char *copy = strdup(host);
	if (!copy)
		return st_fail_nomem(err);
	gate->hosts[gate->host_count++] = copy;
	return 0;
}

static int add_token(struct st_gate *gate, struct st_str token, struct stet_error *err) {
	for (size_t i = 0; i < token.len; i++) {
		if (token.ptr[i] <= ' ' || token.ptr[i] > '~')
			return st_fail(
				err, STET_E_INVALID,
				"A token may only contain visible ASCII characters. Write one token per line.");
	}
	if (token.len < ST_GATE_TOKEN_MIN)
		return st_fail(
			err, STET_E_INVALID,
			"A token needs at least %d characters. `openssl rand -hex 32` makes a good one.",
			ST_GATE_TOKEN_MIN);
	if (gate->token_count == ST_GATE_TOKENS_MAX)
		return st_fail(err, STET_E_LIMIT, "At most %d tokens can be given.", ST_GATE_TOKENS_MAX);
	int code = st_hash_of(token, &gate->tokens[gate->token_count], err);
	if (code == 0)
		gate->token_count++;
	return code;
}

int st_gate_add_tokens(struct st_gate *gate, struct st_str text, struct stet_error *err) {
	size_t before = gate->token_count;
	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;
		struct st_str line = st_str_trim(st_strn(text.ptr, len));
		text = st_str_slice(text, end ? len + 1 : len, text.len);
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		int code = add_token(gate, line, err);
		if (code < 0)
			return code;
	}
	if (gate->token_count == before)
		return st_fail(err, STET_E_INVALID, "No token found. Write one per line.");
	return 0;
}

bool st_gate_host(const struct st_gate *gate, const char *host) {
	return host && is_own_name(gate, host_of(st_str(host)));
}

bool st_gate_origin(const struct st_gate *gate, const char *origin) {
	if (!origin)
		return true;
	struct st_str rest = st_str(origin);
	const char *colon = strstr(origin, "://");
	if (!colon)
		return false;
	struct st_str scheme = st_strn(origin, (size_t)(colon - origin));
	rest = st_str_slice(rest, scheme.len + 3, rest.len);
	if (!same_name(scheme, "http") && !same_name(scheme, "https"))
		return false;
	return is_own_name(gate, host_of(rest));
}

/* Compare all tokens completely, so that the time reveals nothing. */
static bool is_known(const struct st_gate *gate, const struct st_hash *hash) {
	bool known = false;
	for (size_t i = 0; i < gate->token_count; i++)
		known |= st_hash_eq_secret(&gate->tokens[i], hash);
	return known;
}

bool st_gate_token(const struct st_gate *gate, const char *authorization,
                   char owner[ST_GATE_OWNER + 1]) {
	static const char scheme[] = "Bearer ";
	owner[0] = '\0';
	if (gate->open)
		return true;
	if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
		return false;
	struct st_hash hash;
	struct st_str token = st_str_trim(st_str(authorization + sizeof scheme - 1));
	if (st_hash_of(token, &hash, NULL) < 0 || !is_known(gate, &hash))
		return false;
	st_hash_hex(&hash, owner, ST_GATE_OWNER);
	return true;
}

bool st_gate_owner(const struct st_gate *gate, const char *owner) {
	char known[ST_GATE_OWNER + 1];
	for (size_t i = 0; i < gate->token_count; i++) {
		st_hash_hex(&gate->tokens[i], known, ST_GATE_OWNER);
		if (strcmp(known, owner) == 0)
			return true;
	}
	return gate->open;
}
