/* Paths that other programs read from a table's plans must not depend on the folder we were started in. */
#include "storage/storage.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES_MAX 65536

sl_status sl_path_absolute(const char *path, char **out)
{
    if (*path == '/') {
        *out = sl_strdup(path);
        return *out ? SL_OK : sl_nomem();
    }
    char *here = sl_malloc(PATH_BYTES_MAX);
    if (!here)
        return sl_nomem();
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    sl_status status = getcwd(here, PATH_BYTES_MAX)
                           ? sl_path_join(here, strcmp(path, ".") == 0 ? "" : path, out)
                           : sl_io("current folder: %s", strerror(errno));
    sl_free(here);
    return status;
}
