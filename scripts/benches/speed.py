"""How long a turn takes, how many fit into a second, and what they cost, beside the bare proxy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scripts.benches.client import Clients, Load, Run, Target
from scripts.benches.plan import Plan
from scripts.benches.processes import CpuMeter
from scripts.benches.stage import Stage
from scripts.harness.figures import spread

# The level at which CPU is measured: both cores are busy, nothing queues for long.
BUSY = 32
ALL = 256
_OURS = ("web", "workers", "postgresql", "valkey")
_WARM = 20


@dataclass
class Tally:
    """The runs so far, for the count of failed turns."""

    failures: list[str] = field(default_factory=list)

    def run(
        self,
        target: Target,
        load: Load,
        sessions: Sequence[str] = (),
        meter: CpuMeter | None = None,
    ) -> Run:
        """Carry out one load and note what failed."""
        clients = Clients(target, load, sessions)
        run = clients.measure(meter.start, meter.stop) if meter else clients.measure()
        self.failures.extend(run.failures)
        return run


@dataclass(frozen=True)
class Alone:
    """One turn after the other: through Habakkuk, through the proxy, from the model itself."""

    product: Run
    bare: Run
    direct: Run

    def figures(self) -> dict[str, Any]:
        """Return the spreads; what the model takes alone is not counted as added."""
        model = float(self.direct.first_ms()["p50"])
        return {
            "ttft_added_ms": self.product.first_ms(model),
            "turn_ms": self.product.whole_ms(),
            "bare": {
                "ttft_added_ms": self.bare.first_ms(model),
                "turn_ms": self.bare.whole_ms(),
            },
            "model": {"ttft_ms": self.direct.first_ms(), "turn_ms": self.direct.whole_ms()},
        }


def warm(stage: Stage, tally: Tally) -> None:
    """Let every process have done everything once."""
    for target in (stage.direct(), stage.proxied(), stage.product(), stage.product("caller")):
        tally.run(target, Load(sessions=8, turns=_WARM * 8))


def alone(stage: Stage, tally: Tally, plan: Plan) -> Alone:
    """Measure the three by turns, so that a slow minute of the machine hits all."""
    product, bare, direct = Run(), Run(), Run()
    once = Load(sessions=1, turns=plan.alone)
    for _ in range(plan.rounds):
        for found, target in (
            (direct, stage.direct()),
            (bare, stage.proxied()),
            (product, stage.product()),
        ):
            add(found, tally.run(target, once))
    return Alone(product, bare, direct)


def throughput(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Measure closed loops of each size with both models, the proxy's beside each."""
    product: dict[str, dict[str, Any]] = {"instant": {}, "500ms": {}}
    bare: dict[str, dict[str, Any]] = {"instant": {}, "500ms": {}}
    turns: dict[str, Any] = {}
    for name, agent, model in (("instant", "habakkuk", "instant"), ("500ms", "slow", "slow")):
        for level in plan.levels:
            load = Load(level, plan.seconds, plan.ramp)
            bare[name][str(level)] = tally.run(stage.proxied(model), load).per_second
            run = tally.run(stage.product(agent), load)
            product[name][str(level)] = run.per_second
            turns[f"{name} {level}"] = run.whole_ms()
    return {"turns_per_s": product, "turn_ms_by_load": turns, "bare_turns_per_s": bare}


def cpu(stage: Stage, tally: Tally, plan: Plan) -> dict[str, Any]:
    """Measure the CPU time of a turn with 32 sessions and an instant model, by process."""
    ours: list[dict[str, float]] = []
    bare: list[float] = []
    around: list[dict[str, float]] = []
    rates: list[float] = []
    load = Load(BUSY, plan.seconds, plan.ramp)
    for _ in range(plan.cpu_rounds):
        bare.append(_cpu_of(stage, tally, stage.proxied(), load)[1]["bare"])
        rate, each = _cpu_of(stage, tally, stage.product(), load)
        ours.append({name: each[name] for name in _OURS})
        around.append({"model": each["model"], "client": each["client"]})
        rates.append(rate)
    by_name = {name: _median([each[name] for each in ours]) for name in _OURS}
    total = spread([sum(each.values()) for each in ours])
    return {
        "cpu_ms_per_turn": {**by_name, "total": round(sum(by_name.values()), 2), "rounds": total},
        "bare_cpu_ms_per_turn": _median(bare),
        "turns_per_s_at_32": _median(rates),
        "harness_cpu_ms_per_turn": {
            name: _median([each[name] for each in around]) for name in ("model", "client")
        },
    }


def tool_turns(stage: Stage, tally: Tally, plan: Plan) -> dict[str, float | int]:
    """Measure turns with one call of a tool that only reads, so two model requests."""
    load = Load(sessions=1, turns=plan.alone * plan.rounds)
    return tally.run(stage.product("caller"), load).whole_ms()


def all_in_model(stage: Stage, tally: Tally) -> dict[str, float]:
    """Send 256 turns at once to a model that keeps them, and see how soon it has them all."""
    stage.model_api.get("/control")
    began = time.monotonic()
    tally.run(stage.product("held"), Load(sessions=ALL, turns=ALL))
    seen = stage.model_api.get("/control").body
    seconds = seen["peak_at"] - began
    return {"seconds": round(seconds, 3), "seen": seen["peak"]}


def _cpu_of(
    stage: Stage, tally: Tally, target: Target, load: Load
) -> tuple[float, dict[str, float]]:
    """Return turns a second and each group's CPU time a turn."""
    meter = CpuMeter({**stage.roots(), **stage.around()})
    run = tally.run(target, load, meter=meter)
    count = max(1, len(run.samples))
    return run.per_second, {name: ms / count for name, ms in meter.ms.items()}


def add(to: Run, run: Run) -> None:
    """Add the samples of a run to those of another."""
    to.samples.extend(run.samples)
    to.seconds += run.seconds


def _median(values: Sequence[float]) -> float:
    return round(sorted(values)[len(values) // 2], 2) if values else 0.0
