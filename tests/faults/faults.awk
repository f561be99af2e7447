# faults.awk - reads a set of faults (its format: the head of set.txt) and the files they are for.
#   mode=list   one line a fault: number, id, room, file, way; tab between. Way: choice (at run time, by FAULT(number)),
#               build (needs a build of its own), stale (the text is not there, or there more than once).
#   mode=patch  the same, and each file with choices is written to out/FILE.
#   mode=one    file of fault number n, with the fault in place of the right text, is written to out/FILE.
# Files are read below the working directory.

function die(words) {
    print FILENAME ":" FNR ": " words >"/dev/stderr"
    failed = 1
    exit 1
}

function read_all(path, text, line, n) {
    n = 0
    while ((getline line <path) > 0)
        text = text (n++ ? "\n" : "") line
    close(path)
    return n ? text "\n" : ""
}

# Where part is in text, from 1; 0 when it is not there or there more than once.
function only_place(text, part, at) {
    at = part == "" ? 0 : index(text, part)
    return at && !index(substr(text, at + 1), part) ? at : 0
}

function place_of(i, body, at, inside) {
    if (around[i] == "")
        return only_place(body, old[i])
    at = only_place(body, around[i])
    inside = only_place(around[i], old[i])
    return at && inside ? at + inside - 1 : 0
}

function way_of(i) {
    if (!place[i])
        return "stale"
    return build[i] || file[i] !~ /\.c$/ || file[i] ~ /^(exec|libtune\/bundle)\// ? "build" : "choice"
}

function choice_of(i) {
    if (old[i] ~ /[;}]$/)
        return "{ if (FAULT(" i ")) { " new[i] " } else { " old[i] " } }"
    return "(FAULT(" i ") ? (" new[i] ") : (" old[i] "))"
}

function write_file(name, body, folder) {
    folder = out "/" name
    sub(/\/[^\/]*$/, "", folder)
    system("mkdir -p '" folder "'")
    ORS = ""
    print body >(out "/" name)
    close(out "/" name)
    ORS = "\n"
}

# The file with all its choices, put in from the last place to the first.
function patch(name, body, i, last, done) {
    body = text[name]
    for (;;) {
        last = 0
        for (i = 1; i <= n_faults; i++)
            if (file[i] == name && way[i] == "choice" && !(i in done) && (!last || place[i] > place[last]))
                last = i
        if (!last)
            break
        done[last] = 1
        body = substr(body, 1, place[last] - 1) choice_of(last) substr(body, place[last] + length(old[last]))
    }
    write_file(name, "#include \"tests/faults/fault.h\"\n#line 1\n" body)
}

function check_overlaps(i, j) {
    for (i = 1; i <= n_faults; i++)
        for (j = 1; j <= n_faults; j++)
            if (i != j && way[i] == "choice" && way[j] == "choice" && file[i] == file[j] && place[i] <= place[j] &&
                place[j] < place[i] + length(old[i]))
                die("faults " id[i] " and " id[j] " are for the same text")
}

/^#/ || /^[ \t]*$/ { next }
{
    colon = index($0, ":")
    name = substr($0, 1, colon - 1)
    value = substr($0, colon + 2)
    if (name == "id") {
        if (value in known)
            die("there is a fault " value " already")
        known[value] = ++n_faults
        id[n_faults] = value
        next
    }
    i = n_faults
    if (!i)
        die("expected 'id: ' first")
    if (name == "room") room[i] = value
    else if (name == "file") file[i] = value
    else if (name == "in") around[i] = around[i] ((i in has_in) ? "\n" : "") value
    else if (name == "old") old[i] = old[i] ((i in has_old) ? "\n" : "") value
    else if (name == "new") new[i] = new[i] ((i in has_new) ? "\n" : "") value
    else if (name == "why") why[i] = why[i] " " value
    else if (name == "way" && value == "build") build[i] = 1
    else die("expected id, room, file, in, old, new, way (build) or why, found '" name "'")
    if (name == "in") has_in[i] = 1
    if (name == "old") has_old[i] = 1
    if (name == "new") has_new[i] = 1
}

END {
    if (failed)
        exit 1
    for (i = 1; i <= n_faults; i++) {
        if (room[i] == "" || file[i] == "" || !(i in has_old) || !(i in has_new) || why[i] == "")
            die("fault " id[i] ": expected room, file, old, new and why")
        if (!(file[i] in text))
            text[file[i]] = read_all(file[i])
        place[i] = place_of(i, text[file[i]])
        way[i] = way_of(i)
    }
    check_overlaps()
    if (mode == "one") {
        body = text[file[n]]
        write_file(file[n], substr(body, 1, place[n] - 1) new[n] substr(body, place[n] + length(old[n])))
        exit 0
    }
    for (i = 1; i <= n_faults; i++) {
        if (mode == "patch" && way[i] == "choice" && !(file[i] in patched)) {
            patched[file[i]] = 1
            patch(file[i])
        }
        print i "\t" id[i] "\t" room[i] "\t" file[i] "\t" way[i]
    }
}
