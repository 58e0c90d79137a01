"""Addresses as they may be shown: whatever is secret in one is hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocmem.settings.address import shown_url


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://me:pass@host/v1", "https://***@host/v1"),
        ("http://user:p@ssw0rd@127.0.0.1:1/v1?api_key=K", "http://***@127.0.0.1:1/v1?api_key=***"),
        ("http://u:a/b@host/v1", "http://***@host/v1"),
        ("http://h/v1?key=K&team=T&x=", "http://h/v1?key=***&team=***&x="),
        ("http://h/v1?K", "http://h/v1?***"),
        ("http://h/v1#K", "http://h/v1#***"),
        ("http://h/v1?a=K#K", "http://h/v1?***"),
        ("http://h/v1?mail=a@b&key=K", "http://***"),
        ("http://u:a?b@h/v1?key=K", "http://***"),
        ("hf:org/model@main?x=1", "hf:org/model@main?x=1"),
        ("a@b", "a@b"),
        ("", ""),
    ],
)
def test_user_info_and_query_values_are_hidden(text: str, shown: str) -> None:
    assert shown_url(text) == shown


ODD = st.text(st.sampled_from("ab:/@?#&= ;\n"), max_size=8)


@given(before=ODD, after=ODD)
def test_no_password_gets_through(before: str, after: str) -> None:
    assert "SECRET" not in shown_url(f"http://me:{before}SECRET{after}@host/v1?a=1")


@given(before=ODD, after=ODD)
def test_no_value_of_a_query_gets_through(before: str, after: str) -> None:
    assert "SECRET" not in shown_url(f"http://host/v1?a={before}&key=SECRET{after}")
