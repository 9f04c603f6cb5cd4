"""Adult and Bank Marketing: the real files, each verified by its SHA-256, or synthetic ones.

A file is looked up in the folder that ``COMPENDIUM_DATA`` names (as ``<folder>/adult/adult.data`` or
``<folder>/adult.data``) and then in the user cache. If neither contains the file, it is downloaded from the UCI Machine
Learning Repository. ``COMPENDIUM_OFFLINE=1`` and ``download=False`` forbid the download. The message of a
`DatasetError` says what is wrong with a file, or that ``COMPENDIUM_DATA`` does not name a folder.

The package contains synthetic samples (``source="stand-in"``), which `notebooks.studies.stand_in` made from the real
files; ``lib/data/stand_ins/provenance.json`` records how.

Sources (both CC BY 4.0): B. Becker and R. Kohavi, Adult, UCI, 1996, doi:10.24432/C5XW20; S. Moro, P. Rita and P. Cortez, Bank
Marketing, UCI, 2014, doi:10.24432/C5K306.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..numerics import checks
from ..numerics.extras import extra

with extra("data"), warnings.catch_warnings():  # warnings of progress bars, which we do not use
    warnings.filterwarnings("ignore", message="IProgress not found")
    import pandas as pd
    import pooch


class DatasetError(RuntimeError):
    """The error for a missing, damaged or unavailable file; it names the file, the places searched, and what to do."""


@dataclass(frozen=True)
class Source:
    """One real file: its data set, its name, its SHA-256, and where it is published.

    `members` is the path into the archive at `url`: the last entry names the file, and all others name nested archives.
    """

    dataset: str
    name: str
    sha256: str
    url: str
    members: tuple[str, ...]


_ADULT_URL = "https://archive.ics.uci.edu/static/public/2/adult.zip"
_BANK_URL = "https://archive.ics.uci.edu/static/public/222/bank+marketing.zip"

# The files are pinned, but the archives are not, because their packing has changed over the years.
_SOURCES = (
    Source("adult", "adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
           _ADULT_URL, ("adult.data",)),
    Source("adult", "adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
           _ADULT_URL, ("adult.test",)),
    Source("bank", "bank-additional-full.csv", "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
           _BANK_URL, ("bank-additional.zip", "bank-additional/bank-additional-full.csv")),
)  # fmt: skip
SOURCES = {source.name: source for source in _SOURCES}

ADULT_FILES = ("adult.data", "adult.test")  # training records, test records
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
    "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
    "hours-per-week", "native-country", "income",
)  # fmt: skip

# The ranges of age, education code and hours are those of the survey, which left out persons under 17 and recorded ages
# above 90 as 90; gains have up to five digits. No range is published for fnlwgt and capital-loss; their ranges here are
# round numbers that hold for both parts of Adult.
PUBLIC_RANGES = {
    "age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}


KINDS = ("real", "stand-in")

# Paths of the embedded synthetic samples, and the records that represent each part of Adult.
STAND_INS = Path(__file__).parent / "stand_ins"
_PARTS = {"train": slice(0, 32_561), "test": slice(32_561, None), "all": slice(None)}


def adult(part: str = "train", *, missing: str = "nan", source: str = "real", download: bool = True) -> pd.DataFrame:
    """Return Adult under UCI's column names (`ADULT_COLUMNS`), with six integer and nine string columns.

    part : "train" (32,561 records), "test" (16,281) or "all" (48,842, the training records first)
    missing : "nan" turns UCI's ``?`` into a missing value, so that ``.dropna()`` leaves the complete records (30,162,
        15,060 and 45,222, respectively). Option "category" keeps ``?`` as a value
    source : "real", or "stand-in" for synthetic records: each part has as many as the real part, with the same columns
        and types

    Raises `DatasetError` for a file that is missing or damaged, and ``ValueError`` for arguments out of range.

    >>> from lib.data.datasets import adult
    >>> frame = adult(source="stand-in")
    >>> print(frame.columns[:3].tolist())
    ['age', 'workclass', 'fnlwgt']
    """
    checks.one_of("part", part, ("train", "test", "all"))
    markers = _missing_markers(missing, "?")
    checks.one_of("source", source, KINDS)
    if source == "stand-in":
        return _embedded("adult", markers)[_PARTS[part]].reset_index(drop=True)
    names = {"train": ADULT_FILES[:1], "test": ADULT_FILES[1:], "all": ADULT_FILES}
    options = {"names": list(ADULT_COLUMNS), "skipinitialspace": True, "na_values": markers, "keep_default_na": False}
    options["comment"] = "|"  # the first line of the test file
    frames = [pd.read_csv(path(name, download=download), **options) for name in names[part]]
    frame = pd.concat(frames, ignore_index=True)
    frame["income"] = frame["income"].str.removesuffix(".")
    return frame


def bank(*, missing: str = "nan", source: str = "real", download: bool = True) -> pd.DataFrame:
    """Return Bank Marketing (``bank-additional-full.csv``), 41,188 records of 21 columns, under UCI's names.

    missing : "nan" turns the label ``unknown`` into a missing value, so that ``.dropna()`` leaves the 30,488 complete
        records of miura2025 (Table 1). Option "category" keeps ``unknown`` as a value
    source : "real", or "stand-in" for the same number of synthetic records of the 11 string columns

    Raises `DatasetError` for a file that is missing or damaged, and ``ValueError`` for arguments out of range.

    >>> from lib.data.datasets import bank
    >>> print(bank(source="stand-in").columns[:3].tolist())
    ['job', 'marital', 'education']
    """
    markers = _missing_markers(missing, "unknown")
    checks.one_of("source", source, KINDS)
    if source == "stand-in":
        return _embedded("bank", markers)
    file = path("bank-additional-full.csv", download=download)
    return pd.read_csv(file, sep=";", na_values=markers, keep_default_na=False)


def stand_in_provenance() -> dict:
    """Return how the synthetic samples were made: epsilon, delta, neighbours, seed, hashes and errors.

    The key ``"datasets"`` contains the hashes and errors of ``"adult"`` and ``"bank"``. Raises `DatasetError` if the
    file cannot be read.
    """
    file = STAND_INS / "provenance.json"
    try:
        return json.loads(file.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        said = f"{file} cannot be read ({type(error).__name__}): restore it from the repository."
        raise DatasetError(said) from error


def _embedded(dataset: str, markers: list[str]) -> pd.DataFrame:
    """Return all records of an embedded synthetic sample, verified by the SHA-256 in its provenance."""
    file = STAND_INS / f"{dataset}.csv.gz"
    expected = stand_in_provenance()["datasets"][dataset]["sha256_file"]
    actual = _sha256(file)
    if actual != expected:
        found = f"its SHA-256 is {actual}, expected {expected}"
        raise DatasetError(f"{file} is damaged: {found}; restore it from the repository.")
    return pd.read_csv(file, na_values=markers, keep_default_na=False)


def _missing_markers(missing: str, marker: str) -> list[str]:
    checks.one_of("missing", missing, ("nan", "category"))
    return [marker] if missing == "nan" else []


def adult_numeric(frame: pd.DataFrame, *, scaling: str = "observed") -> pd.DataFrame:
    """Return the six numeric attributes of `frame` (keys of `PUBLIC_RANGES`), each scaled to [-1, 1].

    frame : the columns of `adult`, at least one record
    scaling : "observed" maps each column's minimum and maximum to -1 and 1. A privacy guarantee must then treat these
        extremes as public. Option "public" maps the ends of `PUBLIC_RANGES` to -1 and 1

    miura2022 (section 3.2) says only "normalized to [-1, 1]". Raises ``ValueError`` for a frame without records, and
    for a column that is absent, has a missing or out-of-range value or, for "observed", has only one value.
    """
    checks.one_of("scaling", scaling, ("observed", "public"))
    absent = [column for column in PUBLIC_RANGES if column not in frame.columns]
    if absent:
        raise ValueError(f"frame must have the columns {', '.join(PUBLIC_RANGES)}; it lacks {', '.join(absent)}")
    if frame.empty:
        raise ValueError("frame must not be empty")
    scaled = {}
    for column, (low, high) in PUBLIC_RANGES.items():
        permitted = f"[{low}, {high}]" if scaling == "public" else "(-inf, inf)"
        values = checks.real(column, frame[column], permitted)
        if scaling == "observed":
            low, high = values.min(), values.max()
        if low == high:
            raise ValueError(f"{column} must take at least two values to be scaled, got only {low:g}")
        scaled[column] = 2 * (values - low) / (high - low) - 1
    return pd.DataFrame(scaled, index=frame.index)


def available(dataset: str) -> bool:
    """Return whether all files of "adult" or "bank" are on this machine and undamaged, without downloading.

    A damaged file in the cache counts as absent. Raises `DatasetError` for a damaged file in ``COMPENDIUM_DATA``.

    >>> from lib.data.datasets import adult, available
    >>> source = "real" if available("adult") else "stand-in"
    >>> print(len(adult(source=source)))
    32561
    """
    checks.one_of("dataset", dataset, sorted({source.dataset for source in SOURCES.values()}))
    wanted = [source for source in SOURCES.values() if source.dataset == dataset]
    return all(_search(source)[0] is not None for source in wanted)


def path(name: str, *, download: bool = True) -> Path:
    """Return the path of the verified file `name` (a key of `SOURCES`); download it first if necessary.

    download : False forbids the download, and so does a ``COMPENDIUM_OFFLINE`` that is neither ``0`` nor empty
    Raises `DatasetError` for a file that is unavailable, or that is damaged in ``COMPENDIUM_DATA``.
    """
    checks.one_of("name", name, tuple(SOURCES))
    source = SOURCES[name]
    found, looked = _search(source)
    if found is not None:
        return found
    try:
        if not download:
            raise DatasetError("download=False forbids fetching it")
        if os.environ.get("COMPENDIUM_OFFLINE", "") not in ("", "0"):
            raise DatasetError("COMPENDIUM_OFFLINE forbids fetching it")
        _fetch(source.url)
    except DatasetError as failure:
        raise DatasetError(
            f"{name} was found neither {' nor '.join(looked)}, and {failure}: unpack it from {source.url} "
            f"(SHA-256 {source.sha256}) into a folder and set COMPENDIUM_DATA to that folder."
        ) from failure
    return _cached(source)


def fingerprints(source: str, *names: str) -> dict[str, str]:
    """Return the SHA-256 of each file in `names` (keys of `SOURCES`) if `source` is "real", or {} for a "stand-in"."""
    checks.one_of("source", source, KINDS)
    for name in names:
        checks.one_of("name", name, tuple(SOURCES))
    return {name: SOURCES[name].sha256 for name in names} if source == "real" else {}


def given_folder() -> Path | None:
    """Return the folder that ``COMPENDIUM_DATA`` names, or None if unset. Raises `DatasetError` if unreadable."""
    given = os.environ.get("COMPENDIUM_DATA", "")
    if not given:
        return None
    try:
        folder = Path(given).expanduser().absolute()
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            return folder
    except (OSError, RuntimeError):  # the name is too long, or the home folder is unknown
        pass
    raise DatasetError(
        f"COMPENDIUM_DATA must name a folder that can be read, got {given!r}: "
        "correct it, or unset it to have the files looked for in the cache and fetched."
    )


def cache_folder() -> Path:
    """Return the user cache, which has a folder for each data set. A copy can serve as ``COMPENDIUM_DATA``."""
    return Path(pooch.os_cache("dp-compendium"))


def _cached(source: Source) -> Path:
    return cache_folder() / source.dataset / source.name


def _search(source: Source) -> tuple[Path | None, list[str]]:
    """Return an undamaged copy on this machine, or ``None``, and a list of phrases that say where none was found."""
    looked: list[str] = []
    folder = given_folder()
    if folder is not None:
        for candidate in (folder / source.dataset / source.name, folder / source.name):
            if candidate.is_file():
                _refuse_damaged(candidate, source)
                return candidate, looked
            looked.append(f"at {candidate}")
    else:
        looked.append("by COMPENDIUM_DATA (not set)")
    cached = _cached(source)
    if cached.is_file():
        if _sha256(cached) == source.sha256:
            return cached, looked
        looked.append(f"sound in the cache ({cached} is damaged)")
    else:
        looked.append(f"at {cached}")
    return None, looked


def _refuse_damaged(file: Path, source: Source) -> None:
    actual = _sha256(file)
    if actual != source.sha256:
        raise DatasetError(
            f"{file} is damaged or another edition: its SHA-256 is {actual}, expected {source.sha256}; "
            f"replace it with the one from {source.url}, or unset COMPENDIUM_DATA to have it fetched."
        )


def _sha256(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise DatasetError(f"{file} cannot be read: {error.strerror}.") from error


def _fetch(url: str) -> None:
    """Download and verify every file that `SOURCES` has at `url`; put all files into the cache if all are undamaged."""
    archive = _download(url)
    verified = {}
    for source in SOURCES.values():
        if source.url != url:
            continue
        content = _unpack(archive, source)
        actual = hashlib.sha256(content).hexdigest()
        if actual != source.sha256:
            raise DatasetError(f"{source.name} from {url} has SHA-256 {actual}, expected {source.sha256}")
        verified[_cached(source)] = content
    try:
        for target, content in verified.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}-{secrets.token_hex(8)}")
            try:
                draft.write_bytes(content)
                draft.replace(target)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise DatasetError(f"it cannot be stored in {cache_folder()} ({error.strerror})") from error


def _download(url: str) -> bytes:
    """Return the bytes at `url`, which fit in memory because the archives are small (about 1 MB)."""
    with extra("data"):
        import requests  # imported here because it is slow to import and seldom needed

    try:
        answer = requests.get(url, timeout=30)  # not streamed: requests then closes the connection itself
    except requests.RequestException as error:
        raise DatasetError(f"{url} could not be fetched ({type(error).__name__})") from error
    if not answer.ok:
        raise DatasetError(f"{url} answered {answer.status_code} {answer.reason}")
    return answer.content


def _unpack(content: bytes, source: Source) -> bytes:
    """Return the bytes of the file of `source`, extracted from the archive `content` and the archives nested in it."""
    for member in source.members:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = archive.read(member)
        except KeyError:
            way = " / ".join(source.members)
            raise DatasetError(f"the archive at {source.url} has no {member} (looked for {way})") from None
        except Exception as error:  # damage raises a dozen types of error: BadZipFile, zlib.error, struct.error, ...
            raise DatasetError(f"the file downloaded from {source.url} is not a valid zip archive ({type(error).__name__})") from error  # fmt: skip
    return content
