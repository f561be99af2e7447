#!/bin/sh
# test_bundle.sh WRITER EXAMPLE - a bundle builds with the example and gives right outputs; the example fails for a bundle with a wrong
# kernel and for one with a layer that is not a tuned one.
set -eu
writer=$1
example=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

build_and_run() {
    cmake -S "$example" -B "$dir/build" -DTUNE_BUNDLE_DIR="$dir/bundle" >"$dir/log" 2>&1 && cmake --build "$dir/build" >>"$dir/log" 2>&1 || {
        cat "$dir/log"
        echo "the example did not build"
        exit 1
    }
    "$dir/build/deploy_c" >"$dir/out" 2>&1
}

"$writer" "$dir/bundle"
build_and_run || { cat "$dir/out"; echo "the example failed on a good bundle"; exit 1; }
grep -q "2 of 2 layers are tuned and right" "$dir/out"

"$writer" "$dir/again"
diff -r "$dir/bundle" "$dir/again" || { echo "the same layers gave another bundle"; exit 1; }

sed -i 's/"ok", "final"/"wrong", "final"/' "$dir/bundle/tune_bundle.c"
if build_and_run || ! grep -q "NOT TUNED" "$dir/out"; then
    cat "$dir/out"
    echo "the example passed a layer that is not tuned"
    exit 1
fi

"$writer" "$dir/bundle"
sed -i 's/ += / -= /' "$dir/bundle/tune_bundle.c"
if build_and_run || ! grep -q "WRONG" "$dir/out"; then
    cat "$dir/out"
    echo "the example passed a wrong kernel"
    exit 1
fi
echo "a bundle builds and runs; spoilt ones are refused"
