"""What the interop tests share: the command, the peers, folders, canonical rows, the model, the counting.

    SLUICE=build/release/sluice ~/.cache/sluice-peer/venv/bin/python tests/interop/run.py [NAME...]
    .../python tests/interop/test_lsm_peer.py

SLUICE              the command under test (build/release/sluice)
SLUICE_PEER_HOME    where tools/peer/setup.sh put the peers (~/.cache/sluice-peer)
SEED                of the random tests; printed with each failure
KEEP=1              keeps every test's folder (those of failed tests are always kept)

A test is a function marked @test that takes a fresh folder. Exit status: 0 all passed, 1 some failed.
"""

import decimal
import json
import math
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEER = os.path.join(ROOT, "tools", "peer")
PEER_HOME = os.environ.get("SLUICE_PEER_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "sluice-peer")
SLUICE = os.path.abspath(os.environ.get("SLUICE") or os.path.join(ROOT, "build", "release", "sluice"))
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))

if not os.path.exists(os.path.join(PEER, "canon.py")):
    sys.exit("interop: %s is missing" % PEER)
sys.path.insert(0, PEER)

import canon      # noqa: E402


# --- tests ----------------------------------------------------------------------------------------------------------

class Skip(Exception):
    """A test that cannot run here; the text says why."""


_tests = []


def test(function):
    """Marks a test: function(folder)."""
    _tests.append(function)
    return function


def check(truth, text, *arguments):
    if not truth:
        raise AssertionError(text % arguments if arguments else text)


def run_tests(only=None):
    """Runs the marked tests; prints a line for each and the count. Returns the exit status."""
    passed = failed = skipped = 0
    for function in _tests:
        name = "%s: %s" % (os.path.basename(function.__code__.co_filename)[:-3], function.__name__)
        if only and not any(o in name for o in only):
            continue
        folder = tempfile.mkdtemp(prefix="sluice-interop-")
        began = time.monotonic()
        try:
            function(folder)
            passed += 1
            print("ok      %s (%.1f s)" % (name, time.monotonic() - began), flush=True)
        except Skip as why:
            skipped += 1
            print("skipped %s: %s" % (name, why), flush=True)
        except Exception as e:                  # one failed test must not hide the others
            failed += 1
            print("FAILED  %s (seed %d, files in %s)" % (name, SEED, folder), flush=True)
            text = str(e) if isinstance(e, (AssertionError, CommandFailed, PeerFailed)) else traceback.format_exc()
            where = traceback.extract_tb(e.__traceback__)
            lines = [f.lineno for f in where if f.filename == function.__code__.co_filename]
            print("        line %s: %s" % (lines, text.replace("\n", "\n        ")), flush=True)
            continue
        if os.environ.get("KEEP"):
            print("        files in %s" % folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    stop_sparks()
    extra = ", %d skipped" % skipped if skipped else ""
    print("%d passed, %d failed%s" % (passed, failed, extra), flush=True)
    return 1 if failed or not passed + skipped else 0


def main():
    """For `if __name__ == "__main__"` of a test script; arguments narrow the tests by parts of their names."""
    sys.exit(run_tests(sys.argv[1:]))


# --- the command ----------------------------------------------------------------------------------------------------

class CommandFailed(Exception):
    def __init__(self, args, done):
        self.status, self.stderr = done.returncode, done.stderr.decode("utf-8", "replace")
        super().__init__("%s\nexit status %d\n%s" % (" ".join(args), self.status, self.stderr.strip()))


def sluice(*args, input=None, timeout=300):
    """Runs the command; its standard output as text. CommandFailed when its status is not 0."""
    command = [SLUICE] + [str(a) for a in args]
    done = subprocess.run(command, input=input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    if done.returncode != 0:
        raise CommandFailed(command, done)
    return done.stdout.decode("utf-8")


def refused(*args, input=None):
    """Runs the command, which must fail with status 1; what it says."""
    try:
        sluice(*args, input=input)
    except CommandFailed as e:
        check(e.status == 1, "%s", e)
        return e.stderr
    raise AssertionError("`sluice %s` should have failed" % " ".join(str(a) for a in args))


def settings(pairs):
    """-c options."""
    return [x for k, v in (pairs or {}).items() for x in ("-c", "%s=%s" % (k, v))]


def create(table, schema, key, partition=None, ordering=None, options=(), c=None):
    args = ["create", table, "--schema", schema, "--key", key]
    if partition:
        args += ["--partition", partition]
    if ordering:
        args += ["--ordering", ordering]
    return sluice(*args, *options, *settings(c))


def write(table, operation, rows, *options):
    """Writes rows (objects for JSON lines, or the path of a file); the command's result object."""
    if isinstance(rows, str):
        out = sluice(operation, table, rows, "--json", *options)
    else:
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
        out = sluice(operation, table, "-", "--input-format", "jsonl", "--json", *options, input=text.encode("utf-8"))
    return json.loads(out)


def query(table, *options):
    """Canonical lines."""
    return sluice("query", table, "--format", "canonical", *options).splitlines()


# --- peers ------------------------------------------------------------------------------------------------------------

class PeerFailed(Exception):
    pass


class Spark:
    """spark_hudi.py in serve mode."""

    def __init__(self, hadoop=None):
        """hadoop: properties for Spark's Hadoop configuration."""
        env = dict(os.environ)
        self.conf = None
        if hadoop:
            self.conf = tempfile.mkdtemp(prefix="sluice-hadoop-")
            with open(os.path.join(self.conf, "core-site.xml"), "w") as f:
                f.write("<configuration>%s</configuration>\n" % "".join(
                    "<property><name>%s</name><value>%s</value></property>" % kv for kv in hadoop.items()))
            env["HADOOP_CONF_DIR"] = self.conf
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, os.path.join(PEER, "spark_hudi.py"), "serve"], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0, start_new_session=True)
        self.pending = b""
        self._answer(120)

    def _answer(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise PeerFailed("Spark: no answer within %d s" % seconds)
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                self.errors.seek(0)
                raise PeerFailed("Spark ended: %s" % self.errors.read()[-2000:].decode("utf-8", "replace"))
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def call(self, cmd, table, **arguments):
        request = dict(arguments, cmd=cmd, table=os.path.abspath(table))
        self.process.stdin.write(json.dumps(request).encode("utf-8") + b"\n")
        answer = self._answer(240)
        if not answer.pop("ok"):
            raise PeerFailed("Spark %s: %s" % (cmd, answer["error"]))
        return answer

    def read(self, table, **arguments):
        """Canonical lines."""
        return [canon.dumps(r) for r in self.call("read", table, **arguments)["rows"]]

    def write(self, table, operation, rows, schema=None, **arguments):
        """Writes rows (JSON objects with a DDL, or the path of a Parquet file); returns the instant."""
        what = {"input": rows} if isinstance(rows, str) else {"rows": rows, "schema": schema}
        self.call("write", table, op=operation, **what, **arguments)
        return last_commit(table)                # a clean may have come after it

    def validate(self, table):
        found = self.call("validate", table)
        check(not found["problems"], "Spark's validation of %s: %s", table, found["problems"])
        return found

    def kill(self):
        """SIGKILL to the process and its JVM, which form a process group of their own."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        try:
            self.process.stdin.close()
            self.process.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        if self.conf:
            shutil.rmtree(self.conf, ignore_errors=True)


_sparks = {}


def spark(**hadoop):
    """The Spark of this run with these properties in its Hadoop configuration; started when first asked for."""
    if not os.path.isdir(os.path.join(PEER_HOME, "jars")):
        raise Skip("Spark is not installed (tools/peer/setup.sh)")
    key = tuple(sorted(hadoop.items()))
    if key not in _sparks:
        _sparks[key] = Spark(hadoop)
    return _sparks[key]


def stop_sparks():
    for s in _sparks.values():
        s.stop()
    _sparks.clear()


# --- comparing ----------------------------------------------------------------------------------------------------------

def same(name_a, a, name_b, b):
    """Both are lists of canonical lines and must be equal."""
    if a == b:
        return
    only_a, only_b = list(a), []
    for line in b:
        if line in only_a:
            only_a.remove(line)
        else:
            only_b.append(line)
    text = ["%s (%d rows) and %s (%d rows) differ" % (name_a, len(a), name_b, len(b))]
    text += ["only %s: %s" % (name_a, x) for x in only_a[:4]] + ["only %s: %s" % (name_b, x) for x in only_b[:4]]
    if not only_a and not only_b:
        text.append("the order of the rows: %s / %s" % next((x, y) for x, y in zip(a, b) if x != y))
    raise AssertionError("\n".join(text))


# --- values ---------------------------------------------------------------------------------------------------------------

def comparable(value, kind):
    """An ordering value (in canonical form) as something that Python orders as spec/lsm-layout.md 8.3 says."""
    if value is None:
        return (0,)
    if kind.startswith("decimal"):
        return (1, decimal.Decimal(value))
    if kind in ("float", "double"):
        number = float(value) if isinstance(value, (int, float)) else float(value.replace("Infinity", "inf"))
        return (1, 1 if math.isnan(number) else 0, 0.0 if math.isnan(number) else number, math.copysign(1, number))
    if isinstance(value, str):
        return (1, value.encode("utf-8"))
    return (1, value)


ESCAPED = set(map(chr, range(0x20))) | set("\x7f\"#%'*/:=?\\{[]^")


def escape(text):
    """hoodie.datasource.write.partitionpath.urlencode (spec/write-path.md 1.5)."""
    return "".join("%%%02X" % ord(c) if c in ESCAPED else c for c in text)


class Model:
    """What a table holds: one dictionary, one fold, no files (spec/lsm-layout.md 8).

    types: {column: type text}, in the order of the schema. forgets: tombstones are gone after each commit, as in
    copy-on-write tables; otherwise compact() lets them go.
    """

    def __init__(self, types, key, partition="", ordering="", mode=None, forgets=True, hive=False, encode=False):
        self.types, self.forgets, self.hive, self.encode = types, forgets, hive, encode
        self.keys, self.partitions = key.split(","), [p for p in partition.split(",") if p]
        self.ordering = [o for o in ordering.split(",") if o]
        self.event = bool(self.ordering) and (mode or "event_time") == "event_time"
        self.state = {}                          # (partition, key): (ordering or None, row or None, instant)

    def identity(self, row):
        key = str(row[self.keys[0]]) if len(self.keys) == 1 else ",".join(
            "%s:%s" % (k, "__empty__" if row[k] == "" else row[k]) for k in self.keys)
        parts = []
        for p in self.partitions:
            text = "__HIVE_DEFAULT_PARTITION__" if row.get(p) in (None, "") else str(row[p])
            text = escape(text) if self.encode else text
            parts.append("%s=%s" % (p, text) if self.hive else text)
        return "/".join(parts), key

    def _is_absent(self, ordering):
        """Of a delete: whether it is one without ordering value (8.3)."""
        if all(v == (0,) for v in ordering):
            return True
        return len(self.ordering) == 1 and self.types[self.ordering[0]] == "int" and ordering == ((1, 0),)

    def _one(self, instant, row, delete, keep_ordering):
        ordering = tuple(comparable(row.get(o), self.types[o]) for o in self.ordering) if self.event else ()
        if delete and (not keep_ordering or self._is_absent(ordering)):
            ordering = None
        new = (ordering, None if delete else row, instant)
        place = self.identity(row)
        old = self.state.get(place)
        if self.event and old and old[0] is not None and ordering is not None and ordering < old[0]:
            return
        self.state[place] = new

    def write(self, instant, rows, delete=False):
        """Rows in order; delete: the delete operation, whose deletes have no ordering value."""
        for row in rows:
            marked = row.get("_hoodie_is_deleted") is True
            self._one(instant, row, delete or marked, not delete)
        if self.forgets:
            self.compact()

    def compact(self):
        self.state = {k: v for k, v in self.state.items() if v[1] is not None}

    def keys_present(self):
        return [k for k, v in sorted(self.state.items()) if v[1] is not None]

    def row(self, place):
        return self.state[place][1]

    def lines(self):
        out = []
        for (partition, key), (_, row, instant) in self.state.items():
            if row is not None:
                full = {"_hoodie_commit_time": instant, "_hoodie_record_key": key, "_hoodie_partition_path": partition}
                full.update((c, row.get(c)) for c in self.types)
                out.append(full)
        return canon.lines(out)


def ddl(types):
    """Schema text of sluice and Spark (for the types whose words they share)."""
    return ", ".join("%s %s" % (n, t) for n, t in types.items())


# --- tables on disk ---------------------------------------------------------------------------------------------------------

def properties(table):
    import lsm_peer
    return lsm_peer.read_properties(os.path.join(table, ".hoodie", "hoodie.properties"))


def lsm_check(table):
    """lsm_peer's checks of a table; notes are returned."""
    import lsm_peer
    checker = lsm_peer.Checker(table).run()
    harmless = re.compile(r"(\.crc|\.[0-9a-f-]{36}): not a timeline name$")     # of Hadoop's local file system; of killed writers
    found = [f for f in checker.findings if not harmless.search(f)]
    check(not found, "lsm_peer check of %s: %s", table, "\n".join(found[:10]))
    return checker.notes


def lsm_read(table, **how):
    import lsm_peer
    as_of = how.pop("as_of", None)
    return lsm_peer.Table(table, as_of).canonical(**how)


def timeline(table):
    """Names of the timeline's files; version 6 has them in .hoodie itself."""
    folder = os.path.join(table, ".hoodie", "timeline")
    return sorted(n for n in os.listdir(folder if os.path.isdir(folder) else os.path.dirname(folder)) if n[0].isdigit())


def last_commit(table):
    """The commit, deltacommit or replacecommit that was completed last."""
    done = [n.split(".")[0].split("_") for n in timeline(table) if n.endswith("commit")]
    return max(done, key=lambda n: n[-1])[0]


def data_files(table):
    """Relative paths of everything outside .hoodie that is no partition metadata."""
    out = []
    for where, dirs, names in os.walk(table):
        dirs[:] = [d for d in dirs if d != ".hoodie"]
        out += [os.path.relpath(os.path.join(where, n), table) for n in names
                if not n.startswith(".hoodie_partition_metadata") and not n.endswith(".crc")]
    return sorted(out)
