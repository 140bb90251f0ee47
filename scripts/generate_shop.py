"""Write the changes of the example's shop: orders and stock, in one file per delivery.

The second delivery sells more than there is, and has a record that is neither an order nor stock; the third corrects
the order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from landing import deliver

#: The delivery whose stock is below zero.
OVERSOLD = "shop_2.json"


def _order(number: int, order_id: int, product: str, pieces: int, op: str = "set") -> dict[str, Any]:
    return {
        "change_number": number,
        "entity": "order",
        "op": op,
        "order_id": order_id,
        "product": product,
        "pieces": pieces,
    }


def _stock(number: int, product: str, pieces: int) -> dict[str, Any]:
    return {"change_number": number, "entity": "stock", "op": "set", "product": product, "pieces": pieces}


#: Records by the name of their file, in the order of the deliveries.
DELIVERIES: dict[str, tuple[dict[str, Any], ...]] = {
    "shop_1.json": (
        _stock(1, "kettle", 10),
        _stock(2, "lamp", 4),
        _order(3, 501, "kettle", 2),
        _stock(4, "kettle", 8),
        _order(5, 502, "lamp", 1),
        _stock(6, "lamp", 3),
    ),
    OVERSOLD: (
        _order(7, 503, "lamp", 5),
        _stock(8, "lamp", -2),
        {"change_number": 9, "entity": "voucher", "op": "set", "product": "lamp", "pieces": 1},
    ),
    "shop_3.json": (
        _order(10, 503, "lamp", 3),
        _stock(11, "lamp", 0),
        _order(12, 501, "kettle", 2, op="delete"),
        _stock(13, "kettle", 10),
    ),
}


def write(name: str, landing: Path) -> bool:
    """Write a delivery's file if it is not there yet; returns whether it was written."""
    path = landing / name
    if path.exists():
        return False
    deliver(path, "".join(f"{json.dumps(record)}\n" for record in DELIVERIES[name]))
    return True
