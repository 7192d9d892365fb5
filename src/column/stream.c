/* Streams to their end. */
#include "column/column.h"

sl_status sl_stream_drain(sl_stream *rows, const sl_runtime *runtime,
                          sl_status (*take)(void *context, sl_batch *batch), void *context)
{
    for (;;) {
        sl_batch *batch;
        SL_TRY(sl_check_cancel(runtime));
        SL_TRY(sl_stream_next(rows, &batch));
        if (!batch)
            return SL_OK;
        sl_status status = take(context, batch);
        sl_batch_unref(batch);
        SL_TRY(status);
    }
}
