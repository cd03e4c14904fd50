#include "net/gate.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/uri.h"

static bool same_name(struct st_str a, const char *b) {
	return a.len == strlen(b) && strncasecmp(a.ptr, b, a.len) == 0;
}

/* Whether this is nothing, or ":" and a port. */
static bool is_port(struct st_str text) {
	size_t digits = text.len > 0 ? text.len - 1 : 0;
	long port = 0;
	if (text.len == 0)
		return true;
	if (text.ptr[0] != ':' || digits > 5)
		return false;
	for (size_t i = 1; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		port = 10 * port + (text.ptr[i] - '0');
	}
	return port <= 65535;
}

/* The host in "name:port" or "[address]:port"; empty if malformed. */
static struct st_str host_of(struct st_str text) {
	bool bracket = text.len > 0 && text.ptr[0] == '[';
	const char *end = memchr(text.ptr, bracket ? ']' : ':', text.len);
	if (bracket && !end)
		return st_str("");
	size_t len = end ? (size_t)(end - text.ptr) : text.len;
	struct st_str host = st_str_slice(text, bracket, len);
	if (!is_port(st_str_slice(text, len + bracket, text.len)))
		return st_str("");
	if (!bracket && st_str_ends(host, ST_STR(".")))
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

static void token_release(struct st_token *token) {
	for (size_t i = 0; i < token->root_count; i++)
		free(token->roots[i]);
	*token = (struct st_token){0};
}

static void release_tokens(struct st_gate *gate) {
	while (gate->token_count > 0)
		token_release(&gate->tokens[--gate->token_count]);
}

void st_gate_release(struct st_gate *gate) {
	for (size_t i = 0; i < gate->host_count; i++)
		free(gate->hosts[i]);
	release_tokens(gate);
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

/* ---- token files ---- */

static int check_secret(struct st_str secret, struct stet_error *err) {
	for (size_t i = 0; i < secret.len; i++) {
		if (secret.ptr[i] <= ' ' || secret.ptr[i] > '~')
			return st_fail(
				err, STET_E_INVALID,
				"A token may only contain visible ASCII characters. Write one token per line.");
	}
	if (secret.len < ST_GATE_TOKEN_MIN)
		return st_fail(
			err, STET_E_INVALID,
			"A token needs at least %d characters. `openssl rand -hex 32` makes a good one.",
			ST_GATE_TOKEN_MIN);
	return 0;
}

static bool is_name_byte(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
	       c == '_' || c == '-';
}

static int set_name(struct st_token *token, struct st_str name, struct stet_error *err) {
	bool fits = name.len > 0 && name.len <= ST_GATE_OWNER && !token->named;
	for (size_t i = 0; i < name.len && fits; i++)
		fits = is_name_byte(name.ptr[i]);
	if (!fits)
		return st_fail(err, STET_E_INVALID,
		               "A token has one name of 1 to %d letters, digits, \".\", \"_\" or \"-\".",
		               ST_GATE_OWNER);
	memcpy(token->owner, name.ptr, name.len);
	token->owner[name.len] = '\0';
	token->named = true;
	return 0;
}

static int add_root(struct st_token *token, struct st_str spelled, struct stet_error *err) {
	struct st_buf path = ST_BUF_INIT;
	if (token->root_count == ST_GATE_ROOTS_MAX)
		return st_fail(err, STET_E_LIMIT, "A token can be limited to at most %d directories.",
		               ST_GATE_ROOTS_MAX);
	bool decoded = st_uri_decode(&path, spelled);
	if (path.failed || !decoded || path.len == 0) {
		st_buf_release(&path);
		return decoded && spelled.len > 0
		           ? st_fail_nomem(err)
		           : st_fail(err, STET_E_INVALID,
		                     "root= of a token needs a directory; write a blank in it as %%20.");
	}
	token->roots[token->root_count++] = path.ptr;
	return 0;
}

/* Read a word behind a token. */
static int read_word(struct st_token *token, struct st_str word, struct stet_error *err) {
	static const struct st_str name = ST_STR("name="), root = ST_STR("root=");
	if (st_str_starts(word, name))
		return set_name(token, st_str_slice(word, name.len, word.len), err);
	if (st_str_starts(word, root))
		return add_root(token, st_str_slice(word, root.len, word.len), err);
	token->read_only |= st_str_eq(word, ST_STR("read-only"));
	if (st_str_eq(word, ST_STR("read-only")))
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "A line of a token file has a token, then name=NAME, read-only or root=DIR, "
	               "with blanks between them. Something else follows a token.");
}

/* Cut the first word off a line without blanks at its beginning. */
static struct st_str next_word(struct st_str *line) {
	size_t len = 0;
	while (len < line->len && line->ptr[len] != ' ' && line->ptr[len] != '\t')
		len++;
	struct st_str word = st_strn(line->ptr, len);
	*line = st_str_trim(st_str_slice(*line, len, line->len));
	return word;
}

static int read_line(struct st_token *token, struct st_str line, struct stet_error *err) {
	struct st_str secret = next_word(&line);
	int code = check_secret(secret, err);
	if (code == 0)
		code = st_hash_of(secret, &token->hash, err);
	if (code == 0)
		st_hash_hex(&token->hash, token->owner, ST_GATE_DIGEST);
	while (code == 0 && line.len > 0)
		code = read_word(token, next_word(&line), err);
	return code;
}

static int add_line(struct st_gate *gate, struct st_str line, struct stet_error *err) {
	struct st_token token = {0};
	if (gate->token_count == ST_GATE_TOKENS_MAX)
		return st_fail(err, STET_E_LIMIT, "At most %d tokens can be given.", ST_GATE_TOKENS_MAX);
	int code = read_line(&token, line, err);
	if (code < 0)
		token_release(&token);
	else
		gate->tokens[gate->token_count++] = token;
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
		int code = add_line(gate, line, err);
		if (code < 0)
			return code;
	}
	if (gate->token_count == before)
		return st_fail(err, STET_E_INVALID, "No token found. Write one per line.");
	return 0;
}

static int copy_token(struct st_gate *gate, const struct st_token *from, struct stet_error *err) {
	struct st_token *copy = &gate->tokens[gate->token_count];
	if (gate->token_count == ST_GATE_TOKENS_MAX)
		return st_fail(err, STET_E_LIMIT, "At most %d tokens can be given.", ST_GATE_TOKENS_MAX);
	*copy = *from;
	copy->root_count = 0;
	gate->token_count++;
	for (size_t i = 0; i < from->root_count; i++) {
		copy->roots[i] = strdup(from->roots[i]);
		if (!copy->roots[i])
			return st_fail_nomem(err);
		copy->root_count++;
	}
	return 0;
}

int st_gate_copy_tokens(struct st_gate *gate, const struct st_gate *from, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < from->token_count && code == 0; i++)
		code = copy_token(gate, &from->tokens[i], err);
	return code;
}

void st_gate_take_tokens(struct st_gate *gate, struct st_gate *from) {
	release_tokens(gate);
	memcpy(gate->tokens, from->tokens, sizeof gate->tokens);
	gate->token_count = from->token_count;
	from->token_count = 0;
}

/* ---- requests ---- */

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

/* Compare all tokens completely, so that the time reveals nothing. NULL if none is equal. */
static const struct st_token *find_token(const struct st_gate *gate, const struct st_hash *hash) {
	const struct st_token *found = NULL;
	for (size_t i = 0; i < gate->token_count; i++) {
		if (st_hash_eq_secret(&gate->tokens[i].hash, hash))
			found = &gate->tokens[i];
	}
	return found;
}

bool st_gate_token(const struct st_gate *gate, const char *authorization,
                   struct st_caller *caller) {
	static const char scheme[] = "Bearer ";
	*caller = (struct st_caller){0};
	if (gate->open)
		return true;
	if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
		return false;
	struct st_hash hash;
	struct st_str secret = st_str_trim(st_str(authorization + sizeof scheme - 1));
	const struct st_token *token =
		st_hash_of(secret, &hash, NULL) < 0 ? NULL : find_token(gate, &hash);
	if (!token)
		return false;
	memcpy(caller->owner, token->owner, sizeof caller->owner);
	caller->named = token->named;
	st_hash_hex(&hash, caller->token, ST_GATE_DIGEST);
	return true;
}

bool st_gate_accepts(const struct st_gate *gate, const char *token) {
	char known[ST_GATE_DIGEST + 1];
	for (size_t i = 0; i < gate->token_count; i++) {
		st_hash_hex(&gate->tokens[i].hash, known, ST_GATE_DIGEST);
		if (strcmp(known, token) == 0)
			return true;
	}
	return gate->open;
}
