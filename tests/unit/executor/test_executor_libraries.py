"""Sessions see the libraries wherever the virtual environment lies; a host whose sessions would not see them ends."""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from hosts import bare_host

from executor.client import SessionClient

pytestmark = pytest.mark.process


def test_variables_are_kept_where_the_virtual_environment_is_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").symlink_to(sys.prefix)
    (tmp_path / "linked").symlink_to("elsewhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "linked/bin/python"))
    home = tmp_path / "home"
    with bare_host(home) as client:
        told = client.run("t", "1", "import sys, pandas\nkept = 7\nprint(sys.prefix)")
        assert (told.status, told.stdout) == ("ok", f"{tmp_path}/linked\n"), told
    with bare_host(home) as client:
        assert client.run("t", "2", "print(kept)").stdout == "7\n"


def test_a_host_whose_sessions_see_no_libraries_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: SessionClient, capfd: pytest.CaptureFixture[str]
) -> None:
    if "namespaces" in host.ping().sandbox.missing:
        pytest.skip("this machine gives no namespaces: sessions see all folders")
    venv.create(tmp_path / "other", symlinks=True)
    packages = tmp_path / "other/lib" / Path(sysconfig.get_path("purelib")).parent.name / "site-packages"
    (packages / "of_another.pth").write_text(f"{sysconfig.get_path('purelib')}\n{Path(__file__).parents[3]}\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "other/bin/python"))
    with pytest.raises(RuntimeError, match="did not start"), bare_host(tmp_path / "home"):
        pass
    assert "do not see the library cloudpickle" in capfd.readouterr().err
