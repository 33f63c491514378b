"""Harm to a run's own files: the ledger, a sidecar, the lock."""

import random

from tools.torture.lab import Lab


def truncate(lab: Lab, chance: random.Random) -> None:
    """Cut the ledger at any byte."""
    if (path := lab.ledger) is not None:
        with path.open("r+b") as file:
            file.truncate(chance.randint(0, path.stat().st_size))


def scribble(lab: Lab, chance: random.Random) -> None:
    """Put alien bytes over, between or behind the ledger's own: binary ones, digits or a foreign line."""
    if (path := lab.ledger) is None:
        return
    raw = path.read_bytes()
    place = chance.choice([chance.randint(0, len(raw)), len(raw)])
    alien = chance.choice(
        [chance.randbytes(chance.randint(1, 40)), b"7", b"\xe4", b"hello\n", b'{"kind":"trial"}\n']
    )
    over = chance.choice([0, len(alien)])  # inserted, or written over what is there
    with path.open("r+b") as file:
        file.seek(place)
        file.write(alien + (b"" if over else raw[place:]))


def edit_sidecar(lab: Lab, chance: random.Random) -> None:
    """Change one file beside the ledger by one byte, of a trial that is recorded."""
    if (path := lab.ledger) is None:
        return
    recorded = path.read_text(encoding="utf-8")
    sidecars = sorted(
        it
        for it in path.parent.glob("trials/*/*.json*")
        if f'"trial":"{it.parent.name}"' in recorded and it.stat().st_size
    )
    for victim in sidecars and [chance.choice(sidecars)]:
        raw = bytearray(victim.read_bytes())
        raw[chance.randrange(len(raw))] ^= 1
        victim.write_bytes(raw)
        (lab.root / "edited").write_text(victim.parent.name, encoding="utf-8")


def leave_lock(lab: Lab, chance: random.Random) -> None:
    """Leave a lock file as a dead process of another kind might: with words in it, nobody holding it."""
    if (run := lab.run) is not None:
        (run / "lock").write_text(f"{chance.randint(2, 99999)}\nhost\n", encoding="utf-8")
