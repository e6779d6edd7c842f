"""A pytest plugin that gives the check of ping a verdict for each fact about an SDK.

With ``RECOGNISED`` in the environment, the server is taken for one on the SDK of the fact.  The report has
the number of the fact in ``got``.
"""

import os
from copy import copy

from mcp_conformance.plugin import outcomes
from mcp_conformance.sdks import deviations
from mcp_conformance.sdks.recognition import Recognised, Sign
from mcp_conformance.verdicts import Blocked
from support.sdk_samples import samples

known_fact = deviations.known_fact


def pytest_configure():
    """Recognise the SDK of each fact."""
    if "RECOGNISED" in os.environ:
        vars(outcomes)["known_fact"] = known_fact_of_its_sdk


def known_fact_of_its_sdk(server, rule, error):
    """Return the fact that a verdict shows on a server that is built on the fact's SDK."""
    signs = frozenset((Sign.PACKAGE, Sign.UNKNOWN_METHOD))
    vars(deviations)["recognise"] = lambda _: Recognised(error.sdk, "", signs)
    return known_fact(server, rule, error)


def pytest_collection_modifyitems(items):
    """Replace the check of ping."""
    for item in items:
        if item.path.name == "test_ping.py":
            item.obj = raise_all


def raise_all(**fixtures):
    """Raise the verdicts."""
    first, *others = map(numbered, range(len(samples())), samples())
    raise first.with_others(others)


def numbered(number, sample):
    """Return the verdict of a sample, with its number."""
    fact, verdict = sample
    verdict = copy(verdict)
    verdict.requirement, verdict.sdk = fact.rule, fact.sdk
    setattr(verdict, "reason" if isinstance(verdict, Blocked) else "got", f"fact {number}")
    return verdict
