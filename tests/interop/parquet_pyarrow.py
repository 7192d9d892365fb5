"""Reads files of parquet_write_sample with pyarrow and DuckDB and compares them with the rules that made them.

    parquet_pyarrow.py SAMPLE_PROGRAM [ROWS]

Values, chunk statistics, row groups, page headers' checksums, the page index (used by DuckDB's and pyarrow's pruning) and
the footer. Exits with 1 and says what differs.
"""
import datetime as dt
import decimal
import math
import os
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

M64 = (1 << 64) - 1
EPOCH = dt.datetime(1970, 1, 1)
decimal.getcontext().prec = 60


def s32(v):
    return v - (1 << 32) if v >= 1 << 31 else v


def u(i):
    return i * 0x9E3779B97F4A7C15 & M64


def f64(i):
    return math.nan if i % 101 == 0 else 0.0 if i % 100 == 0 else i * 0.25 - 1000


def pair(i):
    return {"a": None if i % 3 == 0 else i, "b": f"b{i % 7}"}


def utc(us):
    return (EPOCH + dt.timedelta(microseconds=us)).replace(tzinfo=dt.timezone.utc)


RULES = {
    "id": lambda i: i,
    "flag": lambda i: i % 3 == 1,
    "i8": lambda i: i % 256 - 128,
    "i16": lambda i: i * 7 % 65536 - 32768,
    "i32": lambda i: s32(u(i) >> 32),
    "u8": lambda i: i % 256,
    "u16": lambda i: i * 7 % 65536,
    "u32": lambda i: u(i) >> 32,
    "u64": lambda i: u(i) >> 1,
    "f32": lambda i: (i % 1000) / 8 - 50,
    "f64": f64,
    "dec5": lambda i: decimal.Decimal(i % 100000 - 50000).scaleb(-2),
    "dec38": lambda i: decimal.Decimal((i if i % 2 else -i) * 10**18).scaleb(-10),
    "day": lambda i: (EPOCH + dt.timedelta(days=i % 40000 - 10000)).date(),
    "t_ms": lambda i: (EPOCH + dt.timedelta(milliseconds=i * 1000 % 86400000)).time(),
    "t_us": lambda i: (EPOCH + dt.timedelta(microseconds=i * 1000003 % 86400000000)).time(),
    "ts_ms": lambda i: utc((1700000000000 + i) * 1000),
    "ts_us": lambda i: utc(1700000000000000 - i * 12345),
    "ts_ns": lambda i: 1700000000000000000 + i * 1000,
    "local_us": lambda i: EPOCH + dt.timedelta(microseconds=1700000000000000 - i * 12345),
    "text": lambda i: f"row-{u(i) >> 40:08d}-é",
    "few": lambda i: f"few-{u(i) >> 61}",
    "constant": lambda i: "constant",
    "blob": lambda i: bytes([i % 256]) * (i % 21),
    "fix5": lambda i: (u(i) & ((1 << 40) - 1)).to_bytes(5, "little"),
    "json": lambda i: '{"n":%d}' % (i % 1000),
    "long_text": lambda i: f"{i % 10:063d}é{i % 3}",
    "all_null": lambda i: None,
    "sorted_list": lambda i: [i + k for k in range(i % 4)],
    "words": lambda i: [f"w{(i + k) % 50}" for k in range(i % 3)],
    "deep": lambda i: [[i * 10 + m for m in range((i + k) % 3)] for k in range(i % 3)],
    "pair": pair,
    "pairs": lambda i: [pair(i + k) for k in range(i % 3)],
    "props": lambda i: [(f"key{k}", None if k == 2 else float(i + k)) for k in range(i % 4)],
}
REQUIRED = {"id", "few", "constant", "pairs"}
failures = []


def complain(text):
    failures.append(text)
    print("FAIL", text)


def expected(name, rows):
    c = list(RULES).index(name)
    rule = RULES[name]
    return [None if name not in REQUIRED and (i + c) % 11 == 0 else rule(i) for i in range(rows)]


def same(a, b):
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return a == b


def check_values(path, rows):
    table = pq.read_table(path, page_checksum_verification=True)
    if table.num_rows != rows or table.column_names != list(RULES):
        complain(f"{path}: shape {table.num_rows} {table.column_names}")
        return
    for name in RULES:
        column = table.column(name)
        if name == "ts_ns":
            column = column.cast(pa.int64())
        got, want = column.to_pylist(), expected(name, rows)
        bad = [i for i in range(rows) if not same(got[i], want[i])]
        if bad:
            complain(f"{path}: {name}: {len(bad)} differ, row {bad[0]}: got {got[bad[0]]!r}, want {want[bad[0]]!r}")


def bounds(values):
    values = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
    return (min(values), max(values)) if values else None



def check_statistics(path, rows):
    f = pq.ParquetFile(path)
    at = 0
    for g in range(f.metadata.num_row_groups):
        group = f.metadata.row_group(g)
        for c in range(group.num_columns):
            chunk = group.column(c)
            name = chunk.path_in_schema
            if name not in RULES or name in ("t_ms", "ts_ns"):
                continue
            values = expected(name, rows)[at : at + group.num_rows]
            s = chunk.statistics
            if s is None or s.null_count != sum(v is None for v in values):
                complain(f"{path}: group {g} {name}: null count {s and s.null_count}")
                continue
            want = bounds(values)
            if want and name == "json":  # pyarrow shows these as bytes
                want = tuple(v.encode() for v in want)
            if s.has_min_max != (want is not None):
                complain(f"{path}: group {g} {name}: has_min_max {s.has_min_max}, want {want}")
            elif want and (s.min, s.max) != want:
                complain(f"{path}: group {g} {name}: bounds {s.min!r} {s.max!r}, want {want}")
            if name != "f64" and not (chunk.has_column_index and chunk.has_offset_index):
                complain(f"{path}: group {g} {name}: page index missing")
        at += group.num_rows
    if at != rows or f.metadata.num_rows != rows:
        complain(f"{path}: row groups hold {at} rows, footer says {f.metadata.num_rows}")
    if f.metadata.metadata.get(b"k") != b"v" or not f.metadata.created_by.startswith("sluice version "):
        complain(f"{path}: footer {f.metadata.metadata} {f.metadata.created_by}")


def check_duckdb(path, rows):
    db = duckdb.connect()
    want = expected("id", rows)
    got = [r[0] for r in db.execute(f"select id from '{path}'").fetchall()]
    if sorted(x for x in got if x is not None) != sorted(x for x in want if x is not None):
        complain(f"{path}: duckdb ids")
    for name in RULES:
        n = db.execute(f"select count(\"{name}\") from '{path}'").fetchone()[0]
        if n != sum(v is not None for v in expected(name, rows)):
            complain(f"{path}: duckdb count of {name}: {n}")
    # pruning by statistics and page index must not lose rows
    ids = expected("i32", rows)
    probes = [v for v in ids[:: max(1, rows // 7)] if v is not None]
    for v in probes:
        n = db.execute(f"select count(*) from '{path}' where i32 = {v}").fetchone()[0]
        if n != ids.count(v):
            complain(f"{path}: duckdb i32 = {v}: {n}")
    texts = expected("text", rows)
    for v in [v for v in texts[:: max(1, rows // 5)] if v is not None]:
        n = db.execute(f"select count(*) from '{path}' where text = ?", [v]).fetchone()[0]
        if n != texts.count(v):
            complain(f"{path}: duckdb text = {v}: {n}")
    total = db.execute(f"select sum(dec38), sum(len(words)) from '{path}'").fetchone()
    sums = (
        sum((v for v in expected("dec38", rows) if v is not None), decimal.Decimal(0)),
        sum(len(v) for v in expected("words", rows) if v is not None),
    )
    if (total[0] or 0) != sums[0] or (total[1] or 0) != sums[1]:
        complain(f"{path}: duckdb sums {total}, want {sums}")


def main():
    program = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    codecs = ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"]
    cases = [(n, c, p, g, b, t, x) for c in codecs for n, p, g, b, t, x in [(rows, 0, 0, 700, 1, [])]]
    cases += [
        (rows, "zstd", 333, rows // 3 + 1, 1000, 2, []),
        (rows, "zstd", 100, 0, rows, 1, ["no_dictionary"]),
        (rows, "snappy", 500, 999, 100, 2, ["old_lists"]),
        (1, "zstd", 0, 0, 1, 1, []),
        (12, "gzip", 5, 7, 5, 1, []),
        (0, "zstd", 0, 0, 1, 1, []),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for n, codec, page_rows, group_rows, batch, threads, extra in cases:
            path = os.path.join(folder, f"{codec}-{n}-{page_rows}-{group_rows}-{'-'.join(extra)}.parquet")
            subprocess.run(
                [program, path, str(n), codec, str(page_rows), str(group_rows), str(batch), str(threads), *extra],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            check_values(path, n)
            check_statistics(path, n)
            check_duckdb(path, n)
    print(f"{len(cases)} files, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
