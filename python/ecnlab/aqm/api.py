"""AQMs of your own: a class with `on_arrival` and its parameters as typed fields.

    import ecnlab as lab

    class Threshold(lab.Aqm):
        '''Marks each packet that arrives at a long queue.'''

        most: int = lab.param(20, bounds=(0, 10_000), unit="packets", doc="Queue length from which every packet is marked.")

        def on_arrival(self, arrival):
            return lab.mark() if arrival.backlog.packets >= self.most else lab.PASS

    lab.run(lab.load("scenario.toml", {"link.bottleneck.queue.aqm": "Threshold"}, aqms=[Threshold]))

An AQM owns no packet: it is asked, and answers with a verdict that the queue carries out. docs/how-to/custom-aqm.md is the tutorial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, ClassVar

from ecnlab._core import Arrival, Departure, Idling, Packet, TimerContext
from ecnlab.aqm import source_files

OPTIONAL_HOOKS = ("on_departure", "on_deadline", "on_idle", "on_rate", "group")
_VERDICT_TAG = 0x6563 << 48
_MARK_LEVELS = ("incipient", "congested")
_DROP_CAUSES = ("early", "forced", "overflow")
_MARK, _DROP = 1, 2
_GROUP_OR_FRONT_FLAG, _WAITING_INDEX_FLAG = 1 << 12, 2 << 12
_MAX_INDEX = 2**32 - 1


class Verdict(int):
    """Decision of an AQM about a packet: `PASS`, or the value of `mark` or `drop`; a number, so that compiled hooks return the same."""

    __slots__ = ()

    def __repr__(self) -> str:
        kinds = {0: "PASS", _MARK: "mark", _DROP: "drop"}
        return f"<verdict {kinds.get(self & 15, '?')}>"

    __str__ = int.__repr__


PASS = Verdict(_VERDICT_TAG)


def mark(level: str = "congested", group: int | None = None, cause: str = "early") -> Verdict:
    """The verdict that writes a mark on a packet; one that is not ECN-capable is dropped instead.

    Parameters
    ----------
    level : str
        "congested", or "incipient" on a network that knows it (MECN).
    group : int, optional
        Mark the first waiting packet of this group that the mark changes, the arriving packet last, instead of the arriving one.
    cause : str
        Counter of the drop: "early", "forced" or "overflow".
    """
    return _encode_mark_verdict(level, group, cause)


def drop(victim: str | int = "arriving", cause: str = "early") -> Verdict:
    """The verdict that drops a packet.

    Parameters
    ----------
    victim : str or int
        "arriving", "front" for the oldest that waits, or a number: 0 for the oldest, 1 for the one behind it.
    cause : str
        Counter of the drop: "early", "forced" or "overflow".
    """
    return _encode_drop_verdict(victim, cause)


@cache
def _encode_mark_verdict(level: str, group: int | None, cause: str) -> Verdict:
    plain = _MARK | _word_to_index("level", level, _MARK_LEVELS) << 4 | _word_to_index("cause", cause, _DROP_CAUSES) << 8
    return Verdict(
        _VERDICT_TAG | plain if group is None else _VERDICT_TAG | plain | _GROUP_OR_FRONT_FLAG | _require_valid_index("group", group) << 16
    )


@cache
def _encode_drop_verdict(victim: str | int, cause: str) -> Verdict:
    plain = _VERDICT_TAG | _DROP | _word_to_index("cause", cause, _DROP_CAUSES) << 8
    if isinstance(victim, str):
        return Verdict(plain | _word_to_index("victim", victim, ("arriving", "front")) * _GROUP_OR_FRONT_FLAG)
    return Verdict(plain | _WAITING_INDEX_FLAG | _require_valid_index("victim", victim) << 16)


def _word_to_index(what: str, word: str, words: Sequence[str]) -> int:
    if word not in words:
        raise ValueError(f"{what} = {word!r} must be one of {', '.join(words)}")
    return words.index(word)


def _require_valid_index(what: str, number: int) -> int:
    if not isinstance(number, Integral) or not 0 <= int(number) <= _MAX_INDEX:
        raise ValueError(f"{what} = {number!r} must be a whole number, at least 0 and below 2^32")
    return int(number)


@dataclass(frozen=True)
class Param:
    """A parameter as `param` declares it."""

    default: Any
    bounds: tuple[float, float] | None
    unit: str
    doc: str
    source: str
    choices: tuple[str, ...]


def param(
    default: Any,
    *,
    bounds: tuple[float, float] | None = None,
    unit: str = "",
    doc: str = "",
    source: str = "",
    choices: Sequence[str] = (),
) -> Any:
    """Declare a parameter that scenarios can set, as the value of a typed field of an `Aqm`.

    Parameters
    ----------
    default : float, int, bool, str or None
        Its value if a scenario gives none. The type of the field is float, int (at least 0), bool or str. With `| None` the word
        auto is allowed too, and the class gets None.
    bounds : tuple of float, optional
        The smallest and the largest value allowed.
    unit : str
        Its unit, as in "packets". With "s" it is a time, which a scenario writes as "15 ms". With "bit/s" it is a rate, as in
        "10 Mbps". The class gets a number of seconds or of bit/s.
    doc, source : str
        Its meaning in a sentence, and its source.
    choices : sequence of str
        The words allowed, of a text.
    """
    return Param(default, bounds, unit, doc, source, tuple(choices))


@dataclass(frozen=True)
class Gauge:
    """A gauge as `gauge` declares it."""

    initial: float
    unit: str
    doc: str


def gauge(initial: float = 0.0, *, unit: str = "1", doc: str = "") -> Any:
    """Declare a field that the AQM shows while it works; it begins at `initial`.

    One called `average` is the queue length as the AQM sees it, in packets: every arrival is measured with it.
    """
    return Gauge(initial, unit, doc)


@dataclass(frozen=True)
class Line:
    """The line that an AQM stands before.

    Attributes
    ----------
    rate_bps : int
        The link's rate in bit/s.
    limit_packets, limit_bytes : int or None
        How much may wait; one of the two is None.
    """

    rate_bps: int
    limit_packets: int | None
    limit_bytes: int | None

    def packet_time_ps(self, size: int) -> int:
        """How long the link takes for a packet of `size` bytes, to the nearest picosecond."""
        return (16 * size * 10**12 + self.rate_bps) // (2 * self.rate_bps)


class Aqm:
    """An AQM of your own. Subclass it, and give it at least `on_arrival`.

    A field with a type and a value is a parameter, as in `min_th: float = 5` or with a description by `param`. Set the state
    between packets in `on_start`. In `class Mine(lab.Aqm, compiled=True)` numba compiles the hooks; docs/how-to/custom-aqm.md lists
    the limits of such a class.

    Attributes
    ----------
    name : str
        Its name in scenarios; by default that of the class.
    source : str
        The paper or RFC that it follows.
    marks : str or None
        The lowest level that it writes: "congested", "incipient", or None if it only drops. A parameter `ecn: bool` that is
        false means that it marks nothing.
    groups : int
        How many groups of packets are counted; `group` tells a packet's.
    test_params : dict
        Values of parameters under which it signals often in a buffer of 20 packets at 10 Mbps: `ecnlab test-aqm` runs it so.
    line : Line
        What it stands before; there from `on_start` on.

    Examples
    --------
    A queue that marks each packet that finds 20 or more others:

    >>> import ecnlab as lab
    >>> class Threshold(lab.Aqm):
    ...     most: int = 20
    ...
    ...     def on_arrival(self, arrival):
    ...         return lab.mark() if arrival.backlog.packets >= self.most else lab.PASS
    >>> queue = {"aqm": "Threshold", "limit": 100}
    >>> tree = {
    ...     "name": "my AQM",
    ...     "duration": "2 s",
    ...     "network": {"topology": "dumbbell", "rate": "10 Mbps", "delay": "20 ms", "queue": queue},
    ...     "flows": [{"name": "four", "count": 4, "from": "left", "to": "right", "tcp": {"profile": "linux", "ecn": True}}],
    ... }
    >>> result = lab.run(lab.scenario(tree, aqms=[Threshold]))
    >>> result.queues.select("marks", "drops").rows()
    [(223, 1)]
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    marks: ClassVar[str | None] = "congested"
    groups: ClassVar[int] = 0
    test_params: ClassVar[Mapping[str, Any]] = {}
    line: Line

    compiled: ClassVar[bool] = False
    read_from: ClassVar[str | None] = None

    def __init_subclass__(cls, *, compiled: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.compiled = compiled
        cls.read_from = None
        source_files.remember_class_file_content(cls)

    def check(self) -> Mapping[str, str]:
        """Contradictions among the parameters, as an error by parameter. A scenario with such values is refused."""
        return {}

    def on_start(self) -> float | None:
        """Set the state between packets. Parameters and `line` are set already. Returns the first deadline in seconds, or None."""
        return None

    def on_arrival(self, arrival: Arrival) -> Verdict:
        """Return the verdict on an arriving packet, before it is stored.

        A full buffer (`arrival.full`) drops the packet, unless the verdict drops another one.
        """
        raise NotImplementedError("an AQM needs on_arrival")

    def on_departure(self, departure: Departure) -> Verdict:
        """Return the verdict on the packet that is about to leave. If it is dropped, the next packet follows at once."""
        raise NotImplementedError

    def on_deadline(self, context: TimerContext) -> float | None:
        """Its deadline has come. Answers the next one, in seconds since the start of the run and later than now, or None."""
        raise NotImplementedError

    def on_idle(self, idling: Idling) -> None:
        """Told when the link finds nothing to send, once for each idle spell."""
        raise NotImplementedError

    def on_rate(self, rate_bps: int) -> None:
        """The link has another rate from now on."""
        raise NotImplementedError

    def group(self, packet: Packet) -> int:
        """The group of a packet, from 0 and below `groups`."""
        raise NotImplementedError

    def random(self) -> float:
        """Draw uniformly from [0, 1), out of the queue's own stream: equal seeds give equal draws."""
        raise NotImplementedError("random() works only while a run calls a hook")
