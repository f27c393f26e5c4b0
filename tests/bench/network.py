#!/usr/bin/python3
"""network.py LOAD ROUNDS SECONDS [FILE]: what the gateway costs, against what others put in its place.

LOAD is the built load.c, CONFINE_STAGE names the built gateway. Rows take turns, ROUNDS times SECONDS each; medians are
shown, and the ratio to tinyproxy. Rows whose program is not installed are left out. Into FILE: row, connections per
second, MB per second, separated by tabs.

  direct      from the host's namespace to the server
  dialled     a name dialled inside, through the gateway
  connect     the same by CONNECT, at the gateway's proxy
  tinyproxy   by CONNECT, on the host's loopback
  bridge      the gateway's proxy behind two socats and a UNIX socket, as sandboxes without handed out listeners do it
"""
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../network'))
import world as w  # noqa: E402

w.enter()
load, rounds, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ADDRESS = '93.184.1.1'
world = w.World({'server.test': [ADDRESS]})
started = []


def start(where, *words, ready=None):
    process = subprocess.Popen(words, stdout=subprocess.PIPE if ready else None, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: world.step(where))
    started.append(process)
    if ready:
        process.stdout.readline()
    return process


start('world', load, 'serve', ADDRESS, '7000', ready='ready')
gateway = w.Gateway(world, ['server.test:7000'])
gateway.listen('dns', 53)
gateway.listen('tcp', 7000, '198.18.0.2', name='server.test')
proxy = gateway.listen('proxy', 0, '127.0.0.1')
rows = {'direct': ('host', ADDRESS, '7000', None), 'dialled': ('inside', '198.18.0.2', '7000', None),
        'connect': ('inside', '127.0.0.1', str(proxy), 'server.test:7000')}
if shutil.which('tinyproxy'):
    config = f'{world.dir}/tinyproxy.conf'
    with open(config, 'w', encoding='ascii') as file:
        file.write('Port 8888\nListen 127.0.0.1\nMaxClients 200\nTimeout 60\nConnectPort 7000\nLogLevel Critical\n')
    start('host', 'tinyproxy', '-d', '-c', config)
    rows['tinyproxy'] = ('host', '127.0.0.1', '8888', 'server.test:7000')
if shutil.which('socat'):
    path = f'{world.dir}/bridge'
    # The socat that stands outside must reach the proxy that the gateway accepts on, so it stands beside it.
    start('inside', 'socat', f'UNIX-LISTEN:{path},fork', f'TCP:127.0.0.1:{proxy}')
    start('inside', 'socat', 'TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr,backlog=128', f'UNIX-CONNECT:{path}')
    rows['bridge'] = ('inside', '127.0.0.1', '3128', 'server.test:7000')
time.sleep(0.5)


def measure(row, clients, size):
    where, address, port, by = rows[row]
    words = [load, 'ask', address, port, str(clients), seconds, str(size), *([by] if by else [])]
    result = subprocess.run(words, capture_output=True, text=True, preexec_fn=lambda: world.step(where), check=False)
    if result.returncode:
        print(f'# {row}: {result.stderr.strip()}')
    return [float(field) for field in result.stdout.split()] or [0, 0, 0, 0]


seen = {row: ([], []) for row in rows}
for _ in range(rounds):
    for row in rows:
        seen[row][0].append(measure(row, 8, 100))
        seen[row][1].append(measure(row, 2, 100000000))
print(f'{"":28} {"conn/s":>8} {"p50 ms":>8} {"p99 ms":>8} {"MB/s":>8}   {"conn":>6} {"bulk":>6}  of tinyproxy')
table = {row: [statistics.median(field) for field in zip(*quick)] + [statistics.median(run[1] for run in bulk)]
         for row, (quick, bulk) in seen.items()}
base = table.get('tinyproxy')
for row, (rate, _, p50, p99, bulk) in table.items():
    ratio = f'{rate / base[0]:6.2f} {bulk / base[4]:6.2f}' if base and base[0] and base[4] else ''
    print(f'{row:28} {rate:8.0f} {p50:8.2f} {p99:8.2f} {bulk:8.0f}   {ratio}')
if len(sys.argv) > 4:
    with open(sys.argv[4], 'w', encoding='ascii') as file:
        file.writelines(f'{row}\t{values[0]}\t{values[4]}\n' for row, values in table.items())
for process in started:
    process.kill()
gateway.stop()
sys.stdout.flush()
os._exit(0 if all(values[0] and values[4] for values in table.values()) else 1)
