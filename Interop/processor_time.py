"""How much time of processors groups of processes have taken: which, unlike a rate, hardly depends on what else the machine
does."""

import os
import pathlib

TICK = 1 / os.sysconf("SC_CLK_TCK")


def _fields(path):
    """The fields of a process's stat, from its state on; None if it has ended."""
    try:
        return path.joinpath("stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _processes():
    """The parent and the ticks of each process: in programs and in the system, with those of children that have ended."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        if fields := _fields(path):
            found[int(path.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return found


def seconds(*roots):
    """Seconds of user and system time of these processes and of those below them, since they have begun."""
    processes, total = _processes(), 0
    for process, (parent, ticks) in processes.items():
        while process not in roots and process in processes:
            process = processes[process][0]
        if process in roots:
            total += ticks
    return total * TICK


def own_seconds():
    """The same of this process alone."""
    times = os.times()
    return times.user + times.system


class Groups:
    """The time of named groups of processes in a part of a run."""

    def __init__(self, **groups):
        """`groups`: the process at the top of each group, by name, or several."""
        self._groups = groups
        self._before = self._now()

    def _now(self):
        return {name: seconds(*(process.pid for process in processes)) for name, processes in self._groups.items()} | {
            "this program": own_seconds()}

    def taken(self):
        """Seconds since this object was made, by group."""
        now = self._now()
        return {name: now[name] - before for name, before in self._before.items()}
