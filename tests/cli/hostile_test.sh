# The command when things are not as they should be: each failure has its status, one line that names the place, and no
# effect on the table.
. "$(dirname "$0")/lib.sh"

cat >good.csv <<'END'
id,region,fare,ts
1,quito,10.5,100
2,lagos,20,100
END
"$SLUICE" create t --schema 'id long, region string, fare double, ts long' --key id --partition region --ordering ts --quiet || exit 1
"$SLUICE" upsert t good.csv --quiet || exit 1
"$SLUICE" timeline t --json >timeline.before

# refused STATUS NAME CSV-BODY MESSAGE: an upsert of `id,region,fare,ts` rows
refused() {
    printf '%b' "$3" >bad.csv
    run 1 "$1" "$SLUICE" upsert t bad.csv
    out_is_empty
    err_has "^sluice: upsert: $2"
    "$SLUICE" timeline t --json >timeline.after
    cmp -s timeline.before timeline.after || wrong 'the timeline has changed'
    count_is t 2
}

# ---- rows ----

refused 'the key column is missing' '.*column id of the table is missing' 'region,fare,ts\nquito,1,1\n'
err_has '^hint: '
refused 'a key is null' 'bad.csv: .*`id` is null' 'id,region,fare,ts\n7,quito,1,1\n,quito,1,1\n'
refused 'the partition column is missing' '.*column region of the table is missing' 'id,fare,ts\n1,1,1\n'
refused 'the ordering column is missing' '.*column ts of the table is missing' 'id,region,fare\n1,quito,1\n'
refused 'an ordering value is null' 'bad.csv: .*column ts: .*null' 'id,region,fare,ts\n1,quito,1,\n'
refused 'a value does not fit its type' 'bad.csv: line 3: column `fare` (double): .abc. ' 'id,region,fare,ts\n1,quito,1,1\n1,quito,abc,1\n'
refused 'a number is too large for its type' 'bad.csv: line 2: column `id` (long): ' 'id,region,fare,ts\n99999999999999999999,quito,1,1\n'
refused 'a ragged row' 'bad.csv: line 3: 2 fields, header has 4' 'id,region,fare,ts\n1,quito,1,1\n2,quito\n'
refused 'an open quote' 'bad.csv: line 2: ' 'id,region,fare,ts\n1,"quito,1,1\n'
refused 'no UTF-8' 'bad.csv: line 2: not UTF-8' 'id,region,fare,ts\n1,qu\0377ito,1,1\n'
refused 'a column twice' 'bad.csv: line 1: .*`id` twice' 'id,id,region,fare,ts\n1,1,quito,1,1\n'
refused 'an empty file' 'bad.csv: empty' ''
# The first wrong row of the input is named, whatever is wrong with it and with those behind it, in whichever column.
refused 'the first of wrong rows: a null key before a wrong value' 'bad.csv: .*input row 2: record key field `id` is null' 'id,region,fare,ts\n1,quito,1,1\n,quito,1,1\n3,quito,x,1\n'
refused 'the first of wrong rows: a null ordering value behind a wrong partition' 'bad.csv: .*input row 2: partition path' 'id,region,fare,ts\n1,quito,1,1\n2,..,1,1\n3,quito,1,\n,quito,1,1\n'
refused 'the first of wrong rows: a null key behind a wrong value' 'bad.csv: line 3: column `fare`' 'id,region,fare,ts\n1,quito,1,1\n2,quito,x,1\n,quito,1,1\n'
refused 'the first of wrong rows: a wrong value before a row that is too short' 'bad.csv: line 2: column `fare`' 'id,region,fare,ts\n1,quito,x,1\n2,quito\n'
refused 'only the last of many rows is bad' 'bad.csv: line 20002: ' "id,region,fare,ts\n$(awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%d,quito,1,1\\n", i }')x,quito,1,1\n"

# A first write that fails leaves no table with the columns of a mistake.
mkdir there
run 1 'a failed first write leaves nothing' "$SLUICE" upsert far/away/new bad.csv --key id --schema 'id long, region string, fare double, ts long'
err_has '^sluice: upsert: bad.csv: line 20002: '
err_has '^sluice: upsert: table far/away/new: removed again$'
[ ! -e far ] || wrong 'far is there'
also 1 "$SLUICE" upsert there bad.csv --key id --schema 'id long, region string, fare double, ts long'
[ "$(ls -A there)" = '' ] || wrong 'something is in there'
also 1 sh -c "ulimit -f 1; \"$SLUICE\" upsert far/away/new good.csv --key id --partition region"
[ ! -e far ] || wrong 'far is there: a commit that failed'
also 1 "$SLUICE" upsert new bad.csv --key id --schema 'id long, region string, fare double, ts long' --commit-rows 10000
count_is new 20000

printf '{"id":3,"region":"quito","fare":1,"ts":1}\n{"id":4,"region":\n' >broken.jsonl
run 1 'a broken JSON line' "$SLUICE" upsert t broken.jsonl
err_has '^sluice: upsert: broken.jsonl: line 2: '
printf '{"id":3,"region":"quito","fare":1,"ts":1}\n{"id":4,"region":"quito","fare":"much","ts":1}\n' >type.jsonl
run 1 'a JSON value of another type, from standard input' sh -c "\"$SLUICE\" upsert t - --input-format jsonl <type.jsonl"
err_has '^sluice: upsert: standard input: line 2: .*fare'
run 1 'a misspelt JSON member' sh -c "echo '{\"id\":3,\"region\":\"quito\",\"fair\":1,\"ts\":1}' | \"$SLUICE\" upsert t - --input-format jsonl"
err_has '^sluice: upsert: standard input: line 1: .*`fair`'
run 1 'CSV from standard input is called that' sh -c "printf 'id,region,fare,ts\n1,quito,x,1\n' | \"$SLUICE\" upsert t - --input-format csv"
err_has '^sluice: upsert: standard input: line 2: '
run 1 'files of different columns' sh -c "printf 'id,region,ts\n1,quito,1\n' >fewer.csv; \"$SLUICE\" upsert t good.csv fewer.csv"
err_has '^sluice: upsert: fewer.csv: column fare is missing'
run 1 'a delete without the partition column' sh -c "printf 'id\n1\n' >id.csv; \"$SLUICE\" delete t id.csv"
err_has 'column region '

run 0 '--reject: bad rows aside, the others written' sh -c "printf 'id,region,fare,ts\n3,quito,1,1\n4,quito\n5,quito,x,1\n6,quito,1,1\n' >mixed.csv; \"$SLUICE\" upsert r mixed.csv --key id --reject aside.jsonl --schema 'id long, region string, fare double, ts long'"
out_has ': 2 rows in, 2 inserted, 2 rejected, '
err_has '^sluice: upsert: mixed.csv: line 3: 2 fields, header has 4 (.* aside.jsonl)$'
err_lines 2
printf '%s\n' '{"file":"mixed.csv","line":3,"reason":"2 fields, header has 4","text":"4,quito"}' >want
printf '%s\n' '{"file":"mixed.csv","line":4,"reason":"column `fare` (double): '"'x'"' is not a number (expected a decimal number, NaN, Infinity or -Infinity)","row":{"id":5,"region":"quito","fare":"x","ts":1}}' >>want
cmp -s aside.jsonl want || wrong "aside.jsonl has other rows: $(cat aside.jsonl)"
count_is r 2
run 0 '--reject: mended rows are loaded again' sh -c "sed -n 's/.*\"row\":\(.*\)}$/\1/; s/\"x\"/5.5/p' aside.jsonl | \"$SLUICE\" upsert r - --input-format jsonl"
out_has ': 1 row in, 1 inserted, '
also 0 "$SLUICE" upsert r good.csv --reject aside.jsonl
[ -f aside.jsonl ] && [ ! -s aside.jsonl ] || wrong 'aside.jsonl speaks of an older write'
run 0 '--reject: bytes that are no text, and JSON lines' sh -c "printf 'id,region,fare,ts\n7,\\377,1,1\n' >bytes.csv; \"$SLUICE\" upsert r bytes.csv --reject aside.jsonl; cat aside.jsonl; printf '{\"id\":9007199254740993.5,\"ts\":1}\n{\"id\":\n' | \"$SLUICE\" upsert r - --input-format jsonl --reject aside.jsonl -q; cat aside.jsonl"
out_has '^{"file":"bytes.csv","line":2,"reason":"not UTF-8: byte 0xff at column 3","text":"hex:372cff2c312c31"}$'
out_has '^{"file":"standard input","line":1,"reason":".*","row":{"id":9007199254740993.5,"ts":1}}$'
out_has '^{"file":"standard input","line":2,"reason":".*","text":"{\\"id\\":"}$'
run 0 '--reject: what the writer would refuse' sh -c "printf 'id,region,fare,ts\n1,quito,1,1\n,quito,2,1\n3,..,3,1\n4,quito,4,\n5,/lima,5,1\n6,%300s,6,1\n7,,7,1\n' x | tr ' ' x >refused.csv; \"$SLUICE\" upsert rp refused.csv --key id --partition region --ordering ts --reject refused.out --schema 'id string, region string, fare double, ts long'"
out_has ': 2 rows in, 2 inserted, 5 rejected, '
err_has '^sluice: upsert: refused.csv: line 3: record key field `id` is null (.* refused.out)$'
[ "$(sed 's/.*"fare":\([0-9]\).*/\1/' refused.out | tr -d '\n')" = 23456 ] || wrong 'refused.out has other rows'
count_is rp 2
run 0 '--reject: keys that a delete cannot have' sh -c "printf 'id,region\n1,quito\n,quito\n' >keys.csv; \"$SLUICE\" delete rp keys.csv --reject refused.out"
out_has ' 1 rejected'
count_is rp 1
run 1 '--reject does not take a missing column for bad rows' sh -c "printf 'id,fare\n1,1\n' >keys.csv; \"$SLUICE\" delete rp keys.csv --reject refused.out"
run 0 '--reject: a load of bad rows only says so' "$SLUICE" upsert r bytes.csv --reject aside.jsonl
out_is 'upsert: nothing to do, 1 row rejected'
run 2 '--reject onto an input' "$SLUICE" upsert r mixed.csv --reject mixed.csv
[ "$(wc -l <mixed.csv)" -eq 5 ] || wrong 'the input was overwritten'
run 1 '--reject where nothing can be written' "$SLUICE" upsert r mixed.csv --reject nowhere/aside.csv
err_has '^sluice: upsert: --reject nowhere/aside.csv: No such file or directory$'


# ---- numbers beyond sense ----

"$SLUICE" upsert sized good.csv --key id --index simple --quiet || exit 1
run 1 'a Bloom filter of no size names its settings' "$SLUICE" upsert sized good.csv -c hoodie.index.bloom.num_entries=0
err_has 'hoodie.index.bloom.num_entries'
run 1 'no room for a row names the setting' "$SLUICE" upsert sized good.csv -c sluice.flush.task.bytes=1
err_has '^hint: .*sluice.flush.task.bytes'
run 0 'files that are not rows at all' "$SLUICE" upsert sized good.csv -c hoodie.record.size.estimator.average.metadata.size=9223372036854775807
err_is_empty

# ---- a bucket count that the table does not tell ----

awk 'BEGIN { print "id,region,fare,ts"; for (i = 0; i < 200; i++) print i ",quito,1,1" }' >many.csv
"$SLUICE" upsert foreign many.csv --key id --partition region --ordering ts --buckets 2 --quiet 2>/dev/null || exit 1
sed -i '/bucket.index/d; /index.type/d' foreign/.hoodie/hoodie.properties
run 1 'no bucket count' "$SLUICE" upsert foreign many.csv
err_has 'looks like one of a bucket index'
for count in 1 3 4; do
    run 1 "the wrong bucket count: $count" "$SLUICE" upsert foreign many.csv -c hoodie.index.type=BUCKET -c hoodie.bucket.index.num.buckets=$count
    err_has 'file group 0000000[01]-.* bucket'
    count_is foreign 200
done
run 0 'the right bucket count' "$SLUICE" upsert foreign many.csv -c hoodie.index.type=BUCKET -c hoodie.bucket.index.num.buckets=2
count_is foreign 200

# ---- instants that go while the timeline is read ----

begin 'the timeline, beside commits that are rolled back'
for turn in 1 2 3 4 5 6 7 8 9 10; do
    instant=$("$SLUICE" upsert t good.csv --json | sed 's/.*"instant":"\([0-9]*\)".*/\1/')
    "$SLUICE" rollback t "$instant" -q &
    undo=$!
    while kill -0 $undo 2>/dev/null; do
        "$SLUICE" timeline t -q >"$out" 2>"$err" || { wrong "$(cat "$err")"; break; }
    done
    wait $undo || wrong 'a rollback failed'
done

# ---- files ----

run 1 'no such input' "$SLUICE" upsert t nowhere.csv
err_has '^sluice: upsert: nowhere.csv: No such file or directory$'
run 1 'a folder as input' "$SLUICE" upsert t .
err_has '^sluice: upsert: \.: a folder'
run 1 'a name that tells no format' sh -c "cp good.csv good.data; \"$SLUICE\" upsert t good.data"
err_has '^sluice: upsert: good.data: '
err_has '^hint: '
printf 'PAR1 and then nothing that makes sense PAR1' >garbage.parquet
run 1 'garbage between the marks of Parquet' "$SLUICE" upsert t garbage.parquet
err_has '^sluice: upsert: garbage.parquet: '
"$SLUICE" query t -o whole.parquet --quiet
head -c 300 whole.parquet >cut.parquet
run 1 'a Parquet file cut short' "$SLUICE" upsert t cut.parquet
err_has '^sluice: upsert: cut.parquet: .*not a Parquet file'
size=$(wc -c <whole.parquet)
begin 'a Parquet file with any byte changed: no crash'
at=4
while [ $at -lt "$size" ]; do
    { head -c $at whole.parquet; printf '\377'; tail -c +$((at + 2)) whole.parquet; } >changed.parquet
    for what in "upsert fuzzed changed.parquet --key id --quiet" "inspect changed.parquet" "inspect changed.parquet --rows"; do
        # shellcheck disable=SC2086
        "$SLUICE" $what >"$out" 2>"$err"
        status=$?
        [ $status -le 1 ] || wrong "byte $at, sluice $what: status $status"
    done
    at=$((at + 13))
done
run 1 'inspect what is no file of a table' "$SLUICE" inspect good.csv
err_has '^sluice: inspect: .*good.csv'
run 1 'inspect nothing' "$SLUICE" inspect nowhere
err_has '^sluice: inspect: .*nowhere'
begin 'names with control characters cannot fake messages'
"$SLUICE" upsert t "$(printf 'a\nsluice: all is well\033[2J.csv')" >"$out" 2>"$err"
status_is 1 $?
err_lines 1
err_has 'a\\nsluice: all is well\\x1b\[2J.csv'

# ---- tables ----

run 1 'a folder that is no table' sh -c "mkdir empty; \"$SLUICE\" query empty"
err_has '^sluice: query: table empty: no Hudi table here'
err_has '^hint: `sluice create` makes one$'
run 1 'no folder at all' "$SLUICE" info nowhere
err_has '^sluice: info: table nowhere: no Hudi table here'
[ ! -e nowhere ] || wrong 'it was made'
run 1 'a write does not make a table by itself' "$SLUICE" upsert nowhere good.csv
[ ! -e nowhere ] || wrong 'it was made'
mkdir -p future/.hoodie
sed 's/^hoodie.table.version=.*/hoodie.table.version=42/' t/.hoodie/hoodie.properties >future/.hoodie/hoodie.properties
run 1 'a table version of the future' "$SLUICE" query future
err_has '^sluice: query: table future: table version 42 '
mkdir -p noise/.hoodie
head -c 500 /dev/urandom >noise/.hoodie/hoodie.properties
run 1 'noise in place of the properties' "$SLUICE" query noise
err_has '^sluice: query: table noise: '
cp -r t plan && : >plan/.hoodie/timeline/20300101000000000.compaction.requested
run 1 'an empty plan file is no plan without operations' "$SLUICE" query plan
err_has '^sluice: query: table plan: instant 20300101000000000.compaction.requested: no operations in it$'
err_has '^hint: .sluice rollback. '
for verb in files info; do
    also 1 "$SLUICE" $verb plan
    err_has 'instant 20300101000000000.compaction.requested: no operations in it$'
done
also 0 "$SLUICE" rollback plan 20300101000000000
count_is plan 2
cp -r t replaced && : >replaced/.hoodie/timeline/20200101000000000_20200101000000001.replacecommit
run 1 'an empty replacecommit is none that replaced nothing' "$SLUICE" query replaced
err_has '20200101000000000_20200101000000001.replacecommit: no partitionToReplaceFileIds in it$'
cp -r t last && cp last/.hoodie/timeline/*_*.commit last/.hoodie/timeline/99991231235959998_99991231235959999.commit
run 1 'no instant is left after the newest' "$SLUICE" upsert last good.csv
err_has '^sluice: upsert: .*newest instant is "99991231235959999", and there is none after it$'
count_is last 2
cp -r t unmarked && rm unmarked/quito/.hoodie_partition_metadata
run 1 'a partition that lost its metadata file is no partition without rows' "$SLUICE" query unmarked
err_has '^sluice: query: table unmarked: folder "quito": .hoodie_partition_metadata is missing, but .*parquet is committed$'
err_has '^hint: '
also 0 touch unmarked/quito/.hoodie_partition_metadata
count_is unmarked 2
run 1 'a scheme that is not there' "$SLUICE" query ftp://host/table
err_has '^sluice: query: .*ftp'
run 1 'create without its key column' "$SLUICE" create c --schema 'id long' --key nope
err_has '^sluice: create: .*"nope"'
[ ! -e c/.hoodie/hoodie.properties ] || wrong 'a table was made'
run 1 'a schema that cannot be read' "$SLUICE" create c --schema 'id lung' --key id
err_has '^sluice: create: .*lung'
run 1 'a schema file that is not there' "$SLUICE" create c --schema nowhere.parquet --key id
err_has '^sluice: create: --schema nowhere.parquet: No such file or directory$'
run 1 'the lsm layout needs version 10' "$SLUICE" create c --schema 'id long' --key id --layout lsm_tree --table-version 9
err_has 'version 10'
nested() { # LEVELS: a struct in a struct in ...
    awk -v n="$1" 'BEGIN { s = "long"; for (i = 1; i < n; i++) s = "struct<a: " s ">"; print "id long, d " s }'
}
run 1 'create with more levels than can be read back' "$SLUICE" create deep --schema "$(nested 61)" --key id
err_has '^sluice: create: table deep: column d: .* 61 levels, 60 are possible'
err_lines 1
[ ! -e deep ] || wrong 'a table was made'
run 0 'as many levels as can be read back' "$SLUICE" create deep --schema "$(nested 60)" --key id
also 0 sh -c "awk 'BEGIN { v = 7; for (i = 1; i < 60; i++) v = \"{\\\"a\\\":\" v \"}\"; print \"{\\\"id\\\":1,\\\"d\\\":\" v \"}\" }' >deep.jsonl; \"$SLUICE\" upsert deep deep.jsonl"
also 0 "$SLUICE" query deep
out_is "$(cat deep.jsonl)"
run 1 'an index that cannot be had' "$SLUICE" create c --schema 'id long' --key id --index record_index
err_has '^sluice: create: .*RECORD_INDEX'
run 1 'compacting what has no logs' "$SLUICE" compact t
err_has 'copy-on-write'
run 1 'rolling back what is not the newest' "$SLUICE" rollback t 20200101000000000
err_has '^sluice: rollback: '
run 1 'an instant that is none' "$SLUICE" query t --as-of yesterday
err_has '^sluice: query: "yesterday" is no instant'
run 1 'a condition that does not parse' "$SLUICE" query t --where 'fare >'
err_has '^sluice: query: table t: expression: position 7: '
run 1 'a condition on no column' "$SLUICE" query t --where 'nope > 1'
err_has 'no column nope'
run 1 'no such column' "$SLUICE" query t --columns id,nope
err_has '^sluice: query: table t: column nope: '

# ---- usage ----

usage() {
    name_of_case=$1 pattern=$2
    shift 2
    run 2 "usage: $name_of_case" "$SLUICE" "$@"
    out_is_empty
    err_has "$pattern"
}
usage 'unknown verb' '^hint: did you mean `sluice upsert`?$' upsrt t good.csv
usage 'unknown verb, nothing near' '^sluice: frobnicate: unknown verb$' frobnicate t
for verb in cluster clean archive savepoint restore index upgrade downgrade publish stats health report; do
    usage "$verb is not built yet" "^sluice: $verb: not available in this version$" $verb t x
    err_lines 1
done
usage 'incremental is not built yet' '^sluice: query: --incremental: not available in this version$' query t --incremental 000
usage 'cdc is not built yet' '^sluice: query: --cdc: not available in this version$' query t --cdc 000
usage 'unknown option' '^hint: did you mean --where?$' query t --wehre x
usage 'an option of another verb' '^sluice: info: --where is no option of this verb$' info t --where x
usage 'no table' '^sluice: query: arguments are missing: ' query
usage 'too many tables' 'one argument too many' info t u
usage 'no files' '^sluice: upsert: an argument is missing: ' upsert t
usage 'empty argument' 'argument 1 is empty' info ''
usage 'value missing' '^sluice: query: --where: a value is missing (EXPR)$' query t --where
usage 'value too much' '--json takes no value' info t --json=yes
usage 'option twice' '^sluice: query: --where is given twice$' query t --where a --where b
usage 'no number' '"x" is no whole number' query t --limit x
usage 'negative number' '"-1" is no whole number' query t --limit -1
usage 'no such choice' 'one of table, csv, ' query t --format xml
usage 'setting without value' 'KEY=VALUE' info t -c hoodie.index.type
usage 'unknown setting, near one' '^hint: did you mean hoodie.index.type?$' info t -c hoodie.index.typ=BUCKET
usage 'unknown setting' '^sluice: info: setting foo: unknown$' info t -c foo=bar
usage 'setting of the wrong form' 'neither true nor false' info t -c hoodie.metadata.enable=maybe
usage 'memory of the wrong form' 'sluice.memory' info t --memory lots
usage 'unknown key to explain' '^hint: did you mean hoodie.index.type?$' config explain hoodie.index.typ
usage 'standard input without format' '--input-format is missing' upsert t -
usage 'standard input twice' 'only once' upsert t - - --input-format csv
usage 'a delimiter of two' '--delimiter' upsert t good.csv --delimiter ab
usage 'delete of nothing' '^sluice: delete: files with keys' delete t
usage 'delete of two things' 'do not go together' delete t good.csv --where 'id=1'
usage 'compact two ways' 'only one of' compact t --dry-run --schedule-only
usage 'create without key' '--key is missing' create c --schema 'id long'
usage 'create without schema' '--schema is missing' create c --key id
usage 'parquet to standard output' 'needs a file' query t --format parquet
usage 'arrow' 'not available in this version' query t --format arrow
usage 'an output called compressed' 'not compressed' query t --format csv -o t.csv.gz
usage 'an output called as what is not written' 'no such format is written' query t -o t.avro
usage '--json and csv' 'do not go together' query t --json --format csv
usage 'rows option without --rows' '--limit goes with --rows' inspect whole.parquet --limit 1
run 1 'a file of settings that is not there' "$SLUICE" info t --props nowhere.properties
err_has '^sluice: info: --props nowhere.properties: No such file or directory$'
run 2 'a file of settings with an unknown one' sh -c "echo hoodie.index.typ=BUCKET >x.properties; \"$SLUICE\" info t --props x.properties"
err_has '^hint: did you mean hoodie.index.type?$'
run 1 'a file of settings with a bad escape' sh -c "echo 'a=\\u12' >x.properties; \"$SLUICE\" info t --props x.properties"
err_has 'escape'

# ---- output ----

run 0 'a reader that has had enough' sh -c "{ \"$SLUICE\" query t; echo \$? >status; } | true; exit \$(cat status)"
err_is_empty
run 0 'config list | true' sh -c "{ \"$SLUICE\" config list; echo \$? >status; } | true; exit \$(cat status)"
err_is_empty
awk 'BEGIN { print "id,text"; for (i = 0; i < 30000; i++) print i ",some text to fill a pipe" }' >many.csv
"$SLUICE" bulk-insert many many.csv --key id --quiet 2>"$err"
run 0 'query | head' sh -c "{ \"$SLUICE\" query many; echo \$? >status; } | head -n 2; exit \$(cat status)"
err_is_empty
[ "$(wc -l <"$out")" -eq 2 ] || wrong 'not two rows'
if [ -c /dev/full ]; then
    run 1 'a full disk' sh -c "\"$SLUICE\" query many >/dev/full"
    err_has '^sluice: query: standard output: No space left on device$'
    run 1 'a full disk, short output' sh -c "\"$SLUICE\" info t >/dev/full"
    err_has '^sluice: info: standard output: No space left on device$'
fi
run 1 'standard output closed' sh -c "\"$SLUICE\" query t >&-"
err_has '^sluice: query: standard output: '
run 1 'standard output closed: the table is not written into' sh -c "\"$SLUICE\" upsert t good.csv >&-"
count_is t 2
if (ulimit -f 1) 2>/dev/null; then
    run 1 'a file that may not grow (ulimit -f)' sh -c "ulimit -f 1; \"$SLUICE\" upsert many many.csv"
    err_has '^sluice: upsert: .*File too large'
    count_is many 30000
fi
seq 200 | sed 's/.*/{"k":"&","p":"p&"}/' >partitions.jsonl
also 0 "$SLUICE" create few --schema 'k string, p string' --key k --partition p --layout lsm_tree --buckets 1
run 0 'more partitions than files may be open (ulimit -n)' sh -c "ulimit -n 16; \"$SLUICE\" upsert few partitions.jsonl"
count_is few 200
run 1 '-o where nothing can be written' "$SLUICE" query t -o nowhere/rows.csv
err_has '^sluice: query: nowhere/rows.csv: No such file or directory$'

# ---- permissions: root may everything, so another user is tried ----

as_user=
open=$(mktemp -d /tmp/sluice-cli-XXXXXX) # other users do not get into $work
trap 'chmod -R u+w "$work" "$open"; rm -rf "$work" "$open"' EXIT
cp -r t "$open/t" && cp -r t "$open/locked" && chmod -R a-w "$open/locked"
cp good.csv "$open" && cp good.csv "$open/secret.csv" && chmod 0 "$open/secret.csv"
if [ "$(id -u)" -eq 0 ]; then
    as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chown -R 65534:65534 "$open/t"
    chmod 755 "$open"
fi
if $as_user "$SLUICE" query "$open/t" --format count >"$out" 2>"$err"; then
    run 0 'a read-only table can be read' $as_user "$SLUICE" query "$open/locked" --format count
    out_is 2
    run 1 'a read-only table cannot be written' $as_user "$SLUICE" upsert "$open/locked" "$open/good.csv"
    err_has '^sluice: upsert: .*denied'
    run 1 'nor can one be made in a read-only folder' $as_user "$SLUICE" create "$open/locked/inner" --schema 'id long' --key id
    err_has 'denied'
    run 1 'an input that may not be read' $as_user "$SLUICE" upsert "$open/t" "$open/secret.csv"
    err_has '^sluice: upsert: .*secret.csv: Permission denied$'
else
    echo 'skipped: permissions (no other user can run the command here)'
fi

# ---- others at work ----

begin 'two processes write at once'
printf 'id,region,fare,ts\n101,quito,1,1\n' >one.csv
printf 'id,region,fare,ts\n102,quito,1,1\n' >two.csv
"$SLUICE" upsert t one.csv >"$out" 2>"$err" &
first=$!
"$SLUICE" upsert t two.csv >out.2 2>err.2
status_is 0 $?
wait $first
status_is 0 $?
count_is t 4
begin 'two processes make the same table'
"$SLUICE" upsert both one.csv --key id >"$out" 2>"$err" &
first=$!
"$SLUICE" upsert both two.csv --key id >out.2 2>err.2
status_is 0 $?
wait $first
status_is 0 $?
count_is both 2
if command -v flock >/dev/null; then
    begin 'a lock that is not obtained in time: status 3'
    flock t/.hoodie/.locks/sluice.lock sleep 5 &
    holder=$!
    sleep 0.2
    "$SLUICE" upsert t good.csv -c hoodie.write.lock.wait_time_ms=100 >"$out" 2>"$err"
    status_is 3 $?
    out_is_empty
    err_has '^sluice: upsert: .*lock'
    kill $holder 2>/dev/null
    wait $holder 2>/dev/null
fi

begin 'interrupted while standard input is awaited: status 130'
mkfifo feed
sleep 30 >feed &
feeder=$!
"$SLUICE" upsert t - --input-format csv <feed >"$out" 2>"$err" &
pid=$!
sleep 0.3
kill -TERM $pid
wait $pid
status_is 130 $?
kill $feeder 2>/dev/null
wait $feeder 2>/dev/null
out_is_empty
count_is t 4
ls "$TMPDIR"/sluice-input-* >/dev/null 2>&1 && wrong 'the copy of standard input is left'

begin 'interrupted while files are written: status 130, nothing of it is left'
awk 'BEGIN { print "id,region,fare,ts"; for (i = 0; i < 400000; i++) print i ",r" i % 20 "," i / 2 "," i }' >big.csv
"$SLUICE" create big --schema big.csv --key id --partition region --quiet
"$SLUICE" upsert big big.csv --threads 1 >"$out" 2>"$err" &
pid=$!
waited=0
while [ $waited -lt 500 ] && [ -z "$(find big -name '*.inflight')" ]; do
    sleep 0.01
    waited=$((waited + 1))
done
kill -TERM $pid
wait $pid
status=$?
if [ $status -eq 0 ]; then
    echo 'skipped: the write was quicker than the signal'
else
    status_is 130 $status
    out_is_empty
    err_has '^sluice: upsert: interrupted'
    count_is big 0
    [ -z "$(find big -name '*.parquet')" ] || wrong 'data files are left'
fi

finish
