"""The state of the work: what is done, what is left, as data and as a prompt."""

from __future__ import annotations

import json
from ctypes import byref, c_int64, c_size_t, c_void_p
from dataclasses import asdict, dataclass, field
from typing import Any, Optional

from ._library import Path, call, encode_name, library, take, whole
from .session import Session


@dataclass
class FileMeta:
    path: str
    hash: str = ""
    size: int = 0
    mod_time: str = ""
    type: str = ""
    status: str = ""  # created, modified, unchanged; nothing is said of a file that nobody looked at


@dataclass
class Task:
    description: str
    status: str = "pending"
    priority: int = 0
    id: int = 0


@dataclass
class RepoState:
    work_dir: str = ""
    files: list[FileMeta] = field(default_factory=list)
    open_tasks: list[Task] = field(default_factory=list)
    last_updated: str = ""
    story_id: str = ""


def _pick(cls: Any, data: dict[str, Any]) -> Any:
    return cls(**{key: value for key, value in data.items() if key in cls.__dataclass_fields__})


class Tracker:
    """Records what tools did, and gives the state as it is on disk now."""

    def __init__(self, work_dir: Path = ".", story_id: Optional[str] = None) -> None:
        self.session = Session(work_dir, "tracker")
        if story_id:
            with self.session._lock:
                call("stet_story_begin", self._workspace, encode_name(story_id))

    @property
    def _workspace(self) -> Any:
        return library.stet_session_workspace(self.session._pointer)

    def update_from_tool_result(self, tool_name: str, result: dict[str, Any]) -> None:
        """Record a call of any tool: its result, its arguments, or both."""
        data = json.dumps(result).encode()
        with self.session._lock:
            call("stet_record", self.session._pointer, encode_name(tool_name), data, len(data), None)

    def add_task(self, description: str, priority: int = 0) -> int:
        """Add a task. Returns its number."""
        data, number = description.encode(), c_int64()
        with self.session._lock:
            call("stet_task_add", self._workspace, data, len(data), whole(priority), byref(number))
        return number.value

    def complete_task(self, number: int) -> None:
        with self.session._lock:
            call("stet_task_complete", self.session._pointer, whole(number))

    def get_snapshot(self) -> RepoState:
        out, length = c_void_p(), c_size_t()
        with self.session._lock:
            call("stet_state_json", self.session._pointer, byref(out), byref(length))
        data = json.loads(take(out, length.value))
        state: RepoState = _pick(RepoState, data)
        state.files = [_pick(FileMeta, one) for one in data["files"]]
        state.open_tasks = [_pick(Task, one) for one in data["open_tasks"]]
        return state

    def persist(self) -> None:
        """Write repostate.json now; otherwise stet writes it within a second."""
        with self.session._lock:
            call("stet_state_flush", self._workspace)

    def load(self) -> None:
        """Check that the stored state can be read. Every snapshot reads it."""
        self.get_snapshot()

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def format_for_prompt(state: RepoState, budget: int = 0) -> str:
    """The state as text for a model, within `budget` tokens (500)."""
    data = asdict(state)
    for task in data["open_tasks"]:
        if not task["id"]:
            del task["id"]
    text = json.dumps(data).encode()
    out, length = c_void_p(), c_size_t()
    call("stet_snapshot_format", text, len(text), whole(budget), byref(out), byref(length))
    return take(out, length.value).decode(errors="replace")


def build_snapshot_prompt(template: str, state: RepoState, additional_context: str = "") -> list[dict[str, Any]]:
    """A prompt of template, snapshot and request, as messages of chat completions."""
    context = library.stet_context_new()
    try:
        for number, text in enumerate([format_for_prompt(state), template]):
            call("stet_context_set", context, number, text.encode(), len(text.encode()))
        more = additional_context.encode()
        call("stet_context_set", context, 3, more, len(more))
        out, length = c_void_p(), c_size_t()
        call("stet_context_prompt", context, byref(out), byref(length))
        messages: list[dict[str, Any]] = json.loads(take(out, length.value))
        return messages
    finally:
        library.stet_context_free(context)
