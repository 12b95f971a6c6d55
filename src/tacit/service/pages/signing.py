"""Who looks at a page: a token in a cookie that no script reads, and a word in every form that no other site knows."""

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import final

from markupsafe import Markup

from tacit.files import private_folder
from tacit.service.refusals import Refusal
from tacit.service.secrets import kept_secret
from tacit.service.tokens import Caller, Tokens

COOKIE = "tacit_token"
_FIELD = "guard"
_NOBODY = "nobody"


def not_from_here() -> Refusal:
    """Return the refusal of a form that no page of this service sent."""
    words = "this form is not from here, or you signed in anew. Go back and reload."
    return Refusal(HTTPStatus.FORBIDDEN, "Forbidden", words)


@final
class Signing:
    """Cookies and forms of one service: what it signs with is made once and kept in its folder, for all workers."""

    def __init__(self, folder: Path, tokens: Tokens) -> None:
        self._secret = kept_secret(private_folder(folder) / "pages.secret")
        self._tokens = tokens

    def caller(self, cookies: Mapping[str, str]) -> Caller | None:
        """Return whose cookie this is, if their token still counts."""
        token = cookies.get(COOKIE)
        return None if token is None else self._tokens.caller(token)

    def guard(self, cookies: Mapping[str, str]) -> Markup:
        """Return what a form carries, so that only pages of this service can send it."""
        return Markup('<input type="hidden" name="{}" value="{}">').format(_FIELD, self._word(cookies))

    def check(self, cookies: Mapping[str, str], fields: Mapping[str, str]) -> None:
        """Refuse a form that did not come from a page of this service, made for whoever is signed in."""
        if not hmac.compare_digest(fields.get(_FIELD, "").encode(), self._word(cookies).encode()):
            raise not_from_here()

    def sealed(self, words: str) -> str:
        """Return a mark that nobody else can make for some words."""
        return hmac.digest(self._secret, words.encode(), "sha256").hex()

    def _word(self, cookies: Mapping[str, str]) -> str:
        return self.sealed(f"form {cookies.get(COOKIE, _NOBODY)}")
