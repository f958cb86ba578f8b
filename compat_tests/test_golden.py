"""torchlite does what real torch was seen to do, on a machine with torch or without."""

from __future__ import annotations

from collections import defaultdict

import pytest

from . import golden
from .parity import gaps
from .parity.library import Library

_RECORDS: dict[str, list[golden.Record]] = defaultdict(list)
for _record in golden.recorded():
    _RECORDS[_record.operator].append(_record)
_GAPS = gaps.read()


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("torchlite")


@pytest.mark.parametrize("operator", _RECORDS)
def test_operator(operator: str, library: Library) -> None:
    found = [
        f"{record.check}, sample {record.case.index}: {difference}"
        for record in _RECORDS[operator]
        if operator not in _GAPS.get(record.check, ())
        for difference in record.differences(library)
    ]
    assert not found, "\n".join(found)
