"""Learning from trajectories: features of each, a pattern (a logistic model) trained on them, and old tasks kept by EWC.

EWC (elastic weight consolidation) remembers for each task which weights mattered, by their Fisher information, and pulls later
trainings back to them: so the pattern learns a new task without losing the old one.
"""

import json
import time
from typing import TypedDict

import numpy as np

from examples.agent_workers.application import app
from examples.agent_workers.database import audit, rows, transaction
from mainstay import Limit, Permanent, Retry, ctx

FEATURES = 12
RATE, PULL, BATCH = 0.5, 20.0, 1_000  # of the training: its step, how strongly an old task holds, samples of a batch
ONE_PATTERN = Limit(running=1, name="pattern-writer")  # a training starts from the weights that the one before has left


class Trajectory(TypedDict):
    """What an agent did: the tools it used, step by step, with a score each; and whether that solved the task."""

    id: str
    org: str
    workspace: str
    task: str
    steps: list[tuple[int, float]]
    success: bool


@app.job(name="trajectory-process", priority=4, batch=200, wait="20ms", retry=Retry(3, base="2s"), timeout="1m")
def trajectory_process(items: list[Trajectory]) -> list[int | Exception]:
    """Store trajectories with their features, up to 200 jobs in one transaction. A bad one fails alone."""
    made = [_features(each["steps"]) for each in items]
    good = [
        (each["id"], each["org"], each["workspace"], each["task"], json.dumps(each["steps"]), each["success"], json.dumps(found))
        for each, found in zip(items, made, strict=True) if not isinstance(found, Exception)
    ]  # fmt: skip
    with transaction() as db:
        db.executemany("INSERT OR REPLACE INTO trajectories VALUES (?, ?, ?, ?, ?, ?, ?)", good)
    return [
        found if isinstance(found, Exception) else len(each["steps"]) for each, found in zip(items, made, strict=True)
    ]


def _features(steps):
    """Return the sum of the scores of each tool; an exception for a tool that there is not."""
    found = [0.0] * FEATURES
    for tool, score in steps:
        if not 0 <= tool < FEATURES:
            return Permanent(f"there is no tool {tool}: they are 0 to {FEATURES - 1}", code="tool")
        found[tool] += score
    return found


def samples(task):
    """Return the features of the trajectories of a task, with a 1 for the bias, and whether each was a success."""
    found = rows("SELECT features, success FROM trajectories WHERE task = ? ORDER BY id", task)
    if not found:
        raise Permanent(
            f"there is no trajectory of the task {task!r:.80}: enqueue trajectory-process first", code="empty"
        )
    features = np.array([json.loads(row["features"]) for row in found])
    return np.hstack([features, np.ones((len(found), 1))]), np.array([row["success"] for row in found], float)


def weights():
    """Return the weights of the newest pattern; zeros at first."""
    found = rows("SELECT weights FROM patterns ORDER BY at DESC LIMIT 1")
    return np.array(json.loads(found[0]["weights"])) if found else np.zeros(FEATURES + 1)


def predicted(features, known):
    return 1 / (1 + np.exp(-np.clip(features @ known, -30, 30)))


def accuracy(task, known):
    """Return for how many trajectories of a task these weights tell the outcome: a part of 1."""
    features, success = samples(task)
    return float(((predicted(features, known) > 0.5) == (success > 0.5)).mean())


@app.job(name="pattern-training", priority=1, retry=Retry.fixed(2, every="60s"), timeout="1h", limit=ONE_PATTERN)
def pattern_training(batch_size: int = BATCH, epochs: int = 5, task: str = "") -> dict[str, float | str]:
    """Train the pattern on the trajectories of a task, usually the newest, epoch by epoch; what EWC holds pulls it back."""
    task = task or _newest()
    features, success = samples(task)
    held = [row for row in _anchors() if row["task"] != task]
    known = np.array(ctx.checkpoint.get("weights") or weights())
    for epoch in range(ctx.checkpoint.get("epoch", 0), epochs):
        order = np.random.default_rng(epoch).permutation(len(features))
        for start in range(0, len(order), max(batch_size, 1)):
            batch = order[start : start + batch_size]
            known = _step(known, features[batch], success[batch], held)
        ctx.progress(epoch + 1, epochs, phase="training", accuracy=round(accuracy(task, known), 3))
        ctx.save(epoch=epoch + 1, weights=known.tolist())
    return _kept(task, known)


def _newest():
    found = rows("SELECT task FROM trajectories ORDER BY rowid DESC LIMIT 1")
    if not found:
        raise Permanent("there is no trajectory to learn from: enqueue trajectory-process first", code="empty")
    return found[0]["task"]


def _anchors():
    found = rows("SELECT task, weights, importance FROM anchors")
    return [
        {"task": row["task"], **{name: np.array(json.loads(row[name])) for name in ("weights", "importance")}}
        for row in found
    ]


def _step(known, features, success, held):
    """Return the weights after one batch. The pull is solved implicitly, so that a strong one cannot overshoot."""
    gradient = features.T @ (predicted(features, known) - success) / len(success)
    moved, weight = known - RATE * gradient, np.ones_like(known)
    for anchor in held:
        force = RATE * PULL * anchor["importance"]
        moved, weight = moved + force * anchor["weights"], weight + force
    return moved / weight


def _kept(task, known):
    reached = accuracy(task, known)
    with transaction() as db:
        row = (ctx.id, task, json.dumps(known.tolist()), reached, time.time())
        db.execute("INSERT OR IGNORE INTO patterns VALUES (?, ?, ?, ?, ?)", row)
        audit(db, "pattern.trained", task)
    return {"task": task, "accuracy": reached}


@app.job(name="ewc-consolidation", priority=1, retry=Retry(3, base="30s"), timeout="30m", limit=ONE_PATTERN)
def ewc_consolidation(task: str) -> dict[str, float | str]:
    """Remember which weights of the pattern matter for a task: the Fisher information over its trajectories."""
    features, _ = samples(task)
    known = weights()
    sure = predicted(features, known)
    fisher = ((sure * (1 - sure))[:, None] * features**2).mean(axis=0)
    importance = fisher / max(float(fisher.max()), 1e-12)
    with transaction() as db:
        row = (task, json.dumps(known.tolist()), json.dumps(importance.tolist()))
        db.execute("INSERT OR REPLACE INTO anchors VALUES (?, ?, ?)", row)
        audit(db, "pattern.consolidated", task)
    return {"task": task, "accuracy": accuracy(task, known), "weights_held": int((importance > 0.1).sum())}
