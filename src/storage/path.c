/* Paths as text: joining, parents, and the names of side files. Nothing here touches the disk. */
#include "storage/storage_int.h"

sl_status sl_path_join(const char *a, const char *b, char **out)
{
    size_t a_len = strlen(a);
    bool needs_slash = a_len > 0 && *b && a[a_len - 1] != '/';
    return sl_asprintf(out, "%s%s%s", a, needs_slash ? "/" : "", b);
}

bool sl_path_stays_below(const char *relative)
{
    for (const char *part = relative; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

const char *path_parent_part(const char *path, size_t *len)
{
    const char *slash = strrchr(path, '/');
    while (slash > path && slash[-1] == '/')
        slash--;
    *len = !slash || slash == path ? 1 : (size_t)(slash - path);
    return slash ? path : ".";
}

sl_status path_parent(const char *path, char **out)
{
    size_t len;
    const char *part = path_parent_part(path, &len);
    char *parent = sl_strndup(part, len);
    if (!parent)
        return sl_nomem();
    *out = parent;
    return SL_OK;
}

sl_status path_temporary(const char *path, char **out)
{
    char uuid[37];
    SL_TRY(sl_uuid4(uuid));
    return sl_asprintf(out, "%s.%s", path, uuid);
}

sl_status path_checksum_file(const char *path, char **out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *folder = sl_strndup(path, (size_t)(name - path));
    if (!folder)
        return sl_nomem();
    sl_status status = sl_asprintf(out, "%s.%s.crc", folder, name);
    sl_free(folder);
    return status;
}
