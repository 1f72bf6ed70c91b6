"""Why a program cannot be attached to."""


class AttachRefused(Exception):
    """The program is as it was; the message is one sentence that names the way out."""
