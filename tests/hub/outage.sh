#!/bin/sh
# A hub that is far away, silent or gone: tests/hub/outage.py.
exec python3 "$(dirname "$0")/outage.py"
