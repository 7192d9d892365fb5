"""sluice from Python: libsluice.so by ctypes, rows by the Arrow C stream interface. Nothing but the standard library is needed.

    import sluice
    with sluice.Table("lake/trips") as trips:
        table = pyarrow.table(trips.scan(where="fare > 10"))        # or polars.DataFrame(...)
        rich = trips.scan(columns=["city", "fare"])
        duckdb.sql("select city, max(fare) from rich group by city")
        trips.upsert(table)                                         # whatever has __arrow_c_stream__

An example, and what tests/interop/test_embedding.py proves the C interface with; copy it and go on from there. Each
object is for one thread at a time. SLUICE_LIBRARY names the library when the loader does not find it.
"""

import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

INSERT, UPSERT, BULK_INSERT, DELETE, INSERT_OVERWRITE, INSERT_OVERWRITE_TABLE = range(6)
COMPACT, LOG_COMPACT, DUE = range(3)


# --- the structs of sluice_arrow.h and sluice.h -----------------------------------------------------------------------

class ArrowSchema(ctypes.Structure):
    pass


class ArrowStream(ctypes.Structure):
    pass


ReleaseSchema = ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))
ReleaseStream = ctypes.CFUNCTYPE(None, POINTER(ArrowStream))
GetSchema = ctypes.CFUNCTYPE(c_int, POINTER(ArrowStream), POINTER(ArrowSchema))

ArrowSchema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64),
                        ("n_children", c_int64), ("children", c_void_p), ("dictionary", c_void_p),
                        ("release", ReleaseSchema), ("private_data", c_void_p)]
ArrowStream._fields_ = [("get_schema", GetSchema), ("get_next", c_void_p), ("get_last_error", c_void_p),
                        ("release", ReleaseStream), ("private_data", c_void_p)]


class _Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", c_char * 2048), ("hint", c_char * 512)]


class _CommitInfo(ctypes.Structure):
    _fields_ = ([("size", c_size_t), ("instant", c_char * 32), ("completed", c_char * 32), ("action", c_char * 32)] +
                [(n, c_uint64) for n in ("rows_in", "rows_written", "rows_inserted", "rows_updated", "rows_deleted")] +
                [("counts_are_known", c_int32)] +
                [(n, c_uint64) for n in ("file_groups", "partitions", "files", "bytes", "spilled_runs")] +
                [("seconds", c_double), ("file_groups_replaced", c_uint64), ("flushes", c_uint64)])


class Error(Exception):
    """A refusal of the library: code (enum sluice_code), message, hint ("" for none)."""

    def __init__(self, code, message, hint):
        super().__init__(message + ("\nhint: " + hint if hint else ""))
        self.code, self.message, self.hint = code, message, hint


# --- the library ------------------------------------------------------------------------------------------------------

_lib = ctypes.CDLL(os.environ.get("SLUICE_LIBRARY", "libsluice.so.0"))
_lib.sluice_version.restype = c_char_p
for _name in ("sluice_free", "sluice_table_close", "sluice_writer_close", "sluice_writer_waiting", "sluice_scan_free"):
    getattr(_lib, _name).restype = None
_lib.sluice_free.argtypes = _lib.sluice_table_close.argtypes = [c_void_p]
_lib.sluice_writer_close.argtypes = _lib.sluice_scan_free.argtypes = [c_void_p]


def _call(name, *arguments):
    """Every call that can fail ends with a sluice_error; integers for pointers are given as c_void_p and the like."""
    error = _Error()
    if getattr(_lib, name)(*arguments, byref(error)):
        raise Error(error.code, error.message.decode(), error.hint.decode())


def _options(pairs):
    """key, value, ..., NULL."""
    texts = [str(x).encode() for pair in pairs.items() for x in pair]
    return (c_char_p * (len(texts) + 1))(*texts, None)


def version():
    return _lib.sluice_version().decode()


# --- streams of Arrow -------------------------------------------------------------------------------------------------

_NAME = b"arrow_array_stream"
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]

_lent = []      # (capsule, the struct in it)


def _sweep():
    """Capsules that nobody but us has any more; what a consumer has moved out of one has no release. (A destructor of the
    capsule would be Python code that may run while an exception is under way.)"""
    for pair in _lent[:]:
        if sys.getrefcount(pair[0]) == 2:
            _lent.remove(pair)
            if pair[1].release:
                pair[1].release(byref(pair[1]))


def _capsule_of(stream):
    """A stream of the library for a consumer."""
    _sweep()
    _lent.append((_capsule_new(ctypes.addressof(stream), _NAME, None), stream))
    return _lent[-1][0]


class _Taken:
    """The C stream of any object that has one."""

    def __init__(self, data):
        self.capsule = data.__arrow_c_stream__()
        self.stream = ctypes.cast(_capsule_pointer(self.capsule, _NAME), POINTER(ArrowStream))

    def schema(self):
        schema = ArrowSchema()
        if self.stream.contents.get_schema(self.stream, byref(schema)):
            raise ValueError("the data have no schema")
        return schema


# --- tables -----------------------------------------------------------------------------------------------------------

class Scan:
    """Rows for pyarrow.table(scan), pyarrow.RecordBatchReader.from_stream(scan), polars.DataFrame(scan), and for DuckDB by
    the name of its variable. Each of them reads the snapshot that is the newest then, and holds the table open by itself."""

    def __init__(self, table, columns, where, as_of, limit):
        self._table, self._columns, self._where, self._as_of, self._limit = table, columns, where, as_of, limit

    def __arrow_c_stream__(self, requested_schema=None):
        scan, stream = c_void_p(), ArrowStream()
        _call("sluice_scan_new", self._table.pointer, byref(scan))
        try:
            if self._columns is not None:
                names = (c_char_p * len(self._columns))(*[c.encode() for c in self._columns])
                _call("sluice_scan_columns", scan, names, c_size_t(len(names)))
            if self._where is not None:
                _call("sluice_scan_where", scan, self._where.encode())
            if self._as_of is not None:
                _call("sluice_scan_as_of", scan, self._as_of.encode())
            if self._limit is not None:
                _call("sluice_scan_limit", scan, c_int64(self._limit))
            _call("sluice_scan_stream", scan, byref(stream))
        finally:
            _lib.sluice_scan_free(scan)
        return _capsule_of(stream)

    def __del__(self):
        _sweep()


def create(uri, schema, **options):
    """schema: 'id long, name string'; options: **{"hoodie.table.recordkey.fields": "id", ...}."""
    arrow = ArrowSchema()
    _call("sluice_schema_parse", schema.encode(), byref(arrow))
    try:
        _call("sluice_table_create", str(uri).encode(), byref(arrow), _options(options))
    finally:
        arrow.release(byref(arrow))


class Table:
    """options: settings (`sluice config list`), e.g. **{"sluice.memory": "1g"}."""

    def __init__(self, uri, **options):
        self.pointer = c_void_p()
        _call("sluice_table_open", str(uri).encode(), _options(options), byref(self.pointer))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """What reads or writes the table by then can go on."""
        pointer, self.pointer = self.pointer, c_void_p()
        _lib.sluice_table_close(pointer)

    __del__ = close

    def scan(self, columns=None, where=None, as_of=None, limit=None):
        return Scan(self, columns, where, as_of, limit)

    def write(self, data, operation):
        """One commit of all rows, or none; what it did, as a dict."""
        taken = _Taken(data)
        schema = taken.schema()
        try:
            writer = Writer(self, schema, operation)
        finally:
            schema.release(byref(schema))
        with writer:
            writer._append(taken)
            return writer.commit()

    def upsert(self, data):
        return self.write(data, UPSERT)

    def delete(self, data):
        """Needs the key and partition columns only."""
        return self.write(data, DELETE)

    def run(self, service):
        """COMPACT, LOG_COMPACT or DUE."""
        info = _CommitInfo(size=ctypes.sizeof(_CommitInfo))
        _call("sluice_service_run", self.pointer, c_int(service), None, byref(info))
        return _dict(info)


class Writer:
    """A streaming writer: append as often as wanted, commit on demand. What is not committed is dropped by close()."""

    def __init__(self, table, schema, operation=UPSERT):
        """schema: an ArrowSchema, or whatever has __arrow_c_schema__."""
        self._pointer = c_void_p()
        if not isinstance(schema, ArrowSchema):
            capsule = schema.__arrow_c_schema__()
            schema = ctypes.cast(_capsule_pointer(capsule, b"arrow_schema"), POINTER(ArrowSchema)).contents
        _call("sluice_writer_open", table.pointer, c_int(operation), byref(schema), byref(self._pointer))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _append(self, taken):
        _call("sluice_writer_append_stream", self._pointer, taken.stream)

    def append(self, data):
        self._append(_Taken(data))

    def waiting(self):
        """(rows, bytes) that the next commit publishes."""
        rows, size = c_uint64(), c_uint64()
        _lib.sluice_writer_waiting(self._pointer, byref(rows), byref(size))
        return rows.value, size.value

    def flush(self):
        _call("sluice_writer_flush", self._pointer)

    def commit(self):
        info = _CommitInfo(size=ctypes.sizeof(_CommitInfo))
        _call("sluice_writer_commit", self._pointer, byref(info))
        return _dict(info)

    def close(self):
        pointer, self._pointer = self._pointer, c_void_p()
        _lib.sluice_writer_close(pointer)

    __del__ = close


def _dict(info):
    values = {name: getattr(info, name) for name, _ in info._fields_ if name != "size"}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}
