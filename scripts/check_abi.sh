#!/bin/sh
# SPDX-License-Identifier: MIT
# check_abi.sh - fails when the binary interface of libtune.so (functions, structs, enums of tune.h) is not that of libtune/libtune.abi.
#   check_abi.sh LIBTUNE_SO            compares, with libabigail
#   check_abi.sh --update LIBTUNE_SO   writes libtune.abi anew; after an incompatible change only when LIBTUNE_SOVERSION was raised
# LIBTUNE_SO has debug information (-g). Compatible: new functions, members at the end of structs, enumerators. libtune.abi is that
# of x86-64; elsewhere nothing is compared.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

update=""
[ "${1:-}" != --update ] || { update=yes; shift; }
so=${1:?usage: check_abi.sh [--update] LIBTUNE_SO}
abi=libtune/libtune.abi
if [ "$(uname -m)" != x86_64 ]; then
    echo "libtune's binary interface: not compared on $(uname -m)"
    exit 0
fi
for tool in abidw abidiff; do
    command -v $tool >/dev/null || fail "no $tool here; scripts/install_deps.sh --check-tools installs it"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/headers"
cp libtune/tune.h "$work/headers"

# Structs are compared here: since they begin with their size they may grow, while each member stays where it was.
printf '[suppress_type]\n  type_kind = struct\n' >"$work/structs"
members() { awk -F"'" '/<class-decl /{ in_struct = $2 } /<data-member /{ at = $4 } /<var-decl /{ print in_struct, at, $2, $4 }' "$1" | sort; }
moved() {
    members "$abi" >"$work/before"
    members "$work/now.abi" | comm -23 "$work/before" - | sed 's/^/moved or gone (struct, bit, member, type): /' >"$work/said"
    [ -s "$work/said" ]
}

abidw --exported-interfaces-only --headers-dir "$work/headers" --drop-private-types \
    --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash \
    --out-file "$work/now.abi" "$so"
grep -q "<class-decl name='tune_info'" "$work/now.abi" || fail "$so has no debug information about tune_info"

# differs OPTION...: what abidiff says goes to $work/said.
differs() {
    rc=0
    abidiff "$@" "$abi" "$work/now.abi" >"$work/said" 2>&1 || rc=$?
    [ $((rc & 3)) -eq 0 ] || { cat "$work/said"; fail "abidiff failed"; }
    [ "$rc" -ne 0 ]
}

soname() { sed -n "s/.*soname='\([^']*\)'.*/\1/p" "$1" | head -n 1; }

if [ -e "$abi" ] && [ "$(soname "$abi")" = "$(soname "$work/now.abi")" ] &&
    { moved || differs --no-added-syms --suppressions "$work/structs"; }; then
    cat "$work/said"
    fail "incompatible with $(soname "$abi"): undo it, or raise LIBTUNE_SOVERSION (libtune/library.cmake) and run it with --update"
fi
if [ -n "$update" ]; then
    cp "$work/now.abi" "$abi"
    echo "$abi: written, $(soname "$abi")"
    exit 0
fi
[ -e "$abi" ] || fail "there is no $abi"
if differs --harmless; then
    cat "$work/said"
    fail "$abi is older than tune.h: run scripts/check_abi.sh --update $so"
fi
echo "libtune's binary interface: $(soname "$abi"), $(grep -c '<elf-symbol ' "$abi") functions, as in $abi"
