"""The C interface from Python (examples/sluice.py: ctypes and Arrow's C streams): what pyarrow, DuckDB and polars hand over and
take, who releases what, streams that end early, errors that say why."""

import ctypes
import datetime
import decimal
import gc
import os
import sys

import duckdb
import pyarrow as pa

import support
from support import check, test

os.environ.setdefault("SLUICE_LIBRARY", os.path.join(os.path.dirname(support.SLUICE), "libsluice.so"))
sys.path.insert(0, os.path.join(support.ROOT, "examples"))

import sluice   # noqa: E402

try:
    import polars
except ImportError:
    polars = None

FLAT = "id long, name string, ok boolean, v double"
LSM = {"hoodie.table.recordkey.fields": "id", "hoodie.table.storage.layout": "lsm_tree", "hoodie.bucket.index.num.buckets": "2"}


def make(folder, schema=FLAT, **options):
    path = os.path.join(folder, "t")
    sluice.create(path, schema, **dict(LSM, **options))
    return sluice.Table(path)


def flat(first, count):
    """Rows with nulls in every column but the key."""
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()),
                     "name": pa.array([None if i % 7 == 0 else "name %d" % i for i in ids], pa.string()),
                     "ok": pa.array([None if i % 5 == 0 else i % 3 == 0 for i in ids], pa.bool_()),
                     "v": pa.array([None if i % 11 == 0 else i / 8 for i in ids], pa.float64())})


def rows(table, **what):
    """What a table holds, by key."""
    what.setdefault("columns", None)
    found = pa.table(table.scan(**what))
    names = [n for n in found.column_names if not n.startswith("_hoodie_")]
    return found.select(names).sort_by("id")


def same_rows(found, expected):
    expected = expected.sort_by("id").cast(found.schema)
    if found.equals(expected):
        return
    for name in expected.column_names:
        for i, (a, b) in enumerate(zip(found[name].to_pylist(), expected[name].to_pylist())):
            check(a == b, "row %d, column %s: %r instead of %r", i, name, a, b)
    check(False, "%d rows instead of %d", found.num_rows, expected.num_rows)


def error_of(call, *arguments):
    try:
        call(*arguments)
    except sluice.Error as e:
        return e
    raise AssertionError("nothing was refused")


# --- in ---------------------------------------------------------------------------------------------------------------

@test
def slices_at_every_offset(folder):
    """Bits and offsets that do not begin at a byte, in one piece and in many."""
    table, all_rows = make(folder), flat(0, 300)
    for first in (1, 8, 13, 65):
        for count in (1, 8, 9, 100):
            table.write(all_rows.slice(first, count), sluice.INSERT_OVERWRITE_TABLE)
            same_rows(rows(table), all_rows.slice(first, count))
    pieces = [all_rows.slice(i, 17) for i in range(0, 300, 17)]
    table.write(pa.concat_tables(pieces), sluice.INSERT_OVERWRITE_TABLE)
    same_rows(rows(table), all_rows)


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                       ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
                       ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.c_void_p),
                       ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


@test
def null_counts_that_nobody_counted(folder):
    table, batch = make(folder), flat(0, 100).combine_chunks().to_batches()[0].slice(3, 60)
    array, error = ArrowArray(), sluice._Error()
    with sluice.Writer(table, batch.schema) as writer:
        batch._export_to_c(ctypes.addressof(array))
        for i in range(array.n_children):
            array.children[i].contents.null_count = -1
        code = sluice._lib.sluice_writer_append(writer._pointer, ctypes.byref(array), ctypes.byref(error))
        check(code == 0, "%s", error.message)
        check(not array.release, "the array was not consumed")
        writer.commit()
    same_rows(rows(table), pa.table(batch))


NESTED = ("id long, at timestamp, local timestamp_ntz, day date, price decimal(12,3), raw binary, tags list<string>, "
          "counts map<string, long>, place struct<x: double, name: string, deep: list<struct<a: int, ok: boolean>>>")


def nested(count):
    utc = datetime.timezone.utc

    def row(i):
        return {"id": i, "at": datetime.datetime(2024, 1, 1 + i % 28, 12, 30, 0, i, utc), "local": datetime.datetime(1965, 5, 6, 7, 8, 9, i),
                "day": datetime.date(1960 + i, 2, 3), "price": decimal.Decimal(i - 5) / 8, "raw": bytes([i % 256, 0, 255]),
                "tags": None if i % 4 == 0 else ["é%d" % k for k in range(i % 3)] + [None],
                "counts": None if i % 5 == 0 else [("k%d" % k, None if k else i) for k in range(i % 4)],
                "place": None if i % 6 == 0 else {"x": i / 3, "name": None if i % 2 else "n", "deep": [{"a": i, "ok": i % 3 == 0}, None][:i % 3]}}

    deep = pa.list_(pa.struct([("a", pa.int32()), ("ok", pa.bool_())]))
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us")), ("day", pa.date32()),
                        ("price", pa.decimal128(12, 3)), ("raw", pa.binary()), ("tags", pa.list_(pa.string())),
                        ("counts", pa.map_(pa.string(), pa.int64())),
                        ("place", pa.struct([("x", pa.float64()), ("name", pa.string()), ("deep", deep)]))])
    return pa.Table.from_pylist([row(i) for i in range(count)], schema=schema)


@test
def nested_and_timed(folder):
    """Whole and sliced, by logs and by a compacted file."""
    table, all_rows = make(folder, NESTED), nested(90)
    table.upsert(all_rows.slice(0, 50))
    table.upsert(all_rows.slice(29, 61))
    same_rows(rows(table), all_rows)
    table.run(sluice.COMPACT)
    same_rows(rows(table), all_rows)


@test
def other_layouts_of_the_same_values(folder):
    """Dictionaries, views, large and fixed-size lists, other units of time: converted at the door."""
    table, all_rows = make(folder, NESTED), nested(40)
    text = [None if i % 3 == 0 else "a text that no view holds inline %d" % (i % 4) for i in range(40)]
    lists = pa.list_(pa.field("element", pa.string()))
    plain = all_rows.set_column(6, "tags", pa.array([[t, "short"] for t in text], lists))
    views = pa.array([x for t in text for x in (t, "short")], pa.string_view())
    other = plain.set_column(6, "tags", pa.FixedSizeListArray.from_arrays(views, 2))
    other = other.set_column(1, "at", plain["at"].cast(pa.timestamp("ns", "Europe/Berlin")))
    other = other.set_column(3, "day", plain["day"].cast(pa.date64()))
    other = other.set_column(4, "price", plain["price"].cast(pa.decimal256(12, 3)))
    other = other.set_column(5, "raw", pa.array(plain["raw"].to_pylist(), pa.binary_view()))
    table.upsert(other.slice(1))
    same_rows(rows(table), plain.slice(1))


@test
def dictionaries(folder):
    table = make(folder)
    values, indexes = pa.array(["zero", None, "two"]), pa.array([i % 3 if i % 5 else None for i in range(50)], pa.uint8())
    coded = flat(0, 50).set_column(1, "name", pa.DictionaryArray.from_arrays(indexes, values))
    table.upsert(coded.slice(11, 30))
    same_rows(rows(table), coded.slice(11, 30).set_column(1, "name", coded.slice(11, 30)["name"].cast(pa.string())))


@test
def streams_of_many_batches(folder):
    """A writer that stays open: appends, flushes and commits as its owner wishes."""
    table = make(folder)
    with sluice.Writer(table, flat(0, 1).schema) as writer:
        for k in range(6):
            writer.append(flat(k * 100, 150))
            if k % 2:
                writer.flush()
            if k == 3:
                check(writer.waiting()[0] == 600, "%s wait", writer.waiting())
                check(writer.commit()["rows_in"] == 600, "rows of the first commit")
                check(rows(table).num_rows == 450, "rows after the first commit")
        writer.append(flat(5000, 10))
        check(writer.commit()["rows_in"] == 310, "rows of the second commit")
        writer.append(flat(9000, 10))   # never committed
    same_rows(rows(table), pa.concat_tables([flat(0, 650), flat(5000, 10)]))


# --- out --------------------------------------------------------------------------------------------------------------

@test
def duckdb_takes_and_gives(folder):
    table = make(folder)
    relation = duckdb.sql("select i::bigint id, 'n' || i name, i % 2 = 0 ok, i / 4 v from range(20000) x(i)")
    check(table.upsert(relation)["rows_in"] == 20000, "rows that DuckDB gave")
    part = table.scan(where="id >= 5000", columns=["id", "name", "ok", "v"])
    found = duckdb.sql("select count(*), sum(id), count(*) filter (ok), max(name), sum(v) from part").fetchall()
    wanted = duckdb.sql("select count(*), sum(id), count(*) filter (ok), max(name), sum(v) from relation where id >= 5000").fetchall()
    check(found == wanted, "%s instead of %s", found, wanted)
    check(len(duckdb.sql("select id from part limit 1").fetchall()) == 1, "the second reading")


@test
def polars_takes_and_gives(folder):
    if polars is None:
        raise support.Skip("polars is not installed")
    table = make(folder)
    frame = polars.from_arrow(flat(0, 1000)).with_columns(polars.col("name").cast(polars.Categorical))
    table.upsert(frame)
    table.upsert(polars.from_arrow(flat(500, 1000)))
    found = polars.DataFrame(table.scan(columns=["id", "name", "ok", "v"])).sort("id")
    check(found.equals(polars.from_arrow(flat(0, 1500))), "polars has other rows")


@test
def readers_that_stop_early(folder):
    """Batches outlive their stream, their table and its threads; nothing is left behind."""
    path = os.path.join(folder, "t")
    make(folder).upsert(flat(0, 200000))
    gc.collect()
    threads, files = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    for taken in (0, 1, 3):
        reader = pa.RecordBatchReader.from_stream(sluice.Table(path).scan())
        batches = [reader.read_next_batch() for _ in range(taken)]
        reader.close()
        del reader
        gc.collect()
        check(not sluice._lent, "a stream was not released")
        check(all(b.validate(full=True) is None for b in batches), "a batch that died with its table")
    check(len(os.listdir("/proc/self/task")) <= threads, "threads are left")
    check(len(os.listdir("/proc/self/fd")) <= files, "descriptors are left")
    capsule = sluice.Table(path).scan().__arrow_c_stream__()    # which nobody takes
    del capsule
    sluice._sweep()
    check(not sluice._lent, "the stream of a forgotten capsule was not released")


# --- whose memory -----------------------------------------------------------------------------------------------------

def broken_stream(batches, fail):
    for k in range(batches):
        yield from flat(k * 1000, 1000).to_batches()
    if fail:
        raise ValueError("the well is dry")


def stream(batches, fail=False):
    return pa.RecordBatchReader.from_batches(flat(0, 1).schema, broken_stream(batches, fail))


def use_and_abuse(table):
    """Commits, refusals, drops, and streams that break."""
    table.upsert(stream(20))
    e = error_of(table.upsert, stream(3, True))
    check("the well is dry" in e.message and e.code == 8, "%d: %s", e.code, e.message)
    e = error_of(table.upsert, flat(0, 1000).rename_columns(["id", "name", "ok", "w"]))
    check("column v" in e.message and e.code == 1, "%d: %s", e.code, e.message)
    with sluice.Writer(table, flat(0, 1).schema) as writer:
        writer.append(stream(5))
        e = error_of(writer.append, flat(0, 1).set_column(0, "id", pa.nulls(1, pa.int64())))
        check("null" in e.message and e.code == 1, "%d: %s", e.code, e.message)
        writer.append(flat(100000, 10))     # a refusal takes nothing, and the writer goes on
        check(writer.commit()["rows_in"] == 5010, "rows beside a refused one")
        writer.append(flat(0, 10))
    same_rows(rows(table), pa.concat_tables([flat(0, 20000), flat(100000, 10)]))


@test
def everything_is_released(folder):
    """pyarrow counts its bytes: a second round leaves no more than the first."""
    table, held = make(folder), []
    for _ in range(3):
        use_and_abuse(table)
        gc.collect()
        held.append(pa.total_allocated_bytes())
    check(held[2] <= held[0], "pyarrow's bytes: %s", held)


@test
def errors_say_why(folder):
    table = make(folder)
    table.upsert(flat(0, 10))
    e = error_of(sluice.Table, os.path.join(folder, "nowhere"))
    check(e.code == 3 and "create" in e.hint, "%d: %s (%s)", e.code, e.message, e.hint)
    e = error_of(lambda: pa.table(table.scan(where="nme = 'x'")))
    check(e.code == 1 and "name" in e.hint, "%d: %s (%s)", e.code, e.message, e.hint)
    e = error_of(lambda: sluice.Table(os.path.join(folder, "t"), **{"sluice.memroy": "1g"}))
    check("sluice.memory" in e.hint, "%s (%s)", e.message, e.hint)
    stream = sluice.ArrowStream()   # one that was released before
    with sluice.Writer(table, flat(0, 1).schema) as writer:
        error = sluice._Error()
        code = sluice._lib.sluice_writer_append_stream(writer._pointer, ctypes.byref(stream), ctypes.byref(error))
        check(code == 1 and b"released" in error.message, "%d %s", code, error.message)


@test
def errors_amid_a_stream(folder):
    """What goes wrong while rows are read comes as the consumer's own error, with our text."""
    table = make(folder)
    table.upsert(flat(0, 300000))
    table.run(sluice.COMPACT)
    for name in support.data_files(os.path.join(folder, "t")):
        path = os.path.join(folder, "t", name)
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 3)
            f.write(b"\xff" * 20000)
    try:
        pa.table(sluice.Table(os.path.join(folder, "t")).scan())
    except pa.ArrowInvalid as e:
        check("parquet" in str(e), "%s", e)
    else:
        check(False, "damaged files were read")


if __name__ == "__main__":
    support.main()
