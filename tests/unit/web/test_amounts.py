"""Amounts of money are told so that every client reads them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import BaseModel

from web.api.bodies import Amount


class _Priced(BaseModel):
    cost: Amount


@pytest.mark.parametrize(
    ("amount", "told"),
    [("0E-8", "0.00000000"), ("1E-8", "0.00000001"), ("2.50", "2.50"), ("1E+3", "1000")],
)
def test_an_amount_has_no_exponent(amount: str, told: str) -> None:
    assert _Priced(cost=Decimal(amount)).model_dump(mode="json") == {"cost": told}
