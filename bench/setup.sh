#!/bin/sh
# Peers that only the benches need, beside those of tools/peer/setup.sh: numpy (make_data.py) and delta-rs in the same venv,
# pypaimon in one of its own, since it needs an older pyarrow. Quick when nothing is missing.
set -eu
HOME_DIR=${SLUICE_PEER_HOME:-$HOME/.cache/sluice-peer}
PYTHON=${SLUICE_PYTHON:-python3}
EXTRA="numpy==2.4.6 deltalake==1.6.6"
PAIMON="pypaimon==2.1.0"

install() { # venv, packages: the list of pins doubles as the stamp
    [ "$(cat "$1/bench.stamp" 2>/dev/null || true)" != "$2" ] || return 0
    # shellcheck disable=SC2086
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check $2
    echo "$2" >"$1/bench.stamp"
}

install "$HOME_DIR/venv" "$EXTRA"
[ -x "$HOME_DIR/paimon/bin/python" ] || "$PYTHON" -m venv "$HOME_DIR/paimon"
install "$HOME_DIR/paimon" "$PAIMON" || echo "bench: pypaimon could not be installed, it is left out" >&2
