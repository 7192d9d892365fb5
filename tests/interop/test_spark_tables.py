"""Tables that Spark 1.2.0 made, with what sluice does not write itself: logs of merge-on-read tables, compactions, log
compactions, clustering, overwrites, cleaning, archiving. sluice's query equals Spark's read.
Where sluice would damage such a table by writing, it refuses."""

import os
import random

import support
from support import SEED, ddl, check, lsm_check, query, refused, same, spark, test, write

TYPES = {"id": "string", "city": "string", "v": "int", "ts": "long"}
WITHOUT_MDT = {"hoodie.metadata.enable": "false"}


class SparkTable:
    def __init__(self, folder, name, how=None, **first):
        self.random = random.Random("%s %d" % (name, SEED))
        self.table, self.spark, self.option = os.path.join(folder, name), spark(), dict(how or {})
        self.spark.write(self.table, "upsert", self.rows(30), ddl(TYPES), **dict(
            {"key": "id", "ordering": "ts", "partition": "city", "option": self.option}, **first))
        self.verify("creation")

    def rows(self, n=10):
        r = self.random
        return [{"id": "k%02d" % r.randrange(40), "city": r.choice(("oslo", "lima")), "v": r.randrange(1000), "ts": r.randrange(10)}
                for _ in range(n)]

    def upsert(self, operation="upsert", **how):
        self.spark.write(self.table, operation, self.rows(), ddl(TYPES), option=self.option, **how)
        self.verify(operation)

    def service(self, command, **how):
        try:
            self.spark.call(command, self.table, **how)
        except support.PeerFailed as e:          # when all updates went into new base files of small files
            check("nothing to do" in str(e), "%s", e)
        self.verify(command)

    def verify(self, what):
        try:
            same("sluice", query(self.table), "Spark", self.spark.read(self.table))
        except (AssertionError, support.CommandFailed) as e:
            raise AssertionError("after %s:\n%s" % (what, e))

    def read_optimized(self):
        same("sluice, read-optimized", query(self.table, "--read-optimized"), "Spark", self.spark.read(self.table, read_optimized=True))


@test
def merge_on_read(folder):
    """Upserts and deletes in logs, compaction, log compaction, a plan that waits."""
    for version in (9, 8):
        t = SparkTable(folder, "mor%d" % version, dict(WITHOUT_MDT), type="mor", table_version=version)
        t.upsert()
        t.upsert("delete")
        t.upsert()
        t.read_optimized()
        if version == 9:
            t.service("logcompact")
            t.upsert()
        t.service("compact")
        t.read_optimized()
        t.upsert()
        t.service("compact", schedule_only=True)
        t.upsert()
        t.upsert("delete")


@test
def merge_on_read_with_buckets_and_metadata(folder):
    t = SparkTable(folder, "t", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}, type="mor")
    for _ in range(3):
        t.upsert()
    t.service("compact")
    t.upsert("delete")


@test
def commit_time_merge_on_read(folder):
    t = SparkTable(folder, "t", dict(WITHOUT_MDT, **{"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}), type="mor")
    for operation in ("upsert", "delete", "upsert"):
        t.upsert(operation)
    t.service("compact")


@test
def copy_on_write_services(folder):
    """Overwrites, clustering, cleaning and archiving; groups that are replaced must not be read."""
    t = SparkTable(folder, "t", dict(WITHOUT_MDT), type="cow")
    t.upsert()
    t.service("cluster")
    t.upsert()
    t.upsert("insert_overwrite")
    t.service("clean")
    for _ in range(4):
        t.upsert()
    t.service("archive")
    t.upsert("delete")
    t.upsert("insert_overwrite_table")


@test
def version_6_is_refused(folder):
    """The flat timeline of old tables is not read; that is said, not guessed at."""
    table = os.path.join(folder, "t")
    rows = [{"id": "a", "city": "oslo", "v": 1, "ts": 1}]
    spark().write(table, "upsert", rows, ddl(TYPES), type="cow", key="id", ordering="ts", table_version=6, option=WITHOUT_MDT)
    for command in (["query", table], ["info", table]):
        said = refused(*command)
        check("version 6" in said, "what `%s` says: %s", command[0], said)


@test
def savepoint_and_restore(folder):
    t = SparkTable(folder, "t", dict(WITHOUT_MDT), type="cow")
    t.upsert()
    kept = support.last_commit(t.table)
    t.service("savepoint", instant=kept)
    t.upsert()
    t.service("restore", instant=kept)
    t.upsert()


@test
def time_travel(folder):
    t = SparkTable(folder, "t", dict(WITHOUT_MDT), type="mor")
    seen = {}
    for _ in range(3):
        t.upsert()
        seen[support.last_commit(t.table)] = t.spark.read(t.table)
    t.service("compact")
    t.upsert()
    for instant, lines in seen.items():
        same("sluice as of " + instant, query(t.table, "--as-of", instant), "Spark then", lines)


ONE = b'{"id":"k01","city":"oslo","v":1,"ts":99}\n'


def refused_untouched(t, *options):
    """What the refusal says. What is found only while writing leaves a rollback on the timeline, and nothing else."""
    before = support.last_commit(t.table), support.data_files(t.table)
    said = refused("upsert", t.table, "-", "--input-format", "jsonl", *options, input=ONE)
    check((support.last_commit(t.table), support.data_files(t.table)) == before, "the refusal changed the table")
    t.verify("a refused write")
    return said


@test
def other_indexes_are_refused(folder):
    """A bucket write into groups that another index made would split keys over two groups."""
    t = SparkTable(folder, "t", dict(WITHOUT_MDT), type="cow")
    said = refused_untouched(t, "-c", "hoodie.index.type=GLOBAL_SIMPLE")
    check("GLOBAL_SIMPLE" in said, "what it says: %s", said)
    refused_untouched(t, "-c", "hoodie.index.type=BUCKET", "-c", "hoodie.bucket.index.num.buckets=2")


@test
def bucket_tables_of_spark(folder):
    """Spark does not store the index: it must be named, and a wrong count is refused."""
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    t = SparkTable(folder, "t", dict(WITHOUT_MDT, **buckets), type="cow")
    check("hoodie.bucket.index.num.buckets" in refused_untouched(t), "the refusal names the setting")
    refused_untouched(t, "-c", "hoodie.index.type=BUCKET", "-c", "hoodie.bucket.index.num.buckets=2")
    write(t.table, "upsert", t.rows(), *support.settings(buckets))
    t.verify("an upsert by sluice")
    t.upsert()
    t.spark.validate(t.table)
    lsm_check(t.table)


if __name__ == "__main__":
    support.main()
