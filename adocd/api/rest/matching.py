"""Texts of a request that must have a form: refused in words, and documented as a pattern where they have one."""

import re
from typing import Any

from pydantic import AfterValidator

from adocd.model.mistakes import quoted


def matching(pattern: str, in_words: str) -> AfterValidator:
    """Refuse other text as "must be {in_words}": pydantic's own `pattern` would quote the regular expression.

    The pattern goes into the document by `json_schema_extra=documented(pattern)`.
    """
    form = re.compile(pattern)

    def check(given: Any) -> Any:
        if isinstance(given, str) and form.fullmatch(given) is None:
            raise ValueError(f"must be {in_words}, not {quoted(given)}")
        return given

    return AfterValidator(check)


def encodable(given: str) -> str:
    """Return the text; refuse lone surrogates: JSON can hold them, but UTF-8 cannot, so no answer could have them."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"must be text, not {given!r}") from None
    return given


def documented(pattern: str) -> dict[str, Any]:
    """Return the pattern as a part of the field's JSON schema."""
    return {"pattern": pattern}
