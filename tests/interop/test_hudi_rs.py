"""hudi-rs 0.5.0 reads sluice's copy-on-write tables: rows equal to sluice's query and to a dictionary."""

import os
import random

import pyarrow as pa
import pyarrow.parquet as pq

import support
from support import Model, SEED, check, create, ddl, query, same, test, write
from typed_rows import TYPES, types_expected, types_file

import rs_hudi


def rs_read(folder, table, *options):
    out = os.path.join(folder, "rs.jsonl")
    status = rs_hudi.main(["read", table, "--out", out] + list(options))
    check(status == 0, "hudi-rs cannot read %s", table)
    return support.canon.read_lines(out)


def history(folder, name, key="id", partition="", ordering="ts", version=9, commits=5, c=None, hive=False, encode=False):
    r = random.Random("%s %d" % (name, SEED))
    table = os.path.join(folder, name)
    types = {"id": "string", "n": "int", "city": "string", "v": "double", "ts": "long"}
    create(table, ddl(types), key, partition or None, ordering or None, ["--table-version", str(version)], c)
    model = Model(types, key, partition, ordering, None, True, hive, encode)
    seen = {}
    for i in range(commits):
        operation = "delete" if i == commits - 2 else "upsert"
        rows = [{"id": r.choice("abcdefgäé") * r.choice((1, 2)), "n": r.randrange(3), "city": r.choice(("oslo", "são paulo", "lima")),
                 "v": r.random(), "ts": r.randrange(5)} for _ in range(15)]
        if operation == "delete":
            rows = rows[:4]
        instant = write(table, operation, rows)["instant"]
        model.write(instant, rows, operation == "delete")
        seen[instant] = model.lines()
        same("hudi-rs", rs_read(folder, table), "model", model.lines())
        same("sluice", query(table), "model", model.lines())
    return table, seen


@test
def snapshots(folder):
    history(folder, "plain")
    history(folder, "commit", ordering="")
    history(folder, "parts", partition="city")
    history(folder, "eight", version=8, partition="city")


@test
def composite_and_hive_style(folder):
    history(folder, "composite", key="id,n", partition="city,n", hive=True,
            c={"hoodie.datasource.write.hive_style_partitioning": "true"})


@test
def time_travel(folder):
    table, seen = history(folder, "travel")
    for instant, lines in seen.items():
        same("hudi-rs as of " + instant, rs_read(folder, table, "--as-of", instant), "model", lines)


@test
def all_types(folder):
    """All but the local timestamp, which hudi-rs does not know in a table's schema."""
    columns = [c for c in TYPES if c[1] != "timestamp_ntz"]
    table = os.path.join(folder, "types")
    create(table, "id string, ts long, " + ", ".join("%s %s" % (c[0], c[1]) for c in columns), "id", None, "ts")
    state = {}
    for i, rows in enumerate(([("k%d" % k, k % 3, 1) for k in range(9)], [("k1", 0, 2), ("k10", 2, 1)])):
        path = types_file(os.path.join(folder, "%d.parquet" % i), columns, rows)
        instant = write(table, "upsert", path)["instant"]
        state.update(types_expected(path, {k: instant for k, _, _ in rows}))
        same("hudi-rs", rs_read(folder, table), "what was written", support.canon.lines(state.values()))


@test
def many_rows(folder):
    """Several row groups and pages, all codecs that the setting names."""
    n = 30000
    rows = pa.table({"id": ["k%06d" % i for i in range(n)], "v": pa.array([i * 0.5 for i in range(n)]),
                     "s": [None if i % 7 == 0 else "text %d" % (i % 100) for i in range(n)], "ts": pa.array(range(n), pa.int64())})
    path = os.path.join(folder, "rows.parquet")
    pq.write_table(rows, path)
    for codec in ("uncompressed", "snappy", "gzip", "zstd", "lz4_raw"):
        table = os.path.join(folder, codec)
        create(table, "id string, v double, s string, ts long", "id", None, "ts")
        write(table, "upsert", path, "-c", "hoodie.parquet.compression.codec=" + codec, "-c", "hoodie.parquet.block.size=200000",
              "-c", "hoodie.parquet.page.size=10000")
        lines = query(table)
        check(len(lines) == n, "%d rows of %d", len(lines), n)
        same("hudi-rs", rs_read(folder, table), "sluice", lines)


@test
def copied_pages(folder):
    """Copy-on-write upserts of the newest keys: pages of the others are copied from file to file."""
    table, n = os.path.join(folder, "t"), 6000
    small = ["-c", "sluice.parquet.page.rows=200"]
    create(table, "id string, v double, s string, ts long", "id", None, "ts")
    rows = [{"id": "k%06d" % i, "v": i / 2, "s": None if i % 7 == 0 else "text %d" % (i % 100), "ts": 1} for i in range(n)]
    write(table, "upsert", rows, *small)
    for generation in range(2, 5):
        write(table, "upsert", [dict(r, v=-r["v"], ts=generation) for r in rows[-100 * generation:]], *small)
        same("hudi-rs", rs_read(folder, table), "sluice", query(table))


if __name__ == "__main__":
    support.main()
