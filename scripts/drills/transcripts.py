"""What a stored transcript must be like, by rows of `messages` and of the journal of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def faults_of(rows: Sequence[Row], journal: Mapping[str, Row]) -> list[str]:
    """Return what is wrong with one session's messages, in their order."""
    faults = [*_numbering(rows), *_turns(rows), *_roles(rows), *_pairs(rows)]
    return [*faults, *_journal(rows, journal)]


def _numbering(rows: Sequence[Row]) -> list[str]:
    numbers = [row["seq"] for row in rows]
    expected = list(range(1, len(rows) + 1))
    return [] if numbers == expected else [f"its numbers have gaps: {numbers[:30]}"]


def _turns(rows: Sequence[Row]) -> list[str]:
    """Hold every turn to standing together, with its steps 0, 1, 2 and so on."""
    faults = []
    seen: list[str] = []
    steps: dict[str, list[int]] = {}
    for row in rows:
        turn = row["job_id"]
        if turn in seen and seen[-1] != turn:
            faults.append(f"turn {turn} is mixed with another")
        if turn not in seen:
            seen.append(turn)
        steps.setdefault(turn, []).append(row["step"])
    for turn, found in steps.items():
        if found != list(range(len(found))):
            faults.append(f"turn {turn} has the steps {found}")
    return faults


def _roles(rows: Sequence[Row]) -> list[str]:
    roles = [row["role"] for row in rows]
    expected = ["user", "assistant"] * ((len(rows) + 1) // 2)
    if roles != expected[: len(roles)]:
        return [f"its roles do not alternate: {roles[:20]}"]
    return [] if len(roles) % 2 == 0 else ["it ends without an answer"]


def _pairs(rows: Sequence[Row]) -> list[str]:
    """Every call has its one result in the next message, and no result stands elsewhere."""
    faults = []
    open_ids: list[str] = []
    for row in rows:
        results = [block["call_id"] for block in row["blocks"] if block["type"] == "tool_result"]
        if results != open_ids:
            faults.append(f"message {row['seq']} has the results {results}, not {open_ids}")
        open_ids = [block["id"] for block in row["blocks"] if block["type"] == "tool_call"]
    if open_ids:
        faults.append(f"the calls {open_ids} have no result")
    return faults


def _journal(rows: Sequence[Row], journal: Mapping[str, Row]) -> list[str]:
    """Hold every result in the transcript to the one that was recorded."""
    faults = []
    for row in rows:
        for block in row["blocks"]:
            if block["type"] != "tool_result":
                continue
            entry = journal.get(block["call_id"])
            if entry is None or entry["state"] != "done":
                faults.append(f"the call {block['call_id']} has a result and no record")
            elif entry["result"]["text"] != block["text"]:
                faults.append(f"the call {block['call_id']} has another result in the journal")
    return faults
