#!/bin/bash
# libFuzzer on one harness with ASan and UBSan, a fixed number of runs, memory capped, one core:
#
#   tools/fuzz.sh [HARNESS] [RUNS]        parquet 1000000
#
# Starts from tests/fuzz/corpus/HARNESS and tests/data/HARNESS; what it finds on the way is kept in .cache/fuzz/HARNESS.
# A finding is left in .cache/fuzz/HARNESS-findings: fix it, and add the input to tests/fuzz/corpus/HARNESS.
# FOLDERS builds less than the whole library, BUILD is the build folder.
set -eu
cd "$(dirname "$0")/.."
harness=${1:-parquet} runs=${2:-1000000}
build=${BUILD:-build/fuzz}
make --no-print-directory -j2 MODE=fuzz CC=clang BUILD="$build" ${FOLDERS:+FOLDERS="$FOLDERS"} "$build/tests/fuzz/${harness}_fuzz"
found=.cache/fuzz/$harness-findings
mkdir -p .cache/fuzz/"$harness" "$found"
seeds=()
for folder in tests/fuzz/corpus/"$harness" tests/data/"$harness"; do [ -d "$folder" ] && seeds+=("$folder"); done
exec "$build/tests/fuzz/${harness}_fuzz" -runs="$runs" -max_len=65536 -timeout=20 -rss_limit_mb=1500 -malloc_limit_mb=1200 \
    -print_final_stats=1 -artifact_prefix="$found/" .cache/fuzz/"$harness" "${seeds[@]}"
