"""The chapters, and the programs that run them."""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # jsonschema does without: addresses in notebooks, and a second's work
