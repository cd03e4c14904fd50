#!/bin/sh
# Places that share their tasks through a real PostgreSQL: tests/hub/tasks.py.
exec python3 "$(dirname "$0")/tasks.py"
