"""Human-readable output of `adocctl token`."""

from typing import Any

from adocd.cli.show import console, table
from adocd.cli.terminal import clock, say


def created(token: dict[str, Any]) -> None:
    """Show a new token: stdout gets only the secret, so that a script can store it in a file or a variable."""
    may = "read and operate" if token["scope"] == "operate" else "read"
    say(token["secret"])
    say(
        f"{token['name']} may {may}, {_until(token)}. This secret is shown only once: send it as "
        "`Authorization: Bearer SECRET`, or enter it in the page.",
        err=True,
    )


def listed(tokens: list[dict[str, Any]]) -> None:
    """Show all tokens."""
    if not tokens:
        console.print("There is no token. Make one by: adocctl token create NAME")
        return
    rows = table("name", "may", "made", "by", "good")
    for token in tokens:
        made = clock(token["made_unix_s"], date=True)
        good = "expired" if token["expired"] else _until(token)
        rows.add_row(token["name"], token["scope"], made, token["made_by"], good)
    console.print(rows)


def revoked(answer: dict[str, Any]) -> None:
    """Show that a token is gone."""
    console.print(f"{answer['revoked']} is revoked.")


def _until(token: dict[str, Any]) -> str:
    expires = token["expires_unix_s"]
    return "until it is revoked" if expires is None else f"until {clock(expires, date=True)}"
