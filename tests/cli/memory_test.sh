# Peak memory of the process, as --explain tells it: at most --memory and a quarter, and what a process takes anyway, of tables
# several times as large. SL_TEST_LONG=1: five times the rows and twice the budget.
. tests/cli/lib.sh

rows=250000 mib=32
[ -z "$SL_TEST_LONG" ] || { rows=2000000 mib=64; }
PROCESS_MIB=5
limit=$(((mib * 5 / 4 + PROCESS_MIB) * 1048576 / 1000000))

# Fourteen columns in a scattered order, some 200 bytes in memory; `from` sets the ordering value and the other values apart.
make_rows() {
    awk -v rows="$rows" -v from="$1" 'BEGIN {
        print "id,region,ts,driver,a,b,c,d,e,f,g,h,paid,note"
        for (i = 0; i < rows; i++) {
            k = (i * 7919) % rows; v = (k * 31 + from) % 1000003
            printf "trip-%012d,region-%d,%d,driver-%d,%d,%d,%d,%.2f,%.2f,%.2f,%d,%d,%s,note %d of some length\n",
                k, k % 4, from, v % 20000, v, v * 3, v * 7, v / 7, v / 11, v / 13, k, i, v % 2 ? "true" : "false", v
        }
    }' >"$2"
}

wide_rows() {
    awk -v rows=$((rows / 40)) 'BEGIN {
        printf "id,ts"; for (c = 0; c < 120; c++) printf ",c%d", c
        print ""
        for (i = 0; i < rows; i++) {
            printf "%d,%d", (i * 7919) % rows, i
            for (c = 0; c < 120; c++) printf ",%d", (i * c) % 100003
            print ""
        }
    }' >"$1"
}

long_rows() {
    awk -v rows=$((rows / 2000)) 'BEGIN {
        text = "0123456789abcdef"; while (length(text) < 500000) text = text text
        print "id,ts,body"
        for (i = 0; i < rows; i++) printf "%d,1,%s%d\n", (i * 79) % rows, text, i
    }' >"$1"
}

# within NAME VERB ...: runs it within the budget.
within() {
    case_name=$1
    shift
    run 0 "$case_name" "$SLUICE" "$@" --memory "${mib}MiB" --threads 2 --explain
    peak=$(sed -n 's/^memory of the process at most *\([0-9]*\)[.0-9]* MB$/\1/p' "$err" | tail -n 1)
    [ "${peak:-$((limit + 1))}" -le "$limit" ] || wrong "peak of ${peak:-?} MB, more than $limit"
}

make_rows 1 a.csv
make_rows 2 b.csv
wide_rows wide.csv
long_rows long.csv
awk -v rows="$rows" 'BEGIN { for (i = 0; i < rows; i += rows / 6250) printf "trip-%012d\n", i }' >keys
columns='--key id --ordering ts --partition region'

within 'a first load' bulk-insert lsm a.csv $columns --layout lsm_tree --buckets 1
within 'an upsert' upsert lsm b.csv
within 'an upsert that commits as rows come' upsert lsm a.csv --commit-rows 100000
within 'a merge is counted' query lsm --format count --where 'a > 0'
for format in jsonl csv canonical; do
    within "... and printed as $format" query lsm --format $format -o out.text
done
within '... and written as Parquet' query lsm -o out.parquet
within 'a lookup' lookup lsm --keys keys --format csv -o found.csv
within 'a log compaction' log-compact lsm -c hoodie.log.compaction.blocks.threshold=2
within 'a compaction' compact lsm
within 'a delete by condition' delete lsm --where 'a > 500000'
count_is lsm "$("$SLUICE" query lsm --where 'a <= 500000' --format count)"

within 'a first load, copy-on-write' bulk-insert cow a.csv $columns --buckets 1
within 'an upsert that writes base files anew' upsert cow b.csv
within 'an overwrite' insert-overwrite cow a.csv
count_is cow "$rows"

within 'a first load without a bucket index' bulk-insert simple a.csv $columns --index simple
within 'an upsert that finds its keys in the files' upsert simple b.csv
count_is simple "$rows"

within 'a wide table' upsert wide wide.csv --key id --ordering ts --layout lsm_tree --buckets 1
within '... updated' upsert wide wide.csv
within '... merged' query wide -o out.parquet
within '... compacted' compact wide

within 'long texts' upsert long long.csv --key id --ordering ts --layout lsm_tree --buckets 1
within '... updated' upsert long long.csv
within '... merged' query long --format jsonl -o out.text
within '... compacted' compact long

run 2 'what no command keeps to is refused' "$SLUICE" info lsm --memory 16MiB
err_has '16MiB: a command takes 32MiB at least'
also 2 "$SLUICE" info lsm -c sluice.memory=31.9MiB
err_has '31.9MiB: a command takes 32MiB at least'
also 0 "$SLUICE" info lsm --memory 0.5GiB

finish
