#!/bin/bash
# A tour of sluice on real data: flights that left New York in 2013, first in an LSM table, then in a table that every Hudi reads.
# `make demo` builds what it needs. Everything is written below .cache/; run it as often as you like.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLUICE=${SLUICE:-build/release/sluice}
data=.cache/flights lake=.cache/lake
columns='flight_id string, revision long, origin string, dest string, carrier string, flight int, tailnum string, time_hour timestamp, month int,
  dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int, arr_delay int, air_time int, distance int'

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
step=0
title() { step=$((step + 1)); printf '\n%s%d. %s%s\n' "$bold" $step "$1" "$plain"; }
# Shows a command as one would type it, and runs it.
run() {
    printf '%s$ sluice' "$bold"
    for word in "$@"; do case $word in *[[:space:]\'\"\(\)\>\<\*]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done
    printf '%s\n' "$plain"
    "$SLUICE" "$@"
}
# The files of one airport are enough to see.
files() { printf '%s$ sluice files %s | grep -E "partition|LGA"%s\n' "$bold" "$1" "$plain"; "$SLUICE" files "$1" | grep -E 'partition|LGA'; }
# One line for all rows of a table: how many, and a hash over them, whatever order they come in.
fingerprint() {
    "$SLUICE" query "$1" --format csv --columns "$names" | tail -n +2 | LC_ALL=C sort >"$lake/all_rows.csv"
    echo "$(wc -l <"$lake/all_rows.csv") rows, SHA-256 $(sha256sum <"$lake/all_rows.csv" | cut -c1-16)"
    rm "$lake/all_rows.csv"
}
columns=$(echo $columns)
names=$(echo "$columns" | sed -E 's/ ?([a-z_]+) [a-z]+(,|$)/\1\2/g')
question="dest = 'SFO' and arr_delay > 600" shown=flight_id,revision,dep_delay,arr_delay,tailnum
answer() { "$SLUICE" query "$1" --where "$question" --columns "$shown" --format csv | LC_ALL=C sort; } # rows come in no fixed order

rm -rf "$lake"
mkdir -p "$lake"
began=$(date +%s)

title "The data"
python3 demo/flights.py "$data"

title "An LSM table: merge-on-read, bucket index, partitioned by airport"
run create "$lake/flights" --schema "$columns" --key flight_id --partition origin --ordering revision --layout lsm_tree --buckets 2

title "The year's flights, one commit"
run bulk-insert "$lake/flights" "$data/flights.csv"

title "Corrections, three commits: each adds one sorted run to the file groups it touches, nothing is rewritten"
for i in 1 2 3; do run upsert "$lake/flights" "$data/corrections_$i.csv"; done

title "Cancelled flights are deleted, by key"
run delete "$lake/flights" "$data/cancelled.csv"

title "What happened: the timeline"
run timeline "$lake/flights"

title "Files: per file group (airport, bucket) a base file (level 1) and sorted runs (level 0)"
files "$lake/flights"

title "A query merges them: San Francisco, more than ten hours late"
run query "$lake/flights" --where "$question" --columns "$shown" --format table
answer "$lake/flights" >"$lake/answer.before"
before=$(fingerprint "$lake/flights")
echo "the whole table: $before"

title "One flight by its key: bounds and page index lead to a page a run"
key=$("$SLUICE" query "$lake/flights" --where "$question" --columns flight_id --limit 1 --format csv | tail -n 1)
run lookup "$lake/flights" "$key"

title "Log compaction merges the small runs into one; base files stay as they are"
run log-compact "$lake/flights" -c hoodie.log.compaction.blocks.threshold=3
[ "$before" = "$(fingerprint "$lake/flights")" ] || { echo "demo: log compaction changed the rows" >&2; exit 1; }

title "Compaction folds the runs into new base files"
run compact "$lake/flights" --dry-run
run compact "$lake/flights"
files "$lake/flights"

title "The answers stay the same"
answer "$lake/flights" >"$lake/answer.after"
cmp "$lake/answer.before" "$lake/answer.after"
after=$(fingerprint "$lake/flights")
[ "$before" = "$after" ] || { echo "demo: the rows changed: before $before, after $after" >&2; exit 1; }
echo "the same flights, and the whole table: $after: as before"

title "The table is sound: every row, every checksum, every key in its place"
run doctor "$lake/flights" --deep

title "The same rows in a table for everyone: copy-on-write, default layout, table version 9"
run query "$lake/flights" --format parquet -o "$lake/rows.parquet"
run create "$lake/flights_cow" --schema "$columns" --key flight_id --partition origin --ordering revision --buckets 2
run bulk-insert "$lake/flights_cow" "$lake/rows.parquet"
run upsert "$lake/flights_cow" "$data/corrections_1.csv"
run info "$lake/flights_cow"
copy=$(fingerprint "$lake/flights_cow")
[ "$before" = "$copy" ] || { echo "demo: the copy differs: $copy, not $before" >&2; exit 1; }
echo "the whole table: $copy: as in the LSM table (the corrections came again, with the same revision, and changed nothing)"

cat <<END

${bold}To read it elsewhere${plain}
  Spark with Hudi 1.2      spark.read.format("hudi").load("file://$PWD/$lake/flights_cow").where("origin = 'JFK'").count()
  Python with hudi-rs      from hudi import HudiTableBuilder; HudiTableBuilder.from_base_uri("$PWD/$lake/flights_cow").build().read()
  (\`make test\` does both, on tables like this one)

Done in $(($(date +%s) - began)) s. The tables are in $lake; try  $SLUICE query $lake/flights --where "carrier = 'UA'" --limit 5
END
