#!/usr/bin/env python3
"""Runs moto's S3 on a port of its own until its input ends; prints its URL once it serves, with the bucket "weir".

Requests must be signed by the access key that is printed next: moto checks signatures by AWS's own library.
"""

import json
import logging
import os
import sys

# The calls that make the user and the bucket.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")

import boto3
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = "http://%s:%s" % server.get_host_and_port()
iam = boto3.client("iam", endpoint_url=url)
iam.create_user(UserName="weir")
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
iam.put_user_policy(UserName="weir", PolicyName="all", PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName="weir")["AccessKey"]
boto3.client("s3", endpoint_url=url).create_bucket(Bucket="weir")
print(url, key["AccessKeyId"], key["SecretAccessKey"], flush=True)
sys.stdin.read()
os._exit(0)
