# Shared by the scripts of this folder: cases, what a command did, and the count at the end. POSIX sh.
#
#   run 1 'a missing file' "$SLUICE" upsert t nowhere.csv      runs it; its status must be 1
#   err_has 'nowhere.csv: No such file'                        ... and this is part of the same case
#
# A case ends where the next one begins. $out and $err are the files with the output of the last command.

SLUICE=${SLUICE:-build/release/sluice}
case $SLUICE in /*) ;; *) SLUICE=$PWD/$SLUICE ;; esac
root=$PWD
[ -x "$SLUICE" ] || { echo "no command at $SLUICE: make it, or set SLUICE"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export TMPDIR="$work"
out=$work/.out err=$work/.err
: >"$out" >"$err"
passed=0 failed=0 name=
cd "$work" || exit 1

end_case() {
    [ -n "$name" ] || return 0
    if [ -z "$trouble" ]; then
        passed=$((passed + 1))
        echo "ok - $name"
    else
        failed=$((failed + 1))
        echo "not ok - $name"
        printf '%s' "$trouble" | sed 's/^/#   /'
        echo '#   stdout:' && head -n 20 "$out" | sed 's/^/#     /'
        echo '#   stderr:' && head -n 20 "$err" | sed 's/^/#     /'
    fi
    name=
}

begin() {
    end_case
    name=$1 trouble=
}

wrong() {
    trouble="$trouble$1
"
}

# run STATUS NAME COMMAND...
run() {
    wanted=$1
    begin "$2"
    shift 2
    "$@" >"$out" 2>"$err" </dev/null
    status_is "$wanted" $?
}

# More commands of the same case.
also() {
    wanted=$1
    shift
    "$@" >"$out" 2>"$err" </dev/null
    status_is "$wanted" $?
}

status_is() { [ "$1" -eq "$2" ] || wrong "status $2, not $1"; }
out_has() { grep -qe "$1" "$out" || wrong "stdout lacks: $1"; }
err_has() { grep -qe "$1" "$err" || wrong "stderr lacks: $1"; }
out_is() { [ "$(cat "$out")" = "$1" ] || wrong "stdout is not: $1"; }
out_is_sorted() { [ "$(sort "$out")" = "$1" ] || wrong "sorted stdout is not: $1"; }
out_is_empty() { [ ! -s "$out" ] || wrong 'stdout is not empty'; }
err_is_empty() { [ ! -s "$err" ] || wrong 'stderr is not empty'; }
err_lines() { [ "$(wc -l <"$err")" -eq "$1" ] || wrong "stderr has $(wc -l <"$err") lines, not $1"; }
count_is() {
    counted=$("$SLUICE" query "$1" --format count 2>&1)
    [ "$counted" = "$2" ] || wrong "table $1 has $counted rows, not $2"
}

finish() {
    end_case
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
