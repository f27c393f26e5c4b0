"""What is asked for, as words of confine-run(1) and as a policy of confine-policy(5)."""
import json
import os
from contextlib import ExitStack
from difflib import get_close_matches
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

try:
    from typing import TypedDict
except ImportError:  # pragma: no cover
    raise ImportError('confine needs Python 3.9 or newer') from None

#: Where the program is looked for. Never along PATH: what stands there first may be the work of an earlier command.
PLACES = ('/usr/local/bin/confine', '/usr/bin/confine', '/opt/confine/bin/confine')


class ProgramNotFound(FileNotFoundError):
    """The program ``confine`` is in none of the usual places: name it with ``program``."""


class Policy(TypedDict, total=False):
    """A policy file as in confine-policy(5); ``policy`` is 1."""
    policy: int
    extends: List[str]
    mode: str
    workspace: str
    read: List[Any]
    readable: str
    write: List[Any]
    hide: List[Any]
    show: List[Any]
    protect: List[Any]
    unprotect: List[Any]
    sockets: List[Any]
    devices: List[Any]
    caches: str
    tmp: str
    network: Mapping[str, Any]
    environment: Mapping[str, Any]
    limits: Mapping[str, Any]
    grace: Union[str, int]
    wait_all: bool
    backend: str
    user: Union[str, int]
    tty: str
    denials: str
    planted: str
    require: List[Any]
    open: List[Any]
    locked: List[str]
    runner: Mapping[str, Any]


#: One, or several: the weakest first.
Policies = Union[Policy, Sequence[Policy]]


Path = Union[str, 'os.PathLike[str]']
Paths = Union[Path, Sequence[Path]]  # one, or several


class Options(TypedDict, total=False):
    """Options of confine-run(1): each is the one of its name. A list repeats it; True gives it without a value."""
    mode: str
    workspace: Path
    chdir: Path
    read: Paths
    readable: str
    write: Paths
    hide: Paths
    show: Paths
    protect: Paths
    unprotect: Paths
    socket: Paths
    caches: str
    tmp: str
    device: Paths
    network: str
    allow: Sequence[str]
    proxy_env: bool
    upstream: str
    forward: Sequence[str]
    publish: Sequence[str]
    backend: str
    open: Sequence[str]
    require: Sequence[str]
    approved_mode: str
    env: Union[Sequence[str], Mapping[str, str]]
    unset_env: Sequence[str]
    clean_env: bool
    user: Union[str, int]
    timeout: Union[str, float]
    limit: Union[Sequence[str], Mapping[str, Any]]
    grace: Union[str, float]
    wait_all: bool
    tty: str
    size: str
    denials: str
    ask: Union[str, float]
    planted: str
    session: str


#: The client's own, or what it must hold in its own hands.
RESERVED = {'report', 'control', 'pass_fd', 'policy', 'quiet', 'verbose'}


#: What else it may be looked for by.
FOREIGN = {'cwd': 'chdir', 'port': 'publish', 'environment': 'env', 'memory': 'limit'}

#: A number is seconds.
DURATIONS = {'timeout', 'grace', 'ask'}

#: True and False are values of what these hold by name: ``limit={'output_end': True}``.
SWITCHES = {'limit'}


def asking(options: Mapping[str, Any], asks: bool) -> Mapping[str, Any]:
    """The options of a run whose caller answers questions: a minute for each, unless they say it."""
    return {'ask': 60, **options} if asks else options


def find_program(program: Optional[Union[str, 'os.PathLike[str]']] = None) -> str:
    """The program to start: *program*, or the first that stands in one of the usual places."""
    if program is not None:
        return os.fspath(program)
    for place in PLACES:
        if os.access(place, os.X_OK):
            return place
    raise ProgramNotFound(2, 'the program confine is in none of the usual places; name it with program=', ', '.join(PLACES))


def _word(name: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        raise TypeError(f'{name}: {value!r} is no value of this option')
    if isinstance(value, (int, float)):
        return f'{value:f}s' if name in DURATIONS else str(value)
    return str(os.fspath(value))


def _member(name: str, value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) and name in SWITCHES else _word(name, value)


def _unknown(name: str) -> str:
    if name in RESERVED:
        return f'{name}: no such option: the client needs it itself'
    near = [FOREIGN[name]] if name in FOREIGN else get_close_matches(name, Options.__annotations__, n=1)
    return f'{name}: no such option' + (f' (did you mean {near[0]}?)' if near else '; confine-run(1) has them all')


def words(options: Mapping[str, Any]) -> List[str]:
    """The options as words of a command line; each is one word, so that no value can be read as an option."""
    out: List[str] = []
    for name, value in options.items():
        if name not in Options.__annotations__:
            raise TypeError(_unknown(name))
        option = '--' + name.replace('_', '-')
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, Mapping):
            out += [f'{option}={key}={_member(name, item)}' for key, item in value.items()]
        elif isinstance(value, (str, bytes, os.PathLike, int, float)):
            out.append(f'{option}={_word(name, value)}')
        else:
            out += [f'{option}={_word(name, item)}' for item in value]
    for word in out:
        if '\0' in word:
            raise ValueError(f'{word!r}: a word cannot have a NUL in it')
    return out


def policy_descriptors(policy: Optional[Policies], held: ExitStack) -> List[int]:
    """Descriptors from which the policies are read, as if they were files, open for as long as *held* is."""
    policies = [] if policy is None else [policy] if isinstance(policy, (Mapping, str, os.PathLike)) else policy
    descriptors = []
    for one in policies:
        if not isinstance(one, Mapping):
            raise TypeError(f'policy: {one!r} is no policy: give what stands in the file, as json.load() reads it')
        descriptors.append(_policy_descriptor(one))
        held.callback(os.close, descriptors[-1])
    return descriptors


def _policy_descriptor(policy: Any) -> int:
    descriptor = os.memfd_create('confine-policy')
    try:
        data = json.dumps(policy).encode()
        while data:
            data = data[os.write(descriptor, data):]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def environment(env: Optional[Mapping[str, str]]) -> Optional[Dict[str, str]]:
    return None if env is None else dict(env)
