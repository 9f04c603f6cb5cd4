import sys

import pandas as pd
from dpmm.pipelines import AIMPipeline

table, output = sys.argv[1:]
domain = {
    "wage": {"lower": 0, "upper": 5000, "n_bins": 50},
    "education": {"categories": list(range(19))},
    "experience": {"lower": -5, "upper": 65, "n_bins": 14},
    "ethnicity": {"categories": ["cauc", "afam"]},
    "smsa": {"categories": ["yes", "no"]},
    "region": {"categories": ["northeast", "midwest", "south", "west"]},
    "parttime": {"categories": ["yes", "no"]},
}
frame = pd.read_csv(table).astype(
    {"education": "category", "experience": float}
)  # integers are rounded into the next bin
pipeline = AIMPipeline(epsilon=1.0, delta=1e-9, binner_type="uniform", proc_epsilon=None, n_jobs=1)
pipeline.fit(frame, domain)
made = pipeline.generate(n_records=len(frame))
made["education"] = made["education"].astype(int)
made.to_csv(output, index=False)
print((made.education >= 16).sum())
print(made.wage[made.region == "south"].mean())
print(made.wage[made.ethnicity == "cauc"].mean() - made.wage[made.ethnicity == "afam"].mean())
