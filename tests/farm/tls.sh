#!/bin/sh
# SPDX-License-Identifier: MIT
# tls.sh BIN - a farm of the real programs over TLS: certificates by tune keygen, agent, run, a job that the tracker's own worker
# drives, what tune doctor says; and the same tracker refused with another authority's certificate. Exit 77: built without TLS.
bin=$1
. "$(dirname "$0")/farm.sh"
cd "$dir"
unset TUNE_TRACKER TUNE_KEY_FILE TUNE_CA_FILE TUNE_CERT_FILE

"$bin/tune" keygen --ca ca -q >keygen.out 2>&1 || {
    grep -q "built without TLS" keygen.out && exit 77
    fail "tune keygen --ca ended with $?"
}
"$bin/tune" keygen --ca ca --host 127.0.0.1,localhost tracker.pem >keygen.out 2>&1 || fail "no tracker's certificate"
"$bin/tune" keygen --ca ca --agent one one.pem >keygen.out 2>&1 || fail "no agent's certificate"
"$bin/tune" keygen --ca ca --user me me.pem >keygen.out 2>&1 || fail "no user's certificate"
"$bin/tune" keygen --ca other -q || fail "no second authority"
"$bin/tune" keygen farm.key -q || fail "no key"
"$bin/tune" keygen --key-file farm.key --agent one one.key -q || fail "no agent's key"
"$bin/tune" keygen --key-file farm.key --user me me.key -q || fail "no user's key"
[ "$(stat -c %a tracker.pem ca/ca.key | sort -u)" = 600 ] || fail "private keys may be read by others"

echo "# nobody" >revoked

"$bin/tune-tracker" --listen tls+tcp://127.0.0.1:0 --cert tracker.pem --ca ca/ca.pem --key-file farm.key --revoked revoked --store store --lease 3s \
    --workers 1 --url-file url >tracker.out 2>&1 &
children="$children $!"
tries=0
until [ -s url ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the tracker does not listen"
    sleep 0.1
done
url=$(cat url)
case "$url" in
tls+tcp://*) ;;
*) fail "the tracker listens on $url" ;;
esac
recorded_space space 1
TUNE_CA_FILE=ca/ca.pem TUNE_CERT_FILE=one.pem TUNE_KEY_FILE=one.key "$bin/tune-agent" --tracker "$url" --name one --key test --device replay:space.json \
    >agent.out 2>&1 &
agent=$!
children="$children $agent"
export TUNE_KEY_FILE=me.key
tls="--ca ca/ca.pem --cert me.pem"
tries=0
# shellcheck disable=SC2086
until "$bin/tune" devices --tracker "$url" $tls --json 2>devices.out | grep -q '"agent":"one"'; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the agent does not register"
    sleep 0.1
done
# shellcheck disable=SC2086
"$bin/tune" run --device replay:space.json --tracker "$url" $tls --key test --trials 20 --strategy random --seed 1 -q -o log.jsonl >run.out 2>&1 ||
    fail "tune run ended with $?"
[ "$(grep -c '"purpose":"search"' log.jsonl)" -ge 20 ] || fail "fewer than 20 trials"
# shellcheck disable=SC2086
"$bin/tune" submit --device replay:space.json --tracker "$url" $tls --key test --trials 10 --strategy random --seed 2 >submit.out 2>&1 ||
    fail "tune submit ended with $?"
tries=0
# shellcheck disable=SC2086
until [ "$("$bin/tune" list --tracker "$url" $tls --json 2>list.out | grep -c '"state":"done"')" -ge 2 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the tracker's worker does not drive the job"
    sleep 0.1
done
# shellcheck disable=SC2086
"$bin/tune" doctor --tracker "$url" $tls --device replay:space.json >doctor.out 2>&1 || true
grep -q "^ok *certificate *CN=127.0.0.1, O=tune, until 20" doctor.out || fail "tune doctor does not tell the certificate"
"$bin/tune" doctor --tracker "$url" --ca other/ca.pem --device replay:space.json >doctor.out 2>&1 || true
grep -q "^FAILED *certificate .*is not of the authority in other/ca.pem" doctor.out || fail "tune doctor does not tell of another authority"
"$bin/tune" status --tracker "$url" --ca ca/ca.pem >status.out 2>&1 && fail "served without a certificate"
grep -q "it wants a certificate (--cert FILE)" status.out || fail "no words about the certificate"
# its key is taken back: it says so at its next try, which new work brings, and leaves
echo "agent:one" >revoked
sleep 1
# shellcheck disable=SC2086
"$bin/tune" submit --device replay:space.json --tracker "$url" $tls --key test --trials 10 --strategy random --seed 3 >submit.out 2>&1 ||
    fail "tune submit ended with $?"
wait "$agent" || true
grep -q "the key of agent:one was taken back: leaving" agent.out || fail "an agent whose key was taken back does not say so"
echo "over TLS: $(grep -c '"purpose":"search"' log.jsonl) trials"
