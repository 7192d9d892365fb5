/* A strict JSON scanner (RFC 8259) over text in memory: its users pull one token after the other. */
#ifndef SL_COLUMN_JSON_INT_H
#define SL_COLUMN_JSON_INT_H

#include "column/column.h"

#define JSON_DEPTH_MAX 64

struct json_scan {
    const uint8_t *text;
    size_t len, pos;
    unsigned depth;   /* open arrays and objects */
    sl_buf unescaped; /* the last string that had escapes */
    sl_buf keys;      /* a stack of the keys of open maps, to find duplicates */
};
void json_scan_free(struct json_scan *s);
/* "byte N: <message>" */
sl_status json_error(const struct json_scan *s, const char *message);
/* First byte of the next token, white space skipped; 0 at the end. Never moves past the token. */
uint8_t json_peek(struct json_scan *s);
/* Consumes the byte when it is next. */
bool json_take(struct json_scan *s, uint8_t byte);
/* A string token, unescaped and valid UTF-8; the bytes live until the next string. */
sl_status json_string_token(struct json_scan *s, const char **data, size_t *len);
/* The text of a number token. */
sl_status json_number_token(struct json_scan *s, const char **data, size_t *len);
/* Consumes true, false or null; any other word is an error. */
sl_status json_word(struct json_scan *s, const char *word);
/* '[' or '{', and what ends or continues it: *more is false after the closing byte. `first` is kept by the caller. */
sl_status json_open(struct json_scan *s, uint8_t open);
sl_status json_more(struct json_scan *s, uint8_t close, bool *first, bool *more);
/* A member's name and the colon behind it. */
sl_status json_member(struct json_scan *s, const char **name, size_t *len);
sl_status json_skip(struct json_scan *s);
/* Nothing but white space is left. */
sl_status json_end(struct json_scan *s);

#endif
