/* Tools, hosts, configuration and servers, through the public headers. */
#include <netinet/in.h>
#include <pthread.h>
#include <stet/stet.h>
#include <sys/socket.h>

#include "lib/test.h"

static void every_tool_describes_itself(void **state) {
	(void)state;
	assert_true(stet_tool_count() >= 27);
	for (size_t i = 0; i < stet_tool_count(); i++) {
		assert_true(strlen(stet_tool_name(i)) > 0 && strlen(stet_tool_title(i)) > 0);
		assert_true(strlen(stet_tool_description(i)) > 0 && strlen(stet_tool_group(i)) > 0);
		char *json = stet_tool_json(i);
		assert_non_null(strstr(json, "inputSchema"));
		stet_free(json);
	}
	assert_null(stet_tool_name(stet_tool_count()));
	assert_true(strlen(stet_editing_guide()) > 100);
}

static void a_tool_takes_json_and_answers_in_json(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "one\n");
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_error err = {0};
	assert_int_equal(stet_workspace_open(dir->path, &ws, &err), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);

	struct stet_json *args = stet_json_new();
	stet_json_set_text(args, "/path", "a.txt", 5);
	stet_json_set_int(args, "/limit", 20);
	size_t len = 0;
	char *text = stet_json_write(args, 0, &len);
	char *answer = NULL;
	assert_int_equal(stet_call(session, "read_file", text, len, &answer, NULL, &err), 0);
	stet_free(text);
	stet_json_free(args);

	struct stet_json *json = NULL;
	assert_int_equal(stet_json_parse(answer, strlen(answer), 0, &json, &err), 0);
	assert_string_equal(stet_json_type(json, "/content"), "array");
	assert_non_null(strstr(stet_json_text(json, "/content/0/text", NULL), "one\n"));
	assert_false(stet_json_true(json, "/isError"));
	stet_json_free(json);
	stet_free(answer);

	assert_int_equal(stet_call(session, "no_such_tool", NULL, 0, &answer, NULL, &err),
	                 STET_E_INVALID);
	assert_null(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void json_is_written_and_read_by_pointers(void **state) {
	(void)state;
	struct stet_json *json = stet_json_new();
	stet_json_set_bool(json, "/a/yes", 1);
	stet_json_set_json(json, "/a/list", "[1, 2]", 6);
	stet_json_set_int(json, "/a/list/-", 3);
	assert_int_equal(stet_json_count(json, "/a/list"), 3);
	assert_int_equal(stet_json_int(json, "/a/list/2", -1), 3);
	assert_int_equal(stet_json_int(json, "/a/none", -1), -1);
	assert_true(stet_json_true(json, "/a/yes"));
	assert_string_equal(stet_json_key(json, "/a", 0), "yes");
	char *list = stet_json_write_at(json, "/a/list", 0, NULL);
	assert_string_equal(list, "[1,2,3]");
	stet_free(list);
	stet_json_free(json);
	struct stet_error err = {0};
	assert_int_equal(stet_json_parse("{", 1, 0, &json, &err), STET_E_INVALID);
}

static int make_read_only(void *arg, struct stet_workspace *ws, struct stet_error *err) {
	++*(int *)arg;
	return stet_workspace_set(ws, STET_OPTION_READ_ONLY, 1, err);
}

/* Call a tool of a client. */
static int call(struct stet_client *client, const char *tool, const char *args) {
	char *answer = NULL;
	struct stet_error err = {0};
	int code = stet_client_call(client, tool, args, strlen(args), &answer, NULL, &err);
	stet_free(answer);
	return code;
}

static void a_host_serves_several_directories_to_several_clients(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "one/a.txt", "a\n");
	dir_write(dir, "two/b.txt", "b\n");
	char one[300], two[300];
	snprintf(one, sizeof one, "%s/one", dir->path);
	snprintf(two, sizeof two, "%s/two", dir->path);
	const char *roots[] = {one, two};
	struct stet_host *host = NULL;
	struct stet_client *mine = NULL, *named = NULL, *stateless = NULL;
	struct stet_error err = {0};
	assert_int_equal(stet_host_open(roots, 2, &host, &err), 0);
	assert_non_null(stet_host_workspace(host, 1));
	assert_null(stet_host_workspace(host, 2));
	assert_int_equal(stet_host_set(host, STET_OPTION_DURABLE, 0, &err), 0);
	assert_int_equal(stet_host_allow(host, ".txt", &err), 0);
	assert_int_equal(stet_host_instructions_names(host, "RULES.md", &err), 0);

	assert_int_equal(stet_host_client(host, NULL, NULL, &mine, &err), 0);
	assert_int_equal(stet_host_client(host, "token", "worker", &named, &err), 0);
	assert_int_equal(stet_host_stateless(host, NULL, &stateless, &err), 0);
	assert_null(stet_client_name(mine));
	assert_string_equal(stet_client_name(named), "worker");
	assert_int_equal(call(mine, "read_file", "{\"path\": \"b.txt\"}"), 0);
	assert_int_equal(call(mine, "write_file", "{\"path\": \"b.txt\", \"content\": \"c\\n\"}"), 0);
	assert_string_equal(dir_read(dir, "two/b.txt"), "c\n");
	assert_true(call(stateless, "write_file", "{\"path\": \"a.txt\", \"content\": \"c\\n\"}") < 0);

	struct stet_session *session = stet_client_borrow(named, 0);
	assert_int_equal(stet_session_track_read(session, "a.txt", &err), 0);
	stet_client_return(named);
	assert_null(stet_client_borrow(stateless, 0));

	int ready = 0;
	stet_host_follow(host, make_read_only, &ready);
	assert_int_equal(stet_host_move(host, roots, 1, &err), 0);
	assert_null(stet_host_workspace(host, 1));
	assert_int_equal(stet_host_move(host, roots, 2, &err), 0);
	assert_int_equal(ready, 1);
	char *notice = stet_host_notice(host);
	stet_free(notice);
	stet_client_release(mine);
	stet_client_release(named);
	stet_client_release(stateless);
	stet_host_drain(host, 0);
	stet_host_close(host);
}

static void a_host_can_give_all_clients_one_session(void **state) {
	const struct dir *dir = *state;
	const char *root = dir->path;
	struct stet_host *host = NULL;
	struct stet_client *client = NULL;
	struct stet_error err = {0};
	assert_int_equal(stet_host_open(&root, 1, &host, &err), 0);
	assert_int_equal(stet_host_session(host, "bad name", &err), STET_E_INVALID);
	assert_int_equal(stet_host_session(host, "worker", &err), 0);
	assert_int_equal(stet_host_client(host, NULL, NULL, &client, &err), 0);
	assert_string_equal(stet_client_name(client), "worker");
	stet_client_release(client);
	stet_host_close(host);
}

static void the_configuration_says_who_set_a_key(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "stet.json", "{\"requireRead\": true, \"stateDir\": \".x\"}");
	struct stet_workspace *ws = NULL;
	struct stet_config *config = NULL;
	struct stet_error err = {0};
	assert_int_equal(setenv("XDG_CONFIG_HOME", dir_at(dir, "none"), 1), 0);
	assert_int_equal(stet_workspace_open(dir->path, &ws, &err), 0);
	assert_int_equal(stet_config_load(ws, &config, &err), 0);
	assert_string_equal(stet_config_value(config, "requireRead"), "true");
	assert_non_null(strstr(stet_config_source(config, "requireRead"), "stet.json"));
	assert_string_equal(stet_config_value(config, "stateDir"), ".stet");
	assert_non_null(strstr(stet_config_notice(config, 0), "stateDir"));
	assert_null(stet_config_value(config, "noSuchKey"));
	assert_int_equal(stet_config_set(config, "onStale", "merge", "me", &err), 0);
	assert_string_equal(stet_config_source(config, "onStale"), "me");
	assert_int_equal(stet_config_set(config, "onStale", "perhaps", "me", &err), STET_E_INVALID);
	assert_int_equal(stet_config_apply(config, ws, &err), 0);
	size_t keys = 0;
	for (; stet_config_key(keys); keys++)
		assert_true(stet_config_description(keys) && stet_config_default(keys) &&
		            stet_config_rule(keys));
	assert_true(keys >= 15);
	stet_config_free(config);
	stet_workspace_close(ws);
}

static void a_program_can_be_an_mcp_server(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "one\n");
	const char *root = dir->path;
	struct stet_host *host = NULL;
	struct stet_error err = {0};
	assert_int_equal(stet_host_open(&root, 1, &host, &err), 0);
	int in[2], out[2];
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	static const char asked[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"read_file\","
		"\"arguments\":{\"path\":\"a.txt\"}}}\n";
	assert_int_equal(write(in[1], asked, sizeof asked - 1), (ssize_t)sizeof asked - 1);
	close(in[1]);
	assert_int_equal(stet_mcp_stdio(host, NULL, in[0], out[1], -1, &err), 0);
	close(out[1]);
	char answers[16384];
	size_t len = 0;
	for (ssize_t n; (n = read(out[0], answers + len, sizeof answers - 1 - len)) > 0;)
		len += (size_t)n;
	answers[len] = '\0';
	assert_non_null(strstr(answers, "one\\n"));
	close(in[0]);
	close(out[0]);
	stet_host_close(host);
}

static void *run_server(void *server) {
	return (void *)(intptr_t)stet_server_run(server);
}

static void ignore_notice(void *arg, const char *message) {
	(void)arg, (void)message;
}

/* The first line of the answer to a request without a token. */
static void ask(const char *url, char line[64]) {
	const char *port = strrchr(url, ':');
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10)),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	static const char request[] =
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	assert_int_equal(write(fd, request, sizeof request - 1), (ssize_t)sizeof request - 1);
	size_t len = 0;
	for (ssize_t n; len < 63 && (n = read(fd, line + len, 63 - len)) > 0;)
		len += (size_t)n;
	line[len] = '\0';
	close(fd);
}

static void a_program_can_serve_http(void **state) {
	const struct dir *dir = *state;
	const char *root = dir->path;
	struct stet_host *host = NULL;
	struct stet_server *server = NULL;
	struct stet_error err = {0};
	assert_int_equal(setenv("XDG_STATE_HOME", dir_at(dir, "state"), 1), 0);
	assert_int_equal(stet_host_open(&root, 1, &host, &err), 0);
	assert_int_equal(stet_server_new(host, "no-such-group", &server, &err), STET_E_INVALID);
	assert_int_equal(stet_server_new(host, NULL, &server, &err), 0);
	assert_int_equal(stet_server_set(server, STET_SERVER_MAX_SESSIONS, 10, &err), 0);
	assert_int_equal(stet_server_host(server, "example.test", &err), 0);
	assert_int_equal(stet_server_tokens(server, "short", 5, &err), STET_E_INVALID);
	assert_int_equal(stet_server_token_file(server, dir_at(dir, "none"), &err), STET_E_NOT_FOUND);
	assert_int_equal(stet_server_tls(server, dir_at(dir, "none"), dir_at(dir, "none"), &err),
	                 STET_E_NOT_FOUND);
	assert_int_equal(stet_server_access_log(server, dir_at(dir, "none/log"), &err),
	                 STET_E_NOT_FOUND);
	assert_int_equal(stet_server_access_log(server, dir_at(dir, "log"), &err), 0);
	stet_server_notices(server, ignore_notice, NULL);
	assert_null(stet_server_url(server));
	assert_int_equal(stet_server_listen(server, "127.0.0.1:0", &err), 0);
	assert_non_null(strstr(stet_server_own_token(server), "token"));

	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, run_server, server), 0);
	char line[64];
	ask(stet_server_url(server), line);
	assert_non_null(strstr(line, "HTTP/1.1 200"));
	stet_server_reload(server);
	stet_server_stop(server);
	void *ended = NULL;
	assert_int_equal(pthread_join(thread, &ended), 0);
	assert_int_equal((intptr_t)ended, 1);
	stet_server_free(server);
	stet_host_close(host);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tool_describes_itself),
		claim(a_tool_takes_json_and_answers_in_json),
		cmocka_unit_test(json_is_written_and_read_by_pointers),
		claim(a_host_serves_several_directories_to_several_clients),
		claim(a_host_can_give_all_clients_one_session),
		claim(the_configuration_says_who_set_a_key),
		claim(a_program_can_be_an_mcp_server),
		claim(a_program_can_serve_http),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
