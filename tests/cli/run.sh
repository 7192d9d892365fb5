#!/bin/sh
# All tests of the command: SLUICE=build/release/sluice tests/cli/run.sh (from the root of the project).
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0
for test in tests/cli/*_test.sh; do
    echo "# $test"
    text=$(sh "$test")
    status=$?
    echo "$text"
    line=$(echo "$text" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' | tail -n 1)
    passed=$((passed + ${line% *}))
    failed=$((failed + ${line#* }))
    [ $status -eq 0 ] || [ "${line#* }" != 0 ] || failed=$((failed + 1)) # it died
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
