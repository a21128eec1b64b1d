"""The prompt handler: a real model through both SDKs, and every fault of a service."""

import hashlib
import json
import pathlib

import pytest

from mainstay import ConfigError, InvalidPayload, Mainstay
from mainstay.handlers import prompt
from tests.servers import model
from tests.servers.faults import Faults

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}
SDKS = ("anthropic", "openai")


@pytest.fixture
def faults():
    with Faults() as server:
        yield server


@pytest.fixture
def make(mainstay, faults, tmp_path):
    """Register prompts on an application of their own, asked at the fault server unless told otherwise."""

    def made(provider="openai", base_url=None, max_payload=1 << 20, **settings):
        app = mainstay.use(Mainstay("sqlite:///:memory:", max_payload=max_payload))
        suffix = "/v1" if provider == "openai" else ""
        settings = {"model": "local", "api_key": "sk-test-key", "folder": tmp_path, "timeout": "20s"} | settings
        return prompt.register(app, provider=provider, base_url=(base_url or faults.url) + suffix, **settings)

    return made


def attempts(made, job):
    return [(each.outcome, each.code) for each in made.prompt.app.attempts(job.id)]


# A real model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", SDKS)
def test_a_real_model_answers_and_the_answer_is_written_to_its_target(mainstay, make, provider, tmp_path):
    made = make(provider, model.address(), max_tokens=20, prices={"local": (1.0, 2.0)})
    job = made.ask(
        "What is the capital of France?",
        target="geo/france.txt",
        requirement="R-7",
        system="You are a helpful assistant.",
    )
    mainstay.drain()
    answer = job.result()
    assert "Paris" in answer.text
    assert (tmp_path / "geo" / "france.txt").read_text() == answer.text
    assert (answer.path, answer.sha256) == ("geo/france.txt", hashlib.sha256(answer.text.encode()).hexdigest())
    assert answer.tokens_in > 10
    assert answer.tokens_out > 1
    assert answer.cost == pytest.approx((answer.tokens_in + 2 * answer.tokens_out) / 1_000_000)
    assert answer.stop_reason in ("end_turn", "stop", "max_tokens", "length")
    assert job.job().ref == "R-7"


def test_a_real_model_answers_with_json_that_fits_the_schema(mainstay, make):
    made = make("openai", model.address(), max_tokens=30)
    properties = {"name": {"type": "string", "maxLength": 20}, **SCHEMA["properties"]}
    schema = {"type": "object", "properties": properties, "required": ["name", "city"]}
    job = made.ask("Extract the name and the city: 'Anna Berg lives in Oslo.'", schema=schema, target="city.json")
    mainstay.drain()
    assert job.result().value == {"name": "Anna Berg", "city": "Oslo"}
    assert job.result().cost is None  # no prices: no figure


# The hash -----------------------------------------------------------------------------------------------------------


def test_an_equal_prompt_is_one_job_and_the_hash_is_its_key(make):
    made = make()
    job = made.ask("Why?", target="a.txt")
    assert made.ask("Why?", target="a.txt").id == job.id
    others = [
        made.ask("Why?"),
        made.ask("Why?", system="Be brief."),
        made.ask("Why?", schema=SCHEMA),
        made.ask("Why not?"),
    ]
    assert len({job.id, *(other.id for other in others)}) == 5
    assert job.job().key == job.job().args["prompt_hash"]
    assert len(job.job().key) == 64


def test_a_job_keeps_its_model_when_the_settings_change(mainstay, make, faults):
    old = make(model="old")
    job = old.ask("Why?")
    payload = job.job().args
    new = make(model="new")
    again = new.prompt.enqueue(**payload)
    mainstay.drain()
    assert again.result().text == "ok"
    assert [json.loads(body)["model"] for body in faults.requests] == ["old", "old"]


def test_a_wrong_hash_is_dead_at_once(mainstay, make, faults):
    made = make()
    job = made.prompt.enqueue("Why?", prompt_hash="0" * 64)
    mainstay.drain(raises=False)
    assert (job.state, attempts(made, job)) == ("dead", [("failed", "hash")])
    assert faults.asked() == 0


def test_with_unique_forever_an_answered_prompt_is_not_asked_again(mainstay, make, faults):
    made = make(unique="forever")
    job = made.ask("Why?")
    mainstay.drain()
    assert made.ask("Why?").id == job.id
    assert faults.asked() == 1


# Faults -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", SDKS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [(500, "500"), ("cut", "connection"), ("half", "json"), ("silence", "timeout"), ("", "empty")],
)
def test_what_passes_is_retried(mainstay, make, faults, provider, fault, code):
    faults.play([fault], then="at last")
    made = make(provider, timeout="300ms")
    job = made.ask("Why?")
    mainstay.drain()
    assert job.result().text == "at last"
    assert attempts(made, job) == [("failed", code), ("completed", None)]


@pytest.mark.parametrize("provider", SDKS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_no_retry_can_mend_is_dead_at_once(mainstay, make, faults, provider, status):
    faults.play([status])
    made = make(provider)
    job = made.ask("Why?")
    mainstay.drain(raises=False)
    assert (job.state, attempts(made, job)) == ("dead", [("failed", str(status))])
    assert f"{provider} answered {status}: planted {status}" in job.job().error
    assert "sk-test-key" not in json.dumps([each.traceback for each in made.prompt.app.attempts(job.id)])


@pytest.mark.parametrize("provider", SDKS)
def test_a_service_that_repeats_the_key_does_not_put_it_in_the_error(mainstay, make, faults, provider):
    faults.play([{"status": 400, "message": "the key company-key-7 is not known"}])
    made = make(provider, api_key="company-key-7")
    job = made.ask("Why?")
    mainstay.drain(raises=False)
    assert "the key [redacted:key] is not known" in job.job().error
    assert "company-key-7" not in json.dumps([each.traceback for each in made.prompt.app.attempts(job.id)])


@pytest.mark.parametrize("text", ['"\\ud800"', "1e999", "[" * 100_000])
def test_json_that_no_store_takes_is_a_bad_answer(mainstay, make, faults, text):
    faults.play([text], then='"ok"')
    made = make()
    job = made.ask("Where?", schema={})
    mainstay.drain()
    assert (job.result().value, attempts(made, job)[0]) == ("ok", ("failed", "json"))


@pytest.mark.parametrize("provider", SDKS)
@pytest.mark.parametrize("fault", [{"status": 429, "retry_after": 7}, {"status": 529, "retry_after": 7}])
def test_a_busy_service_pushes_the_rate_back_and_costs_no_attempt(mainstay, make, faults, provider, fault):
    faults.play([fault])
    made = make(provider, running=1)
    first, second = made.ask("First?"), made.ask("Second?")
    app, begun = made.prompt.app, mainstay.clock.now()
    mainstay.drain(retries=False)
    assert faults.asked() == 1  # the second one has to wait too
    assert (first.job().attempt, second.job().attempt) == (0, 0)
    [limit] = app.limits()
    assert [slot.next_start.timestamp() * 1000 - begun for slot in limit.slots if slot.next_start] == [7_000]
    mainstay.advance("7s")
    mainstay.drain()
    assert (first.result().text, second.result().text) == ("ok", "ok")


def test_a_busy_service_that_does_not_say_how_long_is_left_alone_for_30_seconds(mainstay, make, faults):
    faults.play([429])
    made = make()
    job, begun = made.ask("Why?"), mainstay.clock.now()
    mainstay.drain(retries=False)
    assert job.job().run_at.timestamp() * 1000 - begun == 30_000


def test_an_answer_against_the_schema_is_asked_for_again(mainstay, make, faults):
    faults.play(['{"town": "Oslo"}', '{"city": 7}', "Oslo!", '```json\n{"city": "Oslo"}\n```'])
    made = make()
    job = made.ask("Where?", schema=SCHEMA)
    mainstay.drain()
    assert job.result().value == {"city": "Oslo"}
    assert [code for _, code in attempts(made, job)] == ["schema", "schema", "json", None]


@pytest.mark.parametrize("provider", SDKS)
def test_a_schema_goes_to_the_service(mainstay, make, faults, provider):
    faults.play(['{"city": "Oslo"}'])
    made = make(provider)
    made.ask("Where?", schema=SCHEMA, system="Be brief.")
    mainstay.drain()
    [sent] = map(json.loads, faults.requests)
    if provider == "anthropic":
        assert sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
        assert sent["system"] == "Be brief."
    else:
        assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
        assert sent["messages"][0] == {"role": "system", "content": "Be brief."}


def test_a_temperature_goes_to_the_service(mainstay, make, faults):
    make(temperature=0.3, max_tokens=200).ask("Where?")
    mainstay.drain()
    [sent] = map(json.loads, faults.requests)
    assert (sent["temperature"], sent["max_completion_tokens"]) == (0.3, 200)


def test_an_answer_that_was_saved_is_not_asked_for_again(mainstay, make, faults, tmp_path):
    """As after a kill between the answer and the file: here the target cannot be written the first time."""
    made = make(folder=tmp_path / "missing")
    job = made.ask("Why?", target="a.txt")
    mainstay.drain(retries=False)
    assert job.state == "scheduled"
    (tmp_path / "missing").mkdir()
    mainstay.drain()
    assert (tmp_path / "missing" / "a.txt").read_text() == job.result().text == "ok"
    assert faults.asked() == 1


def test_an_answer_with_hostile_characters_is_kept_and_its_nul_replaced(mainstay, make, faults, tmp_path):
    """No store takes a NUL; the result and the file must not differ."""
    faults.play(["\x1b[2J\x00\u202e\U0001f480 end"])
    hostile = "\x1b[2J\ufffd\u202e\U0001f480 end"
    made = make()
    job = made.ask("Why?", target="a.txt")
    mainstay.drain()
    assert job.result().text == hostile
    assert (tmp_path / "a.txt").read_bytes() == hostile.encode()


# Bad input ----------------------------------------------------------------------------------------------------------


def test_a_prompt_of_10_mb_is_refused_and_dead_at_once_where_it_comes_from_elsewhere(mainstay, make, faults):
    made, long = make(), "x" * 10_000_000
    with pytest.raises(InvalidPayload, match="10,000,000 characters, at most 400,000"):
        made.ask(long)
    with pytest.raises(InvalidPayload, match=r"10\.0 MB|bytes|MiB"):
        made.prompt.enqueue(long, prompt_hash="0" * 64)
    wide = make(max_payload=20 << 20)
    job = wide.prompt.enqueue(long, prompt_hash="0" * 64)
    mainstay.drain(raises=False)
    assert (job.state, attempts(wide, job)) == ("dead", [("failed", "too-long")])
    assert faults.asked() == 0


@pytest.mark.parametrize("target", ["../out.txt", "/etc/passwd", "a/../../b", "a\x1bb", ""])
def test_a_target_outside_the_folder_is_refused_and_dead_before_anything_is_asked(mainstay, make, faults, target):
    made = make()
    with pytest.raises(InvalidPayload, match="the path"):
        made.ask("Why?", target=target)
    elsewhere = {"prompt": "Why?", "target_path": target, "prompt_hash": "0"}  # from a program without the code
    job = made.prompt.app.enqueue("prompt", elsewhere)
    mainstay.drain(raises=False)
    assert (job.state, len(attempts(made, job)), faults.asked()) == ("dead", 1, 0)
    assert "the path" in job.job().error


@pytest.mark.parametrize("wrong", [{"prompt": 3}, {"target": pathlib.Path("a.txt")}, {"system": ["be kind"]}])
def test_what_is_no_text_is_refused(make, wrong):
    with pytest.raises(InvalidPayload, match=r"give a text \(str\), not "):
        make().ask(**{"prompt": "Why?", **wrong})


def test_a_target_without_a_folder_is_refused(make):
    with pytest.raises(InvalidPayload, match="folder="):
        make(folder=None).ask("Why?", target="a.txt")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"provider": "antropic"}, 'did you mean "anthropic"'),
        ({"provider": "claude"}, r"prompt\.claude\(\)"),
        ({"provider": []}, "the program first"),
        ({"provider": prompt.Command(("x",), reply="xml")}, "text, claude"),
        ({"model": ""}, "model="),
        ({"base_url": "localhost"}, "base_url="),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_prompt": 0}, "max_prompt=0"),
        ({"temperature": 3}, "a number from 0 to 2"),
        ({"provider": "anthropic", "temperature": 0.3}, "only provider='openai'"),
        ({"prices": {"m": 3}}, "prices"),
        ({"timeout": "soon"}, "timeout"),
    ],
)
def test_settings_that_do_not_fit_are_refused_at_once(settings, message):
    with pytest.raises(ConfigError, match=message):
        prompt.register(Mainstay("sqlite:///:memory:"), **{"provider": "openai", "model": "m"} | settings)


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setattr("mainstay.handlers.extras.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'mainstay\[anthropic\]'"):
        prompt.register(Mainstay("sqlite:///:memory:"), provider="anthropic", model="m")


def test_a_missing_key_is_named(mainstay, make, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = make(api_key="$NO_SUCH_KEY")
    job = made.ask("Why?")
    mainstay.drain(raises=False)
    assert (job.state, attempts(made, job)) == ("dead", [("failed", "no-key")])
    assert "OPENAI_API_KEY" in job.job().error


@pytest.mark.parametrize("base_url", ["https://api.openai.com/v1", "http://192.0.2.1", "http://127.0.0.1.example.com"])
def test_under_the_test_fixture_nothing_is_asked_beyond_this_machine(mainstay, base_url):
    app = mainstay.use(Mainstay("sqlite:///:memory:"))
    job = prompt.register(app, provider="openai", model="m", base_url=base_url, api_key="k").ask("Why?")
    mainstay.drain(raises=False)
    assert (job.state, job.job().code) == ("dead", "not-loopback")
