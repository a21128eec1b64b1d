"""Signatures of webhooks that arrive, by vectors that others have published."""

import pytest

from mainstay.control.signatures import HEADERS, verified


@pytest.mark.parametrize(
    ("scheme", "secret", "headers", "body", "at"),
    [
        (  # the specification of Standard Webhooks, and the tests of its libraries
            "standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            {
                "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            b'{"test": 2432232314}', 1614265330,
        ),
        (  # docs.github.com, "Validating webhook deliveries"
            "github", "It's a Secret to Everybody",
            {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
            b"Hello, World!", 0,
        ),
        (  # RFC 4231, test case 2
            "hmac", "Jefe", {"x-signature": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
            b"what do ya want for nothing?", 0,
        ),
    ],
)  # fmt: skip
def test_published_vectors(scheme, secret, headers, body, at):
    header = HEADERS[scheme]
    assert verified(scheme, [secret], headers, body, header, at, 300)
    assert verified(scheme, ["whsec_" + "A" * 32, secret], headers, body, header, at, 300)
    assert not verified(scheme, [secret], headers, body + b"\n", header, at, 300)
    assert not verified(scheme, ["whsec_" + "A" * 32], headers, body, header, at, 300)
    assert not verified(scheme, [], headers, body, header, at, 300)
    assert not verified(scheme, [secret], {}, body, header, at, 300)
