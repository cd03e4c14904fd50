#include "hub/schema.h"

#include <inttypes.h>

/* The key of the advisory lock; any number that others do not use. */
#define LOCK_KEY "7165064739512"

enum { VERSION = 2 };

/*
 * send() inserts what the hub does not have yet and counts it without gaps: the
 * row of the repository is locked first, so that the order of the numbers is the
 * order in which they become visible. One empty notification per batch: NOTIFY
 * takes a lock that all databases of the server share.
 */
static const char *const events[] = {
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

/*
 * Version 2: tasks. A claim is a part of its task's row. Each change of tasks moves the
 * counter of the repository first, so that changes are visible in the order of `seq`.
 * Numbers also follow the server's clock: a hub restored from a backup gives none that it
 * gave before, so that a fence only grows and the newer `rev` of a task is the later one.
 * Roles that may write events may write tasks.
 */
static const char *const tasks[] = {
	"CREATE TABLE stet.task_counter (repo bigint PRIMARY KEY REFERENCES stet.repo,"
	" seq bigint NOT NULL, number bigint NOT NULL)",
	"CREATE TABLE stet.task (repo bigint NOT NULL REFERENCES stet.repo, id uuid NOT NULL,"
	" number bigint NOT NULL, description text NOT NULL, status smallint NOT NULL,"
	" priority bigint NOT NULL, owner text, place bigint REFERENCES stet.place,"
	" fence bigint NOT NULL, expires timestamptz, removed boolean NOT NULL, rev bigint NOT NULL,"
	" seq bigint NOT NULL, updated timestamptz NOT NULL, PRIMARY KEY (repo, id),"
	" UNIQUE (repo, number))",
	"CREATE INDEX task_seq ON stet.task (repo, seq)",
	"CREATE FUNCTION stet.next_task_seq(of_repo bigint) RETURNS bigint LANGUAGE plpgsql AS $$"
	" DECLARE step bigint;"
	" BEGIN"
	"  LOOP"
	"   UPDATE stet.task_counter SET seq = greatest(seq + 1,"
	"    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
	"    WHERE repo = of_repo RETURNING seq INTO step;"
	"   IF FOUND THEN RETURN step; END IF;"
	"   INSERT INTO stet.task_counter VALUES (of_repo, 0, 0) ON CONFLICT DO NOTHING;"
	"  END LOOP;"
	" END $$",
	"CREATE FUNCTION stet.take_task_number(of_repo bigint) RETURNS bigint LANGUAGE plpgsql AS $$"
	" DECLARE taken bigint;"
	" BEGIN"
	"  PERFORM stet.next_task_seq(of_repo);"
	"  UPDATE stet.task_counter SET number = greatest(number, (SELECT coalesce(max(t.number), 0)"
	"   FROM stet.task AS t WHERE t.repo = of_repo)) + 1"
	"   WHERE repo = of_repo RETURNING number INTO taken;"
	"  RETURN taken;"
	" END $$",
	"CREATE FUNCTION stet.claim_task(of_repo bigint, of_place bigint, who text, wanted uuid,"
	" ms bigint) RETURNS SETOF stet.task LANGUAGE plpgsql AS $$"
	" DECLARE step bigint := stet.next_task_seq(of_repo);"
	" BEGIN"
	"  RETURN QUERY"
	"   WITH c AS MATERIALIZED (SELECT t.id FROM stet.task AS t"
	"    WHERE t.repo = of_repo AND NOT t.removed AND (wanted IS NULL OR t.id = wanted)"
	"    AND (t.status = 0 OR t.status = 1 AND (coalesce(t.expires, '-infinity') <="
	"     clock_timestamp() OR wanted IS NOT NULL AND t.place = of_place AND t.owner = who))"
	"    ORDER BY t.priority, t.number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)"
	"   UPDATE stet.task AS u SET status = 1, owner = who, place = of_place,"
	"    fence = greatest(u.fence + 1, step),"
	"    expires = clock_timestamp() + ms * interval '1 millisecond',"
	"    rev = step, seq = step, updated = clock_timestamp()"
	"    FROM c WHERE u.repo = of_repo AND u.id = c.id RETURNING u.*;"
	"  IF FOUND THEN PERFORM pg_notify('stet_' || of_repo, ''); END IF;"
	" END $$",
	"CREATE FUNCTION stet.add_task(of_repo bigint, of_place bigint, c jsonb, ms bigint)"
	" RETURNS void LANGUAGE plpgsql AS $$"
	" DECLARE"
	"  step bigint := stet.next_task_seq(of_repo);"
	"  wanted bigint := (c->>'number')::bigint;"
	"  state smallint := (c->>'status')::smallint;"
	" BEGIN"
	"  IF wanted NOT BETWEEN 1 AND 1000000000 OR EXISTS (SELECT 1 FROM stet.task AS t"
	"   WHERE t.repo = of_repo AND t.number = wanted) THEN"
	"   wanted := stet.take_task_number(of_repo);"
	"  END IF;"
	"  UPDATE stet.task_counter SET number = greatest(number, wanted) WHERE repo = of_repo;"
	"  INSERT INTO stet.task VALUES (of_repo, (c->>'id')::uuid, wanted, c->>'description', state,"
	"   (c->>'priority')::bigint, nullif(c->>'owner', ''),"
	"   CASE WHEN state > 0 THEN of_place END,"
	"   CASE WHEN (c->>'fence')::bigint > 0 THEN (c->>'fence')::bigint WHEN state = 1 THEN step"
	"    ELSE 0 END,"
	"   CASE WHEN state = 1 THEN clock_timestamp() + ms * interval '1 millisecond' END,"
	"   (c->>'removed')::boolean,"
	"   CASE WHEN (c->>'rev')::bigint > 0 THEN least((c->>'rev')::bigint, step) ELSE step END,"
	"   step, clock_timestamp());"
	" END $$",
	/* Bring a task back that the hub had forgotten, unless it was changed since. */
	"CREATE FUNCTION stet.restore_task(of_repo bigint, of_place bigint, c jsonb, ms bigint)"
	" RETURNS void LANGUAGE plpgsql AS $$"
	" DECLARE step bigint := stet.next_task_seq(of_repo);"
	" BEGIN"
	"  UPDATE stet.task SET description = c->>'description', priority = (c->>'priority')::bigint,"
	"   status = (c->>'status')::smallint, owner = nullif(c->>'owner', ''),"
	"   place = CASE WHEN (c->>'status')::smallint > 0 THEN of_place END,"
	"   fence = greatest(fence, (c->>'fence')::bigint),"
	"   expires = CASE WHEN (c->>'status')::smallint = 1 THEN"
	"    clock_timestamp() + ms * interval '1 millisecond' END,"
	"   removed = (c->>'removed')::boolean, rev = least((c->>'rev')::bigint, step), seq = step,"
	"   updated = clock_timestamp()"
	"  WHERE repo = of_repo AND id = (c->>'id')::uuid AND rev < (c->>'rev')::bigint;"
	" END $$",
	/*
	 * Only the owner of a claim finishes its task; a claim of others can be taken over once it has
	 * expired. `fence` is that of the claim that the place knows of: if it has passed to others
	 * since, the change is not made either.
	 */
	"CREATE FUNCTION stet.change_task(of_repo bigint, of_place bigint, t stet.task, c jsonb,"
	" ms bigint) RETURNS void LANGUAGE plpgsql AS $$"
	" DECLARE"
	"  step bigint := stet.next_task_seq(of_repo);"
	"  mine boolean := t.place = of_place AND t.fence = (c->>'fence')::bigint;"
	"  free boolean := t.status <> 1 OR coalesce(t.expires, '-infinity') <= clock_timestamp()"
	"   OR coalesce(mine, false);"
	"  wants smallint := (c->>'status')::smallint;"
	"  sets text := c->>'sets';"
	"  passed boolean := (c->>'fence')::bigint > 0 AND wants <> 1"
	"   AND t.fence <> (c->>'fence')::bigint;"
	" BEGIN"
	"  UPDATE stet.task SET"
	"   description = CASE WHEN sets ~ 'd' THEN c->>'description' ELSE description END,"
	"   priority = CASE WHEN sets ~ 'p' THEN (c->>'priority')::bigint ELSE priority END,"
	"   removed = removed OR sets ~ 'r' AND free, rev = step, seq = step,"
	"   updated = clock_timestamp()"
	"  WHERE repo = of_repo AND id = t.id AND (sets ~ '[dp]' OR sets ~ 'r' AND free);"
	"  IF sets ~ 's' AND NOT passed AND NOT t.removed AND (t.status = 0 OR t.status = 1 AND"
	"   (wants = 1 AND free OR mine AND (wants <> 2 OR t.owner = c->>'owner'))) THEN"
	"   UPDATE stet.task SET status = wants,"
	"    owner = CASE wants WHEN 0 THEN NULL ELSE nullif(c->>'owner', '') END,"
	"    place = CASE wants WHEN 0 THEN NULL ELSE of_place END,"
	"    fence = CASE WHEN wants = 1 AND NOT coalesce(mine, false) THEN greatest(fence + 1, step)"
	"     ELSE fence END,"
	"    expires = CASE wants WHEN 1 THEN clock_timestamp() + ms * interval '1 millisecond' END,"
	"    rev = step, seq = step, updated = clock_timestamp()"
	"   WHERE repo = of_repo AND id = t.id;"
	"  END IF;"
	" END $$",
	"CREATE FUNCTION stet.put_tasks(of_repo bigint, of_place bigint, changes jsonb, ms bigint)"
	" RETURNS SETOF stet.task LANGUAGE plpgsql AS $$"
	" DECLARE c jsonb; t stet.task;"
	" BEGIN"
	"  PERFORM stet.next_task_seq(of_repo);"
	"  FOR c IN SELECT * FROM jsonb_array_elements(changes) LOOP"
	"   SELECT * INTO t FROM stet.task WHERE repo = of_repo AND id = (c->>'id')::uuid"
	"    FOR NO KEY UPDATE;"
	"   IF NOT FOUND THEN"
	"    PERFORM stet.add_task(of_repo, of_place, c, ms);"
	"   ELSIF (c->>'rev')::bigint > 0 THEN"
	"    PERFORM stet.restore_task(of_repo, of_place, c, ms);"
	"   ELSE"
	"    PERFORM stet.change_task(of_repo, of_place, t, c, ms);"
	"   END IF;"
	"   RETURN QUERY SELECT * FROM stet.task WHERE repo = of_repo AND id = (c->>'id')::uuid;"
	"  END LOOP;"
	"  PERFORM pg_notify('stet_' || of_repo, '');"
	" END $$",
	/* A claim holds as long after its owner's last call as after it was made. */
	"CREATE FUNCTION stet.renew_tasks(of_repo bigint, of_place bigint, ms bigint)"
	" RETURNS bigint LANGUAGE plpgsql AS $$"
	" DECLARE r record; renewed bigint := 0; span interval := ms * interval '1 millisecond';"
	" BEGIN"
	"  IF EXISTS (SELECT 1 FROM stet.task AS t JOIN stet.agent AS a ON a.place = t.place"
	"   AND a.label = t.owner WHERE t.repo = of_repo AND t.place = of_place AND t.status = 1"
	"   AND a.seen + span > t.expires + span / 10 AND a.seen + span > clock_timestamp()) THEN"
	"   PERFORM stet.next_task_seq(of_repo);"
	"   FOR r IN SELECT t.id, a.seen FROM stet.task AS t JOIN stet.agent AS a"
	"    ON a.place = t.place AND a.label = t.owner WHERE t.repo = of_repo AND t.place = of_place"
	"    AND t.status = 1 AND a.seen + span > t.expires FOR NO KEY UPDATE OF t SKIP LOCKED LOOP"
	"    UPDATE stet.task SET expires = r.seen + span, seq = stet.next_task_seq(of_repo)"
	"     WHERE repo = of_repo AND id = r.id;"
	"    renewed := renewed + 1;"
	"   END LOOP;"
	"   PERFORM pg_notify('stet_' || of_repo, '');"
	"  END IF;"
	"  RETURN renewed;"
	" END $$",
	"DO $$ DECLARE role record; BEGIN"
	"  FOR role IN SELECT DISTINCT a.grantee::regrole AS name FROM pg_class AS c,"
	"   LATERAL aclexplode(c.relacl) AS a WHERE c.oid = 'stet.event'::regclass"
	"   AND a.privilege_type = 'INSERT' AND a.grantee <> 0 LOOP"
	"   EXECUTE format('GRANT SELECT, INSERT, UPDATE ON stet.task, stet.task_counter TO %s',"
	"    role.name);"
	"  END LOOP;"
	" END $$",
	"UPDATE stet.meta SET version = 2",
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

/* Whether the tables are to be made, or to be brought up to date. */
static bool is_behind(int64_t version) {
	return version >= 0 && version < VERSION;
}

static int run_all(struct st_pq *pq, const char *const *statements, size_t count,
                   struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; code == 0 && i < count; i++)
		code = run(pq, statements[i], err);
	return code;
}

static int update_tables(struct st_pq *pq, struct stet_error *err) {
	int64_t version;
	int code = run(pq, "SELECT pg_advisory_xact_lock(" LOCK_KEY ")", err);
	if (code == 0)
		code = find_version(pq, &version, err);
	if (code == 0 && !is_behind(version))
		return check_version(version, err);
	if (code == 0 && version == 0)
		code = run_all(pq, events, sizeof events / sizeof *events, err);
	return code == 0 ? run_all(pq, tasks, sizeof tasks / sizeof *tasks, err) : code;
}

/* A role that may not make tables cannot bring them up to date either. */
static int explain(int64_t version, int code, const struct stet_error *why,
                   struct stet_error *err) {
	if (code != STET_E_ACCESS || version == 0)
		return st_fail(err, code, "%s", why->message);
	return st_fail(err, code,
	               "The hub has tables of version %" PRId64
	               ", and this stet needs %d: let the role that made them start it once. %s",
	               version, VERSION, why->message);
}

int st_hub_migrate(struct st_pq *pq, struct stet_error *err) {
	int64_t version;
	int code = find_version(pq, &version, err);
	if (code < 0 || !is_behind(version))
		return code < 0 ? code : check_version(version, err);
	struct stet_error why = {0}, ignored = {0};
	code = run(pq, "BEGIN", &why);
	if (code == 0)
		code = update_tables(pq, &why);
	if (code == 0)
		code = run(pq, "COMMIT", &why);
	if (code == 0)
		return 0;
	(void)run(pq, "ROLLBACK", &ignored);
	return explain(version, code, &why, err);
}
