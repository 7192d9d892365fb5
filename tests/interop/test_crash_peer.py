"""Writers that die. sluice is killed in the middle of upserts and Spark's next write rolls the leftovers back; leftovers of
other writers, handmade and of a killed Spark, are rolled back by sluice. Rows are always those before or after."""

import os
import random
import shutil
import signal
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq

import support
from support import Model, SEED, SLUICE, check, create, ddl, lsm_check, query, same, spark, sluice, test, write

import lsm_peer

TYPES = {"id": "string", "v": "long", "p": "string", "ts": "long"}
WITHOUT_INDEX = {"hoodie.metadata.enable": "false"}
PARTITIONS = 6


def batch(n, ts, start=0):
    return [{"id": "k%05d" % i, "v": ts * 1000000 + i, "p": "p%d" % (i % PARTITIONS), "ts": ts} for i in range(start, start + n)]


def batch_file(path, rows):
    pq.write_table(pa.Table.from_pylist(rows, pa.schema([("id", pa.string()), ("v", pa.int64()), ("p", pa.string()), ("ts", pa.int64())])),
                   path)
    return path


def pending(table):
    """Instants that are requested and neither completed nor gone."""
    names = support.timeline(table)
    names = [n for n in names if not n.endswith(".crc")]
    done = {n.split("_")[0] for n in names if "_" in n}
    return sorted({n.split(".")[0].split("_")[0] for n in names} - done)


def leftovers(table):
    """Data files and marker folders of instants that are not completed."""
    t = lsm_peer.Table(table)
    out = [f.name for files in t.files.values() for f in files if t.completion(f.instant) is None]
    temp = os.path.join(table, ".hoodie", ".temp")
    return out + [n for n in (os.listdir(temp) if os.path.isdir(temp) else []) if t.completion(n) is None]


def drop_markers_of_completed(table):
    """They are harmless. sluice removes those that a writer left which died after its commit, Spark does not."""
    t = lsm_peer.Table(table)
    temp = os.path.join(table, ".hoodie", ".temp")
    for name in os.listdir(temp):
        if t.completion(name) is not None:
            shutil.rmtree(os.path.join(temp, name))


def check_clean(table, what):
    check(pending(table) == [], "after %s these instants are pending: %s", what, pending(table))
    check(leftovers(table) == [], "after %s there are leftovers: %s", what, leftovers(table)[:5])
    lsm_check(table)


class Doomed:
    """Kills `sluice upsert` at a moment of its life."""

    def __init__(self, r, table, path):
        self.random, self.table, self.path = r, table, path
        self.duration = 0.2

    def full(self, instant):
        return os.path.join(self.table, ".hoodie", "timeline", instant)

    def _moment(self, started, kind, known):
        """Whether it is time: after a random while, or once the writer has got to a step."""
        if kind == "time":
            return time.monotonic() - started > self.when
        fresh = [n for n in os.listdir(os.path.join(self.table, ".hoodie", "timeline")) if n not in known]
        if kind == "inflight":
            return any(n.endswith("inflight") for n in fresh)
        temp = os.path.join(self.table, ".hoodie", ".temp")
        marked = sum(len(f) for _, _, f in os.walk(temp))
        return marked >= self.files

    def run(self):
        """Returns whether the writer came to its end."""
        known = set(os.listdir(os.path.join(self.table, ".hoodie", "timeline")))
        kind = self.random.choice(("time", "time", "inflight", "files", "files"))
        self.when, self.files = self.random.random() * 1.1 * self.duration, self.random.randrange(1, 4 * PARTITIONS)
        started = time.monotonic()
        p = subprocess.Popen([SLUICE, "upsert", self.table, self.path, "--quiet", "--threads", "2"])
        while p.poll() is None and not self._moment(started, kind, known):
            time.sleep(0.0005)
        if p.poll() is None:
            p.send_signal(signal.SIGKILL)
        p.wait()
        if p.returncode == 0:
            self.duration = time.monotonic() - started
        return p.returncode == 0


def killed_story(folder, layout, recover, rounds):
    """recover(rows) writes rows and returns the instant; the dead writer's rows are there as a whole or not at all."""
    r = random.Random("%s %d" % (layout, SEED))
    table = os.path.join(folder, layout)
    create(table, ddl(TYPES), "id", "p", "ts", ["--layout", layout, "--buckets", "2"])
    model = Model(TYPES, "id", "p", "ts", forgets=layout == "default")
    first = batch_file(os.path.join(folder, "first.parquet"), batch(6000, 1))
    model.write(write(table, "upsert", first)["instant"], batch(6000, 1))
    died_midway = 0
    for i in range(rounds):
        rows = batch(6000, 2 * i + 2, 1000 * i)
        doomed = Doomed(r, table, batch_file(os.path.join(folder, "doomed.parquet"), rows))
        before = [n for n in support.timeline(table) if "_" in n]
        finished = doomed.run()
        new = [n for n in support.timeline(table) if "_" in n and n.endswith("commit") and n not in before]
        check(len(new) == 1 or (not new and not finished), "completed instants of the killed writer: %s", new)
        if new:
            model.write(new[0].split("_")[0], rows)
        died_midway += bool(pending(table))
        same("sluice after the kill", query(table), "before or after", model.lines())
        rows = batch(3, 2 * i + 3)
        model.write(recover(table, rows), rows)
        same("sluice after the next write", query(table), "model", model.lines())
        check_clean(table, "the write after kill %d" % i)
    return table, model, died_midway


@test
def killed_sluice_and_spark(folder):
    peer = spark()

    def recover(table, rows):
        instant = peer.write(table, "upsert", rows, ddl(TYPES), option=WITHOUT_INDEX)
        drop_markers_of_completed(table)
        return instant
    table, model, died_midway = killed_story(folder, "default", recover, 6)
    check(died_midway > 0, "no kill hit a writer in its work")
    same("Spark", peer.read(table), "model", model.lines())
    peer.validate(table)


@test
def killed_sluice_and_sluice(folder):
    for layout in ("default", "lsm_tree"):
        table, model, died_midway = killed_story(folder, layout, lambda t, rows: write(t, "upsert", rows)["instant"], 10)
        check(died_midway > 0, "no kill hit a writer in its work")
        if layout == "lsm_tree":
            sluice("compact", table)
            same("sluice after compaction", query(table), "model", model.lines())
            same("peer after compaction", support.lsm_read(table), "model", model.lines())
            check_clean(table, "the compaction")


# --- leftovers of others -----------------------------------------------------------------------------------------------------

def put(table, relative, blob=b""):
    path = os.path.join(table, relative)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(blob)


def dead_writer(table, instant, markers, action="commit", crc=True):
    """What a writer that died leaves: pending files, markers, data. Returns the relative paths of its data files."""
    there = [f for f in support.data_files(table) if f.startswith("p0/")]
    file_id = os.path.basename(there[0]).split("_")[0]
    if action == "commit":
        files = [("p0/%s_0-7-9_%s.parquet" % (file_id, instant), "MERGE"),
                 ("p1/00000001-dead-4ead-8ead-deaddeaddead-0_1-7-9_%s.parquet" % instant, "CREATE"),
                 ("newpart/00000000-dead-4ead-8ead-deaddeaddead-0_2-7-9_%s.parquet" % instant, "CREATE")]
    else:
        files = [("p0/%s_0-7-9_%s_1.log.parquet" % (file_id, instant), "CREATE"),
                 ("p0/%s_0-7-9_%s_1.deletes.parquet" % (file_id, instant), "CREATE")]
    put(table, ".hoodie/timeline/%s.%s.requested" % (instant, action))
    put(table, ".hoodie/timeline/" + ("%s.inflight" if action == "commit" else "%s.deltacommit.inflight") % instant)
    for name, _ in files:
        if name.startswith("newpart/"):
            put(table, "newpart/.hoodie_partition_metadata", b"#partition metadata\ncommitTime=%s\npartitionDepth=1\n" % instant.encode())
        put(table, name, b"PAR1 this is half a file")
        if crc:                                  # Hadoop's local file system leaves these beside every file
            put(table, os.path.join(os.path.dirname(name), "." + os.path.basename(name) + ".crc"), b"crc\x00")
    lines = ["%s.marker.%s" % f for f in files]
    temp = ".hoodie/.temp/%s/" % instant
    if markers == "direct":
        for line in lines:
            put(table, temp + line)
    elif markers == "server":
        put(table, temp + "MARKERS.type", b"TIMELINE_SERVER_BASED")
        put(table, temp + "MARKERS0", (lines[0] + "\n").encode())
        put(table, temp + "MARKERS3", "".join(x + "\n" for x in lines[1:]).encode())
    return [name for name, _ in files]


def rollbacks_of(table, instant):
    """Completed rollbacks that name an instant."""
    out = []
    for name in support.timeline(table):
        if name.endswith(".rollback"):
            record = lsm_peer.read_container(os.path.join(table, ".hoodie", "timeline", name))
            if instant in (record.get("commitsRollback") or []):
                out.append(record)
    return out


def now_instant():
    return time.strftime("%Y%m%d%H%M%S", time.gmtime()) + "%03d" % (time.time() * 1000 % 1000)


def fresh(folder, name, layout="default"):
    table = os.path.join(folder, name)
    create(table, ddl(TYPES), "id", "p", "ts", ["--layout", layout, "--buckets", "2"])
    model = Model(TYPES, "id", "p", "ts", forgets=layout == "default")
    model.write(write(table, "upsert", batch(30, 1))["instant"], batch(30, 1))
    return table, model


def next_write(table, model, ts):
    rows = batch(5, ts)
    model.write(write(table, "upsert", rows)["instant"], rows)
    same("sluice", query(table), "model", model.lines())


@test
def leftovers_of_a_dead_writer(folder):
    """Direct markers, those of the timeline server, and none at all; the files go, a rollback says so."""
    for markers in ("direct", "server", "none"):
        table, model = fresh(folder, markers)
        instant = now_instant()
        files = dead_writer(table, instant, markers)
        same("sluice beside the leftovers", query(table), "model", model.lines())
        next_write(table, model, 2)
        there = [f for f in files if os.path.exists(os.path.join(table, f))]
        check(not there, "markers %s: still there: %s", markers, there)
        check_clean(table, "the rollback with markers " + markers)
        records = rollbacks_of(table, instant)
        check(len(records) == 1, "markers %s: %d completed rollbacks", markers, len(records))
        named = [os.path.basename(f) for p in records[0]["partitionMetadata"].values() for f in p["successDeleteFiles"]]
        check(sorted(named) == sorted(os.path.basename(f) for f in files), "the rollback names %s", named)
        peer = spark()
        same("Spark", peer.read(table), "model", model.lines())
        rows = batch(4, 3)
        model.write(peer.write(table, "upsert", rows, ddl(TYPES), option=WITHOUT_INDEX), rows)
        same("Spark after its upsert", peer.read(table), "model", model.lines())
        peer.validate(table)


@test
def leftovers_on_lsm(folder):
    """Logs of a dead delta commit, and of one that a compaction plan would have taken along."""
    for markers in ("direct", "server", "none"):
        table, model = fresh(folder, markers, "lsm_tree")
        next_write(table, model, 2)
        instant = now_instant()
        files = dead_writer(table, instant, markers, "deltacommit", crc=False)
        same("sluice beside the leftovers", query(table), "model", model.lines())
        same("peer beside the leftovers", support.lsm_read(table), "model", model.lines())
        next_write(table, model, 3)
        check(not [f for f in files if os.path.exists(os.path.join(table, f))], "markers %s: files are still there", markers)
        check_clean(table, "the rollback with markers " + markers)
        check(len(rollbacks_of(table, instant)) == 1, "markers %s: no completed rollback", markers)
        sluice("compact", table)
        model.compact()
        same("peer after compaction", support.lsm_read(table), "model", model.lines())


@test
def temporary_files(folder):
    """Files that were not yet given their names: on the timeline, beside the properties, in a partition. Nobody stumbles, and
    sluice removes those on the timeline that are older than any writer takes."""
    table, model = fresh(folder, "t")
    tail = ".a658d985-ef3d-4979-8e27-9c8dc0be76cf"
    instant, done = now_instant(), now_instant()
    blob = open(os.path.join(table, ".hoodie", "timeline", [n for n in support.timeline(table) if "_" in n][0]), "rb").read()
    put(table, ".hoodie/timeline/%s.commit.requested" % instant)
    put(table, ".hoodie/timeline/%s.inflight" % instant)
    young, old = (".hoodie/timeline/%s_%s.commit%s%s" % (instant, done, tail[:-1], c) for c in "01")
    put(table, young, blob)
    put(table, old, blob)
    os.utime(os.path.join(table, old), (time.time() - 600,) * 2)
    put(table, ".hoodie/hoodie.properties" + tail, b"hoodie.table.name=t\n")
    put(table, "p0/.hoodie_partition_metadata" + tail, b"commitTime=1\n")
    peer = spark()
    same("sluice", query(table), "model", model.lines())
    same("Spark", peer.read(table), "model", model.lines())
    rows = batch(4, 2)
    model.write(peer.write(table, "upsert", rows, ddl(TYPES), option=WITHOUT_INDEX), rows)
    next_write(table, model, 3)
    check(os.path.exists(os.path.join(table, young)) and not os.path.exists(os.path.join(table, old)), "the old one goes, the young stays")
    same("Spark", peer.read(table), "model", model.lines())
    peer.validate(table)


@test
def only_requested(folder):
    """A writer that died before its inflight file."""
    table, model = fresh(folder, "t")
    instant = now_instant()
    put(table, ".hoodie/timeline/%s.commit.requested" % instant)
    next_write(table, model, 2)
    check_clean(table, "the rollback of a requested instant")
    peer = spark()
    same("Spark", peer.read(table), "model", model.lines())
    peer.validate(table)


@test
def half_a_rollback(folder):
    """A rollback that died midway is resumed with its own plan, not planned anew (spec/timeline.md 9.3)."""
    table, model = fresh(folder, "t")
    instant = now_instant()
    files = dead_writer(table, instant, "direct")
    time.sleep(0.01)
    rollback = now_instant()
    requests = [{"partitionPath": os.path.dirname(f), "fileId": os.path.basename(f).split("_")[0], "latestBaseInstant": instant,
                 "filesToBeDeleted": [os.path.join(table, f)], "logBlocksToBeDeleted": {}} for f in files]
    plan = {"instantToRollback": {"commitTime": instant, "action": "commit"}, "RollbackRequests": requests, "version": 1}
    put(table, ".hoodie/timeline/%s.rollback.requested" % rollback, lsm_peer.container("HoodieRollbackPlan", plan))
    put(table, ".hoodie/timeline/%s.rollback.inflight" % rollback)
    os.remove(os.path.join(table, files[0]))     # so far it had come
    next_write(table, model, 2)
    check(not [f for f in files if os.path.exists(os.path.join(table, f))], "files are still there")
    check_clean(table, "the resumed rollback")
    records = rollbacks_of(table, instant)
    check(len(records) == 1 and records[0]["startRollbackTime"] == rollback, "the rollback was not resumed: %s", records)
    same("Spark", spark().read(table), "model", model.lines())
    spark().validate(table)


@test
def killed_spark(folder):
    """A Spark that is killed while it writes, with markers of its timeline server; sluice rolls it back."""
    table, model = fresh(folder, "t")
    doomed = support.Spark()
    known = set(support.data_files(table))
    path = batch_file(os.path.join(folder, "big.parquet"), batch(60000, 5))
    request = {"cmd": "write", "table": table, "op": "upsert", "input": path,
               "option": dict(WITHOUT_INDEX, **{"hoodie.embed.timeline.server": "true", "hoodie.write.markers.type": "TIMELINE_SERVER_BASED"})}
    doomed.process.stdin.write(support.json.dumps(request).encode() + b"\n")
    end = time.monotonic() + 60
    while time.monotonic() < end and len([f for f in support.data_files(table) if f not in known and ".crc" not in f]) < 3:
        time.sleep(0.002)
    doomed.kill()
    check(len(pending(table)) == 1, "Spark was too quick or too slow: pending %s", pending(table))
    check(leftovers(table) != [], "the killed Spark left nothing")
    instant = pending(table)[0]
    same("sluice beside the leftovers", query(table), "model", model.lines())
    next_write(table, model, 6)
    check_clean(table, "the rollback of Spark's write")
    check(len(rollbacks_of(table, instant)) == 1, "no completed rollback")
    peer = spark()
    same("Spark", peer.read(table), "model", model.lines())
    peer.validate(table)


if __name__ == "__main__":
    support.main()
