"""`sync_aws` against moto's server: the resource ends as its specification says, however often and wherever an attempt ends."""

import base64
import itertools
import json
import os
import sys
from threading import Thread

import pytest

from mainstay import ConfigError, Permanent
from mainstay.handlers import aws
from mainstay.handlers.aws.resources import RESOURCES
from mainstay.testing import Trial
from tests.senders.receiving import receiver
from tests.servers import aws as servers

_numbers = itertools.count()
TABLE = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
    ],
}


@pytest.fixture(scope="module", autouse=True)
def environment():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in servers.one_for_all().environment().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def clients():
    """Those of all tests: boto3 takes a while to make one."""
    return aws.Clients(None, None)


@pytest.fixture
def sync(app, kit, clients):
    """Run a job to its end and return its result."""
    made = aws.Aws(app, clients, {})

    def run(*args, **kwargs):
        job = made.sync_aws.enqueue(*args, **kwargs)
        kit.drain(raises=False)
        return job.result() if job.job().state == "completed" else job.job()

    return run


@pytest.fixture
def name():
    return f"t{os.getpid()}-{next(_numbers)}"


def outcome(result):
    return result["outcome"], result["changes"]


LIVES = [
    ("s3.bucket", {"Versioning": True, "Tags": {"team": "a"}}, {"Tags": {"team": "b"}}, ["Versioning", "Tags"]),
    ("s3.object", {"Body": "one", "ContentType": "text/plain", "Metadata": {"A": "1"}}, {"Body": "two", "ContentType": "text/plain"},
     ["Body", "Metadata"]),
    ("sqs.queue", {"VisibilityTimeout": 45, "Tags": {"a": "1", "b": "2"}}, {"DelaySeconds": 5, "Tags": {"a": "1"}},
     ["VisibilityTimeout", "DelaySeconds", "Tags"]),
    ("dynamodb.table", {**TABLE, "TimeToLive": "gone_at", "Tags": {"a": "1", "b": "2"}},
     {**TABLE, "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 1}, "Tags": {"a": "3"}},
     ["BillingMode", "ProvisionedThroughput", "TimeToLive", "Tags"]),
    ("ssm.parameter", {"Value": "1", "Description": "of a test"}, {"Value": "2"}, ["Value", "Description"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "first", "second", "changes"), LIVES, ids=[life[0] for life in LIVES])
def test_a_resource_is_created_updated_and_deleted_once_each(sync, clients, name, kind, first, second, changes):
    if kind == "s3.object":
        sync("s3.bucket", name)
        name += "/folder/a b.txt"
    assert outcome(sync(kind, name, first)) == ("created", [])
    assert outcome(sync(kind, name, first)) == ("unchanged", [])
    assert sorted(outcome(sync(kind, name, second))[1]) == sorted(changes)
    assert outcome(sync(kind, name, second)) == ("unchanged", [])
    assert outcome(sync(kind, name, action="delete")) == ("deleted", [])
    assert outcome(sync(kind, name, action="delete")) == ("unchanged", [])
    client = clients.get(RESOURCES[kind].service)
    assert RESOURCES[kind].read(client, name) is None


def test_what_is_in_aws_is_what_the_configuration_says(sync, clients, name):
    sync("s3.bucket", name, {"Versioning": True})
    sync("s3.object", f"{name}/k", {"BodyBase64": base64.b64encode(b"\0\xff").decode(), "CacheControl": "max-age=5"})
    s3 = clients.get("s3")
    found = s3.get_object(Bucket=name, Key="k")
    assert (found["Body"].read(), found["CacheControl"]) == (b"\0\xff", "max-age=5")
    assert s3.get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
    sync("sqs.queue", f"{name}-dead", {})
    sqs = clients.get("sqs")
    url = sqs.get_queue_url(QueueName=f"{name}-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {"deadLetterTargetArn": arn, "maxReceiveCount": 3}
    assert outcome(sync("sqs.queue", f"{name}.fifo", {"VisibilityTimeout": 0}))[0] == "created"
    assert outcome(sync("sqs.queue", name, {"RedrivePolicy": policy}))[0] == "created"
    assert outcome(sync("sqs.queue", name, {"RedrivePolicy": {**policy, "maxReceiveCount": "3"}}))[0] == "unchanged"
    assert outcome(sync("sqs.queue", name, {})) == ("updated", ["RedrivePolicy"])
    sync("dynamodb.table", name, {**TABLE, "TimeToLive": "gone_at"})
    (expiry,) = [clients.get("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]]
    assert expiry["AttributeName"] == "gone_at"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("s3.bukket", "x"), 'did you mean "s3.bucket"?'),
        (("s3.bucket", "x", {"Versionning": True}), 'did you mean "Versioning"?'),
        (("s3.bucket", "x", {"Versioning": "yes"}), "Versioning must be true or false"),
        (("s3.bucket", "B!"), "Invalid bucket name"),
        (("s3.object", "bucket-only", {"Body": ""}), "BUCKET/KEY"),
        (("s3.object", "a/b", {}), "either Body"),
        (("s3.object", "a/b", {"BodyBase64": "%%"}), "not valid"),
        (("dynamodb.table", "x", {"KeySchema": []}), "lacks AttributeDefinitions"),
        (("sqs.queue", "x", {"VisibilityTimeout": True}), "must be a whole number"),
        (("ssm.parameter", "x", {"Value": "s", "Type": "SecureString"}), "must not be in a payload"),
    ],
)
def test_bad_input_is_dead_at_once(sync, args, says):
    job = sync(*args)
    assert (job.state, job.attempt) == ("dead", 1)
    assert says in f"{job.error}"


# what AWS says otherwise ----------------------------------------------------------------------------------------------
class Script:
    """A DynamoDB that replies as the test says, call by call: an operation's name, a status and a body."""

    def __init__(self, hook, replies):
        self.hook, self.replies = hook, list(replies)
        hook.reply = self.reply

    def reply(self, handler):
        called = handler.headers["X-Amz-Target"].partition(".")[2]
        expected, status, body = self.replies.pop(0)
        assert called == expected, (called, expected)
        text = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)


@pytest.fixture(scope="module")
def stage():
    """A server for scripts, and the clients that talk to it."""
    with receiver() as hook:
        yield hook, aws.Clients(None, hook.url)


@pytest.fixture
def scripted(app, kit, stage):
    """Run `sync_aws` of a table against a script to its end."""
    hook, clients = stage
    made = aws.Aws(app, clients, {})

    def run(*replies, **kwargs):
        script = Script(hook, replies)
        job = made.sync_aws.enqueue("dynamodb.table", "orders", None if kwargs else TABLE, **kwargs)
        while job.job().state not in ("completed", "dead"):
            kit.advance("1m")
            kit.drain(raises=False)
        assert script.replies == []
        return job.job()

    return run


def table(status="ACTIVE"):
    return {"Table": {
        **TABLE, "TableStatus": status, "TableArn": "arn:aws:dynamodb:eu-central-1:123456789012:table/orders",
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
    }}  # fmt: skip


READ = [
    ("DescribeTable", 200, table()),
    ("DescribeTimeToLive", 200, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}),
    ("ListTagsOfResource", 200, {"Tags": [{"Key": "aws:made-by", "Value": "x"}]}),
]
GONE = ("DescribeTable", 400, {"__type": "ResourceNotFoundException", "message": "not found"})


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "ThrottlingException"), (400, "ProvisionedThroughputExceededException"), (500, "InternalServerError"),
     (503, "ServiceUnavailable"), (400, "ExpiredTokenException")],
)  # fmt: skip
def test_throttling_and_trouble_of_the_server_are_tried_again_by_the_queue(scripted, status, code):
    job = scripted(("DescribeTable", status, {"__type": code, "message": "slower"}), *READ)
    assert (job.state, job.attempt) == ("completed", 2)


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "ValidationException"), (400, "AccessDeniedException"), (403, "UnrecognizedClientException")],
)
def test_what_no_retry_can_mend_is_dead_at_once(scripted, status, code):
    job = scripted(("DescribeTable", status, {"__type": code, "message": "no"}))
    assert (job.state, job.attempt) == ("dead", 1)
    assert f"AWS refuses to apply dynamodb.table orders: {code}: no" in job.error


def test_a_table_that_is_being_made_costs_no_attempt(scripted):
    job = scripted(
        GONE, ("CreateTable", 200, {}), ("DescribeTable", 200, table("CREATING")), ("DescribeTable", 200, table("CREATING")),
        *READ, *READ,
    )  # fmt: skip
    assert (job.state, job.attempt) == ("completed", 1)
    assert job.result == {"outcome": "created", "changes": []}


def test_a_table_that_another_call_has_just_made_is_read_again(scripted):
    busy = ("CreateTable", 400, {"__type": "ResourceInUseException", "message": "exists"})
    job = scripted(GONE, busy, *READ)
    assert (job.state, job.attempt) == ("completed", 1)


def test_a_deletion_is_done_when_the_table_is_gone(scripted):
    job = scripted(
        *READ, ("DeleteTable", 200, {}), ("DescribeTable", 200, table("DELETING")), GONE, GONE, action="delete"
    )
    assert job.result["outcome"] == "deleted"


def test_an_attempt_that_ends_after_the_creation_does_not_lose_it(scripted):
    job = scripted(GONE, ("CreateTable", 200, {}), ("DescribeTable", 500, {"__type": "X"}), *READ, *READ)
    assert (job.attempt, job.result["outcome"]) == (2, "created")


def test_the_key_of_a_table_is_not_changed(sync, name):
    sync("dynamodb.table", name, TABLE)
    other = {"KeySchema": TABLE["KeySchema"][:1], "AttributeDefinitions": TABLE["AttributeDefinitions"][:1]}
    job = sync("dynamodb.table", name, other)
    assert (job.state, job.attempt) == ("dead", 1)
    assert "KeySchema, AttributeDefinitions of" in job.error


def test_a_full_bucket_is_not_deleted_and_an_object_waits_for_its_bucket(sync, name):
    job = sync("s3.object", f"{name}/k", {"Body": "x"})
    assert (job.state, job.attempt) == ("dead", 3)  # tried again: the bucket may be made meanwhile
    sync("s3.bucket", name)
    sync("s3.object", f"{name}/k", {"Body": "x"})
    job = sync("s3.bucket", name, action="delete")
    assert (job.state, job.attempt) == ("dead", 1)
    assert "BucketNotEmpty" in job.error


def test_threads_share_one_client():
    clients = aws.Clients(None, None)
    found = []
    threads = [Thread(target=lambda: found.append(clients.get("ssm"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert found[0].meta.config.retries["total_max_attempts"] == 1


def test_missing_credentials_and_a_missing_region_are_named(app, kit, monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for region, says in (("eu-central-1", "no credentials for AWS. Set AWS_ACCESS_KEY_ID"), (None, "needs a region")):
        app.registry.clear()
        job = aws.register(app, region=region, retry=1).sync_aws.enqueue("sqs.queue", "q")
        kit.drain(raises=False)
        assert says in app.get(job.id).error
        assert "redacted" not in app.get(job.id).error


def test_the_library_is_named_where_it_is_missing(app, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError, match=r"mainstay\[aws\]"):
        aws.register(app)


def test_a_plain_call_works_too(app, name):
    made = aws.register(app, name="cloud", queue="slow")
    assert made.sync_aws.queue == "slow"
    assert made.sync_aws("ssm.parameter", f"/{name}", {"Value": "x"})["outcome"] == "created"
    assert Trial(made.sync_aws).run("ssm.parameter", f"/{name}", {"Value": "x"})["outcome"] == "unchanged"
    with pytest.raises(Permanent):
        made.sync_aws("nothing", "x")
