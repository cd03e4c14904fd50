#include "net/permissions.h"

#include <string.h>

#include "tools/host.h"

static int limit_to_roots(const struct st_token *token, const struct stet_host *host,
                          struct st_limit *limit, struct stet_error *err) {
	limit->spaces = token->root_count > 0 ? 0 : UINT64_MAX;
	for (size_t i = 0; i < token->root_count; i++) {
		uint64_t bit = st_host_space_bit(host, token->roots[i]);
		if (!bit)
			return st_fail(err, STET_E_INVALID,
			               "A token is limited to %.200s, which is not served: name that directory "
			               "in `stet serve DIR...` as well.",
			               token->roots[i]);
		limit->spaces |= bit;
	}
	return 0;
}

/* Tokens of one name are one caller: a new token in place of an old one keeps the sessions. */
static int check_same(const struct st_limit *limits, size_t count, const struct st_limit *limit,
                      struct stet_error *err) {
	for (size_t i = 0; i < count; i++) {
		if (strcmp(limits[i].owner, limit->owner) == 0 &&
		    (limits[i].read_only != limit->read_only || limits[i].spaces != limit->spaces))
			return st_fail(err, STET_E_INVALID,
			               "Two tokens named %s may do different things: give them two names.",
			               limit->owner);
	}
	return 0;
}

int st_permissions_apply(const struct st_gate *gate, struct stet_host *host,
                         struct stet_error *err) {
	struct st_limit limits[ST_GATE_TOKENS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < gate->token_count; i++) {
		const struct st_token *token = &gate->tokens[i];
		struct st_limit *limit = &limits[count];
		*limit = (struct st_limit){token->owner, token->named, token->read_only, 0};
		int code = limit_to_roots(token, host, limit, err);
		if (code == 0)
			code = check_same(limits, count, limit, err);
		if (code < 0)
			return code;
		count++;
	}
	return st_host_set_limits(host, limits, count, err);
}
