"""pyarrow and DuckDB open single files of an lsm_tree table: rows, columns, order and footers as spec/lsm-layout.md 4 to 6."""

import json
import os
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import support
from support import check, create, query, same, sluice, test, write

META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
SCHEMA = ("id string, v int, name string, d decimal(10,2), day date, at timestamp, tags list<string>, m map<string, long>, "
          "s struct<a: int, b: string>, ts long, _hoodie_is_deleted boolean")
COLUMNS = ["id", "v", "name", "d", "day", "at", "tags", "m", "s", "ts", "_hoodie_is_deleted"]
ORDERING = ["ts", "d"]
KEYS = ["a", "ä", "b", "\uff21", "\U0001f600", "10", "9"]


def row(id, v, ts, **more):
    return dict({"id": id, "v": v, "name": None if v % 3 == 0 else "n%d" % v, "d": "%d.25" % v, "day": "2024-02-%02d" % (v % 28 + 1),
                 "at": "2024-01-31T10:00:00.%06dZ" % v, "tags": ["t", "é"] if v % 2 else [], "m": [["k", v], ["l", None]],
                 "s": {"a": v, "b": None}, "ts": ts, "_hoodie_is_deleted": None}, **more)


def make(folder):
    """(table, instants) with a base file, data logs and delete logs in one bucket."""
    table = os.path.join(folder, "t")
    create(table, SCHEMA, "id", None, ",".join(ORDERING), ["--layout", "lsm_tree", "--buckets", "1"])
    instants = [write(table, "upsert", [row(k, i, 10) for i, k in enumerate(KEYS)])["instant"],
                write(table, "upsert", [row("ä", 20, 11), row("new", 21, 11), row("b", 22, 11, _hoodie_is_deleted=True),
                                        row("\U0001f600", 23, 12, _hoodie_is_deleted=True)])["instant"],
                write(table, "delete", [{"id": "a"}, {"id": "9"}])["instant"]]
    return table, instants


def files(table):
    """{(instant, kind): path}; kind: base, log, deletes."""
    out = {}
    for name in support.data_files(table):
        m = re.match(r"^[0-9a-f-]+_\d+-\d+-\d+_(\d+)(?:_(\d+)\.(log|deletes))?\.parquet$", name)
        check(m is not None, "a file name: %s", name)
        check(m.group(2) in (None, "1"), "the version of %s", name)
        out[m.group(1), m.group(3) or "base"] = os.path.join(table, name)
    return out


def footer(path):
    return {k.decode(): v.decode() for k, v in (pq.read_metadata(path).metadata or {}).items() if k != b"ARROW:schema"}


@test
def names_and_kinds(folder):
    table, (first, second, third) = make(folder)
    there = sorted(files(table))
    check(there == [(first, "base"), (second, "deletes"), (second, "log"), (third, "deletes")], "files: %s", there)
    ids = {os.path.basename(p).split("_")[0] for p in files(table).values()}
    check(len(ids) == 1 and re.match(r"^00000000-[0-9a-f-]+-0$", min(ids)), "one file id of bucket 0: %s", ids)


@test
def data_files(folder):
    """Columns in order, nullable, rows in the order of the keys' UTF-8 bytes, meta columns."""
    table, (first, second, _) = make(folder)
    for (instant, kind), path in files(table).items():
        if kind == "deletes":
            continue
        got = pq.ParquetFile(path).read()
        check(got.column_names == META + COLUMNS, "columns of %s: %s", path, got.column_names)
        check(all(f.nullable for f in got.schema), "every column is optional: %s", got.schema)
        check(got.schema.field("d").type == pa.decimal128(10, 2) and got.schema.field("at").type == pa.timestamp("us", "UTC"),
              "types: %s", got.schema)
        rows = got.to_pylist()
        keys = [r["_hoodie_record_key"] for r in rows]
        check(keys == sorted(keys, key=lambda k: k.encode("utf-8")), "the order of %s", keys)
        check(set(keys) == (set(KEYS) if kind == "base" else {"ä", "new"}), "the keys: %s", keys)
        group = os.path.basename(path).split("_")[0]
        for n, r in enumerate(rows):
            check(r["_hoodie_commit_time"] == instant, "commit time of %s", r)
            check(re.match(r"^%s_\d+_\d+$" % instant, r["_hoodie_commit_seqno"]), "sequence number of %s", r)
            check(r["_hoodie_partition_path"] == "", "partition of %s", r)
            check(r["_hoodie_file_name"] == (os.path.basename(path) if kind == "base" else group), "file name of %s", r)
            check(r["id"] == keys[n] and r["s"]["a"] == r["v"] and dict(r["m"])["k"] == r["v"], "values of %s", r)
        seqnos = [r["_hoodie_commit_seqno"] for r in rows]
        check(len(set(seqnos)) == len(seqnos), "sequence numbers repeat: %s", seqnos)


@test
def delete_logs(folder):
    """Key and ordering columns only; null ordering values for the delete operation."""
    table, (_, second, third) = make(folder)
    for instant, want in ((second, [("b", 11, "22.25"), ("\U0001f600", 12, "23.25")]), (third, [("9", None, None), ("a", None, None)])):
        path = files(table)[instant, "deletes"]
        got = pq.ParquetFile(path)
        check(got.schema_arrow.names == ["_hoodie_record_key"] + ORDERING, "columns of %s: %s", path, got.schema_arrow.names)
        check(not got.schema_arrow.field(0).nullable and got.schema_arrow.field(1).nullable, "required key, optional ordering")
        check(got.schema.column(2).physical_type == "FIXED_LEN_BYTE_ARRAY" and got.schema.column(2).length == 5,
              "decimal(10,2) is fixed(5): %s", got.schema.column(2))
        check(str(got.schema).count("hudi_delete_log_record") == 1, "the message's name: %s", got.schema)
        rows = [(r["_hoodie_record_key"], r["ts"], None if r["d"] is None else str(r["d"])) for r in got.read().to_pylist()]
        check(rows == want, "rows of %s: %s", path, rows)


CHANGES = {"op_key_only": ["op", "record_key"], "data_before": ["op", "record_key", "before"],
           "data_before_after": ["op", "ts_ms", "before", "after"]}


def changed(folder, mode):
    """(change log, its instant) of an upsert into a copy-on-write table: an update, a late row, a delete, an insert."""
    table = os.path.join(folder, mode)
    create(table, SCHEMA, "id", None, "ts", ["--layout", "lsm_tree", "--buckets", "1"],
           {"hoodie.table.type": "COPY_ON_WRITE", "hoodie.table.cdc.enabled": "true",
            "hoodie.table.cdc.supplemental.logging.mode": mode})
    write(table, "insert", [row(k, i, 10) for i, k in enumerate(KEYS)])
    instant = write(table, "upsert", [row("a", 31, 11), row("b", 32, 9), row("ä", 33, 11, _hoodie_is_deleted=True),
                                      row("new", 34, 1)])["instant"]
    support.lsm_check(table)
    logs = [n for n in support.data_files(table) if n.endswith(".cdc.parquet")]
    check(len(logs) == 1 and logs[0].endswith("_%s_1.cdc.parquet" % instant), "one change log: %s", logs)
    kinds = [f["kind"] for g in json.loads(sluice("files", table, "--json")) for s in g["slices"] for f in s["files"]]
    check(sorted(kinds) == ["base", "base", "cdc"], "what `files` lists: %s", kinds)
    return os.path.join(table, logs[0]), instant


@test
def change_logs(folder):
    """G-12: plain Parquet, images are nullable groups of the table's columns without meta columns, footers as those of logs."""
    for mode, columns in CHANGES.items():
        path, instant = changed(folder, mode)
        got = pq.ParquetFile(path)
        check(got.schema_arrow.names == columns and all(f.nullable for f in got.schema_arrow), "columns: %s", got.schema_arrow)
        name = "Record" if mode == "op_key_only" else "hoodie.%s.CDC" % mode
        check(re.search(r" %s \{" % re.escape(name), str(got.schema)), "the message's name: %s", got.schema)
        rows = got.read().to_pylist()
        check([r["op"] for r in rows] == ["u", "i", "d"], "operations in key order: %s", rows)
        if "record_key" in columns:
            check([r["record_key"] for r in rows] == ["a", "new", "ä"], "keys: %s", rows)
        if "ts_ms" in columns:
            check({r["ts_ms"] for r in rows} == {instant}, "instants: %s", rows)
        for image, want in (("before", [KEYS.index("a"), None, KEYS.index("ä")]), ("after", [31, 34, None])):
            if image in columns:
                check([f.name for f in got.schema_arrow.field(image).type] == COLUMNS, "members: %s", got.schema_arrow)
                check([r[image] and r[image]["v"] for r in rows] == want, "%s images: %s", image, rows)
                check(all(not r[image] or dict(r[image]["m"])["k"] == r[image]["v"] for r in rows), "maps: %s", rows)
        duck = duckdb.sql("SELECT op, count(*) AS n FROM read_parquet('%s') GROUP BY op ORDER BY op" % path).fetchall()
        check(duck == [("d", 1), ("i", 1), ("u", 1)], "DuckDB: %s", duck)
        headers = footer(path)
        check(headers["hudi.log.format.VERSION"] == "2" and headers["hudi.log.format.INSTANT_TIME"] == instant, "%s", headers)
        fields = [f["name"] for f in json.loads(headers["hudi.log.format.SCHEMA"])["fields"]]
        check(fields == columns and headers["parquet.avro.schema"] == headers["hudi.log.format.SCHEMA"], "schema: %s", headers)
        seen = json.loads(sluice("inspect", path, "--json"))
        check(seen["rows"] == 3 and seen["key_values"]["hudi.log.format.INSTANT_TIME"] == instant, "inspect: %s", seen)


@test
def log_footers(folder):
    """Header entries in both forms, the table's schema with meta fields, min and max key."""
    table, _ = make(folder)
    for (instant, kind), path in files(table).items():
        entries = footer(path)
        keys = [r["_hoodie_record_key"] for r in pq.ParquetFile(path).read(["_hoodie_record_key"]).to_pylist()]
        utf16 = sorted(keys, key=lambda k: k.encode("utf-16-be"))          # as peers compare these two
        check(entries.get("hoodie_min_record_key") == utf16[0] and entries.get("hoodie_max_record_key") == utf16[-1],
              "min and max key of %s: %s", path, entries)
        check("parquet.avro.schema" in entries, "no Avro schema in %s", path)
        if kind == "base":
            check(not [k for k in entries if k.startswith("hudi.log")], "log headers in a base file: %s", entries)
            fields = [f["name"] for f in json.loads(entries["parquet.avro.schema"])["fields"]]
            check(fields == META + COLUMNS, "Avro schema of %s: %s", path, fields)
            continue
        split = {k[len("hudi.log.format."):]: v for k, v in entries.items() if k.startswith("hudi.log.format.")}
        whole = json.loads(split.pop("metadata"))
        check(split == whole, "the two forms in %s differ", path)
        check(list(whole)[0] == "VERSION", "VERSION comes first: %s", list(whole))
        check(set(split) == {"VERSION", "INSTANT_TIME", "SCHEMA"}, "headers of %s: %s", path, set(split))
        check(split["VERSION"] == "2" and split["INSTANT_TIME"] == instant, "headers of %s: %s", path, split)
        check([f["name"] for f in json.loads(split["SCHEMA"])["fields"]] == META + COLUMNS, "SCHEMA of %s", path)


@test
def duckdb_reads(folder):
    """DuckDB: the same rows as pyarrow, footer entries, and pruning that loses nothing."""
    table, _ = make(folder)
    db = duckdb.connect()
    for (_, kind), path in files(table).items():
        rows = pq.ParquetFile(path).read().to_pylist()
        got = db.execute("select _hoodie_record_key, ts, d from read_parquet(?)", [path]).fetchall()
        check(got == [(r["_hoodie_record_key"], r["ts"], r["d"]) for r in rows], "DuckDB's rows of %s: %s", path, got)
        for r in rows:
            n = db.execute("select count(*) from read_parquet(?) where _hoodie_record_key = ?", [path, r["_hoodie_record_key"]]).fetchone()
            check(n == (1,), "DuckDB finds %s %s times", r["_hoodie_record_key"], n)
        entries = {bytes(k).decode(): bytes(v).decode() for k, v in
                   db.execute("select key, value from parquet_kv_metadata(?)", [path]).fetchall()}
        entries.pop("ARROW:schema", None)
        check(entries == footer(path), "DuckDB's footer of %s", path)
        if kind != "deletes":
            got = db.execute("select v, tags, s.a, m['k'] from read_parquet(?)", [path]).fetchall()
            want = [(r["v"], r["tags"], r["v"], r["v"]) for r in rows]
            check([(v, t, a, k[0] if isinstance(k, list) else k) for v, t, a, k in got] == want, "nested values: %s", got)


@test
def compacted_base(folder):
    """After a compaction one base file holds the table, commit times of the writing instants kept."""
    table, (first, second, _) = make(folder)
    before = query(table)
    sluice("compact", table)
    same("after", query(table), "before the compaction", before)
    newest = max(i for i, kind in files(table) if kind == "base")
    check(newest > first, "the compaction made a base file")
    rows = pq.ParquetFile(files(table)[newest, "base"]).read().to_pylist()
    times = {r["id"]: r["_hoodie_commit_time"] for r in rows}
    check(times == {"10": first, "ä": second, "new": second, "\uff21": first}, "rows and commit times: %s", times)
    check([r["id"] for r in rows] == sorted(times, key=lambda k: k.encode("utf-8")), "their order")
    check({r["_hoodie_file_name"] for r in rows} == {os.path.basename(files(table)[newest, "base"])}, "their file name")


@test
def compacted_logs(folder):
    """After a log compaction one data log and one delete log hold what the replaced ones said, and say which they replace."""
    table, (first, second, third) = make(folder)
    before = query(table)
    printed = json.loads(sluice("log-compact", table, "-c", "hoodie.log.compaction.blocks.threshold=2", "--json"))
    new = printed["instant"]
    same("after", query(table), "before the log compaction", before)
    there = files(table)
    check({k for i, k in there if i == new} == {"log", "deletes"}, "its files: %s", sorted(there))
    for kind in ("log", "deletes"):
        entries = footer(there[new, kind])
        check(entries["hudi.log.format.COMPACTED_BLOCK_TIMES"] == second + "," + third, "what %s replaces: %s", kind, entries)
        check(json.loads(entries["hudi.log.format.metadata"])["COMPACTED_BLOCK_TIMES"] == second + "," + third, "the map of %s", kind)
        check(entries["hudi.log.format.INSTANT_TIME"] == new, "instant of %s", kind)
    rows = pq.ParquetFile(there[new, "log"]).read().to_pylist()
    check([(r["id"], r["_hoodie_commit_time"], r["v"]) for r in rows] == [("new", second, 21), ("ä", second, 20)], "rows: %s", rows)
    deletes = pq.ParquetFile(there[new, "deletes"]).read().to_pylist()
    check([(r["_hoodie_record_key"], r["ts"]) for r in deletes] == [("9", None), ("a", None), ("b", 11), ("\U0001f600", 12)],
          "deletes: %s", deletes)
    gone = {r["_hoodie_record_key"] for r in deletes}                     # by hand: base, deletes, rows; all newer than the base
    merged = {r["id"]: r["v"] for r in pq.ParquetFile(there[first, "base"]).read().to_pylist() if r["id"] not in gone}
    merged.update((r["id"], r["v"]) for r in rows)
    check(merged == {r["id"]: r["v"] for r in map(json.loads, before)}, "merged by hand: %s", merged)


@test
def many_pages(folder):
    """Small pages and row groups: statistics and page index hold, pruning by DuckDB loses nothing."""
    table = os.path.join(folder, "t")
    create(table, "id string, v long, s string, ts long", "id", None, "ts", ["--layout", "lsm_tree", "--buckets", "1"])
    n = 60000
    path = os.path.join(folder, "rows.parquet")
    pq.write_table(pa.table({"id": ["k%07d" % (i * 7919 % n) for i in range(n)], "v": pa.array(range(n), pa.int64()),
                             "s": [None if i % 5 == 0 else "x%d" % (i % 50) for i in range(n)], "ts": pa.array(range(n), pa.int64())}), path)
    small = ["-c", "hoodie.parquet.page.size=4096", "-c", "hoodie.parquet.block.size=60000"]
    write(table, "upsert", path, *small)
    write(table, "upsert", path, *small)
    db = duckdb.connect()
    for (_, kind), name in files(table).items():
        meta = pq.read_metadata(name)
        check(meta.num_rows == n and meta.num_row_groups > 1, "%d rows in %d row groups", meta.num_rows, meta.num_row_groups)
        rows = pq.ParquetFile(name).read(["_hoodie_record_key", "v", "s"]).to_pylist()
        check([r["_hoodie_record_key"] for r in rows] == ["k%07d" % i for i in range(n)], "the order of the keys")
        for v in range(0, n, 997):
            got = db.execute("select _hoodie_record_key from read_parquet(?) where v = ?", [name, v]).fetchall()
            check(got == [("k%07d" % (v * 7919 % n),)], "v = %d: %s", v, got)
            key = rows[v]["_hoodie_record_key"]
            got = db.execute("select v from read_parquet(?) where _hoodie_record_key = ?", [name, key]).fetchall()
            check(got == [(rows[v]["v"],)], "%s: %s", key, got)
        got = db.execute("select count(*), count(s) from read_parquet(?) where s is null or s < 'x3'", [name]).fetchone()
        want = [r["s"] for r in rows if r["s"] is None or r["s"] < "x3"]
        check(got == (len(want), sum(s is not None for s in want)), "s < x3: %s", got)
        got = pq.read_table(name, columns=["v"], filters=[("_hoodie_record_key", ">=", "k0010000"), ("_hoodie_record_key", "<", "k0010100")])
        check(got.num_rows == 100, "pyarrow's range: %d rows", got.num_rows)


@test
def copied_pages(folder):
    """Compactions that copy pages of the base into the next one, and copies of copies: what pyarrow, DuckDB and the peer of the layout read."""
    table, n = os.path.join(folder, "t"), 8000
    create(table, SCHEMA, "id", None, "ts", ["--layout", "lsm_tree", "--buckets", "1"])
    small = ["-c", "sluice.parquet.page.rows=200", "-c", "hoodie.parquet.block.size=100000"]
    write(table, "upsert", [row("k%06d" % i, i, 1) for i in range(n)], *small)
    db = duckdb.connect()
    for generation in range(3):
        met = list(range(n - 100, n + 30)) + [1000 * generation + 77]
        write(table, "upsert", [row("k%06d" % i, i + 1, 2 + generation) for i in met], *small)
        write(table, "delete", [{"id": "k%06d" % (2000 * generation + 500)}], *small)
        before = query(table)
        sluice("compact", table, *small)
        same("after", query(table), "before the compaction", before)
        same("lsm_peer", support.lsm_read(table), "sluice", before)
        path = files(table)[max(i for i, kind in files(table) if kind == "base"), "base"]
        file = pq.ParquetFile(path, page_checksum_verification=True)
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        check(any(rows % 200 for rows in sizes) and any(rows >= 600 and rows % 200 == 0 for rows in sizes), "row groups, some copied: %s", sizes)
        rows = file.read().to_pylist()
        keys = [r["_hoodie_record_key"] for r in rows]
        check(keys == sorted(keys) and len(keys) == len(before), "the order of %d keys", len(keys))
        check({r["_hoodie_file_name"] for r in rows} == {os.path.basename(path)}, "one file name")
        check(footer(path)["hoodie_min_record_key"] == keys[0] and footer(path)["hoodie_max_record_key"] == keys[-1], "min and max key")
        got = db.execute("select _hoodie_record_key, v, tags, s.a, name from read_parquet(?)", [path]).fetchall()
        check(got == [(r["id"], r["v"], r["tags"], r["s"]["a"], r["name"]) for r in rows], "DuckDB's rows of generation %d", generation)
        nulls = db.execute("select count(*) from read_parquet(?) where name is null", [path]).fetchone()
        check(nulls == (sum(r["name"] is None for r in rows),), "DuckDB counts nulls by statistics: %s", nulls)
        for r in rows[::61]:
            got = db.execute("select v from read_parquet(?) where _hoodie_record_key = ?", [path, r["id"]]).fetchall()
            check(got == [(r["v"],)], "DuckDB finds %s: %s", r["id"], got)
            got = pq.read_table(path, columns=["id"], filters=[("v", "=", r["v"]), ("id", "=", r["id"])])
            check(got.num_rows == 1, "pyarrow finds %s", r["id"])


if __name__ == "__main__":
    support.main()
