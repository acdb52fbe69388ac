"""The filter as data; what it does is probed in tests/contracts/test_every_engine.py."""

from __future__ import annotations

import json
import struct

import pytest

from surgvalid.sandbox._seccomp import ALLOWED, CHECKED, NAMESPACE_FLAGS, REFUSED, bpf_program, oci_profile

ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050026
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def verdict(machine: str, number: int, first: int = 0, *, audit: int | None = None) -> int:
    """What the program answers, by running it."""
    code = [struct.unpack("<HBBI", piece) for piece in _pieces(bpf_program(machine))]
    memory = {0: number, 4: MACHINES[machine][1] if audit is None else audit, 16: first}
    held, at = 0, 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            held = memory[value]
        elif operation == 0x15:
            at += yes if held == value else no
        elif operation == 0x45:
            at += yes if held & value else no
        else:
            assert operation == 0x06
            return value


def _pieces(program: bytes) -> list[bytes]:
    return [program[at : at + 8] for at in range(0, len(program), 8)]


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_listed_calls_pass_and_all_others_do_not(machine: str) -> None:
    column = MACHINES[machine][0]
    listed = {numbers[column] for numbers in ALLOWED.values()} - {None}
    checked = {numbers[column] for numbers in CHECKED.values()}
    for number in range(600):
        if number not in checked:
            assert verdict(machine, number) == (ALLOW if number in listed else REFUSE), number
    assert len(bpf_program(machine)) // 8 <= 4096


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_clone_passes_without_namespaces_and_sockets_by_family(machine: str) -> None:
    column = MACHINES[machine][0]
    clone, socket, pair = (CHECKED[name][column] for name in ("clone", "socket", "socketpair"))
    assert clone is not None
    assert socket is not None
    assert pair is not None
    assert verdict(machine, clone, 17) == ALLOW
    for bit in range(32):
        if NAMESPACE_FLAGS >> bit & 1:
            assert verdict(machine, clone, 17 | 1 << bit) == REFUSE
    for number in (socket, pair):
        assert [family for family in range(64) if verdict(machine, number, family) == ALLOW] == [1, 2, 10, 16]


def test_another_architecture_or_the_32_bit_calls_are_not_served() -> None:
    assert verdict("x86_64", 0, audit=0x40000003) == KILL
    assert verdict("x86_64", 0x40000000) == REFUSE


def test_both_forms_come_from_one_list() -> None:
    profile = json.loads(oci_profile())
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert allowed == set(ALLOWED) | set(CHECKED)
    assert not allowed & set(REFUSED)
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    conditional = [rule for rule in profile["syscalls"] if set(rule["names"]) & set(CHECKED)]
    assert all(rule["args"] for rule in conditional)
