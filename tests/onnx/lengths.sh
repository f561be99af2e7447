#!/bin/sh
# SPDX-License-Identifier: MIT
# lengths.sh BIN ROOT [SEED [full]] - models with an open dimension (lengths.py) deployed for a range of it: every output at lengths around the
# buckets, and some drawn by SEED, beside onnxruntime's, and not without what hides the places behind; what is refused, by name; and what
# docs/sizes.md says, to the letter. Five models, two of them by TUNE_TEST_SEED, and of halves two, one by it; full: all. Skips (77) without onnx and
# onnxruntime (scripts/install_deps.sh --bench) or a device.
set -eu
bin=$1 root=$2 seed=${3:-7}
. "$root/tests/onnx/with_onnx.sh"
need_device
sed 's/@BUNDLE@/net/g;s/@CAPS@/NET/g' "$root/examples/deploy_network/bundle.h.in" >"$dir/bundle.h"

# refused WORDS ARGUMENT...: exit code 1 or more and one line with the words
refused() {
    words=$1
    shift
    if "$bin/tune" "$@" >"$dir/said.out" 2>"$dir/words.out"; then fail "$* was to be refused"; fi
    [ "$(wc -l <"$dir/words.out")" -eq 1 ] || fail "$*: one line was expected: $(cat "$dir/words.out")"
    grep -q -e "$words" "$dir/words.out" || fail "$* was to say '$words': $(cat "$dir/words.out")"
}

deploy() {
    name=$1
    shift
    "$bin/tune" deploy "$dir/log.best.jsonl" --network "$dir/nets/$name.onnx" --dim "seq=$least..64" --whole --allow-nearest --name net \
        -o "$dir/bundle" "$@" >"$dir/deploy.out" 2>&1 || fail "$name: not deployed: $(cat "$dir/deploy.out")"
}

compile() {
    ${CC:-cc} -O0 -I"$dir" -I"$dir/bundle" -o "$1" "$root/tests/onnx/lengths.c" "$2" -lOpenCL -lm -lpthread >"$dir/cc.out" 2>&1 ||
        fail "its bundle does not compile: $(head -n 5 "$dir/cc.out")"
}

# blind FROM TO: a bundle with its text changed so is off
blind() {
    grep -q "$1" "$dir/bundle/net.c" || fail "$name: no '$1' in its bundle"
    sed "s/$1/$2/" "$dir/bundle/net.c" >"$dir/blind.c"
    compile "$dir/blind" "$dir/blind.c"
    # shellcheck disable=SC2086
    if "$dir/blind" 1e-4 "$dir/nets/$name" "$dir/nets/$name" $lengths >"$dir/blind.out" 2>&1; then
        fail "$name: nobody notices that padding is not hidden"
    fi
}

"$python" "$root/tests/onnx/lengths.py" "$dir/nets" "$seed" >"$dir/names" 2>"$dir/make.out" || fail "no models: $(tail -n 3 "$dir/make.out")"
chosen=" encoder first cached $(some 2 soft decoder masked pairs tagger pixels images | tr '\n' ' ')"
while read -r name lengths; do
    case "${4:-} $chosen" in full* | *" $name "*) ;; *) continue ;; esac
    least=1
    [ "$name" != cached ] || least=0
    "$bin/tune" import "$dir/nets/$name.onnx" --dim "seq=$least..64" -o "$dir/nets/$name" >"$dir/import.out" 2>&1 || fail "$name: $(cat "$dir/import.out")"
    deploy "$name"
    compile "$dir/app" "$dir/bundle/net.c"
    # shellcheck disable=SC2086
    "$dir/app" 1e-4 "$dir/nets/$name" "$dir/nets/$name" $lengths >"$dir/app.out" 2>&1 || fail "$name: $(cat "$dir/app.out")"
    echo "$name: $(tail -n 1 "$dir/app.out")"
    grep -q 'network_[0-9]* ' "$dir/bundle/net.c" || fail "$name: no buckets"
    case $name in # told that all places of a bucket are there (where a mask hides what is 0, padding hides itself)
    pairs | first) blind 'queue, (double)n, p->outer)' 'queue, 64, p->outer)' ;;
    sentence | window | pooled) blind 'queue, 1, n)' 'queue, 1, p->outer)' ;;
    last | pointed) blind 'queue, (double)(n - 1), p->outer)' 'queue, (double)(bucket - 1), p->outer)' ;;
    both_ways) blind 'queue, 0, p->outer - n, 0, n)' 'queue, 0, 0, 0, n)' ;;
    cached) blind 'queue, 1, bucket, size, p->more)' 'queue, 1, bucket, bucket, p->more)' ;;
    esac
done <"$dir/names"
least=1
case "${4:-}" in full) halves="first sentence last both_ways cached" ;; *) halves="cached $(some 1 first sentence last both_ways)" ;; esac
for name in $halves; do
    "$bin/tune" import "$dir/nets/$name.onnx" --dim seq=1..64 --dtype f16 -q -o "$dir/nets/$name-f16" || fail "f16: not imported"
    deploy "$name" --dtype f16 --buckets 3
    compile "$dir/app" "$dir/bundle/net.c"
    "$dir/app" 2e-2 "$dir/nets/$name-f16" "$dir/nets/$name-f16" 1 2 9 17 31 64 >"$dir/app.out" 2>&1 || fail "$name f16: $(cat "$dir/app.out")"
    echo "$name f16: $(tail -n 1 "$dir/app.out")"
done
deploy encoder --buckets 2
[ "$(grep -c ' to [0-9]* *[0-9]* *[0-9.]* ms$' "$dir/deploy.out")" -eq 2 ] || fail "--buckets 2: $(cat "$dir/deploy.out")"
grep -q '^[0-9]* to 64 *64 *[0-9.]* ms$' "$dir/deploy.out" || fail "no table of buckets: $(cat "$dir/deploy.out")"

dry() {
    words=$1 name=$2
    shift 2
    refused "$words" import "$dir/nets/$name.onnx" --dry-run "$@"
}
dry 'LSTM.*behind the last step along seq, so that padding it is not exact' cell --dim seq=1..64
dry 'depends on the size of the dimension' scaled --dim seq=1..64
dry 'MaxPool.*seq' halves --dim seq=1..64
dry 'no input has an open dimension seq' fixed --dim seq=1..64
dry 'no input has an open dimension words' tagger --dim seq=5 --dim words=1..64
dry 'at the least size there is nothing along seq' encoder --dim seq=0..5
dry '--dim seq=-1..5: expected NAME=N, or NAME=LEAST..MOST, from 0' encoder --dim seq=-1..5
dry 'NAME=LEAST..MOST, from 1' encoder --dim seq=0
dry 'expected --dim seq + 1=N' cached --dim words=5
dry '--dim seq=5..1: expected .* the least below the most' encoder --dim seq=5..1
dry '--dim seq=5..5: expected' encoder --dim seq=5..5
dry '--dim seq=1..: expected' encoder --dim seq=1..
dry '--dim seq=..8: expected' encoder --dim seq=..8
dry '--dim seq=1..8x: expected' encoder --dim seq=1..8x
dry '--dim b: seq is a range already' encoder --dim seq=1..8 --dim b=1..2
dry 'seq=128' encoder --dim seq=1..128 # longer than its table
refused 'a range is for --whole' deploy "$dir/log.best.jsonl" --network "$dir/nets/encoder.onnx" --dim seq=1..64 -o "$dir/none"
refused 'only the dimensions of a --network that is an .onnx file' run --network resnet-18 --dim seq=1..64 --whole --dry-run -o "$dir/none"
refused 'have no record' deploy "$dir/log.best.jsonl" --network "$dir/nets/encoder.onnx" --dim seq=1..64 --whole -o "$dir/none"

# ---- the page ----
mkdir "$dir/steps" "$dir/path" "$dir/here"
cat >"$dir/path/tune" <<END
#!/bin/sh
[ "\$1" != run ] || set -- "\$@" --trials 1 --repeat 1 --min-repeat-ms 1 --layout nchw --threads 1 -q
exec "$bin/tune" "\$@"
END
chmod +x "$dir/path/tune"
PATH=$dir/path:$PATH
cd "$dir/here"
cp "$dir/nets/encoder.onnx" model.onnx
"$python" - "$dir/nets/encoder" <<'END'
import sys, numpy
with open("x.bin", "wb") as x, open("expected.bin", "wb") as y:
    for n in (3, 4, 1):
        from pathlib import Path
        rng = numpy.random.default_rng(n)
        import onnxruntime
        ids, mask = rng.integers(0, 50, (1, n)), numpy.ones((1, n), numpy.int64)
        numpy.array([n], numpy.int32).tofile(x)
        ids.astype(numpy.float32).tofile(x)
        mask.astype(numpy.float32).tofile(x)
        onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids, "attention_mask": mask})[0].tofile(y)
END
awk -v OUT="$dir/steps" -f "$root/tests/docs/blocks.awk" "$root/docs/sizes.md"
for step in "$dir/steps"/*; do
    case $step in
    *.file) tail -n +2 "$step" >"$(head -n 1 "$step")" ;;
    *) tail -n +2 "$step" | sh -eu >"$dir/step.out" 2>&1 || fail "docs/sizes.md: this cannot be done: $(cat "$step" "$dir/step.out")" ;;
    esac
done
[ "$(ls "$dir/steps" | wc -l)" -eq 3 ] || fail "docs/sizes.md: three steps were expected"
"$python" - <<'END' || fail "docs/sizes.md: other outputs than onnxruntime's"
import sys, numpy
ours, theirs = numpy.fromfile("y.bin", numpy.float32), numpy.fromfile("expected.bin", numpy.float32)
off = abs(ours - theirs).max() / abs(theirs).max() if ours.shape == theirs.shape else numpy.inf
print(f"the page: {ours.size} numbers, the worst by {off:.3g} of the largest output")
sys.exit(not off <= 1e-4)
END
