"""A TCP proxy that breaks connections on command: dropped with a reset, delayed, or half-open (silent, and never closed)."""

import asyncio
import random
import socket
import struct
import threading
from contextlib import suppress

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset and throws away what was not sent


class Link:
    """One connection through the proxy. While it is halted nothing passes, and nobody is told."""

    def __init__(self, client, server):
        self.client, self.server = client, server  # the writers
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.dead = False  # half-open for ever

    async def pump(self, reader, writer, watch):
        """Pass bytes on until one side ends; the other side of a half-open link hears nothing of it."""
        try:
            while data := await reader.read(CHUNK):
                await self.flowing.wait()
                watch()
                writer.write(data)
                await writer.drain()
                watch()
        except OSError:
            pass  # the connection broke, which is what this is for: the other side is closed below
        if not self.dead:
            writer.close()

    def halt(self, for_ever=False):
        self.dead = self.dead or for_ever
        self.flowing.clear()

    def go_on(self):
        if not self.dead:
            self.flowing.set()

    def reset(self):
        for writer in (self.client, self.server):
            cut(writer)


def cut(writer):
    """Close with a reset; one that is closed already stays so."""
    if not writer.is_closing():
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()


class Proxy:
    """Listens on a port of its own and passes everything on to another port of this machine; with a context, by TLS."""

    def __init__(self, target, seed=1, context=None):
        self.target, self.port, self._context = target, 0, context
        self._random = random.Random(seed)
        self._links = []  # all there ever were: nothing else keeps the half-open ones from being cleared away
        self.watch = lambda: None  # called before and after each piece that passes, in either direction
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="proxy", daemon=True)

    def __enter__(self):
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def url(self, url):
        """The same URL, by way of the proxy."""
        return url.replace(f":{self.target}/", f":{self.port}/")

    # faults -------------------------------------------------------------------------------------------------------
    def drop(self, share=0.0):
        """Reset a connection, or a share of all; answers how many."""
        return self._strike(share, Link.reset)

    def halt(self, share=0.0, notice=None):
        """Leave a connection half-open: both ends stay connected to nobody.

        After `notice` seconds the client is told, as its own system would do where nobody confirms what it sends; here
        somebody does, the proxy's. The server is never told.
        """

        def halted(link):
            link.halt(for_ever=True)
            if notice is not None:
                self._loop.call_later(notice, cut, link.client)

        return self._strike(share, halted)

    def delay(self, seconds, share=0.0):
        """Let nothing pass for a while."""

        def delayed(link):
            link.halt()
            self._loop.call_later(seconds, link.go_on)

        return self._strike(share, delayed)

    def count(self):
        """How many connections are whole."""
        return self._call(lambda: len(self._alive()))

    # inside the loop's thread ---------------------------------------------------------------------------------------
    def _strike(self, share, fault):
        def strike():
            links = self._alive()
            chosen = self._random.sample(links, min(len(links), max(1, round(share * len(links)))))
            for link in chosen:
                fault(link)
            return len(chosen)

        return self._call(strike)

    def _alive(self):
        return [link for link in self._links if not link.dead and not link.client.is_closing()]

    def _call(self, function):
        async def call():
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    async def _serve(self):
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for link in self._links:
            link.reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader, writer):
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # the server is down: so is the proxy, to whoever asks
            cut(writer)
            return
        link = Link(writer, to_server)
        self._links.append(link)
        with suppress(asyncio.CancelledError):  # at the end of the proxy, of which nobody needs to hear
            await asyncio.gather(
                link.pump(reader, to_server, self._watched), link.pump(from_server, writer, self._watched)
            )

    def _watched(self):
        self.watch()
