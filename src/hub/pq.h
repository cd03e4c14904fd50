/**
 * A connection to PostgreSQL through libpq, which is loaded when the first
 * connection is made: programs without a hub never load it.
 *
 *     struct st_pq *pq = NULL;
 *     struct st_pq_rows rows;
 *     if (st_pq_open("postgresql://db.example/agents", stop, &pq, err) < 0 ||
 *         st_pq_query(pq, "SELECT $1::int + 1", (const char *[]){"41"}, 1, &rows, err) < 0)
 *             return err->code;
 *     puts(st_pq_text(&rows, 0, 0));
 *     st_pq_rows_release(&rows);
 *
 * Every call has a time limit and ends at once when the descriptor `stop` becomes
 * readable. A connection is for one thread at a time.
 */
#ifndef STET_HUB_PQ_H
#define STET_HUB_PQ_H

#include "base/buf.h"
#include "base/error.h"

struct st_pq;

/** A result. Texts are valid until it is released. */
struct st_pq_rows {
	void *result;
	int count;
};

/**
 * Connect.
 *
 * @conninfo  Any connection string of libpq.
 * @stop      Readable when the caller wants to end.
 * @return    0, STET_E_NOT_FOUND (no libpq on this system), STET_E_IO (with the
 *            server's or libpq's reason), STET_E_CANCELLED, STET_E_NOMEM.
 */
[[nodiscard]] int st_pq_open(const char *conninfo, int stop, struct st_pq **out,
                             struct stet_error *err);

/** Close the connection; NULL is fine. */
void st_pq_close(struct st_pq *pq);

/**
 * Run one statement.
 *
 * @params  Texts; NULL for SQL's NULL.
 * @rows    Receives the result; NULL to drop it.
 * @return  0, STET_E_BUSY (a deadlock or a conflict of transactions: try again),
 *          STET_E_ACCESS (permission denied, or the server is read-only),
 *          STET_E_INVALID (the server refuses the statement), STET_E_IO (the
 *          connection is lost), STET_E_CANCELLED, STET_E_NOMEM.
 */
[[nodiscard]] int st_pq_query(struct st_pq *pq, const char *sql, const char *const *params,
                              int count, struct st_pq_rows *rows, struct stet_error *err);

void st_pq_rows_release(struct st_pq_rows *rows);

/** A value as text; "" for NULL. */
const char *st_pq_text(const struct st_pq_rows *rows, int row, int column);
bool st_pq_is_null(const struct st_pq_rows *rows, int row, int column);

/** A value as a number; 0 if it is none. */
int64_t st_pq_number(const struct st_pq_rows *rows, int row, int column);

/** Append the bytes of a value of type bytea, as text. False if it is malformed. */
bool st_pq_bytes(const struct st_pq_rows *rows, int row, int column, struct st_buf *out);

/** The connection's socket, to be watched for notifications. */
int st_pq_socket(const struct st_pq *pq);

/**
 * Drop the notifications that have arrived. Call it before waiting for the socket, too:
 * some arrive with the result of a query, and the socket is not readable then.
 *
 * @return 1 if another connection has sent one, 0, or STET_E_IO (the connection is lost).
 */
[[nodiscard]] int st_pq_drain(struct st_pq *pq, struct stet_error *err);

#endif
