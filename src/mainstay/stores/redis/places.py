"""Where the server is that has an installation's keys. Sentinels and clusters are asked by redis-py, which is imported only then."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from ...core.errors import StoreUnavailable
from .wire import Lost, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .address import Address

    Place = tuple[str, int]

# Options that a sentinel is asked with as well.
SAME = ("socket_timeout", "socket_connect_timeout", "protocol", "retry")


def place(address: Address, timeouts: Mapping[str, float]) -> Callable[[], Place]:
    """Return what tells host and port, each time a connection is opened."""
    if address.kind == "sentinel":
        return _sentinel(address, timeouts)
    found = _node(address, timeouts) if address.kind == "cluster" else address.hosts[0]
    return lambda: found


def _sentinel(address: Address, timeouts: Mapping[str, float]) -> Callable[[], Place]:
    """The primary, which the sentinels are asked for each time."""
    from redis.sentinel import Sentinel

    options = _options(address, timeouts)
    asking = {name: value for name, value in options.items() if name in SAME or name.startswith("ssl")}
    sentinels: Any = Sentinel
    group = sentinels(list(address.hosts), sentinel_kwargs=asking | {"decode_responses": True})

    def primary() -> Place:
        with _asking():
            host, port = group.discover_master(address.service)
            return host, port

    return primary


def _node(address: Address, timeouts: Mapping[str, float]) -> Place:
    """The node that has our slot: all keys are in one slot."""
    from redis.cluster import ClusterNode, RedisCluster

    node_at: Any = ClusterNode
    nodes = [node_at(host, port) for host, port in address.hosts]
    client: Any = RedisCluster
    with _asking(), closing(client(startup_nodes=nodes, **_options(address, timeouts))) as cluster:
        node = cluster.get_node_from_key(address.prefix)
    if node is None:
        raise StoreUnavailable(
            f"{address.shown}: no node of the cluster has the slot of {address.prefix}. Check its nodes."
        )
    return node.host, node.port


def _options(address: Address, timeouts: Mapping[str, float]) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {**timeouts, "decode_responses": True, "protocol": 2, "retry": Retry(NoBackoff(), 0)} | address.options


@contextmanager
def _asking() -> Iterator[None]:
    """Map errors of redis-py, which drops the word of the server from their texts."""
    from redis import exceptions as theirs

    try:
        yield
    except theirs.AuthenticationError as error:
        raise Refused(f"NOAUTH {error}") from error
    except theirs.NoPermissionError as error:
        raise Refused(f"NOPERM {error}") from error
    except theirs.RedisError as error:
        raise Lost(str(error)) from error
