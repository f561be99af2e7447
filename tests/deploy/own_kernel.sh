#!/bin/sh
# SPDX-License-Identifier: MIT
# own_kernel.sh BIN ROOT - does what docs/own-kernel.md says, to the letter, in an empty folder: but `tune run` makes 6 short trials.
# Then what the page does not show: a log of two devices and two sizes, and what is refused. Skips (77) without a device.
set -eu
bin=$1 root=$2
. "$root/tests/scratch.sh"

if ! "$bin/tune" doctor >"$dir/doctor.out" 2>&1; then
    echo "skipped: \`tune doctor\` finds no device"
    exit 77
fi
mkdir "$dir/steps" "$dir/bin" "$dir/here"
cat >"$dir/bin/tune" <<END
#!/bin/sh
case \$1 in
run) set -- "\$@" --trials 6 --repeat 1 --min-repeat-ms 1 -q ;;
measure) set -- "\$@" --repeat 1 --min-repeat-ms 1 ;;
recheck) # of six short trials any may be the best today
    "$bin/tune" "\$@" --repeat 1 --min-repeat-ms 1 || [ \$? -eq 2 ]
    exit ;;
esac
exec "$bin/tune" "\$@"
END
chmod +x "$dir/bin/tune"
PATH=$dir/bin:$PATH
cd "$dir/here"
awk -v OUT="$dir/steps" -f "$root/tests/docs/blocks.awk" "$root/docs/own-kernel.md"
for step in "$dir/steps"/*; do
    case $step in
    *.file) tail -n +2 "$step" >"$(head -n 1 "$step")" ;;
    *) tail -n +2 "$step" | sh -eu >"$dir/step.out" 2>&1 || fail "docs/own-kernel.md: this cannot be done: $(cat "$step" "$dir/step.out")" ;;
    esac
done
[ "$(ls "$dir/steps" | wc -l)" -eq 9 ] || fail "docs/own-kernel.md: nine steps were expected"

# A wrong variant is no winner: what a config computes is held against the plain kernel.
sed 's/sum \/ 3/sum \/ (3 + (VEC == 8))/' blur.cl >wrong.cl
sed 's/"blur.cl"/"wrong.cl"/' blur.json >wrong.json
! tune measure --kernel-spec wrong.json -c "VEC=8 ROWS=2 GX=16 GY=1" >said 2>&1 || fail "a wrong config was taken"
grep -q "wrong" said || fail "not called wrong: $(cat said)"

# refuses WORDS COMMAND...
refuses()
{
    words=$1
    shift
    ! "$@" >said 2>&1 || fail "not refused: $*"
    grep -q -e "$words" said || fail "'$words' expected of $*, but: $(cat said)"
}
refuses "the config is not valid: GX \* GY <= 128" tune measure --kernel-spec blur.json -c "VEC=4 ROWS=1 GX=128 GY=8"
refuses "no record with status ok of this version" tune deploy blur.best.jsonl --kernel-spec wrong.json -o x.h
refuses "expected one of --file, --kernel-spec" tune spaces --kernel-spec blur.json --file blur.json
refuses "did you mean Conditions" sh -c 'sed s/Conditions/Conditons/ blur.json >bad.json; tune spaces --kernel-spec bad.json'
refuses "no --network" tune deploy blur.best.jsonl --kernel-spec blur.json --network vgg-16 -o x.h
[ ! -e x.h ] || fail "a header of a refused call"
grep -v Operations blur.json >plain.json
"$bin/tune" show --kernel-spec plain.json -c "VEC=8 ROWS=2 GX=16 GY=1" >said || fail "show: $(cat said)"
! grep -q GFLOP said || fail "a rate of operations that nobody named: $(cat said)"
# Before a farm is started, for which this one has no programs.
mkdir "$dir/alone" && cp "$bin/tune" "$dir/alone"
sed 's/"GX", "Y"/"GXX", "Y"/' blur.json >bad.json
refuses "LocalSize.X: 'GXX': unknown name" "$dir/alone/tune" measure --kernel-spec bad.json -c "VEC=8 ROWS=2 GX=16 GY=1"
refuses "the config is not valid" "$dir/alone/tune" measure --kernel-spec blur.json -c "VEC=4 ROWS=1 GX=128 GY=8"
