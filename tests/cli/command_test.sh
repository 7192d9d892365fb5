# The command at its daily work: every verb, every format, what it prints where.
. "$(dirname "$0")/lib.sh"

cat >trips.csv <<'END'
id,region,fare,ts
1,quito,10.5,100
2,lagos,20,100
3,quito,30,100
END
schema='id long, region string, fare double, ts long'

# ---- the program itself ----

run 0 'version' "$SLUICE" version
out_has '^sluice [0-9]*\.[0-9]*\.[0-9]*$'
also 0 "$SLUICE" --version
out_has '^sluice [0-9]'
also 0 "$SLUICE" version --json
out_has '^{"version":"[0-9.]*"}$'
run 2 'no verb: usage on standard error' "$SLUICE"
out_is_empty
err_has '^usage: sluice VERB'
run 0 'help on standard output' "$SLUICE" help
out_has '^usage: sluice VERB'
out_has '^  upsert '
err_is_empty
also 0 "$SLUICE" --help
out_has '^usage: sluice VERB'
for verb in create upsert insert bulk-insert delete query compact log-compact service rollback info timeline files inspect config help completion version; do
    run 0 "help for $verb, two ways" "$SLUICE" help $verb
    out_has "^usage: sluice $verb"
    cp "$out" first
    also 0 "$SLUICE" $verb --help
    cmp -s first "$out" || wrong 'the two differ'
done
run 0 'completion for bash' "$SLUICE" completion bash
out_has 'complete -o filenames -F _sluice sluice'
if command -v bash >/dev/null; then
    bash -n "$out" 2>"$err" || wrong 'bash does not accept it'
    words=$(bash -c '. "$1"; COMP_WORDS=(sluice query t --form) COMP_CWORD=3; _sluice; echo "${COMPREPLY[@]}"' - "$out")
    [ "$words" = --format ] || wrong "--form is completed to: $words"
    words=$(bash -c '. "$1"; COMP_WORDS=(sluice up) COMP_CWORD=1; _sluice; echo "${COMPREPLY[@]}"' - "$out")
    [ "$words" = upsert ] || wrong "up is completed to: $words"
fi

# ---- create ----

run 0 'create a table from a schema text' "$SLUICE" create t --schema "$schema" --key id --partition region --ordering ts
out_has '^create t: table version 9, COPY_ON_WRITE, default layout, EVENT_TIME_ORDERING, 4 buckets$'
[ "$(tail -n 1 "$out" | cut -c1-13)" = 'readable by: ' ] || wrong 'the last line does not say who can read it'
err_is_empty
grep -qx 'hoodie.table.recordkey.fields=id' t/.hoodie/hoodie.properties || wrong 'key not stored'
grep -qx 'hoodie.table.partition.fields=region' t/.hoodie/hoodie.properties || wrong 'partition not stored'
run 1 'create where a table is' "$SLUICE" create t --schema "$schema" --key id
err_has '^sluice: create: table t: there is a table already$'
run 0 'create from a file, all options' "$SLUICE" create lsm --schema trips.csv --key id --ordering ts --type mor --layout lsm_tree \
    --buckets 2 --merge-mode event_time --index bucket --name rides --table-version 10 --json
out_has '^{.*"created":true'
for line in hoodie.table.name=rides hoodie.table.version=10 hoodie.table.type=MERGE_ON_READ hoodie.table.storage.layout=lsm_tree \
    hoodie.bucket.index.num.buckets=2 hoodie.record.merge.mode=EVENT_TIME_ORDERING hoodie.index.type=BUCKET; do
    grep -qx "$line" lsm/.hoodie/hoodie.properties || wrong "not stored: $line"
done
run 0 'an empty table has no rows' "$SLUICE" query t
out_is_empty
also 0 "$SLUICE" timeline t
also 0 "$SLUICE" files t
count_is t 0

# ---- writing ----

run 0 'upsert: result line' "$SLUICE" upsert t trips.csv
out_has '^upsert [0-9]\{17\} commit: 3 rows in, 3 inserted, 3 files, [0-9.]* kB, [0-9.]* s, [0-9,]* rows/s$'
[ "$(wc -l <"$out")" -eq 1 ] || wrong 'more than one line'
err_is_empty
run 0 'upsert again: updates' "$SLUICE" upsert t trips.csv --json
out_has '^{"operation":"upsert","instant":"[0-9]\{17\}","completed":"[0-9]\{17\}","action":"commit","rows_in":3,'
out_has '"rows_inserted":0,"rows_updated":3,"rows_deleted":0,'
run 0 'several files, one commit' sh -c "printf 'id,region,fare,ts\n4,oslo,1,1\n' >four.csv; printf '{\"id\":5,\"region\":\"oslo\",\"fare\":2,\"ts\":1}\n' >five.jsonl
    \"$SLUICE\" upsert t four.csv five.jsonl"
out_has ': 2 rows in, 2 inserted, '
count_is t 5
run 0 'quiet' "$SLUICE" upsert t four.csv --quiet
out_is_empty
err_is_empty
run 0 'an older row loses (event time)' sh -c "printf 'id,region,fare,ts\n1,quito,99,50\n' | \"$SLUICE\" upsert t - --input-format csv"
also 0 "$SLUICE" query t --where 'id = 1' --columns fare
out_is '{"fare":10.5}'
run 0 'JSON lines from standard input' sh -c "printf '{\"id\":6,\"region\":\"oslo\",\"fare\":2,\"ts\":1}\n' | \"$SLUICE\" insert t - --input-format jsonl"
out_has '^insert [0-9]* commit: 1 row in, '
count_is t 6
run 0 'Parquet out and in' "$SLUICE" query t -o copy.parquet
out_is 'query: 6 rows, copy.parquet'
also 0 "$SLUICE" upsert copy copy.parquet --key id
err_has '^sluice: upsert: table copy: created$'
count_is copy 6
run 0 'a write makes the table, standard input included' sh -c "\"$SLUICE\" bulk-insert made - --input-format csv --key id --partition region --ordering ts <trips.csv"
out_has '^bulk-insert [0-9]* commit: 3 rows in, 3 inserted, '
count_is made 3
run 0 '--key of the table that is there' "$SLUICE" upsert made trips.csv --key id --partition region
run 1 '--key that differs from the table' "$SLUICE" upsert made trips.csv --key region
err_has '^sluice: upsert: table made: --key region: the table is there and has id$'
err_has '^hint: '
run 0 'text stays text when the table says so' sh -c "printf 'k,v\n007,1\n' >k.csv; \"$SLUICE\" create k --schema 'k string, v long' --key k && \"$SLUICE\" upsert k k.csv"
also 0 "$SLUICE" query k
out_is '{"k":"007","v":1}'
run 0 'delimiter and null text' sh -c "printf 'k;v\na;1\nb;NULL\nc;\"NULL\"\n' | \"$SLUICE\" upsert semi - --input-format csv --delimiter ';' --null-text NULL --key k --schema 'k string, v string'"
also 0 "$SLUICE" query semi
out_is_sorted '{"k":"a","v":"1"}
{"k":"b","v":null}
{"k":"c","v":"NULL"}'
run 0 'a new column of the input becomes the table'"'"'s' sh -c "printf 'id,region,fare,ts,tip\n1,quito,11,200,3.5\n' >tip.csv; \"$SLUICE\" upsert t tip.csv"
also 0 "$SLUICE" query t --where 'id <= 2'
out_is_sorted '{"id":1,"region":"quito","fare":11.0,"ts":200,"tip":3.5}
{"id":2,"region":"lagos","fare":20.0,"ts":100,"tip":null}'
"$SLUICE" create added --schema 'id long, v string' --key id --quiet || exit 1
printf '{"id":1,"v":"a"}\n{"id":2,"channel":"web"}\n' >channel.jsonl
printf 'id,v,zip\n3,c,007\n' >zip.csv
run 1 'JSON lines add no column by themselves' "$SLUICE" upsert added channel.jsonl
err_has '^sluice: upsert: channel.jsonl: line 2: column `channel` is not one of the table$'
err_has '^hint: .* (--schema)$'
run 0 '--schema adds columns to a table that is there; its own types stay' "$SLUICE" upsert added channel.jsonl --schema 'id int, channel string not null'
also 0 "$SLUICE" upsert added zip.csv --schema 'zip string, absent long' -c hoodie.write.set.null.for.missing.columns=true
also 0 "$SLUICE" upsert added channel.jsonl --schema 'channel string'
also 0 "$SLUICE" query added
out_is_sorted '{"id":1,"v":"a","channel":null,"zip":null}
{"id":2,"v":null,"channel":"web","zip":null}
{"id":3,"v":"c","channel":null,"zip":"007"}'
also 0 "$SLUICE" info added
out_has '^id *long$'
run 0 '--schema adds columns of a stream' sh -c "printf 'id,late\n4,1\n' | \"$SLUICE\" upsert added - --input-format csv --schema 'late double' --commit-rows 1 -c hoodie.write.set.null.for.missing.columns=true"
also 0 "$SLUICE" query added --where 'late = 1' --columns id,late
out_is '{"id":4,"late":1.0}'
run 0 'settings from a file, -c goes before them' sh -c "printf '# comment\nhoodie.table.name = from\\\\\n   _file\nhoodie.bucket.index.num.buckets: 7\n! more\nhoodie.parquet.compression.codec=snappy\n' >p.properties
    \"$SLUICE\" create props --schema 'id long' --key id --props p.properties -c hoodie.bucket.index.num.buckets=3"
grep -qx 'hoodie.table.name=from_file' props/.hoodie/hoodie.properties || wrong 'the joined line was not understood'
grep -qx 'hoodie.bucket.index.num.buckets=3' props/.hoodie/hoodie.properties || wrong '-c did not go before --props'
run 0 'options before the verb, --name=value, -- ends options' "$SLUICE" --json --memory=64MiB --threads 1 upsert -- made trips.csv
out_has '^{"operation":"upsert"'
run 0 'a quiet day: no rows, no instant' sh -c "echo id,region,fare,ts,tip >none.csv; \"$SLUICE\" upsert t none.csv"
out_is 'upsert: nothing to do'

# ---- delete ----

run 0 'delete by file: key and partition columns only' sh -c "printf 'region,id\nquito,3\n' >gone.csv; \"$SLUICE\" delete t gone.csv"
out_has '^delete [0-9]* commit: 1 row in, 1 deleted, '
count_is t 5
run 0 'delete by condition' "$SLUICE" delete t --where "region = 'oslo' and id > 4"
out_has ': 2 rows in, 2 deleted, '
count_is t 3
run 0 'delete what is not there' "$SLUICE" delete t --where 'id = 77'
out_is 'delete: nothing to do'

# ---- query ----

run 0 'jsonl without a terminal' "$SLUICE" query made
out_is_sorted '{"id":1,"region":"quito","fare":10.5,"ts":100}
{"id":2,"region":"lagos","fare":20.0,"ts":100}
{"id":3,"region":"quito","fare":30.0,"ts":100}'
run 0 'csv' "$SLUICE" query made --format csv --where 'id = 2'
out_is "$(printf 'id,region,fare,ts\r\n2,lagos,20.0,100\r')"
run 0 'table' "$SLUICE" query made --format table --columns id,region --limit 1
out_has '^id  region$'
run 0 'canonical: sorted, with the stable meta columns' "$SLUICE" query made --format canonical
sed 's/[0-9]\{17\}/T/' "$out" >stable
[ "$(cat stable)" = '{"_hoodie_commit_time":"T","_hoodie_partition_path":"quito","_hoodie_record_key":"1","fare":10.5,"id":1,"region":"quito","ts":100}
{"_hoodie_commit_time":"T","_hoodie_partition_path":"lagos","_hoodie_record_key":"2","fare":20.0,"id":2,"region":"lagos","ts":100}
{"_hoodie_commit_time":"T","_hoodie_partition_path":"quito","_hoodie_record_key":"3","fare":30.0,"id":3,"region":"quito","ts":100}' ] || wrong 'other rows'
run 0 'count' "$SLUICE" query made --format count
out_is 3
also 0 "$SLUICE" query made --format count --where "region = 'quito'" --json
out_is '{"rows":2}'
run 0 '--meta, --columns with meta columns' "$SLUICE" query made --meta --limit 1
out_has '^{"_hoodie_commit_time":"[0-9]*","_hoodie_commit_seqno":"'
also 0 "$SLUICE" query made --columns _hoodie_record_key,ts --where 'id=1'
out_is '{"_hoodie_record_key":"1","ts":100}'
run 0 '--limit' "$SLUICE" query made --limit 2
[ "$(wc -l <"$out")" -eq 2 ] || wrong 'not two rows'
also 0 "$SLUICE" query made --limit 0
out_is_empty
run 0 '-o: the format by its name, no temporary left' "$SLUICE" query made -o rows.csv --where 'id=1'
[ "$(tr -d '\r' <rows.csv)" = "$(printf 'id,region,fare,ts\n1,quito,10.5,100')" ] || wrong 'rows.csv differs'
also 0 "$SLUICE" query made -o rows.jsonl --json
out_is '{"rows":3,"file":"rows.jsonl"}'
[ "$(ls rows.*)" = "$(printf 'rows.csv\nrows.jsonl')" ] || wrong 'other files are left'
also 0 "$SLUICE" query made -o big.CSV
[ "$(head -n 1 big.CSV | tr -d '\r')" = id,region,fare,ts ] || wrong 'big.CSV is no CSV'
run 0 '-o of a failed query leaves what was there' sh -c "echo old >kept.csv; \"$SLUICE\" query made --where 'nope=1' -o kept.csv; echo \$?; cat kept.csv; ls kept.csv*"
out_is "$(printf '1\nold\nkept.csv')"
run 0 '--explain on standard error' "$SLUICE" query made --explain --where "region = 'lagos'"
out_is '{"id":2,"region":"lagos","fare":20.0,"ts":100}'
err_has '^rows out  *1$'
err_has '^bytes read '
also 0 "$SLUICE" query made --explain --json --where "id > 100"
out_is_empty
err_has '"files_skipped":[1-9].*"rows_skipped":3,'
run 0 'counting reads no rows' "$SLUICE" query made --format count --explain
out_is 3
err_has '^rows out  *3$'
grep -q '^pages' "$err" && wrong 'pages were read'
run 0 '--explain of a write' "$SLUICE" upsert made trips.csv --explain
err_has '^writing '
err_has '^rows written  *3$'
also 0 "$SLUICE" upsert made trips.csv --explain --json
err_has '"rows_decoded":3,.*"rows_written":3,'
err_has '^{"steps":\[{"step":"reading",'
run 0 'as of an instant' sh -c "\"$SLUICE\" timeline made --json | sed 's/.*\"instant\":\"\([0-9]*\)\".*/\1/' >then; printf 'id,region,fare,ts\n9,quito,1,1\n' | \"$SLUICE\" upsert made - --input-format csv >last
    \"$SLUICE\" query made --format count --as-of \$(\"$SLUICE\" timeline made --json | sed 's/^\[{\"instant\":\"\([0-9]*\)\".*/\1/')"
out_is 3
count_is made 4

# ---- lookup ----

run 0 'lookup: rows that are there, a line about how many' "$SLUICE" lookup made 1 2 404
out_is_sorted '{"id":1,"region":"quito","fare":10.5,"ts":100}
{"id":2,"region":"lagos","fare":20.0,"ts":100}'
err_has '^sluice: lookup: 2 rows found for 3 keys$'
also 0 "$SLUICE" lookup made 404 --quiet
out_is_empty
err_is_empty
run 0 'lookup: keys from a file and from standard input' sh -c "printf '1\n\n3\r\n' >keys.txt; \"$SLUICE\" lookup made --keys keys.txt --format count; printf '3\n' | \"$SLUICE\" lookup made 1 - --format count"
out_is "$(printf '2\n2')"
run 0 'lookup: columns, meta columns, format' "$SLUICE" lookup made 2 --columns fare,_hoodie_record_key
out_is '{"fare":20.0,"_hoodie_record_key":"2"}'
also 0 "$SLUICE" lookup made 2 --meta
out_has '^{"_hoodie_commit_time":"[0-9]*"'
also 0 "$SLUICE" lookup made 2 --format csv
out_is "$(printf 'id,region,fare,ts\r\n2,lagos,20.0,100\r')"
run 0 'lookup: composite keys, and one that begins with a dash' sh -c "printf 'a,b,v\n-1,x,10\n2,y,20\n' >both.csv; \"$SLUICE\" upsert both both.csv --key a,b >/dev/null; \"$SLUICE\" upsert dash both.csv --key a >/dev/null
    \"$SLUICE\" lookup both a:2,b:y; \"$SLUICE\" lookup dash -- -1"
out_is "$(printf '{"a":2,"b":"y","v":20}\n{"a":-1,"b":"x","v":10}')"
for key in 2 a:2 b:y,a:2 a:2.0,b:y a:02,b:y; do
    run 0 "lookup: no key of that table: $key" "$SLUICE" lookup both "$key"
    err_has "warning: key .$key.: record keys of this table look like a:<long>,b:<string>$"
done
run 0 'lookup: no key of a table with one key field' "$SLUICE" lookup dash 1.0
err_has 'look like <long>, the value of a$'
also 0 "$SLUICE" lookup dash 7
err_lines 1
run 0 'lookup: one partition' "$SLUICE" lookup t 1 2 9 --in lagos --format count
out_is 1
also 0 "$SLUICE" lookup t 1 2 9 --in region=lagos --format count
out_is 1
also 1 "$SLUICE" lookup t 1 2 9 --in lago
err_has '^sluice: lookup: table t: there is no partition "lago"$'
err_has '^hint: a partition is named by its path'
also 2 "$SLUICE" lookup made
err_has 'no key is given'
also 1 "$SLUICE" lookup made 1 --columns nope
err_has 'column nope'
also 1 "$SLUICE" lookup made --keys nowhere.txt
err_has '^sluice: lookup: nowhere.txt: No such file or directory$'

# ---- services ----

run 0 'a log-structured table' "$SLUICE" upsert lsm trips.csv
out_has '^upsert [0-9]* deltacommit: 3 rows in, '
also 0 "$SLUICE" upsert lsm trips.csv
run 0 'compact --dry-run changes nothing' "$SLUICE" compact lsm --dry-run
out_has '^file group .* logs'
also 0 "$SLUICE" compact lsm --dry-run --json
out_has '"operations": *\['
also 0 "$SLUICE" timeline lsm
grep -q compaction "$out" && wrong 'there is a compaction'
run 0 'compact --schedule-only, then --execute' "$SLUICE" compact lsm --schedule-only
out_has '^compact [0-9]\{17\} scheduled: [12] tasks*$'
instant=$(cut -d' ' -f2 "$out")
also 0 "$SLUICE" info lsm
out_has "^pending  *$instant compaction REQUESTED"
also 0 "$SLUICE" compact lsm --execute "$instant"
out_has "^compact $instant [a-z]*: [0-9]* log records in, 3 rows written, "
count_is lsm 3
run 0 'compact with nothing to do' "$SLUICE" compact lsm
out_is 'compact: nothing to do'
for i in 1 2; do also 0 "$SLUICE" upsert lsm trips.csv; done
run 0 'log-compact' "$SLUICE" log-compact lsm
out_is 'log-compact: nothing to do'
also 0 "$SLUICE" log-compact lsm -c hoodie.log.compaction.blocks.threshold=2 --dry-run
out_has '^file group .* logs'
also 0 "$SLUICE" log-compact lsm -c hoodie.log.compaction.blocks.threshold=2 --schedule-only
out_has '^log-compact [0-9]\{17\} scheduled: [12] tasks*$'
instant=$(cut -d' ' -f2 "$out")
also 1 "$SLUICE" compact lsm --execute "$instant"
also 0 "$SLUICE" log-compact lsm --execute "$instant"
out_has "^log-compact $instant logcompaction: 6 log records in, 3 rows written, "
count_is lsm 3
run 0 'service does what is due' "$SLUICE" service lsm --dry-run
out_has '^file group .* logs'
also 0 "$SLUICE" service lsm --schedule-only
out_has '^service [0-9]\{17\} scheduled: [12] tasks*$'
also 0 "$SLUICE" service lsm
out_has '^service [0-9]\{17\} compaction: [0-9]* log records in, 3 rows written, '
also 0 "$SLUICE" service lsm
out_is 'service: nothing to do'
also 2 "$SLUICE" service lsm --every 0
also 2 "$SLUICE" service lsm --every 5 --dry-run
run 0 'services after a write' "$SLUICE" upsert lsm trips.csv -c hoodie.compact.inline=true
also 0 "$SLUICE" service lsm
out_is 'service: nothing to do'
count_is lsm 3
also 1 "$SLUICE" service lsm -c sluice.compaction.policy=always
err_has "neither size_tiered nor hudi"
run 0 'rollback of the newest write' sh -c "printf 'id,region,fare,ts\n8,x,1,1\n' | \"$SLUICE\" upsert lsm - --input-format csv | cut -d' ' -f2 >i; \"$SLUICE\" rollback lsm \$(cat i)"
out_has "^rollback [0-9]\{17\} rollback: undid $(cat i), 1 file deleted, "
count_is lsm 3

# ---- looking ----

run 0 'info' "$SLUICE" info lsm
for line in '^table  *rides$' '^kind  *version 10, MERGE_ON_READ, lsm_tree layout$' '^key  *id$' '^ordering  *ts$' '^index  *BUCKET, 2 buckets on id$' \
    '^readable by  .' '^writable  *yes$' '^fare  *double$'; do out_has "$line"; done
also 0 "$SLUICE" info lsm --json
out_has '^{"uri":"lsm","name":"rides","version":10,"type":"MERGE_ON_READ","layout":"lsm_tree"'
run 0 'timeline' "$SLUICE" timeline lsm
out_has '^instant  *completed  *action  *state  *operation'
out_has ' deltacommit  *COMPLETED  *UPSERT '
also 0 "$SLUICE" timeline lsm --limit 1
[ "$(wc -l <"$out")" -eq 2 ] || wrong '--limit 1 shows more'
out_has rollback
also 0 "$SLUICE" timeline lsm --limit 1 --json
out_has '^\[{"instant":"[0-9]*".*"action":"rollback".*}\]$'
run 0 'files' "$SLUICE" files lsm
out_has '^file group .*level  kind '
out_has ' 0  log '
also 0 "$SLUICE" files lsm --base-only
grep -q ' log ' "$out" && wrong '--base-only shows logs'
out_has ' 1  base '
also 0 "$SLUICE" files lsm --json
out_has '^\[{"partition":"","file_id":"'
run 0 'inspect a Parquet file' "$SLUICE" inspect copy.parquet
out_has '^kind  *parquet$'
also 0 "$SLUICE" inspect copy.parquet --json
out_has '^{"kind":"parquet"'
also 0 "$SLUICE" inspect copy.parquet --rows --limit 2
[ "$(wc -l <"$out")" -eq 2 ] || wrong 'not two rows'
also 0 "$SLUICE" inspect copy.parquet --rows --format count
out_is 6
run 0 'inspect properties and an instant' "$SLUICE" inspect t/.hoodie/hoodie.properties
out_has '  hoodie.table.recordkey.fields  *id$'
also 0 "$SLUICE" inspect "$(ls t/.hoodie/timeline/*.commit | head -n 1)" --json
out_has '^{"kind":"avro"'
run 0 'config list' "$SLUICE" config list
out_has '^hoodie.index.type  *text  *BUCKET '
also 0 "$SLUICE" config list --json
out_has '^\[{"key":"hoodie'
run 0 'config explain' "$SLUICE" config explain hoodie.index.type
out_has '^hoodie.index.type$'
also 0 "$SLUICE" config explain hoodie.index.type --json
out_has '"default":"BUCKET"'
run 0 'every listed setting can be given with its default' sh -c "\"$SLUICE\" config list --json | tr '{' '\n' | sed -n 's/.*\"key\":\"\([^\"]*\)\".*\"type\":\"\([^\"]*\)\",\"default\":\"\([^\"]*\)\".*/\1=\3 \2/p' |
    while read -r setting type; do case \$setting in *=) [ \$type = text ] || continue ;; esac
    \"$SLUICE\" version -c \"\$setting\" || exit 1; done"

# ---- a terminal ----

if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    run 0 'a table on a terminal' script -qec "'$SLUICE' query made --columns id,region --where 'id=2'" /dev/null
    out_has '^id  region'
    if [ -z "${SL_TEST_QUICK:-}" ]; then
        awk 'BEGIN { print "id,region,fare,ts"; for (i = 0; i < 200000; i++) print i ",r" i % 7 "," i / 2 "," i }' >big.csv
        run 0 'progress on a terminal' env TERM=xterm SLUICE_PROGRESS_DELAY=0 script -qec "'$SLUICE' bulk-insert big1 big.csv --key id --threads 1" /dev/null
        out_has 'bulk-insert: [a-z]* .*/s'
        out_has '.\[36m'
        run 0 'NO_COLOR' env TERM=xterm NO_COLOR=1 SLUICE_PROGRESS_DELAY=0 script -qec "'$SLUICE' bulk-insert big2 big.csv --key id --threads 1" /dev/null
        out_has 'bulk-insert: [a-z]* .*/s'
        grep -q '.\[36m' "$out" && wrong 'there is color'
        run 0 '--no-progress' env TERM=xterm SLUICE_PROGRESS_DELAY=0 script -qec "'$SLUICE' bulk-insert big3 big.csv --key id --threads 1 --no-progress" /dev/null
        grep -q '.\[K' "$out" && wrong 'there is progress'
    fi
fi

# ---- what a query writes can be written into a table again ----

printf '{"id":1,"f":1.5,"x":"hex:00ff"}\n{"id":2,"f":"-Infinity","x":null}\n{"id":3,"f":"NaN","x":""}\n' >round.jsonl
for format in csv jsonl; do
    run 0 "$format: a table to fill" "$SLUICE" create $format --schema 'id int, f double, x binary' --key id --buckets 1
    also 0 "$SLUICE" upsert $format round.jsonl
    run 0 "$format: out and in again, whatever the types of the file's own rows would be" "$SLUICE" query $format -o out.$format
    also 0 "$SLUICE" insert-overwrite-table $format out.$format
    also 0 "$SLUICE" query $format --format canonical --columns id,f,x
    out_has '{"f":1.5,"id":1,"x":"hex:00ff"}'
    out_has '{"f":"-Infinity","id":2,"x":null}'
    out_has '{"f":"NaN","id":3,"x":"hex:"}'
done
run 1 'CSV with another delimiter than the one that was given' sh -c "printf 'id;f\n1;2\n' >semicolon.csv; \"$SLUICE\" upsert csv semicolon.csv"
err_has 'semicolon.csv: the header is read as one column, `id;f` (--delimiter says'
run 1 'JSON lines whose types cannot be inferred' "$SLUICE" upsert new round.jsonl --key id
err_has 'round.jsonl: line 2: f: byte 12: a string where other lines have a number'
err_has 'hint: types are inferred from the lines; a schema of the table settles them'
run 1 'JSON lines of a file bring no columns' sh -c "echo '{\"id\":4,\"ff\":1}' >more.jsonl; \"$SLUICE\" upsert csv more.jsonl"
err_has 'more.jsonl: line 1: column `ff` is not one of the table'
err_has 'hint: is `f` meant?'
run 0 'an instant before a column came: all columns of then' sh -c "echo 'id,f,x,more
1,1,,a' >more.csv; \"$SLUICE\" upsert csv more.csv"
also 0 sh -c "\"$SLUICE\" query csv --where id=1 --format jsonl --as-of \$(\"$SLUICE\" timeline csv --json | sed 's/^\[{\"instant\":\"\([0-9]*\)\".*/\1/')"
out_has '^{"id":1,"f":1.5,"x":"AP8="}$'
run 1 'a column that is not there' "$SLUICE" query csv --columns id,mare
err_has 'hint: did you mean more?'

finish
