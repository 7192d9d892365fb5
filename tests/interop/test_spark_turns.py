"""Copy-on-write tables that sluice and Spark 1.2.0 write in turns. After each commit Spark's read, sluice's query and a
dictionary are equal, Spark's validation finds nothing, and the files pass lsm_peer's checks."""

import os
import random

import support
from support import Model, SEED, check, create, ddl, lsm_check, query, same, spark, test, write
from typed_rows import NULL_ELEMENTS, TYPES, types_expected, types_file

BUCKETS_ONLY = {"hoodie.metadata.enable": "false"}


class Turns:
    """A table, its model, and two writers."""

    def __init__(self, folder, name, types, key, partition="", ordering="", mode=None, version=9, hive=False, encode=False,
                 buckets=3, index=None):
        self.random = random.Random("%s %d" % (name, SEED))
        self.options = dict(BUCKETS_ONLY, **({"hoodie.index.type": index.upper()} if index else {}))
        self.spark = spark()
        self.table = os.path.join(folder, name)
        self.types = dict(types, _hoodie_is_deleted="boolean")
        options = ["--table-version", str(version)] + (["--index", index] if index else ["--buckets", str(buckets)])
        if mode:
            options += ["--merge-mode", mode]
        c = {"hoodie.datasource.write.hive_style_partitioning": "true"} if hive else {}
        if encode:
            c["hoodie.datasource.write.partitionpath.urlencode"] = "true"
        create(self.table, ddl(self.types), key, partition or None, ordering or None, options, c)
        self.model = Model(self.types, key, partition, ordering, mode, True, hive, encode)
        self.log = []

    def full(self, row):
        return {c: row.get(c) for c in self.types}

    def sluice(self, rows, operation="upsert"):
        rows = [self.full(r) for r in rows]
        result = write(self.table, operation, rows)
        self._done("sluice " + operation, result["instant"], rows, operation)
        return result

    def peer(self, rows, operation="upsert"):
        rows = [self.full(r) for r in rows]
        instant = self.spark.write(self.table, operation, rows, ddl(self.types), option=self.options)
        self._done("Spark " + operation, instant, rows, operation)

    def _done(self, what, instant, rows, operation):
        self.log.append(what)
        self.model.write(instant, rows, operation == "delete")
        self.verify()

    def verify(self):
        lines = self.model.lines()
        try:
            same("sluice", query(self.table), "model", lines)
            same("Spark", self.spark.read(self.table), "model", lines)
            self.spark.validate(self.table)
            lsm_check(self.table)
        except (AssertionError, support.CommandFailed, support.PeerFailed) as e:
            raise AssertionError("after %s:\n%s" % (", ".join(self.log), e))

    def turns(self, batch, commits):
        """Random batches by the two in turns; one in four is a delete operation."""
        for i in range(commits):
            who = (self.sluice, self.peer)[i % 2]
            rows = batch()
            if self.random.random() < 0.25:
                who(list({self.model.identity(r): r for r in rows}.values()), "delete")
            else:
                who(rows)


def row(id, v, ts, **more):
    return dict(more, id=id, v=v, ts=ts)


@test
def event_time(folder):
    """Updates, inserts, deletes, ties and late rows, each by both writers."""
    t = Turns(folder, "event", {"id": "string", "v": "int", "ts": "long"}, "id", ordering="ts")
    t.sluice([row(k, 1, 10) for k in "abcdefgh"], "insert")
    t.peer([row("a", 2, 10), row("b", 2, 9), row("c", 2, 11), row("i", 2, 5)])                         # tie, late, newer, new
    t.sluice([row("a", 3, 10), row("c", 3, 10), row("d", 3, 11), row("j", 3, 5)])                      # the same by sluice
    t.peer([row("e", 4, 9, _hoodie_is_deleted=True), row("f", 4, 10, _hoodie_is_deleted=True)])        # a late delete, a tie
    t.sluice([row("g", 5, 9, _hoodie_is_deleted=True), row("h", 5, 10, _hoodie_is_deleted=True),
              row("f", 5, 1), row("none", 5, 1, _hoodie_is_deleted=True)])
    t.sluice([row("a", 6, 20), row("a", 7, 19), row("b", 6, 20), row("b", 7, 20)])                     # duplicates in the input
    t.peer([row("c", 8, 30), row("c", 9, 29), row("d", 8, 30), row("d", 9, 30)])
    t.sluice([row("a", 0, 0), row("i", 0, 0), row("nobody", 0, 0)], "delete")                          # without ordering value
    t.peer([row("b", 0, 0), row("a", 1, 1)])
    t.peer([row("c", 0, 0), row("j", 0, 0)], "delete")
    t.sluice([row("c", 1, 1), row("d", 1, 1)])


@test
def event_time_random(folder):
    t = Turns(folder, "random", {"id": "string", "city": "string", "v": "double", "s": "string", "ts": "long"}, "id", "city", "ts")
    r = t.random
    t.turns(lambda: [row("k%d" % r.randrange(25), r.random(), r.randrange(8), city=r.choice(("oslo", "lima")),
                         s=r.choice((None, "", "é", "x" * 50)), _hoodie_is_deleted=r.choice((None, False, False, True)))
                     for _ in range(r.randrange(1, 30))], 8)


@test
def commit_time(folder):
    t = Turns(folder, "commit", {"id": "string", "v": "int", "city": "string"}, "id", "city")
    r = t.random
    t.turns(lambda: [row("k%d" % r.randrange(25), r.randrange(100), 0, city=r.choice(("oslo", "lima")),
                         _hoodie_is_deleted=r.choice((None, False, False, True))) for _ in range(r.randrange(1, 20))], 6)


@test
def commit_time_with_ordering(folder):
    """A merge mode that ignores the ordering field that the table has."""
    t = Turns(folder, "mode", {"id": "string", "v": "int", "ts": "long"}, "id", ordering="ts", mode="commit_time")
    t.sluice([row("a", 1, 10), row("b", 1, 10), row("c", 1, 10)])
    t.peer([row("a", 2, 5), row("d", 2, 7)])
    t.sluice([row("b", 3, 5), row("d", 3, 6), row("e", 3, 9)])
    t.peer([row("c", 4, 1, _hoodie_is_deleted=True)])
    t.sluice([row("a", 5, 1, _hoodie_is_deleted=True), row("c", 5, 0)])
    t.peer([row("e", 6, 1)])


@test
def version_8_hive_style_encoded(folder):
    """Version 8; partition values that need escaping, null among them (Spark shows empty text in a partition column
    as null)."""
    t = Turns(folder, "eight", {"id": "string", "v": "int", "p": "string", "ts": "long"}, "id", "p", "ts", version=8, hive=True,
              encode=True)
    r = t.random
    values = ["a b", "x/y", "50%", "k=v", "são", "a:b", None, "2024-01-31"]
    t.turns(lambda: [row("k%d" % r.randrange(15), r.randrange(100), r.randrange(6), p=r.choice(values)) for _ in range(12)], 6)


@test
def version_8_event_time(folder):
    t = Turns(folder, "plain8", {"id": "string", "v": "int", "ts": "long"}, "id", ordering="ts", version=8)
    r = t.random
    t.turns(lambda: [row("k%d" % r.randrange(12), r.randrange(100), r.randrange(6),
                         _hoodie_is_deleted=r.choice((None, False, False, True))) for _ in range(8)], 6)


@test
def composite_key_two_partitions_two_orderings(folder):
    """Ordering by date or decimal is not here: Spark 1.2.0 fails to update even its own tables then (ClassCastException)."""
    types = {"id": "string", "n": "int", "p": "string", "q": "int", "v": "int", "d": "timestamp", "x": "string"}
    t = Turns(folder, "composite", types, "id,n", "p,q", "d,x", hive=True)
    r = t.random
    times = ["1969-12-31T23:59:59.999999Z", "2024-02-29T00:00:00.000000Z", "2024-02-29T00:00:00.000001Z"]
    t.turns(lambda: [{"id": r.choice(("a", "ä", "b c", "")), "n": r.randrange(3), "p": r.choice(("u", "v")), "q": r.randrange(2),
                      "v": r.randrange(100), "d": r.choice(times), "x": r.choice(("A", "a", "é"))} for _ in range(15)], 6)


@test
def other_ordering_types(folder):
    for kind, values in (("string", ["", "A", "a", "aa", "é"]), ("int", [-1, 0, 1, 2]), ("double", [-1.5, 0.0, 0.25])):
        t = Turns(folder, kind, {"id": "string", "v": "int", "ts": kind}, "id", ordering="ts")
        t.turns(lambda: [row("k%d" % t.random.randrange(6), t.random.randrange(100), t.random.choice(values)) for _ in range(8)], 4)


# --- replacing operations ----------------------------------------------------------------------------------------------------

class Overwrites(Turns):
    """Turns with the operations that replace file groups; the model forgets what they replace."""

    def replace(self, who, operation, rows):
        rows = [self.full(r) for r in rows]
        if who == "sluice":
            instant = write(self.table, operation, rows)["instant"]
        else:
            instant = self.spark.write(self.table, operation.replace("-", "_"), rows, ddl(self.types), option=self.options)
        touched = {self.model.identity(r)[0] for r in rows}
        self.model.state = {k: v for k, v in self.model.state.items() if operation == "insert-overwrite" and k[0] not in touched}
        self._done("%s %s" % (who, operation), instant, rows, operation)

    def delete_partition(self, who, path, named=None):
        if who == "sluice":
            support.sluice("delete-partition", self.table, named or path)
        else:
            self.spark.write(self.table, "delete_partition", [self.full({"id": "x", "v": 1, "ts": 1, "p": "x"})], ddl(self.types),
                             option=dict(self.options, **{"hoodie.datasource.write.partitions.to.delete": path}))
        self.model.state = {k: v for k, v in self.model.state.items() if k[0] != path}
        self.log.append("%s delete-partition %s" % (who, path))
        self.verify()


def overwrites(folder, **how):
    """Both writers replace what either wrote, and go on with upserts between."""
    t = Overwrites(folder, "over", {"id": "string", "v": "int", "p": "string", "ts": "long"}, "id", "p", "ts", **how)
    path = (lambda p: "p=" + p) if how.get("hive") else (lambda p: p)
    rows = lambda v, p, ids: [row(i, v, 10 + v, p=p) for i in ids]
    t.sluice(rows(1, "north", "abcdefgh") + rows(1, "south", "abcd"))
    t.replace("sluice", "insert-overwrite", rows(2, "north", "bcxy"))
    t.peer(rows(3, "north", "bzx") + rows(3, "south", "a"))
    t.replace("Spark", "insert-overwrite", rows(0, "north", "bcdw"))           # older values: replaced all the same
    t.sluice(rows(4, "north", "bv") + rows(4, "south", "e") + rows(4, "west", "a"))
    t.delete_partition("sluice", path("south"), "p=south")
    t.peer(rows(5, "south", "ab") + rows(5, "west", "b"))
    t.delete_partition("Spark", path("west"))
    t.sluice(rows(6, "west", "b") + rows(6, "south", "a"))
    t.replace("sluice", "insert-overwrite-table", rows(0, "south", "pq") + rows(0, "east", "p"))
    t.peer(rows(7, "south", "pr") + rows(7, "north", "b"))
    t.replace("Spark", "insert-overwrite-table", rows(0, "north", "bk"))
    t.sluice(rows(8, "north", "bl") + rows(8, "south", "p"))
    t.replace("sluice", "insert-overwrite-table", [])
    t.peer(rows(1, "north", "b"))
    t.sluice(rows(2, "north", "b"))


@test
def overwrites_version_9(folder):
    overwrites(folder)


@test
def overwrites_version_8_hive_style(folder):
    overwrites(folder, version=8, hive=True)


@test
def overwrites_simple_index(folder):
    overwrites(folder, index="simple")


# --- tables without a bucket index ---------------------------------------------------------------------------------------

def looked_up(folder, index, version):
    """Both find each other's keys, fill each other's small files, and add groups of their own."""
    t = Turns(folder, index, {"id": "string", "city": "string", "v": "int", "ts": "long"}, "id", "city", "ts", index=index,
              version=version)
    r = t.random
    tiny = ["-c", "hoodie.parquet.small.file.limit=0"]
    batch = lambda: [row("k%03d" % r.randrange(120), r.randrange(100), r.randrange(8), city=r.choice(("oslo", "lima")),
                         _hoodie_is_deleted=r.choice((None, False, False, True))) for _ in range(r.randrange(1, 40))]
    t.turns(batch, 6)
    fresh = [row("x%d" % i, i, 1, city="oslo") for i in range(20)]
    done = write(t.table, "upsert", [t.full(f) for f in fresh], *tiny)                      # a second group in the partition
    t._done("sluice upsert, new groups", done["instant"], [t.full(f) for f in fresh], "upsert")
    t.turns(batch, 6)


@test
def simple_index(folder):
    looked_up(folder, "simple", 9)


@test
def bloom_index_version_8(folder):
    looked_up(folder, "bloom", 8)


class MadeBySpark(Turns):
    """A table that Spark made and that names no index."""

    def __init__(self, folder, name, types, key, partition, ordering, rows, **option):
        self.random = random.Random("%s %d" % (name, SEED))
        self.spark, self.options = spark(), dict(BUCKETS_ONLY, **option)
        self.table, self.types = os.path.join(folder, name), dict(types, _hoodie_is_deleted="boolean")
        self.model, self.log = Model(self.types, key, partition, ordering, None, True), []
        rows = [self.full(r) for r in rows]
        instant = self.spark.write(self.table, "upsert", rows, ddl(self.types), type="cow", key=key, partition=partition,
                                   ordering=ordering, option=self.options)
        self._done("Spark makes it", instant, rows, "upsert")


@test
def made_by_spark(folder):
    """Rows in the order of their arrival, filters of Hudi's size; then sluice goes on by looking keys up."""
    made = [row("k%03d" % (i * 37 % 100), i, 1, city=("oslo", "lima")[i % 2]) for i in range(60)]
    t = MadeBySpark(folder, "made", {"id": "string", "city": "string", "v": "int", "ts": "long"}, "id", "city", "ts", made)
    r = t.random
    t.turns(lambda: [row("k%03d" % r.randrange(120), r.randrange(100), r.randrange(8), city=r.choice(("oslo", "lima")),
                         _hoodie_is_deleted=r.choice((None, False, False, True))) for _ in range(r.randrange(1, 40))], 6)


@test
def made_by_spark_in_buckets(folder):
    """No index is named here either, but a group of ours would break it: the bucket count must be given."""
    made = [row("k%03d" % i, i, 1, city="oslo") for i in range(40)]
    t = MadeBySpark(folder, "buckets", {"id": "string", "city": "string", "v": "int", "ts": "long"}, "id", "city", "ts", made,
                    **{"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"})
    rows = [t.full(row("k001", 7, 9, city="oslo")), t.full(row("new", 7, 9, city="lima"))]
    text = "".join(support.json.dumps(one) + "\n" for one in rows).encode()
    check("looks like one of a bucket index" in support.refused("upsert", t.table, "-", "--input-format", "jsonl", input=text),
          "refused for another reason")
    done = write(t.table, "upsert", rows, "-c", "hoodie.index.type=BUCKET", "-c", "hoodie.bucket.index.num.buckets=3")
    t._done("sluice upsert", done["instant"], rows, "upsert")
    t.peer(rows[:1])


# --- types -----------------------------------------------------------------------------------------------------------------

OLD_LISTS = "parquet.avro.write-old-list-structure"


def types_turns(folder, peer, columns):
    table = os.path.join(folder, "types")
    schema = "id string, ts long, " + ", ".join("%s %s" % (c[0], c[1]) for c in columns)
    create(table, schema, "id", None, "ts", ["--buckets", "2"])
    state = {}

    def step(who, rows):
        path = types_file(os.path.join(folder, "%d.parquet" % len(os.listdir(folder))), columns, rows)
        if who == "sluice":
            instant = write(table, "upsert", path)["instant"]
        else:
            instant = peer.write(table, "upsert", path, option=BUCKETS_ONLY)
        state.update(types_expected(path, {k: instant for k, _, _ in rows}))
        lines = support.canon.lines(state.values())
        same("sluice", query(table), "what was written", lines)
        same("Spark", peer.read(table), "what was written", lines)
        peer.validate(table)
        lsm_check(table)

    step("sluice", [("k%d" % i, i % 3, 1) for i in range(9)])
    step("Spark", [("k0", 1, 2), ("k4", 0, 2), ("new", 2, 1)])             # rewrites untouched rows of sluice's files
    step("sluice", [("k1", 0, 2), ("new", 0, 2), ("k9", 1, 1)])            # and the other way
    step("Spark", [("k%d" % i, i % 3 + 1, 3) for i in range(6)])


@test
def all_types(folder):
    types_turns(folder, spark(), TYPES)


@test
def null_elements(folder):
    """Needs a setting of Spark's Hadoop configuration (spec/parquet.md 8), so a Spark of its own."""
    peer = spark(**{OLD_LISTS: "false"})
    types_turns(folder, peer, TYPES[:1] + NULL_ELEMENTS)


if __name__ == "__main__":
    support.main()
