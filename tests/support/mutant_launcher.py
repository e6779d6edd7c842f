"""Serves as a mutant, as ``python -m conformance.fixtures.mutants`` does, but starts in half of the time.

Run it with ``python -S``; its words are the directory that the fixtures lie in, and the name of the mutant.
"""

import sys
from types import ModuleType

package = ModuleType("conformance")
package.__path__ = [sys.argv[1]]
sys.modules["conformance"] = package

from conformance.fixtures.mutants.__main__ import run  # noqa: E402

sys.exit(run(sys.argv[2:]))
