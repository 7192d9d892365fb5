# upsert T -: commits while rows come, by rows, bytes and time; signals, deaths and bad lines between them. POSIX sh.
. "$(dirname "$0")/lib.sh"

stream() { "$SLUICE" upsert t - --input-format jsonl "$@"; }

# rows FROM TO [REGION]: JSON lines.
rows() {
    awk -v from="$1" -v to="$2" -v region="${3:-quito}" 'BEGIN {
        for (i = from; i <= to; i++) printf "{\"id\":%d,\"region\":\"%s\",\"ts\":%d}\n", i, region, i }'
}

count_is() {
    found=$("$SLUICE" query t --format count ${2:+--where "$2"})
    [ "$found" = "$1" ] || wrong "$found rows instead of $1"
}

# At most ten seconds for a condition.
wait_until() {
    for _ in $(seq 100); do
        if eval "$1"; then return; fi
        sleep 0.1
    done
    wrong "it never came to: $1"
}

# Before that a signal would just end it.
listens_to_signals='grep -q "^SigCgt:.*[4-7c-f]...$" /proc/$writer/status'

nothing_is_left() {
    [ -z "$(find t/.hoodie/timeline -name '*.inflight' -newer "$out" 2>/dev/null)" ] || wrong 'an instant is pending'
    [ -z "$(ls t/.hoodie/.temp 2>/dev/null)" ] || wrong 'markers are left'
}

run 0 'a table' "$SLUICE" create t --schema 'id long, region string, ts long' --key id --partition region --ordering ts --layout lsm_tree --buckets 2

# ---- triggers ----

run 0 'commits by rows' sh -c "awk 'BEGIN { for (i = 1; i <= 1000; i++) printf \"{\\\"id\\\":%d,\\\"region\\\":\\\"quito\\\",\\\"ts\\\":1}\\n\", i % 400 }' |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 250 --json"
[ "$(grep -c '"rows_in":250,' "$out")" = 4 ] || wrong 'not four commits of 250 rows'
sed 's/.*"instant":"\([0-9]*\)".*/\1/' "$out" | sort -cu || wrong 'instants do not ascend'
count_is 400

run 0 'commits by bytes' sh -c "awk 'BEGIN { for (i = 1; i <= 2000; i++) printf \"{\\\"id\\\":%d,\\\"region\\\":\\\"lagos\\\",\\\"ts\\\":1}\\n\", i }' |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 500 --commit-bytes 1"
[ "$(grep -c ' rows* in' "$out")" -ge 4 ] || wrong 'not four commits or more'

begin 'commits by time: a silent input does not keep rows'
mkfifo pipe
"$SLUICE" upsert t - --input-format jsonl --commit-interval 300ms <pipe >"$out" 2>"$err" &
writer=$!
exec 7>pipe
rows 1 3 osaka >&7
wait_until '[ "$(wc -l <"$out")" = 1 ]'
count_is 3 "region='osaka'"
rows 4 5 osaka >&7
wait_until '[ "$(wc -l <"$out")" = 2 ]'
count_is 5 "region='osaka'"
exec 7>&-
wait $writer
status_is 0 $?
[ "$(wc -l <"$out")" = 2 ] || wrong 'an empty commit at the end'
nothing_is_left

printf '{"id":1,"region":"berlin","ts":1}\n' >one.jsonl
run 0 'a file before standard input' sh -c "printf '{\"id\":3,\"region\":\"berlin\",\"ts\":1}\n' | \"$SLUICE\" upsert t one.jsonl - --input-format jsonl --commit-rows 1"
[ "$(grep -c ': 1 row in' "$out")" = 2 ] || wrong 'not one commit each'
count_is 2 "region='berlin'"

begin 'CSV by its header'
"$SLUICE" upsert t - --input-format csv --commit-interval 200ms <pipe >"$out" 2>"$err" &
writer=$!
exec 7>pipe
printf 'ts,id,region\n1,1,chennai\n' >&7
wait_until '[ "$(wc -l <"$out")" = 1 ]'
printf '1,2,chennai\n' >&7
exec 7>&-
wait $writer
status_is 0 $?
[ "$(grep -c ': 1 row in' "$out")" = 2 ] || wrong 'not one commit each'
count_is 2 "region='chennai'"

run 0 'compressed' sh -c "printf '{\"id\":1,\"region\":\"denver\",\"ts\":1}\n' | gzip | \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 10"
count_is 1 "region='denver'"

run 0 'rows of an upsert without triggers are one commit' sh -c "printf '{\"id\":2,\"region\":\"denver\",\"ts\":1}\n{\"id\":3,\"region\":\"denver\",\"ts\":1}\n' | \"$SLUICE\" upsert t - --input-format jsonl"
out_has ': 2 rows in'

# ---- ends ----

begin 'a signal: rows that are not committed are dropped, nothing is left'
"$SLUICE" upsert t - --input-format jsonl --commit-rows 10 <pipe >"$out" 2>"$err" &
writer=$!
exec 7>pipe
rows 1 10 jakarta >&7
wait_until '[ "$(wc -l <"$out")" = 1 ]'
rows 11 14 jakarta >&7
sleep 0.3
kill -TERM $writer
wait $writer
status_is 130 $?
exec 7>&-
err_has 'nothing half-done is visible'
count_is 10 "region='jakarta'"
nothing_is_left

begin 'a signal ends a silent input without triggers, too'
for region in "" jeddah; do
    "$SLUICE" upsert t - --input-format jsonl <pipe >"$out" 2>"$err" &
    writer=$!
    exec 7>pipe
    [ -z "$region" ] || rows 1 2 "$region" >&7
    wait_until "$listens_to_signals"
    sleep 0.3
    kill -TERM $writer
    wait_until "! kill -0 $writer 2>/dev/null"
    wait $writer
    status_is 130 $?
    exec 7>&-
done
count_is 0 "region='jeddah'"
nothing_is_left

begin 'a death: the next writer clears up'
"$SLUICE" upsert t - --input-format jsonl --commit-rows 1000 -c sluice.flush.bucket.bytes=1 <pipe >"$out" 2>"$err" &
writer=$!
exec 7>pipe
rows 1 2500 amsterdam >&7
wait_until '[ "$(wc -l <"$out")" = 2 ]'
wait_until '[ -n "$(ls t/.hoodie/.temp)" ]'
kill -KILL $writer
wait $writer 2>/dev/null
exec 7>&-
count_is 2000 "region='amsterdam'"
also 0 sh -c "printf '{\"id\":2001,\"region\":\"amsterdam\",\"ts\":1}\n' | \"$SLUICE\" upsert t - --input-format jsonl"
count_is 2001 "region='amsterdam'"
nothing_is_left

run 1 'a bad line ends it, with its number; commits before it stay' sh -c "{ for i in 1 2 3 4 5 6 7; do printf '{\"id\":%d,\"region\":\"nairobi\",\"ts\":1}\n' \$i; done; echo '{\"id\":x}'; } |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 3"
err_has 'standard input: line 8: '
count_is 6 "region='nairobi'"
nothing_is_left

run 0 'a bad line is put aside' sh -c "printf '{\"id\":1,\"region\":\"oslo\",\"ts\":1}\nnonsense\n{\"id\":2,\"region\":\"oslo\",\"ts\":1}\n' |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-interval 10s --reject bad.jsonl"
count_is 2 "region='oslo'"

run 0 'so are rows that the writer would refuse' sh -c "printf '{\"id\":1,\"region\":\"lima\",\"ts\":1}\n{\"id\":null,\"region\":\"lima\",\"ts\":1}\n{\"id\":3,\"region\":\"lima\"}\n{\"id\":2,\"region\":\"lima\",\"ts\":1}\n' |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 1 --reject bad.jsonl"
count_is 2 "region='lima'"
[ "$(grep -c . bad.jsonl)" = 2 ] || wrong 'not two rows are aside'

run 1 'rows are counted across commits' sh -c "{ for i in 1 2 3 4 5; do printf '{\"id\":%d,\"region\":\"quebec\",\"ts\":1}\n' \$i; done; echo '{\"id\":null,\"region\":\"quebec\",\"ts\":1}'; } |
    \"$SLUICE\" upsert t - --input-format jsonl --commit-rows 2"
err_has 'input row 6: .*is null'

run 0 'the wait for input is told, and slows no rate' sh -c "{ printf '{\"id\":1,\"region\":\"rome\",\"ts\":1}\n'; sleep 1; printf '{\"id\":2,\"region\":\"rome\",\"ts\":1}\n'; } |
    \"$SLUICE\" upsert t - --input-format jsonl --json"
sed 's/.*"seconds":\([0-9.]*\),"seconds_waiting":\([0-9.]*\),"rows_per_second":\([0-9]*\).*/\1 \2 \3/' "$out" >numbers
awk '{ exit !($2 >= 0.9 && $1 > $2 && $3 + 1 >= 2 / ($1 - $2) && $3 - 1 <= 2 / ($1 - $2)) }' numbers || wrong 'the rate is not that of the rest of the time'

# ---- usage ----

run 2 'no rows' stream --commit-rows 0
err_has 'commit-rows: 0 is too few'
run 2 'no size' stream --commit-bytes lots
err_has '"lots" is no size'
run 2 'no time' stream --commit-interval -1s
err_has '"-1s" is no time'
run 2 'an overwrite is one commit' sh -c "\"$SLUICE\" insert-overwrite t - --input-format jsonl --commit-rows 5"
err_has 'no option of this verb'
printf 'id,region,ts\n1,berlin,1\n' >two.csv
run 2 'CSV as it comes, and a file' sh -c "\"$SLUICE\" upsert t two.csv - --input-format csv --commit-rows 5"
err_has 'must be the only input'

finish
