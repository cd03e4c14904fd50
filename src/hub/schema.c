#include "hub/schema.h"

#include <inttypes.h>

/* The key of the advisory lock; any number that others do not use. */
#define LOCK_KEY "7165064739512"

enum { VERSION = 1 };

/*
 * send() inserts what the hub does not have yet and counts it without gaps: the
 * row of the repository is locked first, so that the order of the numbers is the
 * order in which they become visible. One empty notification per batch: NOTIFY
 * takes a lock that all databases of the server share.
 */
static const char *const statements[] = {
	"CREATE SCHEMA stet",
	"CREATE TABLE stet.meta (version int NOT NULL)",
	"INSERT INTO stet.meta VALUES (1)",
	"CREATE TABLE stet.repo (id bigserial PRIMARY KEY, key text NOT NULL UNIQUE,"
	" seq bigint NOT NULL DEFAULT 0)",
	"CREATE TABLE stet.place (id bigserial PRIMARY KEY, repo bigint NOT NULL REFERENCES stet.repo,"
	" machine text NOT NULL, path bytea NOT NULL, branch text NOT NULL, head text NOT NULL,"
	" seen timestamptz NOT NULL, UNIQUE (repo, machine, path))",
	"CREATE TABLE stet.agent (place bigint NOT NULL REFERENCES stet.place ON DELETE CASCADE,"
	" label text NOT NULL, seen timestamptz NOT NULL, PRIMARY KEY (place, label))",
	"CREATE TABLE stet.event (repo bigint NOT NULL REFERENCES stet.repo, seq bigint NOT NULL,"
	" place bigint NOT NULL REFERENCES stet.place, number bigint NOT NULL, agent text NOT NULL,"
	" at timestamptz NOT NULL, path bytea NOT NULL, moved bytea, before bytea, after bytea,"
	" base bytea, ranges text NOT NULL, mark bigint NOT NULL, PRIMARY KEY (repo, seq),"
	" UNIQUE (place, number))",
	"CREATE FUNCTION stet.send(of_repo bigint, of_place bigint, events jsonb, new_mark bigint)"
	" RETURNS bigint LANGUAGE plpgsql AS $$"
	" DECLARE last bigint; known bigint; stored bigint;"
	" BEGIN"
	"  SELECT seq INTO last FROM stet.repo WHERE id = of_repo FOR NO KEY UPDATE;"
	"  SELECT coalesce(max(number), 0) INTO known FROM stet.event WHERE place = of_place;"
	"  INSERT INTO stet.event (repo, seq, place, number, agent, at, path, moved, before, after,"
	"   base, ranges, mark)"
	"  SELECT of_repo, last + row_number() OVER (ORDER BY (e->>'number')::bigint), of_place,"
	"   (e->>'number')::bigint, e->>'agent',"
	"   clock_timestamp() - (e->>'age')::bigint * interval '1 microsecond',"
	"   decode(e->>'path', 'hex'), decode(e->>'moved', 'hex'), decode(e->>'before', 'hex'),"
	"   decode(e->>'after', 'hex'), decode(e->>'base', 'hex'), e->>'ranges', new_mark"
	"  FROM jsonb_array_elements(events) AS e WHERE (e->>'number')::bigint > known;"
	"  GET DIAGNOSTICS stored = ROW_COUNT;"
	"  IF stored > 0 THEN"
	"   UPDATE stet.repo SET seq = last + stored WHERE id = of_repo;"
	"   PERFORM pg_notify('stet_' || of_repo, '');"
	"  END IF;"
	"  RETURN stored;"
	" END $$",
};

static int run(struct st_pq *pq, const char *sql, struct stet_error *err) {
	return st_pq_query(pq, sql, NULL, 0, NULL, err);
}

/*
 * Read the version of the tables from the catalogs themselves: to_regclass() can answer
 * from a cache that is older than the lock. The version is 0 if there are no tables,
 * and -1 if the schema is not stet's.
 */
static int find_version(struct st_pq *pq, int64_t *version, struct stet_error *err) {
	static const char exists[] =
		"SELECT count(DISTINCT n.oid), count(c.oid) FROM pg_namespace AS n LEFT JOIN pg_class AS c"
		" ON c.relnamespace = n.oid AND c.relname = 'meta' AND c.relkind = 'r' WHERE n.nspname = "
		"'stet'";
	struct st_pq_rows rows;
	*version = 0;
	int code = st_pq_query(pq, exists, NULL, 0, &rows, err);
	if (code < 0)
		return code;
	bool schema = st_pq_number(&rows, 0, 0), meta = st_pq_number(&rows, 0, 1);
	st_pq_rows_release(&rows);
	if (schema && !meta)
		*version = -1;
	if (!meta)
		return 0;
	code = st_pq_query(pq, "SELECT version FROM stet.meta", NULL, 0, &rows, err);
	if (code < 0)
		return code;
	*version = rows.count == 1 ? st_pq_number(&rows, 0, 0) : -1;
	st_pq_rows_release(&rows);
	return 0;
}

static int check_version(int64_t version, struct stet_error *err) {
	if (version == VERSION)
		return 0;
	if (version > VERSION)
		return st_fail(err, STET_E_ACCESS,
		               "The hub has tables of version %" PRId64
		               ", and this stet knows %d: update "
		               "stet.",
		               version, VERSION);
	return st_fail(err, STET_E_ACCESS,
	               "The hub's schema \"stet\" is not one that stet made: name another database.");
}

static int create_tables(struct st_pq *pq, struct stet_error *err) {
	int64_t version;
	int code = run(pq, "SELECT pg_advisory_xact_lock(" LOCK_KEY ")", err);
	if (code == 0)
		code = find_version(pq, &version, err);
	if (code == 0 && version != 0)
		return check_version(version, err);
	for (size_t i = 0; code == 0 && i < sizeof statements / sizeof *statements; i++)
		code = run(pq, statements[i], err);
	return code;
}

int st_hub_migrate(struct st_pq *pq, struct stet_error *err) {
	int64_t version;
	int code = find_version(pq, &version, err);
	if (code < 0 || version != 0)
		return code < 0 ? code : check_version(version, err);
	code = run(pq, "BEGIN", err);
	if (code == 0)
		code = create_tables(pq, err);
	if (code == 0)
		return run(pq, "COMMIT", err);
	struct stet_error ignored = {0};
	(void)run(pq, "ROLLBACK", &ignored);
	return code;
}
