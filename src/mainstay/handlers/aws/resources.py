"""The resource types of `sync_aws`: what a configuration may name, and how each is read, created, updated and deleted.

The keys and values are those of AWS. A configuration is the whole specification: what it leaves out has the default that stands here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING, Any, ClassVar

from mainstay import Permanent, Snooze
from mainstay.core.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Keys = Mapping[str, tuple[type, Any]]

NEEDED: Any = ...  # has no default
AS_IT_IS: Any = None  # left alone where a configuration does not name it
GONE = {
    "404", "NoSuchBucket", "NoSuchKey", "ResourceNotFoundException", "QueueDoesNotExist", "ParameterNotFound",
    "AWS.SimpleQueueService.NonExistentQueue",
}  # fmt: skip
WORDS = {str: "a text", int: "a whole number", bool: "true or false", dict: "an object", list: "a list"}


def error_code(error: Any) -> str:
    """Return the code of an error of AWS."""
    return str(error.response["Error"].get("Code", ""))


def unless_gone(call: Callable[..., Any], **arguments: Any) -> Any:
    """Call AWS; return None if what is asked for does not exist."""
    from botocore.exceptions import ClientError  # type: ignore[import-untyped]

    try:
        return call(**arguments)
    except ClientError as error:
        if error_code(error) in GONE:
            return None
        raise


class Resource:
    """One type of resource. `read` returns its configuration in the shape of `shape`, or None if it does not exist."""

    service = ""
    keys: ClassVar[Keys] = {}  # of a configuration: what each is, and its default
    fixed: tuple[str, ...] = ()  # the keys that cannot be changed

    def checked(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return a configuration with its defaults; raise `Permanent` if it names something unknown or lacks something."""
        for key, value in config.items():
            if key not in self.keys:
                known = ", ".join(self.keys)
                raise Permanent(f"config has no key {key!r:.100}{did_you_mean(key, self.keys)}; there are: {known}")
            if type(value) is not self.keys[key][0]:
                raise Permanent(f"config: {key} must be {WORDS[self.keys[key][0]]}, not {value!r:.60}")
        missing = [key for key, (_, default) in self.keys.items() if default is NEEDED and key not in config]
        if missing:
            raise Permanent(f"config lacks {', '.join(missing)}: it is the whole specification of the resource")
        return {key: config.get(key, default) for key, (_, default) in self.keys.items()}

    def shape(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Return a checked configuration as `read` returns one; None: any value will do."""
        return wanted

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        raise NotImplementedError

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        """Create it. What this leaves out, `update` does."""
        raise NotImplementedError

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        raise NotImplementedError

    def delete(self, client: Any, name: str) -> None:
        raise NotImplementedError

    def settle(self, client: Any, name: str) -> None:
        """Raise `Snooze` while AWS still works on the last change."""


class Bucket(Resource):
    """An S3 bucket."""

    service = "s3"
    keys: ClassVar[Keys] = {"Versioning": (bool, False), "Tags": (dict, {})}

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        if unless_gone(client.head_bucket, Bucket=name) is None:
            return None
        versioning = client.get_bucket_versioning(Bucket=name).get("Status") == "Enabled"
        return {"Versioning": versioning, "Tags": self._tags(client, name)}

    def _tags(self, client: Any, name: str) -> dict[str, str]:
        from botocore.exceptions import ClientError

        try:
            return untagged(client.get_bucket_tagging(Bucket=name)["TagSet"])
        except ClientError as error:
            if error_code(error) == "NoSuchTagSet":
                return {}
            raise

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        region = client.meta.region_name
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        client.create_bucket(Bucket=name, **place)

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        if "Versioning" in changed:
            status = "Enabled" if wanted["Versioning"] else "Suspended"
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": status})
        if "Tags" in changed and wanted["Tags"]:
            client.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tagged(wanted["Tags"])})
        elif "Tags" in changed:
            client.delete_bucket_tagging(Bucket=name)

    def delete(self, client: Any, name: str) -> None:
        unless_gone(client.delete_bucket, Bucket=name)


class Object(Resource):
    """An S3 object; its name is `BUCKET/KEY`. `Body` is text, `BodyBase64` any bytes."""

    service = "s3"
    keys: ClassVar[Keys] = {
        "Body": (str, AS_IT_IS), "BodyBase64": (str, AS_IT_IS), "ContentType": (str, "binary/octet-stream"),
        "CacheControl": (str, ""), "Metadata": (dict, {}),
    }  # fmt: skip

    def checked(self, config: dict[str, Any]) -> dict[str, Any]:
        if len({"Body", "BodyBase64"} & config.keys()) != 1:
            raise Permanent("config of an object has either Body, a text, or BodyBase64")
        wanted = super().checked(config)
        self._bytes(wanted)
        return wanted

    def _bytes(self, wanted: dict[str, Any]) -> bytes:
        try:
            return (
                base64.b64decode(wanted["BodyBase64"], validate=True)
                if wanted["Body"] is None
                else wanted["Body"].encode()
            )
        except (binascii.Error, ValueError) as error:
            raise Permanent(f"config: the body of the object is not valid: {error}") from error

    def shape(self, wanted: dict[str, Any]) -> dict[str, Any]:
        digest = base64.b64encode(hashlib.sha256(self._bytes(wanted)).digest()).decode()
        rest = {key: value for key, value in wanted.items() if key != "BodyBase64"}
        return {**rest, "Body": digest, "Metadata": {key.lower(): value for key, value in wanted["Metadata"].items()}}

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        found = unless_gone(client.head_object, **self._place(name), ChecksumMode="ENABLED")
        if found is None:
            return None
        plain = {key: found.get(key, default) for key, (_, default) in self.keys.items()}
        return {**plain, "Body": found.get("ChecksumSHA256", "")}

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        headers = {key: wanted[key] for key in ("ContentType", "CacheControl", "Metadata") if wanted[key]}
        client.put_object(**self._place(name), Body=self._bytes(wanted), ChecksumAlgorithm="SHA256", **headers)

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        self.create(client, name, wanted)

    def delete(self, client: Any, name: str) -> None:
        unless_gone(client.delete_object, **self._place(name))

    def _place(self, name: str) -> dict[str, str]:
        bucket, _, key = name.partition("/")
        if not bucket or not key:
            raise Permanent(f"the id of an object is BUCKET/KEY, not {name!r:.100}")
        return {"Bucket": bucket, "Key": key}


class Queue(Resource):
    """An SQS queue; one whose name ends with `.fifo` keeps the order."""

    service = "sqs"
    keys: ClassVar[Keys] = {
        "VisibilityTimeout": (int, 30), "MessageRetentionPeriod": (int, 345_600), "DelaySeconds": (int, 0),
        "ReceiveMessageWaitTimeSeconds": (int, 0), "MaximumMessageSize": (int, AS_IT_IS), "RedrivePolicy": (dict, {}),
        "Tags": (dict, {}),
    }  # fmt: skip

    def shape(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {**wanted, "RedrivePolicy": _texts(wanted["RedrivePolicy"])}

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        place = unless_gone(client.get_queue_url, QueueName=name)
        found = place and unless_gone(client.get_queue_attributes, QueueUrl=place["QueueUrl"], AttributeNames=["All"])
        if found is None:
            return None
        have = found["Attributes"]
        numbers = {key: int(have[key]) for key, (kind, _) in self.keys.items() if kind is int and key in have}
        redrive = _texts(json.loads(have.get("RedrivePolicy") or "{}"))
        tags = client.list_queue_tags(QueueUrl=place["QueueUrl"]).get("Tags", {})
        return {**numbers, "RedrivePolicy": redrive, "Tags": own_tags(tags)}

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        given = [key for key in wanted if wanted[key] is not None and key != "Tags" and wanted[key] != {}]
        client.create_queue(QueueName=name, Attributes={**_attributes(wanted, given), **fifo})

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        url = client.get_queue_url(QueueName=name)["QueueUrl"]
        attributes = _attributes(wanted, [key for key in changed if key != "Tags"])
        if attributes:
            client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        if "Tags" in changed:
            extra = own_tags(client.list_queue_tags(QueueUrl=url).get("Tags", {})).keys() - wanted["Tags"].keys()
            if extra:
                client.untag_queue(QueueUrl=url, TagKeys=sorted(extra))
            if wanted["Tags"]:
                client.tag_queue(QueueUrl=url, Tags=wanted["Tags"])

    def delete(self, client: Any, name: str) -> None:
        place = unless_gone(client.get_queue_url, QueueName=name)
        if place:
            unless_gone(client.delete_queue, QueueUrl=place["QueueUrl"])


class Table(Resource):
    """A DynamoDB table without secondary indexes. `TimeToLive` names the attribute with the time at which an item expires."""

    service = "dynamodb"
    keys: ClassVar[Keys] = {
        "KeySchema": (list, NEEDED), "AttributeDefinitions": (list, NEEDED), "BillingMode": (str, "PAY_PER_REQUEST"),
        "ProvisionedThroughput": (dict, AS_IT_IS), "TimeToLive": (str, ""), "Tags": (dict, {}),
    }  # fmt: skip
    fixed = ("KeySchema", "AttributeDefinitions")

    def shape(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {**wanted, "AttributeDefinitions": _by_name(wanted["AttributeDefinitions"])}

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        found = unless_gone(client.describe_table, TableName=name)
        if found is None:
            return None
        table = found["Table"]
        if table["TableStatus"] in ("CREATING", "UPDATING", "DELETING"):
            raise Snooze("2s", f"the table {name} is {table['TableStatus'].lower()}")
        expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        tags = client.list_tags_of_resource(ResourceArn=table["TableArn"]).get("Tags", [])
        return {
            "KeySchema": table["KeySchema"], "AttributeDefinitions": _by_name(table["AttributeDefinitions"]),
            "BillingMode": table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
            "ProvisionedThroughput": {
                unit: table["ProvisionedThroughput"][unit] for unit in ("ReadCapacityUnits", "WriteCapacityUnits")
            },
            "TimeToLive": expiry["AttributeName"] if expiry["TimeToLiveStatus"].startswith("ENABL") else "", "Tags": untagged(tags),
        }  # fmt: skip

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        rest = {key: wanted[key] for key in ("ProvisionedThroughput",) if wanted[key] is not None}
        given = {key: wanted[key] for key in ("KeySchema", "AttributeDefinitions", "BillingMode")}
        client.create_table(TableName=name, **given, **rest)

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        if {"BillingMode", "ProvisionedThroughput"} & set(changed):
            rest = {"ProvisionedThroughput": wanted["ProvisionedThroughput"]} if wanted["ProvisionedThroughput"] else {}
            client.update_table(TableName=name, BillingMode=wanted["BillingMode"], **rest)
        if "Tags" in changed:
            self._retag(client, client.describe_table(TableName=name)["Table"]["TableArn"], wanted["Tags"])
        if "TimeToLive" in changed:
            self._expire(client, name, wanted["TimeToLive"])

    def _retag(self, client: Any, arn: str, wanted: dict[str, str]) -> None:
        extra = untagged(client.list_tags_of_resource(ResourceArn=arn).get("Tags", [])).keys() - wanted.keys()
        if extra:
            client.untag_resource(ResourceArn=arn, TagKeys=sorted(extra))
        if wanted:
            client.tag_resource(ResourceArn=arn, Tags=tagged(wanted))

    def _expire(self, client: Any, name: str, attribute: str) -> None:
        """Let items expire by an attribute, or not at all. AWS takes a second change of this only an hour later."""
        before = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"].get("AttributeName", "")
        rule = {"Enabled": bool(attribute), "AttributeName": attribute or before}
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=rule)

    def delete(self, client: Any, name: str) -> None:
        unless_gone(client.delete_table, TableName=name)

    def settle(self, client: Any, name: str) -> None:
        self.read(client, name)


class Parameter(Resource):
    """An SSM parameter. Its value is in the payload, so it is no place for secrets."""

    service = "ssm"
    keys: ClassVar[Keys] = {"Value": (str, NEEDED), "Type": (str, "String"), "Description": (str, "")}

    def checked(self, config: dict[str, Any]) -> dict[str, Any]:
        wanted = super().checked(config)
        if wanted["Type"] not in ("String", "StringList"):
            raise Permanent(
                "config: Type is String or StringList: the value of a SecureString must not be in a payload"
            )
        return wanted

    def read(self, client: Any, name: str) -> dict[str, Any] | None:
        found = unless_gone(client.get_parameter, Name=name)
        if found is None:
            return None
        listed = client.describe_parameters(ParameterFilters=[{"Key": "Name", "Values": [name]}])["Parameters"]
        described = listed[0].get("Description", "") if listed else ""
        return {"Value": found["Parameter"]["Value"], "Type": found["Parameter"]["Type"], "Description": described}

    def create(self, client: Any, name: str, wanted: dict[str, Any]) -> None:
        client.put_parameter(Name=name, Overwrite=True, **wanted)

    def update(self, client: Any, name: str, wanted: dict[str, Any], changed: list[str]) -> None:
        self.create(client, name, wanted)

    def delete(self, client: Any, name: str) -> None:
        unless_gone(client.delete_parameter, Name=name)


RESOURCES: dict[str, Resource] = {
    "s3.bucket": Bucket(), "s3.object": Object(), "sqs.queue": Queue(), "dynamodb.table": Table(), "ssm.parameter": Parameter(),
}  # fmt: skip


def tagged(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags as most services take them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def untagged(tags: list[dict[str, str]]) -> dict[str, str]:
    """Return tags by name, as a configuration has them."""
    return own_tags({tag["Key"]: tag["Value"] for tag in tags})


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags without those that AWS itself sets."""
    return {key: value for key, value in tags.items() if not key.startswith("aws:")}


def _attributes(wanted: dict[str, Any], keys: list[str]) -> dict[str, str]:
    """Return attributes of a queue as SQS takes them: all are texts, and an empty policy removes one."""
    return {
        key: (json.dumps(wanted[key]) if wanted[key] else "") if isinstance(wanted[key], dict) else str(wanted[key])
        for key in keys
    }


def _texts(values: dict[str, Any]) -> dict[str, str]:
    """Return values as texts: SQS takes "3" for 3."""
    return {key: str(value) for key, value in values.items()}


def _by_name(definitions: list[Any]) -> list[Any]:
    return sorted(definitions, key=lambda each: str(each.get("AttributeName")) if isinstance(each, dict) else "")
