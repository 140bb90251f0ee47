"""Write the shipments of the example: files with a header, the second of them broken.

A record is `shipment_id,product_id,quantity,weight_kg,shipped_on,warehouse`. The second file breaks rules
in a different way on each line and ends in the middle of one; the third has a field that the model does not know.
"""

from __future__ import annotations

from pathlib import Path

from landing import deliver

_HEADER = "shipment_id,product_id,quantity,weight_kg,shipped_on,warehouse"

#: The text of each file by its name, in the order of the deliveries.
DELIVERIES: dict[str, str] = {
    "shipments_1.csv": f"""{_HEADER}
1001,P00001,3,4.50,2026-03-02,Linz
1002,P00007,1,0.80,2026-03-02,Graz
1003,P00012,12,30,2026-03-03,Linz
1004,P00003,2,"1.25",2026-03-03,
""",
    "shipments_2.csv": f"""{_HEADER}
1005,P00004,4,2.10,2026-03-04,Linz
1006,P00004,two,2.10,2026-03-04,Linz
1007,P00009,3000000000,2.10,2026-03-04,Linz
1008,P00010,1,2.105,2026-03-04,Graz
1009,P00011,1,7.00,2026-02-30,Graz
1010,P00002,5,2026-03-04,Graz
1011,"P00002,5,2.10,2026-03-04,Graz
1012,P00005,1,0.9""",
    "shipments_3.csv": f"""{_HEADER},carrier
1013,P00001,2,3.00,2026-03-05,Linz,Post
1014,P00006,9,11.40,2026-03-05,Graz,Express
""",
}


def write(name: str, landing: Path) -> bool:
    """Write a delivery's file if it is not there yet; returns whether it was written."""
    path = landing / name
    if path.exists():
        return False
    deliver(path, DELIVERIES[name])
    return True
