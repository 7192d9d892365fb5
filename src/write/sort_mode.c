/*
 * Sort modes of bulk-insert (spec/lsm-layout.md 14). Whatever the mode, rows of a file are sorted by record key here, which is
 * more than some modes promise; so a mode only has to be one that the layout allows. Orders of the user's own are not built.
 */
#include "write/write_int.h"
#include <string.h>

#define MODE        "hoodie.bulkinsert.sort.mode"
#define PARTITIONER "hoodie.bulkinsert.user.defined.partitioner.class"
#define COLUMNS     "hoodie.bulkinsert.user.defined.partitioner.sort.columns"

static sl_status refuse_own_order(const sl_table *table)
{
    static const char *const keys[] = {PARTITIONER, COLUMNS};
    for (size_t i = 0; i < 2; i++) {
        const char *value = sl_table_setting(table, keys[i], "");
        if (*value && table->layout == SL_LAYOUT_LSM)
            return sl_unsupported("%s=%s: the files of an lsm_tree table are sorted by record key", keys[i],
                                  value);
        if (*value)
            return sl_unsupported("%s=%s (bulk-insert sorts by partition and record key)", keys[i], value);
    }
    return SL_OK;
}

sl_status sort_mode_check(const sl_table *table, enum sl_operation operation)
{
    static const struct {
        const char *name;
        bool gives_order;
    } modes[] = {
        {"NONE", false},
        {"GLOBAL_SORT", true},
        {"PARTITION_SORT", true},
        {"PARTITION_PATH_REPARTITION", false},
        {"PARTITION_PATH_REPARTITION_AND_SORT", true},
    };
    if (operation != SL_OP_BULK_INSERT)
        return SL_OK;
    SL_TRY(refuse_own_order(table));
    const char *mode = sl_table_setting(table, MODE, "GLOBAL_SORT");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) != 0)
            continue;
        if (modes[i].gives_order || table->layout != SL_LAYOUT_LSM || table->buckets.buckets)
            return SL_OK;
        return sl_hint(
            sl_input(MODE "=%s gives files no order, which an lsm_tree table needs", mode),
            "GLOBAL_SORT, PARTITION_SORT and PARTITION_PATH_REPARTITION_AND_SORT do; a bucket index "
            "sorts by itself");
    }
    return sl_hint(sl_input(MODE " is \"%s\"", mode),
                   "NONE, GLOBAL_SORT, PARTITION_SORT, PARTITION_PATH_REPARTITION or "
                   "PARTITION_PATH_REPARTITION_AND_SORT");
}
