import sys

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

table, output = sys.argv[1:]
frame = pd.read_csv(table)
data = {"wages": frame}
metadata = Metadata.detect_from_dataframes(data)
synthesizer = GaussianCopulaSynthesizer(metadata)
synthesizer.fit(data)
made = synthesizer.sample(len(frame))["wages"]
made.to_csv(output, index=False)
print((made.education >= 16).sum())
print(made.wage[made.region == "south"].mean())
print(made.wage[made.ethnicity == "cauc"].mean() - made.wage[made.ethnicity == "afam"].mean())
