#!/bin/sh
# SPDX-License-Identifier: MIT
# The checks of the tree see the faults that they are for, in a throwaway clone. checks.sh SOURCE_DIR
set -eu
parts="scripts .github .ci core CMakeLists.txt"
. "$(dirname "$0")/clone.sh"

# check_spdx.sh: adds the line once, behind #!, and no help shows it.
. scripts/common.sh
(head_comment scripts/check_cuda_compile.sh) >"$dir/help.before"
scripts/check_spdx.sh --add >"$dir/said.out" || fail "check_spdx.sh --add"
scripts/check_spdx.sh >"$dir/said.out" || fail "files lack their licence behind --add"
git add -A
git commit -q --allow-empty -m "licences"
scripts/check_spdx.sh --add >"$dir/said.out" || fail "check_spdx.sh --add, again"
[ -z "$(git status --porcelain)" ] || fail "--add adds a second line"
[ "$(sed -n 1p scripts/check_cuda_compile.sh)" = "#!/bin/sh" ] || fail "#! is not first any more"
[ -x scripts/check_cuda_compile.sh ] || fail "--add took the mode away"
(head_comment scripts/check_cuda_compile.sh) >"$dir/help.after"
cmp "$dir/help.before" "$dir/help.after" || fail "a help changed with the licence"
sed -i 1d core/buf.c
printf 'no end of line' >core/odd.c
git add core/odd.c
refuses "core/buf.c: expected the line '/* SPDX-License-Identifier: MIT */'" scripts/check_spdx.sh
scripts/check_spdx.sh --add >"$dir/said.out"
[ "$(tail -n 1 core/odd.c)" = "no end of line" ] || fail "--add changed the end of a file"
git reset -q --hard

# check_ci.py: a script, a step, an option, a value that there is not; a file that is none.
workflow=.github/workflows/ci.yml
spoilt() { # WORDS SED_SCRIPT
    sed -i "$2" "$workflow"
    [ -n "$(git status --porcelain)" ] || fail "$2 changes nothing"
    refuses "$1" scripts/check_ci.py
    git checkout -q "$workflow"
}
if python3 -c 'import yaml' 2>"$dir/said.out"; then
    scripts/check_ci.py >"$dir/said.out" || fail "check_ci.py"
    spoilt "scripts/chek.sh: there is no such script" 's,scripts/check.sh \$,scripts/chek.sh $,'
    spoilt "scripts/check.sh does not know 'wurds'" 's/words/wurds/'
    spoilt "scripts/test.sh does not know 'frm'" 's/farm/frm/'
    spoilt "the matrix has no 'stebs'" 's/matrix.steps/matrix.stebs/'
    spoilt "job check: expected container" '0,/container/s/container/contains/'
    spoilt "expected owner/name@ and a version" 's/checkout@v4/checkout/'
    spoilt "ci.yml" 's/^jobs:/jobs: [/'
else
    echo "check_ci.py: not checked, python3 has no yaml here"
fi
# test.sh: a label that there is not, and one without tests. Nothing is built: ctest knows one test, of label unit.
refuses "unknown label 'frm'; there are: unit" scripts/test.sh frm
mkdir "$dir/bin"
printf '#!/bin/sh\n' >"$dir/bin/cmake"
cat >"$dir/bin/ctest" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
    -L) label=$2 ;;
    -N) is_list=1 ;;
    --output-junit) printf '<testsuite>\n\t<testcase name="one" classname="one" time="2" status="run">\n' >"$2" ;;
    esac
    shift
done
case "${is_list:-0}$label" in 1*unit*) echo "  Test   #1: one" ;; esac
END
printf '#!/bin/sh\n' >scripts/install_deps.sh
chmod +x "$dir/bin/cmake" "$dir/bin/ctest"
PATH=$dir/bin:$PATH scripts/test.sh unit >"$dir/said.out" || fail "test.sh unit"
grep -q 'unit  *passed  *1 tests,  *2 s' "$dir/said.out" || fail "test.sh does not count its test: $(cat "$dir/said.out")"
(PATH=$dir/bin:$PATH && refuses "no tests: farm" scripts/test.sh unit farm)
git checkout -q scripts/install_deps.sh
echo "the checks see their faults"
