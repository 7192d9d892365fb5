"""parquet-java, through Spark, reads what our writer makes with every safe option: parquet_spark.py REWRITE_PROGRAM FOLDER

One file of pyarrow is written again page version by page version, encoding by encoding, and copied; Spark's two readers must give the
same sums for each. Exits with 1 and says what differs."""
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

DEFAULT, AUTO, PLAIN, DELTA, DELTA_BYTES, RLE = 0, 1, 2, 3, 5, 7
SUMS = ["sum(hash(name, few, id, i, b, d, l, s))", "sum(m['a'])", "count(*)", "sum(case when name = 'key-00012345' then 1 else 0 end)"]
rewrite, folder = sys.argv[1:3]


def make_files():
    n = 20000
    table = pa.table({
        "name": ["key-%08d" % i for i in range(n)], "few": ["f%d" % (i % 20) for i in range(n)], "id": pa.array(range(n), pa.int64()),
        "i": pa.array([None if i % 7 == 0 else i % 1000 for i in range(n)], pa.int32()), "b": [i % 100 < 90 for i in range(n)],
        "d": [i / 8 for i in range(n)], "l": [[i, i + 1] if i % 3 else [] for i in range(n)],
        "m": pa.array([[("a", i)] for i in range(n)], pa.map_(pa.string(), pa.int64())), "s": [{"x": i, "y": "y%d" % i} for i in range(n)]})
    source = os.path.join(folder, "source.parquet")
    pq.write_table(table, source, row_group_size=8000)
    files = [source]
    for version in ([], ["v2=1"]):
        for encoding in (DEFAULT, AUTO, PLAIN, DELTA, DELTA_BYTES, RLE):
            for codec in ("zstd", "gzip") if encoding == AUTO else ("snappy",):
                path = os.path.join(folder, "e%d_%s_%s.parquet" % (encoding, codec, "v2" if version else "v1"))
                subprocess.run([rewrite, source, path, "codec=" + codec, "encoding=%d" % encoding, "sizes=1", "page_rows=1000", "name:bloom=0", *version],
                               check=True)
                files.append(path)
        copy = path.replace(".parquet", "_copy.parquet")
        subprocess.run([rewrite, path, copy, "copy=1"], check=True)
        files.append(copy)
    return files


def sums(spark, path, vectorised):
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    rows = spark.read.parquet(path)
    found = rows.where("name = 'key-00012345' and id = 12345 and d = 1543.125").selectExpr("count(*)").collect()[0][0]  # by filter and page index
    return tuple(rows.selectExpr(*SUMS).collect()[0]) + (found,)


def main():
    files = make_files()
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    want, bad = sums(spark, files[0], "true"), 0
    for path in files:
        for vectorised in ("true", "false"):
            try:
                got = sums(spark, path, vectorised)
            except Exception as e:  # the next file may tell more
                got = str(e)[:500]
            if got != want:
                bad += 1
                print("FAIL %s, vectorised %s: %s, not %s" % (os.path.basename(path), vectorised, got, want))
    print("%d files, %d failures" % (len(files), bad))
    sys.exit(1 if bad or want[2:] != (20000, 1, 1) else 0)


main()
