/*
 * Connections of strangers, idle, slow and half: they take neither the memory
 * of the server nor anybody's place, and no time of a processor.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/agent.h"
#include "lib/gen.h"
#include "torture/fight.h"

enum {
	STRANGERS = 1000,
	STRANGERS_IN_FULL = 10'000,
	/* Connections under way at once, so that the listening queue holds them. */
	AT_ONCE = 200,
	MEMORY_MAX = 64 << 20,
	ANSWER_MS = 1000,
	NAP_MS = 10,
};

#ifdef __SANITIZE_ADDRESS__
static const bool memory_tells = false;
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool memory_tells = false;
#else
static const bool memory_tells = true;
#endif
#else
static const bool memory_tells = true;
#endif

/* ---- strangers ---- */

/* What a stranger sends at first; after that it sends nothing, or a byte now and then. */
static const char *const sayings[] = {
	"",
	"P",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n{",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1000000\r\n{",
	"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
};
enum { SAYINGS = sizeof sayings / sizeof *sayings };

static int connect_stranger(const char *url) {
	char host[64];
	int port, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sscanf(url, "http://%63[^:/]:%d", host, &port) != 2)
		return -1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	inet_pton(AF_INET, host, &address.sin_addr);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		st_close_at(&fd);
	return fd;
}

/* The part that the kernel takes at once. */
static void push(int fd, const char *bytes, size_t len) {
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent <= 0)
			return;
		bytes += sent;
		len -= (size_t)sent;
	}
}

/* Some fill what may be kept of a head before anybody is known, some go on with a body. */
static void speak(int fd, size_t number) {
	static const char filler[1 << 20] = {[0 ... sizeof filler - 1] = 'x'};
	const char *saying = sayings[number % SAYINGS];
	push(fd, saying, strlen(saying));
	if (number % SAYINGS == 3)
		push(fd, filler, 12 << 10);
	else if (strchr(saying, '{'))
		push(fd, filler, sizeof filler);
}

/* ---- how late this program itself is woken: what the machine is short of is not the server's ---- */

struct watch {
	pthread_t thread;
	atomic_bool stop;
	atomic_llong late_ms;
};

static void *watch_clock(void *arg) {
	struct watch *watch = arg;
	while (!watch->stop) {
		int64_t before = st_now_ms();
		st_sleep_ms(NAP_MS);
		int64_t late = st_now_ms() - before - NAP_MS;
		if (late > 0)
			watch->late_ms += late;
	}
	return NULL;
}

/* ---- a client with a token ---- */

struct client_life {
	pthread_t thread;
	const char *url;
	struct watch *watch;
	atomic_bool stop;
	unsigned calls, broken, late;
	int64_t worst_ms;
};

/* A call on a connection that stays, and one on a new connection. */
static bool call(struct agent *agent, const char *url) {
	struct agent fresh;
	bool answered = agent_call(agent, "read_file", "{\"path\":\"a.txt\"}") == 0 &&
	                agent_open(&fresh, url, AGENT_MODERN);
	if (answered) {
		answered = agent_call(&fresh, "read_file", "{\"path\":\"a.txt\"}") == 0;
		agent_close(&fresh);
	}
	return answered;
}

static void *live(void *arg) {
	struct client_life *life = arg;
	struct agent agent;
	if (!agent_open(&agent, life->url, AGENT_LEGACY)) {
		life->broken++;
		return NULL;
	}
	while (!life->stop && life->broken == 0) {
		int64_t before = st_now_ms();
		life->watch->late_ms = 0;
		life->broken += !call(&agent, life->url);
		int64_t took = st_now_ms() - before;
		life->calls++;
		/* Two calls, and whatever time the machine did not give to this program. */
		life->late += took > 2 * ANSWER_MS + life->watch->late_ms;
		if (took > life->worst_ms)
			life->worst_ms = took;
		st_sleep_ms(1);
	}
	agent_close(&agent);
	return NULL;
}

static void raise_descriptors(void) {
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < gen_rounds(STRANGERS, STRANGERS_IN_FULL) + 100)
		skip();
}

static void strangers_take_neither_memory_nor_places(void **state) {
	const struct dir *dir = *state;
	size_t count = gen_rounds(STRANGERS, STRANGERS_IN_FULL);
	struct served served;
	struct watch watch = {0};
	int *fds = calloc(count, sizeof *fds);
	size_t worst = 0;
	assert_non_null(fds);
	raise_descriptors();
	dir_write(dir, "a.txt", "hello\n");
	/* Fewer places than there are strangers, at any count. */
	assert_true(served_start(&served, dir->path, (const char *[]){"--max-clients", "500", NULL}));
	struct client_life life = {.url = served.url, .watch = &watch};
	struct agent agent;
	assert_true(agent_open(&agent, served.url, AGENT_LEGACY));
	assert_int_equal(agent_call(&agent, "read_file", "{\"path\":\"a.txt\"}"), 0);
	size_t idle = served_memory(&served);
	assert_int_equal(pthread_create(&watch.thread, NULL, watch_clock, &watch), 0);
	assert_int_equal(pthread_create(&life.thread, NULL, live, &life), 0);
	for (size_t i = 0; i < count; i++) {
		fds[i] = connect_stranger(served.url);
		assert_true(fds[i] >= 0);
		speak(fds[i], i);
		size_t memory = served_memory(&served);
		worst = memory > worst ? memory : worst;
		/* The slow ones say a byte more. */
		if (i >= AT_ONCE)
			(void)send(fds[i - AT_ONCE], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	/* All strangers are connected; the client goes on working among them. */
	for (unsigned calls = life.calls; life.calls < calls + 20 && life.broken == 0;)
		st_sleep_ms(5);
	life.stop = true;
	pthread_join(life.thread, NULL);
	watch.stop = true;
	pthread_join(watch.thread, NULL);
	size_t memory = served_memory(&served);
	worst = memory > worst ? memory : worst;
	printf(
		"# %zu strangers: %u pairs of calls, the slowest %lld ms; %zu KiB idle, %zu KiB at most\n",
		count, life.calls, (long long)life.worst_ms, idle >> 10, worst >> 10);
	assert_int_equal(life.broken, 0);
	assert_int_equal(life.late, 0);
	assert_true(!memory_tells || worst <= idle + MEMORY_MAX);
	/* A client that connected before all of them is still connected. */
	assert_int_equal(agent_call(&agent, "read_file", "{\"path\":\"a.txt\"}"), 0);
	agent_close(&agent);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
	assert_true(served_stop(&served));
}

/* ---- without descriptors ---- */

static long processor_ms(pid_t pid) {
	char path[64];
	unsigned long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(
		fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system),
		2);
	fclose(file);
	return (long)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

/*
 * More clients at work than there are places: the rest waits, and waiting
 * costs nothing. Time of the processor is what is measured, not of the clock.
 */
static void who_waits_costs_no_processor(void **state) {
	enum { CLIENTS = 60, WATCHED_MS = 2000, COST_MAX_MS = 100 };
	const struct dir *dir = *state;
	struct served served;
	struct client clients[CLIENTS];
	static const char body[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
		"\"notifications\":{\"toolsListChanged\":true},\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
	assert_true(served_start_with(&served, dir->path, NULL, 64));
	for (int i = 0; i < CLIENTS; i++) {
		assert_true(client_open(&clients[i], served.url));
		clients[i].token = SERVED_TOKEN;
		assert_true(client_request(&clients[i], "POST", "/mcp",
		                           "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
		                           "MCP-Protocol-Version: 2026-07-28\r\n"
		                           "Mcp-Method: subscriptions/listen\r\n",
		                           body));
		if (i < 20)
			assert_int_equal(client_head(&clients[i]), 200);
	}
	long cost = processor_ms(served.pid);
	st_sleep_ms(WATCHED_MS);
	cost = processor_ms(served.pid) - cost;
	printf("# %d clients with 64 descriptors: %ld ms of the processor in %d ms\n", CLIENTS, cost,
	       WATCHED_MS);
	assert_true(cost < COST_MAX_MS);
	for (int i = 0; i < CLIENTS; i++)
		client_close(&clients[i]);
	assert_true(served_stop(&served));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(strangers_take_neither_memory_nor_places),
		claim(who_waits_costs_no_processor),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
