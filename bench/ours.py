"""What compare.py measures of sluice itself: a command's wall time, the bench programs' own figures, peak memory, allocations."""
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLUICE = os.environ.get("SLUICE", ROOT + "/build/release/sluice")
PROGRAMS = ROOT + "/build/release/bench"
WORK = os.environ.get("SLUICE_BENCH_WORK", ROOT + "/.cache/bench")
TABLE = ["--key", "trip_id", "--partition", "region", "--ordering", "ts", "--buckets", "1"]
UPSERTS = 4
RUNS_MANY = 10  # upserts of the "ten runs" reading


def make_data(rows, batches, skew="none", update_share=0.10, new_share=0.01, name=None):
    """The folder with make_data.py's files; made once. `four` in it holds the base and the first four batches, for peers that take all they find."""
    folder = "%s/data_%s" % (WORK, name or "%d_%d_%s" % (rows, batches, skew))
    if not os.path.exists(folder + "/done"):
        print("making %d rows in %s" % (rows, folder), file=sys.stderr)
        subprocess.run([sys.executable, ROOT + "/bench/make_data.py", folder, "--rows", str(rows), "--batches", str(batches), "--skew", skew,
                        "--update-share", str(update_share), "--new-share", str(new_share)], check=True)
        os.makedirs(folder + "/four", exist_ok=True)
        for file in ["base"] + ["upsert_%d" % b for b in range(1, min(batches, UPSERTS) + 1)]:
            os.symlink("../%s.parquet" % file, "%s/four/%s.parquet" % (folder, file))
        open(folder + "/done", "w").close()
    return folder


def timed(*command, **environment):
    """Seconds and standard output of a command."""
    start = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **environment))
    seconds = time.perf_counter() - start
    if run.returncode:
        sys.exit("bench: failed: " + " ".join(command))
    return seconds, run.stdout


def processor_seconds():
    """Of all commands so far: what a busy machine hardly stretches."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sluice(*args, **environment):
    return timed(SLUICE, *args, "--quiet", **environment)[0]


def program(name, *args):
    """What a bench program prints, with the seconds of its whole process as "wall"."""
    seconds, text = timed("%s/%s" % (PROGRAMS, name), *args)
    return dict(json.loads(text), wall=seconds)


def with_peak(*args):
    """(seconds, peak resident bytes) of a sluice command."""
    child = ("import resource, subprocess, sys, time; t = time.perf_counter(); s = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
             "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(s)")
    seconds, peak = timed(sys.executable, "-c", child, SLUICE, *args, "--quiet")[1].split()
    return float(seconds), int(peak)


def create(name, data, layout="lsm_tree"):
    table = "%s/%s" % (WORK, name)
    shutil.rmtree(table, ignore_errors=True)
    sluice("create", table, "--schema", data + "/base.parquet", *TABLE, *(["--layout", layout] if layout else []))
    return table


def upserts(table, data, first, last):
    return [sluice("upsert", table, "%s/upsert_%d.parquet" % (data, b)) for b in range(first, last + 1)]


def partitions(table):
    return sorted("%s/%s" % (table, d) for d in os.listdir(table) if not d.startswith("."))


def merge_on_read(data):
    """Load, upserts, reading and compaction of an lsm_tree table; figures by name."""
    table, m = create("lsm", data), {}
    m["load"] = sluice("bulk-insert", table, data + "/base.parquet")
    before = processor_seconds()
    m["upsert"] = statistics.mean(upserts(table, data, 1, UPSERTS))
    m["upsert_processor"] = (processor_seconds() - before) / UPSERTS
    scan = program("scan_bench", table)
    m["read"], m["rows"], m["read_peak"] = scan["wall"], scan["rows"], scan["peak_bytes"]
    m["comparisons"] = scan["comparisons"] / scan["rows_merged"]
    hashed = program("hash_merge", "trip_id", "ts", *partitions(table))
    if hashed["rows"] != scan["rows"]:
        sys.exit("bench: the hash merge has %d rows, sluice %d" % (hashed["rows"], scan["rows"]))
    m["hash_read"], m["hash_peak"] = hashed["wall"], hashed["peak_bytes"]
    m["info"] = min(timed(SLUICE, "info", table)[0] for _ in range(5))
    m["compact"] = sluice("compact", table)
    return m


def many_runs(data):
    table, m = create("ten", data), {}
    sluice("bulk-insert", table, data + "/base.parquet")
    upserts(table, data, 1, RUNS_MANY)
    m["ten_read"] = program("scan_bench", table)["wall"]
    sluice("compact", table)
    m["compacted_read"] = program("scan_bench", table)["wall"]
    shutil.rmtree(table)
    return m


def copy_on_write(data):
    table, m = create("cow", data, None), {}
    m["cow_load"] = sluice("bulk-insert", table, data + "/base.parquet")
    m["cow_read"] = program("scan_bench", table)["wall"]
    m["cow_upsert"] = statistics.mean(upserts(table, data, 1, UPSERTS))
    return m


def skewed_compaction(data):
    table = create("skewed", data)
    sluice("bulk-insert", table, data + "/base.parquet")
    upserts(table, data, 1, UPSERTS)
    seconds = sluice("compact", table)
    shutil.rmtree(table)
    return {"skewed_compact": seconds}


def allocations(data):
    """Allocations a row: what the base load takes beyond the load of one batch, by row."""
    counts = []
    for file in ("upsert_1", "base"):
        table, path = create("allocations", data), WORK + "/allocations.txt"
        sluice("upsert", table, "%s/%s.parquet" % (data, file), LD_PRELOAD=PROGRAMS + "/alloc_count.so", ALLOC_COUNT=path)
        rows = program("scan_bench", table)["rows"]
        with open(path) as f:
            counts.append((int(f.read()), rows))
    shutil.rmtree(table)
    (few, few_rows), (many, many_rows) = counts
    return {"allocations": (many - few) / (many_rows - few_rows)}


def memory_of_runs(limit, runs=200):
    data = make_data(1_000_000, runs, update_share=0.005, new_share=0.0005, name="runs_%d" % runs)
    table = create("runs", data)
    sluice("bulk-insert", table, data + "/base.parquet")
    upserts(table, data, 1, runs)
    seconds, peak = with_peak("compact", table, "--memory", limit)
    shutil.rmtree(table)
    return {"runs_compact": seconds, "runs_peak": peak}


def memory_of_writing(rows, limit):
    """A large upsert within a small budget; the table stays for the lookups."""
    data = make_data(rows, 1)
    table, m = create("large", data), {}
    m["large_write"], m["large_peak"] = with_peak("upsert", table, data + "/base.parquet", "--memory", limit)
    count = program("scan_bench", table)["rows"]
    if count != rows:
        sys.exit("bench: the large upsert left %d rows, not %d" % (count, rows))
    return m


def lookups(rows):
    """Of the table that memory_of_writing left."""
    table, path = WORK + "/large", WORK + "/keys.txt"
    keys = ["trip-%012d" % random.Random(7).randrange(rows)] + ["trip-%012d" % k for k in random.Random(8).sample(range(rows), 1000)]
    with open(path, "w") as f:
        f.writelines(k + "\n" for k in keys)
    found = program("lookup_bench", table, path)
    if found["rows"] != len(keys):
        sys.exit("bench: %d rows found for %d keys" % (found["rows"], len(keys)))
    command = statistics.median(sluice("lookup", table, k) for k in keys[:51])
    return {"lookup": found["median"], "lookup_p99": found["p99"], "lookup_command": command}
