"""The overview and the jobs over HTTP, and who may see them."""

from __future__ import annotations

import httpx2
import pytest
from sqlalchemy import text

from habakkuk.accounts.types import Scope
from habakkuk.conversations.types import Outcome
from tests.fakes.stack import until
from tests.integration.web.served import Served


@pytest.fixture
def owner(served: Served) -> httpx2.Client:
    """A client of the owner that may do everything."""
    token = served.stack.container.accounts.create_token("all", tuple(Scope))
    return served.new_client(token)


def test_the_overview_of_an_idle_server(served: Served) -> None:
    served.stack.start()
    found = served.client.get("/api/overview").json()
    assert found["sentence"] == "Nothing runs and nothing waits for you."
    groups = ("running", "paused", "waiting", "queued", "failed")
    assert [found[name] for name in groups] == [[]] * 5
    states = {tier["name"]: tier["state"] for tier in found["health"]}
    assert states == dict.fromkeys(("Database", "Redis", "Workers", "Model"), "ok")


def test_the_overview_has_no_column_of_which_nothing_is_said(served: Served) -> None:
    """A screen reader says a head before each cell, and a head alone promises something."""
    served.send("next")
    page = served.client.get("/overview").text
    assert "Queued" in page
    assert "What can be done" not in page


def test_the_overview_says_what_runs_waits_and_failed(served: Served) -> None:
    served.stack.start()
    served.ask("Broken [[status 400]]", "broken")
    served.send("[[tool effect {}]] go", "ask", agent="careful")
    until(lambda: served.client.get("/api/overview").json()["waiting"])
    served.send("slow [[stall]]", "run")
    until(lambda: served.client.get("/api/overview").json()["running"])
    served.send("next", "run")
    found = served.client.get("/api/overview").json()
    assert found["sentence"] == (
        "1 turn runs, 1 is queued, 1 waits for an answer of yours, 1 failed within a day."
    )
    assert [row["conversation"] for row in found["running"]] == ["run"]
    assert [row["title"] for row in found["queued"]] == ["next"]
    assert [row["agent"] for row in found["waiting"]] == ["careful"]
    assert "scripted 400" in found["failed"][0]["error"]
    for name in ("run", "run", "ask"):
        served.client.post(f"/api/chat/{name}/stop")


def test_a_paused_turn_is_none_that_waits_for_an_answer_and_is_resumed_by_its_id(
    served: Served,
) -> None:
    served.stack.start()
    sent = served.send('[[tool look {"seconds": 1.5}]] [[next]] [[tool look {}]] work', "c")
    until(lambda: served.stack.trace("looks.log"))
    served.client.post("/api/chat/c/pause")
    until(lambda: served.client.get("/api/overview").json()["paused"])
    found = served.client.get("/api/overview").json()
    assert found["sentence"] == "1 is paused."
    assert [(row["turn"], row["paused"]) for row in found["paused"]] == [(sent["turn"], True)]
    assert (found["waiting"], found["running"]) == ([], [])
    assert "What can be done" in served.client.get("/overview").text
    path = f"/api/turns/{sent['turn']}"
    assert served.client.post(f"{path}/resume").json() == {"done": "It goes on."}
    assert served.client.get(path, params={"wait": 30}).json()["state"] == "ended"
    again = served.client.post(f"{path}/resume")
    assert (again.status_code, again.json()) == (202, {"done": "Nothing is paused here."})


def test_the_owner_resumes_what_is_paused_on_a_channel(served: Served) -> None:
    served.stack.start()
    admitted = served.stack.say('[[tool look {"seconds": 1.5}]] [[next]] work', "a room")
    until(lambda: served.stack.trace("looks.log"))
    served.stack.say("/pause", "a room")
    until(lambda: served.client.get("/api/overview").json()["paused"])
    (row,) = served.client.get("/api/overview").json()["paused"]
    # It is in no conversation that this API has an address for.
    assert row["conversation"] is None
    served.client.post(f"/api/turns/{row['turn']}/resume")
    assert served.stack.ended(admitted).outcome is Outcome.ANSWERED


def test_no_worker_is_a_fault_with_its_remedy(served: Served) -> None:
    health = served.client.get("/api/overview").json()["health"]
    (workers,) = [tier for tier in health if tier["name"] == "Workers"]
    assert workers["state"] == "down"
    assert "./scripts/up" in workers["fix"]


def test_jobs_are_listed_by_state(served: Served, owner: httpx2.Client) -> None:
    served.stack.start()
    served.ask("fine", "one")
    served.ask("Broken [[status 400]]", "two")
    served.stack.stop()
    pending = served.send("waits", "three")["turn"]
    found = owner.get("/api/jobs").json()
    assert [job["id"] for job in found["jobs"]] == [pending]
    assert found["counts"] == {"pending": 1, "failed": 1}
    states = {
        group: [job["state"] for job in owner.get(f"/api/jobs?state={group}").json()["jobs"]]
        for group in ("failed", "ended", "aside", "all")
    }
    assert states == {
        "failed": ["failed"],
        "ended": ["done"],
        "aside": [],
        "all": ["pending", "failed", "done"],
    }


def test_a_job_that_killed_its_workers_is_aside(served: Served, owner: httpx2.Client) -> None:
    served.send("poison")
    served.stack.container.database.run(
        text("UPDATE jobs SET state = 'failed', crashes = 3, finished = now()")
    )
    (job,) = owner.get("/api/jobs?state=aside").json()["jobs"]
    assert (job["aside"], job["crashes"]) == (True, 3)


def test_a_job_that_is_aside_is_found_behind_many_that_only_failed(
    served: Served, owner: httpx2.Client
) -> None:
    poison = served.send("poison")["turn"]
    served.stack.container.database.run(
        text("UPDATE jobs SET state = 'failed', crashes = 3, finished = now()")
    )
    served.stack.container.database.run(
        text(
            "INSERT INTO jobs (id, kind, queue, state, finished)"
            " SELECT 'failed_' || n, 'turn', 'turns', 'failed', now() FROM generate_series(1, 3) n"
        )
    )
    found = owner.get("/api/jobs?state=aside&limit=2").json()
    assert [job["id"] for job in found["jobs"]] == [poison]


def test_older_jobs_are_a_page_away(served: Served, owner: httpx2.Client) -> None:
    turns = [served.send("waits", f"c{n}")["turn"] for n in range(5)]
    newest = owner.get("/api/jobs?limit=3").json()
    older = owner.get(f"/api/jobs?limit=3&before={newest['before']}").json()
    assert [job["id"] for job in newest["jobs"] + older["jobs"]] == turns[::-1]
    assert older["before"] is None


def test_a_failed_job_runs_again(served: Served, owner: httpx2.Client) -> None:
    served.stack.start()
    turn = served.send("Broken [[status 400]]")["turn"]
    served.client.get(f"/api/turns/{turn}?wait=20")
    assert owner.post(f"/api/jobs/{turn}/retry").json() == {"done": "runs again"}
    until(lambda: len(served.stack.model.requests) == 2)
    served.client.get(f"/api/turns/{turn}?wait=20")


def test_a_pending_job_is_cancelled_once(served: Served, owner: httpx2.Client) -> None:
    turn = served.send("waits")["turn"]
    assert owner.post(f"/api/jobs/{turn}/cancel").json() == {"done": "cancelled"}
    assert owner.post(f"/api/jobs/{turn}/cancel").status_code == 409
    assert owner.post(f"/api/jobs/{turn}/retry").status_code == 409
    assert owner.post("/api/jobs/none/cancel").status_code == 404


def test_changing_jobs_needs_the_scope_for_it(served: Served) -> None:
    turn = served.send("waits")["turn"]
    assert served.client.post(f"/api/jobs/{turn}/cancel").status_code == 403
