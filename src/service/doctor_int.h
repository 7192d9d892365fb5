/* Private to the doctor_*.c files. */
#ifndef SL_SERVICE_DOCTOR_INT_H
#define SL_SERVICE_DOCTOR_INT_H

#include "service/service.h"
#include <pthread.h>

/* A file as a completed commit names it. */
struct named_file {
    char *path; /* relative to the table */
    char instant[SL_INSTANT_BYTES];
    struct sl_file_name parts;
    int64_t bytes, rows, deletes;
    bool listed; /* a file of this path is there */
    char *
        beside; /* of a change data log: the base file whose stat names it; `rows`: no more changes than that */
};

struct doctor {
    sl_table *table;
    bool deep;
    sl_view view;
    const sl_type *data, *schema; /* of the table: without and with meta columns; NULL: an empty table */
    struct named_file *named;     /* by path */
    size_t named_count, named_cap;
    sl_strings replaced; /* "partition/file id" of replaced groups */
    sl_strings unread;   /* instants of commits that could not be read: nobody knows which files are theirs */
    pthread_mutex_t mutex; /* guards what follows */
    json_t *findings;
    atomic_uint_fast64_t instants, files, rows, bytes;
};

enum severity { DOCTOR_ERROR, DOCTOR_WARNING, DOCTOR_UNCHECKED };

/* One finding. `check` is a word for the kind of check, `place` the file or folder below the table. */
SL_MUST_USE sl_status doctor_find(struct doctor *d, enum severity severity, const char *check,
                                  const char *place, const char *format, ...) SL_PRINTF(5, 6);
/* A failed look at the table is a finding: damage, or nothing but a place that could not be looked at, where the system refused
 * (SL_E_IO: too many open files, no permission). A failure of ours (memory, cancelled) is returned. Takes over `status`. */
SL_MUST_USE sl_status doctor_fault(struct doctor *d, const char *check, const char *place, sl_status status);

SL_MUST_USE sl_status doctor_check_timeline(struct doctor *d);
SL_MUST_USE sl_status doctor_check_commits(struct doctor *d); /* what commits say against what is there */
SL_MUST_USE sl_status doctor_check_names(struct doctor *d);
SL_MUST_USE sl_status doctor_check_files(struct doctor *d); /* footers; deep: every row */
SL_MUST_USE sl_status doctor_check_keys(struct doctor *d);  /* deep: uniqueness in what a reader sees */
struct named_file *doctor_named(const struct doctor *d, const char *path); /* NULL: no commit names it */
bool doctor_commit_is_active(const struct doctor *d,
                             const char *instant); /* completed, not archived, and read */
/* A change data log that lies in a partition; then, when all were looked at, those that do not. */
SL_MUST_USE sl_status doctor_check_change_log(struct doctor *d, const char *place, const char *instant,
                                              uint64_t bytes);
SL_MUST_USE sl_status doctor_check_missing_changes(struct doctor *d);

#endif
