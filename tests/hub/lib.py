"""A private PostgreSQL, machines with agents, and claims printed as TAP."""

import contextlib
import glob
import json
import os
import pwd
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

STET = os.environ.get("STET")
count = failed = 0


def claim(name, holds, why=""):
    """Print a claim; `holds` is a value or a function that may raise AssertionError. `why` may be a function, too."""
    global count, failed
    count += 1
    try:
        holds = holds() is not False if callable(holds) else bool(holds)
    except AssertionError as error:
        holds, why = False, str(error)
    failed += not holds
    print(f"{'ok' if holds else 'not ok'} {count} - {name}", flush=True)
    for line in str(why() if callable(why) else why).splitlines() if not holds else []:
        print(f"# {line}", flush=True)
    return holds


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def finish():
    print(f"1..{count}")
    sys.exit(1 if failed else 0)


def until(what, seconds=60):
    """Ask until it is true: the hub is asked behind the answers. Returns the last value."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        select.select([], [], [], 0.05)


def state_of(pid):
    """The state of a process as in /proc: T if it is stopped, Z if it has ended, X if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


class Postgres:
    """A server of its own, as an unprivileged user, on a Unix socket only."""

    def __init__(self, data=None):
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        self.bin = binaries[-1]
        self.dir = tempfile.mkdtemp(prefix="stet-postgres-", dir="/tmp")
        self.user = []
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.dir, nobody.pw_uid, nobody.pw_gid)
            self.user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        self.data, self.process, self.copies = data or f"{self.dir}/data", None, []
        if not data:
            self.run("initdb", "-D", self.data, "-U", "stet", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    @staticmethod
    def is_there():
        return bool(glob.glob("/usr/lib/postgresql/*/bin/postgres")) and shutil.which("setpriv")

    def env(self):
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

    def run(self, program, *args):
        subprocess.run([*self.user, f"{self.bin}/{program}", *args], env=self.env(), cwd="/", check=True,
                       stdout=subprocess.DEVNULL)

    def start(self):
        self.log = open(f"{self.dir}/log", "ab")
        self.process = subprocess.Popen(
            [*(self.user or ["setpriv"]), "--pdeathsig", "KILL", f"{self.bin}/postgres", "-D", self.data, "-c", "listen_addresses=", "-c",
             f"unix_socket_directories={self.dir}", "-c", "fsync=off", "-c", "full_page_writes=off", "-c",
             "shared_buffers=16MB", "-c", "max_connections=200"],
            env=self.env(), cwd="/", stdout=self.log, stderr=self.log)
        assert until(lambda: self.ask("select 1", check=False) == "1"), open(f"{self.dir}/log").read()
        return self

    def conninfo(self):
        return f"host={self.dir} user=stet dbname=postgres connect_timeout=2"

    def ask(self, sql, check=True):
        done = subprocess.run([f"{self.bin}/psql", "-h", self.dir, "-U", "stet", "-d", "postgres", "-XAtc", sql],
                              env=self.env(), capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip()

    def events_of(self, machine):
        """What the hub has of a machine: how many events, how many different numbers, the last number."""
        return self.ask("select count(*), count(distinct e.number), coalesce(max(e.number), 0) from stet.event e"
                        f" join stet.place p on p.id = e.place where convert_from(p.path, 'utf8') = '{machine.clone}'",
                        check=False)

    def has(self, machine, count=None):
        """Whether it has so many events of a machine, each once, and the last; by default all that it numbered."""
        last = machine.numbered()
        return self.events_of(machine) == f"{last if count is None else count}|{last if count is None else count}|{last}"

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
            self.process = None

    def kill(self):
        """kill -9 of the server and of its backends, which would otherwise outlive it; stopped, it starts no more."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: state_of(self.process.pid) in "TZ")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        self.process.kill()
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process = None
        # The next server does not start while one of them still uses the memory that they shared.
        until(lambda: all(state_of(pid) in "ZX" for pid in children))

    def backup(self):
        """A copy of the server as it is now, not started."""
        copy = tempfile.mkdtemp(prefix="stet-postgres-", dir="/tmp")
        self.copies.append(copy)
        if self.user:
            nobody = pwd.getpwnam("nobody")
            os.chown(copy, nobody.pw_uid, nobody.pw_gid)
        self.run("pg_basebackup", "-h", self.dir, "-U", "stet", "-D", f"{copy}/data", "-c", "fast", "-X", "stream",
                 "--no-sync")
        return f"{copy}/data"

    def replace(self, data):
        """The server dies, and one that was restored from an older backup takes its place."""
        self.kill()
        self.data = data
        self.start()

    def show_log(self):
        with open(f"{self.dir}/log", errors="replace") as file:
            for line in file.read().splitlines()[-30:]:
                print(f"# {line}")

    def remove(self):
        if self.process and self.process.poll() is None:
            self.kill()
        for directory in [self.dir, *self.copies]:
            shutil.rmtree(directory, ignore_errors=True)


def git(directory, *args):
    subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.org", *args],
                   check=True, capture_output=True)


class Machine:
    """A user's state directory of its own, with a clone of the repository."""

    def __init__(self, base, name, conninfo, origin="https://git.example/team/hello.git", project=None):
        self.name, self.home = name, f"{base}/{name}"
        self.clone = f"{self.home}/hello"
        os.makedirs(f"{self.home}/config/stet")
        os.makedirs(self.clone)
        with open(f"{self.home}/config/stet/config.json", "w") as file:
            config = {"hub": conninfo, "project": project and {origin or self.clone: project}}
            json.dump({key: value for key, value in config.items() if value}, file)
        git(self.clone, "init", "-q", "-b", "main")
        if origin:
            git(self.clone, "remote", "add", "origin", origin)
        with open(f"{self.clone}/a.txt", "w") as file:
            file.write("".join(f"line {n}\n" for n in range(1, 21)))
        git(self.clone, "add", ".")
        git(self.clone, "commit", "-qm", "first", "--date", "2026-01-01T00:00:00Z")
        self.env = {**os.environ, "HOME": self.home, "XDG_STATE_HOME": f"{self.home}/state",
                    "XDG_CONFIG_HOME": f"{self.home}/config"}
        self.env.pop("STET_SESSION", None)

    def stet(self, *args):
        return subprocess.run([STET, *args], cwd=self.clone, env=self.env, capture_output=True, text=True)

    def who(self):
        done = self.stet("--json", "who")
        return json.loads(done.stdout) if done.stdout.startswith("{") else {"places": []}

    def numbered(self):
        """How many events this machine's own registry has numbered; changes in quick succession are one."""
        path = f"{self.home}/state/stet/places/stet.db"
        if not os.path.exists(path):
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            if not db.execute("select 1 from sqlite_schema where name = 'place'").fetchone():
                return 0
            row = db.execute("select number from place where cast(path as text) = ?", (self.clone,)).fetchone()
        return row[0] if row else 0

    def others(self):
        """The files that are changed at places of other machines: path to place."""
        return {file["path"]: place for place in self.who()["places"] if place.get("otherMachine")
                for file in place["files"]}


class Agent:
    """A stet mcp on a machine."""

    def __init__(self, machine, name="agent"):
        self.machine, self.number = machine, 0
        self.process = subprocess.Popen([STET, "mcp"], cwd=machine.clone, env=machine.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                 "clientInfo": {"name": name, "version": "1"}})
        self.process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def send(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                                             "params": params}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def result(self, tool, **arguments):
        return self.send("tools/call", {"name": tool, "arguments": arguments})["result"]

    def call(self, tool, **arguments):
        result = self.result(tool, **arguments)
        return "\n".join(block.get("text", "") for block in result["content"])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
