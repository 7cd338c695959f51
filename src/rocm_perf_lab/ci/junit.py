"""The findings in JUnit's XML format, which Jenkins, GitLab and others show as tests. Each program is a suite with one test for
the program itself and one for each limit.

JUnit has no schema; elements and attributes follow https://github.com/testmoapp/junitxml, which describes what tools read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from rocm_perf_lab.ci.document import CiDocument, ProgramSection

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


@dataclass(frozen=True)
class _Case:
    """kind: 'error', 'failure' or 'skipped'; None if the test passed."""

    name: str
    kind: str | None = None
    message: str = ""
    details: str = ""


def to_junit(document: CiDocument) -> str:
    root = ElementTree.Element("testsuites", name="rocm-perf ci")
    cases = [case for program in document.programs for case in _add_suite(root, program)]
    _count(root, cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: ElementTree.Element, program: ProgramSection) -> list[_Case]:
    suite, cases = ElementTree.SubElement(root, "testsuite", name=_clean(program.name)), list(_cases(program))
    _count(suite, cases)
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", classname=_clean(program.name), name=_clean(case.name))
        if case.kind:
            ElementTree.SubElement(element, case.kind, message=_clean(case.message)).text = _clean(case.details)
    return cases


def _cases(program: ProgramSection) -> Iterator[_Case]:
    if program.comparison is None:
        kind = "skipped" if program.state == "new" else "error"
        yield _Case(program.command, kind, program.why or "")
        return
    yield _Case(program.command)
    for limit in program.comparison.comparisons[0].limits:
        by = "\n".join(limit.by)
        yield (
            _Case(limit.limit, "failure", limit.by[0] if limit.by else limit.limit, by)
            if limit.exceeded
            else _Case(limit.limit)
        )


def _count(element: ElementTree.Element, cases: list[_Case]) -> None:
    element.set("tests", str(len(cases)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.kind == kind for case in cases)))


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
