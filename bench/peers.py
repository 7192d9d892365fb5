"""The peers that compare.py runs: Apache Hudi on Spark, and those of native_peers.py."""
import importlib.util
import json
import os
import subprocess
import sys

from ours import ROOT, UPSERTS, WORK

PEER_HOME = os.environ.get("SLUICE_PEER_HOME") or os.path.expanduser("~/.cache/sluice-peer")
SPARK_TABLE = WORK + "/spark/before"  # base files and logs, before Spark compacted them
PAIMON_PYTHON = PEER_HOME + "/paimon/bin/python"  # its own: it needs an older pyarrow


def spark(data, kind, cores):
    """One warm JVM. A merge-on-read table stays at SPARK_TABLE."""
    out = "%s/spark_%s.json" % (WORK, kind)
    jar = os.environ.get("HUDI_BUNDLE") or PEER_HOME + "/jars/hudi-1.2.0.jar"
    run = subprocess.run([sys.executable, ROOT + "/bench/spark_peer.py", data + "/four", out, "--type", kind, "--metadata", "false", "--cores", str(cores),
                          "--work", WORK + "/spark"], env=dict(os.environ, HUDI_BUNDLE=jar), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit("bench: Spark failed: " + run.stderr[-2000:])
    with open(out) as f:
        times = json.load(f)["times"]
    times["upsert"] = sum(times["upsert_%d" % b] for b in range(1, UPSERTS + 1)) / UPSERTS
    times["upsert_processor"] = sum(times["upsert_%d_processor" % b] for b in range(1, UPSERTS + 1)) / UPSERTS
    return times


def native(data, kind, runs, python=sys.executable, table=None):
    """Seconds by operation of one peer; {"error": ...} where it failed, {} where it is not installed."""
    module = {"arrow": "pyarrow", "duckdb": "duckdb", "hudi-rs": "hudi", "delta": "deltalake"}.get(kind)
    if (module and not importlib.util.find_spec(module)) or not os.path.exists(python):
        return {}
    out = "%s/native_%s.json" % (WORK, kind)
    subprocess.run([python, ROOT + "/bench/native_peers.py", data + "/four", out, "--runs", str(runs), "--only", kind, "--work", WORK + "/native"]
                   + (["--hudi-table", table] if table else []), stdout=subprocess.DEVNULL, check=True)
    with open(out) as f:
        times = json.load(f)[kind]
    if "upsert_1" in times:
        times["upsert"] = sum(times["upsert_%d" % b] for b in range(1, UPSERTS + 1)) / UPSERTS
    return times
