#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ground_includes.py [--fix] [ROOM...] - a file that names what a ground header declares includes that header itself, or, a .c file,
through the header that it begins with (its own, of the same folder). With --fix the missing lines are put where they belong. Run by
check_includes.sh, for all rooms. Exit 1 with a line for each include that is missing."""
import glob
import os
import re
import sys

INTEGERS = r"\bu?int(?:8|16|32|64|ptr)_t\b|\bU?INT(?:8|16|32|64)_(?:MAX|MIN)\b|\bSIZE_MAX\b"


def declared(header, prefixes):
    """Functions that a header of core/ declares."""
    with open(header, encoding="utf-8") as f:
        return r"\b(?:%s)\(" % "|".join(sorted(set(re.findall(r"\b((?:%s)_\w+)\(" % prefixes, f.read()))))


# header, what needs it, only where headers name it
GROUND = (
    ("core/err.h", r"\benum err\b|\bstruct why\b|" + declared("core/err.h", "why|err"), False),
    ("core/buf.h", r"\bstruct buf\b|" + declared("core/buf.h", "buf"), False),
    ("core/json.h", r"\bcJSON\b|\bcJSON_\w+\(|" + declared("core/json.h", "json"), False),
    ("assert.h", r"\bassert\(", False),
    ("stdbool.h", r"\bbool\b", True),
    ("stddef.h", r"\bsize_t\b", True),
    ("stdint.h", INTEGERS, True),
)


def plain(text):
    """The code without comments, strings and characters; what a header declares by name only needs no header."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', " ", text, flags=re.S)
    for name in re.findall(r"^struct (\w+);", text, re.M):
        text = re.sub(r"\bstruct %s\b" % name, " ", text)
    return text


def included(text):
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', text, re.M)


def own_header(path, text):
    """The header of the same folder that a .c file begins with, or None."""
    first = included(text)[:1]
    if path.endswith(".c") and first and os.path.dirname(first[0]) == os.path.dirname(path):
        return first[0]
    return None


def missing(path, text):
    if path.endswith(".h") and not re.search(r"^#define \w+$", text, re.M):  # a list that is included in several places
        return []
    own, there = own_header(path, text), set(included(text))
    if own and os.path.exists(own):
        with open(own, encoding="utf-8") as f:
            there |= set(included(f.read()))
    code = plain(text)
    return [
        header
        for header, names, headers_only in GROUND
        if header != path and header not in there and not (headers_only and path.endswith(".c")) and re.search(names, code)
    ]


def put(path, text, header):
    """The text with one include more, in its place by the alphabet."""
    is_ours = "/" in header
    line = '#include "%s"' % header if is_ours else "#include <%s>" % header
    lines, own = text.split("\n"), own_header(path, text)
    outer, depth, at = 1 if path.endswith(".h") else 0, 0, []
    for i, old in enumerate(lines):
        if re.match(r"\s*#\s*if", old):
            depth += 1
        elif re.match(r"\s*#\s*endif", old):
            depth -= 1
        elif depth == outer and re.match(r"#include", old):
            at.append(i)
    block = [i for i in at if lines[i].startswith('#include "' if is_ours else "#include <") and lines[i] != '#include "%s"' % own]
    if block:
        while block[1:] and block[-1] - block[0] != len(block) - 1:
            block.pop()  # the first run of lines
        behind = [i for i in block if lines[i] > line]
        lines.insert(behind[0] if behind else block[-1] + 1, line)
    elif is_ours and own:
        lines[at[0] + 1 : at[0] + 1] = ["", line]
    elif is_ours and at:
        lines[at[0] : at[0]] = [line, ""]
    elif at:
        lines[at[-1] + 1 : at[-1] + 1] = ["", line]
    else:
        guard = next(i for i, old in enumerate(lines) if re.match(r"#define \w+$", old))
        lines[guard + 1 : guard + 1] = ["", line]
    return "\n".join(lines)


def main():
    fix, rooms = "--fix" in sys.argv[1:], [a for a in sys.argv[1:] if a != "--fix"]
    n = 0
    for room in rooms:
        for path in sorted(glob.glob(room + "/**/*.[ch]", recursive=True)):
            if os.path.basename(path).startswith(("preamble_", "NAME_")) or "/bundle/" in path:  # of kernels, of bundles
                continue
            with open(path, encoding="utf-8") as f:
                text = f.read()
            lacks = missing(path, text)
            n += len(lacks)
            for header in lacks:
                if fix:
                    text = put(path, text, header)
                else:
                    print("%s: names what %s declares without including it (--fix puts it there)" % (path, header))
            if fix and lacks:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
    if fix:
        print("%d includes put in" % n)
    return 1 if n and not fix else 0


sys.exit(main())
