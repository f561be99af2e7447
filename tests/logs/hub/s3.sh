#!/bin/sh
# SPDX-License-Identifier: MIT
# s3.sh TUNE SAMPLE - `tune hub` against an S3 store (moto's server), whose requests must be signed.
tune=$1
sample=$2
here=$(dirname "$0")
. "$here/hub.sh"

. "$here/moto.sh"
hub=s3://farm/tune

"$sample" "$dir/a.jsonl" 40 a
"$sample" "$dir/b.jsonl" 30 b
"$tune" hub push "$hub/rk 3399+x.jsonl" "$dir/a.jsonl" | grep -q ": 40 new" || fail "first push"
"$tune" hub push "$hub/rk 3399+x.jsonl" "$dir/a.jsonl" "$dir/b.jsonl" | grep -q ": 30 new" || fail "push of more"
"$tune" hub pull "$hub/rk 3399+x.jsonl" -o "$dir/got.jsonl" | grep -q ": 70 new" || fail "pull"
cat "$dir/a.jsonl" "$dir/b.jsonl" | sort >"$dir/wanted"
sort "$dir/got.jsonl" | cmp -s - "$dir/wanted" || fail "the pulled log is another one"

push_from_many 6 "$hub/many.jsonl"

make_bundle "$dir/bundle"
"$tune" hub push "$hub/net/" "$dir/bundle" | grep -q "3 files" || fail "push of a bundle"
"$tune" hub push "$hub/net/" "$dir/bundle" | grep -q "0 files" || fail "push of the same bundle"
"$tune" hub pull "$hub/net/" -o "$dir/copy" >/dev/null || fail "pull of a bundle"
diff -r "$dir/bundle" "$dir/copy" || fail "the pulled bundle is another one"
echo " " >>"$dir/bundle/manifest.json"
"$tune" hub push "$hub/net/" "$dir/bundle" --replace | grep -q "1 files" || fail "files that the store has were sent again"

"$tune" hub list "$hub/" >"$dir/list" || fail "list"
grep -q "rk 3399+x.jsonl" "$dir/list" && grep -q "net/" "$dir/list" || fail "names in the list"
grep -q "probe" "$dir/list" && fail "probes were left behind"
# A list of several pages.
"$python" - "$AWS_ENDPOINT_URL" <<'EOF'
import sys, boto3
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="eu-west-1")
for i in range(1005):
    s3.put_object(Bucket="farm", Key=f"pages/{i:04}", Body=b"x")
EOF
[ "$("$tune" hub list s3://farm/pages | wc -l)" = 1005 ] || fail "a list of 1005 has $("$tune" hub list s3://farm/pages | wc -l)"

# Credentials of a file, and wrong ones.
expect_fail "403" env AWS_SECRET_ACCESS_KEY=wrongsecret "$tune" hub list "$hub/"
grep -q "wrongsecret" "$dir/said.out" && fail "a secret was printed"
expect_fail "403" env AWS_ACCESS_KEY_ID=AKIANOBODY0000000000 "$tune" hub push "$hub/x.jsonl" "$dir/a.jsonl"
expect_fail "403" "$tune" hub list "s3://other/"
expect_fail "both of" env -u AWS_SECRET_ACCESS_KEY "$tune" hub list "$hub/"
mkdir -p "$dir/.aws"
printf '[default]\naws_access_key_id = none\naws_secret_access_key = none\n[farm]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
    "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$dir/.aws/credentials"
chmod 600 "$dir/.aws/credentials"
env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY AWS_PROFILE=farm "$tune" hub list "$hub/" >/dev/null || fail "credentials of a file"
expect_fail "403" env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$tune" hub list "$hub/"
expect_fail "no such log" "$tune" hub pull "$hub/none.jsonl" -o "$dir/none.jsonl"
expect_fail "40[34]" "$tune" hub list s3://nobucket/

# A store that lost bytes is seen by the pusher's checksum.
"$python" - "$AWS_ENDPOINT_URL" <<'EOF'
import sys, boto3
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="eu-west-1")
o = s3.get_object(Bucket="farm", Key="tune/many.jsonl")
s3.put_object(Bucket="farm", Key="tune/many.jsonl", Body=o["Body"].read()[:-100], Metadata=o["Metadata"])
EOF
expect_fail "SHA-256" "$tune" hub pull "$hub/many.jsonl" -o "$dir/lost.jsonl"
[ ! -e "$dir/lost.jsonl" ] || fail "a log with lost bytes was taken"

echo "hub over S3: signed pushes, pulls, lists, bundles, credentials, checksums"
