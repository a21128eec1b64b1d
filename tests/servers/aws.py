"""AWS on this machine: moto's server, with the environment in which boto3 talks to it and to nothing else."""

import sys
import urllib.request

from tests.servers.process import Server, shared


class Aws(Server):
    """S3, SQS, DynamoDB and the others, in memory."""

    name = "aws"
    as_user = ""  # another user may not be able to read this Python

    def program(self):
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", self.port]

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/moto-api/", timeout=1) as reply:
                return reply.status == 200
        except OSError:
            return False

    @property
    def url(self):
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}"

    def environment(self):
        """The variables for boto3: this server, credentials that are worth nothing, and no file of the user's."""
        nothing = str(self.folder / "none")
        return {
            "AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
            "AWS_CONFIG_FILE": nothing, "AWS_SHARED_CREDENTIALS_FILE": nothing,
        }  # fmt: skip


def one_for_all():
    """The session's one server; each test names its own buckets, queues and tables."""
    return shared(Aws, "aws")
