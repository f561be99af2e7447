#!/bin/sh
# SPDX-License-Identifier: MIT
# forbidden.sh BIN FORBID [--full] - agents on systems that refuse parts of a cage (tests/agent/forbid.c): what cannot be applied is said by tune doctor, in the
# agent's start line, in tune devices and in the record, trials are measured all the same; --cage must leaves. Exit 77: no OpenCL device.
# What hosted CI refuses, and one of four others by TUNE_TEST_SEED; --full: all.
bin=$1
forbid=$2
. "$(dirname "$0")/farm.sh"
layer="dense f32 m=8 n=64 k=64"
others="landlock namespaces,landlock filters namespaces,landlock,filters,privileges,users"
chosen=$others
# shellcheck disable=SC2086 # four words
[ "${3:-}" = --full ] || chosen=$(some 1 $others)
cd "$dir"

"$bin/tune-agent" --self-test >self.out 2>&1 || {
    echo "skipped: $(tail -n 1 self.out)"
    exit 77
}

# said FILE WORDS..: each is in the file
said() {
    file=$1
    shift
    for words in "$@"; do
        grep -q -e "$words" "$file" || fail "no '$words' in $file: $(cat "$file")"
    done
}

# try PARTS WORDS..: as on a system without the parts, of which these words tell
try() {
    parts=$1
    name=$(echo "$parts" | tr , -)
    shift
    got=0
    "$forbid" "$parts" "$bin/tune" doctor >"doctor-$name.out" 2>&1 || got=$?
    [ "$got" -ne 77 ] || {
        cat "doctor-$name.out"
        exit 77
    }
    [ "$got" -eq 0 ] || fail "tune doctor without $parts ended with $got"
    said "doctor-$name.out" "^note *cage of children *without" "$@"

    "$forbid" "$parts" "$bin/tune-agent" --tracker "$url" --name "$name" --key "$name" --threads 1 >"$name.out" 2>&1 &
    pid=$!
    children="$children $pid"
    wait_agent "$name"
    said "$name.out" "cage of the children: without" "$@"
    "$bin/tune" devices --tracker "$url" >"devices-$name.out" 2>&1 || fail "tune devices ended with $?"
    grep "^$name " "devices-$name.out" >"device-$name.out" || fail "no line of $name: $(cat "devices-$name.out")"
    said "device-$name.out" "cage without" "$@"
    "$bin/tune" run "$layer" --tracker "$url" --key "$name" --trials 2 --repeat 2 --min-repeat-ms 1 -q -o "$name.jsonl" >"run-$name.out" 2>&1 ||
        fail "tune run without $parts ended with $?"
    grep '"status":"ok"' "$name.jsonl" >"record-$name.out" || fail "no trial without $parts was ok: $(cat "$name.jsonl")"
    said "record-$name.out" '"cage":"without' "$@"
    kill "$pid"

    got=0
    "$forbid" "$parts" "$bin/tune-agent" --cage must --self-test >"must-$name.out" 2>&1 || got=$?
    [ "$got" -eq 1 ] || fail "--cage must without $parts ended with $got"
    said "must-$name.out" "the cage of this child lacks" "$@"
    echo "without $parts: $(sed -n 's/.*cage of children *//p' "doctor-$name.out")"
}

start_tracker
# turn PARTS WORDS..
turn() {
    case " $chosen " in *" $1 "*) try "$@" ;; esac
}

try namespaces "namespaces"
turn landlock "Landlock"
turn namespaces,landlock "namespaces" "Landlock"
turn filters "filter of system calls"
turn namespaces,landlock,filters,privileges,users "namespaces" "Landlock" "filter of system calls" "no new privileges"
