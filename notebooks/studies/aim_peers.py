"""Compare AIM and staged residuals with other programs, over the seeds that `make peers` has kept (beyond miura2025)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from book.kept import results

FILE = results.FOLDER / "miura2025/peers.csv"
FITS = results.FOLDER / "miura2025/fits.csv"
OURS, STAGED = "ours", "staged"  # our AIM and our staged residuals
NOT_AIM = ("margnet", "mst")  # the programs of others that do not run AIM
LAST_FIT, LEAST_LOSS, STOPPED = "last fit", "least loss", "stopped early"  # fits of the same measurements
# On these AIM's settings were chosen: its last fit's, and, on all but nltcs, its plan's.
TUNED = ("adult", "bank", "nltcs", "titanic", "fair", "mortgages", "randhie", "credit_cards")
ERRORS = {"1-way": "error1", "2-way": "error2", "3-way": "error3"}


def summary(frame: pd.DataFrame | None = None, ours: str = OURS) -> pd.DataFrame:
    """Return a row for each table, epsilon and program: means of its errors, their standard errors, and costs.

    frame : a row for each table, epsilon, program and seed; by default, the kept file
    ours : the one of our programs, `OURS` or `STAGED`, that is compared with the others; `OURS` is compared only with
        programs that run AIM

    The columns are error1 to error3 and se1 to se3; seeds; cpu_s and first_s, which are medians; peak_mb, the maximum;
    and tuned, whether the table was used to choose AIM's settings (`TUNED`). Programs that have not finished at least
    twice, and tables with only one program, are omitted.
    """
    frame = results.load(FILE) if frame is None else frame
    frame = frame[~frame["program"].isin({STAGED, *NOT_AIM} if ours == OURS else {OURS})]
    groups = frame.dropna(subset=["error1"]).groupby(["table", "epsilon", "program"])
    found = groups[[*ERRORS.values()]].mean()
    found[["se1", "se2", "se3"]] = groups[[*ERRORS.values()]].sem()
    found["seeds"] = groups.size()
    costs = groups.agg(cpu_s=("cpu_s", "median"), first_s=("first_s", "median"), peak_mb=("peak_mb", "max"))
    found = found.join(costs)[found["seeds"] > 1]
    found["tuned"] = found.index.get_level_values("table").isin(TUNED)
    return found.groupby(level=["table", "epsilon"]).filter(lambda programs: len(programs) > 1)


def seeds() -> pd.DataFrame:
    """Return how many seeds of each program that runs AIM are kept, by table and epsilon."""
    frame = results.load(FILE).dropna(subset=["error1"])
    frame = frame[~frame["program"].isin({STAGED, *NOT_AIM})]
    return frame.groupby(["table", "epsilon", "program"]).size().unstack(fill_value=0)


def behind(found: pd.DataFrame, ours: str = OURS) -> pd.DataFrame:
    """Return our errors minus each peer's, in standard errors of the difference (below 0: ours are smaller), and costs.

    found : a `summary` of `ours`

    The result has a row for each table, epsilon and peer. Its columns are 1-way to 3-way, CPU and memory (the peer's
    costs divided by ours), and first, which is like CPU but includes the imports of our first run in a process. The
    column ratio is the peer's 2-way error divided by ours, and spread is the standard error of this ratio.
    """
    own, peers = (found.xs(ours, level="program"), found.drop(index=ours, level="program"))
    own = own.reindex(peers.index.droplevel("program")).set_index(peers.index)
    rows = {
        way: (own[column] - peers[column]) / np.hypot(own[f"se{column[-1]}"], peers[f"se{column[-1]}"])
        for way, column in ERRORS.items()
    }
    rows |= {"CPU": peers["cpu_s"] / own["cpu_s"], "memory": peers["peak_mb"] / own["peak_mb"]}
    rows["first"] = peers["cpu_s"] / (own["cpu_s"] + own["first_s"])
    ratio = peers["error2"] / own["error2"]
    spread = ratio * np.hypot(peers["se2"] / peers["error2"], own["se2"] / own["error2"])
    return pd.DataFrame(rows | {"ratio": ratio, "spread": spread}).dropna(subset=["ratio"])


def standing(beside: pd.DataFrame) -> pd.DataFrame:
    """Return in how many comparisons our error is smaller or larger by more than a standard error of the difference.

    beside : the result of `behind`

    The result has a column for the tables that were used to choose AIM's settings (`TUNED`), and one for the others.
    """
    chosen = beside.index.get_level_values("table").isin(TUNED)
    parts = {"with a part in the choice of our settings": beside[chosen], "without": beside[~chosen]}
    return pd.DataFrame({about: _counts(part) for about, part in parts.items()})


def _counts(part) -> dict:
    apart = part[[*ERRORS]].to_numpy()
    return {
        "tables": ", ".join(sorted(set(part.index.get_level_values("table")))) or "none so far",
        "errors of others beside ours": apart.size,
        "ours smaller by more than a standard error": int((apart < -1).sum()),
        "ours larger by more than a standard error": int((apart > 1).sum()),
    }


def larger(beside: pd.DataFrame) -> pd.DataFrame:
    """Return the entries of `beside`, a result of `behind`, in which our error is larger by more than a standard error."""
    apart = beside[[*ERRORS]].rename_axis(columns="error").stack()
    return apart[apart > 1].round(1).rename("standard errors").to_frame()


def readable(found: pd.DataFrame) -> pd.DataFrame:
    """Return a `summary` with readable column names and rounded numbers, for a page."""
    errors = {
        way: [f"{mean:.3g} ± {se:.1g}" for mean, se in zip(found[column], found[f"se{column[-1]}"])]
        for way, column in ERRORS.items()
    }
    costs = {"CPU seconds": found["cpu_s"].map("{:.3g}".format), "MB": found["peak_mb"].map("{:.0f}".format)}
    return pd.DataFrame({"seeds": found["seeds"]} | errors | costs, index=found.index)


def fits(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return by how many per cent the errors of two fits exceed those of the model with the smallest loss.

    frame : a row for each table, epsilon, seed and fit; by default, the kept file

    All models are fitted to the same measurements. The result has a row for each table and epsilon. The columns (fit,
    way) give the excess, and (fit, way and " se") give its standard error over the seeds. The columns (fit, "loss")
    give the mean excess of the loss, not in per cent.
    """
    frame = results.load(FITS) if frame is None else frame
    wide = frame.set_index(["table", "epsilon", "seed", "fit"]).unstack("fit")
    found = {}
    for fit in (STOPPED, LAST_FIT):
        for way, column in ERRORS.items():
            of_seeds = (wide[column, fit] - wide[column, LEAST_LOSS]).groupby(level=["table", "epsilon"])
            least = wide[column, LEAST_LOSS].groupby(level=["table", "epsilon"]).mean()
            found[fit, way] = 100 * of_seeds.mean() / least
            found[fit, f"{way} se"] = 100 * of_seeds.sem() / least
        found[fit, "loss"] = (wide["loss", fit] - wide["loss", LEAST_LOSS]).groupby(level=["table", "epsilon"]).mean()
    return pd.DataFrame(found)
