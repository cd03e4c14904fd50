#include "hub/tasks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "hub/joined.h"

static void print_number(char text[24], int64_t number) {
	snprintf(text, 24, "%" PRId64, number);
}

/* ---- receiving ---- */

/* The columns of a task; seq is for st_hub_receive_tasks(). */
enum {
	ID,
	NUMBER,
	STATUS,
	PRIORITY,
	FENCE,
	REV,
	SEQ,
	DESCRIPTION,
	OWNER,
	REMOVED,
	PLACE,
	LEFT,
	PATH,
	BRANCH,
};

/* With limits, so that no row of a strange hub is large. */
#define SELECT_TASKS_FROM(source) \
	"SELECT encode(uuid_send(t.id), 'hex'), t.number, t.status, t.priority, t.fence, t.rev, " \
	"t.seq," \
	" t.description, coalesce(t.owner, ''), t.removed::int, coalesce(t.place, 0)," \
	" CASE WHEN isfinite(t.expires) THEN (least(greatest(extract(epoch FROM t.expires -" \
	" clock_timestamp())::float8, -1e9), 1e9) * 1000000)::bigint END," \
	" CASE WHEN octet_length(p.path) <= 4096 THEN p.path END, left(p.branch, 200)" \
	" FROM " source \
	" AS t LEFT JOIN stet.place AS p ON p.id = t.place" \
	" WHERE octet_length(t.description) <= 4096 AND length(coalesce(t.owner, '')) <= 200"

static int give_task(const struct st_hub *hub, const struct st_pq_rows *rows, int row,
                     st_hub_task_fn *each, void *data, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	bool sound = st_pq_bytes(rows, row, PATH, &path);
	const struct st_hub_task task = {
		.id = st_str(st_pq_text(rows, row, ID)),
		.number = st_pq_number(rows, row, NUMBER),
		.status = st_pq_number(rows, row, STATUS),
		.priority = st_pq_number(rows, row, PRIORITY),
		.fence = st_pq_number(rows, row, FENCE),
		.rev = st_pq_number(rows, row, REV),
		.description = st_str(st_pq_text(rows, row, DESCRIPTION)),
		.owner = st_str(st_pq_text(rows, row, OWNER)),
		.removed = st_pq_number(rows, row, REMOVED) != 0,
		.own = st_str_eq(st_str(st_pq_text(rows, row, PLACE)), st_str(hub->place)),
		.path = st_buf_str(&path),
		.branch = st_str(st_pq_text(rows, row, BRANCH)),
		.expires = !st_pq_is_null(rows, row, LEFT),
		.left_ns = st_pq_number(rows, row, LEFT) * 1000,
	};
	return path.failed ? st_fail_nomem(err) : sound ? each(data, &task, err) : 0;
}

/* Run a query for tasks, and call a function for each. Returns how many, or a code. */
static int ask_tasks(struct st_hub *hub, const char *sql, const char *const *params, int count,
                     int64_t *last_seq, st_hub_task_fn *each, void *data, struct stet_error *err) {
	struct st_pq_rows rows;
	int code = st_pq_query(hub->pq, sql, params, count, &rows, err);
	if (code < 0)
		return code;
	int row = 0;
	for (; row < rows.count && code >= 0; row++)
		code = give_task(hub, &rows, row, each, data, err);
	if (last_seq && row > 0)
		*last_seq = st_pq_number(&rows, row - 1, SEQ);
	st_pq_rows_release(&rows);
	return code < 0 ? code : row;
}

int st_hub_receive_tasks(struct st_hub *hub, int64_t *since, int64_t past_ns, st_hub_task_fn *each,
                         void *data, struct stet_error *err) {
	static const char sql[] =
		SELECT_TASKS_FROM("stet.task") " AND t.repo = $1 AND t.seq > $2 AND (t.status <> 2 AND NOT "
									   "t.removed OR t.updated > clock_timestamp() - $3::bigint *"
									   " interval '1 microsecond') ORDER BY t.seq LIMIT 100";
	static const char asks_last[] =
		"SELECT coalesce(max(seq), 0) FROM stet.task_counter WHERE repo = $1";
	char text[24], past[24];
	struct st_pq_rows rows;
	const char *const params[] = {hub->repo, text, past};
	int code = st_pq_query(hub->pq, asks_last, params, 1, &rows, err);
	if (code < 0)
		return code;
	int64_t last = rows.count > 0 ? st_pq_number(&rows, 0, 0) : 0;
	st_pq_rows_release(&rows);
	/* The hub has forgotten what was received: begin again. */
	if (last < *since)
		*since = 0;
	print_number(text, *since);
	print_number(past, past_ns / 1000);
	return last == *since ? 0 : ask_tasks(hub, sql, params, 3, since, each, data, err);
}

/* ---- sending ---- */

static yyjson_mut_val *change_json(yyjson_mut_doc *doc, const void *changes, size_t i) {
	const struct st_hub_task_change *change = (const struct st_hub_task_change *)changes + i;
	yyjson_mut_val *object = yyjson_mut_obj(doc);
	st_json_add_text(doc, object, "id", change->id);
	st_json_add_text(doc, object, "description", change->description);
	st_json_add_text(doc, object, "owner", change->owner);
	st_json_add(doc, object, "number", yyjson_mut_sint(doc, change->number));
	st_json_add(doc, object, "status", yyjson_mut_sint(doc, change->status));
	st_json_add(doc, object, "priority", yyjson_mut_sint(doc, change->priority));
	st_json_add(doc, object, "removed", yyjson_mut_bool(doc, change->removed));
	st_json_add(doc, object, "fence", yyjson_mut_sint(doc, change->fence));
	st_json_add(doc, object, "rev", yyjson_mut_sint(doc, change->rev));
	st_json_add_text(doc, object, "sets", st_str(change->sets));
	return object;
}

int st_hub_put_tasks(struct st_hub *hub, const struct st_hub_task_change *changes, size_t count,
                     int64_t claim_ms, st_hub_task_fn *each, void *data, struct stet_error *err) {
	static const char sql[] = SELECT_TASKS_FROM("stet.put_tasks($1, $2, $3::jsonb, $4)");
	st_auto(st_buf) json = ST_BUF_INIT;
	char ms[24];
	if (count == 0)
		return 0;
	print_number(ms, claim_ms);
	int code = st_hub_write_list(change_json, changes, count, &json, err);
	const char *const params[] = {hub->repo, hub->place, st_buf_cstr(&json), ms};
	if (code == 0)
		code = ask_tasks(hub, sql, params, 4, NULL, each, data, err);
	return code < 0 ? code : 0;
}

int st_hub_claim_task(struct st_hub *hub, const char *owner, const char *id, int64_t claim_ms,
                      st_hub_task_fn *each, void *data, struct stet_error *err) {
	static const char sql[] =
		SELECT_TASKS_FROM("stet.claim_task($1, $2, $3, nullif($4, '')::uuid, $5)");
	char ms[24];
	print_number(ms, claim_ms);
	const char *const params[] = {hub->repo, hub->place, owner, id, ms};
	return ask_tasks(hub, sql, params, 5, NULL, each, data, err);
}

int st_hub_renew_tasks(struct st_hub *hub, int64_t claim_ms, struct stet_error *err) {
	char ms[24];
	print_number(ms, claim_ms);
	const char *const params[] = {hub->repo, hub->place, ms};
	return st_pq_query(hub->pq, "SELECT stet.renew_tasks($1, $2, $3)", params, 3, NULL, err);
}

int st_hub_take_number(struct st_hub *hub, int64_t *number, struct stet_error *err) {
	const char *const params[] = {hub->repo};
	struct st_pq_rows rows;
	int code = st_pq_query(hub->pq, "SELECT stet.take_task_number($1)", params, 1, &rows, err);
	if (code < 0)
		return code;
	*number = rows.count > 0 ? st_pq_number(&rows, 0, 0) : 0;
	if (*number < 0 || *number > ST_TASK_NUMBER_MAX)
		*number = 0;
	st_pq_rows_release(&rows);
	return 0;
}
