"""Passwords: argon2id, and one answer for every way of being wrong."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from habakkuk.core.errors import Invalid

_LEAST, _MOST = 12, 1000
# OWASP's Password Storage Cheat Sheet: argon2id with 19 MiB, 2 passes, 1 lane. The web process
# computes nothing else meanwhile, for about 20 ms; more would be seen in everybody's streams.
_PASSES, _KIBIBYTES, _LANES = 2, 19_456, 1
# Of a random password that nobody has: whoever names nobody waits as long as for a person.
_NOBODY = (
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)


def hash_password(password: str) -> str:
    """Return what is kept of a password. Raises Invalid when it is too short or too long."""
    if not _LEAST <= len(password) <= _MOST:
        raise Invalid(f"a password needs {_LEAST} to {_MOST} characters; a few words are good")
    return _hasher().hash(_bytes(password))


def password_matches(stored: str | None, password: str) -> bool:
    """Whether it is this password; None is nobody's, and takes as long to refuse."""
    if len(password) > _MOST:
        return False
    try:
        _hasher().verify(stored or _NOBODY, _bytes(password))
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None


def _hasher() -> PasswordHasher:
    return PasswordHasher(time_cost=_PASSES, memory_cost=_KIBIBYTES, parallelism=_LANES)


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
