# SPDX-License-Identifier: MIT
"""The wheel: what is in it, and whether it works in every Python there is from 3.8 on."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest
import toll

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["TOLL_BUILD"]
PACKAGE = TOP / "python/toll"
SMOKE = pathlib.Path(__file__).with_name("smoke.py")
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]

if "TOLL_SANITIZED" in os.environ:
    pytest.skip("the wheel is made without sanitizers", allow_module_level=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dist")
    script = TOP / "python/build_wheel.py"
    done = subprocess.run(
        [sys.executable, "-B", script, BUILD, directory], capture_output=True, text=True, check=True
    )
    return pathlib.Path(done.stdout.strip())


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """As pip does: with the permissions that the wheel has."""
    directory = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            os.chmod(archive.extract(entry, directory), (entry.external_attr >> 16) & 0o777)
    return directory


def interpreter(version):
    """A Python of that version that can be started."""
    pyenv = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    for path in [shutil.which(f"python{version}"), *map(str, pyenv)]:
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return pytest.skip(f"there is no Python {version}")


def clean(**variables):
    kept = {key: value for key, value in os.environ.items() if key not in ("TOLL", "TOLL_BUILD")}
    return {**kept, **variables}


def test_name_and_contents(wheel):
    assert wheel.name == f"toll-{toll.__version__}-cp38-abi3-linux_{os.uname().machine}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    info = f"toll-{toll.__version__}.dist-info"
    for name in ("toll/_toll.abi3.so", "toll/_toll.pyi", "toll/_entities.pyi", "toll/py.typed",
                 "toll/bin/toll", "toll/bin/toll-gpu"):
        assert name in names
    written = {f"toll/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.py")}
    assert "toll/compat/resource_tracker.py" in written and written <= set(names)
    assert {f"{info}/{name}" for name in ("LICENSE", "METADATA", "WHEEL", "RECORD")} <= set(names)
    assert f"toll-{toll.__version__}.data/scripts/toll" in names


def test_the_same_build_gives_the_same_bytes(wheel, tmp_path):
    script = TOP / "python/build_wheel.py"
    subprocess.run([sys.executable, "-B", script, BUILD, tmp_path], stdout=-3, check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_only_the_stable_abi_is_used(unpacked):
    """What 3.8 has not, a later Python must not be asked for."""
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", unpacked / "toll/_toll.abi3.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = {line.split()[-1] for line in listed.splitlines() if " _Py" in line or " Py" in line}
    private = {name for name in used if name.startswith("_Py")}
    stable = {"_Py_NoneStruct", "_Py_Dealloc", "_PyArg_ParseTuple_SizeT", "_Py_BuildValue_SizeT"}
    stable |= {"_PyObject_CallFunction_SizeT", "_Py_TrueStruct", "_Py_FalseStruct"}
    assert private <= stable
    exported = subprocess.run(
        ["nm", "-D", "--defined-only", unpacked / "toll/_toll.abi3.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.split()[-1] for line in exported.splitlines()] == ["PyInit__toll"]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_works_in(version, unpacked):
    done = subprocess.run(
        [interpreter(version), "-B", "-W", "error", SMOKE],
        env=clean(PYTHONPATH=str(unpacked)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"good: toll {toll.__version__} in Python {version}.")


def test_pip_installs_it(wheel, tmp_path):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no pip")
    target = tmp_path / "target"
    subprocess.run(
        [*pip, "install", "-q", "--no-index", "--no-deps", "--no-compile", "--target", target, wheel],
        env=clean(PIP_ROOT_USER_ACTION="ignore", PIP_DISABLE_PIP_VERSION_CHECK="1"),
        capture_output=True,
        check=True,
    )
    for command in ([target / "bin/toll"], [sys.executable, "-m", "toll"]):
        done = subprocess.run(
            [*command, "--version"],
            env=clean(PYTHONPATH=str(target)),
            capture_output=True,
            text=True,
            check=True,
        )
        assert toll.__version__ in done.stdout
    tracked = subprocess.run(
        [target / "bin/gpu-tracker", "-e", "true", "--st=0.1", "--tu=seconds"],
        env=clean(PYTHONPATH=str(target)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Compute time:" in tracked.stdout
    markers = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "--markers"],  # found by its entry point
        cwd=target,
        env=clean(PYTHONPATH=str(target)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "@pytest.mark.toll(" in markers.stdout
    modules = sorted(path.stem for path in (PACKAGE / "compat").glob("*.py") if path.stem[0] != "_")
    imports = "; ".join(f"import toll.compat.{name}" for name in modules)
    subprocess.run(
        [sys.executable, "-B", "-c", imports], env=clean(PYTHONPATH=str(target)), check=True
    )


def test_pip_builds_once_and_nothing_more(tmp_path):
    """What `pip install ./python` asks for, and which part of the build that takes."""
    script = (
        "import build_wheel, pathlib, sys\n"
        "name = build_wheel.prepare_metadata_for_build_wheel(sys.argv[1])\n"
        "print((pathlib.Path(sys.argv[1]) / name / 'METADATA').read_text())\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, tmp_path],
        env={**os.environ, "PYTHONPATH": str(TOP / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"Name: toll\nVersion: {toll.__version__}\n" in done.stdout
    needed = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "inputs", "python-package"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert not needed or ("_toll.abi3.so" in needed and "tests/" not in needed)


@pytest.mark.parametrize("there", [False, True])
def test_a_package_without_its_native_part(tmp_path, there):
    """As in a checkout, or with one for another machine: it says what is missing."""
    shutil.copytree(PACKAGE, tmp_path / "toll")
    native = tmp_path / "toll/_toll.abi3.so"
    if there:
        native.write_text("nothing that can be loaded")
    done = subprocess.run(
        [sys.executable, "-B", "-c", "from toll.compat import spdl"],
        env=clean(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    *_, last = done.stderr.splitlines()
    assert last.startswith("ImportError: toll: cannot load the extension module: ")
    assert (": no such file (" in last) is not there and str(native) in last
    assert "make wheel" in last and "circular" not in last


def test_a_build_without_the_package_is_told(tmp_path):
    script = TOP / "python/build_wheel.py"
    done = subprocess.run(
        [sys.executable, "-B", script, tmp_path, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "has no Python package" in done.stderr
