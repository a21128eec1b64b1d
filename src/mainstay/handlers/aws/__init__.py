"""AWS resources, made as their specification says: `aws.register(app)` gives the job type `sync_aws`.

A job reads the resource first and acts on the difference, so it may run any number of times. boto3 finds region and credentials as everywhere
(environment, profile, role); they are never in a payload.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from mainstay import ConfigError, Permanent, Retry, Snooze, ctx, transient
from mainstay.core.suggest import did_you_mean

from ..extras import needed
from .resources import RESOURCES, Resource, error_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from mainstay import Mainstay
    from mainstay.job_decorator import TypeOptions

CONNECT_SECONDS, READ_SECONDS = 5, 30
SHOWN = 500  # characters of what AWS says
THROTTLED = (
    "Throttl", "SlowDown", "TooManyRequests", "RequestLimitExceeded", "LimitExceededException", "BandwidthLimitExceeded",
    "ProvisionedThroughputExceeded", "ExpiredToken", "RequestExpired", "RequestTimeout",
)  # fmt: skip
# Another call changes the resource at the moment, or has just made or removed it: look again a moment later.
CHANGING = {
    "BucketAlreadyOwnedByYou": "1s", "OperationAborted": "5s", "ResourceInUseException": "5s",
    "QueueAlreadyExists": "1s", "QueueDeletedRecently": "1m", "AWS.SimpleQueueService.QueueDeletedRecently": "1m",
}  # fmt: skip


class Synced(TypedDict):
    """What a job has done, and the keys of the configuration that were other before."""

    outcome: Literal["created", "updated", "deleted", "unchanged"]
    changes: list[str]


class Aws:
    """The job types of this module."""

    def __init__(self, app: Mainstay, clients: Clients, options: TypeOptions) -> None:
        def sync_aws(
            resource_type: str,
            resource_id: str,
            config: dict[str, Any] | None = None,
            action: Literal["apply", "delete"] = "apply",
        ) -> Synced:
            """Create, update or delete an AWS resource, as its whole specification says."""
            resource = _known(resource_type)
            wanted = resource.checked(config or {}) if action == "apply" else {}
            with _judged(f"{action} {resource_type} {resource_id}"):
                return _sync(resource, clients.get(resource.service), resource_id, wanted, action)

        self.sync_aws = app.job(**options)(sync_aws)


def register(app: Mainstay, *, region: str | None = None, endpoint_url: str | None = None, **options: Unpack[TypeOptions]) -> Aws:  # fmt: skip
    """Register `sync_aws(resource_type, resource_id, config, action)`; `options` are those of any job type, usually with 10 attempts.

    Without `region` and `endpoint_url`, boto3 takes those of the environment and of its files.
    """
    needed("boto3", "aws", "aws")
    return Aws(app, Clients(region, endpoint_url), {"retry": Retry(10), **options})


class Clients:
    """One client for each service. Clients may be used by many threads at once, but sessions, which make them, may not."""

    def __init__(self, region: str | None, endpoint_url: str | None) -> None:
        self._region, self._endpoint = region, endpoint_url
        self._session: Any = None
        self._made: dict[str, Any] = {}
        self._turn = Lock()

    def get(self, service: str) -> Any:
        """Return the client of a service. It tries each call once: the queue tries again."""
        with self._turn:
            if service not in self._made:
                self._made[service] = self._make(service)
            return self._made[service]

    def _make(self, service: str) -> Any:
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]

        once = Config(
            retries={"total_max_attempts": 1}, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS
        )  # fmt: skip
        self._session = self._session or boto3.Session(region_name=self._region)
        return self._session.client(service, endpoint_url=self._endpoint, config=once)


def _known(resource_type: str) -> Resource:
    found = RESOURCES.get(resource_type)
    if found is None:
        near, known = did_you_mean(resource_type, RESOURCES), ", ".join(RESOURCES)
        raise Permanent(f"there is no resource type {resource_type!r:.100}{near}; there are: {known}")
    return found


def _sync(resource: Resource, client: Any, name: str, wanted: dict[str, Any], action: str) -> Synced:
    did: Synced | None = ctx.checkpoint.get("did")  # by an attempt that ended before it could return it
    found = resource.read(client, name)
    if action == "delete" and found is not None:
        resource.delete(client, name)
        did = _kept(did, Synced(outcome="deleted", changes=[]))
    elif action == "apply":
        if found is None:
            resource.create(client, name, wanted)
            did = _kept(did, Synced(outcome="created", changes=[]))
            found = resource.read(client, name)
        if changed := _changed(resource, name, wanted, found):
            resource.update(client, name, wanted, changed)
            did = _kept(did, Synced(outcome="updated", changes=changed))
    if did is not None:
        resource.settle(client, name)
    return did or Synced(outcome="unchanged", changes=[])


def _kept(before: Synced | None, did: Synced) -> Synced:
    """Return what the job did first, and keep it for the result, also if this attempt ends here."""
    if before is None:
        ctx.save(did=did)
    return before or did


def _changed(resource: Resource, name: str, wanted: dict[str, Any], found: dict[str, Any] | None) -> list[str]:
    if found is None:  # just created, and not to be seen yet
        return []
    shape = resource.shape(wanted)
    changed = [key for key, value in shape.items() if value is not None and found.get(key) != value]
    fixed = [key for key in changed if key in resource.fixed]
    if fixed:
        raise Permanent(
            f"{', '.join(fixed)} of {name} cannot be changed: delete it and create it again, if that is meant"
        )
    return changed


@contextmanager
def _judged(what: str) -> Iterator[None]:
    """Turn an error of AWS into what it means for the job: dead, a moment later, or (as it is) another attempt."""
    from botocore.exceptions import (  # type: ignore[import-untyped]
        ClientError,
        NoCredentialsError,
        NoRegionError,
        ParamValidationError,
    )

    try:
        yield
    except ParamValidationError as error:
        raise Permanent(f"cannot {what}: {str(error)[:SHOWN]}", code="ParamValidation") from error
    except NoCredentialsError as error:  # worded so that redaction takes no part of it for a secret
        raise ConfigError(
            "boto3 finds no credentials for AWS. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where the workers run, or give "
            "the machine a role"
        ) from error
    except NoRegionError as error:
        raise ConfigError(
            "AWS needs a region: aws.register(app, region='eu-central-1'), or set AWS_DEFAULT_REGION"
        ) from error
    except ClientError as error:
        code, said = error_code(error), str(error.response["Error"].get("Message", ""))[:SHOWN]
        if code in CHANGING:
            raise Snooze(CHANGING[code], f"cannot {what} yet: {code}: {said}", code=code) from error
        if transient(error) or _status(error) == 404 or any(word in code for word in THROTTLED):
            raise
        raise Permanent(f"AWS refuses to {what}: {code}: {said}", code=code) from error


def _status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
