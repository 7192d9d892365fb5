# The operations that replace file groups, tables without a bucket index, and tables that keep changes.
. "$(dirname "$0")/lib.sh"

schema='id string, region string, v int, ts long'
rows() { # rows NAME KEY,REGION,V,TS ...
    file=$1
    shift
    { echo id,region,v,ts && printf '%s\n' "$@"; } >"$file"
}
rows_are() { # rows_are TABLE 'KEY/REGION/V ...'
    found=$("$SLUICE" query "$1" --format csv --columns id,region,v | tail -n +2 | tr -d '\r' | tr , / | sort | paste -sd ' ' -)
    [ "$found" = "$2" ] || wrong "table $1 has $found, not $2"
}
rows first.csv a,quito,1,1 b,quito,1,1 c,lagos,1,1 d,oslo,1,1
rows again.csv b,quito,2,0 e,quito,2,0
rows back.csv b,quito,1,1
rows none.csv
sed -i '$d' none.csv

# ---- replacing ----

for kind in 'default bucket' 'lsm_tree bucket' 'default simple' 'lsm_tree bloom'; do
    layout=${kind% *} index=${kind#* }
    t=$layout-$index
    run 0 "$kind: make and fill" "$SLUICE" upsert $t first.csv --key id --partition region --ordering ts --layout $layout --index $index
    run 0 "$kind: insert-overwrite replaces what the input touches" "$SLUICE" insert-overwrite $t again.csv
    out_has '^insert-overwrite [0-9]* replacecommit: 2 rows in, 2 inserted, [12] file groups\{0,1\} replaced, '
    rows_are $t 'b/quito/2 c/lagos/1 d/oslo/1 e/quito/2'
    run 0 "$kind: delete-partition, by value and by path" "$SLUICE" delete-partition $t region=lagos oslo --json
    out_has '"operation":"delete-partition".*"action":"replacecommit".*"partitions":2.*"file_groups_replaced":2'
    rows_are $t 'b/quito/2 e/quito/2'
    run 0 "$kind: and again: nothing is there" "$SLUICE" delete-partition $t lagos
    out_is 'delete-partition: nothing to do'
    run 0 "$kind: an upsert goes on" "$SLUICE" upsert $t first.csv
    rows_are $t 'a/quito/1 b/quito/1 c/lagos/1 d/oslo/1 e/quito/2'
    run 0 "$kind: insert-overwrite-table" "$SLUICE" insert-overwrite-table $t again.csv --json
    out_has '"action":"replacecommit".*"rows_inserted":2'
    rows_are $t 'b/quito/2 e/quito/2'
    run 0 "$kind: the instant before is still there" sh -c "\"$SLUICE\" query $t --format count --as-of \$(\"$SLUICE\" timeline $t --json | sed 's/.*\"instant\":\"\([0-9]*\)\",\"completed\":\"[0-9]*\",\"action\":\"[a-z]*\",\"state\":\"COMPLETED\",\"operation\":\"UPSERT\".*/\1/')"
    out_is 5
    run 0 "$kind: no rows empty the table" "$SLUICE" insert-overwrite-table $t none.csv
    count_is $t 0
    also 0 "$SLUICE" insert-overwrite-table $t none.csv
    out_is 'insert-overwrite-table: nothing to do'
    run 0 "$kind: no rows touch no partition" "$SLUICE" insert-overwrite $t none.csv
    out_is 'insert-overwrite: nothing to do'
    run 0 "$kind: rows come again, some go by condition" "$SLUICE" upsert $t first.csv
    count_is $t 4
    also 0 "$SLUICE" delete $t --where "region = 'quito' and id > 'a'"
    rows_are $t 'a/quito/1 c/lagos/1 d/oslo/1'
    also 0 "$SLUICE" upsert $t back.csv
    count_is $t 4
done

run 1 'delete-partition: a name that fits none' "$SLUICE" delete-partition default-bucket quito region=nowhere
err_has 'there is no partition "region=nowhere"'
count_is default-bucket 4
run 1 'delete-partition: no field of the table' "$SLUICE" delete-partition default-bucket id=a
run 2 'delete-partition: no name' "$SLUICE" delete-partition default-bucket
run 0 'several fields, some of them left out' sh -c "printf 'id,p,q,v\n1,a,x,1\n2,a,y,1\n3,b,x,1\n4,c,x/y=z,1\n' >pq.csv
\"$SLUICE\" upsert pq pq.csv --key id --partition p,q -c hoodie.datasource.write.partitionpath.urlencode=true &&
\"$SLUICE\" delete-partition pq q=x/p=b && \"$SLUICE\" delete-partition pq p=a"
count_is pq 1
run 0 'a value with a slash' "$SLUICE" delete-partition pq q=x/y=z
count_is pq 0
run 1 'delete-partition of a table without partitions' sh -c "printf 'id,v\n1,1\n' >flat.csv; \"$SLUICE\" upsert flat flat.csv --key id && \"$SLUICE\" delete-partition flat ''x"
err_has 'the table is not partitioned'

run 0 'a plan stands in the way of delete-partition' sh -c "\"$SLUICE\" upsert lsm_tree-bucket again.csv && \"$SLUICE\" compact lsm_tree-bucket --schedule-only"
also 3 "$SLUICE" delete-partition lsm_tree-bucket quito
err_has 'the compaction [0-9]* is planned on it'
also 0 "$SLUICE" delete-partition lsm_tree-bucket lagos
run 0 'but not of an overwrite, which the plan then leaves out' "$SLUICE" insert-overwrite lsm_tree-bucket again.csv
also 0 "$SLUICE" compact lsm_tree-bucket
rows_are lsm_tree-bucket 'b/quito/2 d/oslo/1 e/quito/2'

# ---- without a bucket index ----

run 0 'create --index simple' "$SLUICE" create s --schema "$schema" --key id --partition region --ordering ts --index simple
out_has ', SIMPLE index$'
run 0 'upsert, delete by file and by condition' "$SLUICE" upsert s first.csv
also 0 "$SLUICE" upsert s again.csv
out_has '2 rows in, 1 inserted, 1 file'
also 0 "$SLUICE" delete s --where "id = 'a'"
out_has '1 row in, 1 deleted'
printf 'id,region\ne,quito\nz,quito\n' >gone.csv
also 0 "$SLUICE" delete s gone.csv
out_has '2 rows in, 1 deleted'
rows_are s 'b/quito/1 c/lagos/1 d/oslo/1'
run 0 'info names the index' "$SLUICE" info s
out_has '^index  *SIMPLE$'
run 1 'a global index is refused by name' "$SLUICE" create g --schema "$schema" --key id --index global_bloom
err_has 'GLOBAL_BLOOM'
run 1 'a sort mode without order, on lsm_tree' "$SLUICE" bulk-insert lsm_tree-bloom first.csv -c hoodie.bulkinsert.sort.mode=NONE
err_has 'hoodie.bulkinsert.sort.mode=NONE gives files no order'
run 1 'columns of one'"'"'s own to sort by' "$SLUICE" bulk-insert s first.csv -c hoodie.bulkinsert.user.defined.partitioner.sort.columns=v
err_has 'sort.columns=v'
run 1 'groups that look like buckets, and no index named' sh -c "\"$SLUICE\" upsert f first.csv --key id --partition region --ordering ts && sed -i '/hoodie.index.type\|hoodie.bucket/d' f/.hoodie/hoodie.properties && \"$SLUICE\" upsert f again.csv"
err_has 'looks like one of a bucket index'
also 0 "$SLUICE" upsert f again.csv -c hoodie.index.type=BUCKET -c hoodie.bucket.index.num.buckets=4

# ---- keys of deletes ----

# What a file's values look like must not matter: text of digits, integers that a double cannot hold, decimals, times, and columns
# of no use whose values do not go together.
keys='s string, n long, d decimal(10,2), t timestamp, day date, v long'
row='"n":9007199254740993,"d":"1.50","t":"2024-01-01T00:00:00Z","day":"2024-02-03","v":1'
printf '{"s":"007",%s}\n{"s":"7",%s}\n{"s":"true",%s}\n{"s":"2024-01-01",%s}\n' "$row" "$row" "$row" "$row" >keys.jsonl
printf '%s\n' '{"s":"007","n":9007199254740993,"d":1.5,"t":1704067200000000,"day":19756,"v":{}}' \
    '{"v":"x","s":"2024-01-01","n":9007199254740993,"d":"1.500","t":"2024-01-01 00:00:00","day":"2024-02-03","extra":[1]}' >gone.jsonl
printf '%s\n' 'extra,s,v,day,t,d,n' ',007,x,2024-02-03,2024-01-01,1.5,9007199254740993' \
    '1,2024-01-01,,19756,1704067200000000,1.500,9.007199254740993e15' >gone.csv
run 0 'deletes by file: keys have the types of the table' true
for layout in default lsm_tree; do
    for format in jsonl csv; do
        also 0 "$SLUICE" upsert keys-$layout-$format keys.jsonl --schema "$keys" --key s,n,d,t --partition day --layout $layout
        also 0 "$SLUICE" delete keys-$layout-$format gone.$format
        also 0 "$SLUICE" query keys-$layout-$format --columns s --format jsonl
        out_is_sorted '{"s":"7"}
{"s":"true"}'
        also 0 sh -c "\"$SLUICE\" delete keys-$layout-$format - --input-format jsonl <keys.jsonl"
        count_is keys-$layout-$format 0
    done
done
run 1 'deletes by file: a key column is missing' sh -c "printf 's,n,d,day\n7,1,1,2024-01-01\n' >short.csv; \"$SLUICE\" delete keys-default-csv short.csv"
err_has 'column t of the table is missing from the input$'

# ---- deletes in a stream of changes ----

printf '%s\n' '{"id":1,"op":"c","ts":1}' '{"id":2,"op":"c","ts":1}' '{"id":3,"op":"c","ts":5}' >before.jsonl
printf '%s\n' '{"id":1,"op":"d","ts":3}' '{"id":3,"op":"d","ts":3}' '{"id":4,"op":"u","ts":3}' '{"id":5,"op":"d","ts":3}' >after.jsonl
marker='-c hoodie.payload.delete.field=op -c hoodie.payload.delete.marker=d'
run 0 'a column says which rows are deletes; late ones lose' true
for layout in default lsm_tree; do
    for index in bucket simple; do
        t=marked-$layout-$index
        also 0 "$SLUICE" create $t --schema 'id long, op string, ts long' --key id --ordering ts --layout $layout --index $index $marker
        also 0 "$SLUICE" upsert $t before.jsonl
        also 0 "$SLUICE" upsert $t after.jsonl $marker
        also 0 "$SLUICE" query $t
        out_is_sorted '{"id":2,"op":"c","ts":1}
{"id":3,"op":"c","ts":5}
{"id":4,"op":"u","ts":3}'
    done
done
run 1 'a marker that the table does not have' "$SLUICE" upsert marked-default-bucket after.jsonl -c hoodie.payload.delete.marker=x
err_has 'hoodie.payload.delete.marker=x: the table has d: not supported$'
run 1 'a merge mode that the table does not have' "$SLUICE" upsert marked-default-bucket after.jsonl -c hoodie.record.merge.mode=COMMIT_TIME_ORDERING
err_has 'the table has EVENT_TIME_ORDERING: not supported$'
run 1 'half a marker' "$SLUICE" create half --schema 'id long, op string' --key id -c hoodie.payload.delete.field=op
err_has 'go together'
run 1 'a marker in no column' "$SLUICE" create half --schema 'id long' --key id $marker
err_has 'is no column of the schema'

# ---- changes ----

cdc='-c hoodie.table.cdc.enabled=true -c hoodie.table.cdc.supplemental.logging.mode=data_before'
run 0 'a table that keeps changes' "$SLUICE" create c --schema "$schema" --key id --layout lsm_tree -c hoodie.table.type=COPY_ON_WRITE $cdc --buckets 1
also 0 grep -q '^hoodie.table.cdc.supplemental.logging.mode=DATA_BEFORE$' c/.hoodie/hoodie.properties
also 0 "$SLUICE" insert c first.csv
also 0 "$SLUICE" upsert c again.csv
run 0 'files lists them, and inspect shows them' "$SLUICE" files c
out_has ' cdc  *[0-9]*  *2 '
also 0 sh -c "\"$SLUICE\" inspect c/*.cdc.parquet --rows --format jsonl"
out_has '^{"op":"u","record_key":"b","before":{"id":"b","region":"quito","v":1,"ts":1}}$'
out_has '^{"op":"i","record_key":"e","before":null}$'
also 0 "$SLUICE" doctor c --deep
also 0 sed -i 's/^hoodie.table.cdc.enabled=.*/hoodie.table.cdc.enabled=false/' c/.hoodie/hoodie.properties
also 0 "$SLUICE" upsert c first.csv
also 0 "$SLUICE" files c
out_has ' cdc  *[0-9]*  *2 '
run 1 'changes in the default layout are refused by name' "$SLUICE" create d --schema "$schema" --key id $cdc
err_has 'default layout that keeps change data (hoodie.table.cdc.enabled)'
run 1 'a mode that is none' "$SLUICE" create d --schema "$schema" --key id --layout lsm_tree -c hoodie.table.cdc.enabled=true -c hoodie.table.cdc.supplemental.logging.mode=all
err_has 'op_key_only, data_before or data_before_after'

finish
