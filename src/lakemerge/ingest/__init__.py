"""Landed files and topics: what is still to be read, and what has been read."""

from lakemerge.ingest.file_ledger import FileLedger, ReadFile
from lakemerge.ingest.landing import Arrivals, LandingRules, look
from lakemerge.ingest.topics import OffsetLedger, TopicArrivals, TopicRules, look_at_topics

__all__ = [
    "Arrivals",
    "FileLedger",
    "LandingRules",
    "OffsetLedger",
    "ReadFile",
    "TopicArrivals",
    "TopicRules",
    "look",
    "look_at_topics",
]
