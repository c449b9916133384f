"""Seeds from what identifies a random event: equal parts, equal seed; neighbouring parts, unrelated seeds."""

import hashlib


def seed_of(*parts: int | str) -> int:
    """Derive a 63-bit seed that depends on all parts and on nothing else."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
