"""lsm_tree tables against lsm_peer.py (no released Hudi reads them): random histories written by sluice, checked and read by
the peer; tables written by the peer, read, changed and compacted by sluice. The third opinion is a dictionary."""

import json
import os
import random
import sys

import support
from support import Model, SEED, check, create, ddl, lsm_check, lsm_read, query, same, sluice, test, write

import lsm_peer

UNICODE = ["a", "ä", "z", "\uff21", "\U0001f600", "\ue000", "日", "aa", "a b", "\u00e9", "Ω", "'", "10", "9", "-", "~"]
CITIES = ["oslo", "lima", "são paulo"]

# Values of an ordering column, in canonical form, smallest first.
ORDERINGS = {
    "long": [-(2**40), -1, 0, 1, 2, 3, 2**40],
    "int": [-5, 0, 1, 2, 3],
    "string": ["", "A", "a", "aa", "é", "\uff21", "\U0001f600"],
    "double": ["-Infinity", -1.5, 0.0, 0.25, 1e300, "Infinity", "NaN"],
    "float": [-0.5, 0.0, 0.25, 1.5],
    "decimal(9,2)": ["-10.00", "-9.99", "0.00", "0.10", "12345.67"],
    "decimal(30,10)": ["-1.0000000000", "0.0000000001", "99999999999.0000000000"],
    "date": ["1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"],
    "timestamp": ["1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z", "2024-01-31T10:00:00.123456Z"],
    "timestamp_ntz": ["1969-12-31T23:59:59.999999", "2024-01-31T10:00:00.123456"],
    "boolean": [False, True],
}


class History:
    """One random table: how it is made, and the random operations on it."""

    def __init__(self, folder, seed, key, ordering=(), partition=None, mode=None, marked=True, buckets=None):
        """ordering: ((column, type), ...)."""
        self.random = random.Random(seed)
        self.table = os.path.join(folder, "t")
        self.types = {k: ("int" if k == "n" else "string") for k in key}
        if partition:
            self.types[partition] = "string"
        self.types.update(v="int", s="string")
        self.types.update(ordering)
        self.marked = marked
        if marked:
            self.types["_hoodie_is_deleted"] = "boolean"
        self.key, self.partition = key, partition
        self.ordering = ordering
        names = ",".join(n for n, _ in ordering)
        options = ["--layout", "lsm_tree", "--buckets", str(buckets or self.random.choice((1, 2, 4)))]
        if mode:
            options += ["--merge-mode", mode]
        create(self.table, ddl(self.types), ",".join(key), partition, names or None, options)
        self.model = Model(self.types, ",".join(key), partition or "", names, mode, forgets=False)
        self.log = []

    def row(self):
        r = self.random
        row = {k: (r.randrange(12) if k == "n" else r.choice(UNICODE) * r.choice((1, 1, 2))) for k in self.key}
        if self.partition:
            row[self.partition] = r.choice(CITIES)
        row.update(v=r.randrange(1000), s=r.choice([None, "", "x" * r.randrange(40), "ö"]))
        for name, kind in self.ordering:
            row[name] = r.choice(ORDERINGS[kind])
        if self.marked:
            row["_hoodie_is_deleted"] = r.choice((None, False, False, False, False, True))
        return row

    def known(self):
        """Key and partition of a row that is there."""
        there = self.model.keys_present()
        if not there:
            return self.row()
        return dict(self.row(), **{c: self.model.row(self.random.choice(there))[c] for c in
                                   list(self.key) + ([self.partition] if self.partition else [])})

    def rows(self):
        r = self.random
        return [self.known() if r.random() < 0.6 else self.row() for _ in range(r.choice((1, 3, 10, 30)))]

    def step(self):
        what = self.random.choices(("upsert", "insert", "delete", "compact", "log-compact"), (6, 2, 2, 1, 2))[0]
        self.log.append(what)
        if what == "log-compact":                # changes no row
            sluice("log-compact", self.table, "-c", "hoodie.log.compaction.blocks.threshold=2")
            return
        if what == "compact":
            sluice("compact", self.table)
            self.model.compact()
            return
        rows = self.rows()
        if what == "insert":                     # inserts keep duplicates that share a base file (see duplicates_of_an_insert)
            rows = list({self.model.identity(row): row for row in rows}.values())
        if what == "delete":
            rows = [{c: row[c] for c in list(self.key) + ([self.partition] if self.partition else [])} for row in rows]
        self.model.write(write(self.table, what, rows)["instant"], rows, what == "delete")

    def verify(self):
        try:
            lsm_check(self.table)
            same("peer", lsm_read(self.table), "model", self.model.lines())
            same("sluice", query(self.table), "model", self.model.lines())
        except AssertionError as e:
            raise AssertionError("after %s:\n%s" % (" ".join(self.log), e))

    def run(self, steps):
        for _ in range(steps):
            self.step()
            self.verify()


def history(folder, name, steps=8, **how):
    """A history whose seed depends on SEED and its name."""
    where = os.path.join(folder, name)
    os.makedirs(where)
    h = History(where, "%s %d" % (name, SEED), **how)
    h.run(steps)
    return h


@test
def event_time_long(folder):
    history(folder, "plain", key=("id",), ordering=(("ts", "long"),))
    history(folder, "partitioned", key=("id",), ordering=(("ts", "long"),), partition="city")


@test
def commit_time(folder):
    history(folder, "without", key=("id",))
    history(folder, "with", key=("id",), ordering=(("ts", "long"),), mode="commit_time", partition="city")


@test
def two_ordering_fields(folder):
    history(folder, "t", key=("id",), ordering=(("ts", "long"), ("x", "string")))
    history(folder, "u", key=("id",), ordering=(("d", "date"), ("x", "int")), partition="city")


@test
def composite_keys(folder):
    history(folder, "two", key=("id", "n"), ordering=(("ts", "long"),))
    history(folder, "partitioned", key=("n", "id"), ordering=(("ts", "int"),), partition="city")


@test
def each_ordering_type(folder):
    for kind in ORDERINGS:
        history(folder, kind.split("(")[0] + str(len(kind)), steps=4, key=("id",), ordering=(("ts", kind),))


@test
def time_travel(folder):
    """Rows as of each instant, after later upserts and compactions."""
    h = History(folder, "travel %d" % SEED, ("id",), (("ts", "long"),))
    seen = {}
    for _ in range(6):
        h.step()
        names = [n for n in support.timeline(h.table) if n.endswith((".deltacommit", ".commit"))]
        if names:
            seen[names[-1].split("_")[0]] = h.model.lines()
    h.verify()
    for instant, lines in seen.items():
        same("sluice as of " + instant, query(h.table, "--as-of", instant), "model", lines)
        same("peer as of " + instant, lsm_read(h.table, as_of=instant), "model", lines)


@test
def read_optimized(folder):
    h = history(folder, "ro", steps=3, key=("id",), ordering=(("ts", "long"),), buckets=1)
    rows = [dict(h.row(), id="there", ts=2**50, _hoodie_is_deleted=None)]
    h.model.write(write(h.table, "upsert", rows)["instant"], rows)
    sluice("compact", h.table)
    h.model.compact()
    compacted = h.model.lines()
    rows = h.rows()
    h.model.write(write(h.table, "upsert", rows)["instant"], rows)
    h.verify()
    lines = query(h.table, "--read-optimized")
    same("sluice", lines, "peer", lsm_read(h.table, read_optimized=True))
    same("sluice", lines, "after the compaction", compacted)


@test
def duplicates_of_an_insert(folder):
    """Duplicates of one key in a base file are all handed through until an operation touches the key (8.3)."""
    table = os.path.join(folder, "t")
    create(table, "id string, v int, ts long", "id", None, "ts", ["--layout", "lsm_tree", "--buckets", "1"])
    write(table, "bulk-insert", [{"id": "a", "v": i, "ts": i} for i in range(3)] + [{"id": "b", "v": 9, "ts": 9}])
    lines = query(table)
    check(len(lines) == 4, "a bulk insert of three rows of one key and another: %s", lines)
    same("sluice", lines, "peer", lsm_read(table))
    write(table, "upsert", [{"id": "b", "v": 10, "ts": 10}])
    same("sluice", query(table), "peer", lsm_read(table))
    write(table, "upsert", [{"id": "a", "v": 10, "ts": 1}])
    lines = query(table)
    check([json.loads(x)["v"] for x in lines] == [2, 10], "the upsert folds them: %s", lines)
    same("sluice", lines, "peer", lsm_read(table))
    sluice("compact", table)
    check([json.loads(x)["v"] for x in query(table)] == [2, 10], "and so does the compaction: %s", query(table))


# --- tables that the peer wrote ---------------------------------------------------------------------------------------------

TYPES = {"id": "string", "v": "int", "ts": "long", "city": "string", "_hoodie_is_deleted": "boolean"}


class PeerWriter(lsm_peer.Writer):
    """Finds the file group that another writer made for a bucket."""

    def group_of(self, partition, key):
        if self.buckets:
            prefix = "%08d-" % lsm_peer.bucket_of(key, self.buckets)
            for place, file_id in lsm_peer.Table(self.path).groups():
                if place == partition and file_id.startswith(prefix):
                    return file_id
        return super().group_of(partition, key)


class PeerTable:
    """A table written by lsm_peer, and its model."""

    def __init__(self, folder, name, buckets=2, mode=None, ordering="ts", partition="", **create):
        self.random = random.Random("%s %d" % (name, SEED))
        self.table = os.path.join(folder, name)
        self.writer = PeerWriter(self.table, "%s%d" % (name, SEED))
        merge_mode = {"commit_time": lsm_peer.COMMIT, "event_time": lsm_peer.EVENT, None: None}[mode]
        self.writer.create(ddl(TYPES), "id", partition=partition, ordering=ordering, buckets=buckets, merge_mode=merge_mode, **create)
        self.model = Model(TYPES, "id", partition, ordering, mode, forgets=create.get("type") == "cow")

    def row(self, delete=False):
        r = self.random
        return {"id": r.choice(UNICODE), "v": r.randrange(1000), "ts": r.randrange(20), "city": r.choice(CITIES),
                "_hoodie_is_deleted": True if delete else r.choice((None, False))}

    def peer_upsert(self, **how):
        rows = [self.row(self.random.random() < 0.2) for _ in range(self.random.choice((1, 5, 20)))]
        instant = self.writer.upsert([["u", row] for row in rows], **how)
        self.model.write(instant, rows)

    def peer_delete(self):
        rows = [{"id": self.row()["id"], "city": self.random.choice(CITIES)} for _ in range(3)]
        self.model.write(self.writer.upsert([["d", row] for row in rows]), rows, True)

    def sluice_upsert(self):
        rows = [self.row(self.random.random() < 0.2) for _ in range(self.random.choice((1, 5, 20)))]
        self.model.write(write(self.table, "upsert", rows)["instant"], rows)
        self.writer._open()

    def sluice_compact(self):
        sluice("compact", self.table)
        self.model.compact()
        self.writer._open()

    def verify(self, what):
        lines = self.model.lines()
        try:
            same("peer", lsm_read(self.table), "model", lines)
            same("sluice", query(self.table), "model", lines)
            lsm_check(self.table)
        except (AssertionError, support.CommandFailed) as e:
            raise AssertionError("after %s:\n%s" % (what, e))


@test
def sluice_reads_what_the_peer_writes(folder):
    for name, how in (("split", {"footer": "split"}), ("map", {"footer": "map"}), ("both", {}), ("first", {"deletes": "first"}),
                      ("unreduced", {"reduce": False})):
        t = PeerTable(folder, name)
        for _ in range(4):
            t.peer_upsert(**how)
            if name == "first":                  # those delete logs carry no ordering value: compare with the peer alone
                same("sluice", query(t.table), "peer", lsm_read(t.table))
            else:
                t.verify("upserts, form " + name)


@test
def runs_in_utf16_order(folder):
    """Files of an early writer, sorted as Java sorts (6): the default is to repair, strict refuses."""
    t = PeerTable(folder, "utf16", buckets=1)
    rows = [dict(t.row(), id=k) for k in UNICODE]
    t.model.write(t.writer.upsert([["u", r] for r in rows], order="utf16"), rows)
    rows = [dict(t.row(), id=k) for k in UNICODE[3:6]]
    t.model.write(t.writer.upsert([["u", r] for r in rows]), rows)
    same("peer", lsm_read(t.table), "model", t.model.lines())
    same("sluice", query(t.table), "model", t.model.lines())
    said = support.refused("query", t.table, "-c", "sluice.lsm.order=strict")
    check("order" in said or "sorted" in said, "what strict says: %s", said)


@test
def log_compaction_of_the_peer(folder):
    t = PeerTable(folder, "logcompact")
    for i in range(4):
        t.peer_upsert()
        if i == 1:
            t.peer_delete()
    t.writer.log_compact()
    t.verify("log compaction")
    t.peer_upsert()
    t.writer.log_compact(skip=1)
    t.verify("second log compaction")
    t.sluice_upsert()
    t.sluice_compact()
    t.verify("compaction by sluice")


@test
def taking_turns(folder):
    """Peer and sluice write and compact one table in turns."""
    for name, how in (("event", {}), ("commit", {"mode": "commit_time"}), ("parts", {"partition": "city"}),
                      ("unordered", {"ordering": ""})):
        t = PeerTable(folder, name, **how)
        for _ in range(10):
            what = t.random.choice(("peer_upsert", "sluice_upsert", "peer_delete", "sluice_compact", "peer_compact"))
            if what == "peer_compact":
                if t.writer.compact():
                    t.model.compact()
            else:
                getattr(t, what)()
            t.verify("%s of table %s" % (what, name))


@test
def pending_compaction_of_the_peer(folder):
    """Reads and upserts while a plan waits; sluice then runs the peer's plan."""
    t = PeerTable(folder, "pending", buckets=1)
    t.peer_upsert()
    t.peer_upsert()
    plan = t.writer.schedule()
    t.verify("scheduling")
    before = {k: v for k, v in t.model.state.items() if v[1] is None}
    rows = [dict(t.row(), ts=50 + i) for i in range(5)]
    t.model.write(write(t.table, "upsert", rows)["instant"], rows)
    t.verify("an upsert beside the plan")
    sluice("compact", t.table, "--execute", plan["t"])
    for place, tombstone in before.items():      # what the plan covered has lost its tombstones, later logs keep theirs
        if t.model.state.get(place) is tombstone:
            del t.model.state[place]
    t.verify("running the plan")


@test
def inline_logs_below_lsm(folder):
    """A version 9 merge-on-read table with #HUDI# logs: sluice reads it."""
    t = PeerTable(folder, "inline", layout="default", version=9)
    for _ in range(4):
        rows = [dict(t.row(), ts=20 + i) for i in range(8)]
        h = t.writer.begin()
        t.writer.flush(h, [["u", r] for r in rows], inline=True)
        t.writer.complete(h)
        same("sluice", query(t.table), "peer", lsm_read(t.table))


@test
def command_line_of_the_peer(folder):
    """The same through lsm_peer's own command line."""
    table = os.path.join(folder, "t")
    script = os.path.join(folder, "ops.jsonl")
    ops = [{"op": "create", "schema": "id string, v int, ts long", "key": "id", "ordering": "ts", "buckets": 2},
           {"op": "upsert", "ops": [["u", {"id": "a", "v": 1, "ts": 10}], ["u", {"id": "b", "v": 2, "ts": 10}]]},
           {"op": "upsert", "ops": [["d", {"id": "a"}], ["u", {"id": "b", "v": 3, "ts": 9}], ["u", {"id": "c", "v": 4, "ts": 1}]]},
           {"op": "log_compact"}]
    with open(script, "w") as f:
        f.writelines(json.dumps(o) + "\n" for o in ops)
    peer = [sys.executable, os.path.join(support.PEER, "lsm_peer.py")]
    support.subprocess.run(peer + ["write", table, "--script", script], check=True, stdout=support.subprocess.DEVNULL)
    out = support.subprocess.run(peer + ["read", table], check=True, stdout=support.subprocess.PIPE).stdout.decode().splitlines()
    check(len(out) == 2 and [json.loads(x)["v"] for x in out] == [2, 4], "the peer reads %s", out)
    same("sluice", query(table), "peer", out)
    support.subprocess.run(peer + ["check", table], check=True, stdout=support.subprocess.DEVNULL, stderr=support.subprocess.DEVNULL)


@test
def released_peers_refuse_version_10(folder):
    """G-33, a tripwire: when a newer peer accepts such a table, the tests that cross-check it can be switched on."""
    table = os.path.join(folder, "t")
    create(table, "id string, v int", "id", None, None, ["--layout", "lsm_tree"])
    write(table, "upsert", [{"id": "a", "v": 1}])
    from hudi import HudiTableBuilder
    try:
        HudiTableBuilder.from_base_uri(os.path.abspath(table)).build().get_file_slices()
    except Exception as e:
        check("Found: 10" in str(e), "hudi-rs says: %s", e)
    else:
        check(False, "hudi-rs reads table version 10")
    try:
        support.spark().read(table)
    except support.PeerFailed as e:
        check("Unsupported table version code: 10" in str(e), "Spark says: %s", e)
    else:
        check(False, "Spark reads table version 10")


if __name__ == "__main__":
    support.main()
