"""The web application: uploads and profiles; under /jobs, the HTTP API of the jobs, its trigger for a cron host, signed events and the dashboard.

    uvicorn examples.document_desk.desk:web

DESK_TOKENS has who may do what, as JSON: {"token": "role"}; DESK_EVENTS_SECRET (whsec_…) signs the events.
"""

import hashlib
import hmac
import json
import os
import secrets
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI, HTTPException, UploadFile
from fastapi.responses import JSONResponse

from examples.document_desk import database
from examples.document_desk.jobs import FILES, app, cv_processing
from examples.document_desk.subscriptions import subscribe
from mainstay import QueueFull, TypeDisabled

MOST_BYTES = 5_000_000  # of an upload
FORM = 10_000  # bytes around the file in a form


@asynccontextmanager
async def prepared(_):
    """Make the tables and the folder before the first request."""
    FILES.mkdir(parents=True, exist_ok=True)
    app.list(limit=1)
    database.create_tables()
    subscribe()
    yield


class Bounded:
    """Refuses a body that is too large by what its headers say: before it is read, and written to the disk."""

    def __init__(self, wrapped):
        self._wrapped = wrapped

    async def __call__(self, scope, receive, send):
        refusal = self._refusal(dict(scope["headers"])) if scope.get("path") == "/cvs" else None
        await (refusal or self._wrapped)(scope, receive, send)

    def _refusal(self, headers):
        length = headers.get(b"content-length", b"")
        if not length.isdigit():
            return JSONResponse({"detail": "say how long the body is: Content-Length"}, 411)
        large = int(length) > MOST_BYTES + FORM
        return JSONResponse({"detail": f"send at most {MOST_BYTES:,} bytes"}, 413) if large else None


web = FastAPI(title="Document desk", lifespan=prepared)
web.add_middleware(Bounded)


@web.exception_handler(TypeDisabled)
@web.exception_handler(QueueFull)
def not_now(_, error):
    """Tell the caller to come again: an operator takes no jobs of this type now, or too many wait."""
    return JSONResponse({"detail": str(error)}, 503, {"Retry-After": "60"})


def role_of(request):
    """Return the role of whoever sends a request; None: nobody that is known."""
    word = request.headers.get("authorization", "").removeprefix("Bearer ")
    roles = json.loads(os.environ.get("DESK_TOKENS", "{}"))
    return next((role for token, role in roles.items() if hmac.compare_digest(token.encode(), word.encode())), None)


web.mount("/jobs", app.dashboard(access=role_of))


@web.get("/health")
def health():
    return {"status": app.health().status}


# CVs and profiles -------------------------------------------------------------------------------------------------
@web.post("/cvs", status_code=202)
def upload(file: UploadFile):
    """Take a CV: the file first, under the hash of its content; then its profile and its job, both or neither."""
    content = file.file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise HTTPException(413, f"the file is larger than {MOST_BYTES:,} bytes: send a smaller one")
    if not content.startswith(b"%PDF-"):
        raise HTTPException(415, "this is no PDF: save the CV as PDF and send that")
    url, profile_id = kept(content), f"P-{secrets.token_hex(4)}"
    with database.transaction() as session:
        session.add(database.Profile(id=profile_id, file_url=url, month=f"{datetime.now(UTC):%Y-%m}"))
        session.flush()
        job = cv_processing.options(tx=session, ref=f"profile/{profile_id}").enqueue(url, profile_id)
    return {"profileId": profile_id, "fileUrl": url, "job": job.id}


def kept(content):
    """Write a file under its hash, whole or not at all; return its URL."""
    name = f"{hashlib.sha256(content).hexdigest()}.pdf"
    part = FILES / f".{secrets.token_hex(8)}.part"
    part.write_bytes(content)
    part.replace(FILES / name)
    return f"/files/{name}"


@web.get("/profiles/{profile_id}")
def profile(profile_id: str):
    """Return a profile, and how far the job is that reads its CV."""
    found = database.profile(profile_id)
    if found is None:
        raise HTTPException(404, f"there is no profile {profile_id[:60]!r}")
    jobs = app.list(f"type:cv_processing ref:profile/{profile_id}", limit=1)
    values = {name: getattr(found, name) for name in ("id", "status", *database.FIELDS)}
    return {**values, "job": progress(jobs[0]) if jobs else None}


def progress(job):
    return {"id": job.id, "state": job.state, "stage": job.stage, "percent": job.done, "error": job.error}
