#include "mcp/protocol/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

void st_mcp_refuse(struct st_mcp_message *message, int code, const char *format, ...) {
	struct stet_error why;
	va_list args;
	va_start(args, format);
	vsnprintf(why.message, sizeof why.message, format, args);
	va_end(args);
	message->kind = ST_MCP_BROKEN;
	message->code = code;
	st_buf_clear(&message->problem);
	st_buf_adds(&message->problem, why.message);
}

/* Copy the id. False unless it is a string or an integer; other numbers may not survive the round trip. */
static bool copy_id(struct st_mcp_message *message, yyjson_val *id) {
	st_buf_clear(&message->id);
	if (yyjson_is_str(id))
		st_json_quote(&message->id, st_json_str(id));
	else if (yyjson_is_uint(id))
		st_buf_addu(&message->id, yyjson_get_uint(id));
	else if (yyjson_is_sint(id))
		st_buf_addf(&message->id, "%lld", (long long)yyjson_get_sint(id));
	else if (yyjson_is_real(id))
		st_mcp_wire_value(&message->id, id);
	else
		st_buf_adds(&message->id, "null");
	return yyjson_is_str(id) || st_json_is_int(id);
}

static void read_claim(struct st_mcp_message *message) {
	yyjson_val *version = yyjson_obj_get(message->meta, ST_MCP_META_VERSION);
	yyjson_val *capabilities = yyjson_obj_get(message->meta, ST_MCP_META_CAPABILITIES);
	yyjson_val *client = yyjson_obj_get(message->meta, ST_MCP_META_CLIENT);
	if (!version && !capabilities && !client)
		return;
	bool whole =
		yyjson_is_str(version) && yyjson_is_obj(capabilities) && (!client || yyjson_is_obj(client));
	message->claim = whole ? ST_MCP_CLAIM_WHOLE : ST_MCP_CLAIM_MALFORMED;
	message->claimed = st_json_str(version);
	message->version = st_mcp_version_find(message->claimed);
}

/* Get a member that must be an object. Invalid members of notifications, which get no answer, are ignored. */
static bool read_member(struct st_mcp_message *message, yyjson_val *parent, const char *name,
                        yyjson_val **out) {
	yyjson_val *value = yyjson_obj_get(parent, name);
	if (yyjson_is_obj(value))
		*out = value;
	if (!value || *out || message->kind == ST_MCP_NOTIFICATION)
		return true;
	st_mcp_refuse(message, ST_MCP_INVALID_PARAMS, "\"%s\" must be an object, not %s.", name,
	              st_json_kind(value));
	return false;
}

static void read_params(struct st_mcp_message *message) {
	if (!read_member(message, message->root, "params", &message->params) ||
	    !read_member(message, message->params, "_meta", &message->meta))
		return;
	read_claim(message);
	bool resource = st_str_starts(message->method, ST_STR("resources/"));
	message->name = st_json_str(yyjson_obj_get(message->params, resource ? "uri" : "name"));
}

static void classify_call(struct st_mcp_message *message, yyjson_val *id, bool usable) {
	message->kind = id ? ST_MCP_REQUEST : ST_MCP_NOTIFICATION;
	if (id && !usable) {
		st_mcp_refuse(message, ST_MCP_INVALID_REQUEST,
		              "The id of a request is a string or an integer.");
		return;
	}
	read_params(message);
}

static void classify_object(struct st_mcp_message *message) {
	yyjson_val *id = yyjson_obj_get(message->root, "id");
	yyjson_val *method = yyjson_obj_get(message->root, "method");
	message->method = st_json_str(method);
	bool usable = copy_id(message, id);
	if (!st_str_eq(st_json_str(yyjson_obj_get(message->root, "jsonrpc")), ST_STR("2.0")))
		st_mcp_refuse(message, ST_MCP_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\".");
	else if (yyjson_is_str(method))
		classify_call(message, id, usable);
	else if (!method && id &&
	         !yyjson_obj_get(message->root, "result") != !yyjson_obj_get(message->root, "error"))
		message->kind = ST_MCP_RESPONSE;
	else
		st_mcp_refuse(
			message, ST_MCP_INVALID_REQUEST,
			"A message has a \"method\", or an \"id\" with a \"result\" or an \"error\".");
}

static void classify_message(struct st_mcp_message *message, yyjson_val *root) {
	message->root = root;
	if (yyjson_is_obj(root))
		classify_object(message);
	else if (yyjson_arr_size(root) > 0)
		message->kind = ST_MCP_BATCH;
	else
		st_mcp_refuse(message, ST_MCP_INVALID_REQUEST, "A message must be a JSON object.");
}

static struct st_mcp_message *new_message(void) {
	struct st_mcp_message *message = calloc(1, sizeof *message);
	if (message) {
		message->method = message->name = message->claimed = st_str("");
		st_buf_adds(&message->id, "null");
	}
	return message;
}

/* NULL if memory ran out for a part of the message. */
static struct st_mcp_message *check_memory(struct st_mcp_message *message) {
	if (!message->id.failed && !message->problem.failed)
		return message;
	st_mcp_message_free(message);
	return NULL;
}

/* The id at the beginning of a text, if it is an integer or a string without escapes. */
static struct st_str id_at(struct st_str text) {
	size_t len = text.len > 0 && text.ptr[0] == '-';
	if (text.len > 0 && text.ptr[0] == '"') {
		const char *end = memchr(text.ptr + 1, '"', text.len - 1);
		bool plain = end && !memchr(text.ptr, '\\', (size_t)(end - text.ptr));
		return st_strn(text.ptr, plain ? (size_t)(end - text.ptr) + 1 : 0);
	}
	while (len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9')
		len++;
	return st_strn(text.ptr, len);
}

/* ---- invalid JSON ---- */

/* The value of an escape \uXXXX at an index; -1 if there is none. */
static int escape_at(struct st_str text, size_t at) {
	char digits[5] = {0};
	if (at + 6 > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u')
		return -1;
	memcpy(digits, text.ptr + at + 2, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int)strtol(digits, NULL, 16) : -1;
}

/*
 * Copy a text and replace each escape of half a surrogate pair by \uFFFD. JavaScript
 * clients send such halves when they cut a string between two units.
 *
 * @return Whether there was one.
 */
static bool repair_surrogates(struct st_str text, struct st_buf *out) {
	bool repaired = false;
	st_buf_add(out, text);
	for (size_t i = 0; i + 1 < text.len && !out->failed; i++) {
		if (text.ptr[i] != '\\')
			continue;
		int unit = escape_at(text, i);
		int next = unit >= 0xD800 && unit < 0xDC00 ? escape_at(text, i + 6) : -1;
		if (next >= 0xDC00 && next < 0xE000) {
			i += 11;
		} else if (unit >= 0xD800 && unit < 0xE000) {
			memcpy(out->ptr + i, "\\uFFFD", 6);
			repaired = true;
			i += 5;
		} else {
			i++;
		}
	}
	return repaired && !out->failed;
}

/* The index after the closing quote of a string. */
static size_t skip_string(struct st_str text, size_t i) {
	for (i++; i < text.len && text.ptr[i] != '"'; i++)
		i += text.ptr[i] == '\\';
	return i < text.len ? i + 1 : text.len;
}

static size_t skip_space(struct st_str text, size_t i) {
	while (i < text.len && strchr(" \t\r\n", text.ptr[i]))
		i++;
	return i;
}

/* The top-level "id" of an object in invalid JSON; empty if not found. */
static struct st_str id_in(struct st_str text) {
	size_t depth = 0;
	for (size_t i = 0; i < text.len;) {
		char byte = text.ptr[i];
		if (byte != '"') {
			depth += byte == '{' || byte == '[';
			depth -= (byte == '}' || byte == ']') && depth > 0;
			i++;
			continue;
		}
		size_t end = skip_string(text, i), colon = skip_space(text, end);
		bool is_id = depth == 1 && st_str_eq(st_str_slice(text, i, end), ST_STR("\"id\""));
		if (is_id && colon < text.len && text.ptr[colon] == ':') {
			size_t value = skip_space(text, colon + 1);
			return id_at(st_str_slice(text, value, text.len));
		}
		i = end;
	}
	return ST_STR("");
}

static void set_id(struct st_mcp_message *message, struct st_str id) {
	if (id.len == 0 || !st_utf8_valid(id) || st_str_eq(id, ST_STR("-")))
		return;
	st_buf_clear(&message->id);
	st_buf_add(&message->id, id);
}

static int parse_or_repair(struct st_mcp_message *message, struct st_str bytes,
                           struct stet_error *err) {
	static const char what[] = "The parts of this message";
	int code = st_json_parse_text(bytes, what, &message->doc, err);
	st_auto(st_buf) repaired = ST_BUF_INIT;
	if (code != STET_E_INVALID || !repair_surrogates(bytes, &repaired))
		return code;
	message->repaired = true;
	return st_json_parse_text(st_buf_str(&repaired), what, &message->doc, err);
}

struct st_mcp_message *st_mcp_message_new(struct st_str bytes) {
	struct st_mcp_message *message = new_message();
	if (!message)
		return NULL;
	struct stet_error why = {0};
	int code = parse_or_repair(message, bytes, &why);
	if (code == 0) {
		classify_message(message, yyjson_doc_get_root(message->doc));
		code = st_json_check_keys(message->doc, "The parts of this message", &why);
		if (code == STET_E_INVALID)
			st_mcp_refuse(message, ST_MCP_INVALID_REQUEST, "%s", why.message);
	} else if (code == STET_E_INVALID) {
		set_id(message, id_in(bytes));
		st_mcp_refuse(message, ST_MCP_PARSE_ERROR, "%s", why.message);
	}
	if (code == STET_E_NOMEM) {
		st_mcp_message_free(message);
		return NULL;
	}
	return check_memory(message);
}

/*
 * The id of a message of which only the first and last bytes are known. Most
 * clients write it first or last, where no other member can look like it.
 */
static struct st_str id_of_edges(struct st_str head, struct st_str tail) {
	static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":", last[] = ",\"id\":";
	if (st_str_starts(head, st_str(first)))
		return id_at(st_str_slice(head, sizeof first - 1, head.len));
	tail = st_str_trim(tail);
	for (size_t i = tail.len; i-- > 0;) {
		struct st_str rest = st_str_slice(tail, i, tail.len);
		if (!st_str_starts(rest, st_str(last)))
			continue;
		struct st_str id = id_at(st_str_slice(rest, sizeof last - 1, rest.len));
		bool ends = id.ptr + id.len + 1 == tail.ptr + tail.len && id.ptr[id.len] == '}';
		return ends ? id : ST_STR("");
	}
	return ST_STR("");
}

struct st_mcp_message *st_mcp_message_oversized(struct st_str head, struct st_str tail,
                                                size_t limit) {
	struct st_mcp_message *message = new_message();
	if (!message)
		return NULL;
	set_id(message, id_of_edges(head, tail));
	st_mcp_refuse(
		message, ST_MCP_INVALID_REQUEST,
		"This message is larger than the limit of %zu bytes and was not read. Send less at "
		"once: edit a part of a file instead of writing all of it.",
		limit);
	return check_memory(message);
}

void st_mcp_message_free(struct st_mcp_message *message) {
	if (!message)
		return;
	st_buf_release(&message->problem);
	st_buf_release(&message->id);
	yyjson_doc_free(message->doc);
	free(message);
}

/* ---- writing ---- */

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
