"""Nobody's edit waits for the hub: neither for one that is far away, nor for one that does not answer,
nor for one that is not there; and what is kept for it meanwhile is bounded."""

import contextlib
import glob
import os
import shutil
import sqlite3
import tempfile

import lib
from lib import Agent, Machine, Postgres, claim, finish, skip, until
from proxy import Proxy

if not Postgres.is_there():
    skip("nobody's edit waits for the hub", "PostgreSQL is not installed: make check-all installs it")
    finish()

FULL = os.environ.get("STET_TORTURE") == "1"
# As in core/places/registry.h.
KEPT = 10000
# More than are kept, in make torture.
EDITS = KEPT + 2000 if FULL else 500
# So many files in turn that no change replaces one that is still queued.
FILES = 100
MEMORY_MAX, DISK_MAX = 8 << 20, 16 << 20


def memory(agent):
    """What the process has in memory that belongs to no file, in bytes."""
    with open(f"/proc/{agent.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))


def registry_file(machine):
    return f"{machine.home}/state/stet/places/stet.db"


def disk(machine):
    return sum(os.path.getsize(path) for path in glob.glob(f"{registry_file(machine)}*"))


def has_libpq(agent):
    with open(f"/proc/{agent.process.pid}/maps") as file:
        return "libpq" in file.read()


def edit(agent, count, first=0):
    """Make so many changes. Returns those that failed."""
    results = (agent.result("write_file", path=f"file-{number % FILES}.txt", content=f"{number}\n")
               for number in range(first, first + count))
    return [result for result in results if result.get("isError")]


base = tempfile.mkdtemp(prefix="stet-outage-")
hub = Postgres().start()
deaf, far = Proxy(), Proxy(hub.dir, 0.1)
try:
    # ---- no hub ----
    machine = Machine(base, "alone", None)
    agent = Agent(machine)
    edit(agent, 10)
    until(lambda: machine.numbered() >= 10)
    claim("libpq is not loaded without a hub", not has_libpq(agent))
    agent.end()

    # ---- a hub that does not answer ----
    machine = Machine(base, "deaf", deaf.conninfo())
    agent = Agent(machine)
    claim("nor with one, before there is something to send", not has_libpq(agent))
    edit(agent, 1)
    claim("an agent connects to a hub that accepts and says nothing", lambda: bool(until(lambda: deaf.accepted)))
    claim("and has loaded libpq for that", has_libpq(agent))
    failed = edit(agent, 200, 1)
    claim("edits complete while it says nothing", not failed and deaf.accepted < 20,
          f"{len(failed)} of 200 failed, {deaf.accepted} connections")
    agent.end()
    claim("and the agent ends although it waits for the hub", agent.process.returncode == 0)

    # ---- a hub at a distance ----
    machine = Machine(base, "far", far.conninfo())
    agent = Agent(machine)
    failed = edit(agent, 200)
    claim("a hub whose answers take 200 ms receives every edit",
          lambda: not failed and until(lambda: machine.numbered() >= 200 and hub.has(machine), 60),
          lambda: hub.events_of(machine))
    agent.end()

    # ---- news while it is asked ----
    far_agent = Agent(machine)
    copy = f"{machine.clone}/.stet/stet.db"

    def received():
        with contextlib.closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True, timeout=30)) as db:
            return db.execute("select count(*) from tasks").fetchone()[0]

    put = ("perform stet.put_tasks(repo, id, jsonb_build_array(jsonb_build_object('id', md5(random()::text), 'number', 0,"
           " 'status', 0, 'priority', 1, 'description', 'new', 'owner', '', 'removed', false, 'fence', 0, 'rev', 0,"
           " 'sets', '')), 1) from stet.place limit 1;")
    # The first task wakes the agent. The second one arrives when it has asked for tasks and asks for events.
    far_agent.call("tasks", action="list")
    until(lambda: hub.ask("select max(state_change) < clock_timestamp() - interval '3 seconds' from pg_stat_activity"
                          " where application_name = 'stet'") == "t")
    hub.ask(f"do $$ begin {put} commit;"
            " while not exists (select 1 from pg_stat_activity where application_name = 'stet' and"
            " query like '%max(number)%') loop perform pg_sleep(0.01), pg_stat_clear_snapshot(); end loop;"
            f" {put} end $$")
    # Unless the agent sees the notification, it asks again after 15 seconds.
    claim("a change during another question to the hub is not missed", lambda: until(lambda: received() == 2, 12))
    far_agent.end()

    # ---- an outage ----
    machine = Machine(base, "outage", hub.conninfo())
    agent = Agent(machine)
    edit(agent, FILES)
    claim("edits are sent", lambda: until(lambda: machine.numbered() == FILES and hub.has(machine, FILES), 60))
    hub.kill()
    before = memory(agent)
    failed = edit(agent, EDITS, FILES)
    claim(f"{EDITS} edits complete while the hub is away", not failed, failed[:3])
    grown = memory(agent) - before
    claim("the agent's memory is bounded", grown < MEMORY_MAX, f"{grown} bytes more")
    claim("everything is in the registry", lambda: until(lambda: machine.numbered() == FILES + EDITS))
    claim("which is bounded", disk(machine) < DISK_MAX, f"{disk(machine)} bytes")
    print(f"# {EDITS} edits: {grown >> 10} KiB more memory, {disk(machine) >> 10} KiB of registry")
    # The oldest events are gone; without the full count, as if there had been more than the registry holds.
    lost = EDITS - KEPT if FULL else 10
    if not FULL:
        with sqlite3.connect(registry_file(machine), timeout=30) as db:
            db.execute("delete from event where number <= ?", (FILES + lost,))
    hub.start()
    claim("all that it holds is at the hub afterwards, each once",
          lambda: until(lambda: hub.has(machine, FILES + EDITS - lost), 120), lambda: hub.events_of(machine))

    def noticed():
        return f"{lost} changes made here" in agent.call("read_file", path="a.txt")
    claim("what cannot be sent any more is named", lambda: until(noticed))
    agent.end()
finally:
    if lib.failed:
        hub.show_log()
    deaf.close()
    far.close()
    hub.remove()
    shutil.rmtree(base, ignore_errors=True)
finish()
