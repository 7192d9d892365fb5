/* For programs without cmocka, those of bench/ and tests/interop: a failed status ends them and says where. */
#ifndef TESTS_EXIT_ON_FAILURE_H
#define TESTS_EXIT_ON_FAILURE_H

#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

#define CHECK(expr)                                                                                          \
    do {                                                                                                     \
        sl_status check_status_ = (expr);                                                                    \
        if (check_status_) {                                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, sl_status_message(check_status_));            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
