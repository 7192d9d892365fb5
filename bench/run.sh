#!/bin/sh
# sluice and its peers side by side: see bench/compare.py. `make bench` builds and installs what it needs.
#   bench/run.sh [--rows N] [--skew recent] [--runs N] [--without spark,paimon,...] ...
cd "$(dirname "$0")/.." || exit 1
exec "${SLUICE_PEER_HOME:-$HOME/.cache/sluice-peer}/venv/bin/python" bench/compare.py "$@"
