/*
 * The server that the official conformance suite wants to talk to: tools,
 * prompts and resources of fixed names, over the same protocol core and HTTP
 * layer as stet serve. It prints its URL and serves until its standard input
 * ends. It is never installed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "mcp/protocol/service.h"
#include "net/http.h"
#include "net/pool.h"

struct fixture {
	struct st_mcp_service service;
	struct st_mcp_server *server;
	struct st_loop *loop;
};

/* A tool or prompt: answers with fixed content, or by a function. */
struct entry {
	const char *name;
	const char *description;
	/* Of a tool, its input schema; of a prompt, its arguments. NULL for none. */
	const char *takes;
	const char *answer;
	st_mcp_handler *run;
};

#define PNG \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
	"gg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"
#define TAKES_STRING(name) \
	"{\"type\":\"object\",\"properties\":{\"" name \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define TEXT(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

static int answer(struct st_mcp_request *request, const char *json) {
	st_buf_adds(request->result, json);
	return 0;
}

/* A text content of two parts. */
static int say(struct st_mcp_request *request, const char *what, struct st_str value) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, what);
	st_buf_add(&text, value);
	st_buf_adds(request->result, "{\"content\":[{\"type\":\"text\",\"text\":");
	st_json_quote(request->result, st_buf_str(&text));
	return answer(request, "}]}");
}

static yyjson_val *argument(struct st_mcp_request *request, const char *name) {
	return yyjson_obj_get(yyjson_obj_get(request->params, "arguments"), name);
}

/* Tools that talk while they work. */

static int tell_log(struct st_mcp_request *request) {
	st_mcp_log(request, ST_MCP_INFO, "fixture", ST_STR("Tool execution started"));
	st_sleep_ms(50);
	st_mcp_log(request, ST_MCP_INFO, "fixture", ST_STR("Tool processing data"));
	st_sleep_ms(50);
	st_mcp_log(request, ST_MCP_INFO, "fixture", ST_STR("Tool execution completed"));
	return answer(request, TEXT("Logged three times."));
}

static int tell_progress(struct st_mcp_request *request) {
	st_mcp_progress(request, 0, 100, NULL);
	st_sleep_ms(50);
	st_mcp_progress(request, 50, 100, NULL);
	st_sleep_ms(50);
	st_mcp_progress(request, 100, 100, NULL);
	return answer(request, TEXT("Went from 0 to 100."));
}

/* Ask a legacy client and say what it answered. */
static int ask(struct st_mcp_request *request, const char *method, struct st_str params,
               const char *what) {
	yyjson_doc *doc = NULL;
	int code = st_mcp_ask(request, method, params, &doc);
	if (code < 0)
		return code;
	char *text = yyjson_write(doc, 0, NULL);
	yyjson_doc_free(doc);
	code =
		text ? say(request, what, st_str(text)) : st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "-");
	free(text);
	return code;
}

static int sample(struct st_mcp_request *request) {
	st_auto(st_buf) params = ST_BUF_INIT;
	st_buf_adds(&params,
	            "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
	st_json_quote(&params, st_json_str(argument(request, "prompt")));
	st_buf_adds(&params, "}}],\"maxTokens\":100}");
	if (!st_mcp_client_can(request, "sampling"))
		return st_mcp_fail_missing(request, "sampling");
	return ask(request, "sampling/createMessage", st_buf_str(&params), "LLM response: ");
}

static int elicit(struct st_mcp_request *request, struct st_str message, const char *schema) {
	st_auto(st_buf) params = ST_BUF_INIT;
	st_buf_adds(&params, "{\"message\":");
	st_json_quote(&params, message);
	st_buf_addf(&params, ",\"requestedSchema\":%s}", schema);
	if (!st_mcp_client_can(request, "elicitation"))
		return st_mcp_fail_missing(request, "elicitation");
	return ask(request, "elicitation/create", st_buf_str(&params), "Elicitation completed: ");
}

static int elicit_user(struct st_mcp_request *request) {
	return elicit(request, st_json_str(argument(request, "message")),
	              "{\"type\":\"object\",\"properties\":{"
	              "\"username\":{\"type\":\"string\",\"description\":\"User's response\"},"
	              "\"email\":{\"type\":\"string\",\"description\":\"User's email address\"}},"
	              "\"required\":[\"username\",\"email\"]}");
}

static int elicit_defaults(struct st_mcp_request *request) {
	return elicit(request, ST_STR("Please review the defaults"),
	              "{\"type\":\"object\",\"properties\":{"
	              "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
	              "\"age\":{\"type\":\"integer\",\"default\":30},"
	              "\"score\":{\"type\":\"number\",\"default\":95.5},"
	              "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
	              "\"default\":\"active\"},"
	              "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}");
}

static int elicit_enums(struct st_mcp_request *request) {
	return elicit(
		request, ST_STR("Please choose"),
		"{\"type\":\"object\",\"properties\":{"
		"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
		"\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
		"{\"const\":\"value1\",\"title\":\"First Option\"},"
		"{\"const\":\"value2\",\"title\":\"Second Option\"},"
		"{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
		"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
		"\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
		"\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
		"\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
		"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
		"{\"const\":\"value1\",\"title\":\"First Choice\"},"
		"{\"const\":\"value2\",\"title\":\"Second Choice\"},"
		"{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}");
}

/* Tools that need input of a modern client. */

#define ELICIT(key, message, property, type) \
	"\"" key \
	"\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" property \
	"\":{\"type\":\"" type "\"}},\"required\":[\"" property "\"]}}}"
#define SAMPLE(key, prompt) \
	"\"" key \
	"\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":" \
	"\"user\",\"content\":{\"type\":\"text\",\"text\":\"" prompt "\"}}],\"maxTokens\":100}}"
#define ROOTS(key) "\"" key "\":{\"method\":\"roots/list\",\"params\":{}}"

static int need(struct st_mcp_request *request, const char *requests, const char *state) {
	return st_mcp_need_input(request, st_str(requests), st_str(state));
}

/* What the user filled in, if it was accepted. */
static yyjson_val *filled_in(struct st_mcp_request *request, const char *key,
                             const char *property) {
	yyjson_val *input = st_mcp_input(request, key);
	if (!yyjson_equals_str(yyjson_obj_get(input, "action"), "accept"))
		return NULL;
	return yyjson_obj_get(yyjson_obj_get(input, "content"), property);
}

static int greet(struct st_mcp_request *request) {
	yyjson_val *name = filled_in(request, "user_name", "name");
	if (yyjson_is_str(name))
		return say(request, "Hello, ", st_json_str(name));
	return need(request, "{" ELICIT("user_name", "What is your name?", "name", "string") "}", "");
}

static int ask_capital(struct st_mcp_request *request) {
	yyjson_val *content = yyjson_obj_get(st_mcp_input(request, "capital_question"), "content");
	if (yyjson_is_obj(content))
		return say(request, "", st_json_str(yyjson_obj_get(content, "text")));
	return need(request, "{" SAMPLE("capital_question", "What is the capital of France?") "}", "");
}

static int list_roots(struct st_mcp_request *request) {
	yyjson_val *roots = yyjson_obj_get(st_mcp_input(request, "client_roots"), "roots");
	if (yyjson_is_arr(roots))
		return say(request, "The first root is ",
		           st_json_str(yyjson_obj_get(yyjson_arr_get_first(roots), "uri")));
	return need(request, "{" ROOTS("client_roots") "}", "");
}

static int confirm(struct st_mcp_request *request) {
	st_auto(st_buf) state = ST_BUF_INIT;
	int code = st_mcp_input_state(request, &state);
	if (code < 0)
		return code;
	if (code > 0 && filled_in(request, "confirm", "ok"))
		return answer(request, TEXT("state-ok"));
	return need(request, "{" ELICIT("confirm", "Please confirm", "ok", "boolean") "}", "confirm");
}

static int ask_all(struct st_mcp_request *request) {
	st_auto(st_buf) state = ST_BUF_INIT;
	int code = st_mcp_input_state(request, &state);
	if (code < 0)
		return code;
	if (code > 0 && st_mcp_input(request, "user_name") && st_mcp_input(request, "greeting") &&
	    st_mcp_input(request, "client_roots"))
		return answer(request, TEXT("All three are there."));
	return need(request,
	            "{" ELICIT("user_name", "What is your name?", "name", "string") "," SAMPLE(
					"greeting", "Generate a greeting") "," ROOTS("client_roots") "}",
	            "all");
}

static int ask_in_rounds(struct st_mcp_request *request) {
	st_auto(st_buf) state = ST_BUF_INIT;
	int code = st_mcp_input_state(request, &state);
	if (code < 0)
		return code;
	if (st_str_eq(st_buf_str(&state), ST_STR("2")) && filled_in(request, "step2", "color"))
		return answer(request, TEXT("Two rounds were enough."));
	if (st_str_eq(st_buf_str(&state), ST_STR("1")) && filled_in(request, "step1", "name"))
		return need(
			request,
			"{" ELICIT("step2", "Step 2: What is your favorite color?", "color", "string") "}",
			"2");
	return need(request, "{" ELICIT("step1", "Step 1: What is your name?", "name", "string") "}",
	            "1");
}

static int ask_what_can_be(struct st_mcp_request *request) {
	bool samples = st_mcp_client_can(request, "sampling");
	bool elicits = st_mcp_client_can(request, "elicitation");
	if (st_mcp_input(request, "question") || st_mcp_input(request, "form"))
		return answer(request, TEXT("Thank you."));
	if (samples && elicits)
		return need(request,
		            "{" SAMPLE("question", "Why?") "," ELICIT("form", "Why?", "why", "string") "}",
		            "");
	if (samples)
		return need(request, "{" SAMPLE("question", "Why?") "}", "");
	return need(request, "{" ELICIT("form", "Why?", "why", "string") "}", "");
}

static int need_sampling(struct st_mcp_request *request) {
	if (!st_mcp_client_can(request, "sampling"))
		return st_mcp_fail_missing(request, "sampling");
	return answer(request, TEXT("The client can sample."));
}

/* Tools that change what there is. */

static int change_tools(struct st_mcp_request *request) {
	st_mcp_server_lists_changed(((struct fixture *)request->service)->server, ST_MCP_TOOLS_CHANGE);
	return answer(request, TEXT("The tools changed."));
}

static int change_prompts(struct st_mcp_request *request) {
	st_mcp_server_lists_changed(((struct fixture *)request->service)->server,
	                            ST_MCP_PROMPTS_CHANGE);
	return answer(request, TEXT("The prompts changed."));
}

#define SCHEMA_2020_12 \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/" \
	"schema\",\"type\":\"object\",\"$defs\":{" \
	"\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{" \
	"\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":" \
	"\"string\"},\"address\":{\"$ref\":\"#/$defs/" \
	"address\"},\"contactMethod\":{\"type\":\"string\"," \
	"\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":" \
	"\"string\"}}," \
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{" \
	"\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]}," \
	"\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]}," \
	"\"additionalProperties\":false}"

static const struct entry tools[] = {
	{"test_simple_text", "Text.", NULL, TEXT("This is a simple text response for testing."), NULL},
	{"test_image_content", "An image.", NULL,
     "{\"content\":[{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}]}", NULL},
	{"test_audio_content", "Audio.", NULL,
     "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}", NULL},
	{"test_embedded_resource", "A resource.", NULL,
     "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
     "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}",
     NULL},
	{"test_multiple_content_types", "Several kinds of content.", NULL,
     "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
     "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"},"
     "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
     "\"mimeType\":\"application/"
     "json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}",
     NULL},
	{"test_error_handling", "Fails.", NULL,
     "{\"isError\":true,\"content\":[{\"type\":\"text\","
     "\"text\":\"This tool intentionally returns an error for testing\"}]}",
     NULL},
	{"test_tool_with_logging", "Logs.", NULL, NULL, tell_log},
	{"test_logging_tool", "Logs.", NULL, NULL, tell_log},
	{"test_tool_with_progress", "Tells how far it is.", NULL, NULL, tell_progress},
	{"test_sampling", "Asks the client's model.", TAKES_STRING("prompt"), NULL, sample},
	{"test_elicitation", "Asks the user.", TAKES_STRING("message"), NULL, elicit_user},
	{"test_elicitation_sep1034_defaults", "Asks with defaults.", NULL, NULL, elicit_defaults},
	{"test_elicitation_sep1330_enums", "Asks with choices.", NULL, NULL, elicit_enums},
	{"test_input_required_result_elicitation", "Needs a name.", NULL, NULL, greet},
	{"test_input_required_result_sampling", "Needs a model.", NULL, NULL, ask_capital},
	{"test_input_required_result_list_roots", "Needs roots.", NULL, NULL, list_roots},
	{"test_input_required_result_request_state", "Keeps a state.", NULL, NULL, confirm},
	{"test_input_required_result_multiple_inputs", "Needs much.", NULL, NULL, ask_all},
	{"test_input_required_result_multi_round", "Needs two rounds.", NULL, NULL, ask_in_rounds},
	{"test_input_required_result_tampered_state", "Keeps a state.", NULL, NULL, confirm},
	{"test_input_required_result_capabilities", "Asks as it can.", NULL, NULL, ask_what_can_be},
	{"test_missing_capability", "Needs sampling.", NULL, NULL, need_sampling},
	{"test_streaming_elicitation", "Needs a name.", NULL, NULL, greet},
	{"test_trigger_tool_change", "Changes the tools.", NULL, NULL, change_tools},
	{"test_trigger_prompt_change", "Changes the prompts.", NULL, NULL, change_prompts},
	{"json_schema_2020_12_tool", "Has a rich schema.", SCHEMA_2020_12, TEXT("Fine."), NULL},
	{0},
};

/* Prompts. */

static int prompt_with_arguments(struct st_mcp_request *request) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_str first = st_json_str(argument(request, "arg1"));
	struct st_str second = st_json_str(argument(request, "arg2"));
	st_buf_addf(&text, "Prompt with arguments: arg1='%.*s', arg2='%.*s'", (int)first.len, first.ptr,
	            (int)second.len, second.ptr);
	st_buf_adds(request->result,
	            "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
	st_json_quote(request->result, st_buf_str(&text));
	return answer(request, "}}]}");
}

static int prompt_with_resource(struct st_mcp_request *request) {
	st_buf_adds(request->result,
	            "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
	            "\"resource\",\"resource\":{\"uri\":");
	st_json_quote(request->result, st_json_str(argument(request, "resourceUri")));
	return answer(
		request,
		",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}}},"
		"{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		"\"Please process the embedded resource above.\"}}]}");
}

static int prompt_with_input(struct st_mcp_request *request) {
	if (filled_in(request, "user_context", "context"))
		return answer(request,
		              "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		              "\"text\":\"Use the given context.\"}}]}");
	return need(
		request,
		"{" ELICIT("user_context", "What context should the prompt use?", "context", "string") "}",
		"");
}

static const struct entry prompts[] = {
	{"test_simple_prompt", "A simple prompt.", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
     "\"text\":\"This is a simple prompt for testing.\"}}]}",
     NULL},
	{"test_prompt_with_arguments", "A prompt with arguments.",
     "[{\"name\":\"arg1\",\"required\":true},{\"name\":\"arg2\",\"required\":true}]", NULL,
     prompt_with_arguments},
	{"test_prompt_with_embedded_resource", "A prompt with a resource.",
     "[{\"name\":\"resourceUri\",\"required\":true}]", NULL, prompt_with_resource},
	{"test_prompt_with_image", "A prompt with an image.", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"" PNG
     "\",\"mimeType\":\"image/png\"}},{\"role\":\"user\",\"content\":{\"type\":\"text\","
     "\"text\":\"Please analyze the image above.\"}}]}",
     NULL},
	{"test_input_required_result_prompt", "A prompt that needs input.", NULL, NULL,
     prompt_with_input},
	{0},
};

static int run_entry(struct st_mcp_request *request, const struct entry *entry) {
	while (entry->name && !st_str_eq(st_str(entry->name), request->name))
		entry++;
	if (!entry->name)
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "There is nothing of that name.");
	return entry->run ? entry->run(request) : answer(request, entry->answer);
}

static int list_entries(struct st_mcp_request *request, const char *kind, const char *takes,
                        const struct entry *entries) {
	st_buf_addf(request->result, "{\"%s\":[", kind);
	for (const struct entry *entry = entries; entry->name; entry++) {
		st_buf_addf(request->result, "%s{\"name\":\"%s\",\"description\":\"%s\"",
		            entry == entries ? "" : ",", entry->name, entry->description);
		if (entry->takes || entries == tools)
			st_buf_addf(request->result, ",\"%s\":%s", takes,
			            entry->takes ? entry->takes : NO_ARGUMENTS);
		st_buf_adds(request->result, "}");
	}
	return answer(request, "]}");
}

static int tools_list(struct st_mcp_request *request) {
	return list_entries(request, "tools", "inputSchema", tools);
}

static int tools_call(struct st_mcp_request *request) {
	return run_entry(request, tools);
}

static int prompts_list(struct st_mcp_request *request) {
	return list_entries(request, "prompts", "arguments", prompts);
}

static int prompts_get(struct st_mcp_request *request) {
	return run_entry(request, prompts);
}

/* Resources. */

static int resources_list(struct st_mcp_request *request) {
	return answer(
		request,
		"{\"resources\":["
		"{\"uri\":\"test://static-text\",\"name\":\"text\",\"mimeType\":\"text/plain\"},"
		"{\"uri\":\"test://static-binary\",\"name\":\"binary\",\"mimeType\":\"image/png\"},"
		"{\"uri\":\"test://watched-resource\",\"name\":\"watched\","
		"\"mimeType\":\"text/plain\"}]}");
}

static int resources_templates(struct st_mcp_request *request) {
	return answer(request,
	              "{\"resourceTemplates\":[{\"uriTemplate\":\"test://template/{id}/data\","
	              "\"name\":\"template\",\"mimeType\":\"application/json\"}]}");
}

static int read_template(struct st_mcp_request *request, struct st_str id) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(&text, "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
	            (int)id.len, id.ptr, (int)id.len, id.ptr);
	st_buf_adds(request->result, "{\"contents\":[{\"uri\":");
	st_json_quote(request->result, request->name);
	st_buf_adds(request->result, ",\"mimeType\":\"application/json\",\"text\":");
	st_json_quote(request->result, st_buf_str(&text));
	return answer(request, "}]}");
}

static int resources_read(struct st_mcp_request *request) {
	static const struct st_str before = {"test://template/", 16}, after = {"/data", 5};
	struct st_str uri = request->name;
	if (st_str_eq(uri, ST_STR("test://static-text")))
		return answer(request,
		              "{\"contents\":[{\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\","
		              "\"text\":\"This is the content of the static text resource.\"}]}");
	if (st_str_eq(uri, ST_STR("test://watched-resource")))
		return answer(request,
		              "{\"contents\":[{\"uri\":\"test://watched-resource\","
		              "\"mimeType\":\"text/plain\",\"text\":\"Watched.\"}]}");
	if (st_str_eq(uri, ST_STR("test://static-binary")))
		return answer(request,
		              "{\"contents\":[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\","
		              "\"blob\":\"" PNG "\"}]}");
	if (st_str_starts(uri, before) && st_str_ends(uri, after) && uri.len > before.len + after.len)
		return read_template(request, st_str_slice(uri, before.len, uri.len - after.len));
	return st_mcp_fail_no_resource(request, uri);
}

static int complete(struct st_mcp_request *request) {
	return answer(
		request,
		"{\"completion\":{\"values\":[\"paris\",\"park\"],\"total\":2,\"hasMore\":false}}");
}

static int watch(struct st_mcp_service *service, void *user, struct st_str uri,
                 struct stet_error *err) {
	return 0;
}

static void unwatch(struct st_mcp_service *service, struct st_str uri) {
}

static const struct st_mcp_service offered = {
	.name = "stet-conformance-fixture",
	.title = "Conformance fixture",
	.version = "1",
	.announces = ST_MCP_TOOLS_CHANGE | ST_MCP_PROMPTS_CHANGE | ST_MCP_RESOURCES_CHANGE,
	.tools_list = tools_list,
	.tools_call = tools_call,
	.resources_list = resources_list,
	.resources_templates = resources_templates,
	.resources_read = resources_read,
	.prompts_list = prompts_list,
	.prompts_get = prompts_get,
	.complete = complete,
	.watch = watch,
	.unwatch = unwatch,
};

/* The process. */

static void stop(void *arg) {
	struct fixture *fixture = arg;
	st_loop_stop(fixture->loop);
}

static struct st_http *http;

static void input_ended(evutil_socket_t fd, short what, void *arg) {
	char byte;
	if (read(fd, &byte, 1) <= 0)
		st_http_end(http, 2, stop, arg);
}

static int fail(const struct stet_error *err) {
	fprintf(stderr, "fixture: %s\n", err->message);
	return 3;
}

static int serve(struct fixture *fixture, struct st_pool *pool, struct stet_error *err) {
	st_auto(st_gate) gate = {.open = true};
	struct st_metrics *metrics = st_metrics_new();
	struct st_http_options options = {.listen = "127.0.0.1", .gate = &gate, .metrics = metrics};
	int code = st_http_new(fixture->loop, pool, fixture->server, &options, &http, err);
	if (code == 0) {
		struct event *input =
			event_new(st_loop_base(fixture->loop), 0, EV_READ | EV_PERSIST, input_ended, fixture);
		event_add(input, NULL);
		printf("%s\n", st_http_url(http));
		fflush(stdout);
		st_loop_run(fixture->loop);
		event_free(input);
		st_http_free(http);
	}
	st_metrics_free(metrics);
	return code;
}

int main(void) {
	struct fixture fixture = {.service = offered};
	struct st_pool *pool = NULL;
	struct st_executor work;
	struct stet_error err;
	signal(SIGPIPE, SIG_IGN);
	/* Tools that ask the client block a thread each. */
	if (st_loop_new(&fixture.loop, &err) < 0 || st_pool_new(fixture.loop, 8, &pool, &err) < 0)
		return fail(&err);
	st_executor_init(&work, pool);
	if (st_mcp_server_new(&fixture.service, &work.executor, &fixture.server, &err) < 0)
		return fail(&err);
	int code = serve(&fixture, pool, &err);
	st_pool_free(pool);
	st_mcp_server_free(fixture.server);
	st_loop_free(fixture.loop);
	return code < 0 ? fail(&err) : 0;
}
