/* Tables fitted to their content and to the terminal, and JSON as an outline of such tables. */
#include "cli.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TEXT_WIDTH_MIN = 8, GAP = 2 };

struct view {
    const struct view_column *columns;
    size_t column_count;
    char **cells; /* row after row */
    size_t row_count, row_space;
};

/* ---- width --------------------------------------------------------------------------------------------- */

size_t terminal_width(FILE *file)
{
    struct winsize size;
    int fd = fileno(file);
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    return columns ? (size_t)strtoul(columns, NULL, 10) : 80;
}

static bool is_wide(unsigned long c)
{
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) || (c >= 0x1F900 && c <= 0x1F9FF) ||
           (c >= 0x20000 && c <= 0x3FFFD);
}

static bool is_combining(unsigned long c)
{
    return (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
}

/* The code point at `at`; *bytes of it. What is no UTF-8 counts byte by byte. */
static unsigned long code_point(const char *at, size_t *bytes)
{
    unsigned char first = (unsigned char)*at;
    size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    unsigned long c = n == 1 ? first : first & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)at[i] & 0xC0) != 0x80) {
            *bytes = 1;
            return first;
        }
        c = c << 6 | ((unsigned char)at[i] & 0x3Fu);
    }
    *bytes = n;
    return c;
}

static size_t width_of(unsigned long c) { return is_combining(c) ? 0 : is_wide(c) ? 2 : 1; }

static size_t text_width(const char *text)
{
    size_t width = 0, bytes;
    for (; *text; text += bytes)
        width += width_of(code_point(text, &bytes));
    return width;
}

/* Bytes of the longest beginning that is at most `width` wide. */
static size_t bytes_within(const char *text, size_t width)
{
    size_t at = 0, used = 0, bytes;
    for (; text[at]; at += bytes) {
        used += width_of(code_point(text + at, &bytes));
        if (used > width)
            break;
    }
    return at;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

struct view *view_new(const struct view_column *columns, size_t count)
{
    struct view *v = cli_alloc(sizeof *v);
    v->columns = columns;
    v->column_count = count;
    return v;
}

/* Control characters become blanks: a cell is one line. */
static char *cell_copy(const char *text)
{
    char *cell = cli_copy(text ? text : "");
    for (char *c = cell; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
    return cell;
}

void view_add(struct view *v, const char *const *cells)
{
    if (v->row_count == v->row_space) {
        v->row_space = v->row_space ? 2 * v->row_space : 16;
        v->cells = cli_grow(v->cells, v->row_space * v->column_count * sizeof *v->cells);
    }
    for (size_t c = 0; c < v->column_count; c++)
        v->cells[v->row_count * v->column_count + c] = cell_copy(cells[c]);
    v->row_count++;
}

void view_free(struct view *v)
{
    for (size_t i = 0; i < v->row_count * v->column_count; i++)
        free(v->cells[i]);
    free(v->cells);
    free(v);
}

/* 0: the column is empty everywhere. */
static size_t natural_width(const struct view *v, size_t column)
{
    size_t widest = 0;
    for (size_t r = 0; r < v->row_count; r++) {
        size_t width = text_width(v->cells[r * v->column_count + column]);
        widest = width > widest ? width : widest;
    }
    size_t title = text_width(v->columns[column].title);
    return widest == 0 && v->row_count ? 0 : widest > title ? widest : title;
}

/* Takes from the widest text column until the row fits. */
static void shrink(const struct view *v, size_t *widths, size_t available)
{
    for (;;) {
        size_t total = 0, widest = v->column_count;
        for (size_t c = 0; c < v->column_count; c++) {
            total += widths[c] ? widths[c] + GAP : 0;
            if (!v->columns[c].is_number && widths[c] > TEXT_WIDTH_MIN &&
                (widest == v->column_count || widths[c] > widths[widest]))
                widest = c;
        }
        if (total <= available + GAP || widest == v->column_count)
            return;
        widths[widest]--;
    }
}

static void put_blanks(FILE *to, size_t count)
{
    for (; count; count--)
        fputc(' ', to);
}

static void put_cell(FILE *to, const char *text, size_t width, bool is_number, bool is_last)
{
    size_t len = strlen(text), used = text_width(text);
    bool is_cut = used > width;
    if (is_cut) {
        len = bytes_within(text, width - 1);
        used = width;
    }
    if (is_number)
        put_blanks(to, width - used);
    fprintf(to, "%.*s%s", (int)len, text, is_cut ? "\xE2\x80\xA6" : "");
    if (!is_number && !is_last)
        put_blanks(to, width - used);
}

void view_print(const struct view *v, FILE *to, size_t indent)
{
    size_t *widths = cli_alloc(v->column_count * sizeof *widths), last = 0, terminal = terminal_width(to);
    for (size_t c = 0; c < v->column_count; c++) {
        widths[c] = natural_width(v, c);
        last = widths[c] ? c : last;
    }
    if (terminal)
        shrink(v, widths, terminal > indent ? terminal - indent : 1);
    for (size_t line = 0; line <= v->row_count; line++) {
        put_blanks(to, indent);
        for (size_t c = 0; c < v->column_count; c++) {
            if (!widths[c])
                continue;
            const char *text = line ? v->cells[(line - 1) * v->column_count + c] : v->columns[c].title;
            put_cell(to, text, widths[c], v->columns[c].is_number, c == last);
            put_blanks(to, c == last ? 0 : GAP);
        }
        fputc('\n', to);
    }
    free(widths);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static char *scalar_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return cell_copy(json_string_value(value));
    case JSON_INTEGER:
        return cli_text("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return cli_text("%.17g", json_real_value(value));
    case JSON_TRUE:
        return cli_copy("true");
    case JSON_FALSE:
        return cli_copy("false");
    case JSON_NULL:
        return cli_copy("");
    default:
        return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    }
}

char *json_cell(const json_t *object, const char *key, enum cell_kind kind)
{
    char text[NUMBER_TEXT];
    const json_t *value = json_object_get(object, key);
    if (!value)
        return cli_copy("");
    if (kind != CELL_TEXT && json_is_integer(value) && json_integer_value(value) >= 0) {
        uint64_t n = (uint64_t)json_integer_value(value);
        return cli_copy(kind == CELL_BYTES ? bytes_text(n, text) : count_text(n, text));
    }
    char *cell = scalar_text(value);
    return cell ? cell : cli_copy("");
}

const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t json_number(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

static bool is_scalar(const json_t *value) { return !json_is_object(value) && !json_is_array(value); }

static bool is_scalar_array(const json_t *value)
{
    size_t i;
    json_t *item;
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, item) if (!is_scalar(item)) return false;
    return true;
}

/* Objects whose members are scalars or short lists. */
static bool is_flat_array(const json_t *value)
{
    size_t i;
    json_t *item, *member;
    const char *key;
    json_array_foreach(value, i, item)
    {
        if (!json_is_object(item))
            return false;
        json_object_foreach(item, key,
                            member) if (!is_scalar(member) && !is_scalar_array(member)) return false;
    }
    return true;
}

/* The columns of a table of objects: every key, in the order of its first appearance. */
static char **keys_of(const json_t *objects, size_t *count)
{
    char **keys = cli_alloc(sizeof *keys);
    size_t i, n = 0;
    json_t *item, *member;
    const char *key;
    json_array_foreach(objects, i, item) json_object_foreach(item, key, member)
    {
        size_t k = 0;
        while (k < n && strcmp(keys[k], key) != 0)
            k++;
        if (k == n) {
            keys = cli_grow(keys, (n + 2) * sizeof *keys);
            keys[n++] = cli_copy(key);
            keys[n] = NULL;
        }
    }
    *count = n;
    return keys;
}

static bool all_numbers(const json_t *objects, const char *key)
{
    size_t i;
    json_t *item;
    json_array_foreach(objects, i, item)
    {
        const json_t *member = json_object_get(item, key);
        if (member && !json_is_number(member) && !json_is_null(member))
            return false;
    }
    return true;
}

static void flat_array(const json_t *objects, FILE *to, size_t indent)
{
    size_t count, i;
    json_t *item;
    char **keys = keys_of(objects, &count), **cells = cli_alloc(count * sizeof *cells);
    struct view_column *columns = cli_alloc(count * sizeof *columns);
    for (size_t c = 0; c < count; c++)
        columns[c] = (struct view_column){keys[c], all_numbers(objects, keys[c])};
    struct view *v = view_new(columns, count);
    json_array_foreach(objects, i, item)
    {
        for (size_t c = 0; c < count; c++)
            cells[c] = json_cell(item, keys[c], CELL_TEXT);
        view_add(v, (const char *const *)cells);
        for (size_t c = 0; c < count; c++)
            free(cells[c]);
    }
    view_print(v, to, indent);
    view_free(v);
    free(cells);
    free(columns);
    free_names(keys);
}

static void scalar_line(const json_t *value, FILE *to)
{
    char *text = scalar_text(value);
    fprintf(to, "%s\n", text ? text : "");
    free(text);
}

static void list_line(const json_t *list, FILE *to)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        char *text = scalar_text(item);
        fprintf(to, "%s%s", i ? ", " : "", text ? text : "");
        free(text);
    }
    fputc('\n', to);
}

static void object_lines(const json_t *object, FILE *to, size_t indent)
{
    size_t width = 0;
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, key,
                        member) if (is_scalar(member) && text_width(key) > width) width = text_width(key);
    json_object_foreach((json_t *)(uintptr_t)object, key, member)
    {
        put_blanks(to, indent);
        fputs(key, to);
        if (is_scalar(member) || is_scalar_array(member)) {
            size_t used = text_width(key);
            put_blanks(to, (used < width ? width - used : 0) + GAP);
            is_scalar(member) ? scalar_line(member, to) : list_line(member, to);
        } else {
            fputc('\n', to);
            view_json(member, to, indent + GAP);
        }
    }
}

void view_json(const json_t *value, FILE *to, size_t indent)
{
    size_t i;
    json_t *item;
    if (json_is_object(value))
        object_lines(value, to, indent);
    else if (is_scalar(value) || is_scalar_array(value)) {
        put_blanks(to, indent);
        is_scalar(value) ? scalar_line(value, to) : list_line(value, to);
    } else if (is_flat_array(value))
        flat_array(value, to, indent);
    else
        json_array_foreach(value, i, item)
        {
            put_blanks(to, indent);
            fprintf(to, "[%zu]\n", i);
            view_json(item, to, indent + GAP);
        }
}
