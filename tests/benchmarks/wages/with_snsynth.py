import sys

import pandas as pd
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer

table, output = sys.argv[1:]
columns = {
    "wage": BinTransformer(lower=0, upper=5000, bins=50),
    "education": BinTransformer(lower=0, upper=19, bins=19),
    "experience": BinTransformer(lower=-5, upper=65, bins=14),
    "ethnicity": LabelTransformer(nullable=False),
    "smsa": LabelTransformer(nullable=False),
    "region": LabelTransformer(nullable=False),
    "parttime": LabelTransformer(nullable=False),
}
frame = pd.read_csv(table)
synthesizer = Synthesizer.create("aim", epsilon=1.0, delta=1e-9)
synthesizer.fit(frame, transformer=TableTransformer(list(columns.values())))
made = synthesizer.sample(len(frame))
made.to_csv(output, index=False)
print((made.education >= 16).sum())
print(made.wage[made.region == "south"].mean())
print(made.wage[made.ethnicity == "cauc"].mean() - made.wage[made.ethnicity == "afam"].mean())
