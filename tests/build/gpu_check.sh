#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu_check.sh SOURCE GENERATOR DIR - scripts/gpu_check.sh with stand-ins for all programs, in a folder whose name has a space: what it looks for,
# budgets with programs that hang, and calls that were interrupted, killed, or lost with their machine, and begun again.
set -eu
source=$1 dir=$3/check

fail() {
    echo "gpu_check.sh: $*" >&2
    exit 1
}

rm -rf "$dir"
pack="$dir/a pack/tune-gpu"
mkdir -p "$pack/bin" "$pack/tests/bench/ops" "$pack/kernels" "$dir/libs of a peer" "$dir/home/.local/lib/python3.9/site-packages/nvidia/all/lib"
cp -r "$source/scripts" "$pack/"
cp -r "$source/kernels/networks" "$pack/kernels/"
for library in libcudart.so.13 libcublas.so.13 libcudnn.so.9 libcusparse.so.12; do
    : >"$dir/libs of a peer/$library"
    : >"$dir/home/.local/lib/python3.9/site-packages/nvidia/all/lib/$library"
done

# What was measured is a line of $MEASURED; the programs in $HANG hang, with a child, behind what they measured.
cat >"$pack/bin/tune" <<'STAND_IN'
#!/bin/sh
out="" json="" without=""
program=$(basename "$0") all="$*" first=${1:-}
while [ $# -gt 0 ]; do
    case "$1" in
    -o) out=$2 ;;
    --json) json=$2 ;;
    --without) without=$2 ;;
    esac
    shift
done
hang() {
    case " ${HANG:-} " in *" $program "*)
        sleep 97 &
        wait
        ;;
    esac
}
case "$program $all" in
"tune-agent "*--self-test*) echo "cuda:0: Stand-in; CUDA 13.0; fingerprint ${FINGERPRINT:-0123456789ab}; canary 1 ms" ;;
"tune run "*)
    echo "$program $(basename "$(dirname "$out")")" >>"$MEASURED"
    echo '{}' >"$out"
    hang
    echo '{}' >"${out%.jsonl}.best.jsonl"
    ;;
"tune ladder "*)
    echo "ladder" >>"$MEASURED"
    echo "seven steps"
    ;;
"bench_ops --table "*) echo "| a table |" ;;
"bench_ops "*)
    [ "$without" = onednn,openblas,ort,csr ] || { echo "--without $without" >&2 && exit 1; }
    echo "$first" >>"$MEASURED"
    hang
    echo '{}' >"$json"
    printf '### `%s`\n| cuBLAS | plain | 1 |\n| ours x | plain | %s | - |\n' "$first" "${OURS:-1}"
    ;;
test_*)
    hang
    echo "1 configs verified"
    ;;
esac
STAND_IN
chmod +x "$pack/bin/tune"
for program in tune-agent bench_ops bench_rates; do cp "$pack/bin/tune" "$pack/bin/$program"; done
for program in test_cuda test_kernels_cuda test_mutants_cuda; do cp "$pack/bin/tune" "$pack/tests/$program"; done
cat >"$dir/layers.txt" <<'LAYERS'
gpu-gemm | first | dense f32 m=1 n=1 k=1
gpu-gemm | second | dense f32 m=2 n=1 k=1
gpu-rnn | lstm | rnn f32 cell=lstm pass=fwd i=8 h=8 l=1 b=4 t=2
LAYERS
export MEASURED="$dir/measured" TUNE_LAYERS="$dir/layers.txt" HOME="$dir/home" CUDA_HOME=/nowhere
unset VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH TUNE_CUDA_LIBRARY
state="$dir/a state.tar" first="dense f32 m=1 n=1 k=1" second="dense f32 m=2 n=1 k=1"
cd "$dir"

# check WORD... [PART...]: a call; its words are in out.txt.
check() {
    : >measured
    "$pack/scripts/gpu_check.sh" --libs "libs of a peer" "$@" >out.txt 2>&1
}
says() {
    grep -q -e "$1" out.txt || fail "expected '$1' in: $(cat out.txt)"
}
measured() {
    [ "$(sort measured | tr '\n' ';')" = "$1" ] || fail "measured '$(sort measured | tr '\n' ';')' instead of '$1'"
}
# All processes of the pack.
started() {
    grep -lsxzF "MEASURED=$MEASURED" /proc/[0-9]*/environ | sed 's|[^0-9]||g' | while read -r pid; do
        case "$({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null)" in "sleep 97 "* | *a\ pack*) echo "$pid" ;; esac
    done
}
# begin WORD...: a call in a process group of its own, as a terminal starts it.
begin() {
    : >measured
    HANG=$1
    shift
    HANG=$HANG setsid env --default-signal=INT "$pack/scripts/gpu_check.sh" --libs "libs of a peer" "$@" >out.txt 2>&1 &
    caller=$!
    HANG=""
}
# until_true COMMAND: a minute later at most.
until_true() {
    tries=0
    while ! eval "$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "not within a minute: $1; $(cat out.txt)"
        sleep .2
    done
}

begin_anew() {
    rm -rf "$state" "$pack/out"
}

end_started() {
    for pid in $(started); do kill -9 "$pid" 2>/dev/null || true; done
    [ -z "$(started)" ]
}
trap 'until_true end_started' EXIT

# Peers: none, in --libs, in the user's site-packages.
if ! PATH=$PATH:/usr/sbin:/sbin ldconfig -p | grep -q libcublas && [ ! -e /opt/venv ]; then
    if HOME=/nowhere "$pack/scripts/gpu_check.sh" gemm >out.txt 2>&1; then fail "a page without peers"; fi
    says "not found: libcudart.so libcublas.so libcudnn.so libcusparse.so"
fi
"$pack/scripts/gpu_check.sh" contract >out.txt 2>&1 || fail "$(cat out.txt)"
check gemm || fail "$(cat out.txt)"
says "| a table |"
measured "$first;$second;tune gemm;"
if OURS="wrong result" check gemm; then fail "a wrong result is taken"; fi
says "wrong result: first"

begin_anew

# A machine that goes in mid-slice: the state alone is left.
begin bench_ops --state "$state" gemm
until_true 'grep -q "$first" measured && tar -xzOf "$state" ./gemm/tuned >/dev/null 2>&1'
until_true end_started
rm -rf "$pack/out"
check --state "$state" gemm || fail "$(cat out.txt)"
measured "$first;$second;"
if FINGERPRINT=ba9876543210 check --state "$state" gemm; then fail "a state of another device is taken"; fi
says "is of another device"
begin_anew

# Killed alone, before anything was saved: what it left ends, what its folder has is not measured again.
begin bench_ops --state "$state" gemm
until_true 'grep -q "$first" measured'
kill -9 "$caller"
[ -n "$(started)" ] || fail "nothing was left to be ended"
check --state "$state" gemm || fail "$(cat out.txt)"
measured "$first;$second;"
[ -z "$(started)" ] || fail "what a killed call left is alive"
begin_anew

# Ctrl-C.
begin tune --state "$state" rnn gemm
until_true 'grep -q tune measured'
env kill -s INT -- "-$caller"
until_true '! kill -0 "$caller" 2>/dev/null'
says "interrupted; the same command goes on from here"
[ -z "$(started)" ] || fail "left behind by Ctrl-C"
measured "ladder;tune rnn;"
check --state "$state" rnn gemm || fail "$(cat out.txt)"
measured "$first;$second;rnn f32 cell=lstm pass=fwd i=8 h=8 l=1 b=4 t=2;tune gemm;tune rnn;"
begin_anew

# All that can hang hangs: the call ends with its budget, and so do its children.
begun=$(date +%s)
HANG="tune bench_ops test_cuda test_kernels_cuda test_mutants_cuda" check --budget 40 --state "$state" tests gemm || fail "$(cat out.txt)"
took=$(($(date +%s) - begun))
[ "$took" -le 55 ] || fail "a budget of 40 s took $took"
says "not finished for lack of time: tests gemm"
[ -z "$(started)" ] || fail "left behind by a budget"

begin_anew
check --state "$state" contract || fail "$(cat out.txt)"
ln -s /dev/full "$pack/out/gpu_check/gemm.new"
if check --state "$state" gemm; then fail "a part whose page could not be written is done"; fi
says "gemm.new cannot be written"
rm "$pack/out/gpu_check/gemm.new" "$state"
check --state "$state" gemm || fail "$(cat out.txt)"
says "| a table |"

if check --state "$dir/nowhere/state.tar" gemm; then fail "a state that cannot be written is taken"; fi
says "state.tar.lock cannot be written"

# A state that is cut, away, or another's: nothing that was done is erased.
begin_anew
check --state "$state" gemm gemm || fail "$(cat out.txt)"
measured "$first;$second;tune gemm;"
head -c 100 "$state" >cut.tar
cp "$state" whole.tar
cp cut.tar "$state"
if check --state "$state" gemm; then fail "a state that is cut is taken"; fi
says "cannot be read: move it away, and this goes on with what"
rm "$state"
check --state "$state" gemm || fail "$(cat out.txt)"
says "is not there: this goes on with what"
measured ""
rm -rf "$pack/out"
check gemm || fail "$(cat out.txt)"
if check --state whole.tar gemm; then fail "work of another state is erased"; fi
says "holds other work than"
if check --state "$pack/out/gpu_check/state.tar" gemm; then fail "a state in what it holds"; fi
says "lies in"
if check --state "$dir" gemm; then fail "a folder as state"; fi
says "a folder, expected a file"
for budget in 08 -1 99999999999999999999 ""; do
    if check --budget "$budget" gemm; then fail "a budget of '$budget'"; fi
    says "expected seconds"
done
begin_anew
begin bench_ops --state "$state" gemm
until_true 'grep -q "$first" measured'
if check --state "$state" --work elsewhere gemm; then fail "two calls for one state"; fi
says "another gpu_check.sh is at work for"
kill "$caller"
until_true '! kill -0 "$caller" 2>/dev/null'

mkdir other
echo mine >other/file
if check --work other --state "$dir/new.tar" gemm; then fail "a folder of others is emptied"; fi
says "holds what this script did not write"
[ -s other/file ] || fail "a file of others is gone"
echo "gpu_check: all as expected"
