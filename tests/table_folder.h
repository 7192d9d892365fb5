/* A scratch folder for the tests of a program, and the path of the table that each of them makes in it. */
#ifndef TABLE_FOLDER_H
#define TABLE_FOLDER_H

#include "engine_support.h"

static char folder[200], path[260];

static inline int table_folder_make(void **state)
{
    (void)state;
    temporary_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/t", folder);
    return 0;
}

static inline int table_folder_remove(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

#endif
