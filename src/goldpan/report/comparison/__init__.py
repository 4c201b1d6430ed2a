"""The report on a comparison: what each section says, as parts of `report/document.py`."""
