"""Files of the Parquet writer (all types, encodings, codecs) read by pyarrow and DuckDB: parquet_pyarrow.py over the program
parquet_write_sample, which lies beside the command or is made with `make`."""

import os
import subprocess
import sys

import support
from support import Skip, check, test


def sample_program():
    build = os.path.dirname(support.SLUICE)
    path = os.path.join(build, "tests", "interop", "parquet_write_sample")
    if not os.path.exists(path):
        if os.path.commonpath([build, support.ROOT]) != support.ROOT:
            raise Skip("parquet_write_sample is not beside %s" % support.SLUICE)
        subprocess.run(["make", "-s", "-C", support.ROOT, "BUILD=" + os.path.relpath(build, support.ROOT),
                        os.path.relpath(path, support.ROOT)], check=True, stdout=subprocess.DEVNULL)
    return path


@test
def samples(folder):
    script = os.path.join(support.HERE, "parquet_pyarrow.py")
    done = subprocess.run([sys.executable, script, sample_program(), "3000"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, "%s", done.stdout.decode("utf-8", "replace"))


if __name__ == "__main__":
    support.main()
