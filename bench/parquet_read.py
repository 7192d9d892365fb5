"""Reading Parquet next to pyarrow in one run: full decode into batches, and a 1% selection on a sorted column.

    parquet_read.py BUILD/bench/parquet_read [--work DIR] [--rows N] [--repeats R] [--flights FLIGHTS.csv]

Run by a Python with pyarrow. Makes its files in DIR (rows of make_data.py, New York flights of demo/flights.py when given,
a wide nested table), each uncompressed, snappy, zstd and gzip, then times both sides in turns and prints a Markdown table:
best seconds of R, the ratios of wall time and of processor time (which other work on the machine disturbs less), and what the
codec library alone takes (sluice's own decompression, nothing decoded; taken off both sides for the last column).
pyarrow gets the faster of read() and iter_batches(), file in the page cache on both sides.
"""
import argparse
import os
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_data import frame

CODECS = ("none", "snappy", "zstd", "gzip")


def nested(rng, n):
    """Lists, maps, structs and many columns, with nulls everywhere."""
    def lists(make):
        lengths = rng.integers(0, 6, n)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        nulls = rng.random(n) < 0.1
        return pa.ListArray.from_arrays(pa.array(np.ma.array(offsets, mask=np.append(nulls, False))), make(int(offsets[-1])))

    def ints(k):
        return pa.array(rng.integers(0, 1 << 40, k), mask=rng.random(k) < 0.05)

    def words(k):
        return pa.array(np.char.add("word-", rng.integers(0, 5000, k).astype(str)), mask=rng.random(k) < 0.05)

    columns = {f"i{i}": ints(n) for i in range(10)}
    columns |= {f"s{i}": words(n) for i in range(10)}
    columns |= {f"d{i}": pa.array(rng.random(n), mask=rng.random(n) < 0.3) for i in range(10)}
    columns["tags"] = lists(words)
    columns["points"] = lists(lambda k: pa.StructArray.from_arrays([ints(k), words(k), pa.array(rng.random(k))], ["x", "name", "w"]))
    columns["deep"] = lists(lambda k: pa.ListArray.from_arrays(pa.array(np.arange(k + 1, dtype=np.int32)), ints(k)))
    m = lists(words)
    keys = pa.array(np.char.add("k", rng.integers(0, 50, len(m.values)).astype(str)))
    columns["attributes"] = pa.MapArray.from_arrays(m.offsets, keys, m.values)
    columns["about"] = pa.StructArray.from_arrays([words(n), pa.StructArray.from_arrays([ints(n)], ["inner"])], ["name", "more"], mask=pa.array(rng.random(n) < 0.2))
    return pa.table(columns)


def make_files(work, rows, flights):
    rng = np.random.default_rng(20261130)
    tables = {"rides": lambda: frame(rng, rng.permutation(rows).astype(np.int64), 1000)}
    if flights:
        import pyarrow.csv
        tables["flights"] = lambda: pyarrow.csv.read_csv(flights)
    tables["nested"] = lambda: nested(rng, rows // 10)
    os.makedirs(work, exist_ok=True)
    for name, make in tables.items():
        if all(os.path.exists(f"{work}/{name}_{c}.parquet") for c in CODECS):
            continue
        table = make()
        for codec in CODECS:
            pq.write_table(table, f"{work}/{name}_{codec}.parquet", compression=codec, row_group_size=131_072, write_page_index=True)
    if not os.path.exists(f"{work}/sorted.parquet"):
        table = frame(rng, np.arange(rows, dtype=np.int64), 1000).drop_columns("ts")
        table = table.append_column("ts", pa.array(np.arange(rows, dtype=np.int64)))
        pq.write_table(table, f"{work}/sorted.parquet", compression="snappy", data_page_size=1 << 17, write_page_index=True)
    return list(tables)


class Best:
    """The least wall and processor time seen."""

    def __init__(self):
        self.wall = self.busy = 9e9

    def take(self, wall, busy):
        self.wall, self.busy = min(self.wall, wall), min(self.busy, busy)


def peer(best, path, threads):
    pa.set_cpu_count(threads)

    def whole():
        pq.ParquetFile(path).read(use_threads=threads > 1)

    def batches():
        for _ in pq.ParquetFile(path).iter_batches(batch_size=16384, use_threads=threads > 1):
            pass

    for read in (whole, batches):
        wall, busy = time.perf_counter(), time.process_time()
        read()
        best.take(time.perf_counter() - wall, time.process_time() - busy)


def ours(best, program, path, *options):
    words = subprocess.run([program, path, "--repeats", "3", *map(str, options)], check=True, capture_output=True, text=True).stdout.split()
    best.take(float(words[0]), float(words[3]))
    return words[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--work", default="/tmp/sluice-bench-read")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--flights")
    a = parser.parse_args()
    tables = make_files(a.work, a.rows, a.flights)
    cores = os.cpu_count()
    print(f"pyarrow {pa.__version__}, {cores} cores, {a.rows} rows, best of {a.repeats}\n")
    print("| table | codec | threads | sluice s | pyarrow s | pyarrow / sluice | processor time, pyarrow / sluice | codec alone s | outside the codec, processor time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for table in tables:
        for threads in (1, cores):
            for codec in CODECS:
                path = f"{a.work}/{table}_{codec}.parquet"
                us, them, alone = Best(), Best(), Best()
                for _ in range(a.repeats):
                    ours(us, a.program, path, "--threads", threads)
                    peer(them, path, threads)
                    if threads == 1 and codec != "none":
                        ours(alone, a.program, path, "--codec-only")
                outside = f"{alone.busy:.4f} | {max(them.busy - alone.busy, 0) / max(us.busy - alone.busy, 1e-6):.2f}" if alone.busy < 9e9 else "- | -"
                print(f"| {table} | {codec} | {threads} | {us.wall:.4f} | {them.wall:.4f} | {them.wall / us.wall:.2f} | {them.busy / us.busy:.2f} | {outside} |", flush=True)
    path, low, count = f"{a.work}/sorted.parquet", a.rows // 2 + 137, a.rows // 100
    us, alone, whole = Best(), Best(), Best()
    for _ in range(a.repeats):
        pages = ours(us, a.program, path, "--where", f"ts:{low}:{low + count - 1}")
        ours(alone, a.program, path, "--rows", pages)
        ours(whole, a.program, path)
    print(f"\n1% of a sorted column, processor time: {us.busy * 1e3:.2f} ms by page bounds, {alone.busy * 1e3:.2f} ms for those pages alone ({us.busy / alone.busy:.2f} times), {whole.busy * 1e3:.1f} ms for the whole file")


if __name__ == "__main__":
    main()
