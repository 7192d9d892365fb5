"""Tables with a metadata table that Spark built: sluice does not maintain it, so it must refuse to write or take it out of
service (spec/metadata-table.md 8); anything else would lose rows without a word."""

import os

import support
from support import Model, check, create, ddl, lsm_check, properties, query, refused, same, spark, test, write

TYPES = {"id": "string", "v": "int", "city": "string", "ts": "long"}
WITH = {"hoodie.metadata.enable": "true"}
WITHOUT = {"hoodie.metadata.enable": "false"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


def rows(keys, v, ts, city="oslo"):
    return [{"id": k, "v": v, "city": city, "ts": ts} for k in keys]


def listed(table):
    return properties(table).get("hoodie.table.metadata.partitions", "")


class Table:
    def __init__(self, folder, by_spark):
        self.table, self.spark = os.path.join(folder, "t"), spark()
        self.model = Model(TYPES, "id", "city", "ts")
        self.c = []
        if by_spark:
            first = rows("abcdef", 1, 1)
            self.model.write(self.spark.write(self.table, "upsert", first, ddl(TYPES), type="cow", key="id", partition="city",
                                              ordering="ts", option=dict(WITH, **BUCKETS)), first)
            self.c = support.settings(BUCKETS)
            self.options = BUCKETS
        else:
            create(self.table, ddl(TYPES), "id", "city", "ts", ["--buckets", "2"])
            self.options = {}
            self.sluice(rows("abcdef", 1, 1))
            self.peer(rows("ag", 2, 2), WITH)

    def sluice(self, batch, *options):
        self.model.write(write(self.table, "upsert", batch, *self.c, *options)["instant"], batch)

    def peer(self, batch, option):
        self.model.write(self.spark.write(self.table, "upsert", batch, ddl(TYPES), option=dict(option, **self.options)), batch)

    def verify(self):
        lines = self.model.lines()
        same("sluice", query(self.table), "model", lines)
        same("Spark without the metadata table", self.spark.read(self.table, option=WITHOUT), "model", lines)
        same("Spark with it", self.spark.read(self.table, option=WITH), "model", lines)
        same("Spark by default", self.spark.read(self.table), "model", lines)
        self.spark.validate(self.table)
        lsm_check(self.table)


def story(t):
    check("files" in listed(t.table), "Spark built a metadata table: %r", listed(t.table))
    t.verify()
    before = support.timeline(t.table), support.data_files(t.table), properties(t.table)

    said = refused("upsert", t.table, "-", "--input-format", "jsonl", *t.c, input=b'{"id":"a","v":9,"city":"oslo","ts":9}\n')
    check("metadata table" in said and "hoodie.metadata.enable" in said, "what the refusal says: %s", said)
    check((support.timeline(t.table), support.data_files(t.table), properties(t.table)) == before, "the refusal changed the table")
    said = refused("delete", t.table, "-", "--input-format", "jsonl", *t.c, input=b'{"id":"a","city":"oslo"}\n')
    check("metadata table" in said, "what the refusal says: %s", said)
    t.verify()

    t.sluice(rows("abh", 3, 3) + rows("x", 3, 3, "lima"), "-c", "hoodie.metadata.enable=false")
    check(listed(t.table) == "", "the properties still list %r", listed(t.table))
    check(not os.path.exists(os.path.join(t.table, ".hoodie", "metadata")), "the metadata table's folder is still there")
    t.verify()
    t.sluice(rows("bci", 4, 4))                  # nothing to refuse any more
    t.verify()

    t.peer(rows("aj", 5, 5) + rows("xy", 5, 5, "lima"), WITH)              # builds it anew, from what sluice wrote too
    check("files" in listed(t.table), "Spark built the metadata table again: %r", listed(t.table))
    t.verify()
    t.peer(rows("bcdk", 6, 6), WITH)             # and maintains it
    t.verify()
    check("metadata table" in refused("upsert", t.table, "-", "--input-format", "jsonl", *t.c, input=b'{"id":"a","city":"oslo","ts":9}\n'),
          "refused again")


@test
def table_of_sluice(folder):
    story(Table(folder, by_spark=False))


@test
def table_of_spark(folder):
    """Spark does not store the bucket index in the properties: sluice is told, as Spark must be."""
    story(Table(folder, by_spark=True))


if __name__ == "__main__":
    support.main()
