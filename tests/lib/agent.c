#include "lib/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 32, START_MS = 20'000 };

static void exec_server(const char *dir, const char *const *args, size_t descriptors, int out) {
	const char *argv[ARGS_MAX] = {getenv("STET"), "serve", dir, "--structured"};
	size_t count = 4;
	for (size_t i = 0; args && args[i] && count < ARGS_MAX - 1; i++)
		argv[count++] = args[i];
	if (descriptors > 0)
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){descriptors, descriptors});
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("STET_TOKEN", SERVED_TOKEN, 1);
	dup2(out, STDOUT_FILENO);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* The first line that it prints. */
static bool read_url(struct served *served) {
	size_t len = 0;
	struct pollfd ready = {.fd = served->out, .events = POLLIN};
	while (len < sizeof served->url - 1 && poll(&ready, 1, START_MS) > 0) {
		if (read(served->out, served->url + len, 1) != 1)
			return false;
		if (served->url[len] == '\n') {
			served->url[len] = '\0';
			return true;
		}
		len++;
	}
	return false;
}

bool served_start_with(struct served *served, const char *dir, const char *const *args,
                       size_t descriptors) {
	int out[2];
	*served = (struct served){.out = -1};
	if (!getenv("STET") || pipe2(out, O_CLOEXEC) < 0)
		return false;
	served->pid = fork();
	if (served->pid == 0)
		exec_server(dir, args, descriptors, out[1]);
	close(out[1]);
	served->out = out[0];
	return served->pid > 0 && read_url(served);
}

bool served_start(struct served *served, const char *dir, const char *const *args) {
	return served_start_with(served, dir, args, 0);
}

bool served_stop(struct served *served) {
	int status = -1;
	kill(served->pid, SIGTERM);
	bool ended = waitpid(served->pid, &status, 0) == served->pid;
	st_close_at(&served->out);
	return ended && status == 0;
}

size_t served_memory(const struct served *served) {
	char path[64];
	unsigned long total = 0, resident = 0;
	snprintf(path, sizeof path, "/proc/%d/statm", (int)served->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static bool initialize(struct agent *agent) {
	st_auto(st_buf) answer = ST_BUF_INIT;
	if (client_post(&agent->client, "",
	                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	                "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}",
	                &answer) != 200)
		return false;
	const char *id = client_header(&agent->client, "Mcp-Session-Id");
	if (!id)
		return false;
	snprintf(agent->header, sizeof agent->header, "Mcp-Session-Id: %s\r\n", id);
	return client_post(&agent->client, agent->header,
	                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
	                   &answer) == 202;
}

bool agent_open(struct agent *agent, const char *url, enum agent_era era) {
	*agent = (struct agent){.era = era, .client.fd = -1};
	if (!client_open(&agent->client, url))
		return false;
	agent->client.token = SERVED_TOKEN;
	return era == AGENT_MODERN || initialize(agent);
}

void agent_close(struct agent *agent) {
	yyjson_doc_free(agent->doc);
	client_close(&agent->client);
	*agent = (struct agent){.client.fd = -1};
}

static int post_call(struct agent *agent, const char *tool, const char *args,
                     struct st_buf *answer) {
	st_auto(st_buf) message = ST_BUF_INIT;
	char headers[256];
	bool modern = agent->era == AGENT_MODERN;
	st_buf_addf(&message,
	            "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
	            "\"name\":\"%s\",\"arguments\":%s%s}}",
	            ++agent->id, tool, args,
	            modern ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	                     "\"io.modelcontextprotocol/clientCapabilities\":{}}"
	                   : "");
	snprintf(headers, sizeof headers,
	         modern
	             ? "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n"
	             : "%s",
	         modern ? tool : agent->header);
	return message.failed ? -1
	                      : client_post(&agent->client, headers, st_buf_cstr(&message), answer);
}

static int code_of(const char *name) {
	for (int code = -1; code > -32; code--) {
		if (strcmp(stet_error_name(code), name) == 0)
			return code;
	}
	return AGENT_BROKEN;
}

int agent_call(struct agent *agent, const char *tool, const char *args) {
	st_auto(st_buf) answer = ST_BUF_INIT;
	yyjson_doc_free(agent->doc);
	agent->doc = NULL;
	agent->structured = NULL;
	if (post_call(agent, tool, args, &answer) != 200)
		return AGENT_BROKEN;
	agent->doc = yyjson_read(st_buf_cstr(&answer), answer.len, 0);
	yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(agent->doc), "result");
	agent->structured = yyjson_obj_get(result, "structuredContent");
	if (!result)
		return AGENT_BROKEN;
	return yyjson_get_bool(yyjson_obj_get(result, "isError")) ? code_of(agent_text(agent, "error"))
	                                                          : 0;
}

const char *agent_text(const struct agent *agent, const char *name) {
	const char *text = yyjson_get_str(yyjson_obj_get(agent->structured, name));
	return text ? text : "";
}

struct st_str agent_content(const struct agent *agent) {
	yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(agent->doc), "result");
	return st_json_str(
		yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(result, "content")), "text"));
}
