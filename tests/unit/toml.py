#!/usr/bin/env python3
"""toml.py - what is read as TOML, held against Python's reader: vectors, and texts made of them by chance. A TAP program.

argv: the program read-toml.
"""
import datetime
import json
import math
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap  # noqa: E402

try:
    import tomllib
except ImportError:
    print('1..0 # SKIP this Python has no tomllib')
    sys.exit(0)

GOOD = r'''
a = 1
===
# comment
a.b.c = "x" # behind
a.b."d e" = 'y\n'
'q"' = """
one \
   two
three""\""""
===
[a.b]
x = [1, 2, [3, "]"],
  # inside
  {y = 1, z.w = 2},
]
[a]
z = {}
[a.c]
===
[[a]]
b = 1
[a.c]
d = 0xdead_beef
[[a]]
e = [0o17, 0b11, +1_000, -0, 1e3, -1.5E-2, 6.26, inf, -inf, nan, true, false]
===
d = [1979-05-27T07:32:00Z, 1979-05-27 00:32:00.999999-07:00, 1979-05-27, 07:32:00, 2000-02-29]
===
s = "\u00e9\U0001F600\t\"\\"
===
'a' = """a"b""c"""
b = @@@'x''y''@@@
===
"" = 1
1.2 = 3
-_ = 4
===
a = { b = { c = [ ] } , d.e = 1, d.f = 2 }
===
fruit.apple.color = 1
fruit.orange = 2
fruit.apple.taste = 3
[fruit.apple.texture]
smooth = true
===
x = """"""
y = ''
===
[ a . "b c" . 'd' ]
e = 1
'''
BAD = r'''
a = 1
a = 2
===
a = 
===
a = 1 b = 2
===
[a]
[a]
===
a.b = 1
[a]
===
a = {b = 1}
a.c = 2
===
a = {b = 1}
[a.c]
===
a = [1]
[[a]]
===
[[a]]
[a]
===
[a.b]
[a]
b.c = 1
===
a = {b = 1, b.c = 2}
===
a = {b = 1,}
===
a = "x
y"
===
a = "\x41"
===
a = "\ud800"
===
a = "\U00110000"
===
a = 'x
===
a = """x""
===
a = 01
===
a = 1__0
===
a = _1
===
a = 1_
===
a = 1.
===
a = .5
===
a = 1e
===
a = +0x1
===
a = 0X1
===
a = 0o8
===
a = True
===
a = 2001-02-29
===
a = 1979-13-01
===
a = 24:00:00
===
a = 07:32
===
a = [1 2]
===
a = [1
===
[a
===
[[a]
===
[]
===
[a.]
===
= 1
===
a b = 1
===
a = {b = 1
}
===
[a]]
===
a.b.c = 1
a.b = 2
===
[a]
b.c = 1
[a.b]
===
a = [{b = 1}]
[a.c]
===
a = "\
"
===
[[a.b]]
[a]
b.c = 1
===
a = 0x_bad
'''
# Python takes these; see toml.h. Beside them what no text of Python can be.
OURS = {b'a = 9223372036854775808': 'too large', b'a = "\\u0000"': 'NUL', b'a = ' + b'[' * 17 + b']' * 17: 'within each other',
        b'.'.join([b'a'] * 17) + b' = 1': 'too many parts', b'a = "\xff"': 'no UTF-8', b'a = "\xc0\x80"': 'no UTF-8', b'a = 1\0': 'end of the line',
        b'# \x01': 'control', b'a = 1\r': 'end of the line', b'a = "\x7f"': 'control', b'a = ' + b'1' * 200: 'value is expected',
        b'[' + b'a.' * 100000 + b'a]': 'too many parts', b'a = ' + b'[' * 100000: 'within each other', b'a = ' + b'{a=' * 100000: 'within each other'}


def ask(texts):
    """What the program says of each: an object, or the text of an error."""
    data = b''.join(b'%d\n%s' % (len(text), text) for text in texts)
    done = subprocess.run([sys.argv[1]], input=data, stdout=subprocess.PIPE, check=True)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(texts), (len(lines), len(texts))
    return [line if line.startswith('-') else json.loads(line) for line in lines]


def as_json(value):
    if isinstance(value, dict):
        return {key: as_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (datetime.date, datetime.time)):
        return 'a date or a time'
    return value


def expected(text):
    """What Python says, None where it refuses."""
    try:
        return as_json(tomllib.loads(text.decode()))
    except (ValueError, RecursionError):
        return None


def same(seen, wanted):
    if isinstance(wanted, dict):
        return isinstance(seen, dict) and list(seen) == list(wanted) and all(same(seen[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(seen, list) and len(seen) == len(wanted) and all(map(same, seen, wanted))
    if wanted == 'a date or a time':
        return isinstance(seen, str)
    if isinstance(wanted, str):
        return isinstance(seen, str) and seen.replace('\r\n', '\n') == wanted
    return type(seen) is type(wanted) and seen == wanted


def differs(text, seen):
    """Return: why it is not what Python says, or None. What we refuse and Python takes is named in toml.h."""
    wanted = expected(text)
    if wanted is None:
        return None if isinstance(seen, str) else f'{text!r} is taken: {seen}'
    if isinstance(seen, str):
        return None if any(word in seen for word in ('too large', 'NUL', 'too many')) else f'{text!r} is refused: {seen}'
    return None if same(seen, wanted) else f'{text!r} is {seen}, not {wanted}'


def chance(good, bad, count):
    """Texts that are nearly those."""
    chosen = random.Random(1)
    pieces = ['[', ']', '[[', ']]', '{', '}', '"', "'", '"""', "'''", '\n', '\r\n', '\\', '.', ',', '=', '#', ' ', 'a', 'b', 'c', '1', '_', '0x', '-', ':',
              'true', '\t', '[a]\n', '[a.b]\n', '[[a]]\n', 'a.b = 1\n', 'b = {c = 1}\n', '\\u0041', 'é', 'e', '1979-05-27', 'T07:32:00', 'nan']
    for _ in range(count):
        text = chosen.choice(good if chosen.random() < 0.8 else bad).decode()
        if chosen.random() < 0.2:
            text += '\n' + chosen.choice(good).decode()
        for _ in range(chosen.randint(0, 3)):
            at, to = chosen.randint(0, len(text)), chosen.randint(0, 3)
            text = text[:at] + (chosen.choice(pieces) if chosen.random() < 0.7 else '') + text[at + to:]
        yield text.encode()


tap = Tap()
good, bad = ([text.strip('\n').replace('@@@', "'''").encode() for text in vectors.split('\n===\n')] for vectors in (GOOD, BAD))
wrong = [why for why in map(differs, good, ask(good)) if why] + [text for text in good if expected(text) is None]
tap.ok(not wrong, f'{len(good)} documents say what Python reads in them', '\n'.join(map(str, wrong)))
taken = [(text, seen) for text, seen in zip(bad, ask(bad)) if not isinstance(seen, str) or expected(text) is not None]
tap.ok(not taken, f'{len(bad)} are refused', taken)
missing = [(text[:60], seen) for (text, word), seen in zip(OURS.items(), ask(OURS)) if not isinstance(seen, str) or word not in seen]
tap.ok(not missing, f'{len(OURS)} more are refused, each for its reason', missing)
tap.ok(ask([b'a = 1\n\nb = \xc3\xa9']) == ['-x:3:5: a value is expected here'], 'with line and column', ask([b'a = 1\n\nb = \xc3\xa9']))
made = list(chance(good, bad, 20000))
seen = ask(made)
wrong = [why for why in map(differs, made, seen) if why]
count = sum(not isinstance(one, str) for one in seen)
tap.ok(not wrong and 1000 < count < len(made) - 1000, f'{len(made)} made by chance, {count} of them taken: as Python judges', '\n'.join(wrong))
tap.finish()
