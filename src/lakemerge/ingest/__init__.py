"""Landed files: which of them are to be read, and which have been."""

from lakemerge.ingest.file_ledger import FileLedger, ReadFile
from lakemerge.ingest.landing import Arrivals, LandingRules, look

__all__ = ["Arrivals", "FileLedger", "LandingRules", "ReadFile", "look"]
