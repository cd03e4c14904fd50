#!/bin/sh
# Eight machines, fifty agents and a hub that fails: tests/hub/fleet.py.
exec python3 "$(dirname "$0")/fleet.py"
