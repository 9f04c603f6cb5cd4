"""The ledger of claims: what the documents print, how each claim is judged, and how a verdict is shown."""
