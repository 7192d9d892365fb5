#!/usr/bin/env python3
"""sluice and its peers on the same rows, in one run on one machine; prints a table with ratios and appends it to bench/RESULTS.md.

    compare.py [--rows 1000000] [--runs 3] [--memory-rows 10000000] [--no-spark] [--no-memory] [--note TEXT] [--keep]

The input is bench/make_data.py's: a base load, four batches of upserts (10% updates, 1% new rows each). Every operation of sluice is the wall time of
a process (start, work, fsync, exit), the best of --runs on fresh tables; Spark is one warm JVM on the same number of cores, its peers from bench/native_peers.py
are the best of --runs in one process. Neither sluice nor Spark keeps a metadata table in these runs.
"""
import argparse
import datetime
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLUICE = os.environ.get("SLUICE", ROOT + "/build/release/sluice")
SCAN = ROOT + "/build/release/bench/scan_bench"
PEER_HOME = os.environ.get("SLUICE_PEER_HOME") or os.path.expanduser("~/.cache/sluice-peer")
WORK = ROOT + "/.cache/bench"
TABLE = ["--key", "trip_id", "--partition", "region", "--ordering", "ts", "--buckets", "1"]


def make_data(folder, rows, batches):
    done = folder + "/done"
    if not os.path.exists(done):
        print("making %d rows in %s" % (rows, folder), file=sys.stderr)
        subprocess.run([sys.executable, ROOT + "/bench/make_data.py", folder, "--rows", str(rows), "--batches", str(batches)], check=True)
        open(done, "w").close()
    return folder


def timed(*command):
    """Seconds and standard output of a command."""
    start = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if run.returncode:
        sys.exit("bench: failed: " + " ".join(command))
    return seconds, run.stdout


def sluice(*args):
    return timed(SLUICE, *args, "--quiet")[0]


def run_sluice(data):
    """Seconds per operation on fresh tables."""
    lsm, cow, times = WORK + "/lsm", WORK + "/cow", {}
    for table in (lsm, cow):
        shutil.rmtree(table, ignore_errors=True)
    sluice("create", lsm, "--schema", data + "/base.parquet", *TABLE, "--layout", "lsm_tree")
    times["load"] = sluice("bulk-insert", lsm, data + "/base.parquet")
    for b in range(1, 5):
        times["upsert_%d" % b] = sluice("upsert", lsm, "%s/upsert_%d.parquet" % (data, b))
    seconds, text = timed(SCAN, lsm)
    times["snapshot_read"], times["rows"] = seconds, json.loads(text)["rows"]
    times["info"] = min(timed(SLUICE, "info", lsm)[0] for _ in range(5))
    times["compact"] = sluice("compact", lsm)
    times["compacted_read"] = timed(SCAN, lsm)[0]

    sluice("create", cow, "--schema", data + "/base.parquet", *TABLE)
    times["cow_load"] = sluice("bulk-insert", cow, data + "/base.parquet")
    times["cow_read"] = timed(SCAN, cow)[0]
    for b in range(1, 5):
        times["cow_upsert_%d" % b] = sluice("upsert", cow, "%s/upsert_%d.parquet" % (data, b))
    return times


def run_spark(data, kind, cores):
    out = "%s/spark_%s.json" % (WORK, kind)
    jar = os.environ.get("HUDI_BUNDLE") or PEER_HOME + "/jars/hudi-1.2.0.jar"
    run = subprocess.run([sys.executable, ROOT + "/bench/spark_peer.py", data, out, "--type", kind, "--metadata", "false", "--cores", str(cores),
                          "--work", WORK + "/spark"], env=dict(os.environ, HUDI_BUNDLE=jar), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit("bench: Spark failed: " + run.stderr[-2000:])
    return json.load(open(out))["times"]


def run_native(data, runs):
    kinds = [k for k, module in (("arrow", "pyarrow"), ("duckdb", "duckdb"), ("hudi-rs", "hudi"), ("delta", "deltalake"), ("paimon", "pypaimon"))
             if importlib.util.find_spec(module)]
    out = WORK + "/native.json"
    subprocess.run([sys.executable, ROOT + "/bench/native_peers.py", data, out, "--runs", str(runs), "--only", ",".join(kinds), "--hudi-table", WORK + "/cow_base",
                    "--work", WORK + "/native"], stdout=subprocess.DEVNULL, check=True)
    return json.load(open(out))


def memory_check(rows, limit):
    """A large upsert within a small budget: (seconds, peak resident bytes of the process)."""
    data, table = make_data("%s/data_%d" % (WORK, rows), rows, 1), WORK + "/memory"
    shutil.rmtree(table, ignore_errors=True)
    sluice("create", table, "--schema", data + "/base.parquet", *TABLE, "--layout", "lsm_tree")
    child = ("import resource, subprocess, sys, time; t = time.perf_counter(); s = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
             "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(s)")
    text = timed(sys.executable, "-c", child, SLUICE, "upsert", table, data + "/base.parquet", "--memory", limit, "--quiet")[1]
    count = json.loads(timed(SCAN, table)[1])["rows"]
    if count != rows:
        sys.exit("bench: the large upsert left %d rows, not %d" % (count, rows))
    shutil.rmtree(table)
    seconds, peak = text.split()
    return float(seconds), float(peak)


def report(rows, best, spark_mor, spark_cow, native, memory):
    lines = ["| operation | sluice s | peer | peer s | sluice is faster by |", "|---|---:|---|---:|---:|"]

    def line(what, ours, peer, theirs):
        ratio = "" if theirs is None else "%.1f x" % (theirs / ours)
        lines.append("| %s | %.3f | %s | %s | %s |" % (what, ours, peer, "" if theirs is None else "%.3f" % theirs, ratio))

    def upserts(times, prefix=""):
        return sum(times[prefix + "upsert_%d" % b] for b in range(1, 5))

    mor, cow = spark_mor or {}, spark_cow or {}
    hudi = "Hudi 1.2 on Spark, "
    line("load %d rows, merge-on-read (bulk-insert, sorted)" % rows, best["load"], hudi + "MOR", mor.get("base"))
    line("four upserts of %d rows, merge-on-read" % (rows * 11 // 100), upserts(best), hudi + "MOR", upserts(mor) if mor else None)
    line("snapshot of base and four runs, all columns", best["snapshot_read"], hudi + "MOR", mor.get("snapshot_read"))
    line("compaction", best["compact"], hudi + "MOR", mor.get("compact"))
    if native.get("duckdb", {}).get("compact"):
        line("compaction", best["compact"], "DuckDB, last row per key, to Parquet", native["duckdb"]["compact"])
    line("load %d rows, copy-on-write" % rows, best["cow_load"], hudi + "COW", cow.get("base"))
    line("four upserts, copy-on-write", upserts(best, "cow_"), hudi + "COW", upserts(cow) if cow else None)
    line("snapshot of base files only, all columns", best["cow_read"], "hudi-rs", native.get("hudi-rs", {}).get("snapshot_read"))
    if native.get("arrow", {}).get("read_threads"):
        line("the same", best["cow_read"], "pyarrow, one Parquet file, threads", native["arrow"]["read_threads"])
    if native.get("arrow", {}).get("write"):
        line("load %d rows, merge-on-read" % rows, best["load"], "pyarrow, write one Parquet file, unsorted", native["arrow"]["write"])
    for kind in ("delta", "paimon"):
        if native.get(kind, {}).get("load"):
            line("load", best["load"], kind, native[kind]["load"])
            line("four upserts", upserts(best), kind, upserts(native[kind]))
            line("snapshot read", best["snapshot_read"], kind, native[kind]["snapshot_read"])
    line("`sluice info`", best["info"], "", None)
    text = "\n".join(lines) + "\n"
    for kind, result in native.items():
        if "error" in result:
            text += "\n%s failed: %s\n" % (kind, result["error"])
    if memory:
        text += "\nUpsert of %d rows with --memory %s: %.1f s, peak resident %.0f MiB.\n" % (memory[0], memory[1], memory[2], memory[3] / 2**20)
    return text


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown processor")
    return "%s, %d cores, load %.1f when started" % (model, os.cpu_count(), os.getloadavg()[0])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--memory-rows", type=int, default=10_000_000)
    p.add_argument("--memory-limit", default="512MiB")
    p.add_argument("--no-spark", action="store_true")
    p.add_argument("--no-memory", action="store_true")
    p.add_argument("--note", default="")
    p.add_argument("--keep", action="store_true", help="keep the tables (the data is kept anyway)")
    a = p.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = machine()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    data = make_data("%s/data_%d" % (WORK, a.rows), a.rows, 4)
    best = {}
    for _ in range(a.runs):
        for name, seconds in run_sluice(data).items():
            best[name] = min(best.get(name, seconds), seconds)
    # hudi-rs reads what the copy-on-write load left, without upserts
    base = WORK + "/cow_base"
    shutil.rmtree(base, ignore_errors=True)
    sluice("create", base, "--schema", data + "/base.parquet", *TABLE)
    sluice("bulk-insert", base, data + "/base.parquet")
    native = run_native(data, a.runs)
    mor = None if a.no_spark else run_spark(data, "mor", os.cpu_count())
    cow = None if a.no_spark else run_spark(data, "cow", os.cpu_count())
    if mor and mor["rows"] != best["rows"]:
        sys.exit("bench: sluice has %d rows, Spark %d" % (best["rows"], mor["rows"]))
    memory = None if a.no_memory else (a.memory_rows, a.memory_limit, *memory_check(a.memory_rows, a.memory_limit))
    text = report(a.rows, best, mor, cow, native, memory)
    print(text)
    with open(ROOT + "/bench/RESULTS.md", "a") as f:
        f.write("\n## %s, %d rows, commit %s\n\n%s%s\n\n%s" % (datetime.date.today().isoformat(), a.rows, commit or "none", where, "; " + a.note if a.note else "", text))
    if not a.keep:
        for name in ("lsm", "cow", "cow_base", "spark", "native"):
            shutil.rmtree("%s/%s" % (WORK, name), ignore_errors=True)


if __name__ == "__main__":
    main()
