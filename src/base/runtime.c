#include "base/base.h"
#include <stdio.h>

#define LOG_LINE_MAX 2048
#define LOG_WARNING  1

sl_status sl_check_cancel(const sl_runtime *runtime)
{
    if (runtime && runtime->cancel && atomic_load_explicit(runtime->cancel, memory_order_relaxed))
        return sl_errorf(SL_E_CANCELLED, "cancelled");
    return SL_OK;
}

void sl_warn(const sl_runtime *runtime, const char *format, ...)
{
    if (!runtime || !runtime->on_log)
        return;
    char line[LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    runtime->on_log(runtime->log_context, LOG_WARNING, line);
}

void sl_progress(const sl_runtime *runtime, const char *step, uint64_t done, uint64_t total)
{
    if (runtime && runtime->on_progress)
        runtime->on_progress(runtime->progress_context, step, done, total);
}
