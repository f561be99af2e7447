#!/bin/sh
# SPDX-License-Identifier: MIT
# apache.sh TUNE SAMPLE - `tune hub` against Apache's WebDAV: it makes no folder by a PUT, looks at If-Match before it reads the body (of two
# pushers at once both may be told that theirs was stored), and gives no strong ETag in the second behind a change.
tune=$1
sample=$2
here=$(dirname "$0")
. "$here/hub.sh"

apache=/usr/sbin/apache2
modules=/usr/lib/apache2/modules
if [ ! -x "$apache" ] || [ ! -e "$modules/mod_dav_fs.so" ] || ! command -v python3 >/dev/null; then
    echo "skipped: no Apache or python3 here (scripts/install_deps.sh --hub installs them)"
    exit 77
fi

port=$(free_port)
mkdir -p "$dir/www"
user_lines=""
if [ "$(id -u)" -eq 0 ]; then
    user_lines="User www-data
Group www-data"
    chmod 755 "$dir"
    chown www-data "$dir/www"
    mkdir -m 777 "$dir/locks"
else
    mkdir "$dir/locks"
fi
: >"$dir/types"
cat >"$dir/apache.conf" <<EOF
ServerRoot $dir
PidFile $dir/apache.pid
Listen 127.0.0.1:$port
ServerName localhost
$user_lines
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule mime_module $modules/mod_mime.so
LoadModule dav_module $modules/mod_dav.so
LoadModule dav_fs_module $modules/mod_dav_fs.so
TypesConfig $dir/types
ErrorLog $dir/apache.out
DavLockDB $dir/locks/db
DocumentRoot $dir/www
<Directory $dir/www>
    Require all granted
    Dav On
</Directory>
EOF
"$apache" -D FOREGROUND -f "$dir/apache.conf" >"$dir/start.out" 2>&1 &
children="$children $!"
wait_port "$port"
hub=http://127.0.0.1:$port

# Into folders that nobody has made, and again within the second.
"$sample" "$dir/a.jsonl" 40 a
"$sample" "$dir/b.jsonl" 30 b
log="$hub/boards/at%20home/rk3399.jsonl"
"$tune" hub push "$log" "$dir/a.jsonl" | grep -q ": 40 new" || fail "first push"
"$tune" hub push "$log" "$dir/a.jsonl" "$dir/b.jsonl" | grep -q ": 30 new" || fail "push of more"
"$tune" hub pull "$log" -o "$dir/got.jsonl" | grep -q ": 70 new" || fail "pull"
cat "$dir/a.jsonl" "$dir/b.jsonl" | sort >"$dir/wanted"
sort "$dir/got.jsonl" | cmp -s - "$dir/wanted" || fail "the pulled log is another one"
"$tune" hub list "$hub/boards/at%20home/" | grep -q "rk3399.jsonl" || fail "list"
push_from_many 8 "$hub/many/log.jsonl"
[ -z "$(find "$dir/www" -name '*.probe*' -o -name '*.lock')" ] || fail "probes or locks were left behind"

make_bundle "$dir/bundle"
"$tune" hub push "$hub/bundles/of/net/" "$dir/bundle" | grep -q "3 files" || fail "push of a bundle"
"$tune" hub pull "$hub/bundles/of/net/" -o "$dir/copy" | grep -q "2 files" || fail "pull of a bundle"
diff -r "$dir/bundle" "$dir/copy" || fail "the pulled bundle is another one"

# A folder that the server cannot make.
chmod 555 "$dir/www/many"
[ "$(id -u)" -ne 0 ] || chown root "$dir/www/many"
expect_fail "403\|500\|409" "$tune" hub push "$hub/many/new/log.jsonl" "$dir/a.jsonl" --tries 1 --wait 2s
: >"$dir/www/bundles/file"
expect_fail "40[0-9]" "$tune" hub push "$hub/bundles/file/log.jsonl" "$dir/a.jsonl" --tries 1 --wait 2s

echo "hub over Apache: folders are made, eight pushers at once lose nothing"
