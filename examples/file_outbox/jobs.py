"""The application: four kinds of side effects as jobs in one SQLite file, over JSON documents in a folder."""

import os
import time
from pathlib import Path

from mainstay import Mainstay, Retry, ctx
from mainstay.handlers import aws, files, prompt

DATA = Path(os.environ.get("OUTBOX_DATA", "data")).absolute()
DATA.mkdir(exist_ok=True)
RETRY = Retry(10, base="200ms", cap="1m")

app = Mainstay(os.environ.get("MAINSTAY_URL") or "sqlite:///outbox.db")

documents = files.register(app, roots=[DATA], retry=RETRY)  # create_file, delete_file
cloud = aws.register(app, retry=RETRY)  # sync_aws
prompts = prompt.register(
    app, name="claude_extraction", provider=prompt.claude(os.environ.get("CLAUDE", "claude")), model="local",
    base_url=os.environ.get("ANTHROPIC_BASE_URL"), max_tokens=48, folder=DATA, retry=RETRY, running=2,
)  # fmt: skip


@app.job(retry=RETRY)
def index_documents() -> dict[str, int]:
    """Count the words of every requirement, one after the other."""
    words: dict[str, int] = dict(ctx.checkpoint.get("words", {}))
    began_after = len(words)
    paths = sorted(DATA.glob("requirements/*.json"))
    for path in paths:
        if path.name not in words:
            time.sleep(0.1)  # stands for work that takes a while
            words[path.name] = len(path.read_text(encoding="utf-8").split())
            ctx.progress(len(words), len(paths))
            ctx.save(words=words)  # a safe point: a worker that is told to stop leaves here, and no attempt is spent
    return {"words": sum(words.values()), "began_after": began_after}
