"""Kills a program that writes its rows and enqueues its jobs in one transaction, again and again, at any moment.

`python -m tests.outbox.kill URL --kills 200 --kind psycopg`: afterwards each row has its job and each job its row, or it
says which do not. With `--broken` the jobs are enqueued beside the transaction, as without `tx=`: that must be found out.
"""

import argparse
import json
import os
import select
import signal
import sys
from random import Random

from mainstay import Mainstay
from tests.contract.invariants import check
from tests.outbox.callers import ALL, Place

SHARE = 1_000_000  # numbers for each of the programs
LONGEST = 0.04  # seconds that one lives after its first commit


def main(arguments=None):
    """Kill as often as asked; 1 when a row has no job, or a job no row."""
    parser = argparse.ArgumentParser(prog="tests.outbox.kill", description=__doc__.partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--table", default="killed")
    parser.add_argument("--kind", choices=ALL, default="sqlite3")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--broken", action="store_true")
    given = parser.parse_args(arguments)
    place, random = Place(given.url, given.table), Random(given.seed)
    place.prepare()
    Mainstay(place.url).store.register_types([])
    for generation in range(given.kills):
        kill_one(place, given, generation, random.uniform(0, LONGEST))
    rows, jobs = place.rows(), numbers(place)
    print(f"{given.kills} kills, {len(rows)} rows, {len(jobs)} jobs")
    for what, found in (("a row without its job", rows - jobs), ("a job without its row", jobs - rows)):
        if found:
            print(f"{what}: {sorted(found)[:10]}")
    with Mainstay(place.url).store as store:
        check(store, 2**50)
    place.drop()
    return int(rows != jobs or len(rows) < given.kills)


def kill_one(place, given, generation, after):
    """One program, from its start to its end; it has committed something before it is killed."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        try:
            produce(place, given, generation, said)
        finally:
            os._exit(1)
    os.close(said)
    assert os.read(heard, 1) == b"!", "the program ended before it had committed anything"
    select.select([heard], [], [], after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the program ended by itself"
    os.close(heard)


def produce(place, given, generation, said):
    """Transaction after transaction, until somebody ends it."""
    app, random = Mainstay(place.url), Random(generation)
    user = ALL[given.kind](place)
    number = generation * SHARE
    while True:
        user.begin()
        count = random.choice([1, 1, 1, 4])
        drafts = [app._draft("work", {"n": n}, key(n, random)) for n in range(number + 1, number + 1 + count)]
        number += count
        if given.broken:
            app.enqueue_many(drafts)
        for n in range(number - count + 1, number + 1):
            user.insert(n)
        if not given.broken:
            user.enqueue(app, drafts[0]) if count == 1 else user.enqueue_many(app, drafts)
        if random.random() < 0.2:
            user.rollback()
        else:
            user.commit()
            os.write(said, b"!")


def key(n, random):
    return {"key": f"k{n}", "tags": ["keyed"]} if random.random() < 0.3 else {}


def numbers(place):
    """The numbers of all jobs."""
    table = "mainstay_body" if place.sqlite else f"{place.schema or 'mainstay'}.body"
    with place.direct() as connection:
        return {json.loads(row[0])["n"] for row in connection.execute(f"SELECT payload FROM {table}")}


if __name__ == "__main__":
    sys.exit(main())
