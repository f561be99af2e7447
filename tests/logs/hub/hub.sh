# SPDX-License-Identifier: MIT
# hub.sh - what the tests of `tune hub` share: a folder of their own, logs to push, servers that end with the test. Sourced, with $tune
# and $sample (a program that writes logs) set.
set -eu

. "$here/../../scratch.sh"
export HOME="$dir" TUNE_HUB_USER="" TUNE_HUB_PASSWORD="" TUNE_HUB_TOKEN=""
unset AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_REGION AWS_DEFAULT_REGION \
    http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY || true

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_port PORT: until somebody listens there.
wait_port() {
    python3 - "$1" <<'EOF' || fail "nobody listens on port $1"
import socket, sys, time
for _ in range(300):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
sys.exit(1)
EOF
}

# expect_fail WORDS COMMAND...: it must fail with one line that has these words, and within the exit codes of tune.
expect_fail() {
    words=$1
    shift
    if "$@" >"$dir/said.out" 2>&1; then
        fail "succeeded: $*"
    fi
    grep -qi -- "$words" "$dir/said.out" || fail "no '$words' in the words of: $*"
    [ "$(grep -c '^tune:' "$dir/said.out")" = 1 ] || fail "not one line: $*"
}

# push_from_many N URL: N pushers at once, each with a log of 5 records of its own; all of them must be there at the end.
push_from_many() {
    pushers=""
    for i in $(seq "$1"); do
        "$sample" "$dir/many-$i.jsonl" 5 "many$i"
        "$tune" hub push "$2" "$dir/many-$i.jsonl" --wait 120s >"$dir/many-$i.out" 2>&1 &
        pushers="$pushers $!"
    done
    for pid in $pushers; do
        wait "$pid" || fail "a pusher of many failed"
    done
    "$tune" hub pull "$2" -o "$dir/all.jsonl" >/dev/null || fail "pull of what many pushed"
    [ "$(sort -u "$dir/all.jsonl" | wc -l)" = $((5 * $1)) ] ||
        fail "$1 pushers of 5 records each left $(sort -u "$dir/all.jsonl" | wc -l)"
    cat "$dir"/many-*.jsonl | sort >"$dir/wanted"
    sort "$dir/all.jsonl" | cmp -s - "$dir/wanted" || fail "other lines came back than were pushed"
}

# make_bundle DIR: a folder with a manifest, a nested file and one of 3 MB.
make_bundle() {
    mkdir -p "$1/kernels"
    echo "int answer(void);" >"$1/net.h"
    python3 -c 'import sys; sys.stdout.buffer.write(bytes(i * 7919 % 251 for i in range(3000000)))' >"$1/kernels/a b+c.cl"
    python3 - "$1" <<'EOF'
import hashlib, json, os, sys
files = []
for name in ("net.h", "kernels/a b+c.cl"):
    data = open(os.path.join(sys.argv[1], name), "rb").read()
    files.append({"path": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})
json.dump({"schema": 2, "files": files}, open(os.path.join(sys.argv[1], "manifest.json"), "w"))
EOF
}
