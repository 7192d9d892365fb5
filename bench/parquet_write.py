"""Writing Parquet next to pyarrow in one run: the same rows, from memory to memory, same codec and level.

    parquet_write.py BUILD/bench/parquet_write [--work DIR] [--rows N] [--repeats R] [--flights FLIGHTS.csv]

Run by a Python with pyarrow. Rows and files are those of parquet_read.py. Both sides write statistics, page index and page
checksums; pyarrow's writer has one thread whatever the machine has. Prints a Markdown table: best wall seconds of R and best
processor seconds of R (the fairer number on a busy machine), in turns, and the ratio of sizes.
"""
import argparse
import os
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_read import CODECS, make_files


def peer(table, codec):
    """(wall seconds, processor seconds, bytes)"""
    pa.set_cpu_count(1)
    out = pa.BufferOutputStream()
    start, cpu = time.perf_counter(), time.process_time()
    pq.write_table(table, out, compression=codec, compression_level={"zstd": 1, "gzip": 6}.get(codec), write_page_index=True, write_page_checksum=True)
    return time.perf_counter() - start, time.process_time() - cpu, out.tell()


def ours(program, path, codec, threads, *more):
    words = subprocess.run([program, path, codec, str(threads), "2", *more], check=True, capture_output=True, text=True).stdout.split()
    return float(words[0]), float(words[2]), int(words[6])


def best(runs):
    return min(r[0] for r in runs), min(r[1] for r in runs), runs[0][2]


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
    print(f"| table | codec | sluice s | pyarrow s | processor s | pyarrow's | ratio of processor s | {cores} threads s | ratio of wall s | size ratio | auto s | auto size ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in tables:
        path = f"{a.work}/{name}_none.parquet"
        table = pq.read_table(path).combine_chunks()
        for codec in CODECS:
            one, many, them, auto = [], [], [], []
            for _ in range(a.repeats):
                one.append(ours(a.program, path, codec, 1))
                them.append(peer(table, codec))
                many.append(ours(a.program, path, codec, cores))
            auto.append(ours(a.program, path, codec, 1, "auto"))
            o, m, t, x = best(one), best(many), best(them), best(auto)
            print(f"| {name} | {codec} | {o[0]:.3f} | {t[0]:.3f} | {o[1]:.3f} | {t[1]:.3f} | {t[1] / o[1]:.2f} | {m[0]:.3f} | {t[0] / m[0]:.2f} | {o[2] / t[2]:.3f} | {x[0]:.3f} | {x[2] / t[2]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
