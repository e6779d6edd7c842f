# The formula of a Homebrew tap; RELEASING.md says how its gaps are filled.
class PytestMcpConformance < Formula
  include Language::Python::Virtualenv

  desc "Conformance test suite and fuzzer for MCP servers"
  homepage "https://pypi.org/project/pytest-mcp-conformance/"
  url "SDIST_URL"
  sha256 "SDIST_SHA256"
  license "MIT"

  depends_on "python@3.13"

  # `brew update-python-resources` writes a resource for each dependency here.

  def install
    virtualenv_install_with_resources
  end

  test do
    system bin/"mcp-conformance", "run", "--select", "ping", "--fuzz", "none",
           "--", libexec/"bin/python", "-m", "mcp_conformance_fixtures.reference"
  end
end
