# SPDX-License-Identifier: MIT
# common.sh - what the scripts share; sourced, with the working directory set to the top of the tree.

# The rooms of the product, from the ground up.
rooms="core search_space cost_model logs exec runtime kernels onnx page libtune tracker agent search formats deploy tuner cli"

say() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# function_lines: of the C files named on standard input each function: FILE:LINE NAME LINES, by ctags.
function_lines() {
    ctags -L - --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne -f - 2>/dev/null | awk -F'\t' '
        /^!/ { next }
        {
            from = to = 0
            for (i = 4; i <= NF; i++) {
                if ($i ~ /^line:/) from = substr($i, 6)
                if ($i ~ /^end:/) to = substr($i, 5)
            }
            print $2 ":" from, $1, to - from + 1
        }'
}

# head_comment SCRIPT: prints the comment at its head, which is its help, without the licence, and ends well.
head_comment() {
    sed -n '2,/^[^#]/{/^# SPDX-/d;s/^# \{0,1\}//p;}' "$1"
    exit 0
}

# build PRESET [TARGET...]: configures (with $build_arguments, where set) and builds quietly, all but the benches without a TARGET; shows the
# whole output when that fails.
build() {
    build_preset=$1
    shift
    build_log=$(mktemp)
    if ! { cmake --preset "$build_preset" ${build_arguments:+"$build_arguments"} && cmake --build --preset "$build_preset" ${1:+--target "$@"}; } >"$build_log" 2>&1; then
        cat "$build_log" >&2
        rm -f "$build_log"
        fail "the build with preset '$build_preset' failed"
    fi
    rm -f "$build_log"
}
