"""Makes the wheel's tag that of this machine, for any Python 3: it holds a program, and no extension module."""

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithProgram(Distribution):
    def has_ext_modules(self):
        return True


class ForAnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=WithProgram, cmdclass={"bdist_wheel": ForAnyPython})
