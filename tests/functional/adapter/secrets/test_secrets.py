"""Secrets are in nothing that Java's log prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dbt.adapters.lakemerge.spark import session

KEY, PASSWORD = "k3y-of-s3-planted", "passw0rd-planted"


class TestSecrets:
    def test_javas_log_has_no_passwords_of_urls(self, project: Any) -> None:
        text = Path(session.__file__).with_name("log4j2.properties").read_text()
        (pattern,) = re.findall(r"^appender.console.layout.pattern = (.*)$", text, re.MULTILINE)
        with project.adapter.connection_named("log"):
            log4j = project.adapter.handle.application.jvm.java.org.apache.logging.log4j
        layout = (
            log4j.core.layout.PatternLayout.newBuilder().withPattern(pattern.replace("\\\\", "\\")).build()
        )
        message = log4j.message.SimpleMessage(
            f"no connection to jdbc:x://u:{PASSWORD}@db/x;Password={KEY};user=u"
        )
        event = log4j.core.impl.Log4jLogEvent.newBuilder().setMessage(message).setLevel(log4j.Level.ERROR)
        line = str(layout.toSerializable(event.setLoggerName("org.Pool").build()))
        assert line.endswith(" ERROR Pool: no connection to jdbc:x://*****@db/x;Password=*****;user=u\n")
