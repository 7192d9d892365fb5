/*
 * Private to query: the bound form of an expression.
 *
 * expr_parse.c reads the text and calls expr_bind.c for every predicate, so that there is no tree of unbound names.
 * expr_values.c turns values of columns into keys whose order is the value's order:
 *   KEY64     booleans, integers, dates, times, timestamps; floating numbers by rank (see expr_rank_double)
 *   DECIMAL   the unscaled 128-bit value
 *   BYTES     strings, binaries and fixed bytes, compared as unsigned bytes
 * Every comparison with a literal is then a range of keys or a set of keys, and its opposite is a NOT around it.
 */
#ifndef SL_QUERY_INT_H
#define SL_QUERY_INT_H

#include "query/query.h"

#define EXPR_BLOCK     64  /* rows worked on at once: one word of a bitmap */
#define EXPR_DEPTH_MAX 100 /* parentheses and nots inside each other */
#define EXPR_NUMBER_BOUND                                                                                    \
    ((sl_i128)INT64_C(1000000000000000000) * INT64_C(1000000000000000000) * 100) /* 10^38 */

enum expr_kind {
    EXPR_CONSTANT, /* `truth` */
    EXPR_AND,
    EXPR_OR,
    EXPR_NOT,
    EXPR_IS_NULL,
    EXPR_RANGE, /* column between two keys */
    EXPR_IN,    /* column among keys */
    EXPR_LIKE,
    EXPR_COLUMNS, /* column against column */
};
enum expr_op { EXPR_EQ, EXPR_NE, EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE };
enum expr_truth { EXPR_FALSE, EXPR_TRUE, EXPR_UNKNOWN };
enum expr_family { EXPR_KEY64, EXPR_DECIMAL, EXPR_BYTES };

struct expr_bytes {
    const uint8_t *data;
    size_t len;
};

struct expr_column {
    const char **names; /* from the top level down through structs */
    size_t depth;
    const sl_type *type; /* borrowed from the schema */
    size_t at;           /* position in the text */
    struct expr_column *next;
};

/* Keys from lo to hi. KEY64 and DECIMAL: both ends inclusive, empty when lo > hi. BYTES: an absent end has no data. */
struct expr_range {
    sl_i128 lo, hi;
    struct expr_bytes lo_bytes, hi_bytes;
    bool has_lo, has_hi, lo_open, hi_open; /* BYTES only */
};

struct expr_set {
    size_t count;
    int64_t *keys;            /* KEY64, ascending */
    sl_i128 *decimals;        /* DECIMAL, ascending */
    struct expr_bytes *bytes; /* BYTES, ascending */
    bool has_null;
};

#define LIKE_ONE  256 /* _ */
#define LIKE_MANY 257 /* % */
struct expr_like {
    struct expr_bytes prefix; /* the literal bytes before the first wildcard */
    const uint16_t *rest;     /* the pattern behind the prefix: bytes, LIKE_ONE, LIKE_MANY */
    size_t rest_count;
};

/* How two columns are brought together. */
enum expr_pairing { PAIR_EXACT, PAIR_DOUBLE, PAIR_BYTES };
struct expr_pair {
    enum expr_pairing pairing;
    enum expr_op op;                   /* never EXPR_NE */
    sl_i128 left_factor, right_factor; /* PAIR_EXACT: to the common scale or unit */
};

struct expr_node {
    enum expr_kind kind;
    enum expr_truth truth;
    enum expr_family family;
    const struct expr_column *column, *other;
    struct expr_node *first; /* children of and, or, not: a list through `next` */
    struct expr_node *next;
    size_t scratch; /* pairs of bitmaps that its evaluation needs besides the result's */
    union {
        struct expr_range range;
        struct expr_set set;
        struct expr_like like;
        struct expr_pair pair;
    } u;
};

struct sl_expr {
    sl_arena *arena; /* all nodes, names and literals */
    const sl_type *schema;
    struct expr_node *root;
    struct expr_column *columns; /* every mention, in the order of the text */
    struct expr_column **columns_end;
};

/* ---- binding (expr_bind.c) ----------------------------------------------------------------------------- */

enum expr_literal_kind {
    LITERAL_NUMBER,
    LITERAL_STRING,
    LITERAL_BYTES,
    LITERAL_DATE,
    LITERAL_TIMESTAMP,
    LITERAL_BOOL,
    LITERAL_NULL
};
struct expr_operand {
    const struct expr_column *column; /* NULL: a literal */
    enum expr_literal_kind kind;
    const char *text; /* sign included, quotes removed */
    size_t len;
    bool truth;
    size_t at;
    struct expr_operand *next; /* in an in-list */
};

/* A failure that names the position in the text (counted from 1 in bytes). */
SL_MUST_USE sl_status expr_error(size_t at, const char *format, ...) SL_PRINTF(2, 3);
SL_MUST_USE sl_status expr_node_new(struct sl_expr *e, enum expr_kind kind, struct expr_node **out);
SL_MUST_USE sl_status expr_node_not(struct sl_expr *e, struct expr_node *child, struct expr_node **out);
SL_MUST_USE sl_status expr_constant(struct sl_expr *e, enum expr_truth truth, struct expr_node **out);
SL_MUST_USE sl_status expr_bind_column(struct sl_expr *e, const char *const *names, size_t depth, size_t at,
                                       const struct expr_column **out);
SL_MUST_USE sl_status expr_bind_truth(struct sl_expr *e, const struct expr_operand *operand,
                                      struct expr_node **out);
SL_MUST_USE sl_status expr_bind_compare(struct sl_expr *e, enum expr_op op, size_t op_at,
                                        const struct expr_operand *left, const struct expr_operand *right,
                                        struct expr_node **out);
SL_MUST_USE sl_status expr_bind_in(struct sl_expr *e, const struct expr_operand *left,
                                   const struct expr_operand *items, size_t count, struct expr_node **out);
/* escape NULL: none. */
SL_MUST_USE sl_status expr_bind_like(struct sl_expr *e, const struct expr_operand *left,
                                     const struct expr_operand *pattern, const struct expr_operand *escape,
                                     struct expr_node **out);
SL_MUST_USE sl_status expr_bind_is_null(struct sl_expr *e, const struct expr_operand *operand,
                                        struct expr_node **out);

/* ---- literals (expr_literal.c) ------------------------------------------------------------------------- */

enum expr_family expr_family_of(const sl_type *type);
/* The range that `column op literal` means. For types other than BYTES. */
SL_MUST_USE sl_status expr_literal_range(const sl_type *type, enum expr_op op,
                                         const struct expr_operand *literal, struct expr_range *out);
SL_MUST_USE sl_status expr_literal_bytes(const sl_type *type, const struct expr_operand *literal,
                                         struct expr_bytes *out);
/* Two number texts. */
int expr_number_compare(const char *a, size_t a_len, const char *b, size_t b_len);

/* ---- single values (expr_points.c) --------------------------------------------------------------------- */

/* The values that a range of one value or a set looks for; *out NULL: other nodes, floating numbers. */
SL_MUST_USE sl_status expr_node_points(const struct expr_node *node, sl_array **out);

/* ---- values as keys (expr_values.c) -------------------------------------------------------------------- */

/* Rank of a floating number: -infinity < numbers by value < infinity < NaN; both zeros are one, all NaNs are one. */
int64_t expr_rank_double(double value);
/* Keys of rows [from, from + count), count <= EXPR_BLOCK, no dictionary. uint64 keys are moved down by 2^63. */
void expr_load_keys(const sl_array *array, int64_t from, int64_t count, int64_t *out);
/* The integer behind a value of an exact type: unscaled decimals, everything else as it is. */
void expr_load_exact(const sl_array *array, int64_t from, int64_t count, sl_i128 factor, sl_i128 *out);
/* Ranks of the values as doubles. */
void expr_load_ranks(const sl_array *array, int64_t from, int64_t count, int64_t *out);

bool expr_bytes_in_range(const struct expr_range *range, struct expr_bytes value);
bool expr_bytes_in_set(const struct expr_set *set, struct expr_bytes value);
bool expr_key_in_set(const struct expr_set *set, int64_t key);
bool expr_decimal_in_set(const struct expr_set *set, sl_i128 value);
bool expr_like_matches(const struct expr_like *like, struct expr_bytes value);
bool expr_order_matches(enum expr_op op, int order); /* order: <0, 0, >0 of left against right */

#endif
