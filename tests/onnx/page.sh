#!/bin/sh
# SPDX-License-Identifier: MIT
# page.sh BIN ROOT - does what docs/networks.md says of a model in hand, to the letter: its commands and its C program, on the first blocks
# of a MobileNet v2 (networks.py), whose output is onnxruntime's. But `tune run` measures one config of each workload, in nchw alone.
# Skips (77) without onnx and onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2
. "$root/tests/onnx/with_onnx.sh"
if ! "$bin/tune" doctor >"$dir/doctor.out" 2>&1; then
    echo "skipped: \`tune doctor\` finds no device"
    exit 77
fi
mkdir "$dir/steps" "$dir/bin" "$dir/here"
cat >"$dir/bin/tune" <<END
#!/bin/sh
[ "\$1" != run ] || set -- "\$@" --trials 1 --repeat 1 --min-repeat-ms 1 --layout nchw -q
exec "$bin/tune" "\$@"
END
chmod +x "$dir/bin/tune"
PATH=$dir/bin:$PATH
cd "$dir/here"
"$python" "$root/tests/onnx/networks.py" "$dir/nets" --short --width 0.25 mobilenet_v2 >"$dir/make.out" 2>&1 || fail "no model"
mv "$dir/nets/mobilenet_v2.onnx" model.onnx
mv "$dir/nets/mobilenet_v2-f32-1/x.bin" x.bin
awk -v OUT="$dir/steps" -f "$root/tests/docs/blocks.awk" "$root/docs/networks.md"
for step in "$dir/steps"/*; do
    case $step in
    *.file) tail -n +2 "$step" >"$(head -n 1 "$step")" ;;
    *) tail -n +2 "$step" | sh -eu >"$dir/step.out" 2>&1 || fail "docs/networks.md: this cannot be done: $(cat "$step")" ;;
    esac
done
[ "$(ls "$dir/steps" | wc -l)" -eq 3 ] || fail "docs/networks.md: three steps were expected"
"$python" - "$dir/nets/mobilenet_v2-f32-1/y.bin" <<'END' || fail "other outputs than onnxruntime's"
import sys, numpy
ours, theirs = numpy.fromfile("y.bin", numpy.float32), numpy.fromfile(sys.argv[1], numpy.float32)
off = abs(ours - theirs).max() / abs(theirs).max()
print(f"the worst by {off:.3g} of the largest output")
sys.exit(not off <= 1e-5)
END
