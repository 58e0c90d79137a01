"""What looks like a credential is masked; everything else stays."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ocmem.core.redact import (
    _FLAGS,
    _PATTERNS,
    _PRIVATE_KEY,
    _masked,
    _without_private_keys,
    redact,
    redact_known,
)

LONG = "abcdefghijklmnop1234"
MEASURED = [
    ("API_KEY=shortkey", "API_KEY=***"),
    ("monkey: banana", "monkey: ***"),
    ("the key: value pair", "the key: *** pair"),
    ('MY_TOKEN = "abc def"', 'MY_TOKEN = "abc def"'),
    ("sk-abcdefghijklmnop1234", "sk-abc…1234"),
    ("bot123456789:ABCDEFGHIJKLMNOPQRSTUV", "bot123456…STUV"),
]
ONE_A_RULE = [
    (f"OPENAI_API_KEY={LONG} x", "OPENAI_API_KEY=abcdef…1234 x"),
    (f'secret = "{LONG}"', 'secret = "abcdef…1234"'),
    ("db_passwd: 'hunter2'", "db_passwd: '***'"),
    (f'{{"apiKey" : "{LONG}"}}', '{"apiKey" : "abcdef…1234"}'),
    ('{"refreshToken":"two words"}', '{"refreshToken":"***"}'),
    (f"curl --api-key {LONG} url", "curl --api-key abcdef…1234 url"),
    ("tool --apikey 'short'", "tool --apikey '***'"),
    ("Authorization: Bearer abc", "Authorization: Bearer ***"),
    (f"authorization=bearer {LONG}", "authorization=bearer abcdef…1234"),
    (f"Bearer {LONG}.", "Bearer abcdef…1234."),
    ("Bearer short", "Bearer short"),
    ("-----BEGIN RSA PRIVATE KEY----- MIIE -----END RSA PRIVATE KEY----- x", "*** x"),
    ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "***"),
    ("sk-12345678", "***"),
    ("sk-1234567", "sk-1234567"),
    ("ghp_abcdefghijklmnopqrst", "ghp_ab…qrst"),
    ("ghp_abcdefghijklmnopqrs", "ghp_abcdefghijklmnopqrs"),
    ("github_pat_abcdefghij_klmnopqrst", "github…qrst"),
    ("xoxb-1234567890", "***"),
    ("xapp-1-ABCDEFGHIJKLMNOP", "xapp-1…MNOP"),
    ("gsk_1234567890", "***"),
    ("AIzaSyA-1234567890_abcdef", "AIzaSy…cdef"),
    ("pplx-1234567890", "***"),
    ("npm_1234567890", "***"),
    ("id 123456:ABCDEFGHIJKLMNOPQRST", "id 123456…QRST"),
    ("12345:ABCDEFGHIJKLMNOPQRST", "12345:ABCDEFGHIJKLMNOPQRST"),
]
AT_ITS_OWN_PLACE = [
    ("TOKEN=TOKEN", "TOKEN=***"),
    ("MY_SECRET=MY", "MY_SECRET=***"),
    ("PASSWORD: PASS", "PASSWORD: ***"),
    ("--token token", "--token ***"),
    ('"token":"token"', '"token":"***"'),
    ("Authorization: Bearer Bearer", "Authorization: Bearer ***"),
]


@pytest.mark.parametrize(("text", "expected"), MEASURED)
def test_measured_texts_are_masked_as_in_the_reference(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(("text", "expected"), ONE_A_RULE)
def test_every_kind_of_credential_has_its_limits(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(("text", "expected"), AT_ITS_OWN_PLACE)
def test_a_value_that_repeats_its_name_is_masked_where_it_stands(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(("length", "expected"), [(17, "***"), (18, "vvvvvv…vvvv")])
def test_eighteen_letters_show_their_ends(length: int, expected: str) -> None:
    assert redact(f"key={'v' * length}") == f"key={expected}"


def test_the_ends_of_a_secret_are_counted_in_code_units() -> None:
    assert redact("password=" + "😀" * 9) == "password=😀😀😀…😀😀"
    assert redact("password=" + "😀" * 8) == "password=***"


def test_every_secret_of_a_text_is_masked() -> None:
    assert redact("a_key=1 b_key=2, then sk-12345678") == "a_key=*** b_key=*** then ***"


@pytest.mark.parametrize("text", ["", "keyboard: mechanical", "tokens: 400", "a key", "KEY="])
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_a_known_secret_vanishes_whatever_it_looks_like() -> None:
    text = "401 for swordfish at swordfish.example, TOKEN=abc"

    assert redact_known(text, "swordfish", "") == "401 for *** at ***.example, TOKEN=***"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    before=st.text(max_size=5),
    secret=st.sampled_from(_PATTERNS).flatmap(
        lambda pattern: st.from_regex(re.compile(pattern, _FLAGS))
    ),
)
def test_no_rule_is_passed_over_for_the_sake_of_speed(before: str, secret: str) -> None:
    by_every_rule = before + secret
    for pattern in _PATTERNS:
        by_every_rule = re.sub(pattern, _masked, by_every_rule, flags=_FLAGS)

    assert redact(before + secret) == by_every_rule


blocks = st.lists(
    st.sampled_from(
        [
            "-----",
            "BEGIN ",
            "BEGIN PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----",
            "-----begin rsa private key-----",
            "END PRIVATE KEY-----",
            "-----END EC PRIVATE KEY-----",
            "MIIE\n",
            " ",
        ]
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(parts=blocks)
def test_private_keys_end_where_the_rule_says_however_they_overlap(parts: list[str]) -> None:
    text = "".join(parts)

    assert _without_private_keys(text) == re.sub(_PRIVATE_KEY, "***", text, flags=_FLAGS)


def test_keys_that_begin_and_never_end_are_looked_at_once() -> None:
    begun = "-----BEGIN PRIVATE KEY-----" * 40_000  # a megabyte; as one pattern, minutes

    assert redact(begun) == begun
