/* The proleptic Gregorian calendar, as days since 1970-01-01. Years are counted from March within 400-year
 * eras of 146097 days, so that the leap day is the last of its year and no table is needed. */
#include "column/column.h"

#define DAYS_PER_ERA       146097
#define DAYS_TO_MARCH_0000 719468 /* from 0000-03-01 to 1970-01-01 */

void sl_days_to_civil(int64_t days, int64_t *year, int *month, int *day)
{
    days += DAYS_TO_MARCH_0000;
    int64_t era = (days >= 0 ? days : days - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int64_t day_of_era = days - era * DAYS_PER_ERA;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

int64_t sl_civil_to_days(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_MARCH_0000;
}
