"""Connections with TLS, for URLs that begin with `rediss:` or `valkeys:`."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from .wire import Wire

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping


def secured(connected: socket.socket, host: str, options: Mapping[str, Any]) -> ssl.SSLSocket:
    """Return the socket with TLS, after the server has proved that it is this host."""
    return _context(options).wrap_socket(connected, server_hostname=host)


def _context(options: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    wanted = getattr(ssl, f"CERT_{options.get('ssl_cert_reqs', 'required').upper()}")
    context.check_hostname = wanted != ssl.CERT_NONE and options.get("ssl_check_hostname", True)
    context.verify_mode = wanted
    if "ssl_certfile" in options or "ssl_keyfile" in options:
        context.load_cert_chain(options.get("ssl_certfile") or options["ssl_keyfile"], options.get("ssl_keyfile"))
    if "ssl_ca_certs" in options:
        context.load_verify_locations(options["ssl_ca_certs"])
    return context


class SecureWire(Wire):
    """A connection with TLS."""

    def _waiting(self, seconds: float) -> bool:
        """Read to see whether there is anything for us: what arrives may be the protocol's own."""
        timeout = self._socket.gettimeout()
        self._socket.settimeout(seconds)
        try:
            self._receive()
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        finally:
            self._socket.settimeout(timeout)
        return True
