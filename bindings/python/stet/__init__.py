"""stet: a file layer between coding agents and a repository."""

from ._library import ConflictError, StetError, library as _lib
from .file_state import (AgentsMdLoader, AgentsMdResult, ConflictResult, FileStateManager,
                         FileTracker, FileWatcher, edit_file, file_tracker, read_file)
from .repo_state import (FileMeta, RepoState, Task, Tracker, build_snapshot_prompt,
                         format_for_prompt)
from .session import Answer, Session, Workspace, tools

__version__: str = _lib.stet_version().decode()
__all__ = [
    "AgentsMdLoader", "AgentsMdResult", "Answer", "ConflictError", "ConflictResult", "FileMeta",
    "FileStateManager", "FileTracker", "FileWatcher", "RepoState", "Session", "StetError", "Task",
    "Tracker", "Workspace", "build_snapshot_prompt", "edit_file", "file_tracker",
    "format_for_prompt", "read_file", "tools",
]
