/* The one system call that POSIX does not have: rename without replacing, for file systems without hard
 * links. */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>

#include "storage/storage_int.h"

int local_rename_exclusive(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}
