#include "net/headers.h"

#include "base/buf.h"
#include "base/utf8.h"

static int digit_of(char c) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* False if the text is not base64. */
static bool decode_base64(struct st_str text, struct st_buf *out) {
	unsigned bits = 0, count = 0;
	while (text.len > 0 && text.ptr[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = digit_of(text.ptr[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned)digit;
		count += 6;
		if (count >= 8) {
			count -= 8;
			st_buf_addc(out, (char)(bits >> count & 0xff));
		}
	}
	return !out->failed;
}

static bool matches(struct st_str value, struct st_str body) {
	static const struct st_str open = {"=?base64?", 9}, close = {"?=", 2};
	st_auto(st_buf) plain = ST_BUF_INIT;
	if (value.len < open.len + close.len || !st_str_starts(value, open) ||
	    !st_str_ends(value, close))
		return st_str_eq(value, body);
	return decode_base64(st_str_slice(value, open.len, value.len - close.len), &plain) &&
	       st_str_eq(st_buf_str(&plain), body);
}

static void compare_header(struct st_mcp_message *message, const char *name, const char *value,
                           struct st_str body) {
	struct st_str text = st_str_trim(st_str(value));
	if (message->code != 0)
		return;
	if (!value)
		st_mcp_refuse(message, ST_MCP_HEADER_MISMATCH, "The header %s is missing.", name);
	else if (!matches(text, body))
		st_mcp_refuse(message, ST_MCP_HEADER_MISMATCH,
		              "The header %s does not match the body, which has \"%.*s\".", name,
		              (int)st_utf8_cut(body, 100), body.ptr);
}

static bool has_name(struct st_str method) {
	return st_str_eq(method, ST_STR("tools/call")) || st_str_eq(method, ST_STR("prompts/get")) ||
	       st_str_eq(method, ST_STR("resources/read"));
}

void st_headers_compare(struct st_mcp_message *message, const char *version, const char *method,
                        const char *name) {
	if (message->kind != ST_MCP_REQUEST || message->claim != ST_MCP_CLAIM_WHOLE)
		return;
	compare_header(message, "MCP-Protocol-Version", version, message->claimed);
	compare_header(message, "Mcp-Method", method, message->method);
	if (has_name(message->method))
		compare_header(message, "Mcp-Name", name, message->name);
}
