"""The table of the application, in the database that has the jobs too: SQLite or PostgreSQL, as the URL says."""

import os
from contextlib import contextmanager

from sqlalchemy import create_engine, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

URL = os.environ.get("DESK_DATABASE", "sqlite:///desk.db")
FIELDS = ("name", "email", "title")


class Base(DeclarativeBase):
    pass


class Profile(Base):
    """A candidate: `waiting` until the CV has been read, then `ready` with what is in it."""

    __tablename__ = "profile"
    id: Mapped[str] = mapped_column(primary_key=True)
    file_url: Mapped[str]
    month: Mapped[str] = mapped_column(index=True)  # of the upload, such as 2026-05
    status: Mapped[str] = mapped_column(default="waiting")
    name: Mapped[str] = mapped_column(default="")
    email: Mapped[str] = mapped_column(default="")
    title: Mapped[str] = mapped_column(default="")
    job: Mapped[str] = mapped_column(default="")  # that has read the CV
    stored: Mapped[int] = mapped_column(default=0)  # how often; nothing but the jobs keeps it from being 2


def driver(url):
    return url.replace("postgresql://", "postgresql+psycopg://")


engine = create_engine(driver(URL), connect_args={"timeout": 30} if URL.startswith("sqlite") else {})


def create_tables():
    Base.metadata.create_all(engine)


@contextmanager
def transaction():
    """A session whose writes are one transaction."""
    with Session(engine) as session, session.begin():
        yield session


def profile(profile_id):
    """Return a profile; None if there is none."""
    with Session(engine) as session:
        return session.get(Profile, profile_id)


def store(session, profile_id, structured, job):
    """Write what a job has read into its profile; return whether that was new."""
    values = {name: structured[name] for name in FIELDS}
    of_another = update(Profile).where(Profile.id == profile_id, Profile.job != job)
    changed = session.execute(of_another.values(status="ready", job=job, stored=Profile.stored + 1, **values))
    return changed.rowcount == 1
