"""Run commands that nobody vouches for inside a boundary that the kernel enforces.

Nothing is confined in this process: each run is a process of the program ``confine``, talked to over one socket
(confine-control(5)). ``run()`` waits for the end; ``start()`` is for asyncio, with live events and orders. Both take the same
options, and both end the run when they are interrupted: nothing of it stays behind.
"""
from .aio import Run, start
from .blocking import run
from .events import (AllowedEvent, Answer, AnsweredEvent, AskEvent, CommandFailed, ConfineError, ConnectionEvent, DenialEvent,
                     EndedEvent, ErrorEvent, Event, LimitEvent, Outcome, OutputName, Report, Result, StartedEvent, Surface, WarningEvent)
from .fence import Fence, FenceDenied
from .options import Options, Policy, ProgramNotFound, find_program
from .orders import Orders
from .session import Session

__all__ = [
    'AllowedEvent', 'Answer', 'AnsweredEvent', 'AskEvent', 'CommandFailed', 'ConfineError', 'ConnectionEvent', 'DenialEvent', 'EndedEvent',
    'ErrorEvent', 'Event', 'Fence', 'FenceDenied', 'LimitEvent', 'Options', 'Orders', 'Outcome', 'OutputName', 'Policy', 'ProgramNotFound', 'Report',
    'Result', 'Run', 'Session', 'StartedEvent', 'Surface', 'WarningEvent', 'find_program', 'run', 'start',
]
