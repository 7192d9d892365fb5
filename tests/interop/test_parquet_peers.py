"""Random files between pyarrow, DuckDB and our Parquet codec, both ways: pyarrow writes with random options, we read and write again
with options of ours (or copy the row groups as they are), pyarrow and DuckDB read that."""

import datetime as dt
import decimal
import os
import random
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import support
from support import check, test

ROOT = os.path.dirname(os.path.dirname(support.HERE))
BUILD = os.environ.get("SL_BUILD", os.path.join(ROOT, "build", "release"))
ROUNDS = int(os.environ.get("ROUNDS", "40"))
AUTO, PLAIN, DELTA, DELTA_LENGTH, DELTA_BYTES, SPLIT, RLE = range(1, 8)


def program(name):
    path = os.path.join(BUILD, "tests", "interop", name)
    done = subprocess.run(["make", "-s", "-C", ROOT, "BUILD=" + os.path.relpath(BUILD, ROOT), os.path.relpath(path, ROOT)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, "%s does not build: %s", name, done.stdout)
    return path


def flat_types(r):
    return [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(),
            pa.bool_(), pa.string(), pa.binary(), pa.binary(r.randint(1, 20)), pa.date32(), pa.time32("ms"), pa.time64("us"), pa.timestamp("us"),
            pa.timestamp("ms", "UTC"), pa.timestamp("ns"), pa.decimal128(r.randint(1, 38), 0)]


def random_type(r, depth):
    if depth == 0 or r.random() < 0.7:
        return r.choice(flat_types(r))
    way = r.randrange(3)
    if way == 0:
        return pa.list_(pa.field("element", random_type(r, depth - 1), r.random() < 0.7))
    if way == 1:
        return pa.map_(pa.string(), random_type(r, depth - 1))
    return pa.struct([pa.field("m%d" % i, random_type(r, depth - 1), r.random() < 0.7) for i in range(r.randint(1, 3))])


def flat_value(r, t, n):
    """One of about n values."""
    k = r.randrange(n)
    if pa.types.is_boolean(t):
        return k % 3 == 0
    if pa.types.is_integer(t):
        bits = t.bit_width
        v = k * 0x9E3779B97F4A7C15 % (1 << bits) if r.random() < 0.5 else k % (1 << (bits - 1))
        return v if not pa.types.is_signed_integer(t) else v - (1 << bits) if v >= 1 << (bits - 1) else v
    if pa.types.is_floating(t):
        return [0.0, -0.0, float("inf"), k / 8, -k / 4][k % 5]
    if pa.types.is_string(t):
        return "key-%08d-é" % k
    if pa.types.is_fixed_size_binary(t):
        return (k % 256 ** min(t.byte_width, 7)).to_bytes(t.byte_width, "big")
    if pa.types.is_binary(t):
        return bytes([k % 256]) * (k % 40)
    if pa.types.is_decimal(t):
        return decimal.Decimal(k % 10 ** t.precision) * (-1) ** k
    if pa.types.is_date(t):
        return dt.date(1970, 1, 1) + dt.timedelta(days=k % 40000)
    if pa.types.is_time(t):
        return dt.time(k % 24, k % 60, k % 59, 1000 * (k % 1000))
    return dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc if t.tz else None) + dt.timedelta(milliseconds=k)


def value(r, t, nullable, n, nulls):
    if nullable and r.random() < nulls:
        return None
    if pa.types.is_list(t):
        return [value(r, t.value_type, t.value_field.nullable, n, nulls) for _ in range(r.choice([0, 0, 1, 2, 7]))]
    if pa.types.is_map(t):
        return [("k%d" % i, value(r, t.item_type, True, n, nulls)) for i in range(r.randrange(4))]
    if pa.types.is_struct(t):
        return {f.name: value(r, f.type, f.nullable, n, nulls) for f in t}
    return flat_value(r, t, n)


def random_table(r):
    rows = r.choice([1, 10, 700, 5000])
    fields = [pa.field("name", pa.string(), True)] + [pa.field("c%d" % i, random_type(r, 2), r.random() < 0.7) for i in range(r.randint(1, 7))]
    arrays = []
    for f in fields:
        n, nulls = r.choice([1, 5, 300, 10 ** 7]), r.choice([0, 0.1, 0.9, 1])
        arrays.append(pa.array([value(r, f.type, f.nullable, n, nulls) for _ in range(rows)], f.type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write_with_pyarrow(r, table, path):
    pq.write_table(table, path, row_group_size=r.choice([None, 300, 1000]), data_page_size=r.choice([None, 200, 5000]),
                   compression=r.choice(["none", "snappy", "gzip", "zstd", "lz4"]), use_dictionary=r.random() < 0.6, version="2.6",
                   data_page_version=r.choice(["1.0", "2.0"]), write_page_index=r.random() < 0.6, write_page_checksum=r.random() < 0.5,
                   store_schema=False)


def our_options(r, table):
    out = ["codec=" + r.choice(["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"])]
    out += [o for o in ("v2=1", "sizes=1", "no_checksums=1", "page_rows=100", "group_rows=999") if r.random() < 0.5]
    out.append("encoding=%d" % r.choice([0, AUTO, AUTO, PLAIN, DELTA, DELTA_BYTES, SPLIT, RLE]))
    for f in table.schema:
        if pa.types.is_nested(f.type) or pa.types.is_boolean(f.type):
            continue
        if r.random() < 0.4:
            out.append("%s:bloom=%d" % (f.name, r.choice([0, 100, 5000])))
        if pa.types.is_string(f.type) and r.random() < 0.5:
            out.append("%s:encoding=%d" % (f.name, r.choice([AUTO, DELTA_LENGTH, DELTA_BYTES])))
    return out


def differs(got, want):
    """None, or the first column and row in which two tables of one schema differ."""
    if got.num_rows != want.num_rows or got.column_names != want.column_names:
        return "shape %s" % (got.shape,)
    for name in want.column_names:
        a, b = got.column(name).to_pylist(), want.column(name).to_pylist()
        if a != b:
            i = next(i for i in range(len(a)) if a[i] != b[i])
            return "column %s (%s), row %d: %r, not %r" % (name, want.schema.field(name).type, i, a[i], b[i])
    return None


def check_filter(path, table, name):
    """DuckDB asks the filter; a value that is there may not be excluded."""
    values = [v for v in table.column(name).to_pylist() if v is not None]
    for v in values[:: max(1, len(values) // 5)]:
        n = duckdb.execute("select count(*) from '%s' where \"%s\" = ?" % (path, name), [v]).fetchone()[0]
        check(n == values.count(v), "%s: DuckDB finds %d rows with %s = %r", path, n, name, v)


# What DuckDB 2.0 says of BYTE_STREAM_SPLIT in fixed bytes and decimals, which the format allows and pyarrow reads.
NO_SPLIT_FIXED = "BYTE_STREAM_SPLIT encoding is only supported for FLOAT, DOUBLE, INT32 or INT64 data"


def check_duckdb(path, table):
    for f in table.schema:
        try:
            n = duckdb.execute("select count(\"%s\") from '%s'" % (f.name, path)).fetchone()[0]
        except duckdb.Error as e:
            check(NO_SPLIT_FIXED in str(e), "%s: DuckDB reads %s (%s): %s", path, f.name, f.type, e)
            continue
        check(n == len(table) - table.column(f.name).null_count, "%s: DuckDB counts %d of %s (%s)", path, n, f.name, f.type)


def round_trip(r, folder, rewrite):
    table = random_table(r)
    first, second, third = (os.path.join(folder, n) for n in ("peer.parquet", "ours.parquet", "copy.parquet"))
    write_with_pyarrow(r, table, first)
    want = pq.read_table(first)
    options = our_options(r, table)
    subprocess.run([rewrite, first, second, *options], check=True)
    got = pq.read_table(second, page_checksum_verification=True)
    check(not differs(got, want), "%s: %s", " ".join(options), differs(got, want))
    check_duckdb(second, want)
    check_filter(second, want, "name")
    # our own file copied, and where its elements are named as ours are, the peer's
    renamed = r.random() < 0.5
    subprocess.run([rewrite, second, third, "copy=%d" % r.choice([1, 3, 1000])] + (["constant=name"] if renamed else []), check=True)
    if renamed:
        want = want.set_column(0, "name", pa.array(["constant"] * len(want), pa.string()))
    got = pq.read_table(third, page_checksum_verification=True)
    check(not differs(got, want), "copy of %s: %s", " ".join(options), differs(got, want))
    check_duckdb(third, want)
    check_filter(third, want, "name")


@test
def random_files_both_ways(folder):
    rewrite = program("parquet_rewrite")
    for i in range(ROUNDS):
        seed = support.SEED * 1000 + i
        try:
            round_trip(random.Random(seed), folder, rewrite)
        except Exception as e:
            raise AssertionError("SEED=%d round %d: %s" % (support.SEED, i, e)) from e


@test
def peers_row_groups_are_copied(folder):
    """Flat files of pyarrow have the physical form that we write: their row groups can be copied."""
    rewrite = program("parquet_rewrite")
    n = 20000
    table = pa.table({"name": ["n%d" % (i % 50) for i in range(n)], "id": pa.array(range(n), pa.int64()),
                      "price": [i / 8 for i in range(n)], "flag": [None if i % 7 == 0 else i % 3 == 0 for i in range(n)]})
    for v in ("1.0", "2.0"):
        for codec in ("none", "snappy", "gzip", "zstd"):
            peer, copy = os.path.join(folder, "peer.parquet"), os.path.join(folder, "copy.parquet")
            pq.write_table(table, peer, compression=codec, row_group_size=7000, data_page_version=v, write_page_index=True, write_page_checksum=True,
                           data_page_size=4000, column_encoding={"id": "DELTA_BINARY_PACKED"}, use_dictionary=["name"])
            subprocess.run([rewrite, peer, copy, "copy=1000000", "constant=name"], check=True)
            want = table.set_column(0, "name", pa.array(["constant"] * n))
            got = pq.read_table(copy, page_checksum_verification=True)
            check(not differs(got, want), "%s, pages %s: %s", codec, v, differs(got, want))
            a, b = pq.ParquetFile(peer).metadata, pq.ParquetFile(copy).metadata
            check(a.num_row_groups == b.num_row_groups, "row groups: %d", b.num_row_groups)
            for g in range(a.num_row_groups):
                for c in range(1, 4):
                    x, y = a.row_group(g).column(c), b.row_group(g).column(c)
                    check(x.statistics.to_dict() == y.statistics.to_dict(), "statistics of %s", x.path_in_schema)
                    check(x.total_compressed_size == y.total_compressed_size and x.compression == y.compression, "sizes of %s", x.path_in_schema)
                    check(y.has_offset_index and y.has_column_index, "page index of %s", x.path_in_schema)
            hit = duckdb.execute("select sum(id), count(*) from '%s' where id between 9000 and 9003" % copy).fetchone()
            check(hit == (4 * 9000 + 6, 4), "DuckDB by page index: %s", hit)


@test
def duckdb_asks_our_bloom_filters(folder):
    rewrite = program("parquet_rewrite")
    first, second = os.path.join(folder, "a.parquet"), os.path.join(folder, "b.parquet")
    table = pa.table({"name": ["key-%07d" % (i * 3) for i in range(30000)], "id": pa.array([i * 7 for i in range(30000)], pa.int64())})
    pq.write_table(table, first)
    for encoding in (0, PLAIN):  # filters made from a dictionary and from pages
        subprocess.run([rewrite, first, second, "encoding=%d" % encoding, "group_rows=10000", "name:bloom=0", "id:bloom=10000"], check=True)
        for column, there, absent in (("name", "key-0030000", "key-0030001"), ("id", 70007, 70008)):
            groups = duckdb.execute("select row_group_id, bloom_filter_excludes from parquet_bloom_probe('%s', '%s', ?)" % (second, column),
                                    [there]).fetchall()
            check([not e for _, e in sorted(groups)][1], "group 1 has %s, but: %s", there, groups)
            check(sum(e for _, e in groups) >= 1, "some group is excluded for %s: %s", there, groups)
            groups = duckdb.execute("select bloom_filter_excludes from parquet_bloom_probe('%s', '%s', ?)" % (second, column), [absent]).fetchall()
            check(sum(e for e, in groups) >= 2, "%s is nowhere: %s", absent, groups)


@test
def samples(folder):
    """Every type with known values, by every codec: values, statistics, page indexes (parquet_pyarrow.py)."""
    done = subprocess.run([os.sys.executable, os.path.join(support.HERE, "parquet_pyarrow.py"), program("parquet_write_sample"), "1500"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, "%s", done.stdout[-2000:])


@test
def spark_reads_what_is_safe(folder):
    done = subprocess.run([os.sys.executable, os.path.join(support.HERE, "parquet_spark.py"), program("parquet_rewrite"), folder],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=600)
    check(done.returncode == 0, "%s", done.stdout[-2000:])
