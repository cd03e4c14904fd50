/* The HTTP server over a small service: both eras, limits, and clients that behave badly. */
#include "net/http.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/http.h"
#include "lib/test.h"
#include "mcp/protocol/service.h"
#include "net/endpoint.h"
#include "net/pool.h"

#define TOKEN "0123456789abcdef0123"

/* A server with a thread of its own. */
struct host {
	struct st_mcp_service service;
	struct st_loop *loop;
	struct st_pool *pool;
	struct st_executor work;
	struct st_mcp_server *server;
	struct st_metrics *metrics;
	struct st_gate gate;
	struct st_http_options options;
	struct st_http *http;
	pthread_t thread;
	struct st_task end;
	atomic_int started, cancelled, finished;
	/* Seconds that it has to come to its end; 10 if nothing is said. */
	int64_t grace;
};

static int call_tool(struct st_mcp_request *request) {
	struct host *host = (struct host *)request->service;
	yyjson_val *args = yyjson_obj_get(request->params, "arguments");
	int64_t ms = yyjson_get_sint(yyjson_obj_get(args, "ms"));
	st_auto(st_buf) text = ST_BUF_INIT;
	host->started++;
	for (int64_t i = 0; i < yyjson_get_sint(yyjson_obj_get(args, "size")); i++)
		st_buf_addc(&text, 'x');
	for (int64_t i = 0; i < yyjson_get_sint(yyjson_obj_get(args, "events")); i++)
		st_mcp_progress(request, (double)i, 0, st_buf_cstr(&text));
	for (int64_t until = st_now_ms() + ms; st_now_ms() < until; st_sleep_ms(5)) {
		if (st_mcp_cancelled(request)) {
			host->cancelled++;
			break;
		}
	}
	host->finished++;
	st_buf_adds(request->result, "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
	return 0;
}

static int list_tools(struct st_mcp_request *request) {
	st_buf_adds(request->result,
	            "{\"tools\":[{\"name\":\"work\",\"inputSchema\":{\"type\":\"object\"}}]}");
	return 0;
}

static int watch(struct st_mcp_service *service, void *user, struct st_str uri,
                 struct stet_error *err) {
	return 0;
}

static void unwatch(struct st_mcp_service *service, struct st_str uri) {
}

static int read_resource(struct st_mcp_request *request) {
	return st_mcp_fail_no_resource(request, request->name);
}

static int list_resources(struct st_mcp_request *request) {
	st_buf_adds(request->result, "{\"resources\":[]}");
	return 0;
}

static void *run_loop(void *arg) {
	struct host *host = arg;
	st_loop_run(host->loop);
	return NULL;
}

static void set_up(struct host *host) {
	host->service = (struct st_mcp_service){
		.name = "test",
		.version = "1",
		.announces = ST_MCP_TOOLS_CHANGE,
		.tools_call = call_tool,
		.tools_list = list_tools,
		.resources_list = list_resources,
		.resources_read = read_resource,
		.watch = watch,
		.unwatch = unwatch,
	};
	struct stet_error err = {0};
	host->metrics = st_metrics_new();
	assert_non_null(host->metrics);
	assert_int_equal(st_loop_new(&host->loop, &err), 0);
	assert_int_equal(st_pool_new(host->loop, 4, &host->pool, &err), 0);
	st_executor_init(&host->work, host->pool);
	assert_int_equal(st_mcp_server_new(&host->service, &host->work.executor, &host->server, &err),
	                 0);
	if (!host->options.listen)
		host->options.listen = "127.0.0.1:0";
	if (host->gate.token_count == 0)
		host->gate.open = true;
	host->options.gate = &host->gate;
	host->options.metrics = host->metrics;
	int code = st_http_new(host->loop, host->pool, host->server, &host->options, &host->http, &err);
	assert_string_equal(code < 0 ? err.message : "", "");
	assert_int_equal(pthread_create(&host->thread, NULL, run_loop, host), 0);
}

static void ended(void *arg) {
	struct host *host = arg;
	st_loop_stop(host->loop);
}

static void begin_end(struct st_task *task) {
	struct host *host = (struct host *)((char *)task - offsetof(struct host, end));
	st_http_end(host->http, host->grace ? host->grace : 10, ended, host);
}

static void stop(struct host *host) {
	host->end.run = begin_end;
	st_loop_queue(host->loop, &host->end);
}

static void tear_down(struct host *host) {
	stop(host);
	pthread_join(host->thread, NULL);
	st_http_free(host->http);
	st_pool_free(host->pool);
	st_mcp_server_free(host->server);
	st_loop_free(host->loop);
	st_metrics_free(host->metrics);
	st_gate_release(&host->gate);
}

static struct client connected(const struct host *host) {
	struct client client;
	assert_true(client_open(&client, st_http_url(host->http)));
	return client;
}

/* One request on a connection of its own: the status. */
static int ask(const struct host *host, const char *method, const char *path, const char *headers,
               const char *body, struct st_buf *answer) {
	st_auto(st_buf) ignored = ST_BUF_INIT;
	struct client client = connected(host);
	assert_true(client_request(&client, method, path, headers, body));
	int status = client_head(&client);
	client_body(&client, answer ? answer : &ignored);
	client_close(&client);
	return status;
}

#define INITIALIZE \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"
#define JSON "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
#define MODERN(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
#define MODERN_HEADERS(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define WORK(args) MODERN("tools/call", "\"name\":\"work\",\"arguments\":{" args "},")
#define WORK_HEADERS MODERN_HEADERS("tools/call") "Mcp-Name: work\r\n"

/* Begin a session; the header that continues it. */
static const char *begin_session(struct client *client) {
	static char header[128];
	st_auto(st_buf) answer = ST_BUF_INIT;
	assert_int_equal(client_post(client, "", INITIALIZE, &answer), 200);
	const char *id = client_header(client, "Mcp-Session-Id");
	assert_non_null(id);
	snprintf(header, sizeof header, "Mcp-Session-Id: %s\r\n", id);
	return header;
}

static void expect(const struct st_buf *answer, const char *part) {
	if (!strstr(st_buf_cstr(answer), part))
		fail_msg("\"%s\" is not in: %s", part, st_buf_cstr(answer));
}

static void wait_until(const atomic_int *counter, int value) {
	for (int i = 0; i < 2000 && *counter < value; i++)
		st_sleep_ms(5);
	assert_int_equal(*counter, value);
}

static void a_session_begins_works_and_ends(void **state) {
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	const char *session = begin_session(&client);
	assert_int_equal(client_post(&client, session,
	                             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
	                             &answer),
	                 202);
	assert_int_equal(client_post(&client, session, PING, &answer), 200);
	assert_string_equal(client_header(&client, "Content-Type"), "application/json");
	expect(&answer, "\"result\":{}");
	/* A 404 would mean that the session is gone. */
	assert_int_equal(client_post(&client, session,
	                             "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\"}", &answer),
	                 200);
	expect(&answer, "-32601");
	assert_int_equal(ask(&host, "DELETE", "/mcp", session, NULL, NULL), 204);
	assert_int_equal(client_post(&client, session, PING, &answer), 404);
	assert_int_equal(ask(&host, "DELETE", "/mcp", session, NULL, NULL), 404);
	client_close(&client);
	tear_down(&host);
}

static void a_legacy_request_needs_a_session(void **state) {
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	assert_int_equal(client_post(&client, "", PING, &answer), 400);
	expect(&answer, "Mcp-Session-Id");
	assert_int_equal(client_post(&client, "Mcp-Session-Id: x\r\n", PING, &answer), 404);
	const char *session = begin_session(&client);
	char wrong[256];
	snprintf(wrong, sizeof wrong, "%sMCP-Protocol-Version: 1999-01-01\r\n", session);
	assert_int_equal(client_post(&client, wrong, PING, &answer), 400);
	client_close(&client);
	tear_down(&host);
}

static void a_modern_request_stands_alone(void **state) {
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	assert_int_equal(
		client_post(&client, MODERN_HEADERS("tools/list"), MODERN("tools/list", ""), &answer), 200);
	expect(&answer, "\"resultType\":\"complete\"");
	assert_null(client_header(&client, "Mcp-Session-Id"));
	assert_int_equal(client_post(&client, WORK_HEADERS, WORK(""), &answer), 200);
	expect(&answer, "done");
	/* Requests that this era does not have. */
	assert_int_equal(client_post(&client, MODERN_HEADERS("ping"), MODERN("ping", ""), &answer),
	                 404);
	expect(&answer, "-32601");
	assert_int_equal(ask(&host, "GET", "/mcp",
	                     "Accept: text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n", NULL,
	                     NULL),
	                 405);
	client_close(&client);
	tear_down(&host);
}

static void headers_must_say_what_the_body_says(void **state) {
	static const char *const wrong[] = {
		"",
		"MCP-Protocol-Version: 2026-07-28\r\n",
		MODERN_HEADERS("tools/call"),
		MODERN_HEADERS("tools/list") "Mcp-Name: work\r\n",
		MODERN_HEADERS("tools/call") "Mcp-Name: other\r\n",
		MODERN_HEADERS("tools/call") "Mcp-Name: =?base64?b3RoZXI=?=\r\n",
		MODERN_HEADERS("tools/call") "Mcp-Name: =?base64?*?=\r\n",
		"MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/call\r\nMcp-Name: work\r\n",
	};
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(client_post(&client, wrong[i], WORK(""), &answer), 400);
		expect(&answer, "-32020");
		expect(&answer, "\"id\":7");
	}
	assert_int_equal(client_post(&client,
	                             MODERN_HEADERS("tools/call") "Mcp-Name: =?base64?d29yaw==?=\r\n",
	                             WORK(""), &answer),
	                 200);
	client_close(&client);
	tear_down(&host);
}

static void events_come_before_the_answer(void **state) {
	struct host host = {0};
	st_auto(st_buf) event = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	const char *session = begin_session(&client);
	char headers[512];
	snprintf(headers, sizeof headers, JSON "%s", session);
	assert_true(
		client_request(&client, "POST", "/mcp", headers,
	                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
	                   "\"name\":\"work\",\"arguments\":{\"events\":3},"
	                   "\"_meta\":{\"progressToken\":\"p\"}}}"));
	assert_int_equal(client_head(&client), 200);
	assert_string_equal(client_header(&client, "Content-Type"), "text/event-stream");
	for (int i = 0; i < 3; i++) {
		assert_true(client_event(&client, 5000, &event));
		expect(&event, "notifications/progress");
	}
	assert_true(client_event(&client, 5000, &event));
	expect(&event, "\"id\":5");
	/* The stream ends, and the connection goes on. */
	assert_false(client_event(&client, 5000, &event));
	assert_int_equal(client_post(&client, session, PING, &event), 200);
	client_close(&client);
	tear_down(&host);
}

static void what_belongs_to_no_request_goes_to_the_sessions_stream(void **state) {
	struct host host = {0};
	st_auto(st_buf) event = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host), stream = connected(&host), again = connected(&host);
	const char *session = begin_session(&client);
	char headers[256];
	snprintf(headers, sizeof headers, "Accept: text/event-stream\r\n%s", session);
	assert_int_equal(client_post(&client, session,
	                             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
	                             &event),
	                 202);
	/* Without a stream, the event is kept. */
	st_mcp_server_lists_changed(host.server, ST_MCP_TOOLS_CHANGE);
	assert_true(client_request(&stream, "GET", "/mcp", headers, NULL));
	assert_int_equal(client_head(&stream), 200);
	assert_true(client_event(&stream, 5000, &event));
	expect(&event, "notifications/tools/list_changed");
	st_mcp_server_lists_changed(host.server, ST_MCP_TOOLS_CHANGE);
	assert_true(client_event(&stream, 5000, &event));

	/* A new stream takes the place of the old one. */
	assert_true(client_request(&again, "GET", "/mcp", headers, NULL));
	assert_int_equal(client_head(&again), 200);
	assert_false(client_event(&stream, 5000, &event));
	st_mcp_server_lists_changed(host.server, ST_MCP_TOOLS_CHANGE);
	assert_true(client_event(&again, 5000, &event));

	assert_int_equal(ask(&host, "GET", "/mcp", session, NULL, NULL), 406);
	assert_int_equal(ask(&host, "GET", "/mcp", "Accept: text/event-stream\r\n", NULL, NULL), 400);
	client_close(&client);
	client_close(&stream);
	client_close(&again);
	tear_down(&host);
}

static void a_subscription_is_a_stream_until_the_client_goes(void **state) {
	struct host host = {0};
	st_auto(st_buf) event = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	assert_true(client_request(
		&client, "POST", "/mcp", JSON MODERN_HEADERS("subscriptions/listen"),
		MODERN("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")));
	assert_int_equal(client_head(&client), 200);
	assert_true(client_event(&client, 5000, &event));
	expect(&event, "notifications/subscriptions/acknowledged");
	st_mcp_server_lists_changed(host.server, ST_MCP_TOOLS_CHANGE);
	assert_true(client_event(&client, 5000, &event));
	expect(&event, "subscriptionId\":7");
	assert_int_equal(ask(&host, "GET", "/metrics", "", NULL, &event), 200);
	expect(&event, "\nstet_streams 1\n");
	client_close(&client);
	for (int i = 0; i < 500 && !strstr(st_buf_cstr(&event), "\nstet_streams 0\n"); i++) {
		st_sleep_ms(10);
		ask(&host, "GET", "/metrics", "", NULL, &event);
	}
	expect(&event, "\nstet_streams 0\n");
	tear_down(&host);
}

static void a_modern_client_that_goes_cancels(void **state) {
	struct host host = {0};
	set_up(&host);
	struct client client = connected(&host);
	assert_true(client_request(&client, "POST", "/mcp", JSON WORK_HEADERS, WORK("\"ms\":60000")));
	wait_until(&host.started, 1);
	client_close(&client);
	wait_until(&host.cancelled, 1);
	tear_down(&host);
}

static void a_legacy_client_that_goes_does_not(void **state) {
	struct host host = {0};
	set_up(&host);
	struct client client = connected(&host);
	char headers[512];
	snprintf(headers, sizeof headers, JSON "%s", begin_session(&client));
	assert_true(
		client_request(&client, "POST", "/mcp", headers,
	                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
	                   "\"name\":\"work\",\"arguments\":{\"ms\":300}}}"));
	wait_until(&host.started, 1);
	client_close(&client);
	wait_until(&host.finished, 1);
	assert_int_equal(host.cancelled, 0);
	tear_down(&host);
}

static void wrong_requests_get_the_right_status(void **state) {
	static const struct {
		const char *method, *path, *headers, *body;
		int status;
	} cases[] = {
		{"GET", "/", "", NULL, 404},
		{"GET", "/mcp/x", "", NULL, 404},
		{"PUT", "/mcp", JSON, "{}", 405},
		{"OPTIONS", "/mcp", "", NULL, 405},
		{"POST", "/healthz", JSON, "{}", 405},
		{"GET", "/healthz", "", NULL, 200},
		{"GET", "/healthz", "Host: evil.example\r\n", NULL, 403},
		{"GET", "/healthz", "Host: localhost\r\n", NULL, 200},
		{"POST", "/mcp", JSON "Origin: http://evil.example\r\n", INITIALIZE, 403},
		{"POST", "/mcp", JSON "Origin: http://localhost:6274\r\n", INITIALIZE, 200},
		{"POST", "/mcp", "Content-Type: text/plain\r\n", INITIALIZE, 415},
		{"POST", "/mcp", "Content-Type: application/jsonx\r\n", INITIALIZE, 415},
		{"POST", "/mcp", "", INITIALIZE, 415},
		{"POST", "/mcp", "Content-Type: application/json; charset=utf-8\r\n", INITIALIZE, 200},
		{"POST", "/mcp", "Content-Type: application/json\r\nAccept: text/html\r\n", INITIALIZE,
	     406},
		{"POST", "/mcp", JSON, "", 400},
		{"POST", "/mcp", JSON, "{", 400},
		{"POST", "/mcp", JSON, "[]", 400},
		{"POST", "/mcp", JSON, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
	     400},
	};
	struct host host = {0};
	set_up(&host);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status =
			ask(&host, cases[i].method, cases[i].path, cases[i].headers, cases[i].body, NULL);
		if (status != cases[i].status)
			fail_msg("%s %s %s: %d instead of %d", cases[i].method, cases[i].path, cases[i].headers,
			         status, cases[i].status);
	}
	tear_down(&host);
}

static void only_a_token_opens_what_others_can_reach(void **state) {
	struct host host = {.options = {.listen = "0.0.0.0:0", .insecure = true}};
	st_auto(st_buf) answer = ST_BUF_INIT;
	assert_int_equal(st_gate_add_tokens(&host.gate, ST_STR(TOKEN), NULL), 0);
	set_up(&host);
	struct client client = connected(&host);
	assert_int_equal(client_post(&client, "", INITIALIZE, &answer), 401);
	assert_non_null(client_header(&client, "WWW-Authenticate"));
	/* The body was not read, so the connection ends. */
	assert_string_equal(client_header(&client, "Connection"), "close");
	client_close(&client);
	assert_int_equal(
		ask(&host, "POST", "/mcp", JSON "Authorization: Bearer " TOKEN "x\r\n", INITIALIZE, NULL),
		401);
	client = connected(&host);
	assert_int_equal(
		client_post(&client, "Authorization: Bearer " TOKEN "\r\n", INITIALIZE, &answer), 200);
	assert_int_equal(ask(&host, "GET", "/metrics", "", NULL, NULL), 401);
	assert_int_equal(ask(&host, "GET", "/healthz", "", NULL, NULL), 200);
	client_close(&client);
	tear_down(&host);
}

static void without_a_token_it_does_not_listen_to_others(void **state) {
	struct st_gate gate = {0};
	struct st_http_options options = {.listen = "0.0.0.0:0", .gate = &gate};
	struct st_loop *loop = NULL;
	struct st_http *http = NULL;
	struct stet_error err;
	assert_int_equal(st_loop_new(&loop, NULL), 0);
	assert_int_equal(st_http_new(loop, NULL, NULL, &options, &http, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "--token-file"));
	options.listen = "not an address";
	assert_int_equal(st_http_new(loop, NULL, NULL, &options, &http, &err), STET_E_INVALID);
	options.listen = "127.0.0.1:http-or-so";
	assert_int_equal(st_http_new(loop, NULL, NULL, &options, &http, &err), STET_E_INVALID);
	st_loop_free(loop);
}

static void a_session_belongs_to_its_token(void **state) {
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	assert_int_equal(st_gate_add_tokens(&host.gate, ST_STR(TOKEN "A\n" TOKEN "B\n"), NULL), 0);
	set_up(&host);
	struct client client = connected(&host);
	assert_int_equal(
		client_post(&client, "Authorization: Bearer " TOKEN "A\r\n", INITIALIZE, &answer), 200);
	char mine[256], theirs[256];
	const char *id = client_header(&client, "Mcp-Session-Id");
	snprintf(mine, sizeof mine, "Authorization: Bearer " TOKEN "A\r\nMcp-Session-Id: %s\r\n", id);
	snprintf(theirs, sizeof theirs, "Authorization: Bearer " TOKEN "B\r\nMcp-Session-Id: %s\r\n",
	         id);
	assert_int_equal(client_post(&client, mine, PING, &answer), 200);
	assert_int_equal(client_post(&client, theirs, PING, &answer), 404);
	client_close(&client);
	tear_down(&host);
}

static void what_is_too_large_is_refused(void **state) {
	struct host host = {.options.max_body = 100'000};
	st_auto(st_buf) large = ST_BUF_INIT;
	set_up(&host);
	for (int i = 0; i < 100'001; i++)
		st_buf_addc(&large, 'x');
	assert_int_equal(ask(&host, "POST", "/mcp", JSON, st_buf_cstr(&large), NULL), 413);
	st_buf_truncate(&large, 40'000);
	st_auto(st_buf) header = ST_BUF_INIT;
	st_buf_addf(&header, "X: %s\r\n", st_buf_cstr(&large));
	assert_int_equal(ask(&host, "GET", "/healthz", st_buf_cstr(&header), NULL, NULL), 431);
	assert_int_equal(ask(&host, "GET", "/healthz", "", NULL, NULL), 200);
	tear_down(&host);
}

/* Sends bytes and receives until the server closes: how many answers came, and the last status. */
static int converse(const struct host *host, struct st_str bytes, int *status) {
	struct client client = connected(host);
	st_auto(st_buf) body = ST_BUF_INIT;
	int answers = 0;
	assert_true(client_send(&client, bytes));
	for (int next; (next = client_head(&client)) > 0; answers++) {
		*status = next;
		client_body(&client, &body);
	}
	client_close(&client);
	return answers;
}

#define HEALTH "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
#define RAW(headers, body) "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" JSON headers "\r\n" body
#define RAW_CHUNKS(body) RAW("Transfer-Encoding: chunked\r\n", body)

/* What one reader takes for a body, another may take for the next request. */
static void ambiguous_requests_are_refused_and_the_connection_closed(void **state) {
	static const struct st_str cases[] = {
		ST_STR(RAW("Content-Length: 0\r\nContent-Length: 5\r\n", "hello")),
		ST_STR(RAW("Content-Length: 0\r\nContent-Length: 0\r\n", "")),
		ST_STR(RAW("Content-Length: 0, 0\r\n", "")),
		ST_STR(RAW("Content-Length: +0\r\n", "")),
		ST_STR(RAW("Content-Length : 5\r\n", "hello")),
		ST_STR(RAW("Content-Length: 0\r\n\t5\r\n", "hello")),
		ST_STR(RAW("X: y\r\n z\r\n", "")),
		ST_STR(RAW("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
		ST_STR(RAW("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
		ST_STR(RAW("Transfer-Encoding: identity\r\n", "")),
		ST_STR(RAW("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
		ST_STR(RAW("Transfer-Encoding:\vchunked\r\n", "0\r\n\r\n")),
		ST_STR(RAW("Host: localhost\r\n", "")),
		ST_STR(RAW("Host: evil.example\r\n", "")),
		ST_STR(RAW("X: a\0b\r\n", "")),
		ST_STR(RAW("X: a\nY: b\r\n", "")),
		ST_STR(RAW("X: a\rY: b\r\n", "")),
		ST_STR("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		ST_STR("GET /healthz HTTP/1.1\nHost: localhost\n\n"),
		ST_STR("GET /healthz HTTP/1.1\r\n\r\n"),
		ST_STR("GET /healthz HTTP/1.1 x\r\nHost: localhost\r\n\r\n"),
		ST_STR("GET /healthz HTTP/0.9\r\nHost: localhost\r\n\r\n"),
		ST_STR("GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
		ST_STR("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
		ST_STR(RAW_CHUNKS("0x0\r\n\r\n")),
		ST_STR(RAW_CHUNKS("+0\r\n\r\n")),
		ST_STR(RAW_CHUNKS(" 0\r\n\r\n")),
		ST_STR(RAW_CHUNKS("0 \r\n\r\n")),
		ST_STR(RAW_CHUNKS("-1\r\n\r\n")),
		ST_STR(RAW_CHUNKS("0;x\r\n\r\n")),
		ST_STR(RAW_CHUNKS("0\n\n")),
		ST_STR(RAW_CHUNKS("1\r\nxx\r\n0\r\n\r\n")),
		ST_STR(RAW_CHUNKS("100000000\r\nx")),
		ST_STR(RAW_CHUNKS("0\r\nContent-Length: 5\r\n\r\n")),
	};
	struct host host = {0};
	set_up(&host);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		st_auto(st_buf) bytes = ST_BUF_INIT;
		int status = 0;
		st_buf_add(&bytes, cases[i]);
		st_buf_adds(&bytes, HEALTH);
		int answers = converse(&host, st_buf_str(&bytes), &status);
		if (answers != 1 || status != 400)
			fail_msg("%d answers, the last %d, to: %s", answers, status, cases[i].ptr);
	}
	tear_down(&host);
}

static void what_is_clear_is_answered_however_it_comes(void **state) {
	struct host host = {0};
	int status = 0;
	set_up(&host);
	assert_int_equal(converse(&host, ST_STR(HEALTH), &status), 1);
	assert_int_equal(status, 200);
	/* Two requests in one packet: the server answers the second only after the first. */
	assert_int_equal(
		converse(&host, ST_STR(RAW_CHUNKS("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n") HEALTH), &status), 2);
	assert_int_equal(status, 200);
	assert_int_equal(
		converse(&host,
	             ST_STR("GET http://localhost/healthz HTTP/1.1\r\nHost: LOCALHOST\r\n\r\n" HEALTH),
	             &status),
		2);
	assert_int_equal(status, 200);
	assert_int_equal(
		converse(&host, ST_STR("HEAD /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"), &status), 1);
	assert_int_equal(status, 200);
	struct client client = connected(&host);
	st_auto(st_buf) body = ST_BUF_INIT;
	for (const char *at = HEALTH; *at; at++)
		assert_true(client_send(&client, st_strn(at, 1)));
	assert_int_equal(client_head(&client), 200);
	assert_true(client_body(&client, &body));
	assert_string_equal(st_buf_cstr(&body), "ok\n");
	client_close(&client);
	tear_down(&host);
}

/* An answer, though nothing of the body was sent: the head alone decides. */
static void the_head_decides_before_the_body_comes(void **state) {
	static const struct {
		const char *path, *headers;
		int status;
	} cases[] = {
		{"/mcp", "Host: localhost\r\n", 401},
		{"/mcp", "Host: localhost\r\nAuthorization: Bearer wrong\r\n", 401},
		{"/metrics", "Host: localhost\r\n", 401},
		{"/healthz", "Host: localhost\r\n", 405},
		{"/else", "Host: localhost\r\n", 404},
		{"/mcp", "Host: evil.example\r\nAuthorization: Bearer " TOKEN "\r\n", 403},
		{"/mcp", "Host: localhost\r\nOrigin: http://evil\r\nAuthorization: Bearer " TOKEN "\r\n",
	     403},
		{"/metrics", "Host: localhost\r\nAuthorization: Bearer " TOKEN "\r\n", 405},
		{"/mcp", "Host: localhost\r\nAuthorization: Bearer " TOKEN "\r\n", 415},
		{"/mcp", "Host: localhost\r\n" JSON "Authorization: Bearer " TOKEN "\r\n", 413},
	};
	struct host host = {.options.max_body = 1000};
	assert_int_equal(st_gate_add_tokens(&host.gate, ST_STR(TOKEN), NULL), 0);
	set_up(&host);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct client client = connected(&host);
		char headers[512];
		snprintf(headers, sizeof headers, "%sContent-Length: 2000\r\n", cases[i].headers);
		assert_true(client_request(&client, "POST", cases[i].path, headers, NULL));
		int status = client_head(&client);
		if (status != cases[i].status)
			fail_msg("%s %s: %d instead of %d", cases[i].path, headers, status, cases[i].status);
		assert_string_equal(client_header(&client, "Connection"), "close");
		client_close(&client);
	}
	tear_down(&host);
}

static void who_waits_for_a_word_gets_it_before_the_body(void **state) {
	struct host host = {0};
	set_up(&host);
	struct client client = connected(&host);
	assert_true(
		client_send(&client, ST_STR(RAW("Expect: 100-continue\r\nContent-Length: 2\r\n", ""))));
	assert_int_equal(client_head(&client), 100);
	assert_true(client_send(&client, ST_STR("{}")));
	assert_int_equal(client_head(&client), 400);
	client_close(&client);
	tear_down(&host);
}

/* Those that wait the longest without saying who they are go first. */
static void strangers_do_not_keep_others_out(void **state) {
	static const char *const beginnings[] = {"", "G", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
	                                         "POST /mcp HTTP/1.1\r\nX: "};
	enum { STRANGERS = 40 };
	struct host host = {.options = {.max_connections = 8}};
	struct client strangers[STRANGERS];
	st_auto(st_buf) answer = ST_BUF_INIT;
	assert_int_equal(st_gate_add_tokens(&host.gate, ST_STR(TOKEN), NULL), 0);
	set_up(&host);
	struct client known = connected(&host);
	known.token = TOKEN;
	assert_int_equal(client_post(&known, "", INITIALIZE, &answer), 200);
	for (int i = 0; i < STRANGERS; i++) {
		strangers[i] = connected(&host);
		client_send(&strangers[i], st_str(beginnings[i % 4]));
		assert_int_equal(
			ask(&host, "GET", "/metrics", "Authorization: Bearer " TOKEN "\r\n", NULL, &answer),
			200);
	}
	/* One that has shown its token stays, and at most half of the places are strangers'. */
	assert_int_equal(client_post(&known, "", INITIALIZE, &answer), 200);
	assert_true(client_is_dropped(&strangers[0], 5000));
	int left = 0;
	for (int i = 0; i < STRANGERS; i++)
		left += !client_is_dropped(&strangers[i], 0);
	assert_in_range(left, 1, 4);
	for (int i = 0; i < STRANGERS; i++)
		client_close(&strangers[i]);
	client_close(&known);
	tear_down(&host);
}

static void slow_and_idle_clients_are_dropped(void **state) {
	struct host host = {.options = {.connection_idle = 1, .request_time = 1}};
	set_up(&host);
	struct client idle = connected(&host), slow = connected(&host), busy = connected(&host);
	assert_true(client_request(&busy, "POST", "/mcp", JSON WORK_HEADERS, WORK("\"ms\":2500")));
	/* Never idle, never done. */
	bool dropped = false;
	for (int i = 0; i < 40 && !dropped; i++) {
		dropped = !client_send(&slow, ST_STR("G"));
		st_sleep_ms(100);
	}
	assert_true(dropped);
	assert_true(client_is_dropped(&idle, 5000));
	/* A client that waits for its answer is neither idle nor slow. */
	assert_int_equal(client_head(&busy), 200);
	client_close(&idle);
	client_close(&slow);
	client_close(&busy);
	tear_down(&host);
}

static void a_client_that_does_not_read_is_dropped(void **state) {
	struct host host = {0};
	set_up(&host);
	struct client client = connected(&host);
	assert_true(client_request(
		&client, "POST", "/mcp", JSON WORK_HEADERS,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"work\","
		"\"arguments\":{\"events\":24,\"size\":1000000,\"ms\":60000},\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\":1}}}"));
	wait_until(&host.cancelled, 1);
	client_close(&client);
	tear_down(&host);
}

/* Begin a session with a token; the headers that continue it. */
static void begin_with(struct client *client, const char *token, char *headers, size_t size) {
	st_auto(st_buf) answer = ST_BUF_INIT;
	char authorization[128];
	snprintf(authorization, sizeof authorization, "Authorization: Bearer %s\r\n", token);
	assert_int_equal(client_post(client, authorization, INITIALIZE, &answer), 200);
	snprintf(headers, size, "%sMcp-Session-Id: %s\r\n", authorization,
	         client_header(client, "Mcp-Session-Id"));
}

static void who_begins_session_after_session_loses_those_and_nobody_else_any(void **state) {
	struct host host = {.options = {.max_sessions = 4}};
	st_auto(st_buf) answer = ST_BUF_INIT;
	char quiet[256], working[256], flood[256];
	assert_int_equal(st_gate_add_tokens(&host.gate, ST_STR(TOKEN "A\n" TOKEN "B\n"), NULL), 0);
	set_up(&host);
	struct client client = connected(&host);
	/* One that did nothing yet, and one of the same caller as the flood, at work. */
	begin_with(&client, TOKEN "A", quiet, sizeof quiet);
	begin_with(&client, TOKEN "B", working, sizeof working);
	assert_int_equal(client_post(&client, working, PING, &answer), 200);
	for (int i = 0; i < 20; i++)
		begin_with(&client, TOKEN "B", flood, sizeof flood);
	assert_int_equal(client_post(&client, flood, PING, &answer), 200);
	assert_int_equal(client_post(&client, working, PING, &answer), 200);
	assert_int_equal(client_post(&client, quiet, PING, &answer), 200);
	client_close(&client);
	tear_down(&host);
}

static void a_session_at_work_does_not_make_room(void **state) {
	struct host host = {.options = {.max_sessions = 1}, .grace = 1};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client busy = connected(&host), other = connected(&host);
	char headers[512];
	snprintf(headers, sizeof headers, JSON "%s", begin_session(&busy));
	assert_true(
		client_request(&busy, "POST", "/mcp", headers,
	                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
	                   "\"name\":\"work\",\"arguments\":{\"ms\":60000}}}"));
	wait_until(&host.started, 1);
	assert_int_equal(client_post(&other, "", INITIALIZE, &answer), 503);
	assert_int_equal(ask(&host, "DELETE", "/mcp", strstr(headers, "Mcp-Session-Id"), NULL, NULL),
	                 204);
	assert_int_equal(client_post(&other, "", INITIALIZE, &answer), 200);
	client_close(&busy);
	client_close(&other);
	tear_down(&host);
}

static void a_session_that_nobody_uses_ends(void **state) {
	struct host host = {.options = {.session_idle = 1}};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	const char *session = begin_session(&client);
	int status = 200;
	for (int i = 0; i < 50 && status != 404; i++) {
		st_sleep_ms(1200);
		status = client_post(&client, session, PING, &answer);
	}
	assert_int_equal(status, 404);
	client_close(&client);
	tear_down(&host);
}

static void listen_to_lists(struct client *client) {
	assert_true(client_request(
		client, "POST", "/mcp", JSON MODERN_HEADERS("subscriptions/listen"),
		MODERN("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")));
}

/* Where all are in use, the next waits, and has a place as soon as there is one. */
static void there_are_only_so_many_connections(void **state) {
	struct host host = {.options = {.max_connections = 4}};
	struct client clients[5];
	set_up(&host);
	for (int i = 0; i < 5; i++) {
		clients[i] = connected(&host);
		listen_to_lists(&clients[i]);
		if (i < 4)
			assert_int_equal(client_head(&clients[i]), 200);
	}
	assert_false(client_is_dropped(&clients[4], 400));
	client_close(&clients[0]);
	assert_int_equal(client_head(&clients[4]), 200);
	for (int i = 1; i < 5; i++)
		client_close(&clients[i]);
	tear_down(&host);
}

static void it_ends_when_the_work_is_done(void **state) {
	struct host host = {0};
	st_auto(st_buf) answer = ST_BUF_INIT;
	set_up(&host);
	struct client busy = connected(&host), idle = connected(&host), listener = connected(&host);
	assert_int_equal(
		client_post(&idle, MODERN_HEADERS("tools/list"), MODERN("tools/list", ""), &answer), 200);
	assert_true(client_request(
		&listener, "POST", "/mcp", JSON MODERN_HEADERS("subscriptions/listen"),
		MODERN("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")));
	assert_int_equal(client_head(&listener), 200);
	assert_true(client_event(&listener, 5000, &answer));
	assert_true(client_request(&busy, "POST", "/mcp", JSON WORK_HEADERS, WORK("\"ms\":700")));
	wait_until(&host.started, 1);
	stop(&host);
	/* New work is refused as soon as the server knows, what was begun is answered, subscriptions end. */
	int status = 200;
	for (int i = 0; i < 5000 && status == 200; i++)
		status =
			client_post(&idle, MODERN_HEADERS("tools/list"), MODERN("tools/list", ""), &answer);
	assert_int_equal(status, 503);
	assert_int_equal(client_head(&busy), 200);
	assert_true(client_body(&busy, &answer));
	expect(&answer, "done");
	assert_true(client_event(&listener, 5000, &answer));
	expect(&answer, "\"result\"");
	tear_down(&host);
	client_close(&busy);
	client_close(&idle);
	client_close(&listener);
}

static void it_does_not_wait_for_ever(void **state) {
	struct host host = {.grace = 1};
	set_up(&host);
	struct client busy = connected(&host);
	assert_true(client_request(&busy, "POST", "/mcp", JSON WORK_HEADERS, WORK("\"ms\":60000")));
	wait_until(&host.started, 1);
	tear_down(&host);
	assert_int_equal(host.cancelled, 1);
	client_close(&busy);
}

static void it_tells_what_it_does(void **state) {
	struct host host = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	set_up(&host);
	struct client client = connected(&host);
	begin_session(&client);
	st_metrics_call(host.metrics, ST_STR("edit_file"), 0, 700);
	st_metrics_call(host.metrics, ST_STR("edit_file"), STET_E_CONFLICT, 20'000);
	assert_int_equal(ask(&host, "GET", "/metrics", "", NULL, &text), 200);
	expect(&text, "stet_calls_total{tool=\"edit_file\",outcome=\"ok\"} 1\n");
	expect(&text, "stet_calls_total{tool=\"edit_file\",outcome=\"conflict\"} 1\n");
	expect(&text, "stet_call_seconds_bucket{tool=\"edit_file\",le=\"0.001\"} 1\n");
	expect(&text, "stet_call_seconds_bucket{tool=\"edit_file\",le=\"0.025\"} 2\n");
	expect(&text, "stet_call_seconds_bucket{tool=\"edit_file\",le=\"+Inf\"} 2\n");
	expect(&text, "stet_call_seconds_sum{tool=\"edit_file\"} 0.020700\n");
	expect(&text, "\nstet_conflicts_total 1\n");
	expect(&text, "\nstet_sessions 1\n");
	expect(&text, "process_resident_memory_bytes ");
	client_close(&client);
	tear_down(&host);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_begins_works_and_ends),
		cmocka_unit_test(a_legacy_request_needs_a_session),
		cmocka_unit_test(a_modern_request_stands_alone),
		cmocka_unit_test(headers_must_say_what_the_body_says),
		cmocka_unit_test(events_come_before_the_answer),
		cmocka_unit_test(what_belongs_to_no_request_goes_to_the_sessions_stream),
		cmocka_unit_test(a_subscription_is_a_stream_until_the_client_goes),
		cmocka_unit_test(a_modern_client_that_goes_cancels),
		cmocka_unit_test(a_legacy_client_that_goes_does_not),
		cmocka_unit_test(wrong_requests_get_the_right_status),
		cmocka_unit_test(only_a_token_opens_what_others_can_reach),
		cmocka_unit_test(without_a_token_it_does_not_listen_to_others),
		cmocka_unit_test(a_session_belongs_to_its_token),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(ambiguous_requests_are_refused_and_the_connection_closed),
		cmocka_unit_test(what_is_clear_is_answered_however_it_comes),
		cmocka_unit_test(the_head_decides_before_the_body_comes),
		cmocka_unit_test(who_waits_for_a_word_gets_it_before_the_body),
		cmocka_unit_test(strangers_do_not_keep_others_out),
		cmocka_unit_test(slow_and_idle_clients_are_dropped),
		cmocka_unit_test(a_client_that_does_not_read_is_dropped),
		cmocka_unit_test(who_begins_session_after_session_loses_those_and_nobody_else_any),
		cmocka_unit_test(a_session_at_work_does_not_make_room),
		cmocka_unit_test(a_session_that_nobody_uses_ends),
		cmocka_unit_test(there_are_only_so_many_connections),
		cmocka_unit_test(it_ends_when_the_work_is_done),
		cmocka_unit_test(it_does_not_wait_for_ever),
		cmocka_unit_test(it_tells_what_it_does),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
