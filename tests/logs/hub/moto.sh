# SPDX-License-Identifier: MIT
# moto.sh - an S3 store (moto's server) that checks signatures, with the bucket farm for who has the keys that are set; skips the test where
# moto is not. Sourced behind hub.sh; scripts/install_deps.sh --hub installs it.
python=${TUNE_HUB_TEST_PYTHON:-${XDG_CACHE_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)/.cache}/tune-hub/venv/bin/python}
if [ ! -x "$python" ] || ! "$python" -c 'import moto.server' 2>/dev/null; then
    echo "skipped: no moto in $python (scripts/install_deps.sh --hub installs it from PyPI)"
    exit 77
fi

port=$(free_port)
# One request at a time: moto looks at If-Match and stores in two steps.
"$python" - "$port" >"$dir/moto.out" 2>&1 <<'EOF' &
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
app, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

def one_at_a_time(environ, start_response):
    with lock:
        return list(app(environ, start_response))

run_simple("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True)
EOF
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
