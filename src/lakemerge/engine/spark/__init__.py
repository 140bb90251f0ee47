"""Spark as dbt's connections use it: how it starts, its sessions, its statements and their outcome."""
