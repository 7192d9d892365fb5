/*
 * Errors. An error is one malloc'ed object with its text; it does not use sl_malloc, so that tests which make
 * allocations fail still see the true message. When even that memory is missing, a static object stands in.
 */
#include "base/base.h"
#include <stdio.h>

#define MESSAGE_MAX 4096 /* a message may quote a file's content: it must not grow without bound */

struct sl_error {
    enum sl_code code;
    bool is_static; /* never changed, never freed */
    int64_t row;    /* -1: of none */
    char *context;  /* said outside the row; NULL: nothing */
    char *message;
    char *text; /* context, row and message together, once somebody asked */
    char *hint;
};

static char no_memory_message[] = "out of memory";
static struct sl_error no_memory = {SL_E_MEMORY, true, -1, NULL, no_memory_message, NULL, NULL};

sl_status sl_nomem(void) { return &no_memory; }

/* Formats at most MESSAGE_MAX - 1 bytes; "..." marks a cut. NULL when out of memory. */
static char *format_bounded(const char *format, va_list args)
{
    char text[MESSAGE_MAX];
    int len = vsnprintf(text, sizeof text, format, args);
    if (len < 0) {
        text[0] = 0;
        len = 0;
    } else if ((size_t)len >= sizeof text) {
        size_t cut = sl_utf8_cut(text, sizeof text - 4);
        memcpy(text + cut, "...", 4);
        len = (int)cut + 3;
    }
    char *copy = malloc((size_t)len + 1);
    if (copy) {
        memcpy(copy, text, (size_t)len);
        copy[len] = 0;
    }
    return copy;
}

static sl_status error_new(enum sl_code code, const char *format, va_list args)
{
    struct sl_error *error = calloc(1, sizeof *error);
    if (!error)
        return sl_nomem();
    error->code = code;
    error->row = -1;
    error->message = format_bounded(format, args);
    if (!error->message) {
        free(error);
        return sl_nomem();
    }
    return error;
}

sl_status sl_errorf(enum sl_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sl_status status = error_new(code, format, args);
    va_end(args);
    return status;
}

#define DEFINE_ERROR(name, code)                                                                             \
    sl_status name(const char *format, ...)                                                                  \
    {                                                                                                        \
        va_list args;                                                                                        \
        va_start(args, format);                                                                              \
        sl_status status = error_new(code, format, args);                                                    \
        va_end(args);                                                                                        \
        return status;                                                                                       \
    }

DEFINE_ERROR(sl_input, SL_E_INPUT)
DEFINE_ERROR(sl_corrupt, SL_E_CORRUPT)
DEFINE_ERROR(sl_unsupported, SL_E_UNSUPPORTED)
DEFINE_ERROR(sl_not_found, SL_E_NOT_FOUND)
DEFINE_ERROR(sl_io, SL_E_IO)
DEFINE_ERROR(sl_internal, SL_E_INTERNAL)

static char *format_parts(const char *format, ...) SL_PRINTF(1, 2);
static char *format_parts(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = format_bounded(format, args);
    va_end(args);
    return text;
}

static void forget_text(sl_status status)
{
    free(status->text);
    status->text = NULL;
}

/* "<before>: <*text>" in place of *text, or `before` where there was none. Context is a help, not the message: when there is
 * no memory for it, the status goes on without. */
static void put_before(const char *before, char **text)
{
    char *joined = *text ? format_parts("%s: %s", before, *text) : format_parts("%s", before);
    if (!joined)
        return;
    free(*text);
    *text = joined;
}

sl_status sl_context(sl_status status, const char *format, ...)
{
    if (!status || status->is_static)
        return status;
    va_list args;
    va_start(args, format);
    char *context = format_bounded(format, args);
    va_end(args);
    if (!context)
        return status;
    put_before(context, status->row < 0 ? &status->message : &status->context);
    free(context);
    forget_text(status);
    return status;
}

sl_status sl_at_row(sl_status status, int64_t row)
{
    if (!status || status->is_static)
        return status;
    if (status->context)
        put_before(status->context, &status->message);
    free(status->context);
    status->context = NULL;
    status->row = row;
    forget_text(status);
    return status;
}

sl_status sl_hint(sl_status status, const char *format, ...)
{
    if (!status || status->is_static || status->hint)
        return status;
    va_list args;
    va_start(args, format);
    status->hint = format_bounded(format, args);
    va_end(args);
    return status;
}

enum sl_code sl_status_code(sl_status status) { return status ? status->code : SL_E_OK; }

int64_t sl_status_row(sl_status status) { return status ? status->row : -1; }

const char *sl_status_message(sl_status status)
{
    if (!status)
        return "";
    if (status->row < 0)
        return status->message;
    if (!status->text)
        status->text = format_parts("%s%srow %" PRId64 ": %s", status->context ? status->context : "",
                                    status->context ? ": " : "", status->row, status->message);
    return status->text ? status->text : status->message;
}

const char *sl_status_hint(sl_status status) { return status ? status->hint : NULL; }

void sl_status_free(sl_status status)
{
    if (!status || status->is_static)
        return;
    free(status->context);
    free(status->message);
    free(status->text);
    free(status->hint);
    free(status);
}

bool sl_status_ignore(sl_status status)
{
    bool failed = status != SL_OK;
    sl_status_free(status);
    return failed;
}
