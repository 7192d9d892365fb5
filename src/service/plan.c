/* HoodieCompactionPlan, of both kinds (spec/lsm-layout.md 12, spec/timeline.md 5.2). */
#include "service/service_int.h"

#define FILE_BYTES_MAX ((uint64_t)120 << 20) /* hoodie.parquet.max.file.size, the default */

/* Whole megabytes, as Hudi counts them. */
static double megabytes(uint64_t bytes) { return (double)(bytes >> 20); }

/* Read: base and logs; write: the base again, or a whole file when there is none (spec/write-path.md 9). */
double operation_megabytes(const struct candidate *item, double *read, double *write)
{
    uint64_t base = item->slice->base ? item->slice->base->size : 0;
    *read = megabytes(base + item->log_bytes);
    *write = megabytes(item->slice->base ? base : FILE_BYTES_MAX);
    return *read + *write;
}

/* A log that the plan leaves out is one whose rows nobody sees again once the plan is carried out. */
static sl_status log_names_json(const struct candidate *item, json_t **out)
{
    json_t *logs = json_array();
    sl_status status = SL_OK;
    for (size_t i = 0; i < item->log_count && !status; i++)
        status = sl_json_append(logs, json_string(item->logs[i]->name));
    if (status)
        json_decref(logs);
    else
        *out = logs;
    return status;
}

static sl_status operation_json(const struct candidate *item, json_t **out)
{
    double read, write, total = operation_megabytes(item, &read, &write);
    json_t *logs;
    SL_TRY(log_names_json(item, &logs));
    *out = json_pack("{s:s, s:o, s:s?, s:s, s:s, s:{s:f, s:f, s:f, s:f, s:f}, s:n}", "baseInstantTime",
                     item->slice->base_instant, "deltaFilePaths", logs, "dataFilePath",
                     item->slice->base ? item->slice->base->name : NULL, "fileId", item->group->file_id,
                     "partitionPath", item->group->partition, "metrics", "TOTAL_LOG_FILES",
                     (double)item->log_count, "TOTAL_LOG_FILES_SIZE", (double)item->log_bytes,
                     "TOTAL_IO_READ_MB", read, "TOTAL_IO_WRITE_MB", write, "TOTAL_IO_MB", total,
                     "bootstrapFilePath");
    return *out ? SL_OK : sl_nomem();
}

/* A log compaction names its executor and says that the rows' meta fields stay; they do in a compaction too, although its
 * plan says otherwise. */
static json_t *strategy_json(enum sl_service service)
{
    return service == SL_LOG_COMPACT
               ? json_pack("{s:s, s:{}, s:i}", "compactorClassName",
                           "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper",
                           "strategyParams", "version", 1)
               : json_null();
}

sl_status plan_json(enum sl_service service, const struct candidates *c, json_t **out)
{
    json_t *operations = json_array(), *operation;
    sl_status status = SL_OK;
    for (size_t i = 0; i < c->count && !status; i++) {
        status = operation_json(&c->items[i], &operation);
        if (!status)
            status = sl_json_append(operations, operation);
    }
    if (status) {
        json_decref(operations);
        return status;
    }
    *out = json_pack("{s:o, s:{}, s:i, s:o, s:b, s:[]}", "operations", operations, "extraMetadata", "version",
                     2, "strategy", strategy_json(service), "preserveHoodieMetadata",
                     service == SL_LOG_COMPACT, "missingSchedulePartitions");
    return *out ? SL_OK : sl_nomem();
}
