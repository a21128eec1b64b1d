"""A store whose every text was written by somebody who wants it to run, to break the page, or to deceive its reader."""

import itertools
import json

from mainstay import Limit, Mainstay, Permanent, Review, ctx
from mainstay.core.draft import Draft
from mainstay.core.job import TypeInfo, WorkerInfo
from mainstay.core.rules import SCHEDULE
from mainstay.core.updates import Log, Progress
from mainstay.testing.kit import InlineWorker

TEXTS = [
    "<img src=x onerror=owned=1>",
    "<script>owned=1</script>",
    '"><svg onload=owned=1>',
    "javascript:owned=1",
    "data:text/html,<script>parent.owned=1</script>",
    "{{constructor.constructor('owned=1')()}}",
    "${owned=1}",
    "'-(owned=1)-'",
    "</title></textarea></style><img src=x onerror=owned=1>",
    "\u202etxt.exe \u2066bidi\u2069",
    "\x1b[31mred\x1b[0m \x7f\x01",
    "&lt;b&gt; &#60;img&#62; %3Cimg%3E",
    "<!-- ]]> --> */ // \\",
]
LONG = "<b>" + "long" * 2_500  # 10 KB
HELD = 24 * 3_600_000  # ms


class Hostile:
    """Hostile texts in turn, each with the name of the field that it stands in."""

    def __init__(self):
        self._texts = itertools.cycle(TEXTS)
        self._labels = itertools.cycle(text for text in TEXTS if text.isprintable() and "/" not in text)
        self.fields = {}

    def label(self, field):
        """A text as names and labels may be: printable, without a slash, short."""
        return self._kept(field, f"{field} {next(self._labels)}"[:60])

    def text(self, field):
        return self._kept(field, f"{field} {next(self._texts)}")

    def _kept(self, field, made):
        self.fields.setdefault(field, []).append(made)
        return made


def fill(url):
    """Fill a store; the application, and the texts by field."""
    app, words = Mainstay(url), Hostile()
    kinds = declare(app, words)
    args = {words.text("arg"): words.text("value"), "nested": {words.text("key"): [words.text("item"), LONG]}}
    for kind in kinds:
        labels = {
            "tenant": words.label("tenant"),
            "ref": words.label("ref"),
            "tags": [words.label("tag")],
            "key": words.label("unique"),
        }
        app.enqueue(kind, {"args": args}, **labels)
    InlineWorker(app).drain()
    rule(app, kinds, words)
    smuggle(app, words)
    hold(app, kinds, args, words)
    return app, words.fields


def declare(app, words):
    """One type that dies, one that asks, one that completes."""

    def die(args: dict):
        with ctx.stage(words.label("stage")):
            ctx.log(words.text("log"), level="error", **{words.label("field"): words.text("logged")})
        raise Permanent(words.text("error"), code=words.label("code"))

    def ask(args: dict):
        raise Review(
            words.text("question"), {words.text("output key"): words.text("output")}, deciders=[words.label("decider")]
        )

    def done(args: dict):
        return {words.text("result key"): words.text("result")}

    given = {"die": die, "ask": ask, "done": done}
    for handler in given.values():
        handler.__doc__ = words.text("docstring")
    made = [
        app.job(name=name, limit=Limit(5), tags=[words.label("tag of type")])(handler)
        for name, handler in given.items()
    ]
    return [each.name for each in made]


def smuggle(app, words):
    """Names that the library refuses, written straight into the store, as another program could."""
    now, type, queue = app.clock.now(), words.label("type"), words.label("queue")
    app.store.register_types([TypeInfo(type, queue, words.text("signature"), {}, now)])
    (rule,) = app.store.rules([SCHEDULE])
    app.store.set_rule(rule._replace(name=words.label("schedule")))
    app.store.enqueue([Draft(type, json.dumps({"smuggled": words.text("smuggled")}), queue=queue)], now)


def rule(app, kinds, words):
    """What operators have said and set."""
    actor = words.label("actor")
    app.pause(type=kinds[0], reason=words.text("reason"), actor=actor)
    app.disable(kinds[2], words.text("why disabled"), actor=actor)
    app.set_setting(
        "hostile",
        {words.text("setting key"): words.text("setting value")},
        description=words.text("description"),
        actor=actor,
    )
    app.create_schedule(
        "hostile",
        app.prepare(kinds[0], {"args": {}}),
        cron="0 4 * * *",
        reason=words.text("schedule reason"),
        actor=actor,
    )
    for group in app.dead():
        app.dead_group(group.fingerprint).ignore(note=words.text("note"), actor=actor)
    app.subscriptions.add(
        "hostile", "*", kinds[0], {"args": {words.label("event key"): words.label("event value")}}, actor=actor
    )
    app.tokens.create(words.label("token"), "viewer", tenant=words.label("tenant of token"), actor=actor)


def hold(app, kinds, args, words):
    """A worker with a hostile name, and a job that it holds."""
    now = app.clock.now()
    app.resume(type=kinds[0])
    app.enqueue(kinds[0], {"args": args}, tags=[words.label("tag of running")])
    queue = next(each.queue for each in app.types() if each.name == kinds[0])
    worker = WorkerInfo(
        words.label("worker"),
        words.label("host"),
        1,
        8,
        (queue,),
        tuple(kinds),
        now,
        now,
        now + HELD,
        0,
        stopping=False,
    )
    app.store.register(worker)
    (job,) = app.store.claim(worker.id, {queue: [kinds[0]]}, 1, now).jobs
    said = json.dumps({words.text("detail key"): words.text("detail")})
    line = Log(job.seq, job.token, 1, now, "warning", words.label("log stage"), words.text("live log"), said)
    app.store.finish([], [Progress(job.seq, job.token, now, 1.0, 3.0, words.label("progress stage"), said), line])
