"""The shared library: finding it, its functions, its errors."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import pathlib
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Optional, Union

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def _load() -> ctypes.CDLL:
    """STET_LIBRARY, else the library inside the wheel, else the system's."""
    beside = pathlib.Path(__file__).with_name("libstet.so")
    name = os.environ.get("STET_LIBRARY") or (str(beside) if beside.exists() else "libstet.so.0")
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(
            f"stet cannot load its library {name}: {error}. It needs Linux with glibc 2.36 or "
            "later; on another system, build libstet there and set STET_LIBRARY to its path."
        ) from None


library = _load()
Callback = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)

# One letter per parameter: p a handle, s bytes, n a size, N an int64, i an int, o a pointer to a
# result, f a callback, e the error. The first letter is what the function returns.
_FUNCTIONS = {
    "stet_answer_content": "ppo", "stet_answer_diff": "ppo", "stet_answer_commit": "sp",
    "stet_answer_created": "ip", "stet_answer_free": "vp", "stet_answer_full_hash": "sp",
    "stet_answer_first_line": "np", "stet_answer_has_conflict": "ip", "stet_answer_hash": "sp",
    "stet_answer_last_line": "np", "stet_answer_merged": "ip", "stet_answer_message": "sp",
    "stet_answer_noop": "ip", "stet_answer_notice": "spn", "stet_answer_path": "sp",
    "stet_answer_reason": "sp", "stet_answer_status": "sp", "stet_answer_total_lines": "np",
    "stet_call": "ipssnooe", "stet_context_compact": "ipsnooe", "stet_context_free": "vp",
    "stet_context_new": "p", "stet_context_prompt": "ipooe", "stet_context_set": "ipisne",
    "stet_context_set_number": "vpin",
    "stet_error_code": "ip", "stet_error_free": "vp", "stet_error_message": "sp",
    "stet_error_name": "si", "stet_error_new": "p", "stet_free": "vp",
    "stet_instructions_clear": "vp", "stet_instructions_content": "ppno",
    "stet_instructions_count": "np", "stet_instructions_for_path": "ipsoe",
    "stet_instructions_free": "vp", "stet_instructions_if_new": "ipsoe",
    "stet_instructions_index": "ipoe", "stet_instructions_invalidate": "vps",
    "stet_instructions_path": "spn", "stet_instructions_root": "ipoe",
    "stet_manager_check_for_conflict": "ipsoe", "stet_manager_clear_session": "vp",
    "stet_manager_dispatch": "ipie", "stet_manager_fd": "ip", "stet_manager_free": "vp",
    "stet_manager_initialize": "ipe", "stet_manager_instructions_for_path": "ipsoe",
    "stet_manager_instructions_root": "ipoe", "stet_manager_new": "isoe",
    "stet_manager_session": "pp", "stet_manager_stop": "vp",
    "stet_manager_track_read": "ipssne", "stet_record": "ipssnoe",
    "stet_session_check": "ipsoe", "stet_session_close": "vp",
    "stet_session_edit": "ipssnsnsoe", "stet_session_invalidate": "vps",
    "stet_session_modified": "ipse", "stet_session_open": "ipsoe",
    "stet_session_read": "ipsnnoe", "stet_session_track": "ipssne",
    "stet_session_track_read": "ipse", "stet_session_workspace": "pp",
    "stet_session_write": "ipssnsoe", "stet_snapshot_format": "isnnooe",
    "stet_state_flush": "ipe", "stet_state_json": "ipooe", "stet_story_begin": "ipse",
    "stet_task_add": "ipsnNoe", "stet_task_complete": "ipNe", "stet_tool_count": "n",
    "stet_tool_json": "pn", "stet_version": "s", "stet_watcher_dispatch": "ipie",
    "stet_watcher_fd": "ip", "stet_watcher_free": "vp", "stet_watcher_new": "isfpoe",
    "stet_watcher_notice": "pp", "stet_watcher_start": "ipe", "stet_watcher_stop": "vp", "stet_workspace_close": "vp",
    "stet_workspace_open": "isoe", "stet_workspace_root": "sp", "stet_workspace_set": "ipiNe",
}
_TYPES = {"p": c_void_p, "s": c_char_p, "n": c_size_t, "N": c_int64, "i": c_int, "v": None,
          "o": c_void_p, "e": c_void_p, "f": Callback}

for _name, _letters in _FUNCTIONS.items():
    _function = getattr(library, _name)
    _function.restype = _TYPES[_letters[0]]
    _function.argtypes = [_TYPES[letter] for letter in _letters[1:]]

# For the check that agents make before each edit. A function without argtypes converts nothing, which
# takes half as long: its arguments must be bytes, None, or what argument() returns.
session_modified = library["stet_session_modified"]


def argument(pointer: Optional[int]) -> Any:
    """A handle, converted once for all calls."""
    return c_void_p.from_param(pointer)


class StetError(Exception):
    """A call that failed. `code` is its name ("conflict"); the text says what to do next."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> Any:
        return type(self), (self.code, str(self)), self.__dict__


class ConflictError(StetError):
    """A refused change: the file is not the version that the session saw."""

    answer: Any = None


class _Error:
    """The error that the calls of a thread fill; it goes with the thread. A call that succeeds leaves it empty."""

    def __init__(self) -> None:
        self.pointer = library.stet_error_new()
        weakref.finalize(self, library.stet_error_free, self.pointer)


_of_thread = threading.local()


def call(name: str, *arguments: Any) -> int:
    """Call a function whose last parameter is an error; raise StetError if it fails."""
    try:
        err = _of_thread.error.pointer
    except AttributeError:
        _of_thread.error = _Error()
        err = _of_thread.error.pointer
    code = getattr(library, name)(*arguments, err)
    if code < 0:
        kind = library.stet_error_name(code).decode()
        text = library.stet_error_message(err).decode(errors="replace")
        raise (ConflictError if kind == "conflict" else StetError)(kind, text)
    return int(code)


def _encode(path: Path) -> bytes:
    data = os.fsencode(path)
    if b"\0" in data:
        raise ValueError("A path has no NUL.")
    return data


def encode_name(name: str) -> bytes:
    """The name of a tool, a session or a story, or a hash."""
    if not isinstance(name, str):
        raise TypeError(f"A name is str, not {type(name).__name__}.")
    if "\0" in name:
        raise ValueError("A name has no NUL.")
    return name.encode()


def whole(number: int) -> int:
    """A number of lines, tokens and so on; ctypes would cut one that does not fit."""
    value = operator.index(number)
    if not 0 <= value < 1 << 63:
        raise ValueError(f"The number {value} is out of range: it must be a whole one, and not negative.")
    return value


# Agents name the same files again and again. Only strings: an object with a path may change it.
_encode_string = functools.lru_cache(maxsize=1024)(_encode)


def encode(path: Path) -> bytes:
    """A path as the system has it."""
    return _encode_string(path) if type(path) is str else _encode(path)


def text_of(text: Union[str, bytes]) -> bytes:
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"A text is str or bytes, not {type(text).__name__}.")
    return text.encode() if isinstance(text, str) else text


def take(pointer: c_void_p, length: int = -1) -> bytes:
    """Copy a string that the library returned, and free it."""
    try:
        return ctypes.string_at(pointer.value or 0, length)
    finally:
        library.stet_free(pointer)


def sized(name: str, *arguments: Any) -> Union[bytes, None]:
    """Copy a text that a getter returns with its length."""
    length = c_size_t()
    pointer = getattr(library, name)(*arguments, byref(length))
    return ctypes.string_at(pointer, length.value) if pointer else None
