#include "core/places/registry_remote.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/session/session.h"

enum { HASH_LEN = 32, RANGES_MAX = 8000 };

int st_registry_own_number(struct st_registry *registry, int64_t *number, struct stet_error *err) {
	return st_db_number(registry->db, "SELECT number FROM place WHERE id = ?", number, err, "i",
	                    registry->checkout);
}

int st_registry_renumber(struct st_registry *registry, int64_t add, struct stet_error *err) {
	static const char events[] = "UPDATE event SET number = number + ? WHERE place = ?";
	static const char next[] = "UPDATE place SET number = number + ? WHERE id = ?";
	int code = st_db_run(registry->db, events, err, "ii", add, registry->checkout);
	return code == 0 ? st_db_run(registry->db, next, err, "ii", add, registry->checkout) : code;
}

int st_registry_unsent(struct st_registry *registry, int64_t after, int64_t now,
                       st_registry_unsent_fn *each, void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT number, at, agent, path, moved, before, after, base, ranges FROM event"
		" WHERE place = ? AND number > ? ORDER BY number LIMIT ?";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "iii", registry->checkout, after,
	                       (int64_t)ST_HUB_BATCH);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		const struct st_hub_event event = {
			.number = st_rows_int(&rows, 0),
			.age_ns = now - st_rows_int(&rows, 1),
			.agent = st_rows_str(&rows, 2),
			.path = st_rows_str(&rows, 3),
			.moved_from = st_rows_str(&rows, 4),
			.before = st_rows_str(&rows, 5),
			.after = st_rows_str(&rows, 6),
			.base = st_rows_str(&rows, 7),
			.based = st_rows_str(&rows, 7).len > 0 || st_rows_is_null(&rows, 7),
			.ranges = st_rows_str(&rows, 8),
		};
		code = each(data, &event, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

/* ---- rows from other machines ---- */

/* Whether a part of a path names a file: not empty, ".", ".." or git's and stet's own. */
static bool is_part(struct st_str part) {
	static const char *const refused[] = {"", ".", "..", ".git", ".stet"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (st_str_eq(part, st_str(refused[i])))
			return false;
	}
	return true;
}

/* Whether a path leads to a file below a checkout, whatever it is compared with later. */
static bool is_path(struct st_str path) {
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return false;
	for (;;) {
		const char *slash = memchr(path.ptr, '/', path.len);
		size_t len = slash ? (size_t)(slash - path.ptr) : path.len;
		if (!is_part(st_strn(path.ptr, len)))
			return false;
		if (!slash)
			return true;
		path = st_str_slice(path, len + 1, path.len);
	}
}

static bool is_hash(struct st_str bytes) {
	return bytes.len == 0 || bytes.len == HASH_LEN;
}

/* The text that parse_hunks() reads: digits, commas, semicolons, and "?" at the end. */
static bool is_ranges(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		bool last = i + 1 == text.len;
		if (!(text.ptr[i] >= '0' && text.ptr[i] <= '9') && text.ptr[i] != ',' &&
		    text.ptr[i] != ';' && !(last && text.ptr[i] == '?'))
			return false;
	}
	return text.len <= RANGES_MAX;
}

static bool is_label(struct st_str text) {
	return text.len > 0 && text.len < ST_LABEL_MAX && st_utf8_valid(text) &&
	       !memchr(text.ptr, '\0', text.len);
}

/* A commit is shown and given to git: hexadecimal digits, or nothing. */
static bool is_commit(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		if (!strchr("0123456789abcdef", text.ptr[i]))
			return false;
	}
	return text.len <= ST_OID_MAX;
}

static bool is_event(const struct st_hub_event *event) {
	return event->number > 0 && is_label(event->agent) && is_path(event->path) &&
	       (event->moved_from.len == 0 || is_path(event->moved_from)) && is_hash(event->before) &&
	       is_hash(event->after) && is_hash(event->base) && is_ranges(event->ranges);
}

static bool is_place(const struct st_hub_place *place) {
	return place->machine.len > 0 && place->machine.len <= 64 && st_utf8_valid(place->machine) &&
	       place->path.len > 0 && place->path.ptr[0] == '/' &&
	       !memchr(place->path.ptr, '\0', place->path.len) && place->branch.len <= ST_BRANCH_MAX &&
	       st_utf8_valid(place->branch) && is_commit(place->head);
}

/* When something happened that is so old; never in the future. */
static int64_t time_of(int64_t now, int64_t age_ns) {
	return age_ns <= 0 ? now : age_ns >= now ? 0 : now - age_ns;
}

int st_registry_put_place(struct st_registry *registry, const struct st_hub_place *place,
                          int64_t now, int64_t *id, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO place (repo, machine, path, branch, head, number, seen)"
		" VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (machine, path) DO UPDATE SET"
		" repo = excluded.repo, branch = excluded.branch, head = excluded.head,"
		" seen = excluded.seen";
	static const char asks[] = "SELECT id FROM place WHERE machine = ? AND path = ?";
	*id = 0;
	if (!is_place(place))
		return 0;
	int code = st_db_run(registry->db, sql, err, "isbssi", registry->repository, place->machine,
	                     place->path, place->branch, place->head, time_of(now, place->age_ns));
	return code == 0 ? st_db_number(registry->db, asks, id, err, "sb", place->machine, place->path)
	                 : code;
}

int st_registry_put_agent(struct st_registry *registry, int64_t place, struct st_str label,
                          int64_t seen, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO agent (place, label, seen) VALUES (?, ?, ?)"
		" ON CONFLICT (place, label) DO UPDATE SET seen = excluded.seen";
	return is_label(label) ? st_db_run(registry->db, sql, err, "isi", place, label, seen) : 0;
}

static int next_seq(struct st_registry *registry, int64_t *seq, struct stet_error *err) {
	static const char next[] = "UPDATE repo SET seq = seq + 1 WHERE id = ?";
	static const char asks[] = "SELECT seq FROM repo WHERE id = ?";
	int code = st_db_run(registry->db, next, err, "i", registry->repository);
	return code == 0 ? st_db_number(registry->db, asks, seq, err, "i", registry->repository) : code;
}

int st_registry_put_event(struct st_registry *registry, int64_t place,
                          const struct st_hub_event *event, int64_t now, struct stet_error *err) {
	static const char advance[] = "UPDATE place SET number = ?2 WHERE id = ?1 AND number < ?2";
	static const char sql[] =
		"INSERT INTO event (repo, seq, place, number, agent, at, path, moved, before, after, base,"
		" ranges) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, x''), nullif(?, x''), nullif(?, x''),"
		" CASE WHEN ? THEN nullif(?, x'') ELSE x'' END, ?)";
	static const char trim[] = "DELETE FROM event WHERE repo = ? AND seq <= ?";
	int64_t seq = 0;
	if (!is_event(event))
		return 0;
	int code = st_db_run(registry->db, advance, err, "ii", place, event->number);
	if (code < 0 || st_db_changes(registry->db) == 0)
		return code;
	code = next_seq(registry, &seq, err);
	if (code == 0)
		code = st_db_run(registry->db, sql, err, "iiiisibbbbibs", registry->repository, seq, place,
		                 event->number, event->agent, time_of(now, event->age_ns), event->path,
		                 event->moved_from, event->before, event->after, (int64_t)event->based,
		                 event->base, event->ranges);
	return code == 0 && seq > ST_REGISTRY_EVENTS
	           ? st_db_run(registry->db, trim, err, "ii", registry->repository,
	                       seq - ST_REGISTRY_EVENTS)
	           : code;
}

/* ---- the position ---- */

static void name_position(const struct st_registry *registry, const char *part, char name[64]) {
	snprintf(name, 64, "hub_%s_%lld", part, (long long)registry->repository);
}

int st_registry_position(struct st_registry *registry, struct st_hub_position *position,
                         struct stet_error *err) {
	static const char sql[] = "SELECT value FROM meta WHERE name = ?";
	char seq[64], mark[64];
	name_position(registry, "seq", seq);
	name_position(registry, "mark", mark);
	int code = st_db_number(registry->db, sql, &position->seq, err, "t", seq);
	return code == 0 ? st_db_number(registry->db, sql, &position->mark, err, "t", mark) : code;
}

int st_registry_set_position(struct st_registry *registry, const struct st_hub_position *position,
                             struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO meta (name, value) VALUES (?, ?)"
		" ON CONFLICT (name) DO UPDATE SET value = excluded.value";
	char seq[64], mark[64];
	name_position(registry, "seq", seq);
	name_position(registry, "mark", mark);
	int code = st_db_run(registry->db, sql, err, "ti", seq, position->seq);
	return code == 0 ? st_db_run(registry->db, sql, err, "ti", mark, position->mark) : code;
}
