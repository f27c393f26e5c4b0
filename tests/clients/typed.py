"""A caller of the Python client as a type checker reads it: what is right passes, and what is wrong is an error (an ignore that
ignores nothing is one as well). tools/check hands it to mypy; it is never run."""
import asyncio
import sys
from pathlib import Path
from typing import Dict, List, Literal, Optional

import confine


def waited_for() -> None:
    policy: confine.Policy = {'policy': 1, 'mode': 'read-only', 'network': {'mode': 'listed', 'allow': ['a.test:443']}}
    orders = confine.Orders()
    pieces: List[bytes] = []

    def show(name: Literal['stdout', 'stderr'], piece: bytes) -> None:
        pieces.append(piece)

    def decide(question: confine.AskEvent) -> confine.Answer:
        return 'run' if question.address else 'once'

    result = confine.run(['make', 'test'], workspace=Path('.'), read=[Path('/a'), '/b'], hide='/c', timeout=600, user=1000,
                         limit={'memory': '2G', 'output_end': True}, env={'CI': '1'}, policy=[policy, policy], orders=orders,
                         on_output=show, on_ask=decide, capture=False)
    status: int = result.status
    output: Optional[bytes] = result.stdout
    report = result.report
    print(status, output, report['surfaces'], result.check().summary)
    confine.run(['true'], allow_net=True)  # type: ignore[call-arg]
    confine.run(['true'], timeout=['1'])  # type: ignore[arg-type]
    confine.run(['true'], on_ask=lambda question: 'yes')  # type: ignore[arg-type,return-value]
    try:
        result.check()
    except confine.ConfineError as error:
        print(error.code, error.hint)
    except confine.CommandFailed as failed:
        print(failed.result.status)


async def meanwhile() -> None:
    async with confine.start(['npm', 'run', 'dev'], workspace='.', tty='private', size='120x40') as run:
        async for event in run:
            if isinstance(event, confine.AskEvent):
                await run.answer(event.id, 'deny')
            elif event.type == 'denial':
                await run.kill()
        print((await run.wait()).outcome)
    confine.start(['true'], nothing=1)  # type: ignore[call-arg]


def around() -> None:
    with confine.Session('dev', network='listed', allow=['a.test']) as session:
        session.allow('b.test:443')
        confine.run(['true'], session=session.name)
    with confine.Fence(workspace='.', read='/a') as fence, fence.open('a', 'w') as file:
        file.write('x')
    listed: List[Dict[str, object]] = confine.Session.list()
    print(listed)


if __name__ == '__main__':
    sys.exit(asyncio.run(meanwhile()))
