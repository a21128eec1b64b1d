"""How fast the system is: `python -m examples.agent_workers bench`. Jobs per second, and how soon an idle worker starts a job."""

import sys
import tempfile
import time

from examples.agent_workers.parts import Workers, servers
from tests.waiting import eventually

JOBS, PICKUPS = 10_000, 100
LEAST, LONGEST = 1_000, 100.0  # jobs per second, and milliseconds until a job has started
PATIENCE = 120


def main():
    """Measure with real workers, print the figures; return 1 if one of them misses its target."""
    with tempfile.TemporaryDirectory(prefix="agent-workers-") as folder, servers(folder, "http://127.0.0.1:9"):
        from examples.agent_workers.jobs import app

        with Workers("--processes", "2", "--concurrency", "50"):
            eventually(lambda: len(app.workers()) == 2, "two workers are up", PATIENCE)
            rate, soon = throughput(JOBS), pickup(PICKUPS)
    return report(rate, soon)


def throughput(count):
    """Return how many jobs per second are done, from the first enqueue to the last row that a job has written."""
    from examples.agent_workers.database import value
    from examples.agent_workers.jobs import app
    from examples.agent_workers.learning import trajectory_process
    from examples.agent_workers.sample_data import trajectories

    made = trajectories("routing", count, name="bench")
    done = "SELECT count(*) FROM trajectories WHERE id LIKE 'routingbench-%'"
    began = time.monotonic()
    app.enqueue_many(trajectory_process.prepare(each) for each in made)
    eventually(lambda: value(done) == count, f"{count:,} jobs are done", PATIENCE)
    took = time.monotonic() - began
    eventually(lambda: not app.bulk("type:trajectory-process -state:completed").count(), "all have completed", PATIENCE)
    return count / took


def pickup(count):
    """Return the milliseconds from before the enqueue of each job until its result is read, the shortest first: more than its pickup."""
    from examples.agent_workers.maintenance import quota_check

    def one():
        began = time.monotonic()
        quota_check.enqueue("nobody").result(timeout=PATIENCE)
        return (time.monotonic() - began) * 1000

    return sorted(one() for _ in range(count))


def report(rate, soon):
    """Print the figures beside their targets; return 1 if one misses its target."""
    middle, late, most = soon[len(soon) // 2], soon[int(len(soon) * 0.95)], soon[-1]
    print(f"{rate:,.0f} jobs/s, accepted and done (target: {LEAST:,})")
    print(f"from the enqueue to the result: p50 {middle:.0f} ms, p95 {late:.0f} ms, longest {most:.0f} ms")
    print(f"so pickup is sooner than that (target: p95 below {LONGEST:.0f} ms)")
    return int(rate < LEAST or late >= LONGEST)


if __name__ == "__main__":
    sys.exit(main())
