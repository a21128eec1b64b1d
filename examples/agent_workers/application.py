"""The application object, and where its data are: AGENT_DATA is a folder, MAINSTAY_URL the Redis or Valkey with the jobs."""

import os
from pathlib import Path

from mainstay import Mainstay

DATA = Path(os.environ.get("AGENT_DATA", "agent-data")).absolute()
DATA.mkdir(parents=True, exist_ok=True)

app = Mainstay(os.environ.get("MAINSTAY_URL") or "redis://127.0.0.1:6379/0")
