#include "hub/pq.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/utf8.h"

enum {
	CONNECT_MS = 15'000,
	QUERY_MS = 30'000,
	MESSAGE_MAX = 300,
};

#define FUNCTIONS(X) \
	X(PQconnectStartParams) \
	X(PQconnectPoll) \
	X(PQstatus) \
	X(PQsocket) \
	X(PQerrorMessage) \
	X(PQfinish) \
	X(PQsetnonblocking) \
	X(PQsendQueryParams) \
	X(PQflush) \
	X(PQconsumeInput) \
	X(PQisBusy) \
	X(PQgetResult) \
	X(PQresultStatus) \
	X(PQresultErrorField) \
	X(PQresultErrorMessage) \
	X(PQntuples) \
	X(PQgetvalue) \
	X(PQgetisnull) \
	X(PQclear) \
	X(PQnotifies) \
	X(PQbackendPID) \
	X(PQfreemem) \
	X(PQsetNoticeProcessor)

#define FUNCTION_POINTER(name) static typeof(name) *call_##name;
FUNCTIONS(FUNCTION_POINTER)

static const char *missing;

static void load_libpq(void) {
	void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		missing = "libpq.so.5 cannot be loaded. Install libpq5 to use a hub";
		return;
	}
#define FIND_FUNCTION(name) \
	call_##name = (typeof(name) *)dlsym(library, #name); \
	if (!call_##name) \
		missing = "libpq.so.5 has no " #name "; it is too old";
	FUNCTIONS(FIND_FUNCTION)
}

static int load_once(struct stet_error *err) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load_libpq);
	return missing ? st_fail(err, STET_E_NOT_FOUND, "%s.", missing) : 0;
}

struct st_pq {
	PGconn *connection;
	int stop;
};

/* ---- waiting ---- */

/* Wait for the socket. Returns 0, STET_E_CANCELLED, or STET_E_IO when the time is over. */
static int wait_socket(const struct st_pq *pq, short events, int64_t until_ms,
                       struct stet_error *err) {
	struct pollfd fds[2] = {{call_PQsocket(pq->connection), events, 0}, {pq->stop, POLLIN, 0}};
	int64_t left = until_ms - st_now_ms();
	if (left <= 0 || fds[0].fd < 0)
		return st_fail(err, STET_E_IO, "The hub does not answer.");
	if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
		return st_fail_errno(err, errno, "Cannot wait for the hub");
	return fds[1].revents ? st_fail(err, STET_E_CANCELLED, "Cancelled.") : 0;
}

/* The first line of a message of the server or of libpq, which may be any text. */
static int fail_with(struct stet_error *err, int code, const char *message) {
	struct st_str text = st_strn(message, strcspn(message, "\n"));
	if (!st_utf8_valid(text))
		text = ST_STR("it gives a reason that is not UTF-8");
	size_t len = st_utf8_cut(text, MESSAGE_MAX);
	return st_fail(err, code, "The hub: %.*s.", (int)len, text.ptr);
}

/* ---- connecting ---- */

static int connect_now(struct st_pq *pq, struct stet_error *err) {
	int64_t until_ms = st_now_ms() + CONNECT_MS;
	PostgresPollingStatusType state = PGRES_POLLING_WRITING;
	while (state != PGRES_POLLING_OK) {
		if (state == PGRES_POLLING_FAILED)
			return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
		int code =
			wait_socket(pq, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_ms, err);
		if (code < 0)
			return code;
		state = call_PQconnectPoll(pq->connection);
	}
	return call_PQsetnonblocking(pq->connection, 1) < 0
	           ? fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection))
	           : 0;
}

/* libpq would print the server's notices on standard error. */
static void drop_notice(void *arg, const char *message) {
}

int st_pq_open(const char *conninfo, int stop, struct st_pq **out, struct stet_error *err) {
	/* The connection string comes after what it may override. */
	const char *const names[] = {"gssencmode", "fallback_application_name", "dbname",
	                             "client_encoding", NULL};
	const char *const values[] = {"disable", "stet", conninfo, "UTF8", NULL};
	int code = load_once(err);
	if (code < 0)
		return code;
	struct st_pq *pq = calloc(1, sizeof *pq);
	if (!pq)
		return st_fail_nomem(err);
	pq->stop = stop;
	pq->connection = call_PQconnectStartParams(names, values, 1);
	if (!pq->connection)
		code = st_fail_nomem(err);
	else if (call_PQstatus(pq->connection) == CONNECTION_BAD)
		code = fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
	else
		code = connect_now(pq, err);
	if (code < 0) {
		st_pq_close(pq);
		return code;
	}
	call_PQsetNoticeProcessor(pq->connection, drop_notice, NULL);
	*out = pq;
	return 0;
}

void st_pq_close(struct st_pq *pq) {
	if (!pq)
		return;
	if (pq->connection)
		call_PQfinish(pq->connection);
	free(pq);
}

/* ---- statements ---- */

static int code_of(const char *state) {
	static const struct {
		const char *prefix;
		int code;
	} codes[] = {
		{"40", STET_E_BUSY},      {"55P03", STET_E_BUSY},  {"42501", STET_E_ACCESS},
		{"25006", STET_E_ACCESS}, {"53200", STET_E_NOMEM}, {"53100", STET_E_NO_SPACE},
		{"57", STET_E_IO},        {"08", STET_E_IO},
	};
	for (size_t i = 0; state && i < sizeof codes / sizeof *codes; i++) {
		if (strncmp(state, codes[i].prefix, strlen(codes[i].prefix)) == 0)
			return codes[i].code;
	}
	return state ? STET_E_INVALID : STET_E_IO;
}

static int check_result(const PGresult *result, struct stet_error *err) {
	ExecStatusType status = call_PQresultStatus(result);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return 0;
	const char *state = call_PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = call_PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	return fail_with(err, code_of(state), message ? message : call_PQresultErrorMessage(result));
}

static int send_all(const struct st_pq *pq, int64_t until_ms, struct stet_error *err) {
	int left, code = 0;
	while (code == 0 && (left = call_PQflush(pq->connection)) != 0) {
		if (left < 0)
			return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
		code = wait_socket(pq, POLLIN | POLLOUT, until_ms, err);
		if (code == 0 && !call_PQconsumeInput(pq->connection))
			return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
	}
	return code;
}

/* Receive all results; keep the first one. */
static int receive_all(const struct st_pq *pq, int64_t until_ms, PGresult **out,
                       struct stet_error *err) {
	for (;;) {
		while (call_PQisBusy(pq->connection)) {
			int code = wait_socket(pq, POLLIN, until_ms, err);
			if (code < 0)
				return code;
			if (!call_PQconsumeInput(pq->connection))
				return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
		}
		PGresult *result = call_PQgetResult(pq->connection);
		if (!result)
			return 0;
		if (*out)
			call_PQclear(result);
		else
			*out = result;
	}
}

int st_pq_query(struct st_pq *pq, const char *sql, const char *const *params, int count,
                struct st_pq_rows *rows, struct stet_error *err) {
	int64_t until_ms = st_now_ms() + QUERY_MS;
	PGresult *result = NULL;
	if (rows)
		*rows = (struct st_pq_rows){0};
	if (!call_PQsendQueryParams(pq->connection, sql, count, NULL, params, NULL, NULL, 0))
		return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
	int code = send_all(pq, until_ms, err);
	if (code == 0)
		code = receive_all(pq, until_ms, &result, err);
	if (code == 0 && !result)
		code = fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
	if (code == 0)
		code = check_result(result, err);
	if (code == 0 && rows)
		*rows = (struct st_pq_rows){result, call_PQntuples(result)};
	else if (result)
		call_PQclear(result);
	return code;
}

void st_pq_rows_release(struct st_pq_rows *rows) {
	if (rows->result)
		call_PQclear(rows->result);
	*rows = (struct st_pq_rows){0};
}

const char *st_pq_text(const struct st_pq_rows *rows, int row, int column) {
	const char *text = call_PQgetvalue(rows->result, row, column);
	return text ? text : "";
}

bool st_pq_is_null(const struct st_pq_rows *rows, int row, int column) {
	return call_PQgetisnull(rows->result, row, column);
}

int64_t st_pq_number(const struct st_pq_rows *rows, int row, int column) {
	return strtoll(st_pq_text(rows, row, column), NULL, 10);
}

bool st_pq_bytes(const struct st_pq_rows *rows, int row, int column, struct st_buf *out) {
	const char *text = st_pq_text(rows, row, column);
	if (strncmp(text, "\\x", 2) != 0)
		return *text == '\0';
	for (text += 2; text[0] && text[1]; text += 2) {
		int high = st_hex_digit(text[0]), low = st_hex_digit(text[1]);
		if (high < 0 || low < 0)
			return false;
		st_buf_addc(out, (char)(high << 4 | low));
	}
	return *text == '\0';
}

/* ---- notifications ---- */

int st_pq_socket(const struct st_pq *pq) {
	return call_PQsocket(pq->connection);
}

int st_pq_drain(struct st_pq *pq, struct stet_error *err) {
	if (!call_PQconsumeInput(pq->connection))
		return fail_with(err, STET_E_IO, call_PQerrorMessage(pq->connection));
	int notified = 0;
	for (PGnotify *notify; (notify = call_PQnotifies(pq->connection));) {
		if (notify->be_pid != call_PQbackendPID(pq->connection))
			notified = 1;
		call_PQfreemem(notify);
	}
	return notified;
}
