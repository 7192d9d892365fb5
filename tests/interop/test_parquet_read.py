"""Parquet files of random schemas, data and settings, written by pyarrow and by DuckDB, read here: the same rows, the
same rows in selections, and page bounds that hold. SEED and ROUNDS (20) from the environment."""

import datetime as dt
import decimal
import os
import random
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from support import SEED, SLUICE, canon, check, test

READER = os.environ.get("SL_PARQUET_READ_ROWS") or os.path.join(os.path.dirname(SLUICE), "tests", "interop", "parquet_read_rows")
ROUNDS = int(os.environ.get("ROUNDS") or 20)
WORDS = ["", "a", "héllo", "Größe", "\U0001f600", "x" * 70, "zz", "word"]


def flat_types():
    return [
        (pa.bool_(), lambda r: r.random() < 0.5),
        (pa.int8(), lambda r: r.randrange(-128, 128)), (pa.int16(), lambda r: r.randrange(-2**15, 2**15)),
        (pa.int32(), lambda r: r.choice([r.randrange(10), r.randrange(-2**31, 2**31)])),
        (pa.int64(), lambda r: r.choice([r.randrange(10), r.randrange(-2**63, 2**63)])),
        (pa.uint8(), lambda r: r.randrange(256)), (pa.uint16(), lambda r: r.randrange(2**16)),
        (pa.uint32(), lambda r: r.randrange(2**32)), (pa.uint64(), lambda r: r.randrange(2**63)),
        (pa.float32(), lambda r: r.choice([0.0, -0.0, float(r.randrange(100)) / 4, float("inf")])),
        (pa.float64(), lambda r: r.choice([0.0, -0.0, r.uniform(-9e9, 9e9), float("nan"), float("-inf")])),
        (pa.string(), lambda r: r.choice(WORDS) + str(r.randrange(r.choice([3, 10**6])))),
        (pa.binary(), lambda r: r.randbytes(r.randrange(12))), (pa.binary(5), lambda r: r.randbytes(5)),
        (pa.date32(), lambda r: dt.date(1970, 1, 1) + dt.timedelta(r.randrange(-9999, 9999))),
        (pa.timestamp("us", "UTC"), lambda r: r.randrange(-10**15, 10**15)), (pa.timestamp("ms"), lambda r: r.randrange(-10**12, 10**12)),
        (pa.time64("us"), lambda r: r.randrange(86400 * 10**6)),
        (pa.decimal128(5, 2), lambda r: decimal.Decimal(r.randrange(-99999, 99999)).scaleb(-2)),
        (pa.decimal128(18, 0), lambda r: decimal.Decimal(r.randrange(-10**17, 10**17))),
        (pa.decimal128(38, 10), lambda r: decimal.Decimal(r.randrange(-10**37, 10**37)).scaleb(-10, decimal.Context(prec=60))),
    ]


def random_type(r, depth):
    """A type, a maker of values, and whether floats are inside."""
    if depth == 0 or r.random() < 0.5:
        return r.choice(flat_types())
    kind = r.randrange(3)
    if kind == 0:
        inner, make = random_type(r, depth - 1)
        return pa.list_(inner), lambda r: [maybe(r, make) for _ in range(r.choice([0, 1, 2, 5]))]
    if kind == 1:
        inner, make = random_type(r, depth - 1)
        return pa.map_(pa.string(), inner), lambda r: [(f"k{i}", maybe(r, make)) for i in range(r.randrange(4))]
    members = [random_type(r, depth - 1) for _ in range(r.randrange(1, 4))]
    names = [f"m{i}" for i in range(len(members))]
    return (pa.struct([pa.field(n, t) for n, (t, _) in zip(names, members)]),
            lambda r: {n: maybe(r, make) for n, (_, make) in zip(names, members)})


def maybe(r, make, share=0.15):
    return None if r.random() < share else make(r)


def random_table(r, rows, nested=True):
    columns, fields = [], []
    for i in range(r.randrange(1, 9)):
        kind, make = random_type(r, r.randrange(4) if nested else 0)
        share = r.choice([0, 0.1, 0.9, 1.0])
        required = share == 0 and r.random() < 0.5
        runs = r.random() < 0.3
        values = []
        while len(values) < rows:
            values += [maybe(r, make, share)] * (r.randrange(1, 60) if runs else 1)
        columns.append(pa.array(values[:rows], kind))
        fields.append(pa.field(f"c{i}", kind, nullable=not required))
    return pa.table(columns, schema=pa.schema(fields))


def random_settings(r, schema):
    settings = {
        "compression": r.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        "use_dictionary": r.random() < 0.6,
        "data_page_version": r.choice(["1.0", "2.0"]),
        "data_page_size": r.choice([64, 1000, 1 << 20]), "write_batch_size": r.choice([7, 64, 1024]),
        "dictionary_pagesize_limit": r.choice([100, 1 << 20]),
        "row_group_size": r.choice([50, 333, 10**6]),
        "write_page_index": r.random() < 0.7, "write_page_checksum": r.random() < 0.5,
        "store_schema": False, "version": r.choice(["1.0", "2.4", "2.6"]),
        "store_decimal_as_integer": r.random() < 0.3,
    }
    if not settings["use_dictionary"] and r.random() < 0.7:
        options = {"INT": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"], "STR": ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"]}
        chosen = {}
        for field in schema:
            if pa.types.is_integer(field.type) and not pa.types.is_uint32(field.type):
                chosen[field.name] = r.choice(options["INT"])
            elif pa.types.is_string(field.type) or pa.types.is_binary(field.type):
                chosen[field.name] = r.choice(options["STR"])
            elif pa.types.is_boolean(field.type):
                chosen[field.name] = r.choice(["RLE", "PLAIN"])
            elif pa.types.is_floating(field.type):
                chosen[field.name] = r.choice(["BYTE_STREAM_SPLIT", "PLAIN"])
        settings["column_encoding"] = chosen or None
    return settings


def expected(path):
    """Canonical lines of what pyarrow reads back: the types are those that the file says."""
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid):  # pyarrow stumbles over some DELTA pages of nulls, and over some nested ones of its own
        with duckdb.connect() as connection:
            table = connection.sql(f"from read_parquet('{path}')").to_arrow_table()
    kinds = [(f.name, canon.from_arrow(f.type)) for f in table.schema]
    return [canon.dumps({n: canon.value(row[n], kind) for n, kind in kinds}) for row in table.to_pylist()]


def read(path, *options):
    done = subprocess.run([READER, path, *map(str, options)], capture_output=True, text=True)
    check(done.returncode == 0, "%s %s: %s", path, options, done.stderr)
    return done.stdout.splitlines()


def same(path, got, wanted, what):
    if got == wanted:
        return
    for i, (a, b) in enumerate(zip(got, wanted)):
        check(a == b, "%s, %s, row %d:\n got      %s\n expected %s", path, what, i, a[:600], b[:600])
    check(False, "%s, %s: %d rows, expected %d", path, what, len(got), len(wanted))


def selections(r, rows):
    cuts = sorted(r.sample(range(rows + 1), min(2 * r.randrange(1, 5), (rows + 1) // 2 * 2)))
    return [(a, b - a) for a, b in zip(cuts[::2], cuts[1::2])]


def check_file(r, path):
    wanted = expected(path)
    same(path, read(path), wanted, "whole")
    same(path, read(path, "--batch-rows", r.choice([1, 7, 100]), "--dictionary", "--threads", 2), wanted, "small batches")
    if wanted:
        chosen = selections(r, len(wanted))
        options = [o for first, count in chosen for o in ("--rows", f"{first}:{count}")]
        same(path, read(path, "--batch-rows", 50, *options), [line for first, count in chosen for line in wanted[first:first + count]], options)
    pages, bounded, indexed, ignored = map(int, read(path, "--bounds")[0].split())
    check(ignored == 0, "%s: %d page indexes were ignored", path, ignored)
    return bounded, indexed


@test
def pyarrow_writes_what_we_read(folder):
    bounded = indexed = 0
    for i in range(ROUNDS):
        r = random.Random(SEED * 1000 + i)
        table = random_table(r, r.choice([0, 1, 40, 700]))
        path = os.path.join(folder, f"seed{SEED}_round{i}.parquet")
        pq.write_table(table, path, **random_settings(r, table.schema))
        b, x = check_file(r, path)
        bounded, indexed = bounded + b, indexed + x
    check(ROUNDS < 20 or (bounded > 0 and indexed > 0), "no bounds at all in %d files", ROUNDS)


@test
def duckdb_writes_what_we_read(folder):
    for i in range(ROUNDS):
        r = random.Random(SEED * 1000 + 500 + i)
        table = random_table(r, r.choice([1, 40, 700, 3000]), nested=i % 2 == 1)
        path = os.path.join(folder, f"seed{SEED}_duckdb{i}.parquet")
        codec, version = r.choice(["snappy", "zstd", "gzip", "uncompressed", "lz4_raw", "brotli"]), r.choice(["V1", "V2"])
        with duckdb.connect() as connection:
            connection.register("rows_in", table)
            connection.execute(f"copy rows_in to '{path}' (format parquet, compression {codec}, parquet_version {version}, row_group_size {r.choice([2048, 122880])})")
        check_file(r, path)


if __name__ == "__main__":
    import sys
    import support
    sys.exit(support.run_tests(sys.argv[1:]))
