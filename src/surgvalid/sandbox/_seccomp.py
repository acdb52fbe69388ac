"""The filter of system calls, in the two forms that engines take: OCI JSON and a BPF program.

One list for every engine, because the profiles that engines bring differ: Debian 12's podman lets an
unprivileged process make namespaces, mount in them, trace, use keys and open a socket to the hypervisor
(AF_VSOCK), which no network namespace holds back. What is not listed here is refused: mounting, namespaces, tracing,
keys, kernel modules, BPF, io_uring, page faults in user space, handles past the path, clocks, and whatever a later
kernel invents. Numbers are those of x86-64 and arm64 (`-`: there is none).
"""

from __future__ import annotations

import errno
import json
import platform
import struct
from typing import Any

_TABLE = """
read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 mmap:9:222
mprotect:10:226 munmap:11:215 brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 ioctl:16:29
pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:- sched_yield:24:124
mremap:25:216 msync:26:227 mincore:27:232 madvise:28:233 shmget:29:194 shmat:30:196 shmctl:31:195 dup:32:23
dup2:33:- pause:34:- nanosleep:35:101 getitimer:36:102 alarm:37:- setitimer:38:103 getpid:39:172 sendfile:40:71
connect:42:203 accept:43:202 sendto:44:206 recvfrom:45:207 sendmsg:46:211 recvmsg:47:212 shutdown:48:210 bind:49:200
listen:50:201 getsockname:51:204 getpeername:52:205 setsockopt:54:208 getsockopt:55:209 fork:57:- vfork:58:-
execve:59:221 exit:60:93 wait4:61:260 kill:62:129 uname:63:160 semget:64:190 semop:65:193 semctl:66:191 shmdt:67:197
msgget:68:186 msgsnd:69:189 msgrcv:70:188 msgctl:71:187 fcntl:72:25 flock:73:32 fsync:74:82 fdatasync:75:83
truncate:76:45 ftruncate:77:46 getdents:78:- getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:- mkdir:83:- rmdir:84:-
creat:85:- link:86:- unlink:87:- symlink:88:- readlink:89:- chmod:90:- fchmod:91:52 chown:92:- fchown:93:55
lchown:94:- umask:95:166 gettimeofday:96:169 getrlimit:97:163 getrusage:98:165 sysinfo:99:179 times:100:153
getuid:102:174 getgid:104:176 setuid:105:146 setgid:106:144 geteuid:107:175 getegid:108:177 setpgid:109:154
getppid:110:173 getpgrp:111:- setsid:112:157 setreuid:113:145 setregid:114:143 getgroups:115:158 setgroups:116:159
setresuid:117:147 getresuid:118:148 setresgid:119:149 getresgid:120:150 getpgid:121:155 setfsuid:122:151
setfsgid:123:152 getsid:124:156 capget:125:90 capset:126:91 rt_sigpending:127:136 rt_sigtimedwait:128:137
rt_sigqueueinfo:129:138 rt_sigsuspend:130:133 sigaltstack:131:132 utime:132:- mknod:133:- statfs:137:43
fstatfs:138:44 getpriority:140:141 setpriority:141:140 sched_setparam:142:118 sched_getparam:143:121
sched_setscheduler:144:119 sched_getscheduler:145:120 sched_get_priority_max:146:125 sched_get_priority_min:147:126
sched_rr_get_interval:148:127 mlock:149:228 munlock:150:229 mlockall:151:230 munlockall:152:231 prctl:157:167
arch_prctl:158:- setrlimit:160:164 sync:162:81 gettid:186:178 readahead:187:213 setxattr:188:5 lsetxattr:189:6
fsetxattr:190:7 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10 listxattr:194:11 llistxattr:195:12 flistxattr:196:13
removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16 tkill:200:130 time:201:- futex:202:98
sched_setaffinity:203:122 sched_getaffinity:204:123 set_thread_area:205:- io_setup:206:0 io_destroy:207:1
io_getevents:208:4 io_submit:209:2 io_cancel:210:3 get_thread_area:211:- epoll_create:213:- getdents64:217:61
set_tid_address:218:96 restart_syscall:219:128 semtimedop:220:192 fadvise64:221:223 timer_create:222:107
timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109 timer_delete:226:111 clock_gettime:228:113
clock_getres:229:114 clock_nanosleep:230:115 exit_group:231:94 epoll_wait:232:- epoll_ctl:233:21 tgkill:234:131
utimes:235:- mbind:237:235 set_mempolicy:238:237 get_mempolicy:239:236 mq_open:240:180 mq_unlink:241:181
mq_timedsend:242:182 mq_timedreceive:243:183 mq_notify:244:184 mq_getsetattr:245:185 waitid:247:95 ioprio_set:251:30
ioprio_get:252:31 inotify_init:253:- inotify_add_watch:254:27 inotify_rm_watch:255:28 openat:257:56 mkdirat:258:34
mknodat:259:33 fchownat:260:54 futimesat:261:- newfstatat:262:79 unlinkat:263:35 renameat:264:38 linkat:265:37
symlinkat:266:36 readlinkat:267:78 fchmodat:268:53 faccessat:269:48 pselect6:270:72 ppoll:271:73
set_robust_list:273:99 get_robust_list:274:100 splice:275:76 tee:276:77 sync_file_range:277:84 utimensat:280:88
epoll_pwait:281:22 signalfd:282:- timerfd_create:283:85 eventfd:284:- fallocate:285:47 timerfd_settime:286:86
timerfd_gettime:287:87 accept4:288:242 signalfd4:289:74 eventfd2:290:19 epoll_create1:291:20 dup3:292:24
pipe2:293:59 inotify_init1:294:26 preadv:295:69 pwritev:296:70 rt_tgsigqueueinfo:297:240 recvmmsg:299:243
prlimit64:302:261 syncfs:306:267 sendmmsg:307:269 getcpu:309:168 sched_setattr:314:274 sched_getattr:315:275
renameat2:316:276 seccomp:317:277 getrandom:318:278 memfd_create:319:279 execveat:322:281 membarrier:324:283
mlock2:325:284 copy_file_range:326:285 preadv2:327:286 pwritev2:328:287 pkey_mprotect:329:288 pkey_alloc:330:289
pkey_free:331:290 statx:332:291 io_pgetevents:333:292 rseq:334:293 pidfd_send_signal:424:424 pidfd_open:434:434
close_range:436:436 openat2:437:437 faccessat2:439:439 epoll_pwait2:441:441 landlock_create_ruleset:444:444
landlock_add_rule:445:445 landlock_restrict_self:446:446 futex_waitv:449:449 set_mempolicy_home_node:450:450
"""

_SPECIAL = "clone:56:220 socket:41:198 socketpair:53:199"

_REFUSED = """
_sysctl acct add_key adjtimex bpf chroot clock_adjtime clock_settime clone3 create_module delete_module
fanotify_init fanotify_mark finit_module fsconfig fsmount fsopen fspick get_kernel_syms init_module io_uring_enter
io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie memfd_secret
migrate_pages modify_ldt mount mount_setattr move_mount move_pages name_to_handle_at nfsservctl open_by_handle_at
open_tree perf_event_open personality pidfd_getfd pivot_root process_madvise process_mrelease process_vm_readv
process_vm_writev ptrace query_module quotactl quotactl_fd reboot remap_file_pages request_key setdomainname
sethostname setns settimeofday swapoff swapon sysfs syslog umount2 unshare uselib userfaultfd ustat vhangup vmsplice
vserver
"""

Numbers = dict[str, tuple[int | None, int | None]]


def _numbers(table: str) -> Numbers:
    rows = (row.split(":") for row in table.split())
    return {name: (int(x86), None if arm == "-" else int(arm)) for name, x86, arm in rows}


ALLOWED: Numbers = _numbers(_TABLE)
"""Allowed whatever their arguments."""
CHECKED: Numbers = _numbers(_SPECIAL)
"""Allowed by their first argument: no new namespaces, no sockets that leave the machine by other ways."""
REFUSED: tuple[str, ...] = tuple(_REFUSED.split())
"""Those of today that are missing above, named so that engines answer "no such call" and programs fall back."""


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
