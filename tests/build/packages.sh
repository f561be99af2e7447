#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh SOURCE GENERATOR DIR NAME... - the build with each of the optional packages NAME that are here left out, and what is said of packages
# that are missing or unknown.
set -eu
source=$1 generator=$2 dir=$3 out=$3.txt
shift 3
. "$source/tests/build/build.sh"

unknown_names_are_refused() {
    if configure_plain -DTUNE_WITHOUT=sqlite; then fail "TUNE_WITHOUT=sqlite was to be refused"; fi
    says "TUNE_WITHOUT: 'sqlite' is no optional package; there are:"
}

needed_packages_that_are_missing_stand_in_one_message() {
    if PKG_CONFIG_LIBDIR=/nowhere configure_plain; then fail "a build without any library was to be refused"; fi
    [ "$(grep -c '^CMake Error' "$out")" -eq 1 ] || fail "one error was expected: $(cat "$out")"
    for debian in libcjson-dev libsqlite3-dev libcurl4-openssl-dev libexpat1-dev ocl-icd-opencl-dev zlib1g-dev scripts/install_deps.sh; do
        says "$debian"
    done
}

without_cmocka_there_are_programs_and_no_tests() {
    configured_plain -DTUNE_WITHOUT=cmocka
    says "Neither tests nor benches are built: they need cmocka"
    grep -q '/cli/main\.c"' "$dir/compile_commands.json" || fail "no tune without cmocka"
    if grep -q "\"file\": \"$source/tests/" "$dir/compile_commands.json"; then fail "parts of tests are built without cmocka"; fi
}

# what a program that has the package is compiled with
mark_of() {
    case "$1" in
    openmp) echo -fopenmp ;;
    onednn) echo -DHAVE_ONEDNN ;;
    clblast) echo -DHAVE_CLBLAST ;;
    cublas | cudnn | cusparse) echo -DHAVE_CUDA_LIBS ;;
    onnx | protobuf_c) echo -DTUNE_HAVE_ONNX ;;
    libpq) echo '/tracker/store_postgres\.c"' ;;
    tls | x509) echo '/tracker/tls\.c"' ;;
    *) fail "what marks a bench with '$1'?" ;;
    esac
}

# left_out NAME...: benches build without them
left_out() {
    configured_plain -DTUNE_WITHOUT="$(echo "$*" | tr ' ' ';')"
    says "left out by TUNE_WITHOUT: $(echo "$*" | sed 's/ /, /g')"
    for name in "$@"; do
        if grep -q -- "$(mark_of "$name")" "$dir/compile_commands.json"; then fail "programs have $name in spite of TUNE_WITHOUT"; fi
    done
    builds bench_ops
}

without_onnx_import_says_so() {
    left_out onnx protobuf_c
    builds tune
    if "$dir/bin/tune" import model.onnx -o "$dir/model" >"$out" 2>&1; then fail "tune import without ONNX was to be refused"; fi
    grep -q "built without ONNX" "$out" || fail "tune import was to say why: $(cat "$out")"
}

without_tls_tune_says_so() {
    left_out tls x509
    builds tune
    if "$dir/bin/tune" keygen --ca "$dir/ca" >"$out" 2>&1; then fail "tune keygen --ca without TLS was to be refused"; fi
    grep -q "built without TLS" "$out" || fail "tune keygen was to say why: $(cat "$out")"
    if "$dir/bin/tune" status --tracker tls+tcp://127.0.0.1:1 --ca x >"$out" 2>&1; then fail "tls+tcp:// was to be refused"; fi
    grep -q "built without TLS" "$out" || fail "tune status was to say why: $(cat "$out")"
}

without_libpq_there_is_no_such_store() {
    left_out libpq
    builds tune-tracker
    if "$dir/bin/tune-tracker" --store postgres://x@localhost/farm >"$out" 2>&1; then fail "a store on PostgreSQL was to be refused"; fi
    grep -q "'postgres' is no kind of store" "$out" || fail "tune-tracker was to say why: $(cat "$out")"
}

unknown_names_are_refused
needed_packages_that_are_missing_stand_in_one_message
without_cmocka_there_are_programs_and_no_tests
without_onnx_import_says_so
without_tls_tune_says_so
without_libpq_there_is_no_such_store
peers="" here="" # those that are not here are left out as it is
for package in "$@"; do
    case "$package" in cmocka | onnx | protobuf_c | tls | x509 | libpq) continue ;; esac
    peers="$peers $package"
    if grep -q -- "$(mark_of "$package")" "$dir/compile_commands.json"; then here="$here $package"; fi
done
for package in $here; do
    left_out "$package"
done
# shellcheck disable=SC2086 # a list of words is meant
left_out $peers
echo "bench_ops builds without each of:$here, and without all of:$peers"
