#!/usr/bin/env python3
"""sluice and its peers on the same rows, in one run on one machine: every ratio and limit of the LSM engine. Prints tables and appends them to bench/RESULTS.md.

    compare.py [--rows 1000000] [--skew none|recent] [--runs 3] [--without spark,paimon,...] [--note TEXT] [--dry]

The input is bench/make_data.py's: a base load and ten batches of upserts (10% updates, 1% new rows each; --skew recent: in the newest 5% of keys). Every
operation of sluice is the wall time of a process (start, work, fsync, exit), the best of --runs on fresh tables, upserts the mean of the first four; Spark
is one warm JVM on the same number of cores; the peers of bench/native_peers.py are the best of --runs (paimon: one) in one process. Neither sluice
nor Spark keeps a metadata table in these runs. --without leaves parts out: spark, delta, paimon, duckdb, arrow, hudi-rs, memory (200 runs), large
(ten times the budget, lookups), allocations, skew.
"""
import argparse
import datetime
import json
import os
import resource
import shutil
import subprocess
import sys

import ours
import peers
from limits import limits_table, notes, operations_table

RUNS_LIMIT = 64    # MiB, for 200 runs
LARGE_LIMIT = 128  # MiB, for rows that take ten times that in memory
LARGE_ROWS = 10_000_000


def best_of(runs, measure, *args):
    best = {}
    for _ in range(runs):
        for name, value in measure(*args).items():
            best[name] = min(best.get(name, value), value)
    return best


def measure_ours(a, data, without):
    m = best_of(a.runs, ours.merge_on_read, data)
    m.update(best_of(a.runs, ours.many_runs, data))
    m.update(best_of(a.runs, ours.copy_on_write, data))
    if "skew" not in without:
        other = ours.make_data(a.rows, ours.RUNS_MANY, "none" if a.skew == "recent" else "recent")
        theirs = best_of(a.runs, ours.skewed_compaction, other)["skewed_compact"]
        m["uniform_compact"], m["skewed_compact"] = (theirs, m["compact"]) if a.skew == "recent" else (m["compact"], theirs)
    if "allocations" not in without:
        m.update(ours.allocations(data))
    if "memory" not in without:
        m.update(ours.memory_of_runs("%dMiB" % RUNS_LIMIT))
    if "large" not in without:
        m.update(ours.memory_of_writing(LARGE_ROWS, "%dMiB" % LARGE_LIMIT))
        m.update(ours.lookups(LARGE_ROWS))
    return m


def measure_peers(a, data, without):
    f = {}
    for kind in ("arrow", "duckdb", "delta"):
        if kind not in without:
            f[kind] = peers.native(data, kind, a.runs)
    if "hudi-rs" not in without:  # what the copy-on-write load leaves, without upserts
        base = ours.create("cow_base", data, None)
        ours.sluice("bulk-insert", base, data + "/base.parquet")
        f["hudi_rs"] = peers.native(data, "hudi-rs", a.runs, table=base)
    if "paimon" not in without:
        f["paimon"] = peers.native(data, "paimon", 1, python=peers.PAIMON_PYTHON)
    if "spark" not in without:
        f["spark_mor"] = peers.spark(data, "mor", os.cpu_count())
        if "hudi-rs" not in without:
            f["hudi_rs_mor"] = peers.native(data, "hudi-rs", a.runs, table=peers.SPARK_TABLE)
        f["spark_cow"] = peers.spark(data, "cow", os.cpu_count())
    return f


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), "unknown processor")
    return "%s, %d cores, load %.1f when started" % (model, os.cpu_count(), os.getloadavg()[0])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--skew", choices=("none", "recent"), default="none")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--without", default="")
    p.add_argument("--note", default="")
    p.add_argument("--dry", action="store_true", help="print only, leave RESULTS.md alone")
    a = p.parse_args()
    without = set(a.without.split(","))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = machine()
    commit = subprocess.run(["git", "-C", ours.ROOT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
    data = ours.make_data(a.rows, ours.RUNS_MANY, a.skew)
    f = {"runs_limit": RUNS_LIMIT, "large_limit": LARGE_LIMIT, "large_rows": LARGE_ROWS, "ours": measure_ours(a, data, without)}
    f.update(measure_peers(a, data, without))
    if "spark_mor" in f and f["spark_mor"]["rows"] != f["ours"]["rows"]:
        sys.exit("bench: sluice has %d rows, Spark %d" % (f["ours"]["rows"], f["spark_mor"]["rows"]))
    with open(ours.WORK + "/figures.json", "w") as out:
        json.dump(f, out, indent=1)
    text = limits_table(f) + "\n" + operations_table(f, a.rows) + "\n" + notes(f)
    print(text)
    if not a.dry:
        with open(ours.ROOT + "/bench/RESULTS.md", "a") as out:
            out.write("\n## %s, %d rows, skew %s, commit %s\n\n%s%s\n\n%s" % (datetime.date.today().isoformat(), a.rows, a.skew, commit or "none", where,
                                                                       "; " + a.note if a.note else "", text))
    for name in ("lsm", "cow", "cow_base", "large", "spark", "native"):
        shutil.rmtree("%s/%s" % (ours.WORK, name), ignore_errors=True)


if __name__ == "__main__":
    main()
