"""Files opened under the policy of the commands: see confine-fence(1)."""
import io
import json
import os
import socket
import subprocess
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, Union

from .events import ConfineError
from .options import Policies, environment, find_program, policy_descriptors, words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options

Path = Union[str, bytes, 'os.PathLike[str]', 'os.PathLike[bytes]']

PACKET = 65536
ACCESS = {os.O_RDONLY: 'read', os.O_WRONLY: 'write', os.O_RDWR: 'read,write'}
FLAGS = [(os.O_APPEND, 'append'), (os.O_CREAT, 'create'), (os.O_EXCL, 'exclusive'), (os.O_TRUNC, 'truncate'),
         (os.O_DIRECTORY, 'directory'), (os.O_NOFOLLOW, 'nofollow')]
ANYWAY = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | getattr(os, 'O_LARGEFILE', 0)


class FenceDenied(PermissionError):
    """The policy refuses it. *reason* is one word, *rule* the entry of the policy, *grant_option* what would allow it."""

    def __init__(self, answer: Mapping[str, Any]):
        super().__init__(13, answer['error']['message'], answer['path'])
        self.code: str = answer['error']['code']
        self.reason: str = answer['error']['reason']
        self.hint: Optional[str] = answer['error']['hint']
        self.path: str = answer['path']
        self.operation: str = answer['operation']
        self.rule: str = answer['rule']
        self.root: Optional[str] = answer['root']
        self.grant_option: Optional[str] = answer['grant_option']


class Fence:
    """What a program does on files for a model, held by the policy of its commands: ``with Fence(workspace='.') as fence``.

    Takes the options of ``run()`` but for ``session``. Threads may use it at the same time. Relative names begin where a command
    of these options starts.
    """

    def __init__(self, *, policy: Optional[Policies] = None, program: Optional[Union[str, 'os.PathLike[str]']] = None,
                 directory: Optional[Union[str, 'os.PathLike[str]']] = None, environ: Optional[Mapping[str, str]] = None,
                 **options: 'Unpack[Options]'):
        asked = [find_program(program), 'fence', *words(options)]
        with ExitStack() as held:
            descriptors = policy_descriptors(policy, held)
            asked += [f'--policy=fd:{descriptor}' for descriptor in descriptors]
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                with theirs:
                    self._process = subprocess.Popen(asked, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                     cwd=directory, pass_fds=descriptors, env=environment(environ))
            except BaseException:
                self._socket.close()
                raise
        try:
            self._hear_ready()
        except BaseException:
            self.close()
            raise

    def _hear_ready(self) -> None:
        packet = self._socket.recv(PACKET)
        ready = json.loads(packet) if packet else {}
        if ready.get('type') == 'refused':
            error = ready['error']
            raise ConfineError(error['message'], error['code'], error['reason'], error['hint'], error['surface'])
        if ready.get('type') != 'ready':
            raise ConfineError('confine ended without a word')
        #: The workspace, and where relative names begin.
        self.root: Optional[str] = ready['root']
        self.directory: str = ready['directory']

    def _ask(self, *request: Union[str, Path]) -> Tuple[Dict[str, Any], int]:
        """Return: the answer, and the descriptor that came with it or -1."""
        for word in request:
            if b'\0' in os.fsencode(word):
                raise ValueError(f'{word!r}: a path cannot have a NUL in it')
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                try:
                    socket.send_fds(self._socket, [b''.join(os.fsencode(word) + b'\0' for word in request)], [theirs.fileno()])
                except (BrokenPipeError, ConnectionResetError):
                    raise ConfineError('the fence has ended') from None
            packet, descriptors, _, _ = socket.recv_fds(ours, PACKET, 1, socket.MSG_CMSG_CLOEXEC)
        descriptor = descriptors[0] if descriptors else -1
        try:
            if not packet:
                raise ConfineError('the fence has ended')
            answer = json.loads(packet)
            if answer['type'] == 'denied':
                raise FenceDenied(answer)
            if answer['type'] == 'failed':
                raise OSError(answer['errno'], answer['message'], os.fsdecode(request[-1]))
        except BaseException:
            if descriptor >= 0:
                os.close(descriptor)
            raise
        return answer, descriptor

    def open_fd(self, path: Path, flags: int, mode: int = 0o666) -> int:
        """As os.open(), for O_RDONLY, O_WRONLY and O_RDWR with O_APPEND, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY and O_NOFOLLOW."""
        names = [ACCESS[flags & os.O_ACCMODE]]
        rest = flags & ~os.O_ACCMODE & ~ANYWAY
        for flag, name in FLAGS:
            if rest & flag == flag:
                names.append(name)
                rest &= ~flag
        if rest:
            raise ValueError(f'{rest:#o}: a fence has no such flag')
        _, descriptor = self._ask('open', ','.join(names), f'{mode:o}', path)
        if descriptor < 0:  # an answer without a descriptor opens nothing
            raise ConfineError('the fence opened nothing')
        return descriptor

    def open(self, path: Path, mode: str = 'r', **how: Any) -> IO[Any]:
        """As open(): *mode* and the rest are those of it. A number is no path: it would be a descriptor of this process."""
        return io.open(os.fspath(path), mode, opener=self.open_fd, **how)

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        self._ask('mkdir', f'{mode:o}', path)

    def remove(self, path: Path) -> None:
        """A file, a link, or an empty directory."""
        self._ask('remove', path)

    def rename(self, path: Path, to: Path) -> None:
        """The new name is taken from what has it."""
        self._ask('rename', path, to)

    def close(self) -> None:
        """What was opened stays open."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # which ends it, also where a child of this process holds a copy
        except OSError:  # it has ended, or this is the second time
            pass
        self._socket.close()
        self._process.wait()

    def __enter__(self) -> 'Fence':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
