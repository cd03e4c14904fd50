#include "lib/http.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { PATIENCE_MS = 60'000 };

bool client_open(struct client *client, const char *url) {
	*client = (struct client){.fd = -1};
	if (sscanf(url, "http://%63[^:/]:%d", client->host, &client->port) != 2)
		return false;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)client->port)};
	inet_pton(AF_INET, client->host, &address.sin_addr);
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return client->fd >= 0 && connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0;
}

void client_close(struct client *client) {
	st_close_at(&client->fd);
	st_buf_release(&client->input);
	st_buf_release(&client->head);
}

bool client_send(struct client *client, struct st_str bytes) {
	while (bytes.len > 0) {
		ssize_t sent = send(client->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		bytes = st_str_slice(bytes, (size_t)sent, bytes.len);
	}
	return true;
}

bool client_request(struct client *client, const char *method, const char *path,
                    const char *headers, const char *body) {
	st_auto(st_buf) request = ST_BUF_INIT;
	st_buf_addf(&request, "%s %s HTTP/1.1\r\n", method, path);
	if (!strstr(headers, "Host: "))
		st_buf_addf(&request, "Host: %s:%d\r\n", client->host, client->port);
	if (client->token)
		st_buf_addf(&request, "Authorization: Bearer %s\r\n", client->token);
	st_buf_adds(&request, headers);
	if (body)
		st_buf_addf(&request, "Content-Length: %zu\r\n", strlen(body));
	st_buf_adds(&request, "\r\n");
	st_buf_adds(&request, body ? body : "");
	return client_send(client, st_buf_str(&request));
}

/* More input. False at the end, or when nothing comes in time. */
static bool receive(struct client *client, int timeout_ms) {
	char bytes[16384];
	struct pollfd ready = {.fd = client->fd, .events = POLLIN};
	if (poll(&ready, 1, timeout_ms) <= 0)
		return false;
	ssize_t count = recv(client->fd, bytes, sizeof bytes, 0);
	if (count <= 0)
		return false;
	st_buf_add(&client->input, st_strn(bytes, (size_t)count));
	return true;
}

static void use(struct client *client, size_t len) {
	memmove(client->input.ptr, client->input.ptr + len, client->input.len - len + 1);
	client->input.len -= len;
}

/* Replace out by the input up to and including a mark. */
static bool receive_until(struct client *client, const char *mark, int timeout_ms,
                          struct st_buf *out) {
	const char *at;
	while (!client->input.ptr ||
	       !(at = memmem(client->input.ptr, client->input.len, mark, strlen(mark)))) {
		if (!receive(client, timeout_ms))
			return false;
	}
	size_t len = (size_t)(at - client->input.ptr) + strlen(mark);
	st_buf_clear(out);
	st_buf_add(out, st_strn(client->input.ptr, len));
	use(client, len);
	return true;
}

static bool receive_bytes(struct client *client, size_t len, struct st_buf *out) {
	while (client->input.len < len) {
		if (!receive(client, PATIENCE_MS))
			return false;
	}
	st_buf_add(out, st_strn(st_buf_cstr(&client->input), len));
	if (len > 0)
		use(client, len);
	return true;
}

int client_head(struct client *client) {
	int status;
	if (!receive_until(client, "\r\n\r\n", PATIENCE_MS, &client->head) ||
	    sscanf(client->head.ptr, "HTTP/1.1 %d", &status) != 1)
		return -1;
	return status;
}

const char *client_header(struct client *client, const char *name) {
	static _Thread_local char value[256];
	const char *line = st_buf_cstr(&client->head);
	size_t len = strlen(name);
	while ((line = strstr(line, "\r\n"))) {
		line += 2;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
			snprintf(value, sizeof value, "%.*s", (int)strcspn(line + len + 2, "\r"),
			         line + len + 2);
			return value;
		}
	}
	return NULL;
}

static bool is_chunked(struct client *client) {
	const char *coding = client_header(client, "Transfer-Encoding");
	return coding && strcasecmp(coding, "chunked") == 0;
}

/* One chunk: 1, 0 for the last one, -1 if it breaks off. */
static int receive_chunk(struct client *client, int timeout_ms, struct st_buf *out) {
	st_auto(st_buf) line = ST_BUF_INIT;
	if (!receive_until(client, "\r\n", timeout_ms, &line))
		return -1;
	size_t len = strtoul(line.ptr, NULL, 16);
	if (!receive_bytes(client, len, out) || !receive_until(client, "\r\n", PATIENCE_MS, &line))
		return -1;
	return len > 0;
}

bool client_body(struct client *client, struct st_buf *body) {
	st_buf_clear(body);
	if (is_chunked(client)) {
		int more;
		while ((more = receive_chunk(client, PATIENCE_MS, body)) > 0)
			;
		return more == 0;
	}
	const char *length = client_header(client, "Content-Length");
	return receive_bytes(client, length ? strtoul(length, NULL, 10) : 0, body);
}

/* The server sends one event per chunk. */
bool client_event(struct client *client, int timeout_ms, struct st_buf *data) {
	static const char mark[] = "data: ";
	st_auto(st_buf) chunk = ST_BUF_INIT;
	int64_t until = st_now_ms() + timeout_ms;
	do {
		int64_t left = until - st_now_ms();
		st_buf_clear(&chunk);
		if (receive_chunk(client, left > 0 ? (int)left : 0, &chunk) <= 0)
			return false;
	} while (chunk.ptr[0] == ':');
	const char *at = strstr(chunk.ptr, mark);
	st_buf_clear(data);
	if (at)
		st_buf_add(data, st_str_trim(st_str(at + sizeof mark - 1)));
	return at != NULL;
}

int client_post(struct client *client, const char *headers, const char *message,
                struct st_buf *answer) {
	st_auto(st_buf) all = ST_BUF_INIT;
	st_buf_adds(&all,
	            "Content-Type: application/json\r\n"
	            "Accept: application/json, text/event-stream\r\n");
	st_buf_adds(&all, headers);
	if (!client_request(client, "POST", "/mcp", st_buf_cstr(&all), message))
		return -1;
	int status = client_head(client);
	const char *type = status > 0 ? client_header(client, "Content-Type") : NULL;
	if (status < 0 || !type || strcmp(type, "text/event-stream") != 0)
		return status < 0 || !client_body(client, answer) ? -1 : status;
	while (client_event(client, PATIENCE_MS, answer))
		;
	return status;
}

bool client_is_dropped(struct client *client, int timeout_ms) {
	char bytes[256];
	struct pollfd ready = {.fd = client->fd, .events = POLLIN};
	while (poll(&ready, 1, timeout_ms) > 0) {
		if (recv(client->fd, bytes, sizeof bytes, 0) <= 0)
			return true;
	}
	return false;
}
