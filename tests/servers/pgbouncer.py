"""pgbouncer in transaction mode before a PostgreSQL server, where the machine has it."""

import shutil

import psycopg

from tests.servers import postgres
from tests.servers.process import Server

PROGRAM = shutil.which("pgbouncer")
INI = """
[databases]
* = host=127.0.0.1 port={target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
"""


class PgBouncer(Server):
    """A pooler that gives a client another session with every transaction. `auth_type = any` takes one user for all."""

    name = "pgbouncer"
    ending = "SIGINT"

    def __init__(self, target, folder=None, port=None):
        self.target = target
        super().__init__(folder, port)

    def prepare(self):
        text = INI.format(target=self.target, port=self.port).replace("* = ", "* = user=postgres ")
        (self.folder / "pgbouncer.ini").write_text(text, encoding="utf-8")

    def program(self):
        return [PROGRAM, self.folder / "pgbouncer.ini"]

    def ready(self):
        try:
            postgres.run(self.url(), "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database="postgres"):
        """A URL by way of the pooler."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"
