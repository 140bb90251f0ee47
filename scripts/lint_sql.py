"""Lint all SQL of the project with sqlfluff: models as they are, macros by what they render to.

Usage: python scripts/lint_sql.py [--verbose]. Exits with 1 and a line for each finding; verbose names the
macros that give no SQL, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sqlfluff.core import FluffConfig, Linter

from render_macros import RENDER_ERRORS, Macros, Rendering

ROOT = Path(__file__).parent.parent
MODEL_FOLDERS = (
    "models",
    "snapshots",
    "tests/singular",
    "src/lakemerge/dbt_package/lakemerge/starter_project",
)
# What a macro returns may be part of a statement: it is completed by the first of these that parses.
COMPLETIONS = (
    "{}\n",
    "select {}\nfrom sample_table\n",
    "select *\nfrom sample_table\nwhere {}\n",
    "select *\nfrom {}\n",
    "with {}\nselect * from sample_table\n",
    "with {}\n",
    "select {}\n    *\nfrom sample_table\n",
    "create table sample_table {}\n",
    "create table sample_table (sample_key string)\n{}\n",
    "alter table sample_table {}\n",
)
# Line breaks and indents of rendered text come from several macros together, and a sample has no
# columns that a rule could check.
RENDERED_EXCLUDES = (
    "layout",
    "references",
    "structure",
    "ambiguous.column_count",
    "ambiguous.order_by_limit",
    "aliasing.required",
    "aliasing.length",
    "aliasing.self_alias.column",
    "aliasing.unused",
)


@dataclass(frozen=True)
class Finding:
    """One thing to mend."""

    where: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.code} {self.message}"


def lint_models(root: Path) -> Iterator[Finding]:
    """Findings in the SQL files that dbt builds, with their own lines and columns."""
    folders = [str(root / name) for name in MODEL_FOLDERS if (root / name).is_dir()]
    if not folders:
        raise SystemExit(f"expected at least one of {', '.join(MODEL_FOLDERS)} below {root}; found none")
    linter = Linter(config=FluffConfig.from_path(str(root)))
    directories = linter.lint_paths(tuple(folders)).paths
    for file in (file for directory in directories for file in directory.files):
        for error in file.get_violations():
            path = Path(file.path).resolve().relative_to(root.resolve())
            yield Finding(f"{path}:{error.line_no}:{error.line_pos}", error.rule_code(), error.desc())


class MacroLinter:
    """Renders every macro of a folder and lints what comes out.

    Attributes:
        linted: number of different SQL texts that were linted.
        without_sql: macros that gave no SQL with any sample, with the reason.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.linted = 0
        self.without_sql: dict[str, str] = {}
        excludes = ",".join(RENDERED_EXCLUDES)
        config = FluffConfig.from_path(str(ROOT), overrides={"templater": "raw", "exclude_rules": excludes})
        self._linter = Linter(config=config)
        self._rules = self._linter.get_rulepack(config)

    def findings(self) -> Iterator[Finding]:
        """Findings in what the macros render to, and macros that do not render."""
        macros = Macros(self.folder)
        for name, entry in macros.described().items():
            path = macros.own[name]
            where = f"{path.relative_to(self.folder.parent)} ({name})"
            if entry.skip:
                self.without_sql[name] = entry.skip
                continue
            try:
                renderings = list(macros.render(name, entry))
            except RENDER_ERRORS as error:
                yield Finding(where, "RENDER", f"{type(error).__name__}: {error}")
                continue
            if not any(rendering.sql for rendering in renderings):
                self.without_sql[name] = renderings[0].stopped or "returns no text"
            for rendering, text in _distinct(renderings):
                for finding in self._lint(text, where, rendering.exact):
                    yield replace(finding, message=f"{finding.message} [with {rendering.sample}]")

    def _lint(self, text: str, where: str, exact: bool) -> Iterator[Finding]:
        for completion in COMPLETIONS:
            parsed = self._linter.parse_string(completion.format(text))
            if not parsed.violations:
                break
        else:
            if not exact:
                return
            parsed = self._linter.parse_string(COMPLETIONS[0].format(text))
        self.linted += 1
        lines = text.splitlines()
        for error in self._linter.lint_parsed(parsed, self._rules).get_violations():
            line = lines[min(error.line_no, len(lines)) - 1].strip()
            yield Finding(where, error.rule_code(), f"{error.desc()} in: {line}")


def _distinct(renderings: list[Rendering]) -> Iterator[tuple[Rendering, str]]:
    seen = set()
    for rendering in renderings:
        for text in rendering.sql:
            if text not in seen:
                seen.add(text)
                yield rendering, text


def main() -> int:
    """Lint the repository."""
    findings = list(lint_models(ROOT))
    macro_linter = MacroLinter(ROOT / "macros")
    findings.extend(macro_linter.findings())
    for finding in findings:
        print(finding)
    if "--verbose" in sys.argv[1:]:
        for name, reason in sorted(macro_linter.without_sql.items()):
            print(f"[lint] no SQL from macro {name}: {reason}", file=sys.stderr)
    counts = f"{macro_linter.linted} texts of macros linted, {len(macro_linter.without_sql)} macros give none"
    print(f"[lint] {counts}; {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
