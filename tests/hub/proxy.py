"""A proxy before a PostgreSQL server, which makes it far away, or deaf.

usage: proxy.py SECONDS COMMAND...  run a command with the connection string of a server of its own
                                    appended, whose answers take that long in each direction
"""

import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time


class Proxy:
    """Listens on a Unix socket of its own. With `server` None it accepts, and never answers."""

    def __init__(self, server=None, delay=0.0):
        self.server, self.delay, self.accepted = server, delay, 0
        self.dir = tempfile.mkdtemp(prefix="stet-proxy-", dir="/tmp")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.dir}/.s.PGSQL.5432")
        self.listener.listen(100)
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def conninfo(self):
        return f"host={self.dir} user=stet dbname=postgres"

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            self.open.append(client)
            if self.server:
                self.join(client)

    def join(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(f"{self.server}/.s.PGSQL.5432")
        except OSError:
            client.close()
            return
        self.open.append(server)
        for source, target in ((client, server), (server, client)):
            waiting = queue.SimpleQueue()
            threading.Thread(target=self.read, args=(source, waiting), daemon=True).start()
            threading.Thread(target=self.write, args=(target, waiting), daemon=True).start()

    def read(self, source, waiting):
        data = b"more"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self.delay, data))

    @staticmethod
    def write(target, waiting):
        while True:
            at, data = waiting.get()
            time.sleep(max(0.0, at - time.monotonic()))
            try:
                if not data:
                    target.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(data)
            except OSError:
                return

    def close(self):
        self.listener.close()
        for end in self.open:
            end.close()
        os.unlink(f"{self.dir}/.s.PGSQL.5432")
        os.rmdir(self.dir)


def main():
    from lib import Postgres

    if not Postgres.is_there():
        return subprocess.run(sys.argv[2:], check=False).returncode
    hub = Postgres().start()
    far = Proxy(hub.dir, float(sys.argv[1]))
    try:
        return subprocess.run([*sys.argv[2:], far.conninfo()], check=False).returncode
    finally:
        far.close()
        hub.remove()


if __name__ == "__main__":
    sys.exit(main())
