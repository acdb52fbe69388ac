"""Tiny programs that make given system calls and exit with the error number; no compiler is needed.

Each is an ELF file for x86-64 Linux, written byte by byte.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_BASE, _HEADERS = 0x400000, 64 + 56
_MOVES = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x49\xba", b"\x49\xb8", b"\x49\xb9")  # rdi rsi rdx r10 r8 r9
_EXIT = b"\x89\xc7\xf7\xdf\xb8\x3c\x00\x00\x00\x0f\x05"  # edi = -eax; exit(edi)


class _Previous:
    """Stands for the result of the call before."""


PREVIOUS = _Previous()


@dataclass(frozen=True)
class Call:
    number: int
    arguments: tuple[int | bytes | _Previous, ...] = ()


def program(*calls: Call) -> bytes:
    """A program that makes the calls in order, stops at the first that fails, and exits with its error number."""
    size = len(_code(calls, 0))
    code = _code(calls, _BASE + _HEADERS + size)
    data = b"".join(argument for call in calls for argument in call.arguments if isinstance(argument, bytes))
    total = _HEADERS + len(code) + len(data)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, _BASE, _BASE, total, total, 0x1000)
    return header + segment + code + data


def _code(calls: Sequence[Call], data_at: int) -> bytes:
    code = b""
    for call in calls:
        code += b"\x49\x89\xc4"  # r12 = rax, the previous result
        for move, argument in zip(_MOVES, call.arguments, strict=False):
            if isinstance(argument, _Previous):
                assert move == _MOVES[0]
                code += b"\x4c\x89\xe7"  # rdi = r12
            elif isinstance(argument, bytes):
                code += move + struct.pack("<Q", data_at)
                data_at += len(argument)
            else:
                code += move + struct.pack("<Q", argument & 0xFFFFFFFFFFFFFFFF)
        code += b"\xb8" + struct.pack("<I", call.number) + b"\x0f\x05"
        code += b"\x48\x85\xc0\x79" + bytes([len(_EXIT)]) + _EXIT  # exit unless rax >= 0
    return code + b"\x31\xff\xb8\x3c\x00\x00\x00\x0f\x05"  # exit(0)


ABSTRACT_NAME = b"surgvalid-probe-%d" % os.getpid()  # test workers run side by side
_ADDRESS = struct.pack("<H", 1) + b"\0" + ABSTRACT_NAME


def _internet(port: int, *host: int) -> bytes:
    return struct.pack("<H", 2) + struct.pack(">H", port) + bytes(host) + bytes(8)


REFUSED_CALLS = {
    "unshare": Call(272, (0x10020000,)),
    "clone-newuser": Call(56, (0x10000011,)),
    "clone3": Call(435, (0, 0)),
    "mount": Call(165, (0, 0, 0, 0, 0)),
    "setns": Call(308, (-1, 0)),
    "ptrace": Call(101, (0, 0, 0, 0)),
    "process_vm_readv": Call(310, (1, 0, 0, 0, 0, 0)),
    "keyctl": Call(250, (0, -3, 1)),
    "add_key": Call(248, (0, 0, 0, 0, 0)),
    "bpf": Call(321, (0, 0, 0)),
    "perf_event_open": Call(298, (0, 0, 0, 0, 0)),
    "userfaultfd": Call(323, (1,)),
    "io_uring_setup": Call(425, (1, 0)),
    "open_by_handle_at": Call(304, (-1, 0, 0)),
    "fsopen": Call(430, (0, 0)),
    "socket-vsock": Call(41, (40, 1, 0)),
    "socket-packet": Call(41, (17, 3, 0)),
    "socket-alg": Call(41, (38, 5, 0)),
}
"""Each must end with ENOSYS: refused by the filter, not by some later check."""

PROBES: dict[str, bytes] = {name: program(call) for name, call in REFUSED_CALLS.items()} | {
    "getpid": program(Call(39)),
    "socket-unix": program(Call(41, (1, 1, 0))),
    "fork": program(Call(56, (17,))),
    "abstract-socket": program(Call(41, (1, 1, 0)), Call(42, (PREVIOUS, _ADDRESS, len(_ADDRESS)))),
    "tcp": program(Call(41, (2, 1, 0)), Call(42, (PREVIOUS, _internet(80, 1, 1, 1, 1), 16))),
    "udp-dns": program(Call(41, (2, 2, 0)), Call(42, (PREVIOUS, _internet(53, 8, 8, 8, 8), 16))),
    "metadata": program(Call(41, (2, 1, 0)), Call(42, (PREVIOUS, _internet(80, 169, 254, 169, 254), 16))),
}
