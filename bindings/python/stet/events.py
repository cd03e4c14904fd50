"""Calling dispatch when a descriptor is readable: on the running asyncio loop, or on a thread."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from typing import Any, Callable, Optional

from ._library import StetError, call
from .session import Handle


class Pump:
    """Calls `dispatch` with itself whenever `fd` is readable, until stop()."""

    def __init__(self, fd: int, dispatch: Callable[[Pump], None]) -> None:
        self._fd = fd
        self._dispatch = dispatch
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._thread: Optional[threading.Thread] = None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._start_thread()
        else:
            self._loop.add_reader(fd, dispatch, self)

    def _start_thread(self) -> None:
        self._end, self._ended = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stet-events", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end, select.POLLIN | select.POLLHUP)
        while not any(fd == self._end for fd, _ in poll.poll()):
            self._dispatch(self)
        os.close(self._end)

    def run(self, callback: Callable[..., Any], *arguments: Any) -> None:
        """Call back, and report an exception as the loop or the thread does, so that it costs no other event."""
        try:
            callback(*arguments)
        except Exception as error:
            if self._loop:
                self._loop.call_exception_handler({"message": "Exception in a callback of stet", "exception": error})
            else:
                thread = threading.current_thread()
                threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))

    def stop(self) -> None:
        """Dispatch no more; call it once. The thread may still be in a dispatch."""
        if self._thread:
            os.close(self._ended)
        elif self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)

    def join(self) -> None:
        """Wait for the thread, unless this is it. Hold no lock that a dispatch takes."""
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()


class Watching(Handle):
    """An object of the library with events, which it reports while a pump runs."""

    _pump: Optional[Pump] = None

    def _begin(self, fd: int) -> None:
        self._pump = Pump(fd, self._dispatch)

    def _end(self) -> Optional[Pump]:
        """Stop the pump, with the lock held, before its descriptor is closed. Join it afterwards, without the lock."""
        pump, self._pump = self._pump, None
        if pump:
            pump.stop()
        return pump

    def _dispatch(self, pump: Pump) -> None:
        raise NotImplementedError

    def _receive(self, function: str) -> Optional[StetError]:
        """Read the events that there are. If that is impossible, because the directory is gone, it ends the pump."""
        try:
            call(function, self._pointer, 0)
        except StetError as error:
            self._end()
            return error
        return None
