"""For bench/bindings.c: 1,000 checks for each line."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
import stet  # noqa: E402

tracker = stet.FileTracker(".")
tracker.track_read("tracked.c")
while os.read(0, 1):
    for _ in range(1000):
        assert not tracker.has_been_modified_since_read("tracked.c")
    os.write(1, b"\n")
