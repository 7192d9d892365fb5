/* doctor: checks a table against itself. */
#include "cli.h"

static json_int_t checked(const json_t *report, const char *what)
{
    return json_integer_value(json_object_get(json_object_get(report, "checked"), what));
}

static void print_findings(const json_t *findings)
{
    static const struct view_column columns[] = {
        {"severity", false}, {"check", false}, {"place", false}, {"finding", false}};
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    size_t i;
    json_t *f;
    json_array_foreach((json_t *)(uintptr_t)findings, i, f)
        view_add(v, (const char *const[]){json_text(f, "severity"), json_text(f, "check"),
                                          json_text(f, "place"), json_text(f, "message")});
    view_print(v, stdout, 0);
    view_free(v);
}

static void print_report(const struct args *args, const json_t *report)
{
    const json_t *findings = json_object_get(report, "findings");
    size_t count = json_array_size(findings),
           unchecked = (size_t)json_integer_value(json_object_get(report, "unchecked"));
    char files[NUMBER_TEXT], rows[NUMBER_TEXT], number[NUMBER_TEXT];
    if (count)
        print_findings(findings);
    if (given(args, OPT_QUIET))
        return;
    printf("doctor: %s instants, %s files", count_text((uint64_t)checked(report, "instants"), number),
           count_text((uint64_t)checked(report, "files"), files));
    if (given(args, OPT_DEEP))
        printf(", %s rows", count_text((uint64_t)checked(report, "rows"), rows));
    printf(" checked: ");
    if (count > unchecked)
        printf("%s %s\n", count_text(count - unchecked, number),
               count - unchecked == 1 ? "finding" : "findings");
    else
        puts(unchecked ? "nothing wrong was found" : "nothing is wrong");
    if (unchecked)
        printf("doctor: %s could not be looked at\n", count_text(unchecked, number));
}

static int examine(const struct args *args, sluice_table *table)
{
    sluice_error e = {0};
    char *text;
    if (sluice_table_doctor(table, given(args, OPT_DEEP), &text, &e))
        return fail_error(args, &e);
    json_error_t json_error;
    json_t *report = json_loads(text, 0, &json_error);
    int status = report ? STATUS_DONE : fail_json(args, &json_error);
    progress_end();
    if (report && given(args, OPT_JSON))
        puts(text);
    else if (report)
        print_report(args, report);
    if (report && json_integer_value(json_object_get(report, "errors")) +
                          json_integer_value(json_object_get(report, "unchecked")) >
                      0)
        status = STATUS_FAILED;
    json_decref(report);
    sluice_free(text);
    return status;
}

static int repair(const struct args *args, sluice_table *table)
{
    sluice_error e = {0};
    uint64_t rolled_back = 0;
    char number[NUMBER_TEXT];
    if (sluice_table_repair(table, &rolled_back, &e))
        return fail_error(args, &e);
    if (rolled_back)
        note(args, "%s unfinished %s rolled back", count_text(rolled_back, number),
             rolled_back == 1 ? "instant" : "instants");
    return STATUS_DONE;
}

int cmd_doctor(const struct args *args)
{
    sluice_table *table;
    int status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    if (given(args, OPT_REPAIR))
        status = repair(args, table);
    if (!status)
        status = examine(args, table);
    session_close(table);
    return status;
}
