"""How far a run is, also one that another machine carries out: from its folder alone; nothing is loaded or locked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from brittle.engine.plan.missing import joined_spans
from brittle.engine.store.lease import machine, started
from brittle.engine.store.place import Place
from brittle.engine.store.progress_record import FINISHED, read_record
from brittle.engine.store.recorded_store import RecordedStore
from brittle.engine.store.run_folder import RunFolder
from brittle.measures.base import Cell
from brittle.progress import duration

RUNNING, STOPPED, SILENT, FAILED = "running", "stopped", "silent", "failed"
SILENCE = 3  # records that do not come, before a process on another machine may be gone


@dataclass(frozen=True)
class MeasureStatus:
    """How far one measure is."""

    measure: str
    done: int  # units
    planned: int  # units; fewer are computed where a tolerance is reached before


@dataclass(frozen=True)
class RunStatus:
    """How far a run is."""

    folder: str
    state: str  # running; finished; failed: ended with an error; stopped: killed; silent: not heard of
    process: str  # that carries it out, or did last
    why: str  # it failed, in its own words
    began: str  # this session, in UTC
    heard: float  # seconds since the process last told how far it is
    at: str  # what is computed
    done: int  # units
    planned: int
    rate: float | None  # units per second in this session
    left: float | None  # seconds at that rate, where work goes on
    measures: tuple[MeasureStatus, ...]
    failed: dict[str, str]  # units that were given up → why
    notes: tuple[str, ...]  # the last

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def __str__(self) -> str:
        rate = "" if self.rate is None else f", {self.rate:.3g} units/s"
        left = "" if self.left is None else f", at most {duration(self.left)} left"
        share = f" ({self.done / self.planned:.0%})" if self.planned else ""
        lines = [
            f"{self.folder}: {self._state()}",
            f"{self.done:,} of {self.planned:,} units{share}{rate}{left}",
            *(f"  {each.measure}: {each.done:,} of {each.planned:,}" for each in self.measures),
        ]
        lines += [f"now: {self.at}"] if self.state == RUNNING and self.at else []
        lines += [f"given up: {unit}: {why}" for unit, why in self.failed.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _state(self) -> str:
        heard = f"{duration(self.heard)} ago"
        words = {
            RUNNING: f"carried out by {self.process}, which was heard of {heard}",
            FINISHED: "finished",
            FAILED: f"ended {heard}: {self.why}",
            STOPPED: f"stopped: {self.process} ended without a word; the same command resumes it",
            SILENT: f"{self.process} was last heard of {heard}: killed, or cut off; the same command resumes it",
        }
        return words[self.state]


def status_of(place: Place, now: datetime | None = None) -> RunStatus:
    folder = RunFolder(place)
    folder.read_study()
    record, store = read_record(place), RecordedStore(place / "units")
    now = now or datetime.now(UTC)
    measures: dict[str, MeasureStatus] = {}
    for *cell, planned in record["cells"]:
        done = sum(span.end - span.first for span in joined_spans(store.done(Cell(*cell))))
        before = measures.get(cell[0], MeasureStatus(cell[0], 0, 0))
        measures[cell[0]] = MeasureStatus(cell[0], before.done + done, before.planned + planned)
    done, planned = (sum(getattr(each, name) for each in measures.values()) for name in ("done", "planned"))
    told = datetime.fromisoformat(record["told"])
    heard, state = max(0.0, (now - told).total_seconds()), _state(record, now, told)
    seconds = ((now if state == RUNNING else told) - datetime.fromisoformat(record["began"])).total_seconds()
    rate = (done - record["had"]) / seconds if seconds > 0 and done > record["had"] else None
    ended = record["ended"] or ""
    return RunStatus(
        str(place),
        state,
        f"process {record['process']} on {record['host']}",
        ended.removeprefix("failed: ") if state == FAILED else "",
        record["began"],
        heard,
        record["at"],
        done,
        planned,
        rate,
        (planned - done) / rate if rate and state == RUNNING else None,
        tuple(measures.values()),
        record["failed"],
        tuple(record["notes"]),
    )


def _state(record: dict[str, Any], now: datetime, told: datetime) -> str:
    """What its record says, and what can be seen of its process from here."""
    if record["ended"] is not None:
        return FINISHED if record["ended"] == FINISHED else FAILED
    if all(record.get(key) == value for key, value in machine().items()):
        return RUNNING if started(record["process"]) == record["started"] else STOPPED
    return RUNNING if (now - told).total_seconds() < SILENCE * record["every"] else SILENT
