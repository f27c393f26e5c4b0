"""What a run says, and how it ended."""
from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Mapping, Optional, cast, get_args

OutputName = Literal['stdout', 'stderr']
Report = Dict[str, Any]  #: the object of confine-report(5)
Surface = Dict[str, Any]  #: one element of its ``surfaces``


class ConfineError(Exception):
    """The command did not run: *code* and *reason* are those of ``error`` in the report."""

    def __init__(self, message: str, code: str = 'INTERNAL', reason: str = '', hint: Optional[str] = None,
                 surface: Optional[str] = None, report: Optional[Report] = None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.hint = hint
        self.surface = surface
        self.report = report

    def __str__(self) -> str:
        """As on the command line: the message, and the way out behind it."""
        return f'{self.message} ({self.hint})' if self.hint else self.message


@dataclass(frozen=True)
class Event:
    """One line of the channel; *raw* is all of it, as in confine-control(5). Of a kind that this client does not know it is just
    this."""
    type: str
    raw: Mapping[str, Any]

    @property
    def lost(self) -> int:
        """How many lines were dropped before this one, because nobody read them in time."""
        return int(self.raw.get('lost', 0))

    def _text(self, name: str) -> Optional[str]:
        return None if self.raw[name] is None else str(self.raw[name])


@dataclass(frozen=True)
class StartedEvent(Event):
    """The command's program runs."""

    @property
    def run(self) -> str:
        return str(self.raw['run'])

    @property
    def pid(self) -> int:
        return int(self.raw['pid'])

    @property
    def backend(self) -> str:
        return str(self.raw['backend'])

    @property
    def enforcement(self) -> str:
        return str(self.raw['enforcement'])

    @property
    def surfaces(self) -> List[Surface]:
        return list(self.raw['surfaces'])


@dataclass(frozen=True)
class LimitEvent(Event):
    """A limit begins to end the run."""

    @property
    def limit(self) -> str:
        return str(self.raw['limit'])


@dataclass(frozen=True)
class WarningEvent(Event):
    """A sentence for people."""

    @property
    def message(self) -> str:
        return str(self.raw['message'])


@dataclass(frozen=True)
class ErrorEvent(Event):
    """An order of ours was not obeyed."""

    @property
    def line(self) -> int:
        return int(self.raw['line'])

    @property
    def reason(self) -> str:
        return str(self.raw['reason'])

    @property
    def message(self) -> str:
        return str(self.raw['message'])


@dataclass(frozen=True)
class DenialEvent(Event):
    """Something was refused; *raw* has the members of one of ``denials.items`` in confine-report(5)."""


@dataclass(frozen=True)
class AskEvent(Event):
    """A call waits that would be refused; beside these *raw* has the members of a denial. The path is chosen by the command."""

    @property
    def id(self) -> int:
        return int(self.raw['id'])

    @property
    def operation(self) -> str:
        """write, create, truncate or connect."""
        return str(self.raw['operation'])

    @property
    def path(self) -> Optional[str]:
        """None for a connection."""
        return self._text('path')

    @property
    def address(self) -> Optional[str]:
        """name:port of a connection, which can be allowed for the run, and not once; else None."""
        return self._text('address')

    @property
    def reads(self) -> bool:
        """The file would be opened to be read as well."""
        return bool(self.raw['reads'])

    @property
    def executable(self) -> Optional[str]:
        return self._text('executable')

    @property
    def timeout(self) -> float:
        """Seconds that it waits: ``timeout_ms`` of confine-control(5)."""
        return int(self.raw['timeout_ms']) / 1000


@dataclass(frozen=True)
class AnsweredEvent(Event):
    """The end of a question."""

    @property
    def id(self) -> int:
        return int(self.raw['id'])

    @property
    def allowed(self) -> bool:
        """It was carried out."""
        return bool(self.raw['allowed'])

    @property
    def reason(self) -> Optional[str]:
        """Why not, although nobody denied it."""
        return self._text('reason')


@dataclass(frozen=True)
class ConnectionEvent(Event):
    """A connection was made or refused; *raw* has the members of one of ``network.connections`` in confine-report(5), and *id*."""


@dataclass(frozen=True)
class AllowedEvent(Event):
    """A rule is in force from now on: what ``allow()`` asked for, or a question was answered with."""

    @property
    def rule(self) -> str:
        """In its one spelling."""
        return str(self.raw['rule'])


@dataclass(frozen=True)
class EndedEvent(Event):
    """The last line: nothing of the run is left."""

    @property
    def status(self) -> int:
        return int(self.raw['status'])

    @property
    def report(self) -> Report:
        return dict(self.raw['report'])


KINDS = {
    'started': StartedEvent, 'limit': LimitEvent, 'warning': WarningEvent, 'error': ErrorEvent, 'denial': DenialEvent,
    'connection': ConnectionEvent, 'allowed': AllowedEvent, 'ask': AskEvent, 'answered': AnsweredEvent, 'ended': EndedEvent,
}

#: once: this call. run: this path for the rest of the run. deny-like: whatever lies in the same directory, for the rest of the run.
Answer = Literal['once', 'run', 'deny', 'deny-like']


def answer_checked(answer: Any, question: Optional[AskEvent] = None) -> Answer:
    """*answer*, where it is one of the answers, and one to *question*; else a ValueError.

    The program would tell the channel alone, and the call would wait on for as long as a question may.
    """
    if not isinstance(answer, str) or answer not in get_args(Answer):
        raise ValueError(f'{answer!r} is no answer to a question: once, run, deny or deny-like')
    if answer == 'once' and question is not None and question.address is not None:
        raise ValueError("'once' is no answer to the question about a connection: run, deny or deny-like")
    return cast(Answer, answer)


def event(raw: Mapping[str, Any]) -> Event:
    return KINDS.get(str(raw.get('type')), Event)(str(raw.get('type')), raw)


@dataclass(frozen=True)
class Outcome:
    """How the command ended: ``outcome`` of the report."""
    kind: str  #: exited, signaled, timed-out, limit, not-started
    status: Optional[int]
    signal: Optional[int]
    limit: Optional[str]
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Result:
    """A run that has ended, and nothing of it is left."""
    status: int  #: of confine: the command's, 128 + N, 124, 125, 126 or 127
    report: Report = field(repr=False)
    stdout: Optional[bytes] = None
    stderr: Optional[bytes] = None

    @property
    def outcome(self) -> Outcome:
        raw = self.report['outcome']
        return Outcome(raw['kind'], raw['status'], raw['signal'], raw['limit'], raw)

    @property
    def summary(self) -> str:
        """Fixed sentences for a person or a model."""
        return str(self.report['summary'])

    @property
    def started(self) -> bool:
        return self.outcome.kind != 'not-started'

    @property
    def error(self) -> Optional[ConfineError]:
        """Why the command did not run."""
        raw = self.report.get('error')
        if raw is None:
            return None
        return ConfineError(raw['message'], raw['code'], raw['reason'], raw.get('hint'), raw.get('surface'), self.report)

    def check(self) -> 'Result':
        """This result if the command ran and exited with 0, an exception otherwise."""
        if self.error is not None:
            raise self.error
        if self.outcome.kind != 'exited' or self.status != 0:
            raise CommandFailed(self)
        return self


class CommandFailed(Exception):
    """The command ran and did not exit with 0."""

    def __init__(self, result: Result):
        super().__init__(result.summary)
        self.result = result

