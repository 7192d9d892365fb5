#!/bin/sh
# Writes the docs that come from the command's own table: docs/cli.md and docs/man/sluice.1.
# SLUICE is the command (default: build/release/sluice).
cd "$(dirname "$0")/.." || exit 1
sluice=${SLUICE:-build/release/sluice}
mkdir -p docs/man
"$sluice" help --markdown >docs/cli.md && "$sluice" help --man >docs/man/sluice.1
