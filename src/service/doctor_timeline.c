/* The timeline by itself: every file of it can be read, times go forward, nobody left work undone. */
#include "service/doctor_int.h"
#include <string.h>

static sl_status check_content(struct doctor *d, const sl_instant *instant, enum sl_instant_state state)
{
    char name[96];
    json_t *content = NULL;
    sl_instant_file(instant, state, name);
    sl_status status = sl_instant_json(d->table, instant, state, &content);
    json_decref(content);
    return doctor_fault(d, "timeline", name, status);
}

/* Whether somebody is at work could only be told by asking for a lock, and who only looks takes none. */
static sl_status check_pending(struct doctor *d, const sl_instant *instant)
{
    char name[96];
    sl_instant_file(instant, instant->state, name);
    if (!sl_action_is_service(instant->action))
        return doctor_find(d, DOCTOR_WARNING, "timeline", name,
                           "not completed: its writer runs, or is gone (then the next write rolls it back)");
    return instant->state == SL_INFLIGHT
               ? doctor_find(d, DOCTOR_WARNING, "timeline", name,
                             "the %s was begun and not completed: it runs, or the one who ran it is gone",
                             sl_action_name(instant->action))
               : SL_OK; /* a plan may wait */
}

static sl_status check_instant(struct doctor *d, const sl_instant *instant)
{
    char name[96];
    if (instant->action == SL_ACTION_UNKNOWN)
        return SL_OK;
    if (instant->has_requested)
        SL_TRY(check_content(d, instant, SL_REQUESTED));
    if (instant->has_inflight)
        SL_TRY(check_content(d, instant, SL_INFLIGHT));
    if (instant->state != SL_COMPLETED)
        return check_pending(d, instant);
    SL_TRY(check_content(d, instant, SL_COMPLETED));
    sl_instant_file(instant, SL_COMPLETED, name);
    if (*instant->completed && strcmp(instant->completed, instant->requested) < 0)
        return doctor_find(d, DOCTOR_ERROR, "timeline", name, "completed before it was requested");
    return SL_OK;
}

sl_status doctor_check_timeline(struct doctor *d)
{
    sl_timeline timeline;
    sl_status status = sl_timeline_load(d->table, &timeline);
    if (status)
        return doctor_fault(d, "timeline", ".hoodie/timeline", status);
    for (size_t i = 0; i < timeline.count && !status; i++)
        status = check_instant(d, &timeline.instants[i]);
    atomic_store(&d->instants, timeline.count);
    sl_timeline_free(&timeline);
    return status;
}
