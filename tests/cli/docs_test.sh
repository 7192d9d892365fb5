# What is checked in as documentation is what the table of commands says (tools/make_docs.sh writes it).
. "$(dirname "$0")/lib.sh"

run 0 'docs/cli.md is up to date' "$SLUICE" help --markdown
cmp -s "$out" "$root/docs/cli.md" || wrong 'it differs: run tools/make_docs.sh'
run 0 'docs/man/sluice.1 is up to date' "$SLUICE" help --man
cmp -s "$out" "$root/docs/man/sluice.1" || wrong 'it differs: run tools/make_docs.sh'
if command -v man >/dev/null; then
    run 0 'the man page formats without warnings' env MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$root/docs/man/sluice.1"
    err_is_empty
fi

finish
