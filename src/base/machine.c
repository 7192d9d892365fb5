/* What the machine offers, or the cgroup (container) that holds us, when that is less. */
#include "base/base.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

/* First line of a small system file, without its end; false when there is none. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool found = fgets(line, (int)size, f) != NULL;
    fclose(f);
    if (found)
        line[strcspn(line, "\n")] = 0;
    return found;
}

/* The line of `file` in our own cgroup (v2), else in the root that a container sees. */
static bool cgroup_line(const char *file, char *line, size_t size)
{
    char own[512], path[1024];
    if (read_line("/proc/self/cgroup", own, sizeof own) && strncmp(own, "0::", 3) == 0) {
        snprintf(path, sizeof path, CGROUP_ROOT "%s/%s", own + 3, file);
        if (read_line(path, line, size))
            return true;
    }
    snprintf(path, sizeof path, CGROUP_ROOT "/%s", file);
    return read_line(path, line, size);
}

unsigned sl_cpu_count(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned count = online > 0 ? (unsigned)online : 1;
    char line[128];
    uint64_t quota, period; /* microseconds of processor time in each period; "max" does not parse */
    if (cgroup_line("cpu.max", line, sizeof line) &&
        sscanf(line, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period > 0) {
        uint64_t allowed = quota / period + (quota % period != 0);
        if (allowed > 0 && allowed < count)
            count = (unsigned)allowed;
    }
    return count;
}

/* Each has a file open, and the outputs that wait for it are open, too. */
#define FILES_A_DISK_THREAD 16

unsigned sl_disk_threads(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return SL_DISK_THREADS_MAX;
    uint64_t fit = (uint64_t)files.rlim_cur / FILES_A_DISK_THREAD;
    return fit < 1 ? 1 : fit < SL_DISK_THREADS_MAX ? (unsigned)fit : SL_DISK_THREADS_MAX;
}

uint64_t sl_memory_total(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t total = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_C(1) << 30;
    char line[128];
    uint64_t limit;
    bool found = cgroup_line("memory.max", line, sizeof line) ||
                 read_line(CGROUP_ROOT "/memory/memory.limit_in_bytes", line, sizeof line);
    if (found && sscanf(line, "%" SCNu64, &limit) == 1 && limit > 0 && limit < total)
        total = limit;
    return total;
}
