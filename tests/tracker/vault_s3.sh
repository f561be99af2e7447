#!/bin/sh
# SPDX-License-Identifier: MIT
# vault_s3.sh TEST TRACKER - a tracker's blobs in an S3 store (moto's server) whose requests must be signed: `TEST given`; and wrong credentials,
# which the tracker tells at its start.
test=$1
tracker=$2
here=$(dirname "$0")/../logs/hub
. "$here/hub.sh"
. "$here/moto.sh"
"$test" given || fail "with right credentials"

AWS_SECRET_ACCESS_KEY=wrongsecret "$tracker" --listen tcp://127.0.0.1:0 --workers 0 --store "$dir/store" --blobs s3://farm/tune >"$dir/tracker.out" 2>&1 &
children="$children $!"
for _ in $(seq 100); do
    ! grep -q "blob probe: s3://farm/tune/probe: 403 SignatureDoesNotMatch" "$dir/tracker.out" || break
    sleep 0.1
done
grep -q "blob probe: s3://farm/tune/probe: 403 SignatureDoesNotMatch" "$dir/tracker.out" || fail "wrong credentials were not told"
! grep -q wrongsecret "$dir/tracker.out" || fail "a secret was printed"
grep -q listening "$dir/tracker.out" || fail "the tracker does not serve"

echo "blobs in an S3 store: signed, killed, fetched; wrong credentials are told"
