/* The protocol core with a service of its own: eras, sinks, cancellation, questions, subscriptions. */
#include <pthread.h>

#include "lib/alloc.h"
#include "lib/test.h"
#include "mcp/protocol/hmac.h"
#include "mcp/protocol/service.h"

#define META \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"
#define INIT(version) \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"" version \
	"\",\"capabilities\":{\"sampling\":{}},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define MODERN(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" META params "}}"
#define LEGACY(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"

/* ---- where messages go ---- */

struct catcher {
	struct st_mcp_sink sink;
	pthread_mutex_t lock;
	/* Everything sent, one message by line. */
	struct st_buf text;
	int answers, dones, status;
};

static void keep(struct st_mcp_sink *sink, struct st_buf *message) {
	struct catcher *catcher = (struct catcher *)sink;
	pthread_mutex_lock(&catcher->lock);
	st_buf_addf(&catcher->text, "%s\n", message->ptr);
	pthread_mutex_unlock(&catcher->lock);
}

static void keep_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct catcher *catcher = (struct catcher *)sink;
	keep(sink, message);
	pthread_mutex_lock(&catcher->lock);
	catcher->answers++;
	catcher->status = status;
	pthread_mutex_unlock(&catcher->lock);
}

static void count_done(struct st_mcp_sink *sink) {
	struct catcher *catcher = (struct catcher *)sink;
	pthread_mutex_lock(&catcher->lock);
	catcher->dones++;
	pthread_mutex_unlock(&catcher->lock);
}

static void catcher_init(struct catcher *catcher) {
	*catcher = (struct catcher){.sink = {.event = keep, .answer = keep_answer, .done = count_done}};
	pthread_mutex_init(&catcher->lock, NULL);
}

static bool caught(struct catcher *catcher, const char *part) {
	pthread_mutex_lock(&catcher->lock);
	bool found = strstr(st_buf_cstr(&catcher->text), part);
	pthread_mutex_unlock(&catcher->lock);
	return found;
}

static bool is_done(struct catcher *catcher) {
	pthread_mutex_lock(&catcher->lock);
	bool done = catcher->dones > 0;
	pthread_mutex_unlock(&catcher->lock);
	return done;
}

/* ---- a service ---- */

static _Atomic int watched;

static int list_tools(struct st_mcp_request *request) {
	st_buf_adds(request->result, "{\"tools\":[]}");
	return 0;
}

static int wait_for_cancellation(struct st_mcp_request *request) {
	st_mcp_progress(request, 1, 2, "begun");
	while (!st_mcp_cancelled(request))
		sleep_ms(1);
	st_mcp_progress(request, 2, 2, "too late");
	st_buf_adds(request->result, "{}");
	return 0;
}

static int ask(struct st_mcp_request *request) {
	yyjson_doc *answer = NULL;
	int code = st_mcp_ask(request, "sampling/createMessage", ST_STR("{\"messages\":[]}"), &answer);
	if (code < 0)
		return code;
	st_buf_adds(request->result, "{\"said\":");
	st_json_quote(request->result,
	              st_json_str(yyjson_obj_get(yyjson_doc_get_root(answer), "text")));
	st_buf_adds(request->result, "}");
	yyjson_doc_free(answer);
	return 0;
}

static int need(struct st_mcp_request *request) {
	st_auto(st_buf) state = ST_BUF_INIT;
	int code = st_mcp_input_state(request, &state);
	if (code < 0)
		return code;
	if (code > 0 && st_mcp_input(request, "name")) {
		st_buf_addf(request->result, "{\"state\":\"%s\"}", state.ptr);
		return 0;
	}
	return st_mcp_need_input(request,
	                         ST_STR("{\"name\":{\"method\":\"elicitation/create\",\"params\":{}}}"),
	                         ST_STR("round one"));
}

/* From here on there is no memory at all: for a long answer, or for a sentence. */
static int starve(struct st_mcp_request *request) {
	alloc_fail_from(1);
	if (yyjson_obj_get(request->params, "arguments"))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "There is too little of it.");
	st_buf_addf(request->result, "{\"content\":\"%1000s\"}", "");
	return 0;
}

static int call_tool(struct st_mcp_request *request) {
	if (st_str_eq(request->name, ST_STR("starve")))
		return starve(request);
	if (st_str_eq(request->name, ST_STR("slow")))
		return wait_for_cancellation(request);
	if (st_str_eq(request->name, ST_STR("ask")))
		return ask(request);
	if (st_str_eq(request->name, ST_STR("need")))
		return need(request);
	if (st_str_eq(request->name, ST_STR("sampling")))
		return st_mcp_fail_missing(request, "sampling");
	if (!st_str_eq(request->name, ST_STR("echo")))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "There is no such tool.");
	st_mcp_log(request, ST_MCP_INFO, "test", ST_STR("echo was called"));
	st_buf_adds(request->result, "{\"content\":[]}");
	return 0;
}

static int read_resource(struct st_mcp_request *request) {
	return st_mcp_fail_no_resource(request, request->name);
}

static int watch(struct st_mcp_service *service, void *user, struct st_str uri,
                 struct stet_error *err) {
	if (st_str_eq(uri, ST_STR("test://none")))
		return st_fail(err, STET_E_NOT_FOUND, "There is none.");
	watched++;
	return 0;
}

static void unwatch(struct st_mcp_service *service, struct st_str uri) {
	watched--;
}

static struct st_mcp_service service = {
	.name = "test",
	.title = "Test",
	.version = "1",
	.announces = ST_MCP_TOOLS_CHANGE,
	.tools_list = list_tools,
	.tools_call = call_tool,
	.resources_list = list_tools,
	.resources_read = read_resource,
	.watch = watch,
	.unwatch = unwatch,
};

/* ---- an executor with a thread for every request ---- */

static void *run_job(void *job) {
	((struct st_mcp_task *)job)->run(job);
	return NULL;
}

static pthread_t threads[8];
static size_t thread_count;

static bool submit(struct st_mcp_executor *executor, struct st_mcp_task *job) {
	assert_true(thread_count < sizeof threads / sizeof *threads);
	if (pthread_create(&threads[thread_count], NULL, run_job, job) != 0)
		return false;
	thread_count++;
	return true;
}

/* A thread lets go of its peer a moment after it has answered. */
static void join_threads(void) {
	while (thread_count > 0)
		pthread_join(threads[--thread_count], NULL);
}

static bool refuse_work(struct st_mcp_executor *executor, struct st_mcp_task *job) {
	return false;
}

/* ---- a peer of one's own for each test ---- */

struct bench {
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	struct catcher events;
	struct catcher last;
};

static void bench_open(struct bench *bench, struct st_mcp_executor *executor,
                       enum st_mcp_peer_kind kind) {
	memset(bench, 0, sizeof *bench);
	catcher_init(&bench->events);
	catcher_init(&bench->last);
	assert_int_equal(st_mcp_server_new(&service, executor, &bench->server, NULL), 0);
	assert_int_equal(
		st_mcp_peer_new(bench->server, kind, "owner", &bench->events.sink, &bench->peer, NULL), 0);
}

static void bench_close(struct bench *bench) {
	st_mcp_peer_close(bench->peer);
	join_threads();
	st_mcp_server_free(bench->server);
	st_buf_release(&bench->events.text);
	st_buf_release(&bench->last.text);
}

/* Send one message and return what came of it, which must be complete. */
static const char *say(struct bench *bench, const char *message) {
	st_buf_release(&bench->last.text);
	catcher_init(&bench->last);
	/* Some have no memory left when it comes to keeping the answer. */
	assert_true(st_buf_reserve(&bench->last.text, 1000));
	st_mcp_receive(bench->peer, st_str(message), &bench->last.sink);
	assert_int_equal(bench->last.dones, 1);
	return st_buf_cstr(&bench->last.text);
}

#define expect_part(text, part) assert_non_null(strstr(text, part))

static void wait_for(struct catcher *catcher, const char *part) {
	for (int i = 0; i < 5000 && !caught(catcher, part); i++)
		sleep_ms(1);
	assert_true(caught(catcher, part));
}

static void wait_until_done(struct catcher *catcher) {
	for (int i = 0; i < 5000 && !is_done(catcher); i++)
		sleep_ms(1);
	assert_true(is_done(catcher));
}

/* ---- eras ---- */

static void initialize_answers_with_the_version_asked_for_if_it_is_legacy(void **state) {
	static const char *const pairs[][2] = {
		{INIT("2024-11-05"), "\"protocolVersion\":\"2024-11-05\""},
		{INIT("2025-03-26"), "\"protocolVersion\":\"2025-03-26\""},
		{INIT("2025-11-25"), "\"protocolVersion\":\"2025-11-25\""},
		{INIT("2026-07-28"), "\"protocolVersion\":\"2025-11-25\""},
		{INIT("1999-01-01"), "\"protocolVersion\":\"2025-11-25\""},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct bench bench;
		bench_open(&bench, NULL, ST_MCP_STDIO);
		expect_part(say(&bench, pairs[i][0]), pairs[i][1]);
		bench_close(&bench);
	}
}

static void modern_requests_are_served_whatever_came_before(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	expect_part(say(&bench, MODERN("1", "tools/list", "")), "\"resultType\":\"complete\"");
	expect_part(bench.last.text.ptr, "\"ttlMs\":");
	say(&bench, INIT("2025-06-18"));
	assert_null(strstr(say(&bench, LEGACY("2", "tools/list", "")), "resultType"));
	expect_part(say(&bench, MODERN("3", "tools/list", "")), "\"cacheScope\":\"private\"");
	bench_close(&bench);
}

static void what_an_era_does_not_have_is_no_method(void **state) {
	static const char *const removed[] = {"ping", "logging/setLevel", "resources/subscribe",
	                                      "initialize"};
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STATELESS);
	for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
		char message[600];
		snprintf(message, sizeof message,
		         "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"%s\",\"params\":{" META "}}",
		         removed[i]);
		expect_part(say(&bench, message), "\"id\":\"x\",\"error\":{\"code\":-32601");
		assert_int_equal(bench.last.status, 404);
	}
	bench_close(&bench);
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-11-25"));
	expect_part(say(&bench, LEGACY("1", "server/discover", "")), "-32601");
	expect_part(say(&bench, LEGACY("1", "subscriptions/listen", "")), "-32601");
	bench_close(&bench);
}

static void claims_are_checked(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STATELESS);
	expect_part(say(&bench, LEGACY("1", "tools/list", "")), "-32602");
	assert_int_equal(bench.last.status, 400);
	expect_part(say(&bench, LEGACY("1", "tools/list",
	                               "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
	                               "\"2026-07-28\"}")),
	            "-32602");
	expect_part(say(&bench, LEGACY("1", "tools/list",
	                               "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
	                               "\"2099-01-01\",\"io.modelcontextprotocol/"
	                               "clientCapabilities\":{}}")),
	            "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2099-01-01\"}");
	expect_part(bench.last.text.ptr, "-32022");
	assert_int_equal(bench.last.status, 400);
	bench_close(&bench);
}

static void before_initialize_only_ping_is_answered(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	expect_part(say(&bench, LEGACY("1", "tools/list", "")), "\"code\":-32600");
	expect_part(say(&bench, LEGACY("2", "server/discover", "")), "\"code\":-32602");
	expect_part(say(&bench, LEGACY("3", "ping", "")), "\"id\":3,\"result\":{}");
	bench_close(&bench);
}

static void a_resource_that_is_not_there_has_the_code_of_its_era(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-11-25"));
	expect_part(say(&bench, LEGACY("1", "resources/read", "\"uri\":\"test://x\"")), "-32002");
	expect_part(say(&bench, MODERN("1", "resources/read", ",\"uri\":\"test://x\"")),
	            "\"code\":-32602,\"message\":\"Resource not found.\",\"data\":{\"uri\":"
	            "\"test://x\"}");
	bench_close(&bench);
}

/* ---- messages ---- */

static void ids_come_back_as_they_were(void **state) {
	static const char *const ids[] = {
		"0",    "-7",           "9223372036854775807", "18446744073709551615",
		"\"\"", "\"a\\u0001\"", "\"\xc3\xa9\""};
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		char message[200], expected[200];
		snprintf(message, sizeof message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
		         ids[i]);
		snprintf(expected, sizeof expected, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n",
		         ids[i]);
		assert_string_equal(say(&bench, message), expected);
	}
	/* An id that no request can have is still whose answer it is, if it is a number. */
	static const struct {
		const char *id, *answered;
	} wrong[] = {
		{"null", "null"}, {"1.5", "1.5"}, {"true", "null"},
		{"[]", "null"},   {"{}", "null"}, {"99999999999999999999999", "1e23"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char message[200], part[200];
		snprintf(message, sizeof message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
		         wrong[i].id);
		snprintf(part, sizeof part, "\"id\":%s,\"error\":{\"code\":-32", wrong[i].answered);
		expect_part(say(&bench, message), part);
	}
	bench_close(&bench);
}

static void what_is_no_message_is_answered_with_the_right_code(void **state) {
	static const struct {
		const char *message, *part;
	} cases[] = {
		{"", "\"id\":null,\"error\":{\"code\":-32700"},
		{"{", "\"id\":null,\"error\":{\"code\":-32700"},
		{"\"\xff\"", "\"code\":-32700"},
		{"3", "\"code\":-32600"},
		{"[]", "\"code\":-32600"},
		{"{}", "\"code\":-32600"},
		{"{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"ping\"}",
	     "\"id\":4,\"error\":{\"code\":-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}", "\"id\":4,\"error\":{\"code\":-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4}", "\"id\":4,\"error\":{\"code\":-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":[]}",
	     "\"id\":4,\"error\":{\"code\":-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{\"_meta\":7}}",
	     "\"id\":4,\"error\":{\"code\":-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{\"a\":1,\"a\":1}}",
	     "\"id\":4,\"error\":{\"code\":-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"none\"}", "\"code\":-32601"},
		{"[{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}]", "\"code\":-32600"},
	};
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-11-25"));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_part(say(&bench, cases[i].message), cases[i].part);
	bench_close(&bench);
}

static void nesting_has_an_end(void **state) {
	struct bench bench;
	st_auto(st_buf) message = ST_BUF_INIT;
	st_buf_adds(&message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":");
	for (int i = 0; i < 100000; i++)
		st_buf_addc(&message, '[');
	bench_open(&bench, NULL, ST_MCP_STDIO);
	expect_part(say(&bench, message.ptr), "\"id\":1,\"error\":{\"code\":-32700");
	bench_close(&bench);
}

static void notifications_and_stray_responses_are_not_answered(void **state) {
	static const char *const quiet[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":[]}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"\"}}",
	};
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
		assert_string_equal(say(&bench, quiet[i]), "");
	bench_close(&bench);
}

static void batches_are_for_the_one_version_that_has_them(void **state) {
	static const char batch[] = "[" LEGACY(
		"1", "ping",
		"") ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},7," LEGACY("\"b\"", "tools/list",
	                                                                          "") "]";
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-06-18"));
	expect_part(say(&bench, batch), "-32600");
	say(&bench, INIT("2025-03-26"));
	const char *answer = say(&bench, batch);
	assert_int_equal(bench.last.answers, 1);
	assert_true(answer[0] == '[');
	expect_part(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	expect_part(answer, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600");
	expect_part(answer, "\"id\":\"b\",\"result\":{\"tools\":[]}");
	assert_string_equal(say(&bench, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"), "");
	bench_close(&bench);
}

/* ---- logging, progress, cancellation ---- */

static void a_log_is_sent_to_those_who_want_it(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	assert_null(strstr(say(&bench, MODERN("1", "tools/call", ",\"name\":\"echo\"")),
	                   "notifications/message"));
	expect_part(say(&bench, LEGACY("1", "tools/call",
	                               "\"name\":\"echo\",\"_meta\":{\"io.modelcontextprotocol/"
	                               "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
	                               "clientCapabilities\":{},\"io.modelcontextprotocol/logLevel\":"
	                               "\"debug\"}")),
	            "notifications/message");
	say(&bench, INIT("2025-11-25"));
	expect_part(say(&bench, LEGACY("2", "tools/call", "\"name\":\"echo\"")),
	            "\"level\":\"info\",\"logger\":\"test\",\"data\":\"echo was called\"");
	expect_part(say(&bench, LEGACY("3", "logging/setLevel", "\"level\":\"error\"")), "{}");
	assert_null(strstr(say(&bench, LEGACY("4", "tools/call", "\"name\":\"echo\"")),
	                   "notifications/message"));
	expect_part(say(&bench, LEGACY("5", "logging/setLevel", "\"level\":\"loud\"")), "-32602");
	bench_close(&bench);
}

static void a_cancelled_request_is_never_answered(void **state) {
	struct st_mcp_executor executor = {.submit = submit};
	struct bench bench;
	struct catcher slow;
	catcher_init(&slow);
	bench_open(&bench, &executor, ST_MCP_STDIO);
	st_mcp_receive(
		bench.peer,
		ST_STR(LEGACY("1", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}")),
		&bench.last.sink);
	st_mcp_receive(bench.peer,
	               ST_STR(LEGACY("\"s\"", "tools/call",
	                             "\"name\":\"slow\",\"_meta\":{\"progressToken\":\"p\"}")),
	               &slow.sink);
	wait_for(&slow, "\"progressToken\":\"p\",\"progress\":1,\"total\":2,\"message\":\"begun\"");
	say(&bench,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
	    "\"s\"}}");
	wait_until_done(&slow);
	assert_int_equal(slow.answers, 0);
	assert_false(caught(&slow, "too late"));
	st_buf_release(&slow.text);
	bench_close(&bench);
}

static void a_sink_that_nobody_reads_ends_its_work(void **state) {
	struct st_mcp_executor executor = {.submit = submit};
	struct bench bench;
	struct catcher slow;
	catcher_init(&slow);
	bench_open(&bench, &executor, ST_MCP_STATELESS);
	st_mcp_receive(bench.peer, ST_STR(MODERN("1", "tools/call", ",\"name\":\"slow\"")), &slow.sink);
	st_mcp_cancel(bench.peer, &slow.sink);
	wait_until_done(&slow);
	assert_int_equal(slow.answers, 0);
	bench_close(&bench);
}

static void a_peer_that_goes_ends_its_work(void **state) {
	struct st_mcp_executor executor = {.submit = submit};
	struct bench bench;
	struct catcher slow;
	catcher_init(&slow);
	bench_open(&bench, &executor, ST_MCP_STATELESS);
	st_mcp_receive(bench.peer, ST_STR(MODERN("1", "tools/call", ",\"name\":\"slow\"")), &slow.sink);
	st_mcp_peer_close(bench.peer);
	wait_until_done(&slow);
	join_threads();
	st_mcp_server_free(bench.server);
}

static void work_that_finds_no_worker_is_answered(void **state) {
	struct st_mcp_executor none = {.submit = refuse_work};
	struct bench bench;
	bench_open(&bench, &none, ST_MCP_STATELESS);
	expect_part(say(&bench, MODERN("1", "tools/list", "")), "-32603");
	assert_int_equal(bench.last.status, 500);
	bench_close(&bench);
}

/* ---- asking the client ---- */

static void a_question_waits_for_its_answer(void **state) {
	struct st_mcp_executor executor = {.submit = submit};
	struct bench bench;
	struct catcher asking;
	catcher_init(&asking);
	bench_open(&bench, &executor, ST_MCP_SESSION);
	say(&bench, INIT("2025-11-25"));
	st_mcp_receive(bench.peer, ST_STR(LEGACY("5", "tools/call", "\"name\":\"ask\"")), &asking.sink);
	wait_for(&asking, "\"id\":1,\"method\":\"sampling/createMessage\"");
	say(&bench, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"wrong\"}}");
	say(&bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"hello\"}}");
	wait_until_done(&asking);
	assert_true(caught(&asking, "\"id\":5,\"result\":{\"said\":\"hello\"}"));
	st_buf_release(&asking.text);
	bench_close(&bench);
}

static void input_is_asked_for_in_rounds(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STATELESS);
	const char *answer = say(&bench, MODERN("1", "tools/call", ",\"name\":\"need\""));
	expect_part(answer, "\"resultType\":\"input_required\"");
	char signed_text[400] = "";
	assert_int_equal(
		sscanf(strstr(answer, "requestState"), "requestState\":\"%399[0-9a-f]", signed_text), 1);
	char message[1500];
	snprintf(message, sizeof message,
	         MODERN("2", "tools/call",
	                ",\"name\":\"need\",\"inputResponses\":{\"name\":{\"action\":\"accept\"}},"
	                "\"requestState\":\"%s\""),
	         signed_text);
	expect_part(say(&bench, message), "\"state\":\"round one\"");
	char *digit = strstr(message, signed_text);
	digit[70] = digit[70] == '0' ? '1' : '0';
	expect_part(say(&bench, message), "\"code\":-32602");
	bench_close(&bench);
}

static void what_a_client_cannot_do_is_not_asked_of_it(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STATELESS);
	expect_part(say(&bench, MODERN("1", "tools/call", ",\"name\":\"sampling\"")),
	            "\"code\":-32021,");
	expect_part(bench.last.text.ptr, "\"requiredCapabilities\":{\"sampling\":{}}");
	assert_int_equal(bench.last.status, 400);
	bench_close(&bench);
}

/* ---- roots ---- */

#define INIT_ROOTS \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{\"roots\":{}}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

/* How many roots were told last; -1 for none at all. */
static int told;

static void take_roots(struct st_mcp_service *base, yyjson_val *list) {
	told = list ? (int)yyjson_arr_size(list) : -1;
}

static void bench_open_rooted(struct bench *bench) {
	service.roots = take_roots;
	told = -2;
	bench_open(bench, NULL, ST_MCP_STDIO);
	say(bench, INIT_ROOTS);
}

static void bench_close_rooted(struct bench *bench) {
	bench_close(bench);
	service.roots = NULL;
}

static void send(struct bench *bench, struct catcher *catcher, const char *message) {
	catcher_init(catcher);
	st_mcp_receive(bench->peer, st_str(message), &catcher->sink);
}

static void a_call_waits_for_roots_no_longer_than_there_is_patience(void **state) {
	struct bench bench;
	struct catcher call;
	bench_open_rooted(&bench);
	assert_int_equal(st_mcp_peer_timeout(bench.peer), -1);
	send(&bench, &call, LEGACY("1", "tools/call", "\"name\":\"echo\""));
	/* It is asked although it never said that it had initialized. */
	assert_true(caught(&bench.events, "\"id\":1,\"method\":\"roots/list\""));
	int left = st_mcp_peer_timeout(bench.peer);
	assert_true(left > 0 && left <= 10000);
	assert_int_equal(call.answers, 0);
	st_mcp_peer_give_up(bench.peer);
	assert_int_equal(told, -1);
	assert_int_equal(call.answers, 1);
	assert_int_equal(call.dones, 1);
	assert_int_equal(st_mcp_peer_timeout(bench.peer), -1);
	/* It is not asked again, but a late answer counts. */
	say(&bench, INITIALIZED);
	assert_false(caught(&bench.events, "\"id\":2"));
	say(&bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[{}]}}");
	assert_int_equal(told, 1);
	/* Once. */
	say(&bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
	assert_int_equal(told, 1);
	st_buf_release(&call.text);
	bench_close_rooted(&bench);
}

static void a_call_that_waits_for_roots_can_be_cancelled(void **state) {
	struct bench bench;
	struct catcher first, second;
	bench_open_rooted(&bench);
	say(&bench, INITIALIZED);
	send(&bench, &first, LEGACY("1", "tools/call", "\"name\":\"echo\""));
	send(&bench, &second, LEGACY("2", "tools/call", "\"name\":\"echo\""));
	say(&bench,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	    "\"requestId\":1}}");
	say(&bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
	assert_int_equal(told, 0);
	assert_int_equal(first.answers, 0);
	assert_int_equal(first.dones, 1);
	assert_int_equal(second.answers, 1);
	st_buf_release(&first.text);
	st_buf_release(&second.text);
	bench_close_rooted(&bench);
}

static void a_peer_may_go_while_a_call_waits_for_roots(void **state) {
	struct bench bench;
	struct catcher call;
	bench_open_rooted(&bench);
	send(&bench, &call, LEGACY("1", "tools/call", "\"name\":\"echo\""));
	bench_close_rooted(&bench);
	assert_int_equal(call.answers, 0);
	assert_int_equal(call.dones, 1);
	assert_int_equal(told, -2);
	st_buf_release(&call.text);
}

static void clients_without_roots_are_not_asked(void **state) {
	struct bench bench;
	service.roots = take_roots;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-11-25"));
	say(&bench, INITIALIZED);
	say(&bench, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
	say(&bench, LEGACY("1", "tools/call", "\"name\":\"echo\""));
	assert_string_equal(st_buf_cstr(&bench.events.text), "");
	bench_close_rooted(&bench);
}

static void a_seal_holds_for_its_purpose_only(void **state) {
	st_auto(st_buf) signed_text = ST_BUF_INIT;
	st_auto(st_buf) opened = ST_BUF_INIT;
	struct st_str key = ST_STR("0123456789abcdef0123456789abcdef");
	assert_int_equal(st_hmac_sign(key, ST_STR("a"), ST_STR("\x01 text"), &signed_text, NULL), 0);
	assert_int_equal(st_hmac_verify(key, ST_STR("a"), st_buf_str(&signed_text), &opened, NULL), 0);
	assert_string_equal(opened.ptr, "\x01 text");
	assert_int_equal(st_hmac_verify(key, ST_STR("b"), st_buf_str(&signed_text), &opened, NULL),
	                 STET_E_INVALID);
	assert_int_equal(st_hmac_verify(ST_STR("0123456789abcdef0123456789abcdeF"), ST_STR("a"),
	                                st_buf_str(&signed_text), &opened, NULL),
	                 STET_E_INVALID);
	assert_int_equal(st_hmac_verify(key, ST_STR("a"), ST_STR("abc"), &opened, NULL),
	                 STET_E_INVALID);
}

/* ---- subscriptions ---- */

static void legacy_subscribers_hear_of_updates(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	say(&bench, INIT("2025-11-25"));
	expect_part(say(&bench, LEGACY("1", "resources/subscribe", "\"uri\":\"test://a\"")), "{}");
	expect_part(say(&bench, LEGACY("1", "resources/subscribe", "\"uri\":\"test://a\"")), "{}");
	expect_part(say(&bench, LEGACY("1", "resources/subscribe", "\"uri\":\"test://none\"")),
	            "-32002");
	assert_int_equal(watched, 1);
	st_mcp_server_updated(bench.server, ST_STR("test://a"));
	st_mcp_server_updated(bench.server, ST_STR("test://b"));
	st_mcp_server_lists_changed(bench.server, ST_MCP_TOOLS_CHANGE);
	assert_string_equal(bench.events.text.ptr,
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
	                    "\"params\":{\"uri\":\"test://a\"}}\n"
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
	expect_part(say(&bench, LEGACY("1", "resources/unsubscribe", "\"uri\":\"test://a\"")), "{}");
	assert_int_equal(watched, 0);
	bench_close(&bench);
}

static void modern_subscribers_listen_until_they_stop(void **state) {
	struct bench bench;
	struct catcher listening;
	catcher_init(&listening);
	bench_open(&bench, NULL, ST_MCP_STDIO);
	st_mcp_receive(bench.peer,
	               ST_STR(MODERN("\"L\"", "subscriptions/listen",
	                             ",\"notifications\":{\"toolsListChanged\":true,"
	                             "\"promptsListChanged\":true,\"resourceSubscriptions\":["
	                             "\"test://a\",\"test://none\"]}")),
	               &listening.sink);
	assert_string_equal(
		listening.text.ptr,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
		"\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"L\"},\"notifications\":{"
		"\"toolsListChanged\":true,\"resourceSubscriptions\":[\"test://a\"]}}}\n");
	st_buf_clear(&listening.text);
	st_mcp_server_updated(bench.server, ST_STR("test://a"));
	assert_string_equal(listening.text.ptr,
	                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
	                    "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"L\"},"
	                    "\"uri\":\"test://a\"}}\n");
	st_mcp_server_lists_changed(bench.server, ST_MCP_TOOLS_CHANGE);
	assert_true(caught(&listening, "tools/list_changed"));
	assert_int_equal(listening.dones, 0);
	assert_string_equal(st_buf_cstr(&bench.events.text), "");
	say(&bench,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
	    "\"L\"}}");
	assert_int_equal(listening.dones, 1);
	assert_int_equal(listening.answers, 0);
	assert_int_equal(watched, 0);
	st_buf_release(&listening.text);
	bench_close(&bench);
}

static void listeners_are_answered_when_the_server_goes(void **state) {
	struct bench bench;
	struct catcher listening;
	catcher_init(&listening);
	bench_open(&bench, NULL, ST_MCP_STATELESS);
	st_mcp_receive(bench.peer, ST_STR(MODERN("7", "subscriptions/listen", ",\"notifications\":{}")),
	               &listening.sink);
	bench_close(&bench);
	assert_int_equal(listening.answers, 1);
	assert_true(caught(&listening,
	                   "\"id\":7,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
	                   "\"io.modelcontextprotocol/subscriptionId\":7"));
	st_buf_release(&listening.text);
}

static void subscriptions_that_make_no_sense_are_refused(void **state) {
	struct bench bench;
	bench_open(&bench, NULL, ST_MCP_STDIO);
	expect_part(say(&bench, MODERN("1", "subscriptions/listen", "")), "-32602");
	expect_part(say(&bench, MODERN("1", "subscriptions/listen", ",\"notifications\":[]")),
	            "-32602");
	expect_part(say(&bench, MODERN("1", "subscriptions/listen",
	                               ",\"notifications\":{\"toolsListChanged\":1}")),
	            "-32602");
	expect_part(
		say(&bench, MODERN("1", "subscriptions/listen",
	                       ",\"notifications\":{\"resourceSubscriptions\":[\"test://a\",1]}")),
		"-32602");
	assert_int_equal(watched, 0);
	bench_close(&bench);
}

static void without_memory_there_is_still_an_answer(void **state) {
	(void)state;
	static const char *const calls[] = {
		MODERN("\"an id\"", "tools/call", ",\"name\":\"starve\""),
		MODERN("\"an id\"", "tools/call", ",\"name\":\"starve\",\"arguments\":{}"),
	};
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;
		bench_open(&bench, NULL, ST_MCP_STDIO);
		const char *answer = say(&bench, calls[i]);
		assert_true(alloc_has_failed());
		expect_part(answer, "\"id\":\"an id\"");
		expect_part(answer, "\"message\":\"Out of memory.\"");
		bench_close(&bench);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initialize_answers_with_the_version_asked_for_if_it_is_legacy),
		cmocka_unit_test(modern_requests_are_served_whatever_came_before),
		cmocka_unit_test(what_an_era_does_not_have_is_no_method),
		cmocka_unit_test(claims_are_checked),
		cmocka_unit_test(before_initialize_only_ping_is_answered),
		cmocka_unit_test(a_resource_that_is_not_there_has_the_code_of_its_era),
		cmocka_unit_test(ids_come_back_as_they_were),
		cmocka_unit_test(what_is_no_message_is_answered_with_the_right_code),
		cmocka_unit_test(nesting_has_an_end),
		cmocka_unit_test(notifications_and_stray_responses_are_not_answered),
		cmocka_unit_test(batches_are_for_the_one_version_that_has_them),
		cmocka_unit_test(a_log_is_sent_to_those_who_want_it),
		cmocka_unit_test(a_cancelled_request_is_never_answered),
		cmocka_unit_test(a_sink_that_nobody_reads_ends_its_work),
		cmocka_unit_test(a_peer_that_goes_ends_its_work),
		cmocka_unit_test(work_that_finds_no_worker_is_answered),
		cmocka_unit_test(a_question_waits_for_its_answer),
		cmocka_unit_test(input_is_asked_for_in_rounds),
		cmocka_unit_test(what_a_client_cannot_do_is_not_asked_of_it),
		cmocka_unit_test(a_call_waits_for_roots_no_longer_than_there_is_patience),
		cmocka_unit_test(a_call_that_waits_for_roots_can_be_cancelled),
		cmocka_unit_test(a_peer_may_go_while_a_call_waits_for_roots),
		cmocka_unit_test(clients_without_roots_are_not_asked),
		cmocka_unit_test(a_seal_holds_for_its_purpose_only),
		cmocka_unit_test(legacy_subscribers_hear_of_updates),
		cmocka_unit_test(modern_subscribers_listen_until_they_stop),
		cmocka_unit_test(listeners_are_answered_when_the_server_goes),
		cmocka_unit_test(subscriptions_that_make_no_sense_are_refused),
		cmocka_unit_test(without_memory_there_is_still_an_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
