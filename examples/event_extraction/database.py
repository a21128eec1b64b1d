"""The tables of the application, in the database that has the jobs too: revisions of artifacts, and the events found in them."""

import os

from sqlalchemy import ForeignKey, create_engine, text
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

URL = os.environ.get("EVENTS_DATABASE", "postgresql://localhost/events")


class Base(DeclarativeBase):
    pass


class Revision(Base):
    """One revision of a document, as it was ingested."""

    __tablename__ = "artifact_revision"
    artifact_uid: Mapped[str] = mapped_column(primary_key=True)
    revision_id: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[str]


class Extraction(Base):
    """One extraction that was committed. No constraint keeps a second one of a revision away: the jobs do."""

    __tablename__ = "extraction"
    id: Mapped[int] = mapped_column(primary_key=True)
    artifact_uid: Mapped[str] = mapped_column(index=True)
    revision_id: Mapped[str]
    job: Mapped[str]
    events: Mapped[int]


class Event(Base):
    """What happened, in the words of the document."""

    __tablename__ = "event"
    id: Mapped[int] = mapped_column(primary_key=True)
    extraction: Mapped[int] = mapped_column(ForeignKey("extraction.id"))
    who: Mapped[str]
    date: Mapped[str]
    place: Mapped[str]


# The jobs with the names of the document that asked for this system (ADR-001): its queries work as they stand there.
EVENT_JOBS = """
CREATE OR REPLACE VIEW event_jobs AS
SELECT body.id AS job_id, job.type AS job_type, body.payload::json ->> 'artifact_uid' AS artifact_uid,
       body.payload::json ->> 'revision_id' AS revision_id,
       CASE job.state WHEN 'completed' THEN 'DONE' WHEN 'running' THEN 'PROCESSING' WHEN 'dead' THEN 'FAILED'
                      WHEN 'cancelled' THEN 'CANCELLED' ELSE 'PENDING' END AS status,
       job.attempt AS attempts, body.max_attempts, to_timestamp(job.run_at / 1000.0) AS next_run_at,
       to_timestamp(job.started_at / 1000.0) AS locked_at, job.worker AS locked_by,
       last.code AS last_error_code, last.error AS last_error_message,
       to_timestamp(body.created_at / 1000.0) AS created_at,
       to_timestamp(greatest(body.created_at, job.started_at, job.finished_at, last.ended_at) / 1000.0) AS updated_at
FROM mainstay.job JOIN mainstay.body ON body.job = job.seq
LEFT JOIN LATERAL (SELECT code, error, ended_at FROM mainstay.attempt WHERE attempt.job = job.seq AND error IS NOT NULL
                   ORDER BY token DESC LIMIT 1) last ON true
WHERE job.type = 'extract_events'
"""


def driver(url):
    return url.replace("postgresql://", "postgresql+psycopg://")


engine = create_engine(driver(URL))
session = sessionmaker(engine)  # of those who ingest
async_session = async_sessionmaker(create_async_engine(driver(URL), pool_size=5, max_overflow=20))  # of the workers


def create_tables():
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text(EVENT_JOBS))
