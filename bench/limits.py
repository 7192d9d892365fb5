"""The limits that issue 5 sets, and the tables that compare.py prints. Figures come by name from ours.py and peers.py; one that is missing leaves its line out."""
import math

HUDI = "Hudi 1.2 on Spark"


def at(figures, *path):
    for name in path:
        figures = figures.get(name) if isinstance(figures, dict) else None
    return figures


def ratio(a, b):
    return None if a is None or not b else a / b


# what, value from the figures, bound, sense, unit
def limits(f):
    o = f["ours"]
    mib = 2 ** 20
    return [
        ("upsert: times %s, merge-on-read" % HUDI, ratio(at(f, "spark_mor", "upsert"), o.get("upsert")), 50, ">=", "x"),
        ("the same by processor seconds, for busy machines", ratio(at(f, "spark_mor", "upsert_processor"), o.get("upsert_processor")), 50, ">=", "x"),
        ("upsert: times delta-rs MERGE", ratio(at(f, "delta", "upsert"), o.get("upsert")), 8, ">=", "x"),
        ("upsert: times our copy-on-write upsert", ratio(o.get("cow_upsert"), o.get("upsert")), 5, ">=", "x"),
        ("compaction: times %s" % HUDI, ratio(at(f, "spark_mor", "compact"), o.get("compact")), 20, ">=", "x"),
        ("compaction: times DuckDB's SQL", ratio(at(f, "duckdb", "compact"), o.get("compact")), 2, ">=", "x"),
        ("compaction: recent skew to uniform", ratio(o.get("skewed_compact"), o.get("uniform_compact")), 0.35, "<=", ""),
        ("snapshot of base and 4 runs: times %s" % HUDI, ratio(at(f, "spark_mor", "snapshot_read"), o.get("read")), 20, ">=", "x"),
        ("snapshot of base and 4 runs: times hudi-rs, equal table", ratio(at(f, "hudi_rs_mor", "snapshot_read"), o.get("read")), 2, ">=", "x"),
        ("ten runs: to the compacted table", ratio(o.get("ten_read"), o.get("compacted_read")), 1.6, "<=", ""),
        ("point lookup, open handle, median", o.get("lookup") and o["lookup"] * 1e3, 5, "<=", "ms"),
        ("point lookup, command, median", o.get("lookup_command") and o["lookup_command"] * 1e3, 30, "<=", "ms"),
        ("comparisons a record, 5 sources", o.get("comparisons"), math.log2(5) + 1, "<=", ""),
        ("allocations a row", o.get("allocations"), 0.05, "<=", ""),
        ("peak memory of compacting 200 runs, MiB", o.get("runs_peak") and o["runs_peak"] / mib, at(f, "runs_limit") and f["runs_limit"] * 1.25, "<=", "MiB"),
        ("peak memory of writing ten times the budget, MiB", o.get("large_peak") and o["large_peak"] / mib, at(f, "large_limit") and f["large_limit"] * 1.25, "<=", "MiB"),
    ]


def limits_table(f):
    lines = ["| limit | measured | required | |", "|---|---:|---:|---|"]
    for what, value, bound, sense, unit in limits(f):
        if value is None:
            continue
        met = value >= bound if sense == ">=" else value <= bound
        lines.append("| %s | %.3g %s | %s %.3g %s | %s |" % (what, value, unit, sense, bound, unit, "ok" if met else "MISSED"))
    return "\n".join(lines) + "\n"


def operations_table(f, rows):
    o = f["ours"]
    lines = ["| operation | sluice s | peer | peer s | sluice is faster by |", "|---|---:|---|---:|---:|"]

    def line(what, ours, peer, *path):
        theirs = at(f, *path) if path else None
        if ours is None or (path and theirs is None):
            return
        times = "" if theirs is None else "%.3f | %.1f x" % (theirs, theirs / ours)
        lines.append("| %s | %.3f | %s | %s |" % (what, ours, peer, times or " | "))

    batch = rows * 11 // 100
    load = "load %d rows, merge-on-read (bulk-insert, sorted)" % rows
    line(load, o.get("load"), HUDI + ", MOR", "spark_mor", "base")
    line(load, o.get("load"), "pyarrow, write one Parquet file, unsorted", "arrow", "write")
    upsert = "upsert of %d rows, merge-on-read, mean of four" % batch
    line(upsert, o.get("upsert"), HUDI + ", MOR", "spark_mor", "upsert")
    line(upsert, o.get("upsert"), "delta-rs, MERGE", "delta", "upsert")
    line(upsert, o.get("upsert"), "pypaimon, primary key", "paimon", "upsert")
    line(upsert, o.get("upsert"), "sluice, copy-on-write", "ours", "cow_upsert")
    read = "snapshot of base and four runs, all columns"
    line(read, o.get("read"), HUDI + ", MOR", "spark_mor", "snapshot_read")
    line(read, o.get("read"), "hudi-rs, Spark's table of the same rows", "hudi_rs_mor", "snapshot_read")
    line(read, o.get("read"), "hash merge of the same files (hash_merge.c)", "ours", "hash_read")
    line(read, o.get("read"), "pypaimon", "paimon", "snapshot_read")
    line("snapshot of base and ten runs", o.get("ten_read"), "the compacted table", "ours", "compacted_read")
    line("compaction of base and four runs", o.get("compact"), HUDI + ", MOR", "spark_mor", "compact")
    line("compaction of base and four runs", o.get("compact"), "DuckDB, last row per key, to Parquet", "duckdb", "compact")
    line("load %d rows, copy-on-write" % rows, o.get("cow_load"), HUDI + ", COW", "spark_cow", "base")
    line("upsert of %d rows, copy-on-write" % batch, o.get("cow_upsert"), HUDI + ", COW", "spark_cow", "upsert")
    base = "snapshot of base files only, all columns"
    line(base, o.get("cow_read"), "hudi-rs", "hudi_rs", "snapshot_read")
    line(base, o.get("cow_read"), "pyarrow, one Parquet file, threads", "arrow", "read_threads")
    line("`sluice info`", o.get("info"), "")
    return "\n".join(lines) + "\n"


def notes(f):
    o, text = f["ours"], []
    if "hash_peak" in o:
        text.append("Peak memory of reading base and four runs: %.0f MiB, the hash merge %.0f MiB." % (o["read_peak"] / 2 ** 20, o["hash_peak"] / 2 ** 20))
    if "runs_compact" in o:
        text.append("Compacting 1,000,000 rows and 200 runs of 5,500 within %d MiB: %.2f s." % (f["runs_limit"], o["runs_compact"]))
    if "large_write" in o:
        text.append("Upsert of %d rows within %d MiB: %.1f s." % (f["large_rows"], f["large_limit"], o["large_write"]))
    if "lookup_p99" in o:
        text.append("Point lookups in %d rows: 99th percentile %.2f ms." % (f["large_rows"], o["lookup_p99"] * 1e3))
    for kind, result in f.items():
        if isinstance(result, dict) and "error" in result:
            text.append("%s failed: %s" % (kind, result["error"]))
    return "\n".join(text) + "\n" if text else ""
