/* doctor, behind the public header. */
#include "api/api_int.h"

int sluice_table_doctor(sluice_table *t, int deep, char **json, sluice_error *e)
{
    API_REQUIRE(t, json);
    json_t *findings;
    sl_status status = sl_doctor(t->table, deep != 0, &findings);
    if (!status)
        status = api_json_text(findings, json);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

int sluice_table_repair(sluice_table *t, uint64_t *rolled_back, sluice_error *e)
{
    API_REQUIRE(t);
    size_t count;
    sl_status status = sl_doctor_repair(t->table, &count);
    if (!status && rolled_back)
        *rolled_back = count;
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}
