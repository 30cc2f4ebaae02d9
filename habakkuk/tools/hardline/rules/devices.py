"""Writing over disks: mkfs and friends, dd, redirects and copies onto a device."""

from __future__ import annotations

import fnmatch
import re

from habakkuk.tools.hardline.calls import Call, is_unknown
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import EVERY, UNKNOWN, plain

_DISK = re.compile(
    r"/dev/(([shv]d|xvd)[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|mmcblk\d+(p\d+|boot\d)?|r?disk\d+(s\d+)?"
    r"|dm-\d+|md\d+(p\d+)?|md/.+|loop\d+(p\d+)?|nbd\d+(p\d+)?|zd\d+|zvol/.+|pmem\d+.*|sr\d+|fd\d+"
    r"|mapper/.+|disk/.+|block/.+|bcache\d+|rbd.*|drbd\d+|ada\d+.*|da\d+.*|ram\d+|k?mem|port|root)"
)
# One of each kind, for patterns.
_SAMPLES = [
    f"/dev/{name}"
    for name in (
        "sda",
        "sda1",
        "sdb",
        "hda",
        "vda",
        "vda1",
        "xvda",
        "nvme0n1",
        "mmcblk0",
        "disk0",
        "dm-0",
    )
]
_FORMATS = re.compile(
    r"(mkfs(\..+)?|mke2fs|mkdosfs|mkntfs|mkexfatfs|mkswap|mkudffs|newfs(_.+)?|wipefs|blkdiscard"
    r"|cryptsetup-reencrypt|badblocks|nwipe|dban|zpool-create|bcachefs|mdadm|pvcreate|vgremove)"
)
_TABLES = re.compile(r"(sgdisk|sfdisk|gdisk|cgdisk|fdisk|cfdisk|parted|partx|hdparm|nvme)")
_CHANGES = re.compile(
    r"-Z|--zap(-all)?|-o|--clear|--delete|-d|-n|-g|mklabel|mktable|mkpart|rm|format|sanitize"
    r"|--security-erase(-enhanced)?|--trim-sector-ranges|write-zeroes"
)
_LISTS = re.compile(r"-l|--list|-d|--dump|-p|--print|print|-h|--help|-V|--version|-n|--no-act|-s")
_SENTENCE = "write over the disk {what}"


def judge(call: Call) -> str | None:
    """Look at what writes to devices."""
    formats = _FORMATS.fullmatch(call.name) is not None
    for target in _targets(call):
        if formats and is_unknown(target) and target:
            return _SENTENCE.format(what="that the command does not name")
        what = disk(target, call.scope)
        if what is not None:
            return _SENTENCE.format(what=what)
    return None


def judge_write(target: str, scope: Scope) -> str | None:
    """Look at the file that a redirect writes."""
    what = disk(target, scope)
    return _SENTENCE.format(what=what) if what is not None else None


def _targets(call: Call) -> list[str]:
    if call.name == "dd":
        return [arg[3:] for arg in call.args if plain(arg).startswith("of=")]
    if call.name in {"tee", "shred", "truncate", "fallocate", "sponge", "ddrescue", "dcfldd"}:
        outs = [arg.partition("=")[2] for arg in call.args if plain(arg).startswith("of=")]
        return [*call.operands("ns"), *outs]
    if call.name in {"cp", "mv", "install", "pv", "qemu-img"}:
        return call.operands("tS")[-1:]
    if _FORMATS.fullmatch(call.name):
        changes = call.name != "wipefs" or call.has("ao", "all", "offset")
        changes = changes and (call.name != "mdadm" or call.has("C", "create", "zero-superblock"))
        return call.operands() if changes else []
    if _TABLES.fullmatch(call.name):
        changes = any(_CHANGES.fullmatch(word.partition("=")[0]) for word in call.words)
        reads = any(_LISTS.fullmatch(word) for word in call.words)
        if call.name in {"fdisk", "cfdisk", "gdisk", "cgdisk", "sfdisk"}:
            changes = changes or not reads
        return call.operands() if changes else []
    return []


def disk(target: str, scope: Scope) -> str | None:
    """Return the disk that a path is, or may well be; None for everything else."""
    path = scope.resolved(target)
    if path is None:
        return None
    shown = plain(path)
    if _DISK.fullmatch(shown):
        return shown
    if shown == f"/dev/{EVERY}":
        return "each that there is"
    if shown.startswith("/dev/") and UNKNOWN in shown and not shown.startswith("/dev/fd/"):
        return "that the command does not name"
    if re.search(r"[*?\[]", path):
        return next((one for one in _SAMPLES if fnmatch.fnmatchcase(one, path)), None)
    return None
