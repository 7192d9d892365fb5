#!/usr/bin/env python3
"""Makes tests/data/avro/*.avro and their JSON twins with fastavro (an independent implementation; its codecs need the packages cramjam and
backports.zstd).

values_<codec>.avro: every kind of value, recursion and a union of several types; values.json: the records as
src/avro/avro.h says they look as JSON. rows.avro: a row schema whose unions and decimals are not as Spark writes them.
"""
import decimal
import json
import pathlib

import fastavro

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "avro"

VALUES = {
    "type": "record", "name": "All", "namespace": "n.s", "doc": "all kinds",
    "fields": [
        {"name": "b", "type": "boolean"}, {"name": "i", "type": "int"}, {"name": "l", "type": "long"},
        {"name": "f", "type": "float"}, {"name": "d", "type": "double"}, {"name": "raw", "type": "bytes"},
        {"name": "s", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "e", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}},
        {"name": "x", "type": {"type": "fixed", "name": "other.Four", "size": 4}},
        {"name": "again", "type": ["null", "Color"]},
        {"name": "a", "type": {"type": "array", "items": ["null", "long"]}},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "u", "type": ["string", "null"]},
        {"name": "many", "type": ["null", "string", "double",
                                  {"type": "record", "name": "W", "fields": [{"name": "v", "type": "int"}]},
                                  {"type": "record", "name": "z.V", "fields": [{"name": "v", "type": "n.s.W"}]}]},
        {"name": "next", "type": ["null", "All"]},
        {"name": "unknown", "type": {"type": "long", "logicalType": "no-such-type"}},
    ],
}


def value(i, depth=0):
    """The record for fastavro and the record as JSON."""
    many = [(None, None), ("text", {"string": "text"}), (1.5, {"double": 1.5}),
            (("n.s.W", {"v": 7}), {"n.s.W": {"v": 7}}), (("z.V", {"v": {"v": -8}}), {"z.V": {"v": {"v": -8}}})][i % 5]
    inner = value(i + 1, depth + 1) if depth < i % 3 else (None, None)
    special = [float("nan"), float("inf"), float("-inf"), 0.1, -2.5e300][i % 5]
    raw = bytes(range(i % 256))
    common = {
        "b": i % 2 == 1, "i": (-1) ** i * (i << 20), "l": (-1) ** i * (i << 50), "f": i / 4,
        "s": "wort ä €\U0001F600" * (i % 4), "e": ["RED", "GREEN"][i % 2], "again": [None, "GREEN"][i % 2],
        "a": [None if k % 3 == 0 else k << (k * 3) for k in range(i % 7)],
        "m": {f"k{k}é": ["x" * k] * k for k in range(i % 4)},
        "u": None if i % 3 == 0 else "u", "unknown": i,
    }
    real = dict(common, d=special, raw=raw, x=bytes([i % 256, 128, 0, 255]), many=many[0], next=inner[0])
    text = dict(common, d=special if special in (0.1, -2.5e300) else {"nan": "NaN", "inf": "Infinity",
                                                                     "-inf": "-Infinity"}[str(special)],
                raw=raw.decode("latin-1"), x=bytes([i % 256, 128, 0, 255]).decode("latin-1"), many=many[1], next=inner[1])
    return real, text


ROWS = {
    "type": "record", "name": "Row", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["string", "null"]},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": ["string", "null"]}},
        {"name": "m", "type": ["null", {"type": "map", "values": ["int", "null"]}]},
        {"name": "s", "type": ["null", {"type": "record", "name": "S", "fields": [{"name": "x", "type": ["double", "null"]}]}]},
    ],
}


def row(i):
    null = i % 4 == 3
    return {
        "id": i, "name": None if null else f"name{i}", "at": 1_700_000_000_000_000 + i,
        "price": None if null else decimal.Decimal(i * i * (-1) ** i).scaleb(-2),
        "tags": [None if k == 1 else f"t{k}" for k in range(i % 5)],
        "m": None if null else {f"k{k}": None if k == 2 else k for k in range(i % 4)},
        "s": None if null else {"x": None if i % 2 else i / 2},
    }


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    schema = fastavro.parse_schema(VALUES)
    pairs = [value(i) for i in range(60)]
    for codec in ("null", "deflate", "snappy", "zstandard"):
        with open(OUT / f"values_{codec}.avro", "wb") as f:
            fastavro.writer(f, schema, [p[0] for p in pairs], codec=codec, sync_interval=4000, sync_marker=b"sluice sync mark")
    (OUT / "values.json").write_text(json.dumps([p[1] for p in pairs], separators=(",", ":")))
    with open(OUT / "rows.avro", "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(ROWS), [row(i) for i in range(1000)], codec="deflate", sync_interval=4000,
                        sync_marker=b"sluice sync mark")


if __name__ == "__main__":
    main()
