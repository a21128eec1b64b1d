"""Maintenance: quotas, the export of the audit trail, and the export and the deletion of a tenant's data."""

import hashlib
import json
import os
import shutil
import zipfile
from contextlib import closing

from examples.agent_workers.application import app
from examples.agent_workers.database import (
    OWNED,
    audit,
    connect,
    count,
    counts,
    marks,
    place,
    rows,
    scope,
    transaction,
    value,
)  # fmt: skip
from examples.agent_workers.files import EXPORTS, files_of, folder_of, remove_files, written
from examples.agent_workers.index import catch_up, keys
from examples.agent_workers.memories import forget
from mainstay import Limit, Permanent, Retry, ctx

KINDS = {
    "memories": "SELECT count(*) FROM memories WHERE org = ?",
    "sessions": "SELECT count(*) FROM sessions WHERE org = ? AND state = 'active'",
    "bytes": "SELECT coalesce(sum(length(CAST(content AS BLOB))), 0) FROM memories WHERE org = ?",
}
CHUNK = 100  # rows of one file of an export, and of one transaction of a deletion
# One export of each workspace at a time, and two of each organisation.
OF_TENANTS = [Limit(running=1, key="tenant"), Limit(running=2, key="tenant/*")]


@app.job(name="quota-check", priority=6, retry=Retry(3, base="5s"), timeout="1m")
def quota_check(org: str = "") -> dict[str, int | list[str]]:
    """Compare what each organisation uses with its quota. One that uses more is told by the event `quota.exceeded`, once a day."""
    quotas = rows("SELECT org, kind, most FROM quotas WHERE ? IN ('', org) ORDER BY org, kind", org)
    above = []
    for row in quotas:
        used = value(KINDS[row["kind"]], row["org"])
        if used > row["most"]:
            above.append(f"{row['org']}:{row['kind']}")
            said = {"org": row["org"], "kind": row["kind"], "used": used, "quota": row["most"]}
            key = {"key": f"quota-{row['org']}-{row['kind']}", "period": "24h", "tenant": row["org"]}
            ctx.enqueue(*app.webhooks.prepare("quota.exceeded", said, **key))
    return {"checked": len(quotas), "above": above}


# audit ----------------------------------------------------------------------------------------------------------------
@app.job(name="audit-export", priority=5, retry=Retry(5, base="10s"), timeout="30m", limit=Limit(running=1))
def audit_export() -> dict[str, int | str]:
    """Write the audit trail as lines of JSON, each with a running hash whose last value is in a manifest: a missing line shows."""
    last = ctx.checkpoint.get("last") or value("SELECT coalesce(max(id), 0) FROM audit")
    ctx.save(last=last)  # a second attempt exports the same lines, and writes the same file
    found = rows("SELECT * FROM audit WHERE id <= ? ORDER BY id", last)
    text, digest = chained(dict(row) for row in found)
    name = f"audit-{ctx.id}.jsonl"
    written(EXPORTS / name, text.encode())
    written(EXPORTS / f"{name}.manifest", json.dumps({"file": name, "lines": len(found), "sha256": digest}).encode())
    return {"file": name, "lines": len(found), "sha256": digest}


def chained(lines):
    """Return lines as JSON, and the hash over all of them, each with the hash before it."""
    digest, made = "", []
    for line in lines:
        made.append(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n")
        digest = hashlib.sha256((digest + made[-1]).encode()).hexdigest()
    return "".join(made), digest


def verified(name):
    """Whether an exported audit trail is complete and unchanged, by its manifest."""
    manifest = json.loads((EXPORTS / f"{name}.manifest").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (EXPORTS / name).read_text(encoding="utf-8").splitlines()]
    return (len(lines), chained(lines)[1]) == (manifest["lines"], manifest["sha256"])


# export ---------------------------------------------------------------------------------------------------------------
@app.job(name="data-export", priority=5, retry=Retry(5, base="5s"), timeout="1h", limit=OF_TENANTS)
def data_export() -> dict[str, int | str | dict[str, int]]:
    """Export all data of the job's tenant as one zip of JSON lines: part by part, so that a second attempt goes on where the last stopped."""
    condition, values = scope(_named(ctx.tenant))
    path = folder_of(EXPORTS, ctx.tenant) / f"export-{ctx.id}.zip"
    folder = path.with_suffix(".parts")
    state = {"table": 0, "after": 0, "parts": 0, **ctx.checkpoint}
    resumed_at = state["parts"] if path.exists() else _begun(folder, state)
    if not path.exists():  # an attempt that was killed after it had made the zip has left nothing to do
        _write_parts(folder, state, condition, values)
        _zipped(folder, path)
    shutil.rmtree(folder, ignore_errors=True)
    name = str(path.relative_to(EXPORTS))
    with transaction() as db:
        audit(db, "data.exported", name)
    found = {table: len(lines) for table, lines in exported(name).items()}
    return {"file": name, "parts": state["parts"], "resumed_at": resumed_at, "rows": found}


def _named(tenant):
    if not tenant:
        raise Permanent('this job needs a tenant: .options(tenant="org/workspace")', code="tenant")
    return tenant


def _begun(folder, state):
    """Make the folder of an export; return how many parts an earlier attempt has left there, of those that it could note."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name.startswith(".") or int(path.stem.rpartition("-")[2]) >= state["parts"]:
            path.unlink()
    if len(list(folder.iterdir())) < state["parts"]:  # somebody has removed them: begin anew
        state |= {"table": 0, "after": 0, "parts": 0}
    return state["parts"]


def _write_parts(folder, state, condition, values):
    """Write the parts that are missing, table by table."""
    while state["table"] < len(OWNED):
        table = OWNED[state["table"]]
        query = f"SELECT rowid AS n, * FROM {table} WHERE {condition} AND rowid > ? ORDER BY rowid LIMIT {CHUNK}"
        found = [dict(row) for row in rows(query, *values, state["after"])]
        if found:
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
            written(folder / f"{table}-{state['parts']:06d}.jsonl", lines.encode())
            state |= {"after": found[-1]["n"], "parts": state["parts"] + 1}
        else:
            state |= {"table": state["table"] + 1, "after": 0}
        ctx.progress(state["table"], len(OWNED), parts=state["parts"])
        ctx.save(**state)


def _zipped(folder, path):
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(folder.glob("*.jsonl")):
            archive.write(each, each.name)
    beside.replace(path)


def exported(name):
    """Return the rows of an export, by table."""
    with zipfile.ZipFile(EXPORTS / name) as archive:
        lines = [(each.partition("-")[0], archive.read(each).splitlines()) for each in sorted(archive.namelist())]
    return {table: [json.loads(line) for name, part in lines if name == table for line in part] for table in OWNED}


# deletion -------------------------------------------------------------------------------------------------------------
@app.job(name="data-deletion", priority=8, retry=Retry(10, base="10s"), timeout="1h", limit=OF_TENANTS)
def data_deletion() -> dict[str, int | dict[str, int]]:
    """Delete all data of the job's tenant: rows, vectors, the index and files; then look whether nothing is left."""
    condition, values = scope(_named(ctx.tenant))
    for number, table in enumerate(OWNED):
        while _deleted(table, condition, values):
            ctx.check()
        ctx.progress(number + 1, len(OWNED), phase=table)
    remove_files(ctx.tenant)
    catch_up("memories")
    _overwritten()
    left = remains(ctx.tenant)
    if any(left.values()):
        raise RuntimeError(
            f"of {ctx.tenant} there is still: {left}"
        )  # written meanwhile: the next attempt deletes it too
    with transaction() as db:
        audit(db, "data.deleted", str(ctx.tenant))
    return {"deleted": counts(), "left": 0}


def _deleted(table, condition, values):
    """Delete some rows of a table and count them, in one transaction; return how many."""
    with transaction() as db:
        found = db.execute(f"SELECT rowid, * FROM {table} WHERE {condition} LIMIT {CHUNK}", values).fetchall()
        if found and table == "memories":
            forget(db, [row["id"] for row in found])
        elif found:
            db.execute(f"DELETE FROM {table} WHERE rowid IN ({marks(found)})", [row[0] for row in found])
        count(db, table, len(found))
    return len(found)


def _overwritten():
    """Empty the write-ahead log, which has copies of deleted rows; `secure_delete` has overwritten them in the file itself."""
    with closing(connect()) as db:
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise RuntimeError("others read the database for too long: its log with deleted rows is not emptied yet")


def remains(tenant):
    """Return how much of a tenant's data is left, by place: tables, vectors, the index and files."""
    condition, values = scope(tenant)
    org, workspace = place(tenant)
    about = "json_extract(about, '$.org') = ?" + (" AND json_extract(about, '$.workspace') = ?" if workspace else "")
    left = {table: value(f"SELECT count(*) FROM {table} WHERE {condition}", *values) for table in OWNED}
    numbers = {row["number"] for row in rows("SELECT number FROM memory_vectors")}
    return left | {
        "vectors": value(f"SELECT count(*) FROM memory_vectors WHERE {about}", *filter(None, (org, workspace))),
        "index": len(keys("memories") - numbers),  # vectors in the index whose rows are gone
        "files": len(files_of(tenant)),
    }
