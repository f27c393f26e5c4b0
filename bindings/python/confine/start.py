"""The words and descriptors with which the program is started."""
import os
import socket
from contextlib import ExitStack
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .options import Policies, find_program, policy_descriptors, words

Command = Sequence[Union[str, bytes, 'os.PathLike[str]']]


class Start:
    """What a start needs, and the ends of it that are ours. To be closed when the program has been started."""

    def __init__(self, command: Command, options: Mapping[str, Any], policy: Optional[Policies],
                 program: Optional[Union[str, 'os.PathLike[str]']], pass_fds: Sequence[int]):
        if isinstance(command, (str, bytes)):
            raise TypeError('the command is a sequence of words, not a text: there is no shell that would split it')
        self.command: List[Union[str, bytes]] = [os.fspath(word) for word in command]
        if not self.command:
            raise ValueError('the command has no word')
        chosen, asked = find_program(program), words(options)
        self._theirs = ExitStack()
        try:
            self.ours, theirs = socket.socketpair()
            self._theirs.callback(theirs.close)
            self.descriptors: Tuple[int, ...] = (theirs.fileno(), *pass_fds)
            self.words: List[Union[str, bytes]] = [chosen, 'run', f'--control=fd:{theirs.fileno()}', *asked,
                                                   *(f'--pass-fd={fd}' for fd in pass_fds)]
            for descriptor in policy_descriptors(policy, self._theirs):
                self.words.append(f'--policy=fd:{descriptor}')
                self.descriptors += (descriptor,)
            self.words += ['--', *self.command]
        except BaseException:
            self.close()
            if hasattr(self, 'ours'):
                self.ours.close()
            raise

    def close(self) -> None:
        """Let go of what is the program's."""
        self._theirs.close()
