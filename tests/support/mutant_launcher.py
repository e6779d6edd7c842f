"""A launcher of mutants that starts in half the time of ``python -m conformance.fixtures.mutants``.

Run it with ``python -S``; its arguments are the directory of the fixtures and the name of the mutant.
"""

import sys
from types import ModuleType

package = ModuleType("conformance")
package.__path__ = [sys.argv[1]]
sys.modules["conformance"] = package

from conformance.fixtures.mutants.__main__ import run  # noqa: E402

sys.exit(run(sys.argv[2:]))
