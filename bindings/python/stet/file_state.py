"""The classes of the file state specification: trackers, AGENTS.md, watchers, and a manager of all three."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Optional, Union

from ._library import Callback, Path, StetError, call, encode, library, sized, take, text_of
from .events import Pump, Watching
from .session import Answer, Session, take_answer


@dataclass(frozen=True)
class ConflictResult:
    has_conflict: bool
    reason: Optional[str] = None
    message: Optional[str] = None
    current_content: Optional[str] = None


@dataclass(frozen=True)
class AgentsMdResult:
    path: str
    content: str


def _conflict(answer: Answer) -> ConflictResult:
    if not answer.has_conflict:
        return ConflictResult(False)
    content = None if answer.content is None else answer.text
    return ConflictResult(True, answer.reason, answer.message, content)


def _take_list(instructions: c_void_p, root: str) -> list[AgentsMdResult]:
    """Copy a list of AGENTS.md files without those that were deleted, and free it."""
    try:
        found = []
        for i in range(library.stet_instructions_count(instructions)):
            content = sized("stet_instructions_content", instructions, i)
            path = os.fsdecode(library.stet_instructions_path(instructions, i))
            if content is not None:
                found.append(AgentsMdResult(os.path.join(root, path), content.decode(errors="replace")))
        return found
    finally:
        library.stet_instructions_free(instructions)


class FileTracker:
    """Knows which versions of files an agent has read, and which of them others changed."""

    def __init__(self, root: Path = ".") -> None:
        self.session = Session(root)

    def track_read(self, path: Path) -> None:
        self.session.track_read(path)

    def has_been_modified_since_read(self, path: Path) -> bool:
        return self.session.modified(path)

    def track(self, path: Path, content: Union[str, bytes]) -> None:
        self.session.track(path, content)

    def invalidate(self, path: Path) -> None:
        self.session.invalidate(path)

    def check_conflict(self, path: Path) -> ConflictResult:
        return _conflict(self.session.check(path))

    def get_agents_md_if_new(self, path: Path) -> Optional[str]:
        """The instructions in the file's own directory, unless this session has them."""
        out = c_void_p()
        with self.session._lock:
            call("stet_instructions_if_new", self.session._pointer, encode(path), byref(out))
        return take(out).decode(errors="replace") if out.value else None

    def clear_session(self) -> None:
        with self.session._lock:
            library.stet_instructions_clear(self.session._pointer)

    def read_file(self, path: Path) -> str:
        """Read a whole file and record it as seen."""
        return self.session.read(path).text

    def edit_file(self, path: Path, old: Union[str, bytes], new: Union[str, bytes]) -> str:
        """Replace a text, or create a file if `old` is empty. Returns the sentence for the model."""
        path_bytes, before, data = encode(path), text_of(old), text_of(new)
        try:
            with self.session._lock:
                # No answer: lines that the sentence does not show do not count as seen.
                if before:
                    call("stet_session_edit", self.session._pointer, path_bytes, before, len(before),
                         data, len(data), None, None)
                else:
                    call("stet_session_write", self.session._pointer, path_bytes, data, len(data), None, None)
        except StetError as error:
            return f"Error: {error}"
        return f'Updated file "{os.fsdecode(path)}"'

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> "FileTracker":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AgentsMdLoader:
    """Delivers AGENTS.md files, each once per session."""

    def __init__(self, working_dir: Path = ".") -> None:
        self._dir = os.path.abspath(os.fsdecode(working_dir))
        self.session = Session(working_dir)

    def index(self) -> list[str]:
        """List every AGENTS.md below the directory. Nothing depends on this list."""
        out = c_void_p()
        with self.session._lock:
            space = library.stet_session_workspace(self.session._pointer)
            call("stet_instructions_index", space, byref(out))
        try:
            paths = [library.stet_instructions_path(out, i)
                     for i in range(library.stet_instructions_count(out))]
            return [os.path.join(self._dir, os.fsdecode(path)) for path in paths]
        finally:
            library.stet_instructions_free(out)

    def get_for_path(self, path: Path) -> list[AgentsMdResult]:
        """The new instructions for a file, the root's first."""
        out = c_void_p()
        with self.session._lock:
            call("stet_instructions_for_path", self.session._pointer, encode(path), byref(out))
        return _take_list(out, self._dir)

    def get_root(self) -> Optional[str]:
        out = c_void_p()
        with self.session._lock:
            call("stet_instructions_root", self.session._pointer, byref(out))
        found = _take_list(out, self._dir)
        return "\n".join(one.content for one in found) if found else None

    def invalidate(self, path: Path) -> None:
        with self.session._lock:
            space = library.stet_session_workspace(self.session._pointer)
            library.stet_instructions_invalidate(space, encode(path))

    def clear_session(self) -> None:
        with self.session._lock:
            library.stet_instructions_clear(self.session._pointer)

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> "AgentsMdLoader":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class FileWatcher(Watching):
    """Calls back with (absolute path, "add" | "change" | "unlink").

    Started inside a running asyncio loop, it calls back on that loop; otherwise on a thread of its own.
    It warns if it has to poll a directory, and if it ends because its directory was deleted.
    """

    def __init__(self, working_dir: Path, on_file_change: Optional[Callable[[str, str], None]] = None) -> None:
        if on_file_change is not None and not callable(on_file_change):
            raise TypeError("The callback must be a function.")
        self._dir = os.path.abspath(os.fsdecode(working_dir))
        self._on_file_change = on_file_change
        self._events: Optional[asyncio.Queue[Union[tuple[str, str], StetError, None]]] = None
        self._changed: list[tuple[str, str]] = []
        changed = self._changed

        def collect(_: Any, path: bytes, event: bytes) -> None:
            changed.append((os.fsdecode(path), event.decode()))

        self._callback = Callback(collect)
        out = c_void_p()
        call("stet_watcher_new", encode(working_dir), self._callback, None, byref(out))
        super().__init__(out.value, library.stet_watcher_free)

    def start(self) -> None:
        with self._lock:
            call("stet_watcher_start", self._pointer)
            self._begin(library.stet_watcher_fd(self._pointer))
            notices = self._take_notices()
        for notice in notices:
            warnings.warn(notice, RuntimeWarning, stacklevel=2)

    def _take_notices(self) -> list[str]:
        notices = []
        while pointer := library.stet_watcher_notice(self._pointer):
            notices.append(take(c_void_p(pointer)).decode(errors="replace"))
        return notices

    def _dispatch(self, pump: Pump) -> None:
        with self._lock:
            if self._pump is not pump:
                return
            error = self._receive("stet_watcher_dispatch")
            changed = self._changed[:]
            self._changed.clear()
            notices = self._take_notices()
        for path, event in changed:
            # A callback may stop.
            if self._pump is pump or error:
                pump.run(self._on_change, os.path.join(self._dir, path), event)
        if error and self._events:
            self._events.put_nowait(error)
        elif error and not notices:
            notices.append(str(error))
        for notice in notices:
            pump.run(warnings.warn, notice, RuntimeWarning)

    def _on_change(self, path: str, event: str) -> None:
        if self._events:
            self._events.put_nowait((path, event))
        if self._on_file_change:
            self._on_file_change(path, event)

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """Start, and yield (path, event) for each change until stop() or close().

        Raises StetError if the watcher ends by itself, because its directory was deleted.
        """
        self.start()
        events = self._events = asyncio.Queue()
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, StetError):
                    raise event
                yield event
        finally:
            self._events = None
            self.stop()

    def stop(self) -> None:
        """No callback comes after it. The watcher can be started again."""
        with self._lock:
            pump = self._end()
            library.stet_watcher_stop(self._pointer)
        if pump:
            pump.join()
        if self._events:
            self._events.put_nowait(None)

    def close(self) -> None:
        self.stop()
        super().close()


class FileStateManager(Watching):
    """A tracker, a loader and a watcher in one: a file that others change is no longer tracked."""

    def __init__(self, working_dir: Path = ".") -> None:
        self._dir = os.path.abspath(os.fsdecode(working_dir))
        out = c_void_p()
        call("stet_manager_new", encode(working_dir), byref(out))
        super().__init__(out.value, library.stet_manager_free)

    def initialize(self) -> None:
        """Begin to watch, on the running asyncio loop or on a thread."""
        with self._lock:
            call("stet_manager_initialize", self._pointer)
            self._begin(library.stet_manager_fd(self._pointer))

    def _dispatch(self, pump: Pump) -> None:
        with self._lock:
            error = self._receive("stet_manager_dispatch") if self._pump is pump else None
        if error:
            pump.run(warnings.warn, str(error), RuntimeWarning)

    def track_read(self, path: Path, content: Union[str, bytes]) -> None:
        data = text_of(content)
        with self._lock:
            call("stet_manager_track_read", self._pointer, encode(path), data, len(data))

    def check_for_conflict(self, path: Path) -> ConflictResult:
        out = c_void_p()
        with self._lock:
            call("stet_manager_check_for_conflict", self._pointer, encode(path), byref(out))
        return _conflict(take_answer(out))

    def get_agents_md_for_path(self, path: Path) -> list[AgentsMdResult]:
        out = c_void_p()
        with self._lock:
            call("stet_manager_instructions_for_path", self._pointer, encode(path), byref(out))
        return _take_list(out, self._dir)

    def get_root_agents_md(self) -> Optional[str]:
        out = c_void_p()
        with self._lock:
            call("stet_manager_instructions_root", self._pointer, byref(out))
        found = _take_list(out, self._dir)
        return "\n".join(one.content for one in found) if found else None

    def clear_session(self) -> None:
        with self._lock:
            library.stet_manager_clear_session(self._pointer)

    def dispose(self) -> None:
        """Stop watching; the tracker still answers."""
        with self._lock:
            pump = self._end()
            library.stet_manager_stop(self._pointer)
        if pump:
            pump.join()

    def close(self) -> None:
        self.dispose()
        super().close()


class _Default(FileTracker):
    """The tracker of the working directory, opened at its first use."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._opened: Optional[Session] = None

    @property
    def session(self) -> Session:  # type: ignore[override]
        with self._opening:
            if self._opened is None:
                self._opened = Session()
            return self._opened


file_tracker: FileTracker = _Default()


def read_file(path: Path) -> str:
    return file_tracker.read_file(path)


def edit_file(path: Path, old: Union[str, bytes], new: Union[str, bytes]) -> str:
    return file_tracker.edit_file(path, old, new)
