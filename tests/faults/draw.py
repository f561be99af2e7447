#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""draw.py - draws small faults of one room by seed, as a set for faults.sh: what nobody had in mind. One fault a function at the most;
classes take turns. What a compiler would warn of is not drawn, nor what cannot be chosen at run time.
  tests/faults/draw.py --room search_space --n 40 --seed 7 >drawn.txt && tests/faults/faults.sh --set drawn.txt
Not every fault that survives wants a test: some change nothing that anybody could see."""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*"""
    r"""|->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||<<|>>|\.\.\.|[-+*/%&|^]=|\S""",
    re.S,
)
BODY = re.compile(r"^\{\n.*?^\}$", re.S | re.M)
OPENING, CLOSING = set("([{"), set(")]}")
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Where an operand ends, by what binds it: all that binds less.
ENDS = ASSIGNS | {",", ";", "?", ":", "return", "else", "do", "case", "{", "}"}
LOGIC = {"&&": ENDS | {"||"}, "||": ENDS}
OF_COMPARISON = ENDS | {"&&", "||", "&", "|", "^"}
EQUAL, RELATION = {"==", "!="}, {"<", "<=", ">", ">="}
OF_SUM = OF_COMPARISON | EQUAL | RELATION | {"<<", ">>"}
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# What nobody sees: what only gives back is left out here, and the sides of these are alike.
ALIKE = re.compile(r"^(strcmp|memcmp|strncmp|fmax|fmin|fabs|isnan)$")
GIVES_BACK = re.compile(r"(^|_)(free|fini|close|unlock|clear|drop|release|Delete|bzero|fail_msg)$|^(assert|va_end|printf|fprintf)$")
FLAGS = "-std=c11 -fsyntax-only -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DTUNE_VERSION=\"0\" -I. -Wall -Wextra -Wconversion -Wno-sign-conversion"


class Body:
    """A function's tokens: (text, from, to) with offsets into the file; comments left out."""

    def __init__(self, text, begin, end):
        self.text = text
        found = (m for m in TOKEN.finditer(text, begin, end) if not m[0].startswith(("/*", "//")))
        self.tokens = [(m[0], m.start(), m.end()) for m in found]

    def word(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ""

    def span(self, first, last):
        return self.tokens[first][1], self.tokens[last][2]

    def of(self, first, last):
        begin, end = self.span(first, last)
        return self.text[begin:end]

    def reach(self, i, step, ends):
        """The last token from i on (i left out) that still belongs to an operand."""
        depth, at = 0, i + step
        inner, outer = (CLOSING, OPENING) if step < 0 else (OPENING, CLOSING)
        while 0 <= at < len(self.tokens):
            word = self.word(at)
            if word in inner and word not in "{}":
                depth += 1
            elif depth and word in outer:
                depth -= 1
            elif not depth and (word in outer or word in ends):
                break
            at += step
        return at - step

    def is_binary(self, i):
        before = self.word(i - 1)
        return bool(re.fullmatch(r"[\w)\]].*", before)) and before not in ("return", "case", "sizeof")


def comparisons(b):
    """ends of comparisons"""
    for i, (word, _, _) in enumerate(b.tokens):
        if word in OTHER:
            first, last = b.reach(i, -1, OF_COMPARISON | EQUAL | RELATION), b.reach(i, 1, OF_COMPARISON | EQUAL | RELATION)
            if first < i < last and not (word in EQUAL and b.word(i + 1) == "NULL"):
                yield first, last, f"{b.of(first, i - 1)} {OTHER[word]} {b.of(i + 1, last)}"


def checks(b):
    """a check forgotten: one of several conditions"""
    for i, (word, _, _) in enumerate(b.tokens):
        if word in LOGIC:
            first, last = b.reach(i, -1, LOGIC[word] | {word}), b.reach(i, 1, LOGIC[word] | {word})
            if first < i < last + 1:
                yield first, last, b.of(first, i - 1)
                yield first, last, b.of(i + 1, last)


def counts(b):
    """one too few, one too many"""
    for i, (word, _, _) in enumerate(b.tokens):
        if word in "+-" and b.word(i + 1) == "1" and b.is_binary(i):
            first, last = b.reach(i, -1, OF_SUM), b.reach(i, 1, OF_SUM)
            if last == i + 1 and first < i:
                yield first, last, b.of(first, i - 1)
                yield first, last, f"{b.of(first, i - 1)} {word} 2"


def statements(b):
    """left out: an assignment, a call"""
    for i, (word, _, _) in enumerate(b.tokens):
        if b.word(i - 1) not in (";", "{", "}", ")", "else") or not re.match(r"[A-Za-z_*]", word):
            continue
        last = b.reach(i - 1, 1, {";", "{", "}"})
        text = b.of(i, last)
        is_set = re.match(r"\*?[A-Za-z_]\w*((->|\.)\w+|\[[^]]*\])*\s*(=|[-+*/%&|^]=)(?!=)|[\w>.-]+(\+\+|--)$", text)
        is_call = re.match(r"[A-Za-z_]\w*\(", text) and b.word(last) == ")" and word not in ("if", "for", "while", "switch", "return")
        if b.word(last + 1) == ";" and (is_set or is_call) and not GIVES_BACK.search(word):
            yield i, last + 1, ""


def arguments(b):
    """two arguments in each other's place"""
    for i, (word, _, _) in enumerate(b.tokens):
        if not re.match(r"[a-z_]\w*$", word) or b.word(i + 1) != "(" or GIVES_BACK.search(word) or ALIKE.match(word) or b.word(i - 1) in (".", "->"):
            continue
        end = b.reach(i + 1, 1, {";"}) + 1
        parts, at = [], i + 2
        while at < end:
            last = b.reach(at - 1, 1, {","})
            parts.append(b.of(at, last))
            at = last + 2
        for k in range(len(parts) - 1):
            if parts[k] != parts[k + 1] and all(re.fullmatch(r"[\w>.&*+ -]+", p) for p in parts[k : k + 2]):
                yield i, end, f"{word}({', '.join(parts[:k] + [parts[k + 1], parts[k]] + parts[k + 2 :])})"


def siblings(b):
    """a sibling: another member of the same thing, another constant of the same kind"""
    members, constants = {}, {}
    for i, (word, _, _) in enumerate(b.tokens):
        if b.word(i - 1) in (".", "->") and re.match(r"[A-Za-z_]", b.word(i - 2)) and b.word(i - 3) not in (".", "->"):
            members.setdefault(b.word(i - 2), set()).add(word)
        elif re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", word):
            constants.setdefault(word.split("_")[0], set()).add(word)
    for i, (word, _, _) in enumerate(b.tokens):
        if b.word(i - 1) in (".", "->") and b.word(i + 1) not in ("(", "[", ".", "->", "++", "--") and b.word(i - 3) not in (".", "->"):
            for other in sorted(members.get(b.word(i - 2), set()) - {word}):
                yield i - 2, i, f"{b.word(i - 2)}{b.word(i - 1)}{other}"
        elif word in constants.get(word.split("_")[0], ()) and b.word(i - 1) not in ("case", "["):
            for other in sorted(constants[word.split("_")[0]] - {word}):
                yield i, i, other


def choices(b):
    """what is chosen by a condition, the other way round"""
    for i, (word, _, _) in enumerate(b.tokens):
        if word == "?":
            first, colon = b.reach(i, -1, ENDS), b.reach(i, 1, {":", ";", ","}) + 1
            last = b.reach(colon, 1, ENDS)
            if b.word(colon) == ":" and "?" not in b.of(i + 1, last):
                yield first, last, f"{b.of(first, i - 1)} ? {b.of(colon + 1, last)} : {b.of(i + 1, colon - 1)}"


CLASSES = [comparisons, checks, counts, statements, arguments, siblings, choices]


def compiles(name, text, more):
    with tempfile.NamedTemporaryFile("w", suffix=".c", dir=os.path.dirname(name), prefix=".draw") as f:
        f.write(text)
        f.flush()
        return subprocess.run(["gcc", *FLAGS.split(), *more, f.name], stderr=subprocess.DEVNULL, check=False).returncode == 0


def place(text, begin, end):
    """Lines around a place in which its text is there once, and which are there once; None where there are none."""
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", end)
    for _ in range(4):
        around = text[first:last]
        if around.count(text[begin:end]) != 1:
            return None
        if text.count(around) == 1:
            return around
        first = text.rfind("\n", 0, first - 1) + 1
    return None


def fault_of(name, text, kind, found, b):
    """The fault as a part of a set, or None."""
    first, last, new = found
    begin, end = b.span(first, last)
    old, around = text[begin:end], place(text, begin, end)
    if around is None or old == new or re.search(r"assert|\n#|\bfree\(|_f(ree|ini)\(", around):
        return None
    if around.lstrip().startswith(("#", "static", "case ")):
        return None
    choice = f"{{ if (fault) {{ {new} }} else {{ {old} }} }}" if old.endswith(";") else f"(fault ? ({new}) : ({old}))"
    if not compiles(name, text[:begin] + new + text[end:], ["-Werror"]):
        return None
    if not compiles(name, "extern int fault;\n" + text[:begin] + choice + text[end:], ["-w"]):
        return None
    line = text.count("\n", 0, begin) + 1
    lines = [f"id: {os.path.basename(name)[:-2]}-{line}-{kind.__name__}", f"room: {name.split('/')[0]}", f"file: {name}"]
    lines += [f"in: {x}" for x in around.split("\n")] + [f"old: {x}" for x in old.split("\n")]
    lines += [f"new: {x}" for x in new.split("\n")] + [f"why: {kind.__doc__} (line {line})"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", required=True)
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    names = subprocess.run(["git", "ls-files", args.room + "/*.c"], capture_output=True, text=True, check=True).stdout.split()
    if not names:
        sys.exit(f"draw.py: no C files in '{args.room}'")
    rng = random.Random(args.seed)
    bodies = []
    for name in names:
        with open(name, encoding="utf-8") as f:
            text = f.read()
        bodies += [(name, text, Body(text, m.start(), m.end())) for m in BODY.finditer(text)]
    rng.shuffle(bodies)
    n, known = 0, set()
    for name, text, b in bodies:
        for kind in CLASSES[n % len(CLASSES) :] + CLASSES[: n % len(CLASSES)]:
            found = list(kind(b))
            made = fault_of(name, text, kind, rng.choice(found), b) if found else None
            if made and made.split("\n")[0] not in known:
                known.add(made.split("\n")[0])
                print(made, end="\n\n", flush=True)
                n += 1
                break
        if n == args.n:
            return
    print(f"draw.py: {n} functions of {args.room} have a place for one, {args.n} were asked for", file=sys.stderr)


if __name__ == "__main__":
    main()
