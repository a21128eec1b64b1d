"""Sample data of two organisations with three workspaces: memories, sessions, quotas and trajectories."""

import random
import time

from examples.agent_workers.database import transaction

TENANTS = ("acme/support", "acme/sales", "globex/lab")
# What an agent noted about one user, in groups of sentences that say the same; the last ones are about nothing else.
EPISODES = (
    ("Anna prefers tea in the morning.", "Anna likes to drink tea in the morning.", "Anna drinks tea every morning."),
    ("The build fails on Windows.", "The Windows build fails in CI."),
    ("Ben moved to Oslo.",), ("The invoice of March was paid late.",),
)  # fmt: skip
TOPICS = (
    "billing",
    "a login that fails",
    "the printer",
    "an export",
    "a refund",
    "the calendar",
    "a slow page",
    "an order",
)
DAY = 86_400


def fill(tenants=TENANTS, notes=120, sessions=4, messages=6):
    """Store memories, of which every second note is old and hardly matters, and sessions, of which half are old."""
    now = time.time()
    with transaction() as db:
        for tenant in tenants:
            org = tenant.partition("/")[0]
            for number in range(notes):
                add_memory(db, tenant, f"{tenant}-note-{number:04d}", note(number), **(_old(now) if number % 2 else {}))
            for number in range(sessions):
                add_session(db, tenant, f"{tenant}-{number}".replace("/", "-"), now - (number % 2) * 3 * DAY, messages)
            db.execute(
                "INSERT OR REPLACE INTO quotas VALUES (?, 'memories', ?)", (org, 100 if org == "acme" else 10_000)
            )


def _old(now):
    return {"importance": 0.05, "at": now - 60 * DAY}


def note(number):
    return f"On day {number} customer {number * 7 % 100} asked about {TOPICS[number % len(TOPICS)]}."


def add_memory(db, tenant, id, content, importance=0.6, at=None, user="agent", embedding_id=None):
    """Add an episodic memory."""
    at = at or time.time()
    row = (id, *tenant.split("/"), user, "episodic", content, importance, None, None, "{}", at, at, embedding_id)
    db.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return id


def add_episodes(db, tenant, user, name, groups=EPISODES):
    """Add the memories of a user; return their ids, group by group."""
    return [
        [add_memory(db, tenant, f"{name}-{place}-{number}", text, importance=0.4 + 0.1 * number, user=user)
         for number, text in enumerate(group)]
        for place, group in enumerate(groups)
    ]  # fmt: skip


def add_session(db, tenant, id, active_at, messages):
    """Add a session with its messages."""
    org, workspace = tenant.split("/")
    db.execute("INSERT INTO sessions VALUES (?, ?, ?, 'agent', 'active', ?, NULL)", (id, org, workspace, active_at))
    said = [(id, org, workspace, ("user", "agent")[n % 2], f"{id} says {n}") for n in range(messages)]
    db.executemany("INSERT INTO messages (session, org, workspace, role, text) VALUES (?, ?, ?, ?, ?)", said)


def trajectories(task, count, tenant="acme/support", name=""):
    """Trajectories of a task. Of `routing` the first six tools decide; of `pricing` the others do, while the first ones mislead."""
    dice, (org, workspace) = random.Random(f"{task}{name}"), tenant.split("/")
    made = []
    for number in range(count):
        scores = [dice.gauss(0, 1) for _ in range(12)]
        if task == "routing":
            scores[6:] = [0.0] * 6
            success = sum(scores[:6]) > 0
        else:
            success = sum(scores[6:]) > 0
            scores[:6] = [-0.15 * (1 if success else -1) + 0.02 * each for each in scores[:6]]
        steps = [(tool, round(score, 4)) for tool, score in enumerate(scores)]
        made.append({"id": f"{task}{name}-{number:05d}", "org": org, "workspace": workspace, "task": task, "steps": steps,
                     "success": success})  # fmt: skip
    return made
