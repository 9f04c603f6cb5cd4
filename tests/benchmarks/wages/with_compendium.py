import sys

from dp_compendium.release import Synthesizer

table, output = sys.argv[1:]
synthesizer = Synthesizer("wages.yml", epsilon=1.0, delta=1e-9).fit(table)
synthesizer.sample().to_csv(output, index=False)
for question in (
    "count where education >= 16",
    "mean(wage) where region = south",
    "mean(wage) where ethnicity = cauc - mean(wage) where ethnicity = afam",
):
    answer = synthesizer.query(question)
    print(answer.estimate, answer.low, answer.high)
