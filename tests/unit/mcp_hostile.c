/* Calls with arguments of the wrong kind, made from the tables of all tools, in both eras. */
#include "base/json.h"
#include "lib/test.h"
#include "mcp/service/service.h"
#include "tools/tool.h"

#define META \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct server {
	struct st_mcp_sink sink;
	struct stet_host *host;
	struct st_service *service;
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	/* The last answer. */
	yyjson_doc *answer;
	int answers, status;
};

static void take_event(struct st_mcp_sink *sink, struct st_buf *message) {
}

static void take_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct server *server = (struct server *)sink;
	yyjson_doc_free(server->answer);
	server->answer = yyjson_read(message->ptr, message->len, 0);
	assert_non_null(server->answer);
	server->answers++;
	server->status = status;
}

static void take_done(struct st_mcp_sink *sink) {
}

static void open_server(struct server *server, struct dir *dir) {
	const char *root = dir->path;
	*server = (struct server){.sink = {take_event, take_answer, take_done}};
	dir_write(dir, "a.txt", "one\n");
	assert_int_equal(stet_host_open(&root, 1, &server->host, NULL), 0);
	assert_int_equal(stet_host_set(server->host, STET_OPTION_STRUCTURED, 1, NULL), 0);
	assert_int_equal(st_service_new(server->host, NULL, &server->service, NULL), 0);
	assert_int_equal(
		st_mcp_server_new(st_service_base(server->service), NULL, &server->server, NULL), 0);
	assert_int_equal(st_mcp_peer_new(server->server, ST_MCP_STDIO, NULL, NULL, &server->peer, NULL),
	                 0);
	st_mcp_receive(server->peer,
	               ST_STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	                      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"),
	               &server->sink);
}

static void close_server(struct server *server) {
	st_mcp_peer_close(server->peer);
	st_mcp_server_free(server->server);
	st_service_free(server->service);
	stet_host_close(server->host);
	yyjson_doc_free(server->answer);
}

/* Say something that must be answered once, with an id. */
static yyjson_val *say(struct server *server, struct st_str message, int id) {
	int before = server->answers;
	st_mcp_receive(server->peer, message, &server->sink);
	assert_int_equal(server->answers, before + 1);
	yyjson_val *root = yyjson_doc_get_root(server->answer);
	assert_int_equal(yyjson_get_int(yyjson_obj_get(root, "id")), id);
	return root;
}

static yyjson_val *call(struct server *server, const char *tool, const char *args, bool modern) {
	static int id;
	st_auto(st_buf) message = ST_BUF_INIT;
	st_buf_addf(
		&message,
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
		"\"arguments\":%s%s}}",
		++id, tool, args, modern ? "," META : "");
	return say(server, st_buf_str(&message), id);
}

/* ---- wrong kinds ---- */

static const struct {
	const char *json;
	/* Bit n: it is one for enum st_param_type n. */
	unsigned fits;
} values[] = {
	{"\"text\"", 1U << ST_PARAM_STRING},
	{"7", 1U << ST_PARAM_INTEGER},
	{"-9223372036854775808", 1U << ST_PARAM_INTEGER},
	{"18446744073709551615", 1U << ST_PARAM_INTEGER},
	{"1.5", 0},
	{"1e300", 0},
	{"123456789012345678901234567890", 0},
	{"true", 1U << ST_PARAM_BOOLEAN},
	{"[]", 1U << ST_PARAM_STRINGS},
	{"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", 0},
	{"{}", 0},
	{"{\"a\":{\"b\":[1,2,{\"c\":null}]}}", 0},
};

static void try_value(struct server *server, const struct st_tool *tool,
                      const struct st_param *param, size_t value, bool modern) {
	char args[300];
	snprintf(args, sizeof args, "{\"%s\":%s}", param->name, values[value].json);
	yyjson_val *result = yyjson_obj_get(call(server, tool->name, args, modern), "result");
	if (!yyjson_is_obj(result))
		fail_msg("%s %s is not answered with a result", tool->name, args);
	bool refused = yyjson_is_true(yyjson_obj_get(result, "isError"));
	bool wrong = param->type != ST_PARAM_ANY && !(values[value].fits & 1U << param->type);
	yyjson_val *data = yyjson_obj_get(result, "structuredContent");
	if (wrong &&
	    (!refused || strcmp(yyjson_get_str(yyjson_obj_get(data, "error")), "invalid") != 0))
		fail_msg("%s %s is not refused as invalid", tool->name, args);
	yyjson_val *said = yyjson_arr_get_first(yyjson_obj_get(result, "content"));
	if (wrong && !strstr(yyjson_get_str(yyjson_obj_get(said, "text")), param->name))
		fail_msg("%s %s: the answer does not name the argument", tool->name, args);
}

static void every_argument_of_every_tool_is_checked_for_its_kind(void **state) {
	struct server server;
	open_server(&server, *state);
	size_t tried = 0;
	for (size_t i = 0; st_tools[i]; i++) {
		for (const struct st_param *param = st_tools[i]->params; param->name; param++) {
			for (size_t value = 0; value < sizeof values / sizeof *values; value++, tried++)
				try_value(&server, st_tools[i], param, value, tried % 2);
		}
	}
	assert_true(tried > 500);
	close_server(&server);
}

static void arguments_that_no_tool_has_are_refused_by_what_writes(void **state) {
	struct server server;
	open_server(&server, *state);
	for (size_t i = 0; st_tools[i]; i++) {
		if (st_tools[i]->hints & ST_HINT_READ_ONLY)
			continue;
		yyjson_val *answer = call(&server, st_tools[i]->name, "{\"no such\":1}", i % 2);
		yyjson_val *result = yyjson_obj_get(answer, "result");
		assert_true(yyjson_is_true(yyjson_obj_get(result, "isError")));
	}
	close_server(&server);
}

/* The client's hook gives JSON within a text, which the check of the message does not reach. */
static void json_in_the_text_of_a_hook_may_nest_deeply(void **state) {
	enum { DEPTH = 1000000 };
	struct server server;
	st_auto(st_buf) args = ST_BUF_INIT;
	open_server(&server, *state);
	st_buf_adds(&args,
	            "{\"hook_event_name\":\"PostToolUse\",\"session_id\":\"s\",\"cwd\":\"/\","
	            "\"tool_name\":\"Bash\",\"tool_input\":\"");
	for (int i = 0; i < 2 * DEPTH; i++)
		st_buf_addc(&args, i < DEPTH ? '[' : ']');
	st_buf_adds(&args, "\"}");
	yyjson_val *answer = call(&server, "hook", st_buf_cstr(&args), false);
	assert_false(yyjson_is_true(yyjson_ptr_get(answer, "/result/isError")));
	close_server(&server);
}

/* ---- members of params of the wrong kind ---- */

static void every_member_of_params_is_checked_for_its_kind(void **state) {
	static const struct {
		const char *method, *member;
	} members[] = {
		{"tools/call", "name"},
		{"resources/read", "uri"},
		{"prompts/get", "name"},
		{"completion/complete", "argument"},
		{"completion/complete", "ref"},
		{"tools/list", "cursor"},
		{"prompts/list", "cursor"},
		{"resources/list", "cursor"},
		{"resources/templates/list", "cursor"},
	};
	static const char *const wrong[] = {"7", "1.5", "true", "[]", "{}", "[{}]"};
	struct server server;
	open_server(&server, *state);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		for (size_t k = 0; k < 2 * sizeof wrong / sizeof *wrong; k++) {
			char message[500];
			snprintf(message, sizeof message,
			         "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":{\"%s\":%s%s}}",
			         members[i].method, members[i].member, wrong[k / 2], k % 2 ? "," META : "");
			yyjson_val *error = yyjson_obj_get(say(&server, st_str(message), 5), "error");
			if (yyjson_get_int(yyjson_obj_get(error, "code")) != ST_MCP_INVALID_PARAMS)
				fail_msg("%s is not refused with -32602", message);
		}
	}
	close_server(&server);
}

/* ---- bytes ---- */

static void a_message_with_a_byte_changed_is_answered_or_ignored(void **state) {
	static const char message[] =
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"read_file\","
		"\"arguments\":{\"path\":\"a.txt\"}}}";
	static const char bytes[] = {'\0', '\xff', '"', '\\', '{', '}', ',', '0', '\xc3', '\n'};
	struct server server;
	open_server(&server, *state);
	for (size_t i = 0; i < sizeof message - 1; i++) {
		for (size_t k = 0; k < sizeof bytes; k++) {
			char copy[sizeof message];
			memcpy(copy, message, sizeof message);
			copy[i] = bytes[k];
			st_mcp_receive(server.peer, st_strn(copy, sizeof message - 1), &server.sink);
		}
	}
	/* And it still does what it is asked. */
	yyjson_val *result = yyjson_obj_get(say(&server, st_str(message), 5), "result");
	assert_non_null(result);
	assert_null(yyjson_obj_get(result, "isError"));
	close_server(&server);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(every_argument_of_every_tool_is_checked_for_its_kind),
		claim(arguments_that_no_tool_has_are_refused_by_what_writes),
		claim(json_in_the_text_of_a_hook_may_nest_deeply),
		claim(every_member_of_params_is_checked_for_its_kind),
		claim(a_message_with_a_byte_changed_is_answered_or_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
