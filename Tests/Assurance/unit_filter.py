"""Runs a command under the system call filter of the systemd unit, without systemd.

    /usr/bin/python3 unit_filter.py deploy/sallyport.service COMMAND [ARGUMENT...]

Reads SystemCallFilter, RestrictAddressFamilies and MemoryDenyWriteExecute, asks systemd-analyze
what its sets of calls contain, and loads the same filter: what is not allowed fails with EPERM.
Needs Debian's python3-seccomp.
"""

import errno
import os
import socket
import subprocess
import sys

import seccomp

PROT_WRITE_EXEC = 6
PROT_EXEC = 4
PROTECTION = 2  # The place of this argument in mmap and mprotect.


def settings(unit):
    """The values of each setting of a unit, in order."""
    found = {}
    with open(unit, encoding="utf-8") as file:
        for line in file:
            name, is_setting, value = line.strip().partition("=")
            if is_setting and not name.startswith("#"):
                found.setdefault(name, []).append(value)
    return found


def calls(name):
    """The calls of a set, with those of the sets in it."""
    if not name.startswith("@"):
        return {name}
    done = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name],
        capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines()[1:]]
    members = [line for line in lines if line and not line.startswith("#")]
    return set().union(*map(calls, members))


def allowed_calls(values):
    """The first value allows, those with a tilde take back."""
    allowed = set()
    for value in values:
        names = set().union(*map(calls, value.removeprefix("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed


def arguments(call, unit):
    """The arguments with which a call is allowed: one of these tuples."""
    masked, equal = seccomp.MASKED_EQ, seccomp.EQ
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        if call == "mmap":
            return [(seccomp.Arg(PROTECTION, masked, PROT_WRITE_EXEC, bits),) for bits in (0, 2, 4)]
        if call in ("mprotect", "pkey_mprotect"):
            return [(seccomp.Arg(PROTECTION, masked, PROT_EXEC, 0),)]
    if call == "socket" and "RestrictAddressFamilies" in unit:
        families = unit["RestrictAddressFamilies"][-1].split()
        return [(seccomp.Arg(0, equal, getattr(socket, family)),) for family in families]
    return [()]


def main():
    """Loads the filter and becomes the command."""
    unit = settings(sys.argv[1])
    # The filter outlives exec, and needs the call itself.
    allowed = allowed_calls(unit["SystemCallFilter"])
    system_filter = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for call in sorted(allowed):
        try:
            number = seccomp.resolve_syscall(seccomp.Arch(), call)
        except ValueError:
            continue
        # Negative: a call that this processor does not have.
        if number < 0:
            continue
        for argument in arguments(call, unit):
            system_filter.add_rule(seccomp.ALLOW, call, *argument)
    system_filter.load()
    os.execvp(sys.argv[2], sys.argv[2:])


main()
