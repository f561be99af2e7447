# change.awk - the file TARGET with the lines of a diff block changed (REVERSE=1: changed back), on standard output. Exit 1, with
# words, where the old lines do not stand there exactly once.
#   awk -v TARGET=FILE [-v REVERSE=1] -f change.awk NNN.diff
FNR > 1 {
    sign = substr($0, 1, 1)
    if (sign != (REVERSE ? "-" : "+"))
        old = old substr($0, 2) "\n"
    if (sign != (REVERSE ? "+" : "-"))
        new = new substr($0, 2) "\n"
}

END {
    while ((getline line <TARGET) > 0)
        text = text line "\n"
    at = index("\n" text, "\n" old)
    if (!at || index(substr("\n" text, at + 1), "\n" old)) {
        printf "%s: expected once:\n%s", TARGET, old >"/dev/stderr"
        exit 1
    }
    printf "%s%s%s", substr(text, 1, at - 1), new, substr(text, at + length(old))
}
