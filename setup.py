"""Puts the sample data into the wheel, beside the commands that ask about it. All else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExamples(build_py):
    """`threadbook demo` of an installed wheel has no checkout to look into."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            ignored = shutil.ignore_patterns("*.py", "__pycache__")
            shutil.copytree("examples", Path(self.build_lib, "tryout/examples"), ignore=ignored, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithExamples})
