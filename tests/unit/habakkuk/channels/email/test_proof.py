"""Who vouches for a sender (RFC 8601; alignment as in RFC 7489): From alone is anybody's."""

from __future__ import annotations

from email import message_from_string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.channels.email.proof import doubt, read, server_of

_SENDER = "alice@example.com"


def _doubt(*fields: str, trusted: str | None = "mx.example.org", sender: str = _SENDER) -> bool:
    head = "".join(f"Authentication-Results: {field}\n" for field in fields)
    return doubt(message_from_string(f"{head}From: {sender}\n\n"), sender, trusted) is not None


@pytest.mark.parametrize(
    "field",
    [
        "mx.example.org; dmarc=pass header.from=example.com",
        "mx.example.org; dmarc=pass (p=REJECT sp=NONE) header.from=Example.COM",
        "mx.example.org 1; dmarc=pass header.from=example.com",
        "MX.example.org; dkim=pass header.d=example.com",
        'mx.example.org; dkim=pass reason="good (1024-bit key; no)" header.i=@example.com',
        "mx.example.org; dkim=fail header.d=x.example; dkim=pass header.d=example.com",
        # The server knows which domains belong together: it asked a list of public suffixes.
        "mx.example.org; dkim=pass header.d=mail.example.com; dmarc=pass header.from=example.com",
        "mx.example.org; spf=pass smtp.mailfrom=bounce@example.com",
        'mx.example.org; spf=pass smtp.mailfrom="two words"@example.com smtp.helo=x',
        "mx.example.org; spf=pass smtp.mailfrom=example.com; dmarc=none header.from=example.com",
        "mx.example.org;\n\tdkim=pass header.i=@example.com header.s=a header.b=Q1+/=;"
        "\n\tdmarc=pass header.from=example.com",
        # As Gmail writes it.
        "mx.example.org; dkim=pass header.i=@example.com header.s=s1 header.b=AbC; spf=pass"
        " (google.com: domain of a@example.com designates 192.0.2.1 as permitted sender)"
        " smtp.mailfrom=a@example.com; dmarc=pass (p=NONE dis=NONE) header.from=example.com",
    ],
)
def test_a_check_that_passed_for_the_sender_counts(field: str) -> None:
    assert not _doubt(field)


@pytest.mark.parametrize(
    "field",
    [
        "mx.example.org; none",
        "mx.example.org; dmarc=pass",
        "mx.example.org",
        "",
        ";;;",
        "mx.example.org; dmarc=fail header.from=example.com",
        "mx.example.org; dmarc=fail header.from=example.com; dkim=pass header.d=example.com",
        "mx.example.org; dmarc=pass header.from=example.net",
        "mx.example.org; dmarc=pass header.from=example.com; dmarc=fail header.from=example.com",
        "mx.example.org; dkim=pass header.d=evil.example",
        "mx.example.org; dkim=pass header.d=notexample.com",
        "mx.example.org; dkim=pass header.d=com",
        # A subdomain may be a customer's.
        "mx.example.org; dkim=pass header.d=mail.example.com",
        "mx.example.org; dkim=pass header.i=@mail.example.com",
        "mx.example.org; spf=pass smtp.mailfrom=bounce@mail.example.com",
        "mx.example.org; dkim=pass header.d=mail.example.com; dmarc=none header.from=example.com",
        "mx.example.org; dkim=fail header.d=example.com",
        "mx.example.org; dkim=pass",
        "mx.example.org; spf=pass smtp.helo=example.com",
        "mx.example.org; spf=softfail smtp.mailfrom=example.com",
        "mx.example.org; spf=pass smtp.mailfrom=example.com@evil.example",
        'mx.example.org; spf=pass smtp.mailfrom="x; dmarc=pass"@evil.example',
        # The domain of an address stands behind its local part, whatever that looks like.
        'mx.example.org; spf=pass smtp.mailfrom="a@example.com"@evil.example',
        'mx.example.org; spf=pass smtp.mailfrom="a@example.com" @evil.example smtp.helo=x',
        'mx.example.org; dkim=pass header.i="a@example.com"@evil.example',
        # As a server writes a local part that holds brackets.
        r"mx.example.org; spf=pass (of x\) smtp.mailfrom=a@example.com \(@evil.example)"
        " smtp.mailfrom=evil.example",
        "mx.example.org; spf=none (dmarc=pass; dkim=pass header.d=example.com)",
        "mx.example.org; iprev=pass; auth=pass smtp.auth=alice@example.com",
        "evil.example; dmarc=pass header.from=example.com",
        "mx.example.org.evil.example; dmarc=pass header.from=example.com",
        # Microsoft's has no name in it.
        "spf=pass smtp.mailfrom=example.com; dkim=pass header.d=example.com; dmarc=pass",
    ],
)
def test_anything_else_does_not(field: str) -> None:
    assert _doubt(field)


@pytest.mark.parametrize("above", ["co.uk", "uk", "example.co.uk"])
def test_what_stands_above_a_domain_does_not_vouch_for_it(above: str) -> None:
    """Without a list of public suffixes nobody knows which of these is a registry."""
    sender = "alice@mail.example.co.uk"
    assert _doubt(f"mx.example.org; dkim=pass header.d={above}", sender=sender)
    assert _doubt(f"mx.example.org; spf=pass smtp.mailfrom=a@{above}", sender=sender)
    passed = f"dkim=pass header.d={above}; dmarc=pass header.from=mail.example.co.uk"
    assert not _doubt(f"mx.example.org; {passed}", sender=sender)


def test_only_the_topmost_counts() -> None:
    good, bad = "mx.example.org; dmarc=pass header.from=example.com", "mx.example.org; dmarc=fail"
    assert not _doubt(good, bad)
    assert _doubt(bad, good)
    assert _doubt("relay.evil.example; none", good)


def test_a_server_may_be_named_by_what_its_machines_share() -> None:
    field = "phl-mx-05.messagingengine.com; dmarc=pass header.from=example.com"
    assert not _doubt(field, trusted="messagingengine.com")
    assert _doubt(field.replace("phl-mx-05.", "evil"), trusted="messagingengine.com")


def test_nobody_is_trusted_by_default() -> None:
    assert _doubt("mx.example.org; dmarc=pass header.from=example.com", trusted=None)
    assert _doubt()


def test_who_checked_is_told() -> None:
    mail = message_from_string("Authentication-Results: (c) MX.example.org 1; none\n\n")
    assert server_of(mail) == "mx.example.org"
    assert server_of(message_from_string("\n\n")) is None


@settings(max_examples=500, deadline=None)
@given(
    st.text(st.sampled_from('();="\\ .@-abdkimrcspf/1\tü'), max_size=60)
    | st.lists(
        st.sampled_from(
            ["mx.example.org", ";", "dkim", "=", "pass", "(", ")", '"', "header.d", "evil.example"]
        ),
        max_size=30,
    ).map(" ".join)
)
def test_nothing_of_an_attacker_proves_another(field: str) -> None:
    """None of the words here names the sender's domain, however they are put together."""
    assert _doubt(f"mx.example.org; {field}".replace("\n", " "))
    read(field)
