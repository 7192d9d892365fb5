/*
 * The files that slices have open: one account for the whole process. Half of what the system allows it is theirs
 * (RLIMIT_NOFILE), the other half belongs to the program whose library we are.
 *
 * Each slice that is worked on has its share; where that would be less than a merge needs, fewer slices are worked on at once.
 * Whoever merges while others do (a second scan, a compaction beside a query) takes what they leave, and never waits for them: a
 * program may hold many streams open and read them in turns.
 */
#include "slice/slice_int.h"
#include <sys/resource.h>

#define SHARE 2 /* half of the file descriptors */
/* Of a slice besides runs: four temporary files (merge/passes.c), and files that are written. */
#define BESIDE    7
#define KEPT_MOST 64 /* files of a slice that stay open from its opening to its end */

static atomic_size_t taken;

static size_t all_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return (size_t)files.rlim_cur / SHARE;
}

size_t slice_files_for(size_t users) { return all_files() / users; }

bool slice_keeps_files(const sl_runtime *runtime, size_t count)
{
    return count <= KEPT_MOST && count <= sl_slice_runs_share(runtime);
}

size_t sl_slices_at_once(const sl_runtime *runtime)
{
    size_t threads = runtime->pool ? sl_pool_threads(runtime->pool) : 1;
    size_t fit = all_files() / (SL_MERGE_OPEN_LEAST + BESIDE);
    return fit < 1 ? 1 : fit < threads ? fit : threads;
}

size_t sl_slice_runs_share(const sl_runtime *runtime)
{
    size_t files = all_files(), now = atomic_load(&taken), share = files / sl_slices_at_once(runtime);
    size_t left = files > now ? files - now : 0;
    if (left < share)
        share = left;
    return share < SL_MERGE_OPEN_LEAST + BESIDE ? SL_MERGE_OPEN_LEAST : share - BESIDE;
}

size_t slice_runs_take(size_t runs)
{
    size_t files = runs < SIZE_MAX - BESIDE ? runs + BESIDE : runs;
    atomic_fetch_add(&taken, files);
    return files;
}

void slice_files_give_back(size_t files) { atomic_fetch_sub(&taken, files); }
