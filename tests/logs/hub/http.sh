#!/bin/sh
# SPDX-License-Identifier: MIT
# http.sh TUNE SAMPLE WRITER - `tune hub` against a real nginx with DAV, and against servers that misbehave.
tune=$1
sample=$2
writer=$3
here=$(dirname "$0")
. "$here/hub.sh"

nginx=$(command -v nginx || echo /usr/sbin/nginx)
if [ ! -x "$nginx" ] || ! command -v python3 >/dev/null; then
    echo "skipped: no nginx or python3 here (scripts/install_deps.sh --hub installs them)"
    exit 77
fi

# ---- nginx ----
port=$(free_port)
mkdir -p "$dir/www" "$dir/tmp"
module=/usr/lib/nginx/modules/ngx_http_dav_ext_module.so
load="" methods=""
if [ -f "$module" ]; then
    load="load_module $module;" methods="dav_ext_methods PROPFIND OPTIONS;"
fi
user_line=""
[ "$(id -u)" -ne 0 ] || user_line="user root;"
printf 'farm:{PLAIN}let me in\n' >"$dir/passwd"
cat >"$dir/nginx.conf" <<EOF
$load
$user_line
daemon off; master_process off;
pid $dir/nginx.pid;
error_log $dir/nginx.out;
events {}
http {
    access_log off;
    client_body_temp_path $dir/tmp; proxy_temp_path $dir/tmp; fastcgi_temp_path $dir/tmp; uwsgi_temp_path $dir/tmp; scgi_temp_path $dir/tmp;
    client_max_body_size 200m;
    server {
        listen 127.0.0.1:$port;
        root $dir/www;
        location / { dav_methods PUT DELETE MKCOL COPY MOVE; $methods create_full_put_path on; }
        location /folders/ { dav_methods PUT DELETE MKCOL; }
        location /index/ { alias $dir/www/; autoindex on; autoindex_format json; }
        location /small/ { alias $dir/www/; dav_methods PUT DELETE MKCOL; client_max_body_size 1k; }
        location /readonly/ { alias $dir/www/; }
        location /private/ { auth_basic farm; auth_basic_user_file $dir/passwd; dav_methods PUT DELETE MKCOL; $methods create_full_put_path on; }
    }
}
EOF
"$nginx" -p "$dir" -c "$dir/nginx.conf" -e "$dir/nginx.out" &
children="$children $!"
wait_port "$port"
hub=http://127.0.0.1:$port

"$sample" "$dir/a.jsonl" 40 a
"$sample" "$dir/b.jsonl" 30 b
"$tune" hub push "$hub/farm/log.jsonl" "$dir/a.jsonl" | grep -q ": 40 new" || fail "first push"
"$tune" hub push "$hub/farm/log.jsonl" "$dir/a.jsonl" | grep -q ": 0 new" || fail "the same push again"
"$tune" hub push "$hub/farm/log.jsonl" "$dir/a.jsonl" "$dir/b.jsonl" | grep -q ": 30 new" || fail "push of more"
"$tune" hub pull "$hub/farm/log.jsonl" -o "$dir/got.jsonl" | grep -q ": 70 new" || fail "pull"
cat "$dir/a.jsonl" "$dir/b.jsonl" | sort >"$dir/wanted"
sort "$dir/got.jsonl" | cmp -s - "$dir/wanted" || fail "the pulled log is another one"
[ -z "$(find "$dir/www/farm" -name '*.probe*' -o -name '*.lock')" ] || fail "probes or locks were left behind"
ls "$dir"/got.jsonl.* 2>/dev/null && fail "parts were left behind"

# Into a log that has records of its own.
"$sample" "$dir/mine.jsonl" 5 mine
cat "$dir/mine.jsonl" "$dir/a.jsonl" >"$dir/both.jsonl"
"$tune" hub pull "$hub/farm/log.jsonl" -o "$dir/both.jsonl" | grep -q ": 30 new" || fail "pull into a log"
[ "$(sort -u "$dir/both.jsonl" | wc -l)" = 75 ] || fail "a pull lost lines of the local log"

push_from_many 8 "$hub/many.jsonl"
# Where a PUT makes no folder.
mkdir -p "$dir/www/folders"
"$tune" hub push "$hub/folders/a/b/log.jsonl" "$dir/a.jsonl" | grep -q ": 40 new" || fail "push into folders that are missing"

# Lists, by PROPFIND and by an index in JSON.
if [ -n "$methods" ]; then
    "$tune" hub list "$hub/farm/" | grep -q "log.jsonl" || fail "list by PROPFIND"
    "$tune" hub list "$hub/" --json | grep -q '"name":"farm/"' || fail "a folder in a list"
fi
"$tune" hub list "$hub/index/farm/" | grep -q "log.jsonl" || fail "list by JSON"
expect_fail "does not list" "$tune" hub list "$hub/readonly/farm/log.jsonl"

# Bundles.
make_bundle "$dir/bundle"
"$tune" hub push "$hub/bundles/net/" "$dir/bundle" | grep -q "3 files" || fail "push of a bundle"
"$tune" hub push "$hub/bundles/net/" "$dir/bundle" | grep -q "0 files" || fail "push of the same bundle"
"$tune" hub pull "$hub/bundles/net/" -o "$dir/copy" | grep -q "2 files" || fail "pull of a bundle"
diff -r "$dir/bundle" "$dir/copy" || fail "the pulled bundle is another one"
expect_fail "there already" "$tune" hub pull "$hub/bundles/net/" -o "$dir/copy"
# One that `tune deploy` would make, with all that it makes.
"$writer" "$dir/deployed" net >"$dir/deployed.out" 2>&1 || fail "no bundle was made"
"$tune" hub push "$hub/bundles/deployed/" "$dir/deployed" >"$dir/push.out" 2>&1 || fail "push of a deployed bundle"
"$tune" hub pull "$hub/bundles/deployed/" -o "$dir/fetched" >"$dir/pull.out" 2>&1 || fail "pull of a deployed bundle"
diff -r "$dir/deployed" "$dir/fetched" || fail "the pulled deployed bundle is another one"
# An interrupted pull goes on: the file that is whole is not fetched again.
mkdir -p "$dir/again.part"
cp "$dir/bundle/net.h" "$dir/again.part/"
"$tune" hub pull "$hub/bundles/net/" -o "$dir/again" | grep -q "1 files" || fail "a whole file was fetched again"
diff -r "$dir/bundle" "$dir/again" || fail "the bundle of an interrupted pull is another one"
# Damage is seen, on either side.
cp -r "$dir/bundle" "$dir/damaged"
echo >>"$dir/damaged/net.h"
expect_fail "not what its manifest says" "$tune" hub push "$hub/bundles/damaged/" "$dir/damaged"
[ ! -e "$dir/www/bundles/damaged" ] || fail "something of a damaged bundle was sent"
expect_fail "another bundle" sh -c 'echo " " >>"$1/manifest.json"; "$2" hub push "$3/bundles/net/" "$1"' sh "$dir/again" "$tune" "$hub"
"$tune" hub push "$hub/bundles/net/" "$dir/again" --replace | grep -q "3 files" || fail "replacing a bundle"
printf 'x' | dd of="$dir/www/bundles/net/kernels/a b+c.cl" bs=1 seek=1000 conv=notrunc 2>/dev/null
expect_fail "not what its manifest says" "$tune" hub pull "$hub/bundles/net/" -o "$dir/spoilt"
[ ! -e "$dir/spoilt" ] || fail "a spoilt bundle was taken"
mkdir -p "$dir/www/evil"
echo '{"schema":1,"files":[{"path":"../../escape","sha256":"'"$(printf '' | sha256sum | cut -d' ' -f1)"'","bytes":0}]}' >"$dir/www/evil/manifest.json"
expect_fail "leaves the bundle" "$tune" hub pull "$hub/evil/" -o "$dir/evil"
echo '{"schema":9,"files":[]}' >"$dir/www/evil/manifest.json"
expect_fail "newer" "$tune" hub pull "$hub/evil/" -o "$dir/evil"
expect_fail "no manifest" "$tune" hub push "$hub/x/" "$dir/tmp"

# Credentials: from the environment and from ~/.netrc, never from the URL; never in words.
expect_fail "credentials" "$tune" hub push "$hub/private/log.jsonl" "$dir/a.jsonl"
expect_fail "credentials" env TUNE_HUB_USER=farm "TUNE_HUB_PASSWORD=wrong secret" "$tune" hub push "$hub/private/log.jsonl" "$dir/a.jsonl"
grep -q "secret" "$dir/said.out" && fail "a password was printed"
env TUNE_HUB_USER=farm "TUNE_HUB_PASSWORD=let me in" "$tune" hub push "$hub/private/log.jsonl" "$dir/a.jsonl" >/dev/null || fail "user and password"
printf 'machine 127.0.0.1 login farm password "let me in"\n' >"$dir/.netrc"
chmod 644 "$dir/.netrc"
expect_fail "others may read it" "$tune" hub pull "$hub/private/log.jsonl" -o "$dir/p.jsonl"
chmod 600 "$dir/.netrc"
"$tune" hub pull "$hub/private/log.jsonl" -o "$dir/p.jsonl" >/dev/null || fail "netrc"
rm "$dir/.netrc"
expect_fail "may not hold a user or password" "$tune" hub list "http://farm:let%20me%20in@127.0.0.1:$port/private/"
grep -q "let%20me" "$dir/said.out" && fail "a password of a URL was printed"

# What is not there, not allowed, too large, not a URL.
expect_fail "no such log" "$tune" hub pull "$hub/none.jsonl" -o "$dir/none.jsonl"
ls "$dir"/none.jsonl* 2>/dev/null && fail "a missing log left a file"
expect_fail "40[35]" "$tune" hub push "$hub/readonly/log.jsonl" "$dir/a.jsonl"
expect_fail "expected a URL" "$tune" hub list "ftp://127.0.0.1/x"
expect_fail "expected s3://" "$tune" hub list "s3:///x"
expect_fail "no verb" "$tune" hub shove "$hub/x.jsonl"
expect_fail "no URL" "$tune" hub pull
expect_fail "413\|closed" "$tune" hub push "$hub/small/large.jsonl" "$dir/a.jsonl"
[ ! -e "$dir/www/large.jsonl" ] || fail "half a log was stored"
echo "this is no log" >"$dir/text"
"$tune" hub push "$hub/farm/log.jsonl" "$dir/text" >"$dir/said.out" 2>&1 && fail "a text was pushed as a log"
grep -q "no record in it" "$dir/said.out" || fail "no words on a text that is no log"
expect_fail "gone.jsonl" "$tune" hub push "$hub/farm/log.jsonl" "$dir/gone.jsonl"

# A lock of the living keeps others out; one of the dead goes.
mkdir -p "$dir/www/farm/log.jsonl.lock"
echo tune >"$dir/www/farm/log.jsonl.lock/0123"
"$sample" "$dir/c.jsonl" 3 c
expect_fail "holds the lock" "$tune" hub push "$hub/farm/log.jsonl" "$dir/c.jsonl" --wait 2s
touch -d '20 minutes ago' "$dir/www/farm/log.jsonl.lock/0123"
"$tune" hub push "$hub/farm/log.jsonl" "$dir/c.jsonl" --wait 20s | grep -q ": 3 new" || fail "the lock of a dead pusher stayed"

# ---- servers that misbehave ----
bad=$(free_port)
python3 "$here/bad_server.py" "$bad" "$dir/a.jsonl" >"$dir/bad.out" 2>&1 &
children="$children $!"
wait_port "$bad"
quick="--tries 2 --timeout 2s --connect-timeout 2s"
for what in "403:not allow" "404:no such log" "500:500" "503:503" "nothing:without an answer" "garbage:." "half:before all" \
    "stall:no byte" "loop:."; do
    # shellcheck disable=SC2086 # options
    expect_fail "${what#*:}" "$tune" hub pull "http://127.0.0.1:$bad/${what%%:*}/log.jsonl" -o "$dir/bad.jsonl" $quick
    [ ! -e "$dir/bad.jsonl" ] || fail "${what%%:*}: a log was left"
    rm -f "$dir"/bad.jsonl.*
done
# shellcheck disable=SC2086
expect_fail "neither If-Match nor" "$tune" hub push "http://127.0.0.1:$bad/simple/log.jsonl" "$dir/a.jsonl" $quick
# shellcheck disable=SC2086
"$tune" hub push "http://127.0.0.1:$bad/simple/log.jsonl" "$dir/a.jsonl" --alone $quick >/dev/null || fail "push --alone"
# Half a body, then the rest: what came is not asked for again.
# shellcheck disable=SC2086
"$tune" hub pull "http://127.0.0.1:$bad/resume/log.jsonl" -o "$dir/resumed.jsonl" $quick | grep -q ": 40 new" || fail "a pull in pieces"
cmp -s "$dir/resumed.jsonl" "$dir/a.jsonl" || fail "a pull in pieces gave another log"
curl_count=$(python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:$bad/sent').read().decode())")
[ "$curl_count" -lt $(($(wc -c <"$dir/a.jsonl") * 3 / 2)) ] || fail "a resumed pull fetched all of it again"
# A server that is down, then up.
# shellcheck disable=SC2086
"$tune" hub pull "http://127.0.0.1:$bad/flaky/log.jsonl" -o "$dir/flaky.jsonl" --tries 4 --timeout 2s >/dev/null || fail "a server that was down for a while"
# shellcheck disable=SC2086
expect_fail "no connection" "$tune" hub list "http://127.0.0.1:1/" $quick
# Through a proxy.
http_proxy=http://127.0.0.1:$bad "$tune" hub pull "http://hub.invalid/proxied/log.jsonl" -o "$dir/proxied.jsonl" >/dev/null || fail "proxy"
cmp -s "$dir/proxied.jsonl" "$dir/a.jsonl" || fail "the proxy gave another log"

# Who asks for TLS is not sent on to a place without it; who does not is sent on.
if "$tune" keygen --ca "$dir/ca" -q 2>/dev/null; then
    "$tune" keygen --ca "$dir/ca" --host 127.0.0.1 "$dir/server.pem" -q || fail "no certificate"
    safe=$(free_port)
    python3 "$here/bad_server.py" "$safe" "$dir/a.jsonl" "$dir/server.pem" >"$dir/safe.out" 2>&1 &
    children="$children $!"
    wait_port "$safe"
    export TUNE_HUB_CA="$dir/ca/ca.pem"
    # shellcheck disable=SC2086
    "$tune" hub pull "https://127.0.0.1:$safe/proxied/log.jsonl" -o "$dir/safe.jsonl" $quick >/dev/null || fail "a pull by TLS"
    # shellcheck disable=SC2086
    expect_fail "Unsupported protocol" "$tune" hub pull "https://127.0.0.1:$safe/plain/$bad/log.jsonl" -o "$dir/plain.jsonl" $quick
    # shellcheck disable=SC2086
    "$tune" hub pull "http://127.0.0.1:$bad/plain/$bad/log.jsonl" -o "$dir/plain.jsonl" $quick >/dev/null || fail "a pull that is sent on"
    unset TUNE_HUB_CA
fi

echo "hub over HTTP: pushes, pulls, lists, bundles, credentials, locks and bad servers"
