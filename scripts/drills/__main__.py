"""`scripts/drill [RECIPE…]`: run recipes one after the other and say whether all held.

Without a name it is `kills`, the main one; `all` is every recipe.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripts.drills.recipes import (
    controls,
    discord,
    email,
    graceful,
    kills,
    poison,
    postgres_crash,
    recovery,
    redis_away,
    slack,
    soak,
    stopping,
    storm,
    telegram,
)
from scripts.drills.report import Plan, Result
from scripts.drills.world import NotReady
from scripts.harness.ending import end_cleanly_when_told
from scripts.harness.progress import Progress

Recipe = Callable[[Plan, Progress], Result]
RECIPES: Mapping[str, Recipe] = {
    "kills": kills.run,
    "recovery": recovery.run,
    "redis-stop": redis_away.stop,
    "redis-freeze": redis_away.freeze,
    "redis-restart": redis_away.restart,
    "stop": stopping.run,
    "graceful": graceful.run,
    "postgres-crash": postgres_crash.run,
    "storm": storm.storm,
    "crowd": storm.crowd,
    "poison": poison.run,
    "telegram": telegram.run,
    "slack": slack.run,
    "email": email.run,
    "discord": discord.run,
    "soak": soak.run,
    "controls": controls.run,
}
_MAIN = "kills"


def main() -> int:
    """Run what was asked for; 0 only when every invariant held."""
    end_cleanly_when_told()
    arguments = _parser().parse_args()
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(1_000_000)
    plan = Plan(
        arguments.cycles,
        arguments.kills,
        arguments.seconds,
        seed=seed,
        keep=arguments.keep,
        timed=not arguments.untimed,
    )
    names = list(RECIPES) if "all" in arguments.recipes else arguments.recipes or [_MAIN]
    if not arguments.json:
        print(f"seed {seed}")
    try:
        results = _run(names, plan, quiet=arguments.json)
    except NotReady as error:
        print(f"The drill could not go on: {error}", file=sys.stderr)
        return 1
    ok = all(result.ok for result in results)
    if arguments.json:
        print(json.dumps({"ok": ok, "seed": seed, **_figures(results)}, indent=1, default=str))
    else:
        print("everything held" if ok else "NOT everything held")
    return 0 if ok else 1


def _run(names: Sequence[str], plan: Plan, *, quiet: bool) -> list[Result]:
    """Run one recipe after the other; each is shown at its end unless `quiet`."""
    progress = Progress(quiet=quiet)
    results = []
    for name in names:
        progress.begin(name)
        try:
            results.append(RECIPES[name](plan, progress))
        finally:
            progress.end()
        if not quiet:
            _print(results[-1])
    return results


def _figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return the main recipe's figures as they are, the others' under their names."""
    main = [result.figures for result in results if result.name == _MAIN]
    others = {r.name: {"ok": r.ok, **r.figures} for r in results if r.name != _MAIN}
    return {**(main[0] if main else {}), **({"recipes": others} if others else {})}


def _print(result: Result) -> None:
    print(f"{result.name}: {'held' if result.ok else 'BROKEN'}")
    for line in result.lines:
        print(line)
    for name, value in result.figures.items():
        print(f"    {name}: {_plain(value)}")
    checks = result.figures.get("detail", result.figures).get("checks", {})
    for detail in checks.get("details", []):
        print(f"    - {detail}")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {part}" for key, part in value.items() if key != "details")
    return str(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/drill", description=__doc__)
    parser.add_argument("recipes", nargs="*", choices=[*RECIPES, "all", []], metavar="RECIPE")
    parser.add_argument("--cycles", type=int, default=15, help="cycles of the recipe `kills`")
    parser.add_argument("--kills", type=int, default=0, help="kills in each of its cycles (20)")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long an outage lasts")
    parser.add_argument("--seed", type=int, help="repeat a run's choices (not its timing)")
    parser.add_argument("--json", action="store_true", help="one object with every figure")
    parser.add_argument("--untimed", action="store_true", help="show times without judging them")
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs")
    parser.epilog = "recipes: all, " + ", ".join(RECIPES)
    return parser


if __name__ == "__main__":
    sys.exit(main())
