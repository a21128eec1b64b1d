"""The files of tenants: archives of sessions and exports, each tenant's in a folder of its own, so that all of them can be deleted."""

import os
import shutil
from urllib.parse import quote

from examples.agent_workers.application import DATA
from examples.agent_workers.database import place

ARCHIVES, EXPORTS = DATA / "archives", DATA / "exports"


def folder_of(base, tenant):
    """Return the folder of a tenant: base/org/workspace, or base/org for what is of a whole organisation. It need not exist."""
    return base.joinpath(*(part(name) for name in place(tenant) if name))


def part(name):
    """Return a name as one part of a path, whatever characters it has."""
    return quote(name, safe="").replace(".", "%2E")


def written(path, content):
    """Write a file beside its place and rename it: there is never half a file under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)


def files_of(tenant):
    """Return the files with data of a tenant, also half-written ones. Exports of its organisation have data of a workspace too."""
    found = [folder_of(base, tenant).rglob("*") for base in (ARCHIVES, EXPORTS)]
    org, workspace = place(tenant)
    if workspace:
        found.append(folder_of(EXPORTS, org).glob("*export-*"))
    return [path for paths in found for path in paths if path.is_file()]


def remove_files(tenant):
    """Remove the files of a tenant."""
    for path in files_of(tenant):
        path.unlink(missing_ok=True)
    for base in (ARCHIVES, EXPORTS):
        shutil.rmtree(folder_of(base, tenant), ignore_errors=True)
