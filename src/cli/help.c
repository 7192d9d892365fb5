/* The table of commands as text: for the terminal, as man page, as docs/cli.md, as bash completion. */
#include "cli.h"
#include <string.h>

enum { TEXT_WIDTH = 100, LEFT = 2 };

static const char *const intro =
    "A native engine for Apache Hudi tables: writes rows, queries and compacts them. A table is a folder "
    "(a path or file://...). Any hoodie.* setting can be given as -c KEY=VALUE or in a file (--props).";

struct exit_text {
    const char *status, *meaning;
};
static const struct exit_text exits[] = {
    {"0", "done"},
    {"1", "failed: bad input, input or output, damaged data"},
    {"2", "wrong usage"},
    {"3", "conflict with another writer, or a lock not obtained in time"},
    {"130", "interrupted; nothing half-done is visible"},
};
enum { EXIT_TEXTS = sizeof exits / sizeof *exits };

static const char *const output_rule =
    "Standard output carries results only; messages and progress go to standard error. An error is one line "
    "`sluice: what: where: why`, "
    "then, when there is one, a line `hint: ...`. Progress is drawn on a terminal only, for work of more "
    "than about a second; NO_COLOR is honoured.";

/* ---- plain text ---------------------------------------------------------------------------------------- */

/* Words up to TEXT_WIDTH; the first line begins at column `at`, the others are indented. */
static void put_wrapped(FILE *to, const char *text, size_t indent, size_t at)
{
    while (*text) {
        size_t len = strcspn(text, " \n");
        if (at > indent && at + 1 + len > TEXT_WIDTH) {
            fprintf(to, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', to);
            at++;
        }
        fprintf(to, "%.*s", (int)len, text);
        at += len;
        text += len;
        if (*text == '\n') {
            fprintf(to, "\n%*s", (int)indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    fputc('\n', to);
}

static void paragraph(FILE *to, const char *text, size_t indent)
{
    fprintf(to, "%*s", (int)indent, "");
    put_wrapped(to, text, indent, indent);
}

/* "-o, --output FILE" */
static size_t option_form(const struct option *o, char *out, size_t bytes)
{
    char letter[8] = "";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    return (size_t)snprintf(out, bytes, "%s--%s%s%s", letter, o->name, o->value ? " " : "",
                            o->value ? o->value : "");
}

static void option_lines(FILE *to, const enum option_id *ids)
{
    enum { COLUMN = 36 };
    for (; *ids != OPT_NONE; ids++) {
        const struct option *o = &cli_options[*ids];
        char form[96];
        if (o->is_planned)
            continue;
        size_t used = option_form(o, form, sizeof form);
        fprintf(to, "%*s%s", LEFT, "", form);
        if (used + LEFT + 2 > COLUMN)
            fprintf(to, "\n%*s", COLUMN, "");
        else
            fprintf(to, "%*s", (int)(COLUMN - LEFT - used), "");
        put_wrapped(to, o->help, COLUMN, COLUMN);
    }
}

void help_overview(FILE *to)
{
    fputs("usage: sluice VERB TABLE [INPUT...] [options]\n\n", to);
    paragraph(to, intro, 0);
    fputc('\n', to);
    for (size_t i = 0; i < cli_verb_count; i++)
        if (cli_verbs[i].run)
            fprintf(to, "  %-24s%s\n", cli_verbs[i].name, cli_verbs[i].summary);
    fputs("\noptions of all verbs\n", to);
    option_lines(to, cli_common_options);
    fputs("\n`sluice help VERB` tells more about one. Exit status: 0 done, 1 failed, 2 wrong usage, 3 "
          "another writer, 130 interrupted.\n",
          to);
}

static void indented(FILE *to, const char *lines, const char *prefix)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        fprintf(to, "%s%.*s\n", prefix, (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

void help_verb(FILE *to, const struct verb *verb)
{
    fprintf(to, "usage: sluice %s%s%s\n\n", verb->name, *verb->form ? " " : "", verb->form);
    paragraph(to, verb->summary, 0);
    if (verb->details) {
        fputc('\n', to);
        paragraph(to, verb->details, 0);
    }
    if (*verb->options != OPT_NONE) {
        fputs("\noptions\n", to);
        option_lines(to, verb->options);
    }
    fputs("\noptions of all verbs\n", to);
    option_lines(to, cli_common_options);
    if (verb->example) {
        fputs("\nfor example\n", to);
        indented(to, verb->example, "  ");
    }
}

/* ---- man page ------------------------------------------------------------------------------------------ */

/* troff's own characters escaped; a line must not begin with a dot or an apostrophe. */
static void put_troff(FILE *to, const char *text)
{
    bool starts_line = true;
    for (; *text; text++) {
        if (starts_line && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        starts_line = *text == '\n';
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else if (*text == '`')
            fputs("\\(ga", to);
        else
            fputc(*text, to);
        if (*text == '\n')
            fputs(".br\n", to);
    }
}

static void man_options(FILE *to, const enum option_id *ids)
{
    for (; *ids != OPT_NONE; ids++) {
        char form[96];
        if (cli_options[*ids].is_planned)
            continue;
        option_form(&cli_options[*ids], form, sizeof form);
        fputs(".TP\n.B ", to);
        put_troff(to, form);
        fputc('\n', to);
        put_troff(to, cli_options[*ids].help);
        fputc('\n', to);
    }
}

static void man_verb(FILE *to, const struct verb *v)
{
    fputs(".SS ", to);
    put_troff(to, v->name);
    fputs("\n.B sluice ", to);
    put_troff(to, v->name);
    fputc(' ', to);
    put_troff(to, v->form);
    fputs("\n.PP\n", to);
    put_troff(to, v->summary);
    fputs(".\n", to);
    if (v->details) {
        fputs(".PP\n", to);
        put_troff(to, v->details);
        fputc('\n', to);
    }
    man_options(to, v->options);
    if (v->example) {
        fputs(".PP\n.nf\n", to);
        put_troff(to, v->example);
        fputs("\n.fi\n", to);
    }
}

void help_man(FILE *to)
{
    fprintf(to,
            ".TH SLUICE 1 \"\" \"sluice %s\"\n.SH NAME\nsluice \\- a native engine for Apache Hudi tables\n",
            sluice_version());
    fputs(".SH SYNOPSIS\n.B sluice\n.I VERB TABLE\n[\\fIINPUT\\fR...] [\\fIoptions\\fR]\n.SH DESCRIPTION\n",
          to);
    put_troff(to, intro);
    fputs("\n.PP\n", to);
    put_troff(to, output_rule);
    fputs("\n.SH OPTIONS OF ALL VERBS\n", to);
    man_options(to, cli_common_options);
    fputs(".SH VERBS\n", to);
    for (size_t i = 0; i < cli_verb_count; i++)
        if (cli_verbs[i].run)
            man_verb(to, &cli_verbs[i]);
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < EXIT_TEXTS; i++)
        fprintf(to, ".TP\n.B %s\n%s\n", exits[i].status, exits[i].meaning);
}

/* ---- docs/cli.md --------------------------------------------------------------------------------------- */

/* A cell of a Markdown table. */
static void put_cell(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', to);
        fputc(*text, to);
    }
}

static void markdown_options(FILE *to, const enum option_id *ids)
{
    if (*ids == OPT_NONE)
        return;
    fputs("\n| option | meaning |\n|---|---|\n", to);
    for (; *ids != OPT_NONE; ids++) {
        char form[96];
        if (cli_options[*ids].is_planned)
            continue;
        option_form(&cli_options[*ids], form, sizeof form);
        fputs("| `", to);
        put_cell(to, form);
        fputs("` | ", to);
        put_cell(to, cli_options[*ids].help);
        if (cli_options[*ids].setting)
            fprintf(to, " (`%s`)", cli_options[*ids].setting);
        fputs(" |\n", to);
    }
}

static void markdown_verb(FILE *to, const struct verb *v)
{
    fprintf(to, "\n## %s\n\n    sluice %s%s%s\n\n%s.\n", v->name, v->name, *v->form ? " " : "", v->form,
            v->summary);
    if (v->details) {
        fputc('\n', to);
        for (const char *c = v->details; *c; c++)
            fputs(*c == '\n' ? "\n\n" : (const char[]){*c, 0}, to);
        fputc('\n', to);
    }
    markdown_options(to, v->options);
    if (v->example) {
        fputc('\n', to);
        indented(to, v->example, "    ");
    }
}

void help_markdown(FILE *to)
{
    fputs("# The `sluice` command\n\n<!-- Made by tools/make_docs.sh from src/cli/commands.c: change that, "
          "not this. -->\n\n"
          "    sluice VERB TABLE [INPUT...] [options]\n\n",
          to);
    fprintf(to, "%s\n\n%s\n\n| exit status | meaning |\n|---|---|\n", intro, output_rule);
    for (size_t i = 0; i < EXIT_TEXTS; i++)
        fprintf(to, "| %s | %s |\n", exits[i].status, exits[i].meaning);
    fputs("\n## Options of all verbs\n", to);
    markdown_options(to, cli_common_options);
    for (size_t i = 0; i < cli_verb_count; i++)
        if (cli_verbs[i].run)
            markdown_verb(to, &cli_verbs[i]);
}

/* ---- completion ---------------------------------------------------------------------------------------- */

static void bash_options(FILE *to, const enum option_id *ids)
{
    for (; *ids != OPT_NONE; ids++)
        if (!cli_options[*ids].is_planned)
            fprintf(to, " --%s", cli_options[*ids].name);
}

static void bash_choices(FILE *to)
{
    for (int id = 1; id < OPTION_COUNT; id++) {
        const struct option *o = &cli_options[id];
        if (!o->choices)
            continue;
        fprintf(to, "        --%s) words=\"", o->name);
        for (size_t i = 0; o->choices[i].word; i++)
            fprintf(to, "%s%s", i ? " " : "", o->choices[i].word);
        fputs("\" ;;\n", to);
    }
}

void help_bash(FILE *to)
{
    fputs("# bash completion for sluice; made by `sluice completion bash`\n"
          "_sluice() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\"\"\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"",
          to);
    for (size_t i = 0; i < cli_verb_count; i++)
        if (cli_verbs[i].run)
            fprintf(to, "%s ", cli_verbs[i].name);
    fputs("\"\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n        return\n    fi\n    case "
          "\"$before\" in\n",
          to);
    bash_choices(to);
    fputs("    esac\n    if [ -z \"$words\" ] && [[ $word == -* ]]; then\n        case \"${COMP_WORDS[1]}\" "
          "in\n",
          to);
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (!cli_verbs[i].run)
            continue;
        fprintf(to, "        %s) words=\"", cli_verbs[i].name);
        bash_options(to, cli_verbs[i].options);
        fputs("\" ;;\n", to);
    }
    fputs("        esac\n        words=\"$words", to);
    bash_options(to, cli_common_options);
    fputs("\"\n    fi\n    if [ -n \"$words\" ]; then\n        COMPREPLY=($(compgen -W \"$words\" -- "
          "\"$word\"))\n    else\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n}\ncomplete -o filenames -F _sluice "
          "sluice\n",
          to);
}
