"""A cron host: calls the desk once and prints what it says. In a crontab: `* * * * * python -m examples.document_desk.cron_host URL 25`."""

import json
import os
import sys
import urllib.request

LIMIT = 30  # seconds after which the host gives up


def main(url, seconds):
    headers = {"Authorization": f"Bearer {os.environ['DESK_CRON_TOKEN']}", "Content-Type": "application/json"}
    body = json.dumps({"max_seconds": float(seconds)}).encode()
    request = urllib.request.Request(f"{url}/jobs/api/jobs/trigger", body, headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as reply:
        print(reply.read().decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
