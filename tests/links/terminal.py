"""Runs detach-run --group on a terminal of its own, from its foreground and from its background group."""
import os
import pty
import sys


def look(link, background):
    """Return what the command says about its group and the foreground."""
    child, terminal = pty.fork()
    if child == 0:
        inner = os.fork()
        if inner == 0:
            if background:
                os.setpgid(0, 0)
                last = os.fork()  # no group leader, in a group that is not in the foreground
                if last:
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(last, 0)[1]))
            os.execv(link, [link, "--group", "--", sys.executable, "-c",
                            "import os; print(os.getpgrp() == os.getpid(), os.tcgetpgrp(0) == os.getpgrp())"])
        os.waitpid(inner, 0)
        os._exit(0)
    said = b""
    try:
        while chunk := os.read(terminal, 1024):
            said += chunk
    except OSError:  # the terminal's end
        pass
    os.waitpid(child, 0)
    leader, foreground = said.split()[-2:]
    assert leader == b"True", said
    return foreground.decode()


for name in ("foreground", "background"):
    print(f"{name}: command is in it {look(sys.argv[1], name == 'background')}")
