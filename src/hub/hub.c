#include "hub/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/hex.h"
#include "base/json.h"
#include "hub/joined.h"
#include "hub/schema.h"

static void add_hex(struct st_buf *out, struct st_str bytes) {
	st_buf_adds(out, "\\x");
	st_hex_add(out, bytes);
}

/* Run a query whose first value is a number. */
static int ask_number(struct st_pq *pq, const char *sql, const char *const *params, int count,
                      int64_t *number, struct stet_error *err) {
	struct st_pq_rows rows;
	int code = st_pq_query(pq, sql, params, count, &rows, err);
	if (code < 0)
		return code;
	*number = rows.count > 0 ? st_pq_number(&rows, 0, 0) : 0;
	st_pq_rows_release(&rows);
	return 0;
}

/* ---- connection strings ---- */

/* Whether a URI has a password: "scheme://user:password@host". */
static bool uri_has_password(const char *conninfo) {
	const char *authority = strstr(conninfo, "://");
	if (!authority)
		return false;
	authority += 3;
	size_t len = strcspn(authority, "/?");
	const char *at = memchr(authority, '@', len);
	return at && memchr(authority, ':', (size_t)(at - authority));
}

/* Whether a parameter of libpq's other form, or of a URI's query, is named so. */
static bool has_password(const char *conninfo) {
	static const char name[] = "password";
	if (uri_has_password(conninfo))
		return true;
	for (const char *at = conninfo; (at = strcasestr(at, name)); at++) {
		bool begins = at == conninfo || strchr(" \t\n?&l", at[-1]);
		const char *after = at + sizeof name - 1;
		after += strspn(after, " \t\n");
		if (begins && *after == '=')
			return true;
	}
	return false;
}

int st_hub_check(const char *conninfo, struct stet_error *err) {
	if (!has_password(conninfo))
		return 0;
	return st_fail(
		err, STET_E_INVALID,
		"hub is not allowed to contain a password: put it into ~/.pgpass, a service file "
		"or PGPASSWORD, and leave it out here.");
}

/* ---- joining ---- */

/* The text of an age for SQL, in microseconds. */
static void print_age(char text[24], int64_t age_ns) {
	snprintf(text, 24, "%" PRId64, age_ns > 0 ? age_ns / 1000 : 0);
}

static int join_repository(struct st_hub *hub, const char *key, struct stet_error *err) {
	static const char sql[] =
		"WITH made AS (INSERT INTO stet.repo (key) VALUES ($1) ON CONFLICT (key) DO NOTHING"
		" RETURNING id) SELECT id FROM made UNION ALL SELECT id FROM stet.repo WHERE key = $1 "
		"LIMIT 1";
	int64_t id = 0;
	int code = ask_number(hub->pq, sql, &key, 1, &id, err);
	/* Another client made it at the same moment: now it is visible. */
	if (code == 0 && id == 0)
		code = ask_number(hub->pq, "SELECT id FROM stet.repo WHERE key = $1", &key, 1, &id, err);
	snprintf(hub->repo, sizeof hub->repo, "%" PRId64, id);
	return code;
}

static int join_place(struct st_hub *hub, const struct st_hub_place *own, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO stet.place (repo, machine, path, branch, head, seen)"
		" VALUES ($1, $2, $3::bytea, $4, $5, clock_timestamp() - $6::bigint * interval '1 "
		"microsecond')"
		" ON CONFLICT (repo, machine, path) DO UPDATE SET branch = excluded.branch,"
		" head = excluded.head, seen = greatest(stet.place.seen, excluded.seen) RETURNING id";
	st_auto(st_buf) path = ST_BUF_INIT, branch = ST_BUF_INIT, head = ST_BUF_INIT;
	char age[24];
	int64_t id = 0;
	add_hex(&path, own->path);
	st_buf_add(&branch, own->branch);
	st_buf_add(&head, own->head);
	print_age(age, own->age_ns);
	if (path.failed || branch.failed || head.failed)
		return st_fail_nomem(err);
	const char *const params[] = {
		hub->repo, hub->machine, st_buf_cstr(&path), st_buf_cstr(&branch), st_buf_cstr(&head), age};
	int code = ask_number(hub->pq, sql, params, 6, &id, err);
	snprintf(hub->place, sizeof hub->place, "%" PRId64, id);
	return code;
}

/* Commits must be on the disk when they are acknowledged, whatever the server's default is. */
static int set_up(struct st_hub *hub, struct stet_error *err) {
	static const char *const settings[] = {
		"SET synchronous_commit = on", "SET default_transaction_isolation = 'read committed'",
		"SET bytea_output = 'hex'",    "SET search_path = pg_catalog",
		"SET lock_timeout = '10s'",
	};
	int code = 0;
	for (size_t i = 0; code == 0 && i < sizeof settings / sizeof *settings; i++)
		code = st_pq_query(hub->pq, settings[i], NULL, 0, NULL, err);
	return code;
}

static int join(struct st_hub *hub, const char *key, const struct st_hub_place *own,
                struct stet_error *err) {
	char listen[48];
	int code = set_up(hub, err);
	if (code == 0)
		code = st_hub_migrate(hub->pq, err);
	if (code == 0)
		code = join_repository(hub, key, err);
	if (code == 0)
		code = join_place(hub, own, err);
	snprintf(listen, sizeof listen, "LISTEN stet_%s", hub->repo);
	return code == 0 ? st_pq_query(hub->pq, listen, NULL, 0, NULL, err) : code;
}

int st_hub_open(const char *conninfo, int stop, const char *key, const struct st_hub_place *own,
                struct st_hub **out, struct stet_error *err) {
	struct st_hub *hub = calloc(1, sizeof *hub);
	if (!hub)
		return st_fail_nomem(err);
	hub->machine = strndup(own->machine.ptr, own->machine.len);
	int code = hub->machine ? st_pq_open(conninfo, stop, &hub->pq, err) : st_fail_nomem(err);
	if (code == 0)
		code = join(hub, key, own, err);
	if (code < 0)
		st_hub_close(hub);
	else
		*out = hub;
	return code;
}

void st_hub_close(struct st_hub *hub) {
	if (!hub)
		return;
	st_pq_close(hub->pq);
	free(hub->machine);
	free(hub);
}

/* ---- sending ---- */

int st_hub_last(struct st_hub *hub, int64_t *number, struct stet_error *err) {
	static const char sql[] = "SELECT coalesce(max(number), 0) FROM stet.event WHERE place = $1";
	const char *const params[] = {hub->place};
	return ask_number(hub->pq, sql, params, 1, number, err);
}

static void add_bytes(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                      struct st_str bytes) {
	st_auto(st_buf) hex = ST_BUF_INIT;
	st_hex_add(&hex, bytes);
	st_json_add_text(doc, object, name, st_buf_str(&hex));
}

/* base: the bytes; "" if it is unknown, left out if the file did not exist. */
static yyjson_mut_val *event_json(yyjson_mut_doc *doc, const void *events, size_t i) {
	const struct st_hub_event *event = (const struct st_hub_event *)events + i;
	yyjson_mut_val *object = yyjson_mut_obj(doc);
	st_json_add(doc, object, "number", yyjson_mut_sint(doc, event->number));
	st_json_add(doc, object, "age",
	            yyjson_mut_sint(doc, event->age_ns > 0 ? event->age_ns / 1000 : 0));
	st_json_add_text(doc, object, "agent", event->agent);
	add_bytes(doc, object, "path", event->path);
	if (event->moved_from.len > 0)
		add_bytes(doc, object, "moved", event->moved_from);
	if (event->before.len > 0)
		add_bytes(doc, object, "before", event->before);
	if (event->after.len > 0)
		add_bytes(doc, object, "after", event->after);
	if (event->base.len > 0 || !event->based)
		add_bytes(doc, object, "base", event->base);
	st_json_add_text(doc, object, "ranges", event->ranges);
	return object;
}

int st_hub_write_list(st_hub_json_fn *make, const void *items, size_t count, struct st_buf *out,
                      struct stet_error *err) {
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = doc ? yyjson_mut_arr(doc) : NULL;
	if (list)
		yyjson_mut_doc_set_root(doc, list);
	for (size_t i = 0; list && i < count; i++)
		st_json_push(doc, list, make(doc, items, i));
	int code = list ? st_json_write(doc, list, out, err) : st_fail_nomem(err);
	yyjson_mut_doc_free(doc);
	return code == 0 && out->failed ? st_fail_nomem(err) : code;
}

int st_hub_send(struct st_hub *hub, const struct st_hub_event *events, size_t count,
                struct stet_error *err) {
	static const char sql[] = "SELECT stet.send($1, $2, $3::jsonb, $4)";
	st_auto(st_buf) json = ST_BUF_INIT;
	int64_t mark = 0;
	char text[24];
	if (count == 0)
		return 0;
	if (getrandom(&mark, sizeof mark, 0) != sizeof mark)
		return st_fail_errno(err, errno, "Cannot make a random number");
	snprintf(text, sizeof text, "%" PRId64, mark & INT64_MAX);
	int code = st_hub_write_list(event_json, events, count, &json, err);
	const char *const params[] = {hub->repo, hub->place, st_buf_cstr(&json), text};
	return code == 0 ? st_pq_query(hub->pq, sql, params, 4, NULL, err) : code;
}

int st_hub_touch(struct st_hub *hub, const struct st_hub_place *own, const struct st_str *agents,
                 const int64_t *ages_ns, size_t count, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO stet.agent (place, label, seen)"
		" VALUES ($1, $2, clock_timestamp() - $3::bigint * interval '1 microsecond')"
		" ON CONFLICT (place, label) DO UPDATE SET seen = greatest(stet.agent.seen, excluded.seen)";
	int code = join_place(hub, own, err);
	for (size_t i = 0; i < count && code == 0; i++) {
		st_auto(st_buf) label = ST_BUF_INIT;
		char age[24];
		st_buf_add(&label, agents[i]);
		print_age(age, ages_ns[i]);
		const char *const params[] = {hub->place, st_buf_cstr(&label), age};
		code = label.failed ? st_fail_nomem(err) : st_pq_query(hub->pq, sql, params, 3, NULL, err);
	}
	return code;
}

/* ---- receiving ---- */

/* Start again if the hub has lost the last event that was received. */
static int check_position(struct st_hub *hub, struct st_hub_position *position,
                          struct stet_error *err) {
	static const char sql[] = "SELECT mark FROM stet.event WHERE repo = $1 AND seq = $2";
	char seq[24];
	int64_t mark = -1;
	if (position->seq == 0)
		return 0;
	snprintf(seq, sizeof seq, "%" PRId64, position->seq);
	const char *const params[] = {hub->repo, seq};
	struct st_pq_rows rows;
	int code = st_pq_query(hub->pq, sql, params, 2, &rows, err);
	if (code < 0)
		return code;
	if (rows.count == 1)
		mark = st_pq_number(&rows, 0, 0);
	st_pq_rows_release(&rows);
	if (mark != position->mark)
		*position = (struct st_hub_position){0};
	return 0;
}

/* The columns of a received event. */
enum { SEQ, MARK, PLACE, NUMBER, AGE, AGENT, RANGES, PATH, MOVED, BEFORE, AFTER, BASE, COLUMNS };

static int give_event(const struct st_pq_rows *rows, int row, st_hub_event_fn *each, void *data,
                      struct stet_error *err) {
	struct st_buf bytes[COLUMNS] = {0};
	bool sound = true, failed = false;
	for (int column = PATH; column < COLUMNS; column++) {
		sound = sound && st_pq_bytes(rows, row, column, &bytes[column]);
		failed |= bytes[column].failed;
	}
	const struct st_hub_event event = {
		.number = st_pq_number(rows, row, NUMBER),
		.age_ns = st_pq_number(rows, row, AGE) * 1000,
		.agent = st_str(st_pq_text(rows, row, AGENT)),
		.ranges = st_str(st_pq_text(rows, row, RANGES)),
		.path = st_buf_str(&bytes[PATH]),
		.moved_from = st_buf_str(&bytes[MOVED]),
		.before = st_buf_str(&bytes[BEFORE]),
		.after = st_buf_str(&bytes[AFTER]),
		.base = st_buf_str(&bytes[BASE]),
		.based = bytes[BASE].len > 0 || st_pq_is_null(rows, row, BASE),
	};
	int code = failed  ? st_fail_nomem(err)
	           : sound ? each(data, st_pq_number(rows, row, PLACE), &event, err)
	                   : 0;
	for (int column = PATH; column < COLUMNS; column++)
		st_buf_release(&bytes[column]);
	return code;
}

/* How old something is in microseconds. Times of a strange hub can be any, infinite ones too. */
#define AGE_OF(time) \
	"(least(greatest(extract(epoch FROM clock_timestamp() - " time \
	")::float8, 0), 1e9) * 1000000)" \
	"::bigint"

/* Limits in the query, so that no row of a strange hub is large. */
#define FITTING \
	" AND isfinite(e.at)" \
	" AND length(e.agent) <= 200 AND length(e.ranges) <= 8000 AND octet_length(e.path) <= 4096" \
	" AND coalesce(octet_length(e.moved), 0) <= 4096 AND coalesce(octet_length(e.before), 0) <= " \
	"32" \
	" AND coalesce(octet_length(e.after), 0) <= 32 AND coalesce(octet_length(e.base), 0) <= 32"

int st_hub_receive(struct st_hub *hub, struct st_hub_position *position, st_hub_event_fn *each,
                   void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT e.seq, e.mark, e.place, e.number,"
		" " AGE_OF("e.at") ", e.agent, e.ranges,"
		" e.path, e.moved, e.before, e.after, e.base FROM stet.event AS e"
		" WHERE e.repo = $1 AND e.seq > $2" FITTING " ORDER BY e.seq LIMIT 500";
	char seq[24];
	struct st_pq_rows rows;
	int code = check_position(hub, position, err);
	if (code < 0)
		return code;
	snprintf(seq, sizeof seq, "%" PRId64, position->seq);
	const char *const params[] = {hub->repo, seq};
	code = st_pq_query(hub->pq, sql, params, 2, &rows, err);
	if (code < 0)
		return code;
	int row = 0;
	for (; row < rows.count && code == 0; row++) {
		if (strcmp(st_pq_text(&rows, row, PLACE), hub->place) != 0)
			code = give_event(&rows, row, each, data, err);
		if (code == 0)
			*position = (struct st_hub_position){st_pq_number(&rows, row, SEQ),
			                                     st_pq_number(&rows, row, MARK)};
	}
	st_pq_rows_release(&rows);
	return code < 0 ? code : row;
}

int st_hub_places(struct st_hub *hub, st_hub_place_fn *each, void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT id, machine, branch, head, " AGE_OF("seen") ", path FROM stet.place"
		" WHERE repo = $1 AND machine <> $2 AND isfinite(seen)"
		" AND seen > clock_timestamp() - interval '30 days' AND length(machine) <= 64"
		" AND length(branch) <= 200 AND length(head) <= 64 AND octet_length(path) <= 4096"
		" ORDER BY seen DESC LIMIT 256";
	const char *const params[] = {hub->repo, hub->machine};
	struct st_pq_rows rows;
	int code = st_pq_query(hub->pq, sql, params, 2, &rows, err);
	if (code < 0)
		return code;
	for (int row = 0; row < rows.count && code == 0; row++) {
		st_auto(st_buf) path = ST_BUF_INIT;
		bool sound = st_pq_bytes(&rows, row, 5, &path);
		const struct st_hub_place place = {
			.id = st_pq_number(&rows, row, 0),
			.machine = st_str(st_pq_text(&rows, row, 1)),
			.branch = st_str(st_pq_text(&rows, row, 2)),
			.head = st_str(st_pq_text(&rows, row, 3)),
			.age_ns = st_pq_number(&rows, row, 4) * 1000,
			.path = st_buf_str(&path),
		};
		code = path.failed ? st_fail_nomem(err) : sound ? each(data, &place, err) : 0;
	}
	st_pq_rows_release(&rows);
	return code;
}

int st_hub_agents(struct st_hub *hub, int64_t place, st_hub_agent_fn *each, void *data,
                  struct stet_error *err) {
	static const char sql[] =
		"SELECT label, " AGE_OF("seen") " FROM stet.agent WHERE place = $1 AND isfinite(seen)"
		" AND length(label) <= 200 ORDER BY seen DESC LIMIT 64";
	char id[24];
	snprintf(id, sizeof id, "%" PRId64, place);
	const char *const params[] = {id};
	struct st_pq_rows rows;
	int code = st_pq_query(hub->pq, sql, params, 1, &rows, err);
	if (code < 0)
		return code;
	for (int row = 0; row < rows.count && code == 0; row++)
		code =
			each(data, st_str(st_pq_text(&rows, row, 0)), st_pq_number(&rows, row, 1) * 1000, err);
	st_pq_rows_release(&rows);
	return code;
}

int st_hub_fd(const struct st_hub *hub) {
	return st_pq_socket(hub->pq);
}

int st_hub_drain(struct st_hub *hub, struct stet_error *err) {
	return st_pq_drain(hub->pq, err);
}
