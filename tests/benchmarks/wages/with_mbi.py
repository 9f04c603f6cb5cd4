import itertools
import sys

import numpy as np
import pandas as pd

sys.path.insert(0, "mbi/mechanisms")
from aim import AIM
from mbi import Dataset, Domain

table, output = sys.argv[1:]
bins = {"wage": (0, 100, 50), "education": (0, 1, 19), "experience": (-5, 5, 14)}  # start, width, number
values = {
    "ethnicity": ["cauc", "afam"],
    "smsa": ["yes", "no"],
    "region": ["northeast", "midwest", "south", "west"],
    "parttime": ["yes", "no"],
}
frame = pd.read_csv(table)
codes = {name: np.clip((frame[name] - low) // width, 0, n - 1).astype(int) for name, (low, width, n) in bins.items()}
codes |= {name: pd.Categorical(frame[name], known).codes.astype(int) for name, known in values.items()}
domain = Domain.fromdict({name: n for name, (_, _, n) in bins.items()} | {name: len(v) for name, v in values.items()})
pairs = [(pair, 1.0) for pair in itertools.combinations(domain.attributes, 2)]
_, synthetic = AIM(1.0, 1e-9).run(Dataset(codes, domain), pairs, num_synth_rows=len(frame))
found, rng = synthetic.to_dict(), np.random.default_rng()
made = pd.DataFrame(
    {name: low + width * (found[name] + rng.random(len(frame))) for name, (low, width, _) in bins.items()}
)
made[["education", "experience"]] //= 1
for name, known in values.items():
    made[name] = np.array(known)[found[name]]
made.to_csv(output, index=False)
print((made.education >= 16).sum())
print(made.wage[made.region == "south"].mean())
print(made.wage[made.ethnicity == "cauc"].mean() - made.wage[made.ethnicity == "afam"].mean())
