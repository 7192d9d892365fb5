"""The peer of bench/parquet_write: parquet_write_pyarrow.py FILE.parquet [CODEC] [REPEATS], one thread, memory to memory."""
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

pa.set_cpu_count(1)
codec = sys.argv[2] if len(sys.argv) > 2 else "zstd"
table = pq.read_table(sys.argv[1]).combine_chunks()
for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 5):
    out = pa.BufferOutputStream()
    start = time.perf_counter()
    pq.write_table(
        table,
        out,
        compression=codec,
        compression_level=1 if codec == "zstd" else None,
        write_page_index=True,
        write_page_checksum=True,
    )
    seconds = time.perf_counter() - start
    print(f"{seconds:.3f} s, {table.num_rows / seconds / 1e6:.2f} million rows/s, {out.tell() / 1e6:.1f} MB")
