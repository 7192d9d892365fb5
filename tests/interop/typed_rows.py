"""Rows of every column type that Spark, hudi-rs and sluice share (spec/parquet.md 8), as Parquet files and in canonical form."""

import datetime as dt
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

import support

UTC = dt.timezone.utc
POINT = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
TYPES = [                                       # name, type in sluice's schema text, Arrow type, values (three for each row)
    ("i", "int", pa.int32(), [1, -2**31, None]),
    ("l", "long", pa.int64(), [2**63 - 1, None, -1]),
    ("f", "float", pa.float32(), [0.1, -0.0, float("inf")]),
    ("g", "double", pa.float64(), [0.1, float("nan"), None]),
    ("b", "boolean", pa.bool_(), [True, False, None]),
    ("t", "string", pa.string(), ["", "é\U0001f600\n\"", None]),
    ("y", "binary", pa.binary(), [b"", b"\x00\xff", None]),
    ("d", "date", pa.date32(), [dt.date(1582, 10, 15), dt.date(2024, 2, 29), dt.date(1969, 12, 31)]),
    ("u", "timestamp", pa.timestamp("us", "UTC"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
                                                    dt.datetime(2024, 1, 31, 10, 0, 0, 123456, UTC), None]),
    ("w", "timestamp_ntz", pa.timestamp("us"), [dt.datetime(2024, 1, 31, 10, 0, 0, 1), None, dt.datetime(1900, 1, 1)]),
    ("m", "decimal(9,2)", pa.decimal128(9, 2), [decimal.Decimal("-2.25"), decimal.Decimal("1234567.89"), None]),
    ("n", "decimal(18,4)", pa.decimal128(18, 4), [decimal.Decimal("-0.0001"), None, decimal.Decimal("99999999999999.9999")]),
    ("o", "decimal(38,10)", pa.decimal128(38, 10), [decimal.Decimal("1234567890123456789012345678.0123456789"), None,
                                                     decimal.Decimal("-1")]),
    ("p", "struct<x: int, tags: list<string>>", POINT, [{"x": 1, "tags": ["a", ""]}, {"x": None, "tags": None}, None]),
    ("q", "list<int>", pa.list_(pa.int32()), [[1, 2, 3], [], None]),
    ("r", "map<string, double>", pa.map_(pa.string(), pa.float64()), [[("a", 1.5), ("é", None)], [], None]),
    ("s", "list<struct<x: int, tags: list<string>>>", pa.list_(POINT), [[{"x": 1, "tags": ["q"]}, {"x": 2, "tags": []}], None, []]),
    ("v", "map<string, list<long>>", pa.map_(pa.string(), pa.list_(pa.int64())), [[("k", [1, 2]), ("l", [])], None, [("z", None)]]),
]
NULL_ELEMENTS = [
    ("q", "list<int>", pa.list_(pa.int32()), [[1, None, 3], [None], [None, None]]),
    ("s", "list<struct<x: int, tags: list<string>>>", pa.list_(POINT), [[None, {"x": None, "tags": [None, "q"]}], [None], None]),
    ("v", "map<string, list<long>>", pa.map_(pa.string(), pa.list_(pa.int64())), [[("k", [None, 2])], [("n", [None])], None]),
]


def types_file(path, columns, rows):
    """A Parquet file of these keys; rows: (key, which value of each column, ordering)."""
    names = ["id", "ts"] + [c[0] for c in columns]
    arrays = [pa.array([k for k, _, _ in rows]), pa.array([t for _, _, t in rows], pa.int64())]
    arrays += [pa.array([c[3][(which + i) % 3] for _, which, _ in rows], c[2]) for i, c in enumerate(columns)]
    pq.write_table(pa.table(arrays, names), path)
    return path


def types_expected(path, instants):
    """Canonical lines of a types file; instants: {key: commit time}."""
    got = pq.read_table(path)
    kinds = {f.name: support.canon.from_arrow(f.type) for f in got.schema}
    return {r["id"]: dict({n: support.canon.value(v, kinds[n]) for n, v in r.items()}, _hoodie_record_key=r["id"],
                          _hoodie_partition_path="", _hoodie_commit_time=instants[r["id"]]) for r in got.to_pylist()}
