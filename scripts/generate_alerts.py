"""Write the alerts of the example: deliveries of lines, most of them good.

A line is `id,msg,continent,country`. In each delivery some lines are bad: a field is missing, an id
is no number or too large for one, a country is empty.
"""

from __future__ import annotations

from pathlib import Path

from landing import deliver

#: Lines by the name of their file, in the order of the deliveries.
DELIVERIES: dict[str, tuple[str, ...]] = {
    "alerts_1.csv": (
        "1,disk 91 % full,Asia,India",
        "2,disk 97 % full,Asia,India",
        "3,no heartbeat for 60 s,Asia,China",
        "four,no heartbeat for 90 s,Asia,China",
        "5,certificate expires in 7 days,Europe,Germany",
        "6,certificate expires in 6 days,Europe",
    ),
    "alerts_2.csv": (
        "7,queue holds 10000 messages,Asia,India",
        "99999999999,queue holds 20000 messages,Asia,India",
        "8,disk 92 % full,Europe,Germany",
        "9,no heartbeat for 60 s,South America,",
        "10,no heartbeat for 60 s,South America,Chile",
    ),
}


def write(name: str, landing: Path) -> bool:
    """Write a delivery's file if it is not there yet; returns whether it was written."""
    path = landing / name
    if path.exists():
        return False
    deliver(path, "".join(f"{line}\n" for line in DELIVERIES[name]))
    return True
