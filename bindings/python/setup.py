"""Puts libservicekit.so.1 and abi.json into the package, and tags the wheel with what the library needs.

The library is the one that the environment variable SERVICEKIT_LIBRARY names, else the one in build/release of this
repository, which is built if it is not there: that needs CMake and Swift.
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ABI = ROOT / "abi.json"


def library() -> Path:
    if named := os.environ.get("SERVICEKIT_LIBRARY"):
        return Path(named)
    if not (ROOT / "CMakePresets.json").exists():
        raise SystemExit("Set SERVICEKIT_LIBRARY to the path of libservicekit.so.1: this is not in its repository.")
    built = ROOT / "build/release/libservicekit.so.1"
    if not built.exists():
        for command in (["--preset", "release"], ["--build", "--preset", "release", "--target", "servicekit"]):
            subprocess.run(["cmake", *command], cwd=ROOT, check=True)
    return built


class BuildWithLibrary(build_py):
    def run(self) -> None:
        super().run()
        package = Path(self.build_lib) / "servicekit"
        package.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library(), package / "libservicekit.so.1")
        shutil.copyfile(ABI, package / "abi.json")


class PlatformWheel(bdist_wheel):
    """For every Python 3, on Linux with glibc 2.34 or newer: the library needs libc and nothing else."""

    def get_tag(self) -> "tuple[str, str, str]":
        return "py3", "none", f"manylinux_2_34_{os.uname().machine}"


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=json.loads(ABI.read_text())["version"],
    distclass=WithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
)
