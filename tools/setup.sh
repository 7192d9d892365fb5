#!/bin/sh
# Installs what is missing on a Debian 12 (or a kin of it), and nothing else. Quick when nothing is missing.
#
#   tools/setup.sh           what the build needs
#   tools/setup.sh demo      and what `make demo` needs (Python, to fetch the demo's data)
#   tools/setup.sh test      and what `make test` needs: cmocka, Python, Java, Maven, and the peers (tools/peer/setup.sh):
#                            real Apache Hudi on Spark, hudi-rs, pyarrow, DuckDB in ~/.cache/sluice-peer
#   tools/setup.sh check     only what `make check` needs: no peers
#   tools/setup.sh dev       everything above and clang, clang-format, valgrind
#
# SLUICE_NO_PEERS=1 leaves the peers out; tests that need them then say that they are skipped.
set -eu
cd "$(dirname "$0")/.."

BUILD="gcc libc6-dev make pkg-config zlib1g-dev libzstd-dev libsnappy-dev liblz4-dev libdeflate-dev libbrotli-dev libxxhash-dev libjansson-dev"
DEMO="python3 python3-venv"
CHECK="libcmocka-dev python3 zstd"
PEERS="python3-venv openjdk-17-jre-headless maven zstd ca-certificates"
DEV="clang clang-format libclang-rt-14-dev valgrind time"

die() { echo "setup: $*" >&2; exit 1; }

# Of the packages given, those that are not installed.
missing() {
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p' | sort -u)
    for package in "$@"; do
        printf '%s\n' "$installed" | grep -qxF "$package" || printf '%s ' "$package"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        die "not root and no sudo; as root, run: $*"
    fi
}

install_packages() {
    command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1 ||
        die "this is no Debian; install the equivalents of: $*"
    # shellcheck disable=SC2046
    wanted=$(missing $(printf '%s\n' "$@" | sort -u))
    [ -n "$wanted" ] || return 0
    echo "setup: installing $wanted" >&2
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    # Old package lists name packages that are gone from the mirror: try what there is, then with fresh lists.
    # shellcheck disable=SC2086
    as_root apt-get install -y --no-install-recommends $wanted >"$log" 2>&1 ||
        { as_root apt-get update && as_root apt-get install -y --no-install-recommends $wanted; } >"$log" 2>&1 ||
        { cat "$log" >&2; rm -f "$log"; die "apt-get could not install: $wanted"; }
    rm -f "$log"
}

install_peers() {
    [ -z "${SLUICE_NO_PEERS:-}" ] || return 0
    sh tools/peer/setup.sh >&2
}

case ${1:-build} in
build) install_packages $BUILD ;;
demo) install_packages $BUILD $DEMO ;;
check) install_packages $BUILD $CHECK ;;
test)
    if [ -n "${SLUICE_NO_PEERS:-}" ]; then PEERS=; fi
    install_packages $BUILD $CHECK $PEERS
    install_peers
    ;;
dev)
    install_packages $BUILD $DEMO $CHECK $PEERS $DEV
    install_peers
    ;;
*) die "what is '$1'? One of: build demo check test dev" ;;
esac
