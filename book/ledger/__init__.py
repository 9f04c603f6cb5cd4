"""The ledger of claims: what the documents print, how it is judged, and how a verdict is shown."""
