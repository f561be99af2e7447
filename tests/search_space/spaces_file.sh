#!/bin/sh
# SPDX-License-Identifier: MIT
# spaces_file.sh TUNE - `tune spaces --file`: what it prints, its exit codes, and one clear line for each bad input.
set -u
tune=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
    echo "FAILED: $1"
    failed=1
}

# is WANTED_CODE WANTED_OUT NAME ARGUMENTS...: the whole standard output.
is() {
    code=$1
    wanted=$2
    file=$dir/$3.json
    shift 3
    out=$("$tune" spaces --file "$file" "$@" 2>"$dir/err")
    got=$?
    [ "$got" -eq "$code" ] || fail "$file $*: exit $got, expected $code"
    [ "$out" = "$wanted" ] || fail "$file $*: printed '$out', expected '$wanted'"
}

# refuses CODE WORDS NAME ARGUMENTS...: exit code, and one line on standard error that has the words.
refuses() {
    code=$1
    words=$2
    file=$dir/$3.json
    shift 3
    "$tune" spaces --file "$file" "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" -eq "$code" ] || fail "$file $*: exit $got, expected $code"
    [ "$(wc -l <"$dir/err")" -eq 1 ] || fail "$file $*: not one line: $(cat "$dir/err")"
    grep -qF -- "$words" "$dir/err" || fail "$file $*: '$(cat "$dir/err")' does not say '$words'"
}

# space NAME RESTRICTIONS: three knobs of 4, 3 and 2 values.
space() {
    cat >"$dir/$1.json" <<END
{"params": [{"name": "bx", "values": [1, 2, 4, 8]}, {"name": "by", "values": [1, 2, 4]},
            {"name": "order", "values": ["hwc", "chw"]}], "restrictions": $2}
END
}

space small '["bx * by <= 4", "order == \"hwc\" or bx > 2"]'
is 0 7 small --count
is 0 "7" small --count --seed 1
out=$("$tune" spaces --file "$dir/small.json" --list | sort -u | wc -l)
[ "$out" -eq 7 ] || fail "--list: $out different lines, expected 7"
i=0
"$tune" spaces --file "$dir/small.json" --list | while IFS= read -r line; do
    [ "$("$tune" spaces --file "$dir/small.json" --index $i)" = "$line" ] || fail "--index $i is not line $i"
    "$tune" spaces --file "$dir/small.json" --config "$line" | grep -q "^valid: line $i of 7, " || fail "--config $line"
    i=$((i + 1))
    [ "$failed" -eq 0 ] || exit 1
done || failed=1
is 2 "not valid: bx * by <= 4" small --config "by=4 bx=8 order=hwc"
is 0 "valid: line 0 of 7, index 0 of the product" small --config "bx=1 by=1 order=hwc"
[ "$("$tune" spaces --file "$dir/small.json" --sample 50 --seed 3 | sort -u | wc -l)" -gt 3 ] || fail "--sample: no variety"
[ "$("$tune" spaces --file "$dir/small.json" --sample 9 --seed 3)" = \
    "$("$tune" spaces --file "$dir/small.json" --sample 9 --seed 3)" ] || fail "--sample: a seed does not repeat"
refuses 1 "--index 7: expected 0 to 6" small --index 7
refuses 1 "knob 'by': '3' is not a value of it; expected one of 1, 2, 4" small --config "bx=1 by=3 order=hwc"

space none '["bx > 8"]'
is 2 0 none --count
refuses 2 "the constraints leave no config" none --count
refuses 2 "the constraints leave no config" none --list
refuses 2 "the constraints leave no config" none --index 0
space zero '["by % (bx - 1) == 0"]'
is 0 6 zero --count
space always_zero '["bx / 0 == 1"]'
is 2 0 always_zero --count
space unknown '["bx * bz <= 4"]'
refuses 1 "unknown.json: constraint 1: 'bx * bz <= 4': unknown name 'bz'" unknown --count
space words '["bx <= order"]'
is 2 0 words --count
space list '"bx < 4"'
refuses 1 "'restrictions': expected an array or null" list --count
space number '[3, "bx < 4"]'
refuses 1 "'restrictions': expected strings" number --count
long=$(printf 'bx + %.0s' $(seq 1 2100))
space long "[\"${long}1 > 0\"]"
refuses 1 "longer than 4096 bytes" long --count
deep=$(printf '(%.0s' $(seq 1 100))
space deep "[\"${deep}bx\"]"
refuses 1 "nested deeper than 64" deep --count
space null null
is 0 24 null --count
refuses 0 "restrictions are null" null --count

echo '{"params": [{"name": "bx", "values": [1, 2, 1]}]}' >"$dir/twice.json"
refuses 1 "knob 'bx' has the value 1 twice" twice --count
echo '{"params": [{"name": "bx", "values": [1, NaN]}]}' >"$dir/nan.json"
refuses 1 "nan.json: not JSON at byte" nan --count
echo '{"params": [{"name": "bx", "values": [1, 1e999]}]}' >"$dir/huge.json"
refuses 1 "knob 'bx' has a value that is not a finite number" huge --count
echo '{"params": [{"name": "bx", "values": [1, "a"]}]}' >"$dir/mixed.json"
refuses 1 "knob 'bx': expected only numbers, or only words" mixed --count
echo '{"params": [{"name": "bx", "values": []}]}' >"$dir/empty.json"
refuses 1 "knob 'bx' has no values" empty --count
echo '{"params": [{"name": "bx", "values": [1, 2' >"$dir/cut.json"
refuses 1 "cut.json: not JSON at byte" cut --count
echo '{"layers": []}' >"$dir/other.json"
refuses 1 "no space in it: expected 'params' or 'ConfigurationSpace'" other --count
refuses 1 "missing.json" missing --count

cat >"$dir/t1.json" <<'END'
{"ConfigurationSpace": {"TuningParameters": [
    {"Name": "BX", "Type": "int", "Values": "[1, 2, 4]"}, {"Name": "O", "Type": "string", "Values": "['a', 'b']"},
    {"Name": "F", "Type": "bool", "Values": "[True, False]"}, {"Name": "U", "Type": "uint", "Values": [0, 1]}],
  "Conditions": [{"Expression": "BX > 1 or O == 'a'", "Parameters": ["BX", "O"]},
                 {"Expression": "F == true or U == 0", "Parameters": ["F", "U"]}]}}
END
is 0 15 t1 --count
sed 's/\[1, 2, 4\]/list(range(1, 5))[:3]/' "$dir/t1.json" >"$dir/range.json"
refuses 1 "knob 'BX': " range --count
sed 's/\[1, 2, 4\]/[int(x) for x in open(0)]/' "$dir/t1.json" >"$dir/code.json"
refuses 1 "knob 'BX': " code --count

"$tune" spaces --count >/dev/null 2>"$dir/err"
[ $? -eq 1 ] && grep -q -- "--count asks about a space in a file" "$dir/err" || fail "--count without --file"
[ "$failed" -eq 0 ] && echo "tune spaces --file: as expected"
exit "$failed"
