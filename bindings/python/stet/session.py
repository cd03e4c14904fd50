"""Workspaces, sessions, answers and tools."""

from __future__ import annotations

import json
import os
import threading
import weakref
from ctypes import byref, c_size_t, c_void_p
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from ._library import (ConflictError, Path, StetError, argument, call, encode, encode_name, library,
                       session_modified, sized, take, text_of, whole)


@dataclass(frozen=True)
class Answer:
    """The result of a call on a session. Fields that a call does not fill are None, False or empty."""

    status: str
    path: Optional[str]
    reason: Optional[str] = None
    message: Optional[str] = None
    hash: Optional[str] = None
    content: Optional[bytes] = None
    diff: Optional[bytes] = None
    commit: Optional[str] = None
    noop: bool = False
    created: bool = False
    merged: bool = False
    first_line: int = 0
    last_line: int = 0
    total_lines: int = 0
    notices: list[str] = field(default_factory=list)

    @property
    def has_conflict(self) -> bool:
        return self.reason is not None

    @property
    def text(self) -> str:
        """The content as text; bytes that are not UTF-8 become U+FFFD."""
        return (self.content or b"").decode(errors="replace")


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode(errors="replace")


def _notices(answer: Any) -> list[str]:
    notices: list[str] = []
    while (notice := library.stet_answer_notice(answer, len(notices))) is not None:
        notices.append(notice.decode(errors="replace"))
    return notices


def take_answer(answer: c_void_p) -> Answer:
    """Copy an answer, and free it."""
    path = library.stet_answer_path(answer)
    try:
        return Answer(
            status=_text(library.stet_answer_status(answer)) or "",
            path=None if path is None else os.fsdecode(path),
            reason=_text(library.stet_answer_reason(answer)),
            message=_text(library.stet_answer_message(answer)),
            hash=_text(library.stet_answer_hash(answer)),
            content=sized("stet_answer_content", answer),
            diff=sized("stet_answer_diff", answer),
            commit=_text(library.stet_answer_commit(answer)),
            noop=bool(library.stet_answer_noop(answer)),
            created=bool(library.stet_answer_created(answer)),
            merged=bool(library.stet_answer_merged(answer)),
            first_line=library.stet_answer_first_line(answer),
            last_line=library.stet_answer_last_line(answer),
            total_lines=library.stet_answer_total_lines(answer),
            notices=_notices(answer),
        )
    finally:
        library.stet_answer_free(answer)


class Handle:
    """An object of the library: used by one thread at a time, freed once."""

    def __init__(self, pointer: Optional[int], free: Any) -> None:
        self._pointer = pointer
        self._argument = argument(pointer)
        self._lock = threading.RLock()
        self._finalizer = weakref.finalize(self, free, pointer)

    def close(self) -> None:
        """Free it. A closed object refuses every call."""
        with self._lock:
            self._pointer = self._argument = None
            self._finalizer()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"A {type(self).__name__} cannot be copied or pickled: open another one.")


class Workspace(Handle):
    """A root directory. No path leads out of it."""

    OPTIONS = {
        "durable": 0, "max_file": 1, "max_diff": 2, "max_bases": 3, "require_read": 4, "merge": 5,
        "agents": 6, "agents_builtin": 7, "agents_gitignore": 8, "agents_budget": 9, "state": 10,
        "read_only": 11, "page_bytes": 12, "hash_proves": 13, "structured": 14, "use_snapshot": 15,
        "version_days": 16, "hook": 17, "vault": 18,
    }

    def __init__(self, root: Path = ".", **options: int) -> None:
        out = c_void_p()
        call("stet_workspace_open", encode(root), byref(out))
        super().__init__(out.value, library.stet_workspace_close)
        for name, value in options.items():
            if name not in self.OPTIONS:
                raise TypeError(f"There is no option {name}; options are {', '.join(self.OPTIONS)}.")
            call("stet_workspace_set", self._pointer, self.OPTIONS[name], whole(value))

    @property
    def root(self) -> str:
        """The absolute path, with symbolic links resolved."""
        with self._lock:
            return os.fsdecode(library.stet_workspace_root(self._pointer) or b"")

    def session(self, name: Optional[str] = None) -> "Session":
        return Session(self, name)


class Session(Handle):
    """One agent's view of a workspace: which versions of which files it has seen."""

    def __init__(self, workspace: Union[Workspace, Path] = ".", name: Optional[str] = None) -> None:
        if not isinstance(workspace, Workspace):
            with Workspace(workspace) as own:
                self.__init__(own, name)  # type: ignore[misc]
            return
        out = c_void_p()
        name_bytes = None if name is None else encode_name(name)
        with workspace._lock:
            call("stet_session_open", workspace._pointer, name_bytes, byref(out))
        super().__init__(out.value, library.stet_session_close)

    @property
    def root(self) -> str:
        with self._lock:
            space = library.stet_session_workspace(self._pointer)
            return os.fsdecode(library.stet_workspace_root(space) or b"")

    def _ask(self, function: str, path: Path, *arguments: Any) -> Answer:
        out = c_void_p()
        with self._lock:
            try:
                call(function, self._pointer, encode(path), *arguments, byref(out))
            except ConflictError as error:
                error.answer = take_answer(out)
                raise
        return take_answer(out)

    def read(self, path: Path, first: int = 0, count: int = 0) -> Answer:
        """Read lines of a file (all by default) and record them as seen."""
        return self._ask("stet_session_read", path, whole(first), whole(count))

    def write(self, path: Path, content: Union[str, bytes], expected_hash: Optional[str] = None) -> Answer:
        """Write a whole file, or create it. Raises ConflictError if it changed since it was read."""
        data = text_of(content)
        expected = None if expected_hash is None else encode_name(expected_hash)
        return self._ask("stet_session_write", path, data, len(data), expected)

    def edit(self, path: Path, old: Union[str, bytes], new: Union[str, bytes],
             expected_hash: Optional[str] = None) -> Answer:
        """Replace a text that occurs exactly once. Raises ConflictError as write() does."""
        before, after = text_of(old), text_of(new)
        expected = None if expected_hash is None else encode_name(expected_hash)
        return self._ask("stet_session_edit", path, before, len(before), after, len(after), expected)

    def check(self, path: Path) -> Answer:
        """Compare a file with the version that was seen: untracked, clean, modified or deleted."""
        return self._ask("stet_session_check", path)

    def track_read(self, path: Path) -> None:
        with self._lock:
            call("stet_session_track_read", self._pointer, encode(path))

    def track(self, path: Path, content: Union[str, bytes]) -> None:
        data = text_of(content)
        with self._lock:
            call("stet_session_track", self._pointer, encode(path), data, len(data))

    def modified(self, path: Path) -> bool:
        # Without an error, which is asked for when there is one.
        name = encode(path)
        with self._lock:
            code: int = session_modified(self._argument, name, None)
        return code == 1 if code >= 0 else bool(self._failed(name))

    def _failed(self, name: bytes) -> int:
        """Ask again, for the error."""
        with self._lock:
            return call("stet_session_modified", self._pointer, name)

    def invalidate(self, path: Path) -> None:
        with self._lock:
            library.stet_session_invalidate(self._pointer, encode(path))

    def call(self, tool: str, arguments: Optional[dict[str, Any]] = None, **more: Any) -> dict[str, Any]:
        """Run a tool of the table. Returns an MCP result: `content`, perhaps `isError`.

        A tool that refuses returns its result; only an unknown tool raises.
        """
        args = json.dumps({**(arguments or {}), **more}).encode()
        out, length = c_void_p(), c_size_t()
        with self._lock:
            try:
                call("stet_call", self._pointer, encode_name(tool), args, len(args), byref(out), byref(length))
            except StetError:
                if not out.value:
                    raise
        result: dict[str, Any] = json.loads(take(out, length.value))
        return result


def tools() -> list[dict[str, Any]]:
    """The table of tools, each as an entry of MCP's tools/list."""
    return [json.loads(take(c_void_p(library.stet_tool_json(i))))
            for i in range(library.stet_tool_count())]
