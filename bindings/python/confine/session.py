"""Sessions: several runs that share network, processes and /tmp."""
import json
import os
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Union

from .events import ConfineError
from .options import environment, find_program

SETTINGS = ('network', 'allow', 'upstream', 'forward', 'publish', 'limit', 'workspace', 'user', 'backend')


class Session:
    """A session of ``confine session start``: ``with Session('build') as session``, and then ``run([...], session=session.name)``.

    It ends with the block, with ``end()``, or with this process, however that ends.
    """

    def __init__(self, name: str, *, program: Optional[Union[str, 'os.PathLike[str]']] = None, owner: Optional[int] = None,
                 environ: Optional[Mapping[str, str]] = None, **options: Any):
        from .options import words
        for option in options:
            if option not in SETTINGS:
                raise TypeError(f'{option}: a run has this, not a session')
        self.name = name
        self._program, self._environ = find_program(program), environ
        self._call('start', name, f'--owner={os.getpid() if owner is None else owner}', *words(options))

    def _ask(self, *asked: str) -> 'subprocess.CompletedProcess[str]':
        return subprocess.run([self._program, 'session', *asked], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment(self._environ), text=True, errors='replace')

    def _call(self, *asked: str) -> str:
        done = self._ask(*asked)
        if done.returncode != 0:
            raise ConfineError(done.stderr.strip() or f'confine session ended with status {done.returncode}')
        return done.stdout

    def allow(self, *rules: str) -> None:
        """Add rules, as ``--allow`` takes them, for all runs of a session that was started with a list."""
        for rule in rules:
            if not rule or rule.startswith('-'):
                raise ValueError(f'{rule!r}: no rule')
        self._call('allow', self.name, *rules)

    def end(self) -> None:
        """Kill everything of the session, with proof. Of one that has ended already nothing is left to do."""
        try:
            self._call('end', self.name)
        except ConfineError:
            if self._may_live():
                raise

    def _may_live(self) -> bool:
        """Is it listed, or one of those that do not answer? Others of these make the list fail, and are not asked about."""
        try:
            listed = json.loads(self._ask('list', '--json').stdout)
            return self.name in listed['silent'] or any(one['name'] == self.name for one in listed['sessions'])
        except (ValueError, KeyError):
            return True

    @classmethod
    def list(cls, *, program: Optional[Union[str, 'os.PathLike[str]']] = None,
             environ: Optional[Mapping[str, str]] = None) -> List[Dict[str, Any]]:
        """The sessions of this user, each as ``confine session list --json`` shows it."""
        self = cls.__new__(cls)
        self._program, self._environ = find_program(program), environ
        return list(json.loads(self._call('list', '--json'))['sessions'])

    def __enter__(self) -> 'Session':
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
