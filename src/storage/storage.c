/* Which storage serves a URI, and the dispatch of the calls on paths. */
#include "storage/storage_int.h"

static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Length of the scheme of "scheme://..." (RFC 3986 3.1), 0 when `uri` is a plain path. */
static size_t scheme_length(const char *uri)
{
    size_t n = 0;
    if (!is_alpha(uri[0]))
        return 0;
    while (is_alpha(uri[n]) || (uri[n] >= '0' && uri[n] <= '9') || uri[n] == '+' || uri[n] == '-' ||
           uri[n] == '.')
        n++;
    bool is_uri = strncmp(uri + n, "://", 3) == 0;
    bool is_short_file_uri = n == 4 && strncmp(uri, "file:/", 6) == 0; /* as Hadoop writes them */
    return is_uri || is_short_file_uri ? n : 0;
}

/* Where the path of a file URI begins, or NULL for another machine's. */
static const char *path_of_file_uri(const char *uri)
{
    const char *rest = uri + strlen("file:");
    if (strncmp(rest, "//", 2) != 0)
        return rest;
    rest += 2;
    if (strncmp(rest, "localhost/", 10) == 0)
        rest += 9;
    return *rest == '/' ? rest : NULL;
}

static sl_status local_path_of_uri(const char *uri, const char **path)
{
    size_t scheme = scheme_length(uri);
    *path = uri;
    if (scheme == 0)
        return SL_OK;
    if (scheme != 4 || strncmp(uri, "file", 4) != 0)
        return sl_unsupported("%s: storage \"%.*s\" is not supported; only local files are", uri, (int)scheme,
                              uri);
    *path = path_of_file_uri(uri);
    return *path ? SL_OK : sl_unsupported("%s: files of another host are not supported", uri);
}

sl_status sl_storage_for_uri(const char *uri, sl_storage **out, char **path)
{
    const char *text;
    SL_TRY(local_path_of_uri(uri, &text));
    size_t len = strlen(text);
    while (len > 1 && text[len - 1] == '/')
        len--;
    if (len == 0)
        return sl_input("the path is empty");
    char *copy = sl_strndup(text, len);
    if (!copy)
        return sl_nomem();
    sl_status status = sl_storage_local(out);
    if (status) {
        sl_free(copy);
        return status;
    }
    *path = copy;
    return SL_OK;
}

void sl_storage_free(sl_storage *storage)
{
    if (storage)
        storage->vtable->free(storage);
}

sl_status sl_storage_open(sl_storage *storage, const char *path, sl_file **out)
{
    return storage->vtable->open(storage, path, out);
}

sl_status sl_storage_create(sl_storage *storage, const char *path, sl_output **out)
{
    return storage->vtable->create(storage, path, out);
}

sl_status sl_storage_create_if_absent(sl_storage *storage, const char *path, const void *data, size_t len)
{
    return storage->vtable->create_if_absent(storage, path, data, len);
}

sl_status sl_storage_create_empty(sl_storage *storage, char *const *paths, size_t count, const char *top)
{
    return storage->vtable->create_empty(storage, paths, count, top);
}

sl_status sl_storage_replace(sl_storage *storage, const char *path, const void *data, size_t len)
{
    return storage->vtable->replace(storage, path, data, len);
}

sl_status sl_storage_make_dir(sl_storage *storage, const char *path)
{
    return storage->vtable->make_dir(storage, path);
}

sl_status sl_storage_delete(sl_storage *storage, const char *path)
{
    return storage->vtable->delete_file(storage, path);
}

sl_status sl_storage_delete_tree(sl_storage *storage, const char *path)
{
    return storage->vtable->delete_tree(storage, path);
}

sl_status sl_storage_delete_folder(sl_storage *storage, const char *path, bool *gone)
{
    return storage->vtable->delete_folder(storage, path, gone);
}

sl_status sl_storage_stat(sl_storage *storage, const char *path, sl_entry *out)
{
    return storage->vtable->stat(storage, path, out);
}

sl_status sl_storage_exists(sl_storage *storage, const char *path, bool *exists)
{
    sl_entry entry;
    sl_status status = sl_storage_stat(storage, path, &entry);
    if (status && sl_status_code(status) != SL_E_NOT_FOUND)
        return status;
    *exists = !status;
    sl_status_free(status);
    return SL_OK;
}

static sl_status read_whole(sl_file *file, size_t max, sl_buf *out)
{
    uint64_t size = sl_file_size(file);
    if (size > max)
        return sl_corrupt("%s: %" PRIu64 " bytes are more than the %zu expected at most", sl_file_path(file),
                          size, max);
    SL_TRY_CTX(sl_buf_reserve(out, (size_t)size + 1), "%s", sl_file_path(file));
    SL_TRY(sl_file_read_at(file, 0, out->data + out->len, (size_t)size));
    out->len += (size_t)size;
    out->data[out->len] = 0;
    return SL_OK;
}

sl_status sl_storage_read_all(sl_storage *storage, const char *path, size_t max, sl_buf *out)
{
    sl_file *file;
    SL_TRY(sl_storage_open(storage, path, &file));
    sl_status status = read_whole(file, max, out);
    sl_file_close(file);
    return status;
}
