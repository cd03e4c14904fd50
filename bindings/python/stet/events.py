"""Calling dispatch when a descriptor is readable: on the running asyncio loop, or on a thread."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from typing import Callable, Optional


class Pump:
    """Calls `dispatch` whenever `fd` is readable, until stop()."""

    def __init__(self, fd: int, dispatch: Callable[[], None]) -> None:
        self._fd = fd
        self._dispatch = dispatch
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._thread: Optional[threading.Thread] = None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._start_thread()
        else:
            self._loop.add_reader(fd, dispatch)

    def _start_thread(self) -> None:
        self._end, self._ended = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stet-events", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end, select.POLLIN | select.POLLHUP)
        while not any(fd == self._end for fd, _ in poll.poll()):
            self._dispatch()

    def stop(self) -> None:
        if self._loop:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._fd)
            self._loop = None
        elif self._thread:
            os.close(self._ended)
            if self._thread is not threading.current_thread():
                self._thread.join()
            os.close(self._end)
            self._thread = None
