#!/bin/sh
# SPDX-License-Identifier: MIT
# check_cuda_compile.sh - compiles every template in every type for CUDA architectures, without a GPU: drawn configs through NVRTC,
# and what the compiler says of registers, spills and shared memory held against what the search spaces say.
#   check_cuda_compile.sh            20 configs and the defaults of each template, type and architecture: some 24,000 compiles of
#                                    0.4 s, 80 minutes of two cores; results are kept by content, so that a run that was stopped goes on
#   check_cuda_compile.sh --quick    a sample: of each template and type one config on one architecture, as the seed (--seed N,
#                                    TUNE_TEST_SEED) has it
#   check_cuda_compile.sh --budget   the machine code alone, each row of the table as it is now; 77 without nvdisasm
#   check_cuda_compile.sh --networks the machine code of the defaults of all layers of the networks, batch 1 and 16, all types and
#                                    layouts, with sums; some hours for all: --only conv2d/direct --sm 61,80 are minutes
# Behind the compiles the machine code of the rows of docs/notes/sass.md is counted and held against their budgets, half a minute where
# nothing is kept; left out, with words, where nvdisasm is neither installed (install_deps.sh --nvdisasm) nor TUNE_NVDISASM.
# Rows of sm_61 want CUDA 12's compiler and disassembler (--nvrtc12, --nvdisasm12), else they are left out, with words.
# sm_75 and newer by the newest NVRTC found, sm_52 to sm_70 by CUDA 12's (install_deps.sh --nvrtc12; --quick does without where it
# is not installed). Registers, spills and shared bytes of each kernel: a line each in table.tsv beside the verdicts that are kept
# (TUNE_VERDICTS, else ${XDG_CACHE_HOME:-~/.cache}/tune-verdicts). Other options go to the program: --only TEXT, --sm LIST, -j N,
# --table FILE, --help.
# TUNE_CHECK_CUDA: the program, instead of building. The last line is "N passed, N failed"; 77 = no NVRTC here.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

case " $* " in *" --help "* | *" -h "*) head_comment "scripts/$(basename "$0")" ;; esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}
quick=""
for argument in "$@"; do
    [ "$argument" != --quick ] || quick=yes
done
program=${TUNE_CHECK_CUDA:-}
if [ -z "$program" ]; then
    build release
    program=build/tests/check_cuda_compile
fi
[ -n "$quick" ] || scripts/install_deps.sh --nvrtc12 --nvdisasm --nvdisasm12 >&2
nvrtc12=$(find "$cache/tune-nvrtc12/venv/lib" -name 'libnvrtc.so.12' 2>/dev/null | head -n 1 || true)
nvdisasm=${TUNE_NVDISASM:-$(find "$cache/tune-nvdisasm/venv/lib" -path '*/bin/nvdisasm' 2>/dev/null | head -n 1 || true)}
nvdisasm12=$cache/tune-nvdisasm12/nvdisasm
[ -x "$nvdisasm12" ] || nvdisasm12=""
[ -n "$nvdisasm" ] || nvdisasm=$(PATH=$PATH:/usr/local/cuda/bin command -v nvdisasm || true)
kept=${TUNE_VERDICTS:-$cache/tune-verdicts}
mkdir -p "$kept"
exec "$program" ${nvrtc12:+--nvrtc "$nvrtc12"} --sass docs/notes/sass.md ${nvdisasm:+--nvdisasm "$nvdisasm"} ${nvdisasm12:+--nvdisasm12 "$nvdisasm12"} -j "$(nproc)" --table "$kept/table${quick:+-quick}.tsv" "$@"
