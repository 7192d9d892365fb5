#!/bin/bash
# Builds and runs tests; prints failures in full and ends with "N passed, N failed, N skipped".
#
#   tools/run_tests.sh PASS...
#
# A pass is MODE:WHAT,... with the modes of the Makefile (release, debug, asan, tsan) and WHAT a folder of tests/ or one test in it:
#   tools/run_tests.sh release:unit,golden asan:unit/base_test tsan:race release:interop
# tests/interop/run.py runs the interop tests by itself. A test is a program made of tests/KIND/NAME_test.c or NAME_fuzz.c, or a script tests/KIND/test_NAME.py, NAME_test.py or NAME_test.sh.
#
# Tests count by case where the program says how many it has (cmocka, unittest, or a line "N passed, N failed"), else as one.
# Exit status 77 or a program of skipped cases only: skipped. No case at all: failed.
#
# Environment: JOBS (2) programs at a time, TEST_TIMEOUT (900) seconds each, CC, V=1 shows the output of what passes, too.
# What a test gets: SLUICE (the command), SL_BUILD (build folder), SL_TEST_DATA, SL_SHARED, TMPDIR of its own; and from
# outside SEED, ROUNDS, SL_TEST_QUICK, SL_TEST_LONG (see tests/README.md).
set -u
self=$(readlink -f "$0")
cd "$(dirname "$self")/.." || exit 1
peer_python=${SLUICE_PEER_HOME:-$HOME/.cache/sluice-peer}/venv/bin/python

# ---- one program, in a process of its own ----

# Lines "passed failed skipped" of the text of one program that ended with a status.
count_cases() {
    awk -v status="$2" '
    /^\[ *PASSED *\] [0-9]+ test\(s\)/ { passed += number($0); counted = 1 }
    /^\[ *FAILED *\] [0-9]+ test\(s\)/ { failed += number($0); counted = 1 }
    /^\[ *SKIPPED *\] [0-9]+ test\(s\)/ { skipped += number($0); counted = 1 }
    /^Ran [0-9]+ tests? in / { ran = $2; unittest = 1; counted = 1 }
    unittest && /^(OK|FAILED)/ {
        s = named("skipped"); f = named("failures") + named("errors") + named("unexpected successes")
        skipped += s; failed += f; passed += ran - s - f; unittest = 0
    }
    /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { plain_p = $1; plain_f = $3; plain_s = $5; plain = 1 }
    function number(line) { sub(/^[^]]*\] */, "", line); return line + 0 }
    function named(word,   at) { at = match($0, word "=[0-9]+"); return at ? substr($0, at + length(word) + 1, RLENGTH) + 0 : 0 }
    END {
        if (plain) { passed += plain_p; failed += plain_f; skipped += plain_s; counted = 1 }
        if (status == 77) { print 0, 0, skipped > 0 ? skipped : 1; exit }
        if (!counted && status == 0) passed = 1
        if (status != 0 && !failed) failed = 1
        if (!passed && !failed && !skipped) failed = 1
        print passed + 0, failed + 0, skipped + 0
    }' "$1"
}

if [ "${1:-}" = --one ]; then
    mode=$2 number=$3 kind=$4 program=$5
    name=$kind/$(basename "$program")
    output=$WORK/$number.out
    export TMPDIR=$WORK/$number.tmp SL_BUILD=$PWD/build/$mode SLUICE=$PWD/build/$mode/sluice
    mkdir -p "$TMPDIR"
    command=("$program")
    case $program in
    *.py) if [ -x "$peer_python" ]; then command=("$peer_python" "$program"); else command=(python3 "$program"); fi ;;
    *.sh) command=(bash "$program") ;;
    *_fuzz)
        fuzzed=$(basename "$program" _fuzz)
        for corpus in "tests/data/$fuzzed" "tests/fuzz/corpus/$fuzzed"; do [ -d "$corpus" ] && command+=("$corpus"); done ;;
    esac
    # ThreadSanitizer's memory map does not survive much randomness of addresses.
    [ "$mode" = tsan ] && setarch -R true 2>/dev/null && command=(setarch -R "${command[@]}")
    start=$(date +%s%N)
    timeout -k 10 "${TEST_TIMEOUT:-900}" "${command[@]}" >"$output" 2>&1 </dev/null
    status=$?
    seconds=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.1f", ns / 1e9 }')
    kept=build/failed/$mode/$name
    rm -rf "$kept"
    # What a failed test left behind is worth a look.
    if [ $status -ne 0 ] && [ -n "$(ls -A "$TMPDIR")" ]; then mkdir -p "${kept%/*}" && mv "$TMPDIR" "$kept"; else rm -rf "$TMPDIR"; fi
    [ $status -eq 124 ] && echo "timed out after ${TEST_TIMEOUT:-900} s" >>"$output"
    read -r passed failed skipped < <(count_cases "$output" $status)
    echo "$passed $failed $skipped $mode $name" >"$WORK/$number.count"
    word=ok
    [ "$failed" -gt 0 ] && word=FAILED
    [ "$word" = ok ] && [ "$passed" -eq 0 ] && word=skipped
    {
        printf '%-8s%-8s%-34s %4d passed%s%s  %s s\n' "$word" "$mode" "$name" "$passed" \
            "$([ "$failed" -gt 0 ] && echo ", $failed failed")" "$([ "$skipped" -gt 0 ] && echo ", $skipped skipped")" "$seconds"
        if [ "$word" = FAILED ]; then
            echo "---- output of $name ($mode), exit status $status"
            cat "$output"
            echo "---- end of $name$([ -d "$kept" ] && echo ", files in $kept")"
        else
            [ -n "${V:-}" ] && cat "$output"
            grep -iE '^ *skipped[: ]' "$output" | sort -u | sed 's/^ */        /'
        fi
    } >"$WORK/$number.report"
    flock "$WORK/lock" cat "$WORK/$number.report"
    exit 0
fi

# ---- all programs ----

[ $# -gt 0 ] || { sed -n '2,/^set/p' "$self" | grep '^#' | cut -c3-; exit 2; }
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
export SL_TEST_DATA=${SL_TEST_DATA:-$PWD/tests/data} SL_SHARED=${SL_SHARED:-$PWD/../shared}
export SL_PARQUET_TESTING=${SL_PARQUET_TESTING:-$SL_SHARED/fixtures/parquet-testing}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

# Tests of one KIND or KIND/NAME: sources of programs, and scripts.
tests_of() {
    case $1 in
    interop) [ -f tests/interop/run.py ] && echo tests/interop/run.py ;; # all of them in one process: Spark starts once
    */*) for f in tests/"$1" tests/"$1".c tests/"$1".py tests/"$1".sh; do [ -f "$f" ] && echo "$f"; done ;;
    *) for f in tests/"$1"/*_test.c tests/"$1"/*_fuzz.c tests/"$1"/test_*.py tests/"$1"/*_test.py tests/"$1"/*_test.sh; do
        [ -f "$f" ] && echo "$f"
    done ;;
    esac
}

number=0 failed_builds=0
for pass in "$@"; do
    mode=${pass%%:*}
    list=$WORK/list.$number targets=()
    : >"$list"
    for what in $(echo "${pass#*:}" | tr , ' '); do
        kind=${what%%/*}
        found=$(tests_of "$what")
        if [ -z "$found" ]; then
            # A folder may still be empty; a test that is named must exist.
            if [ "$what" = "$kind" ]; then echo "no tests in tests/$kind"; else echo "no such test: $what"; failed_builds=$((failed_builds + 1)); fi
            continue
        fi
        if [ "$kind" = interop ] && [ ! -x "$peer_python" ]; then
            echo "skipped: tests/interop needs the peers (tools/setup.sh test)"
            echo "0 0 $(echo "$found" | wc -l) $mode interop" >"$WORK/interop.$number.count"
            continue
        fi
        case $kind in
        cli | race | crash | interop | bench) targets+=("build/$mode/sluice" "build/$mode/libsluice.so") ;;
        esac
        [ "$kind" = interop ] && for f in tests/interop/*.c; do [ -f "$f" ] && f=${f%.c} && targets+=("build/$mode/$f"); done
        for file in $found; do
            number=$((number + 1))
            program=$file
            case $file in *.c) program=build/$mode/${file%.c} && targets+=("$program") ;; esac
            printf '%s\n' "$mode" "$number" "$kind" "$program" >>"$list"
        done
    done
    [ -s "$list" ] || continue
    if ! make --no-print-directory -k -j "${JOBS:-2}" MODE="$mode" BUILD="build/$mode" "${targets[@]}" >"$WORK/build.out" 2>&1; then
        echo "---- build ($mode) failed"
        cat "$WORK/build.out"
        echo "---- end of build"
    fi
    # A program that was not built fails when it is started, and counts once.
    xargs -d '\n' -n 4 -P "${JOBS:-2}" "$self" --one <"$list"
done

cat "$WORK"/*.count 2>/dev/null >"$WORK/counts"
if awk '$2 > 0' "$WORK/counts" | grep -q .; then
    echo "failed:"
    awk '$2 > 0 { print "  " $5 " (" $4 "): " $2 }' "$WORK/counts"
fi
awk -v extra=$failed_builds '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        failed += extra
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0 || passed == 0
    }' "$WORK/counts"
