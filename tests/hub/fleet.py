"""Eight machines with fifty agents and one hub, which dies, is cut off and is restored from older
backups, while agents are killed: every change that a place stored is at the hub once and in order,
and every machine knows of it."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time

import lib
from lib import Agent, Machine, Postgres, claim, finish, skip, until

if not Postgres.is_there():
    skip("a fleet shares one hub", "PostgreSQL is not installed: make check-all installs it")
    finish()

FULL = os.environ.get("STET_TORTURE") == "1"
MACHINES, AGENTS, FAILOVERS = 8, 50, 4
EVENTS = 20000 if FULL else 2000


class Fleet:
    """What the agents did so far."""

    def __init__(self, machines):
        self.machines = machines
        self.moved = threading.Condition()
        # The agents do not run ahead of what befalls them.
        self.begun = self.allowed = self.done = 0
        self.failures = []
        # The paths of acknowledged changes; and for each agent that was killed, all of its own in order.
        self.written, self.cut_off = set(), []

    def take(self):
        """Wait for leave to make another change. Whether there is one to make."""
        with self.moved:
            self.moved.wait_for(lambda: self.begun < self.allowed or self.allowed >= EVENTS)
            self.begun += 1
            return self.begun <= EVENTS

    def allow(self, count):
        with self.moved:
            self.allowed = count
            self.moved.notify_all()

    def finished(self, path):
        with self.moved:
            self.written.add(path)
            self.done += 1
            self.moved.notify_all()

    def killed(self, paths):
        with self.moved:
            self.written.difference_update(paths)
            self.cut_off.append(paths)
            self.done += 1
            self.moved.notify_all()

    def await_done(self, count):
        with self.moved:
            self.moved.wait_for(lambda: self.done >= count or self.failures, timeout=600)


class Worker(threading.Thread):
    """An agent that changes files of its own, and starts again when it is killed."""

    def __init__(self, fleet, machine, number):
        super().__init__()
        self.fleet, self.machine, self.number = fleet, machine, number
        self.agent, self.starts = None, 0
        self.start_agent()

    def start_agent(self):
        self.starts += 1
        self.own = []
        self.agent = Agent(self.machine, f"agent-{self.number}-{self.starts}")

    def write(self, path):
        """Make a change. Several agents write into the directory: whoever is told to try again does."""
        while True:
            result = self.agent.result("write_file", path=path, content=f"{path}\n")
            if not result.get("isError"):
                return
            if "Try again" not in json.dumps(result):
                self.fleet.failures.append(json.dumps(result))
                return

    def make_change(self, path):
        self.own.append(path)
        try:
            self.write(path)
            self.fleet.finished(path)
        except (ValueError, OSError):
            self.fleet.killed(self.own)
            self.agent.kill()
            self.start_agent()

    def run(self):
        number = 0
        try:
            while self.fleet.take():
                number += 1
                self.make_change(f"of-{self.number}-{number}.txt")
        except Exception as error:  # a thread that ends silently would hang the test
            self.fleet.failures.append(repr(error))


def rows(machine, sql, *values):
    """Ask the registry of a machine."""
    path = f"{machine.home}/state/stet/places/stet.db"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
        return db.execute(sql, values).fetchall()


def is_known(hub, machine):
    """Whether a machine has received all events of the others, and stands where the hub does."""
    theirs = dict(line.split("|") for line in hub.ask(
        "select convert_from(p.path, 'utf8'), max(e.number) from stet.event e join stet.place p on p.id = e.place"
        " group by 1").splitlines())
    numbers = dict(rows(machine, "select cast(path as text), number from place"))
    end = hub.ask("select seq, mark from stet.event order by seq desc limit 1")
    position = dict(rows(machine, "select name, value from meta"))
    return all(numbers.get(path) == int(last) for path, last in theirs.items()) and \
        end == f"{position.get('hub_seq_1')}|{position.get('hub_mark_1')}"


def disturb(fleet, hub, workers):
    """While the agents work: kill agents and the server, cut connections, restore older backups."""
    steps = FAILOVERS * 5
    backup = None
    for step in range(steps):
        fleet.allow(EVENTS * (step + 2) // (steps + 1))
        fleet.await_done(EVENTS * (step + 1) // (steps + 1))
        kind = step % 5
        if kind == 0:
            backup = hub.backup()
        elif kind == 1:
            hub.ask("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'stet'"
                    " and random() < 0.5")
        elif kind == 2:
            for worker in workers[step % 7::10]:
                worker.agent.process.kill()
        elif kind == 3:
            hub.kill()
            hub.start()
        else:
            hub.replace(backup)


base = tempfile.mkdtemp(prefix="stet-fleet-")
hub = Postgres().start()
workers = []
try:
    machines = [Machine(base, f"machine-{number}", hub.conninfo()) for number in range(MACHINES)]
    fleet = Fleet(machines)
    workers = [Worker(fleet, machines[number % MACHINES], number) for number in range(AGENTS)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    disturb(fleet, hub, workers)
    for worker in workers:
        worker.join()
    wrote = time.monotonic() - began
    claim("no change fails because of the hub", not fleet.failures, "\n".join(fleet.failures[:5]))
    def missing():
        known = set(hub.ask("select convert_from(path, 'utf8') from stet.event").splitlines())
        return fleet.written - known
    claim("every change that was answered arrives", lambda: until(lambda: not missing(), 180),
          lambda: f"missing: {sorted(missing())[:5]}")
    claim("every place sends what it stored, each change once",
          lambda: all(until(lambda: hub.has(machine), 180) for machine in machines),
          lambda: "\n".join(f"{machine.name}: the hub has {hub.events_of(machine)}, the registry {machine.numbered()}"
                            for machine in machines))
    claim("the hub has them in the order of each place", hub.ask(
        "select bool_and(number = before + 1) from (select number, lag(number, 1, 0::bigint) over"
        " (partition by place order by seq) as before from stet.event) as e") == "t")
    claim("and counts them without gaps",
          hub.ask("select count(*) = max(seq) and max(seq) = (select seq from stet.repo) from stet.event") == "t")
    claim("every machine notices each failover, and catches up with all others",
          lambda: all(until(lambda: is_known(hub, machine), 180) for machine in machines))
    stored = hub.ask("select convert_from(path, 'utf8') from stet.event").splitlines()
    known = set(stored)
    claim("none is there twice", len(stored) == len(known))
    # A change is stored some milliseconds after its answer.
    lost = [[path for path in paths if path not in known] for paths in fleet.cut_off]
    claim("kill -9 of an agent loses its last changes at most",
          all(paths[len(paths) - len(gone):] == gone for paths, gone in zip(fleet.cut_off, lost)))
    print(f"# {len(stored)} changes of {AGENTS} agents on {MACHINES} machines, {FAILOVERS} failovers; {len(lost)} agents killed,"
          f" which had not stored {sum(map(len, lost))} changes; {wrote:.0f} s, {time.monotonic() - began:.0f} s until"
          " all was known")
finally:
    for worker in workers:
        worker.agent.kill()
    if lib.failed:
        hub.show_log()
    hub.remove()
    shutil.rmtree(base, ignore_errors=True)
finish()
