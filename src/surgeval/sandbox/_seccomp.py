"""The filter of system calls, in the two forms that engines take: OCI JSON and a BPF program.

One list for every engine, because the profiles that engines bring differ: Debian 12's podman lets an
unprivileged process make namespaces, mount in them, trace, use keys and open a socket to the hypervisor
(AF_VSOCK), which no network namespace holds back.
"""

from __future__ import annotations

import errno
import json
import platform
import struct
from typing import Any

from surgeval.sandbox._syscalls import ALLOWED, CHECKED, REFUSED

NAMESPACE_FLAGS = 0x7E020000
"""CLONE_NEWUSER, NEWPID, NEWNET, NEWNS, NEWUTS, NEWIPC and NEWCGROUP."""
SOCKET_FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16}

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.ENOSYS
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def oci_profile() -> str:
    """The filter as container engines read it."""
    flags = {"index": 0, "value": NAMESPACE_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    rules: list[dict[str, Any]] = [{"names": sorted(ALLOWED), "action": "SCMP_ACT_ALLOW"}]
    rules.append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [flags]})
    for family in SOCKET_FAMILIES.values():
        only = [{"index": 0, "value": family, "valueTwo": 0, "op": "SCMP_CMP_EQ"}]
        rules.append({"names": ["socket", "socketpair"], "action": "SCMP_ACT_ALLOW", "args": only})
    # Said apart: an engine that knows no default number would say "not permitted", and the C library
    # then fails instead of falling back from clone3 to clone.
    rules.append({"names": list(REFUSED), "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS})
    machines = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": errno.ENOSYS,
            "archMap": [{"architecture": machine, "subArchitectures": []} for machine in machines],
            "syscalls": rules,
        }
    )


def bpf_program(machine: str | None = None) -> bytes:
    """The filter as the kernel reads it, for one machine architecture.

    Raises:
        KeyError: The architecture is not known.
    """
    column, audit = _MACHINES[machine or platform.machine()]
    code = [
        _step(_LOAD, _MACHINE_AT),
        _step(_EQUAL, audit, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    for numbers in ALLOWED.values():
        number = numbers[column]
        if number is not None:
            code += [_step(_EQUAL, number, no=1), _step(_RETURN, _ALLOW)]
    code += _clone(_number("clone", column))
    code += _sockets(_number("socket", column)) + _sockets(_number("socketpair", column))
    return b"".join([*code, _step(_RETURN, _REFUSE)])


def _clone(number: int) -> list[bytes]:
    """Allowed without a flag that makes a namespace."""
    return [
        _step(_EQUAL, number, no=4),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_ANY_BIT, NAMESPACE_FLAGS, yes=1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _REFUSE),
    ]


def _sockets(number: int) -> list[bytes]:
    """Allowed for the families listed."""
    families = list(SOCKET_FAMILIES.values())
    tests = [_step(_EQUAL, family, yes=len(families) - at) for at, family in enumerate(families)]
    body = [_step(_LOAD, _FIRST_ARGUMENT_AT), *tests, _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, no=len(body)), *body]


def _number(name: str, column: int) -> int:
    number = CHECKED[name][column]
    assert number is not None
    return number


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)
