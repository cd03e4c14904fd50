#include "mcp/protocol/wire.h"

static void begin_response(struct st_buf *out, struct st_str id) {
	st_buf_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	st_buf_add(out, id);
}

void st_mcp_wire_begin(struct st_buf *out, struct st_str id) {
	begin_response(out, id);
	st_buf_adds(out, ",\"result\":");
}

void st_mcp_wire_end(struct st_buf *out, size_t start, struct st_str more) {
	if (more.len > 0 && !out->failed) {
		bool empty = out->len - start == strlen("{}");
		st_buf_truncate(out, out->len - 1);
		st_buf_adds(out, empty ? "" : ",");
		st_buf_add(out, more);
		st_buf_addc(out, '}');
	}
	st_buf_addc(out, '}');
}

void st_mcp_wire_error(struct st_buf *out, struct st_str id, int code, struct st_str message,
                       struct st_str data) {
	begin_response(out, id);
	st_buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", code);
	st_json_quote(out, message);
	if (data.len > 0) {
		st_buf_adds(out, ",\"data\":");
		st_buf_add(out, data);
	}
	st_buf_adds(out, "}}");
}

static void add_call(struct st_buf *out, const char *method, struct st_str params) {
	st_buf_addf(out, "\"method\":\"%s\"", method);
	if (params.len > 0) {
		st_buf_adds(out, ",\"params\":");
		st_buf_add(out, params);
	}
	st_buf_addc(out, '}');
}

void st_mcp_wire_notification(struct st_buf *out, const char *method, struct st_str params) {
	st_buf_adds(out, "{\"jsonrpc\":\"2.0\",");
	add_call(out, method, params);
}

void st_mcp_wire_request(struct st_buf *out, uint64_t id, const char *method,
                         struct st_str params) {
	st_buf_addf(out, "{\"jsonrpc\":\"2.0\",\"id\":%llu,", (unsigned long long)id);
	add_call(out, method, params);
}

void st_mcp_wire_value(struct st_buf *out, yyjson_val *value) {
	size_t len = 0;
	char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &len);
	if (text)
		st_buf_add(out, st_strn(text, len));
	else
		out->failed = true;
	free(text);
}
