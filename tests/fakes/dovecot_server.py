"""A real IMAP server, Dovecot, on loopback: one user, mail in a folder, no rights of its own."""

from __future__ import annotations

import grp
import imaplib
import os
import pwd
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.servers import Server

USER, PASSWORD = "hab@example.org", 'a pass word with "quotes" 100%'
CERTIFICATE = Path(__file__).with_name("tls") / "loopback.pem"
_PROGRAM = "/usr/sbin/dovecot"
_CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
mail_location = maildir:{folder}/mail
mail_fsync = never
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
ssl = yes
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.pem
disable_plaintext_auth = no
auth_failure_delay = 0
first_valid_uid = 1
first_valid_gid = 1
imap_capability = {abilities}
imap_fetch_failure = {failing}
mail_max_userip_connections = 100
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  process_min_avail = 1
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service stats {{
  chroot =
}}
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
"""


class Dovecot(Server):
    """The server. `abilities` replaces what it says that it can do, such as without IDLE.

    `failing`: what it does about a mail that it cannot read, by itself it ends the line.
    """

    def __init__(
        self, folder: Path, abilities: str = "", failing: str = "disconnect-immediately"
    ) -> None:
        """Write its settings into an empty folder. As root it runs as nobody."""
        super().__init__(folder)
        if not Path(_PROGRAM).exists():
            raise RuntimeError("Dovecot is not installed (Debian: apt-get install dovecot-imapd)")
        self.port, self.tls_port = _free_port(), _free_port()
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        for name in ("run", "mail", "home"):
            (folder / name).mkdir()
        shutil.copy(CERTIFICATE, folder / "server.pem")
        (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
        written = _CONFIG.format(
            folder=folder,
            abilities=abilities,
            failing=failing,
            user=user.pw_name,
            group=_group(user.pw_gid),
            uid=user.pw_uid,
            gid=user.pw_gid,
            port=self.port,
            tls_port=self.tls_port,
        )
        (folder / "dovecot.conf").write_text(written)
        if os.geteuid() == 0:
            self.uid, self.gid = user.pw_uid, user.pw_gid
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, self.uid, self.gid)

    def command(self) -> list[str]:
        """Return the server's argv."""
        return [_PROGRAM, "-F", "-c", str(self.folder / "dovecot.conf")]

    def answers(self) -> bool:
        """Tell whether somebody can sign in."""
        try:
            with self.signed_in():
                return True
        except (OSError, imaplib.IMAP4.error):
            return False

    @contextmanager
    def signed_in(self) -> Iterator[imaplib.IMAP4]:
        """Sign in as another program of the user does."""
        with imaplib.IMAP4("127.0.0.1", self.port, timeout=10) as line:
            line.login(USER, PASSWORD)
            yield line

    def make(self, mailbox: str) -> None:
        """Make an empty mailbox."""
        with self.signed_in() as line:
            assert line.create(mailbox)[0] == "OK"

    def deliver(self, mailbox: str, *mails: bytes, moment: float | None = None) -> list[int]:
        """Put mails into a mailbox, in order, as if they had arrived then; return their UIDs."""
        date = imaplib.Time2Internaldate(time.time() if moment is None else moment)
        with self.signed_in() as line:
            told = [line.append(mailbox, "", date, mail) for mail in mails]
        assert all(state == "OK" for state, _ in told), told
        # [APPENDUID validity uid]
        return [int(answer[0].split(b"]")[0].split()[-1]) for _, answer in told]

    def remove(self, mailbox: str, uid: int) -> None:
        """Remove a mail, as another program of the user does."""
        with self.signed_in() as line:
            line.select(mailbox)
            line.uid("STORE", str(uid), "+FLAGS", "(\\Deleted)")
            line.expunge()

    def break_mail(self, mailbox: str, uid: int) -> Path:
        """Let the server fail at a mail: it may not read the file, which is returned."""
        numbers = self.folder / "mail" / f".{mailbox}" / "dovecot-uidlist"
        found = re.search(rf"^{uid} .*?:(\S+)", numbers.read_text(), re.MULTILINE)
        assert found is not None
        (path,) = numbers.parent.glob(f"*/{found[1]}*")
        path.chmod(0)
        return path

    def fetched(self) -> int:
        """Return how many bytes of bodies it gave out on lines that have ended."""
        told = re.findall(r"body_bytes=(\d+)", self.log.read_text())
        return sum(map(int, told))

    def make_anew(self, mailbox: str) -> None:
        """Give the mails of a mailbox new numbers, as after a repair: its UIDVALIDITY changes."""
        numbers = self.folder / "mail" / f".{mailbox}" / "dovecot-uidlist"
        head, *mails = numbers.read_text().splitlines(keepends=True)
        found = re.search(r" V(\d+)", head)
        assert found is not None
        numbers.write_text(head.replace(found[0], f" V{int(found[1]) + 1}") + "".join(mails))
        for path in numbers.parent.glob("dovecot.index*"):
            path.unlink()

    def cut_all(self) -> None:
        """End every line that somebody is signed in on."""
        for process in psutil.Process(self.pid).children():
            if process.name() == "imap":
                process.kill()

    def flags(self, mailbox: str) -> set[bytes]:
        """Return every flag that a mail of a mailbox has."""
        with self.signed_in() as line:
            line.select(mailbox, readonly=True)
            told = [one for one in line.fetch("1:*", "(FLAGS)")[1] if isinstance(one, bytes)]
        return {flag for one in told for flag in imaplib.ParseFlags(one)}


@contextmanager
def dovecot(abilities: str = "", **more: str) -> Iterator[Dovecot]:
    """Run one in a folder of its own."""
    # pytest's folders are closed to the server's user, and a socket's path may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="hab-imap-", dir="/tmp"))
    folder.chmod(0o755)
    server = Dovecot(folder, abilities, **more)
    try:
        server.start()
        yield server
    finally:
        # A second of its own is what it takes to end.
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _group(gid: int) -> str:
    return grp.getgrgid(gid).gr_name
