#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/faults/draw.py, in a throwaway clone: a fault of each class, the same ones by the same seed, which faults.awk can all choose at run time;
# nothing that a compiler would tell, nor what only gives back. draw.sh SOURCE_DIR
set -eu
parts="tests/faults core/CMakeLists.txt"
. "$(dirname "$0")/clone.sh"
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "skipped: no gcc or python3"; exit 77; }

mkdir room
cat >room/a.c <<'END'
int add(int left, int right);

struct pair { int rows, columns; };

int compares(int a, int b)
{
    return a < b;
}

int checks(const int *p)
{
    if (p && p[0])
        return 1;
    return 0;
}

int counts(int n)
{
    return n + 1;
}

int sets(int *p)
{
    *p = 7;
    return *p;
}

int calls(int a, int b)
{
    return add(a, b);
}

int reads(const struct pair *p, int of)
{
    return p->rows * (of - p->columns);
}

int chooses(int a)
{
    return a ? 3 : 4;
}
END
cat >room/none.c <<'END'
void *malloc(unsigned long n);
void free(void *p);
struct mixed { const char *text; int n; };

void gives_back(void *p)
{
    free(p);
}

const char *of_another_type(struct mixed *m, int *n)
{
    return *n ? m->text : 0;
}
END
git add room
tests/faults/draw.py --room room --n 40 --seed 5 >"$dir/set" 2>"$dir/said.out" || fail "draw.py"
tests/faults/draw.py --room room --n 40 --seed 5 >"$dir/again" 2>"$dir/said.out" || fail "draw.py, again"
cmp "$dir/set" "$dir/again" || fail "one seed, two sets"
for seed in 1 2 3 4 5 6; do # a function has one fault a draw
    tests/faults/draw.py --room room --n 40 --seed $seed 2>"$dir/said.out" || fail "draw.py --seed $seed"
done >"$dir/all"
grep -q 'asked for' "$dir/said.out" || fail "fewer than asked for, and no words"
for text in 'a <= b' 'p->(columns|rows)' 'n( [+] 2)?' 'add[(]b, a[)]' 'a [?] 4 : 3' 'p(\[0\])?' ''; do
    grep -qE "^new: $text\$" "$dir/all" || fail "never drawn: $text"
done
if grep -q 'gives_back\|free(p)' "$dir/all"; then fail "drawn: $(grep -B4 'free(p)' "$dir/all")"; fi
awk -f tests/faults/faults.awk -v mode=list "$dir/set" >"$dir/rows" || fail "faults.awk refuses the set"
[ "$(wc -l <"$dir/rows")" -ge 7 ] || fail "fewer than one a function: $(cat "$dir/rows")"
if grep -v 'choice$' "$dir/rows"; then fail "not to be chosen at run time"; fi
refuses "no C files in 'nowhere'" tests/faults/draw.py --room nowhere
echo "draw.py: $(grep -c '^id:' "$dir/all") drawn in six times"
