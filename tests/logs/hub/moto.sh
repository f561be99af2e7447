# SPDX-License-Identifier: MIT
# moto.sh - an S3 store (moto's server) that checks signatures, with the bucket farm for who has the keys that are set; skips the test where
# moto is not. Sourced behind hub.sh; scripts/install_deps.sh --hub installs it.
python=${TUNE_HUB_TEST_PYTHON:-${XDG_CACHE_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.cache}/tune-hub/venv/bin/python}
if [ ! -x "$python" ] || ! "$python" -c 'import moto.server' 2>/dev/null; then
    echo "skipped: no moto in $python (scripts/install_deps.sh --hub installs it from PyPI)"
    exit 77
fi

port=$(free_port)
"$python" -m moto.server -H 127.0.0.1 -p "$port" >"$dir/moto.out" 2>&1 &
children="$children $!"
wait_port "$port"
export AWS_ENDPOINT_URL="http://127.0.0.1:$port" AWS_REGION=eu-west-1

# A user who may do all with S3, two buckets; from then on the server checks every signature.
"$python" - "$AWS_ENDPOINT_URL" >"$dir/keys" <<'EOF' || fail "setting up the store"
import json, sys, urllib.request
import boto3
to = dict(endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
iam, s3 = boto3.client("iam", **to), boto3.client("s3", **to)
for name in ("farm", "other"):
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
iam.create_user(UserName="pusher")
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": ["arn:aws:s3:::farm", "arn:aws:s3:::farm/*"]}]}
iam.put_user_policy(UserName="pusher", PolicyName="farm", PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName="pusher")["AccessKey"]
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"}, method="POST"))
print(key["AccessKeyId"], key["SecretAccessKey"])
EOF
read -r AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY <"$dir/keys"
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
