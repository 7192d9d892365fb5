#!/usr/bin/env python3
"""LSM tables without Hudi: an independent reader, a checker and a tiny writer.

    lsm_peer.py read  TABLE [--as-of T] [--read-optimized] [--columns a,b]
                            [--meta stable|all|none] [--out rows.jsonl]
    lsm_peer.py check TABLE [--json]            exit 1 when something is wrong
    lsm_peer.py slices TABLE [--as-of T]        what the reader merges, in order
    lsm_peer.py write TABLE --script ops.jsonl [--seed S]

No released Hudi reads table version 10 (native Parquet logs, lsm_tree layout),
so this is the second opinion: plain Python after ../../spec/lsm-layout.md,
slow and simple on purpose. Rows of a file group go through one dictionary, key
by key, source by source; there is no merge tree in it. Chapter numbers below
are of that page. Table versions 8 and 9 are read too (inline logs: Avro and
Parquet data blocks, delete blocks).

`write` makes small tables for fixtures (one process, no speed; it keeps its own
number of groups or buckets in .hoodie/writer.json). A script is
JSON lines {"op": NAME, ...arguments of the Writer method}; rows are in the
canonical form of canon.py, operations are ["u", row] or ["d", row], a delete
without its ordering fields being a commit-time delete (8.3):

    {"op":"create","schema":"id string, v int, ts long","key":"id","ordering":"ts"}
    {"op":"upsert","ops":[["u",{"id":"a","v":1,"ts":10}],["d",{"id":"b"}]]}
    {"op":"log_compact"}
    {"op":"compact"}
"""

import argparse
import collections
import copy
import datetime as dt
import decimal
import functools
import hashlib
import io
import json
import math
import os
import re
import shutil
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import canon      # noqa: E402
import peerenv    # noqa: E402

peerenv.ensure("fastavro", __file__)
peerenv.ensure("pyarrow", __file__)

import fastavro                 # noqa: E402
import pyarrow as pa            # noqa: E402
import pyarrow.parquet as pq    # noqa: E402

AVSC = os.path.join(HERE, "..", "..", "src", "avro", "schemas")
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key",
        "_hoodie_partition_path", "_hoodie_file_name")
EVENT, COMMIT = "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"
DELETED = "_hoodie_is_deleted"


class Refused(Exception):
    """A table or file the page tells a reader to refuse."""


# --- names (3) ----------------------------------------------------------------

NATIVE = re.compile(r"^([^._]+)_((\d+)-(\d+)-(\d+))_([^_]+)_(\d+)\.(log|deletes|delete|cdc)\.([^.]+)$")
INLINE = re.compile(r"^\.([^._]+)_([^.]*)\.(log|archive)\.(\d+)(_((\d+)-(\d+)-(\d+))(\.cdc)?)?$")
BASE = re.compile(r"^([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_([0-9]+)\.([a-zA-Z0-9]+)$")
KIND_ORDER = {"inline": 0, "log": 0, "deletes": 1}

# What a timeline file is written as before it gets its name.
TEMPORARY = re.compile(r"\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")

File = collections.namedtuple("File", "kind file_id token instant version name partition format")


def classify(name, partition=""):
    """File of a name, or None. Native first, then inline, then base (3)."""
    m = NATIVE.match(name)
    if m:
        kind = "deletes" if m.group(8) == "delete" else m.group(8)
        return File(kind, m.group(1), m.group(2), m.group(6), int(m.group(7)), name, partition, m.group(9))
    m = INLINE.match(name)
    if m:
        kind = "inline_cdc" if m.group(10) else "inline"
        return File(kind, m.group(1), m.group(6) or "", m.group(2), int(m.group(4)), name, partition, "inline")
    m = BASE.match(name)
    if m:
        return File("base", m.group(1), m.group(2), m.group(3), 0, name, partition, m.group(4))
    return None


def log_order(f):
    """Order of logs in a slice (9)."""
    return (f.instant, f.version, f.token, KIND_ORDER[f.kind])


# --- hoodie.properties --------------------------------------------------------

def read_properties(path):
    """java.util.Properties."""
    out, pending = {}, ""
    with open(path, encoding="latin-1", newline="") as f:
        text = f.read()
    for line in re.split(r"\r\n|\n|\r", text):
        line = pending + line.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = line[:-1]
            continue
        pending = ""
        m = re.match(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)$", line, re.S)
        key, value = (_unescape(x) for x in m.groups())
        out[key] = value
    return out


def _unescape(s):
    units = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda m: chr(int(m.group(1)[1:], 16)) if len(m.group(1)) > 1
                   else {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(m.group(1), m.group(1)), s)
    return units.encode("utf-16", "surrogatepass").decode("utf-16")


def properties_text(props, comment):
    def esc(s, key):
        out = []
        for i, c in enumerate(s):
            if c == " " and (key or i == 0):
                out.append("\\ ")
            elif c in "\t\n\r\f":
                out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[c])
            elif c in "\\=:#!":
                out.append("\\" + c)
            elif 0x20 <= ord(c) <= 0x7e:
                out.append(c)
            else:
                b = c.encode("utf-16-be")
                out.append("".join("\\u%04X" % u for u in struct.unpack(">%dH" % (len(b) // 2), b)))
        return "".join(out)
    lines = ["#" + comment] + [esc(k, True) + "=" + esc(v, False) for k, v in props.items()]
    return ("\n".join(lines) + "\n").encode("latin-1")


def checksum(props):
    names = "%s.%s" % (props.get("hoodie.database.name", ""), props["hoodie.table.name"])
    return str(zlib.crc32(names.encode("utf-8")))


# --- Avro types ----------------------------------------------------------------

def parse_type(text, name="r"):
    """Avro type of a short text: int long float double boolean string bytes date timestamp
    local decimal(p,s) array<T> map<T> struct<a:T,b:T>."""
    text = text.strip()
    m = re.match(r"^decimal\((\d+),\s*(\d+)\)$", text)
    if m:
        p, s = int(m.group(1)), int(m.group(2))
        size = 1
        while 2 ** (8 * size - 1) <= 10 ** p:
            size += 1
        return {"type": "fixed", "name": "fixed", "namespace": name, "size": size,
                "logicalType": "decimal", "precision": p, "scale": s}
    if text.startswith("array<"):
        return {"type": "array", "items": ["null", parse_type(text[6:-1], name + ".array")]}
    if text.startswith("map<"):
        return {"type": "map", "values": ["null", parse_type(text[4:-1], name + ".map")]}
    if text.startswith("struct<"):
        parts, depth, last = [], 0, 0
        inner = text[7:-1]
        for i, c in enumerate(inner + ","):
            depth += (c in "<(") - (c in ">)")
            if c == "," and depth == 0:
                parts.append(inner[last:i])
                last = i + 1
        fields = [p.split(":", 1) for p in parts]
        return {"type": "record", "name": name.rsplit(".", 1)[-1], "namespace": name, "fields": [
            {"name": n.strip(), "type": ["null", parse_type(t, name + "." + n.strip())], "default": None}
            for n, t in fields]}
    return {"date": {"type": "int", "logicalType": "date"},
            "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
            "local": {"type": "long", "logicalType": "local-timestamp-micros"}}.get(text, text)


def parse_columns(text, table):
    """Fields of "a int, b decimal(10,2), ..."."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(text[last:i].strip())
            last = i + 1
    out = []
    for p in parts:
        n, t = p.split(None, 1)
        out.append({"name": n, "type": ["null", parse_type(t, "hoodie.%s.%s_record.%s" % (table, table, n))],
                    "default": None})
    return out


def strip_null(t):
    """The type of a nullable union."""
    if isinstance(t, list):
        rest = [x for x in t if x != "null"]
        return rest[0] if len(rest) == 1 else rest
    return t


def descriptor(t):
    """canon.py's descriptor of an Avro type."""
    t = strip_null(t)
    if isinstance(t, str):
        return ({"float": "float", "double": "float", "bytes": "binary"}.get(t, "plain"),)
    logical = t.get("logicalType")
    if logical == "decimal":
        return ("decimal", t["scale"])
    if logical in ("timestamp-micros", "timestamp-millis"):
        return ("timestamp",)
    if logical in ("local-timestamp-micros", "local-timestamp-millis"):
        return ("local",)
    if logical == "date":
        return ("date",)
    if logical in ("time-millis", "time-micros"):
        return ("time",)
    kind = t["type"]
    if kind == "array":
        return ("array", descriptor(t["items"]))
    if kind == "map":
        return ("map", ("plain",), descriptor(t["values"]))
    if kind == "record":
        return ("struct", tuple((f["name"], descriptor(f["type"])) for f in t["fields"]))
    if kind == "fixed":
        return ("binary",)
    return descriptor(kind)


def arrow_type(t):
    t = strip_null(t)
    if isinstance(t, str):
        return {"int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
                "boolean": pa.bool_(), "string": pa.string(), "bytes": pa.binary()}[t]
    logical = t.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(t["precision"], t["scale"])
    if logical in ("timestamp-micros", "timestamp-millis"):
        return pa.timestamp("us" if logical.endswith("micros") else "ms", tz="UTC")
    if logical in ("local-timestamp-micros", "local-timestamp-millis"):
        return pa.timestamp("us" if logical.endswith("micros") else "ms")
    if logical == "date":
        return pa.date32()
    if logical in ("time-millis", "time-micros"):
        return pa.time32("ms") if logical == "time-millis" else pa.time64("us")
    kind = t["type"]
    if kind == "array":
        return pa.list_(arrow_type(t["items"]))
    if kind == "map":
        return pa.map_(pa.string(), arrow_type(t["values"]))
    if kind == "record":
        return pa.struct([pa.field(f["name"], arrow_type(f["type"])) for f in t["fields"]])
    if kind == "fixed":
        return pa.binary(t["size"])
    return arrow_type(kind)


def from_canonical(v, d):
    """Python value of a canonical JSON value (the way back of canon.value)."""
    kind = d[0]
    if v is None:
        return None
    if kind == "decimal":
        return decimal.Decimal(v)
    if kind == "binary":
        return bytes.fromhex(v[4:])
    if kind == "date":
        return dt.date.fromisoformat(v)
    if kind in ("timestamp", "local"):
        t = dt.datetime.strptime(v.rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f")
        return t.replace(tzinfo=dt.timezone.utc) if kind == "timestamp" else t
    if kind == "float" and isinstance(v, str):
        return float({"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[v])
    if kind == "array":
        return [from_canonical(x, d[1]) for x in v]
    if kind == "map":
        return [(from_canonical(k, d[1]), from_canonical(x, d[2])) for k, x in v]
    if kind == "struct":
        return {n: from_canonical(v.get(n), ft) for n, ft in d[1]}
    return float(v) if kind == "float" else v


def table_schema(table, fields):
    return {"type": "record", "name": table + "_record", "namespace": "hoodie." + table, "fields": fields}


def with_meta(schema):
    out = dict(schema)
    out["fields"] = [{"name": m, "type": ["null", "string"], "doc": "", "default": None}
                     for m in META] + schema["fields"]
    return out


def delete_schema(schema, ordering):
    """Avro schema of a delete log (4.2)."""
    by_name = {f["name"]: f for f in schema["fields"]}
    return {"type": "record", "name": "hudi_delete_log_record", "fields": [
        {"name": "_hoodie_record_key", "type": "string"}] + [
        {"name": n, "type": ["null", strip_null(by_name[n]["type"])], "default": None} for n in ordering]}


def compact_json(obj):
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False)


@functools.lru_cache(None)
def record_schema(name):
    with open(os.path.join(AVSC, name + ".avsc"), encoding="utf-8") as f:
        return fastavro.parse_schema(json.load(f), named_schemas={})


def container(name, rec):
    b = io.BytesIO()
    fastavro.writer(b, record_schema(name), [rec], codec="null",
                    sync_marker=hashlib.md5(name.encode()).digest())
    return b.getvalue()


def read_container(path):
    """First record of an Avro container; {} for an empty file; JSON of older layouts too."""
    with open(path, "rb") as f:
        blob = f.read()
    if not blob:
        return {}
    if blob[:1] == b"{":
        return json.loads(blob)
    return next(fastavro.reader(io.BytesIO(blob)))


# --- merging (8) -----------------------------------------------------------------

class Op:
    """One operand: a row, or a delete (row None or the marked row). ordering None = without
    ordering value; for a delete that is the commit-time delete X, and so is 0 in an int column (8.3)."""
    __slots__ = ("key", "delete", "ordering", "row", "int_zero")

    def __init__(self, key, delete, ordering, row, int_zero=False):
        self.key, self.delete, self.ordering, self.row, self.int_zero = key, delete, ordering, row, int_zero

    @property
    def x(self):
        return self.delete and (self.ordering is None or self.int_zero)


def _component(v):
    """Something Python can compare, one ordering field. None is below every value."""
    if v is None:
        return (0,)
    if isinstance(v, str):
        return (1, v.encode("utf-8"))
    if isinstance(v, float):                      # as Java's Double.compare
        if math.isnan(v):
            return (1, 2, 0.0, 0)
        return (1, 1, v, 1 if v or not str(v).startswith("-") else 0)
    if isinstance(v, dt.datetime) and v.tzinfo is not None:
        return (1, v.astimezone(dt.timezone.utc).replace(tzinfo=None))
    return (1, v)


def newer_wins(old, new):
    """ordering(new) >= ordering(old)."""
    a = tuple(_component(v) for v in (old.ordering or ()))
    b = tuple(_component(v) for v in (new.ordering or ()))
    if old.ordering is None or new.ordering is None:
        return True
    try:
        return b >= a
    except TypeError:                              # not comparable: newer wins (8.3)
        return True


def merge(mode, old, new):
    """8.2; old may be None."""
    if old is None or mode == COMMIT or old.x or new.x:
        return new
    return new if newer_wins(old, new) else old


def classic_log_fold(mode, old, new):
    """The hash reader's fold of logs among themselves (`default` layout)."""
    if old is not None and mode == EVENT and new.delete and old.x:
        return old
    return merge(mode, old, new)


def reduce_operands(mode, ops, lsm=True):
    """12.1: what stands for a stretch of operands of one key: one or two operands. The `default` layout
    folds logs first, one operand is enough there."""
    if not lsm:
        return [functools.reduce(functools.partial(classic_log_fold, mode), ops)]
    if mode == COMMIT:
        return [ops[-1]]
    last_x = max([i for i, o in enumerate(ops) if o.x], default=-1)
    tail = None
    for o in ops[last_x + 1:]:
        tail = merge(mode, tail, o)
    return ([ops[last_x]] if last_x >= 0 else []) + ([tail] if tail else [])


# --- inline logs -------------------------------------------------------------------

def inline_blocks(path):
    """(type, headers, content) of each block; a damaged tail ends the file."""
    with open(path, "rb") as f:
        blob = f.read()
    at, out = 0, []
    while blob[at:at + 6] == b"#HUDI#":
        size = struct.unpack_from(">q", blob, at + 6)[0]
        end = at + 14 + size
        if size <= 0 or end > len(blob) or struct.unpack_from(">q", blob, end - 8)[0] != size + 6:
            raise Refused("%s: damaged block at %d" % (path, at))
        version, kind, count = struct.unpack_from(">iii", blob, at + 14)
        p, head = at + 26, {}
        for _ in range(count):
            k, n = struct.unpack_from(">ii", blob, p)
            head[k] = blob[p + 8:p + 8 + n].decode("utf-8")
            p += 8 + n
        n = struct.unpack_from(">q", blob, p)[0]
        out.append((kind, head, blob[p + 8:p + 8 + n]))
        at = end
    return out


def inline_block(kind, head, content):
    h = struct.pack(">i", len(head)) + b"".join(
        struct.pack(">ii", k, len(v.encode("utf-8"))) + v.encode("utf-8") for k, v in head.items())
    rest = struct.pack(">ii", 1, kind) + h + struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    return b"#HUDI#" + struct.pack(">q", len(rest) + 8) + rest + struct.pack(">q", len(rest) + 14)


DELETE_LIST = {"type": "record", "name": "HoodieDeleteRecordList", "fields": [
    {"name": "deleteRecordList", "type": {"type": "array", "items": {
        "type": "record", "name": "HoodieDeleteRecord", "fields": [
            {"name": "recordKey", "type": ["null", "string"]},
            {"name": "partitionPath", "type": ["null", "string"]},
            {"name": "orderingVal", "type": ["null"] + [
                {"type": "record", "name": n + "Wrapper", "fields": [{"name": "value", "type": t}]}
                for n, t in (("Boolean", "boolean"), ("Int", "int"), ("Long", "long"), ("Float", "float"),
                             ("Double", "double"), ("Bytes", "bytes"), ("String", "string"),
                             ("Date", {"type": "int", "logicalType": "date"}),
                             ("Decimal", {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}),
                             ("TimeMicros", "long"),
                             ("TimestampMicros", {"type": "long", "logicalType": "timestamp-micros"}))] + [
                {"type": "record", "name": "ArrayWrapper", "fields": [
                    {"name": "wrappedValues", "type": ["null", {"type": "array", "items":
                        ["null"] + [n + "Wrapper" for n in (
                            "Boolean", "Int", "Long", "Float", "Double", "Bytes", "String", "Date", "Decimal",
                            "TimeMicros", "TimestampMicros")] + [
                            {"type": "record", "name": "LocalDateWrapper", "fields": [
                                {"name": "value", "type": {"type": "int", "logicalType": "date"}}]}]}]}]}]}]}}}]}
DELETE_LIST_PARSED = fastavro.parse_schema(copy.deepcopy(DELETE_LIST), named_schemas={})


# --- a table --------------------------------------------------------------------------

Slice = collections.namedtuple("Slice", "instant base logs pending")


class Table:
    """A table as seen at one moment, or as of one requested time."""

    def __init__(self, path, as_of=None):
        self.path, self.as_of = path, as_of
        self.props = read_properties(os.path.join(path, ".hoodie", "hoodie.properties"))
        get = self.props.get
        self.version = int(get("hoodie.table.version", "0"))
        if self.version not in (8, 9, 10):
            raise Refused("table version %s" % get("hoodie.table.version"))
        layout = get("hoodie.table.storage.layout", "default").lower()
        if layout not in ("default", "lsm_tree"):
            raise Refused("hoodie.table.storage.layout=" + layout)
        self.lsm = layout == "lsm_tree"
        if self.lsm and self.version < 10:
            raise Refused("lsm_tree needs table version 10")
        if get("hoodie.populate.meta.fields", "true") != "true":
            raise Refused("no meta fields")
        if get("hoodie.table.base.file.format", "PARQUET").upper() != "PARQUET":
            raise Refused("base file format " + get("hoodie.table.base.file.format"))
        if get("hoodie.bootstrap.base.path"):
            raise Refused("bootstrapped table")
        self.ordering = [c for c in (get("hoodie.table.ordering.fields") or
                                     get("hoodie.table.precombine.field") or "").split(",") if c]
        self.mode = get("hoodie.record.merge.mode") or (EVENT if self.ordering else COMMIT)
        if self.mode not in (EVENT, COMMIT):
            raise Refused("merge mode " + self.mode)
        if get("hoodie.table.partial.update.mode"):
            raise Refused("partial update mode")
        if not self.ordering:
            self.mode = COMMIT
        if self.mode == COMMIT:
            self.ordering = []
        self.delete_field = get("hoodie.record.merge.property.hoodie.payload.delete.field")
        self.delete_marker = get("hoodie.record.merge.property.hoodie.payload.delete.marker")
        self._timeline()
        self._listing()

    # timeline ---------------------------------------------------------------

    def _timeline(self):
        self.timeline_path = os.path.join(self.path, ".hoodie", self.props.get("hoodie.timeline.path", "timeline"))
        self.completed, self.pending, self.requested = {}, {}, {}
        for name in sorted(os.listdir(self.timeline_path)):
            m = re.match(r"^(\d+)(?:_(\d+))?\.([a-z]+)(?:\.(requested|inflight))?$", name)
            if not m:
                continue
            t, c, action, state = m.groups()
            if action == "inflight":
                action, state = "commit", "inflight"
            if self.as_of and t > self.as_of:
                continue
            if state:
                self.pending.setdefault(t, action)
                self.requested.setdefault((t, action), {})[state] = name
            elif action in ("commit", "deltacommit", "replacecommit"):
                self.completed[t] = (c or t, action, name)
            else:
                self.completed.setdefault((t, action), (c or t, action, name))
        done = {t for t in self.completed if isinstance(t, str)} | {
            t[0] for t in self.completed if isinstance(t, tuple) and t[1] != "savepoint"}
        self.pending = {t: a for t, a in self.pending.items() if t not in done}
        self.first_active = min([t for t in self.completed if isinstance(t, str)] + list(self.pending), default=None)
        self.archived = {}
        history = os.path.join(self.timeline_path, self.props.get("hoodie.timeline.history.path", "history"))
        for name in sorted(os.listdir(history)) if os.path.isdir(history) else []:
            if name.endswith(".parquet"):
                for r in pq.ParquetFile(os.path.join(history, name)).read(
                        columns=["instantTime", "completionTime"]).to_pylist():
                    self.archived[r["instantTime"]] = r["completionTime"]

    def completion(self, t):
        """Completion time of a data action, None when it is not completed."""
        if t in self.completed:
            return self.completed[t][0]
        if t in self.pending or (self.as_of and t > self.as_of):
            return None
        if t in self.archived:
            return self.archived[t] or t
        return t if self.first_active and t < self.first_active else None

    def metadata(self, t):
        return read_container(os.path.join(self.timeline_path, self.completed[t][2]))

    def schema(self):
        """Table schema without meta columns."""
        for t in sorted((t for t in self.completed if isinstance(t, str)),
                        key=lambda t: self.completed[t][0], reverse=True):
            text = (self.metadata(t).get("extraMetadata") or {}).get("schema")
            if text:
                return json.loads(text)
        if self.props.get("hoodie.table.create.schema"):
            return json.loads(self.props["hoodie.table.create.schema"])
        raise Refused("no schema")

    # files and slices (7) ----------------------------------------------------

    def _listing(self):
        self.files, self.unknown = collections.defaultdict(list), []
        for where, dirs, names in os.walk(self.path):
            dirs[:] = sorted(d for d in dirs if d != ".hoodie")
            rel = os.path.relpath(where, self.path)
            rel = "" if rel == "." else rel.replace(os.sep, "/")
            for name in sorted(names):
                if name.startswith(".hoodie_partition_metadata") or name.endswith(".crc"):
                    continue
                f = classify(name, rel)
                if f is None:
                    self.unknown.append((rel + "/" if rel else "") + name)
                elif not os.path.exists(os.path.join(where, ".hoodie_partition_metadata")):
                    self.unknown.append((rel + "/" if rel else "") + name)
                elif f.kind not in ("cdc", "inline_cdc"):
                    self.files[rel, f.file_id].append(f)
        self.replaced = {}
        for t in [t for t in self.completed if isinstance(t, str) and self.completed[t][1] == "replacecommit"]:
            for p, ids in (self.metadata(t).get("partitionToReplaceFileIds") or {}).items():
                for i in ids:
                    self.replaced[p, i] = t
        self.compacting, self.log_compacting = {}, {}
        for t, action in self.pending.items():
            if action in ("compaction", "logcompaction"):
                plan = read_container(os.path.join(self.timeline_path, "%s.%s.requested" % (t, action)))
                for o in plan.get("operations") or []:
                    into = self.compacting if action == "compaction" else self.log_compacting
                    into[o["partitionPath"], o["fileId"]] = t

    def full(self, f):
        return os.path.join(self.path, f.partition, f.name)

    def slices(self, group):
        """Slices of a file group with completed files only, newest first."""
        files = self.files[group]
        made = {}
        for f in sorted((f for f in files if f.kind == "base"), key=lambda f: f.token):
            if self.completion(f.instant) is not None:
                made[f.instant] = [f, []]
        if group in self.compacting:
            made[self.compacting[group]] = [None, []]
        for f in sorted((f for f in files if f.kind != "base"), key=log_order):
            c = self.completion(f.instant)
            if c is None:
                continue
            at = max((t for t in made if t <= c), default=None)
            if at is None:
                at = f.instant
                made[at] = [None, []]
            made[at][1].append(f)
        return [Slice(t, made[t][0], made[t][1], self.compacting.get(group) == t)
                for t in sorted(made, reverse=True)]

    def compacted_times(self, f):
        """COMPACTED_BLOCK_TIMES of a log, a list."""
        if f.kind == "inline":
            heads = [h for _, h, _ in inline_blocks(self.full(f))]
            text = next((h[4] for h in heads if 4 in h), "")
        else:
            text = self.headers(f).get("COMPACTED_BLOCK_TIMES", "")
        return [t for t in text.split(",") if t]

    def headers(self, f):
        return footer_headers(pq.read_metadata(self.full(f)).metadata or {}, f.name)[0]

    def placed_logs(self, logs):
        """[(place, log)] of the logs that count, in the order they are folded (9): a log compaction stands at the
        place of the newest log it replaces, what it replaces is dropped, nesting resolves to the outermost."""
        times = {}
        for f in logs:
            listed = self.compacted_times(f)
            if listed:
                times.setdefault(f.instant, listed)
        dropped = {t for listed in times.values() for t in listed}
        present = {f.instant for f in logs}

        def place(t, seen=()):
            if t in seen:
                raise Refused("log compactions name each other: " + t)
            replaced = [place(x, seen + (t,)) for x in times.get(t, ()) if x in present]
            return max(replaced, default=t)
        live = [(place(f.instant), f) for f in logs if f.instant not in dropped]
        return sorted(live, key=lambda x: (x[0],) + log_order(x[1]))

    def live_logs(self, logs):
        return [f for _, f in self.placed_logs(logs)]

    def sources(self, group):
        """(base or None, logs in order) of the snapshot view, None for an empty group."""
        s = self.slices(group)
        if not s:
            return None
        base, logs = s[0].base, self.live_logs(s[0].logs)
        if s[0].pending and len(s) > 1:              # merged with the slice before it
            base, logs = s[1].base, self.live_logs(s[1].logs) + logs
        return base, logs

    def groups(self):
        """Live file groups."""
        return [g for g in sorted(self.files) if g not in self.replaced]

    # records ------------------------------------------------------------------

    def is_delete(self, row):
        return (row.get(DELETED) is True or row.get("_hoodie_operation") in ("D", "-U") or
                (self.delete_field is not None and row.get(self.delete_field) is not None and
                 str(row.get(self.delete_field)) == self.delete_marker))

    def data_op(self, row):
        key, delete = row["_hoodie_record_key"], self.is_delete(row)
        values = [row.get(c) for c in self.ordering]
        if delete and all(v is None for v in values):
            return Op(key, True, None, row)
        if values == [None] and self.int_ordering():
            values = [0]
        return Op(key, delete, tuple(values), row, delete and values == [0] and self.int_ordering())

    @functools.lru_cache(None)
    def int_ordering(self):
        by_name = {f["name"]: strip_null(f["type"]) for f in self.schema()["fields"]}
        return len(self.ordering) == 1 and by_name.get(self.ordering[0]) == "int"

    def operands(self, f):
        """Operands of a file in key order; a file that is out of order is sorted (6, repair)."""
        if f.kind == "inline":
            ops = self._inline_operands(f)
        else:
            if f.format != "parquet":
                raise Refused("%s: format %s" % (f.name, f.format))
            pf = pq.ParquetFile(self.full(f))
            if f.kind in ("log", "deletes"):
                head, _ = footer_headers(pf.metadata.metadata or {}, f.name)
                if int(head.get("VERSION", "2").strip()) > 2:
                    raise Refused("%s: log format version %s" % (f.name, head["VERSION"]))
                if head.get("IS_PARTIAL", "").lower() == "true":
                    raise Refused("%s: partial log" % f.name)
                if f.kind == "log" and "SCHEMA" not in head:
                    raise Refused("%s: no SCHEMA" % f.name)
            rows = pf.read().to_pylist()
            if f.kind == "deletes":
                ops = [self._delete_op(r) for r in rows]
            else:
                ops = [self.data_op(r) for r in rows]
        return sorted(ops, key=lambda o: o.key.encode("utf-8"))       # stable

    def _delete_op(self, r):
        if "_hoodie_record_key" not in r:            # first landed form: ordering ignored
            return Op(r["record_key"], True, None, None)
        values = tuple(r.get(c) for c in self.ordering)
        if all(v is None for v in values):
            return Op(r["_hoodie_record_key"], True, None, None)
        return Op(r["_hoodie_record_key"], True, values, None, values == (0,) and self.int_ordering())

    def _inline_operands(self, f):
        out = []
        for kind, head, content in inline_blocks(self.full(f)):
            if head.get(7, "").lower() == "true":
                raise Refused("%s: partial block" % f.name)
            if kind == 3:
                schema = fastavro.parse_schema(json.loads(head[2]), named_schemas={})
                n = struct.unpack_from(">i", content, 4)[0]
                at = 8
                for _ in range(n):
                    size = struct.unpack_from(">i", content, at)[0]
                    row = fastavro.schemaless_reader(io.BytesIO(content[at + 4:at + 4 + size]), schema, None)
                    out.append(self.data_op(row))
                    at += 4 + size
            elif kind == 5:
                out += [self.data_op(r) for r in pq.ParquetFile(pa.BufferReader(content)).read().to_pylist()]
            elif kind == 1:
                version = struct.unpack_from(">i", content, 0)[0]
                if version != 3:
                    raise Refused("%s: delete block version %d" % (f.name, version))
                got = fastavro.schemaless_reader(io.BytesIO(content[8:]), DELETE_LIST_PARSED, None,
                                                 return_record_name=True)
                for r in got["deleteRecordList"]:
                    out.append(self._inline_delete(r))
            else:
                raise Refused("%s: block type %d" % (f.name, kind))
        return out

    def _inline_delete(self, r):
        o = r["orderingVal"]

        def plain(w):
            w = w[1] if isinstance(w, tuple) else w
            return None if w is None else w.get("value")
        if o is None:
            return Op(r["recordKey"], True, None, None)
        kind, body = o if isinstance(o, tuple) else ("", o)
        if "wrappedValues" in body:
            return Op(r["recordKey"], True, tuple(plain(w) for w in body["wrappedValues"] or []), None)
        v = body["value"]
        x = kind.endswith("IntWrapper") and v == 0
        return Op(r["recordKey"], True, None if x else (v,), None)

    def fold(self, base, logs):
        """Rows of one slice, in key order of first appearance."""
        touched = {}
        if self.lsm:
            log_ops = [self.operands(f) for f in logs]
            keys = {o.key for ops in log_ops for o in ops}
            for o in self.operands(base) if base else ():
                if o.key in keys:
                    touched[o.key] = merge(self.mode, touched.get(o.key), o)
                elif not o.delete:
                    yield o.row                      # untouched base rows pass, duplicates too
            for ops in log_ops:
                for o in ops:
                    touched[o.key] = merge(self.mode, touched.get(o.key), o)
        else:
            for f in logs:
                for o in self.operands(f):
                    touched[o.key] = classic_log_fold(self.mode, touched.get(o.key), o)
            for o in self.operands(base) if base else ():
                if o.key in touched:
                    touched[o.key] = merge(self.mode, o, touched[o.key])
                else:
                    yield o.row
        for o in touched.values():
            if not o.delete:
                yield o.row

    def rows(self, read_optimized=False):
        """Rows as Python values."""
        for g in self.groups():
            if read_optimized:
                base = next((s.base for s in self.slices(g) if s.base), None)
                if base:
                    yield from pq.ParquetFile(self.full(base)).read().to_pylist()
                continue
            found = self.sources(g)
            if found:
                yield from self.fold(*found)

    def canonical(self, meta="stable", columns=None, read_optimized=False):
        """Canonical lines."""
        types = {m: ("plain",) for m in META}
        types.update((f["name"], descriptor(f["type"])) for f in self.schema()["fields"])
        keep = [c for c in types if (c in columns if columns else canon.keep_column(c, meta))]
        return canon.lines({c: canon.value(r.get(c), types[c]) for c in keep}
                           for r in self.rows(read_optimized))


# --- footers (5) --------------------------------------------------------------------

HEADERS = ("VERSION", "INSTANT_TIME", "TARGET_INSTANT_TIME", "SCHEMA", "COMMAND_BLOCK_TYPE", "COMPACTED_BLOCK_TIMES",
           "RECORD_POSITIONS", "BLOCK_IDENTIFIER", "IS_PARTIAL", "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS")


def footer_headers(meta, name):
    """(headers, problems) of a native log's footer; the split form wins."""
    split, whole, problems = {}, {}, []
    for k, v in meta.items():
        k, v = k.decode("utf-8"), v.decode("utf-8")
        if k == "hudi.log.format.metadata":
            whole = json.loads(v)
        elif k.startswith("hudi.log.format.") and k[16:] in HEADERS:
            split[k[16:]] = v
    if split and whole and split != whole:
        problems.append("the two footer forms differ in " + ",".join(
            sorted(k for k in set(split) | set(whole) if split.get(k) != whole.get(k))))
    return dict(whole, **split), problems


# --- check ----------------------------------------------------------------------------

class Checker:
    """Everything that can be said about a table from outside. finding() = wrong, note() = worth knowing."""

    def __init__(self, path):
        self.path, self.findings, self.notes = path, [], []

    def finding(self, place, text):
        self.findings.append("%s: %s" % (place, text))

    def note(self, place, text):
        self.notes.append("%s: %s" % (place, text))

    def run(self):
        try:
            self.table = t = Table(self.path)
        except (Refused, OSError, ValueError) as e:
            self.finding(".hoodie", "not readable: %s" % e)
            return self
        self.properties()
        self.timeline()
        try:
            self.schema = t.schema()
        except Refused:
            self.schema = None
            if t.files:
                self.finding(".hoodie", "no schema in any commit nor in the properties")
        for u in t.unknown:
            self.finding(u, "name matches no pattern, or no .hoodie_partition_metadata beside it")
        self.partitions()
        self.stats = self.write_stats()
        keys = {}
        for g in sorted(t.files):
            self.group(g, keys)
        return self

    def properties(self):
        p, where = self.table.props, ".hoodie/hoodie.properties"
        for k in ("hoodie.table.name", "hoodie.table.type", "hoodie.table.version", "hoodie.timeline.layout.version",
                  "hoodie.table.recordkey.fields", "hoodie.record.merge.mode", "hoodie.table.checksum",
                  "hoodie.table.initial.version"):
            if not p.get(k):
                self.finding(where, k + " missing")
        if p.get("hoodie.table.checksum") and p.get("hoodie.table.name") and p["hoodie.table.checksum"] != checksum(p):
            self.finding(where, "checksum is not " + checksum(p))
        if p.get("hoodie.timeline.layout.version") != "2":
            self.finding(where, "timeline layout is not 2")
        if p.get("hoodie.table.type") not in ("MERGE_ON_READ", "COPY_ON_WRITE"):
            self.finding(where, "table type")
        if p.get("hoodie.record.merge.mode") == EVENT and not p.get("hoodie.table.ordering.fields"):
            self.finding(where, "event-time ordering without ordering fields")
        if p.get("hoodie.meta.fields.mode", "ALL").upper() != "ALL":
            self.finding(where, "meta fields mode is not ALL")
        if p.get("hoodie.table.partition.fields", "") == "" and any(g[0] for g in self.table.files):
            self.finding(where, "files in folders, but no partition fields")
        if p.get("hoodie.table.storage.layout", "default") not in ("default", "lsm_tree"):
            self.note(where, "storage layout not in lower case")

    def timeline(self):
        t, seen = self.table, {}
        for name in sorted(os.listdir(t.timeline_path)):
            if os.path.isdir(os.path.join(t.timeline_path, name)):
                continue
            m = re.match(r"^(\d+)(?:_(\d+))?\.([a-z]+)(?:\.(requested|inflight))?$", name)
            where = ".hoodie/timeline/" + name
            if TEMPORARY.search(name):
                self.note(where, "temporary file of a writer that was killed")  # readers ignore it, spec/timeline.md 4
                continue
            if not m:
                self.finding(where, "not a timeline name")
                continue
            if m.group(3) != "inflight" and m.group(4) is None:
                if m.group(2) is None:
                    self.finding(where, "completed without a completion time")
                elif m.group(2) <= m.group(1):
                    self.finding(where, "completion time not after the requested time")
                seen.setdefault((m.group(1), m.group(3) == "savepoint"), []).append(name)
            try:
                read_container(os.path.join(t.timeline_path, name))
            except Exception as e:
                self.finding(where, "content: %s" % e)
        for names in seen.values():
            if len(names) > 1:
                self.finding(".hoodie/timeline", "completed twice: " + " ".join(names))
        states = collections.defaultdict(set)
        for (i, _), by_state in t.requested.items():
            states[i] |= set(by_state)
        for i in t.completed:
            if isinstance(i, str) and states[i] != {"requested", "inflight"}:
                self.finding(".hoodie/timeline/" + t.completed[i][2], "requested or inflight file missing")
        done = sorted(c for c, _, _ in t.completed.values())
        if len(set(done)) != len(done):
            self.finding(".hoodie/timeline", "two actions with one completion time")
        temp = os.path.join(self.path, ".hoodie", ".temp")
        for name in sorted(os.listdir(temp)) if os.path.isdir(temp) else []:
            if t.completion(name) is not None:
                self.finding(".hoodie/.temp/" + name, "markers of a completed instant")
            elif name not in t.pending:
                self.finding(".hoodie/.temp/" + name, "markers of an unknown instant")

    def partitions(self):
        for p in sorted({g[0] for g in self.table.files}):
            f = os.path.join(self.path, p, ".hoodie_partition_metadata")
            got = read_properties(f)
            depth = len(p.split("/")) if p else 0
            if got.get("partitionDepth") != str(depth):
                self.finding(p + "/.hoodie_partition_metadata", "partitionDepth is not %d" % depth)
            if not re.match(r"^\d+$", got.get("commitTime", "")):
                self.finding(p + "/.hoodie_partition_metadata", "commitTime")

    def write_stats(self):
        """{path: stat} of completed commits; a stat without its file is a finding unless a clean took it."""
        t, out, cleaned = self.table, {}, set()
        for key, (_, action, name) in t.completed.items():
            if action == "clean":
                md = read_container(os.path.join(t.timeline_path, name))
                for p, pm in (md.get("partitionMetadata") or {}).items():
                    cleaned |= {(p, f) for f in pm.get("deletePathPatterns") or []}
            if action == "rollback":
                md = read_container(os.path.join(t.timeline_path, name))
                for p, pm in (md.get("partitionMetadata") or {}).items():
                    cleaned |= {(p, os.path.basename(f)) for f in pm.get("successDeleteFiles") or []}
        for i in sorted(i for i in t.completed if isinstance(i, str)):
            md, where = t.metadata(i), ".hoodie/timeline/" + t.completed[i][2]
            if not md:
                self.finding(where, "empty commit")
                continue
            if not md.get("operationType"):
                self.finding(where, "no operation type")
            if not (md.get("extraMetadata") or {}).get("schema"):
                self.note(where, "no schema in extraMetadata")
            for p, stats in (md.get("partitionToWriteStats") or {}).items():
                for s in stats:
                    path = s.get("path") or ""
                    folder, _, name = path.rpartition("/")
                    f = classify(name, folder)
                    if folder != p or s.get("partitionPath") != p or f is None or f.file_id != s.get("fileId"):
                        self.finding(where, "stat of %s: path, partition and file id do not fit" % path)
                        continue
                    if f.instant != i:
                        self.finding(where, "stat of %s: another instant's file" % path)
                    if path in out:
                        self.finding(where, "two stats of " + path)
                    out[path] = (s, i, md)
                    full = os.path.join(self.path, path)
                    if not os.path.exists(full):
                        if (p, name) not in cleaned:
                            self.finding(where, "file missing: " + path)
                        continue
                    size = os.path.getsize(full)
                    if s.get("fileSizeInBytes") != size:
                        self.finding(where, "%s: fileSizeInBytes %s, file has %d" % (path, s.get("fileSizeInBytes"), size))
                    if s.get("totalWriteErrors"):
                        self.finding(where, "%s: write errors" % path)
        return out

    def group(self, g, keys):
        t = self.table
        by_base = collections.Counter(f.instant for f in t.files[g] if f.kind == "base")
        whole = True
        for f in t.files[g]:
            place = (f.partition + "/" if f.partition else "") + f.name
            c = t.completion(f.instant)
            if c is None:
                if f.instant in t.pending:
                    self.note(place, "file of the pending %s %s, not visible" % (t.pending[f.instant], f.instant))
                else:
                    self.finding(place, "file of an instant that is nowhere on the timeline")
                continue
            if f.kind == "base" and by_base[f.instant] > 1:
                self.finding(place, "two base files of one instant in the group")
            if f.instant in t.completed and place not in self.stats:
                self.finding(place, "file of a completed instant without a write stat")
            if f.instant not in t.completed and f.instant not in t.archived:
                self.finding(place, "instant older than the timeline and not archived: readers take the file as data")
            try:
                self.file(f, place)
            except Refused as e:
                self.finding(place, "refused: %s" % e)
            except Exception as e:                       # damaged file: one finding, go on
                self.finding(place, "not readable: %s: %s" % (type(e).__name__, e))
                whole = False
        if whole:
            self.slice_rules(g, keys)

    def file(self, f, place):
        if f.kind == "inline":
            blocks = inline_blocks(self.table.full(f))
            if not blocks or any(h.get(0) != f.instant for _, h, _ in blocks):
                self.finding(place, "INSTANT_TIME is not the name's instant")
            return
        t = self.table
        pf = pq.ParquetFile(t.full(f))
        meta = {k.decode(): v.decode("utf-8", "replace") for k, v in (pf.metadata.metadata or {}).items()}
        names, rows = pf.schema_arrow.names, pf.read().to_pylist()
        stat = self.stats.get(place)
        if f.kind == "deletes":
            key = "_hoodie_record_key" if "_hoodie_record_key" in names else "record_key"
        else:
            key = "_hoodie_record_key"
        values = [r.get(key) for r in rows]
        if any(v is None for v in values):
            self.finding(place, "null record key")
            return
        raw = [v.encode("utf-8") for v in values]
        bad = next((i for i in range(1, len(raw)) if raw[i] < raw[i - 1]), None)
        if bad is not None and (t.lsm or f.kind != "base"):
            self.finding(place, "not sorted: row %d, %r after %r" % (bad, values[bad], values[bad - 1]))
        if raw and meta.get("hoodie_min_record_key") is not None and (
                meta["hoodie_min_record_key"] != min(values, key=utf16) or
                meta.get("hoodie_max_record_key") != max(values, key=utf16)):
            self.finding(place, "min/max record key of the footer are not those of the rows")
        if f.kind in ("log", "deletes"):
            self.footer(f, place, pf)
        if self.schema:
            self.columns(f, place, pf.schema_arrow)
        if f.kind != "deletes":
            for i, r in enumerate(rows):
                if r["_hoodie_partition_path"] != f.partition:
                    self.finding(place, "row %d: partition path %r" % (i, r["_hoodie_partition_path"]))
                    break
                if r["_hoodie_file_name"] != (f.file_id if f.kind == "log" else f.name):
                    self.finding(place, "row %d: file name %r" % (i, r["_hoodie_file_name"]))
                    break
                if not r["_hoodie_commit_time"] or r["_hoodie_commit_time"] > f.instant:
                    self.finding(place, "row %d: commit time %r" % (i, r["_hoodie_commit_time"]))
                    break
                if t.is_delete(r):
                    self.finding(place, "row %d: a delete among the data" % i)
                    break
                if any(r.get(c) is None for c in t.ordering):
                    self.finding(place, "row %d: null ordering value" % i)
                    break
        buckets = t.props.get("hoodie.bucket.index.num.buckets")
        if buckets and t.props.get("hoodie.bucket.index.hash.field", "") == t.props.get("hoodie.table.recordkey.fields"):
            wrong = [v for v in values if not (":" in v and "," in v) and
                     "%08d" % bucket_of(v, int(buckets)) != f.file_id[:8]]
            if wrong:
                self.finding(place, "key %r does not belong to this bucket" % wrong[0])
        if len(set(raw)) != len(raw):
            self.note(place, "%d rows repeat a key" % (len(raw) - len(set(raw))))
        if stat:
            s, _, md = stat
            want = {"numWrites": len(rows), "numDeletes": None} if f.kind != "deletes" else \
                {"numWrites": 0, "numInserts": 0, "numUpdateWrites": 0, "numDeletes": len(rows)}
            if f.kind == "log":
                want["numDeletes"] = 0
            for k, v in want.items():
                if v is not None and s.get(k) != v:
                    self.finding(place, "stat %s=%s, should be %d" % (k, s.get(k), v))
            if f.kind == "log" and (s.get("numInserts") or 0) + (s.get("numUpdateWrites") or 0) != len(rows):
                self.finding(place, "stat: inserts and updates do not add up to the rows")
            if f.kind != "base" and s.get("logVersion") != f.version:
                self.finding(place, "stat logVersion %s" % s.get("logVersion"))

    def footer(self, f, place, pf):
        t = self.table
        head, problems = footer_headers(pf.metadata.metadata or {}, f.name)
        for p in problems:
            self.finding(place, p)
        if head.get("VERSION", "").strip() != "2":
            self.finding(place, "footer VERSION %r" % head.get("VERSION"))
        if head.get("INSTANT_TIME") != f.instant:
            self.finding(place, "footer INSTANT_TIME %r" % head.get("INSTANT_TIME"))
        if "SCHEMA" not in head:
            self.finding(place, "no SCHEMA in the footer")
        else:
            try:
                fields = [x["name"] for x in json.loads(head["SCHEMA"])["fields"]]
                if tuple(fields[:5]) != META:
                    self.finding(place, "SCHEMA does not start with the meta fields")
                if f.kind == "log" and fields != pf.schema_arrow.names:
                    self.finding(place, "SCHEMA and columns differ")
            except Exception as e:
                self.finding(place, "SCHEMA: %s" % e)
        times = [x for x in head.get("COMPACTED_BLOCK_TIMES", "").split(",") if x]
        compacts = (f.instant, "logcompaction") in t.requested
        if bool(times) != compacts and f.instant in t.completed:
            self.finding(place, "COMPACTED_BLOCK_TIMES and the action do not fit")
        if any(x >= f.instant for x in times):
            self.finding(place, "COMPACTED_BLOCK_TIMES names a later instant")
        if head.get("IS_PARTIAL", "").lower() == "true":
            self.finding(place, "partial log")

    def columns(self, f, place, got):
        if f.kind == "deletes":
            if "record_key" in got.names:
                self.note(place, "delete log in the first landed form")
                return
            want = delete_schema(self.schema, self.table.ordering)["fields"]
            if got.names != [x["name"] for x in want] or got.field(0).nullable:
                self.finding(place, "columns %s, should be %s" % (got.names, [x["name"] for x in want]))
                return
        else:
            want = with_meta(self.schema)["fields"]
            names = [x["name"] for x in want]
            if got.names != names:
                if f.instant == max((t for t in self.table.completed if isinstance(t, str)), default=""):
                    self.finding(place, "columns %s, should be %s" % (got.names, names))
                else:
                    self.note(place, "columns are not those of the newest schema")
                return
        for x in want:
            have, should = got.field(x["name"]).type, arrow_type(x["type"])
            if canon.from_arrow(have) != canon.from_arrow(should) or (
                    have != should and not pa.types.is_nested(have)):
                self.finding(place, "column %s is %s, should be %s" % (x["name"], have, should))

    def mergeable(self, files):
        """Whether the reader takes these files; what it refuses has its finding already."""
        try:
            for f in files:
                self.table.operands(f)
        except Refused:
            return False
        return True

    def slice_rules(self, g, keys):
        t = self.table
        for s in t.slices(g):
            for f in ([s.base] if s.base else []) + s.logs:
                if t.completion(f.instant) is None:
                    self.finding(f.name, "uncommitted file in slice " + s.instant)
            present = {f.instant for f in s.logs}
            flushes = collections.defaultdict(dict)
            for f in s.logs:
                if f.kind == "inline":
                    if t.version >= 10 and f.instant in t.completed and t.lsm:
                        self.note(f.name, "inline log in a version 10 slice")
                    continue
                flushes[f.instant, f.version, f.token][f.kind] = f
                for x in t.compacted_times(f):
                    if x not in present:
                        self.finding(f.name, "replaces %s, which has no log in slice %s" % (x, s.instant))
            for (i, v, _), both in flushes.items():
                if len(both) == 2 and self.mergeable(both.values()):
                    mixed = {o.key for o in t.operands(both["log"])} & {o.key for o in t.operands(both["deletes"])}
                    if mixed:
                        self.finding(both["log"].name, "keys also in the delete log of the flush: %s" % sorted(mixed)[:3])
        if g in t.replaced:
            return
        try:
            found = t.sources(g)
            for k in {r["_hoodie_record_key"] for r in t.fold(*found)} if found else ():
                if keys.setdefault((g[0], k), g[1]) != g[1]:
                    self.note(g[0], "key %r lives in two file groups" % k)
        except Refused as e:
            self.finding("/".join(g), "cannot be merged: %s" % e)


# --- writer -----------------------------------------------------------------------------

def utf16(text):
    """Sort key of Java's String.compareTo."""
    return text.encode("utf-16-be", "surrogatepass")


def U(row):
    return ["u", row]


def D(row):
    return ["d", row]


def java_string_hash(s):
    h = 0
    for (u,) in struct.iter_unpack(">H", s.encode("utf-16-be", "surrogatepass")):
        h = (31 * h + u) & 0xFFFFFFFF
    return h


def bucket_of(key, buckets):
    """Simple bucket index, single key field: the list of one string."""
    return ((31 + java_string_hash(key)) & 0x7FFFFFFF) % buckets


class Writer:
    """Writes tables as the page says, in the plainest way. Instants and file ids follow from the seed."""

    def __init__(self, path, seed="0", step=1000):
        self.path, self.seed, self.step = path, str(seed), step
        self.location = {}
        if os.path.exists(os.path.join(path, ".hoodie", "hoodie.properties")):
            self._open()

    # setup ----------------------------------------------------------------------

    def create(self, schema, key, partition="", ordering="", type="mor", layout="lsm_tree", version=10,
               merge_mode=None, hive=False, buckets=0, groups=1, name=None, database=None):
        name = name or os.path.basename(os.path.abspath(self.path))
        h = os.path.join(self.path, ".hoodie")
        for d in ("timeline/history", ".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids", ".schema", ".temp"):
            os.makedirs(os.path.join(h, d))
        p = {"hoodie.table.name": name, "hoodie.table.version": str(version),
             "hoodie.table.initial.version": str(version),
             "hoodie.table.type": "MERGE_ON_READ" if type == "mor" else "COPY_ON_WRITE",
             "hoodie.timeline.layout.version": "2", "hoodie.timeline.path": "timeline",
             "hoodie.timeline.history.path": "history", "hoodie.table.recordkey.fields": key,
             "hoodie.record.merge.mode": merge_mode or (EVENT if ordering else COMMIT),
             "hoodie.table.keygenerator.type": "NON_PARTITION" if not partition else
             "COMPLEX" if "," in key or "," in partition else "SIMPLE",
             "hoodie.table.base.file.format": "PARQUET", "hoodie.populate.meta.fields": "true",
             "hoodie.datasource.write.hive_style_partitioning": str(bool(hive)).lower(),
             "hoodie.datasource.write.partitionpath.urlencode": "false",
             "hoodie.datasource.write.drop.partition.columns": "false",
             "hoodie.partition.metafile.use.base.format": "false",
             "hoodie.table.cdc.enabled": "false", "hoodie.table.timeline.timezone": "UTC",
             "hoodie.table.format": "native"}
        if partition:
            p["hoodie.table.partition.fields"] = partition
        if ordering:
            p["hoodie.table.ordering.fields"] = ordering
        if database:
            p["hoodie.database.name"] = database
        if version >= 10:
            p["hoodie.table.storage.layout"] = layout
            p["hoodie.meta.fields.mode"] = "ALL"
        if buckets:
            p["hoodie.index.type"] = "BUCKET"
            p["hoodie.bucket.index.num.buckets"] = str(buckets)
            p["hoodie.bucket.index.hash.field"] = key
        fields = parse_columns(schema, name) if isinstance(schema, str) else schema
        p["hoodie.table.create.schema"] = compact_json(table_schema(name, fields))
        p["hoodie.table.checksum"] = checksum(p)
        self._put(".hoodie/hoodie.properties", properties_text(p, "Properties saved"))
        self._put(".hoodie/writer.json", compact_json({"buckets": buckets, "groups": groups}).encode())
        self._open()

    def set_property(self, key, value):
        """Rewrites the properties with one more key (None removes it)."""
        p = read_properties(os.path.join(self.path, ".hoodie", "hoodie.properties"))
        p.pop(key, None)
        if value is not None:
            p[key] = value
        os.remove(os.path.join(self.path, ".hoodie", "hoodie.properties"))
        self._put(".hoodie/hoodie.properties", properties_text(p, "Updated"))
        self._open()

    def _open(self):
        t = Table(self.path)
        self.props, self.mode, self.ordering, self.lsm = t.props, t.mode, t.ordering, t.lsm
        self.schema = t.schema()
        self.fields = {f["name"]: f for f in self.schema["fields"]}
        self.desc = {n: descriptor(f["type"]) for n, f in self.fields.items()}
        self.keys = self.props["hoodie.table.recordkey.fields"].split(",")
        self.parts = [c for c in self.props.get("hoodie.table.partition.fields", "").split(",") if c]
        self.hive = self.props.get("hoodie.datasource.write.hive_style_partitioning") == "true"
        self.cow = self.props["hoodie.table.type"] == "COPY_ON_WRITE"
        side = os.path.join(self.path, ".hoodie", "writer.json")
        cfg = json.load(open(side)) if os.path.exists(side) else {}
        self.buckets, self.groups = cfg.get("buckets", 0), cfg.get("groups", 1)
        times = re.findall(r"\d{17}", " ".join(os.listdir(t.timeline_path)))
        self.clock = max([self._ms(x) for x in times], default=self._ms("20260301080000000") +
                         zlib.crc32(self.seed.encode()) % 86400 * 1000)
        self.location = {}
        for g in t.groups():
            for f in t.files[g]:
                if f.kind in ("base", "log", "inline") and t.completion(f.instant) is not None:
                    for o in t.operands(f):
                        self.location[g[0], o.key] = g[1]

    @staticmethod
    def _ms(t):
        d = dt.datetime.strptime(t[:14], "%Y%m%d%H%M%S").replace(tzinfo=dt.timezone.utc)
        return int(d.timestamp()) * 1000 + int(t[14:])

    def tick(self):
        self.clock += self.step
        d = dt.datetime.fromtimestamp(self.clock // 1000, dt.timezone.utc)
        return d.strftime("%Y%m%d%H%M%S") + "%03d" % (self.clock % 1000)

    def _put(self, rel, blob):
        full = os.path.join(self.path, rel)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "xb") as f:
            f.write(blob)

    # instants --------------------------------------------------------------------

    def begin(self, action="deltacommit", operation="UPSERT", plan=b"", compacted=False):
        """A pending instant: a dict that upsert/flush and complete take."""
        t = self.tick()
        h = {"t": t, "action": action, "operation": operation, "compacted": compacted, "stats": {},
             "replaced": {}, "version": {}, "seq": 0}
        self._put(".hoodie/timeline/%s.%s.requested" % (t, action), plan)
        self._put(".hoodie/timeline/" + ("%s.inflight" % t if action == "commit" else "%s.%s.inflight" % (t, action)), b"")
        return h

    def complete(self, h):
        c = self.tick()
        final = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}.get(
            h["action"], h["action"])
        md = {"partitionToWriteStats": h["stats"], "compacted": h["compacted"], "operationType": h["operation"],
              "extraMetadata": {"schema": compact_json(self.schema)}, "version": None}
        kind = "HoodieCommitMetadata"
        if final == "replacecommit":
            kind = "HoodieReplaceCommitMetadata"
            md["partitionToReplaceFileIds"] = h["replaced"]
        self._put(".hoodie/timeline/%s_%s.%s" % (h["t"], c, final), container(kind, md))
        shutil.rmtree(os.path.join(self.path, ".hoodie", ".temp", h["t"]), ignore_errors=True)
        for p, ids in h["replaced"].items():
            self.location = {k: v for k, v in self.location.items() if not (k[0] == p and v in ids)}
        self.location.update(h.get("located", {}))
        h["c"] = c
        return h["t"]

    # routing ---------------------------------------------------------------------

    def key_of(self, row):
        if len(self.keys) == 1:
            return str(row[self.keys[0]])
        return ",".join("%s:%s" % (k, row[k]) for k in self.keys)

    def partition_of(self, row):
        out = []
        for c in self.parts:
            v = row.get(c)
            v = "__HIVE_DEFAULT_PARTITION__" if v is None or v == "" else str(v)
            out.append("%s=%s" % (c, v) if self.hive else v)
        return "/".join(out)

    def _file_id(self, partition, slot, generation=0):
        d = hashlib.md5(("%s/%s/%s/%d" % (self.seed, partition, slot, generation)).encode()).hexdigest()
        head = "%08d" % slot if self.buckets else d[:8]
        return "%s-%s-4%s-a%s-%s-0" % (head, d[8:12], d[13:16], d[17:20], d[20:32])

    def group_of(self, partition, key):
        if self.buckets:
            slot = bucket_of(key, self.buckets)
        else:
            if (partition, key) in self.location:
                return self.location[partition, key]
            slot = zlib.crc32(key.encode("utf-8")) % self.groups
        gone = {i for (p, i) in Table(self.path).replaced if p == partition} if self._has_replace() else ()
        generation = 0
        while self._file_id(partition, slot, generation) in gone:
            generation += 1
        return self._file_id(partition, slot, generation)

    def _has_replace(self):
        return any(n.endswith(".replacecommit") for n in os.listdir(os.path.join(self.path, ".hoodie", "timeline")))

    # files -------------------------------------------------------------------------

    def python_row(self, row):
        return {n: from_canonical(row.get(n), d) for n, d in self.desc.items()}

    def _sorted(self, ops, order):
        how = {"utf8": "utf-8", "utf16": "utf-16-be"}[order]
        return sorted(ops, key=lambda o: o.key.encode(how))

    def _partition(self, partition, t):
        rel = (partition + "/" if partition else "") + ".hoodie_partition_metadata"
        if not os.path.exists(os.path.join(self.path, rel)):
            depth = len(partition.split("/")) if partition else 0
            self._put(rel, properties_text({"commitTime": t, "partitionDepth": str(depth)}, "partition metadata"))

    def _marker(self, h, partition, name, kind="CREATE"):
        self._put(".hoodie/.temp/%s/%s%s.marker.%s" % (h["t"], partition + "/" if partition else "", name, kind), b"")

    def _footer(self, h, footer, times):
        head = {"VERSION": "2", "INSTANT_TIME": h["t"], "SCHEMA": compact_json(with_meta(self.schema))}
        if times:
            head["COMPACTED_BLOCK_TIMES"] = ",".join(times)
        out = {}
        if footer in ("both", "split"):
            out.update({"hudi.log.format." + k: v for k, v in head.items()})
        if footer in ("both", "map"):
            out["hudi.log.format.metadata"] = compact_json(head)
        return out

    def _parquet(self, rel, fields, rows, meta, required=()):
        keys = [r.get("_hoodie_record_key", r.get("record_key")) for r in rows]
        if keys:                                     # these two compare as Java strings, in logs as in base files
            raw = sorted(keys, key=utf16)
            meta = dict(meta, hoodie_min_record_key=raw[0], hoodie_max_record_key=raw[-1])
        sch = pa.schema([pa.field(f["name"], arrow_type(f["type"]), nullable=f["name"] not in required)
                         for f in fields])
        full = os.path.join(self.path, rel)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.exists(full):
            raise ValueError("exists: " + rel)
        # store_schema=False drops schema metadata too, so the entries are added to the open file
        with pq.ParquetWriter(full, sch, compression="zstd", store_schema=False) as out:
            out.write_table(pa.Table.from_pylist(rows, schema=sch))
            out.add_key_value_metadata(meta)
        return os.path.getsize(full)

    def _stat(self, h, partition, file_id, name, size, **numbers):
        s = {"fileId": file_id, "path": (partition + "/" if partition else "") + name, "partitionPath": partition,
             "prevCommit": h["t"], "numWrites": 0, "numInserts": 0, "numUpdateWrites": 0, "numDeletes": 0,
             "totalWriteErrors": 0, "totalWriteBytes": size, "fileSizeInBytes": size}
        s.update(numbers)
        h["stats"].setdefault(partition, []).append(s)

    def data_row(self, h, o, partition, file_name):
        """Full row of an operand; meta fields of rows that have them are kept."""
        if "_hoodie_record_key" in o.row:
            return dict(o.row, _hoodie_file_name=file_name)
        seq, h["seq"] = h["seq"], h["seq"] + 1
        return dict(o.row, _hoodie_commit_time=h["t"], _hoodie_commit_seqno="%s_0_%d" % (h["t"], seq),
                    _hoodie_record_key=o.key, _hoodie_partition_path=partition, _hoodie_file_name=file_name)

    def write_base(self, h, partition, file_id, ops, prev=None, token="0-1-1", **numbers):
        name = "%s_%s_%s.parquet" % (file_id, token, h["t"])
        self._partition(partition, h["t"])
        self._marker(h, partition, name, "MERGE" if prev else "CREATE")
        rows = [self.data_row(h, o, partition, name) for o in self._sorted(ops, "utf8")]
        fields = with_meta(self.schema)["fields"]
        size = self._parquet((partition + "/" if partition else "") + name, fields, rows,
                             {"parquet.avro.schema": compact_json(with_meta(self.schema))})
        self._stat(h, partition, file_id, name, size, **dict({
            "numWrites": len(rows), "numInserts": len(rows), "prevCommit": prev or "null"}, **numbers))
        h.setdefault("located", {}).update(((partition, o.key), file_id) for o in ops)

    def write_logs(self, h, partition, file_id, ops, token="0-1-1", order="utf8", footer="both", deletes="later",
                   delete_kind="deletes", times=(), prev=None, fixed_version=None):
        """One flush of one file group: a data log and/or a delete log of one version."""
        v = fixed_version or h["version"].get((partition, file_id), 1)
        folder = partition + "/" if partition else ""
        name = lambda kind, v: "%s_%s_%s_%d.%s.parquet" % (file_id, token, h["t"], v, kind)      # noqa: E731
        while any(os.path.exists(os.path.join(self.path, folder + name(k, v))) for k in ("log", "deletes", "delete")):
            v += 1
        h["version"][partition, file_id] = v + 1
        self._partition(partition, h["t"])
        meta = self._footer(h, footer, times)
        rows = [o for o in ops if not o.delete]
        if rows:
            rows = self._sorted(rows, order)
            n = name("log", v)
            self._marker(h, partition, n)
            size = self._parquet(folder + n, with_meta(self.schema)["fields"],
                                 [self.data_row(h, o, partition, file_id) for o in rows],
                                 dict(meta, **{"parquet.avro.schema": compact_json(with_meta(self.schema))}))
            new = sum((partition, o.key) not in self.location for o in rows) if not times else 0
            self._stat(h, partition, file_id, n, size, numWrites=len(rows), numInserts=new,
                       numUpdateWrites=len(rows) - new, logVersion=v, logOffset=0, baseFile="", logFiles=[n],
                       prevCommit=prev or h["t"])
            h.setdefault("located", {}).update(((partition, o.key), file_id) for o in rows)
        gone = [o for o in ops if o.delete]
        if gone:
            gone = self._sorted(gone, order)
            n = name(delete_kind, v)
            self._marker(h, partition, n)
            if deletes == "later":
                sch = delete_schema(self.schema, self.ordering)
                out = [dict(zip(self.ordering, o.ordering or [None] * len(self.ordering)),
                            _hoodie_record_key=o.key) for o in gone]
                required = ("_hoodie_record_key",)
            else:
                sch = {"type": "record", "name": "hudi_delete_log_record", "fields": [
                    {"name": "record_key", "type": "string"}, {"name": "partition_path", "type": ["null", "string"]},
                    {"name": "ordering_val", "type": ["null", "bytes"]}]}
                out = [{"record_key": o.key, "partition_path": partition, "ordering_val": None} for o in gone]
                required = ("record_key",)
            size = self._parquet(folder + n, sch["fields"], out,
                                 dict(meta, **{"parquet.avro.schema": compact_json(sch)}), required)
            self._stat(h, partition, file_id, n, size, numDeletes=len(gone), logVersion=v, logOffset=0,
                       baseFile="", logFiles=[n], prevCommit=prev or h["t"])

    def write_inline(self, h, partition, file_id, ops, token="0-1-1"):
        """One inline log file (version 9 form): Avro data block, then delete block."""
        name = ".%s_%s.log.1_%s" % (file_id, h["t"], token)
        self._partition(partition, h["t"])
        self._marker(h, partition, name)
        schema, blob = with_meta(self.schema), b""
        head = {0: h["t"], 2: compact_json(schema)}
        parsed = fastavro.parse_schema(copy.deepcopy(schema), named_schemas={})
        rows = self._sorted([o for o in ops if not o.delete], "utf8")
        if rows:
            body = struct.pack(">ii", 3, len(rows))
            for o in rows:
                b = io.BytesIO()
                fastavro.schemaless_writer(b, parsed, self.data_row(h, o, partition, file_id))
                body += struct.pack(">i", b.tell()) + b.getvalue()
            blob += inline_block(3, head, body)
        gone = [o for o in ops if o.delete]
        if gone:
            def wrap(o):
                if o.ordering is None:
                    return ("IntWrapper", {"value": 0})
                kind = {"int": "Int", "long": "Long", "string": "String", "double": "Double"}
                return (kind[strip_null(self.fields[self.ordering[0]]["type"])] + "Wrapper", {"value": o.ordering[0]})
            b = io.BytesIO()
            fastavro.schemaless_writer(b, DELETE_LIST_PARSED, {"deleteRecordList": [
                {"recordKey": o.key, "partitionPath": partition, "orderingVal": wrap(o)} for o in gone]})
            blob += inline_block(1, head, struct.pack(">ii", 3, b.tell()) + b.getvalue())
        self._put((partition + "/" if partition else "") + name, blob)
        self._stat(h, partition, file_id, name, len(blob), numWrites=len(rows), numUpdateWrites=len(rows),
                   numDeletes=len(gone), logVersion=1, logOffset=0, baseFile="", logFiles=[name])
        h.setdefault("located", {}).update(((partition, o.key), file_id) for o in rows)

    # operations ------------------------------------------------------------------

    def operands(self, ops, drop_ordering=False, keep_marked=False):
        """[(partition, Op)] in arrival order. keep_marked leaves rows marked as deleted among the data."""
        out = []
        for what, row in ops:
            delete = what == "d" or (row.get(DELETED) is True and not keep_marked)
            values = tuple(from_canonical(row.get(c), self.desc[c]) for c in self.ordering)
            absent = drop_ordering or not self.ordering or all(v is None for v in values)
            op = Op(self.key_of(row), delete, None if delete and absent else values,
                    None if delete else self.python_row(row))
            op.int_zero = delete and values == (0,) and strip_null(self.fields[self.ordering[0]]["type"]) == "int"
            out.append((self.partition_of(row), op))
        return out

    def grouped(self, ops, drop_ordering=False, keep_marked=False):
        groups = {}
        for partition, o in self.operands(ops, drop_ordering, keep_marked):
            groups.setdefault((partition, self.group_of(partition, o.key)), []).append(o)
        return sorted(groups.items())

    def flush(self, h, ops, reduce=True, inline=False, keep_marked=False, **how):
        """One flush of every touched file group (14): sort, reduce, write."""
        first_form = how.get("deletes") == "first"
        for (partition, file_id), mine in self.grouped(ops, first_form and not inline, keep_marked):
            by_key = {}
            for o in mine:
                by_key.setdefault(o.key, []).append(o)
            first, second = [], []
            for ops_of_key in by_key.values():
                if reduce or len({o.delete for o in ops_of_key}) > 1:
                    kept = reduce_operands(self.mode, ops_of_key, self.lsm)
                    first.append(kept[0])
                    second += kept[1:]
                else:
                    first += ops_of_key
            if inline:
                self.write_inline(h, partition, file_id, first)
                continue
            self.write_logs(h, partition, file_id, first, **how)
            if second:
                self.write_logs(h, partition, file_id, second, **how)
        return h["t"]

    def upsert(self, ops, **how):
        """One delta commit of one flush; a copy-on-write table gets new base files. Returns the instant."""
        if self.cow:
            return self._cow(ops)
        h = self.begin(operation="DELETE" if all(w == "d" for w, _ in ops) else "UPSERT")
        self.flush(h, ops, **how)
        return self.complete(h)

    def bulk_insert(self, rows, pending=False):
        """New base files for groups without any; rows keep their duplicates."""
        h = self.begin("commit" if self.cow else "deltacommit", "BULK_INSERT")
        for (partition, file_id), mine in self.grouped([U(r) for r in rows]):
            if (partition, file_id) in Table(self.path).files:
                raise ValueError("bulk_insert into a group that has files")
            self.write_base(h, partition, file_id, mine)
        return h["t"] if pending else self.complete(h)

    def _cow(self, ops):
        h = self.begin("commit", "UPSERT")
        table = Table(self.path)
        for (partition, file_id), mine in self.grouped(ops):
            found = table.slices((partition, file_id)) if (partition, file_id) in table.files else []
            base = found[0].base if found else None
            state, old, rows, touched = {}, set(), [], {o.key for o in mine}
            for o in table.operands(base) if base else ():
                old.add(o.key)
                if o.key in touched:
                    state[o.key] = merge(self.mode, state.get(o.key), o)
                else:
                    rows.append(o)
            for o in mine:
                state[o.key] = merge(self.mode, state.get(o.key), o)
            rows += [o for o in state.values() if not o.delete]
            new = sum(o.key not in old for o in rows)
            changed = sum("_hoodie_record_key" not in o.row for o in rows) - new
            extra = {"prevBaseFile": base.name} if base else {}
            self.write_base(h, partition, file_id, rows, prev=base.instant if base else None, numInserts=new,
                            numUpdateWrites=changed, numDeletes=sum(k in old and o.delete for k, o in state.items()), **extra)
        return self.complete(h)

    def _plan(self, action, log_threshold, skip):
        """(plan record) of every group that has something to do."""
        t, ops = Table(self.path), []
        barrier = min((i for i, a in t.pending.items() if a in ("deltacommit", "commit", "replacecommit")), default=None)
        for g in t.groups():
            if g in t.compacting or g in t.log_compacting:
                continue
            s = t.slices(g)
            if not s or not s[0].logs:
                continue
            placed = t.placed_logs(s[0].logs)
            logs = [f for _, f in placed]
            if action == "logcompaction":            # a stretch of the log order, before any pending writer
                places = sorted({place for place, _ in placed})[skip:]
                logs = [f for place, f in placed if place in places and not (barrier and place >= barrier)]
                if len(logs) < log_threshold:
                    continue
            sizes = [os.path.getsize(t.full(f)) for f in logs]
            base = os.path.getsize(t.full(s[0].base)) if s[0].base else 0
            ops.append({"baseInstantTime": s[0].instant, "deltaFilePaths": [f.name for f in logs],
                        "dataFilePath": s[0].base.name if s[0].base else None, "fileId": g[1], "partitionPath": g[0],
                        "metrics": {"TOTAL_LOG_FILES": float(len(logs)), "TOTAL_LOG_FILES_SIZE": float(sum(sizes)),
                                    "TOTAL_IO_READ_MB": float((sum(sizes) + base) // 2 ** 20),
                                    "TOTAL_IO_WRITE_MB": float(base // 2 ** 20),
                                    "TOTAL_IO_MB": float((sum(sizes) + 2 * base) // 2 ** 20)},
                        "bootstrapFilePath": None})
        if not ops:
            return None
        return {"operations": ops, "extraMetadata": {}, "version": 2, "missingSchedulePartitions": [],
                "preserveHoodieMetadata": action == "logcompaction",
                "strategy": {"compactorClassName": "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper",
                             "strategyParams": {}, "version": 1} if action == "logcompaction" else None}

    def schedule(self, action="compaction", log_threshold=2, skip=0):
        """Plans a compaction or log compaction; None when there is nothing to do. skip leaves out the oldest
        instants of a log compaction."""
        plan = self._plan(action, log_threshold, skip)
        if plan is None:
            return None
        h = self.begin(action, "COMPACT" if action == "compaction" else "LOG_COMPACT",
                       container("HoodieCompactionPlan", plan), compacted=True)
        h["plan"] = plan
        return h

    def execute(self, h, finish=True, **how):
        """Runs a plan of schedule()."""
        t = Table(self.path)
        for o in h["plan"]["operations"]:
            g = (o["partitionPath"], o["fileId"])
            logs = [classify(n, g[0]) for n in o["deltaFilePaths"]]
            base = classify(o["dataFilePath"], g[0]) if o["dataFilePath"] else None
            if h["action"] == "compaction":
                rows = [Op(r["_hoodie_record_key"], False, (), r) for r in t.fold(base, logs)]
                extra = {"prevBaseFile": base.name} if base else {}
                self.write_base(h, g[0], g[1], rows, prev=o["baseInstantTime"], numInserts=0, numUpdateWrites=len(rows),
                                totalLogFilesCompacted=len(logs), totalLogRecords=sum(len(t.operands(f)) for f in logs), **extra)
                continue
            by_key = {}
            for f in logs:
                for op in t.operands(f):
                    by_key.setdefault(op.key, []).append(op)
            first, second = [], []
            for ops in by_key.values():
                kept = reduce_operands(self.mode, ops, self.lsm)
                first.append(kept[0])
                second += kept[1:]
            times = sorted({f.instant for f in logs})
            for level in (first, second):
                if level:
                    self.write_logs(h, g[0], g[1], level, times=times, prev=o["baseInstantTime"], **how)
        return self.complete(h) if finish else h["t"]

    def compact(self):
        h = self.schedule("compaction")
        return h and self.execute(h)

    def log_compact(self, log_threshold=2, skip=0, **how):
        h = self.schedule("logcompaction", log_threshold, skip)
        return h and self.execute(h, **how)

    def cluster(self, partition, by=None, groups=2):
        """New groups, one per hash of column `by` (or of the key), rows of each in key order."""
        t = Table(self.path)
        old = [g for g in t.groups() if g[0] == partition]
        plan = {"operationType": "CLUSTER", "clusteringPlan": None, "extraMetadata": {}, "version": 1}
        h = self.begin("clustering", "CLUSTER", container("HoodieRequestedReplaceMetadata", plan))
        made = {}
        for g in old:
            for r in t.fold(*t.sources(g)):
                text = str(r[by]) if by else r["_hoodie_record_key"]
                made.setdefault(zlib.crc32(text.encode()) % groups, []).append(Op(r["_hoodie_record_key"], False, (), r))
        for slot, ops in sorted(made.items()):
            d = hashlib.md5(("%s/%s/%s" % (self.seed, h["t"], slot)).encode()).hexdigest()
            self.write_base(h, partition, "%s-%s-4%s-b%s-%s-0" % (d[:8], d[8:12], d[13:16], d[17:20], d[20:]), ops)
        h["replaced"] = {partition: [g[1] for g in old]}
        return self.complete(h)

    def insert_overwrite(self, rows):
        """Replaces the partitions of the rows."""
        t = Table(self.path)
        h = self.begin("replacecommit", "INSERT_OVERWRITE", container(
            "HoodieRequestedReplaceMetadata", {"operationType": None, "clusteringPlan": None, "extraMetadata": None, "version": None}))
        parts = {}
        for p, o in self.operands([U(r) for r in rows]):
            parts.setdefault(p, {})[o.key] = o
        for p, ops in sorted(parts.items()):
            old = [g[1] for g in t.groups() if g[0] == p]
            h["replaced"][p] = old
            d = hashlib.md5(("%s/%s/%s" % (self.seed, h["t"], p)).encode()).hexdigest()
            self.write_base(h, p, "%s-%s-4%s-8%s-%s-0" % (d[:8], d[8:12], d[13:16], d[17:20], d[20:]), list(ops.values()))
        return self.complete(h)


# --- command line -----------------------------------------------------------------------

def main(argv=None):
    p = argparse.ArgumentParser(description="Reader, checker and tiny writer of LSM tables, without Hudi.")
    sub = p.add_subparsers(dest="cmd", required=True)
    r = sub.add_parser("read")
    r.add_argument("table")
    r.add_argument("--as-of")
    r.add_argument("--read-optimized", action="store_true")
    r.add_argument("--columns")
    r.add_argument("--meta", choices=("stable", "all", "none"), default="stable")
    r.add_argument("--out", default="-")
    c = sub.add_parser("check")
    c.add_argument("table")
    c.add_argument("--json", action="store_true")
    s = sub.add_parser("slices")
    s.add_argument("table")
    s.add_argument("--as-of")
    w = sub.add_parser("write")
    w.add_argument("table")
    w.add_argument("--script", required=True)
    w.add_argument("--seed", default="0")
    a = p.parse_args(argv)
    try:
        if a.cmd == "read":
            columns = a.columns.split(",") if a.columns else None
            canon.write_lines(a.out, Table(a.table, a.as_of).canonical(a.meta, columns, a.read_optimized))
        elif a.cmd == "check":
            k = Checker(a.table).run()
            if a.json:
                print(canon.dumps({"findings": k.findings, "notes": k.notes}))
            else:
                for text in k.findings:
                    print(text)
                for text in k.notes:
                    print("note: " + text)
                print("%d findings, %d notes" % (len(k.findings), len(k.notes)), file=sys.stderr)
            return 1 if k.findings else 0
        elif a.cmd == "slices":
            t = Table(a.table, a.as_of)
            for g in t.groups():
                found = t.sources(g)
                for f in ([found[0]] if found and found[0] else []) + (found[1] if found else []):
                    print("%s\t%s\t%s" % (g[0] or ".", g[1], f.name))
        else:
            writer = Writer(a.table, a.seed)
            for line in canon.read_lines(a.script):
                args = json.loads(line)
                print(getattr(writer, args.pop("op"))(**args))
    except Refused as e:
        print("lsm_peer: %s: refused: %s" % (a.table, e), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
