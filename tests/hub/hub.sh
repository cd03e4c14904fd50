#!/bin/sh
# Machines, agents and a real PostgreSQL: tests/hub/hub.py.
exec python3 "$(dirname "$0")/hub.py"
