"""A systemd for the commands that need one."""

from __future__ import annotations

from tests.examples.conftest import systemd

__all__ = ["systemd"]
