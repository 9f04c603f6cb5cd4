"""Build `lib` as `dp_compendium`; an editable install also keeps the repository's own names. pyproject.toml can say neither."""

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

NAME = "dp_compendium"


class InPlace(editable_wheel):
    """Chapters and their helpers find `lib`, `book` and `notebooks` from any folder."""

    def run(self):
        beside = ["lib", "book", "notebooks"]
        self.distribution.packages += beside
        self.distribution.package_dir |= {name: name for name in beside}
        super().run()


setup(
    packages=[NAME, *(f"{NAME}.{room}" for room in find_packages("lib"))],
    package_dir={NAME: "lib"},
    cmdclass={"editable_wheel": InPlace},
)
