# mcp-conformance in an image, without a server: for servers at a URL, or as the base of an image that has one.
#   docker build -t mcp-conformance .
#   docker run --rm -v "$PWD:/work" mcp-conformance run --url https://mcp.example.com/mcp
FROM python:3.13-slim AS build
COPY . /source
# The build context has no history of git, which the version is counted from; the dependencies have their own.
ARG VERSION=0.1.0.dev0
RUN python -m venv /opt/mcp-conformance \
    && SETUPTOOLS_SCM_PRETEND_VERSION=$VERSION \
       /opt/mcp-conformance/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source \
    && /opt/mcp-conformance/bin/pip install --no-cache-dir "$(echo /wheels/*.whl)[http]"

FROM python:3.13-slim
COPY --from=build /opt/mcp-conformance /opt/mcp-conformance
ENV PATH="/opt/mcp-conformance/bin:$PATH"
RUN useradd --create-home --uid 1000 tester
USER 1000
WORKDIR /work
ENTRYPOINT ["mcp-conformance"]
CMD ["--help"]
