/* Stands in until inline_log.c is there, so that the rest links. DELETE THIS FILE when src/log/inline_log.c arrives. */
#include "log/log.h"

sl_status sl_inline_log_read(sl_file *file, const sl_type *schema, const sl_type *delete_schema, const sl_runtime *runtime, struct sl_inline_log *out)
{
    (void)schema, (void)delete_schema, (void)runtime, (void)out;
    return sl_unsupported("inline log %s", sl_file_path(file));
}

void sl_inline_log_free(struct sl_inline_log *log) { (void)log; }
