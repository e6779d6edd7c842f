#!/usr/bin/env node
// Start mcp-conformance with uv, pipx or Python, and end as it ends.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { constants as system } from "node:os";
import { delimiter, join } from "node:path";

const NOT_RUN = 4; // the exit status of mcp-conformance itself for a run that could not begin
const UNRELEASED = "0.0.0";
const COMMAND = "mcp-conformance";
// Without the working directory, whose files may have the names of modules.
const SAFE = "-P";
const MODULE = [SAFE, "-m", "mcp_conformance"];
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf-8"));
const spec =
  process.env.MCP_CONFORMANCE_SPEC ||
  `pytest-mcp-conformance[http]${version === UNRELEASED ? "" : `==${version}`}`;

/** Return the path of a program; undefined if the search path has none. */
function which(name) {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const places = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return places.map((place) => join(place, file)).find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Return whether a Python has mcp-conformance; its own error stays unseen. */
function hasIt(python) {
  const code = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('mcp_conformance'))";
  return spawnSync(python, [SAFE, "-c", code], { stdio: "ignore" }).status === 0;
}

/** Return the words that start it, without its arguments. */
function start() {
  const chosen = process.env.MCP_CONFORMANCE_PYTHON;
  if (chosen) {
    return hasIt(chosen) ? [chosen, ...MODULE] : fail(`MCP_CONFORMANCE_PYTHON: ${chosen} has no pytest-mcp-conformance`);
  }
  const uvx = which("uvx");
  if (uvx) return [uvx, "--from", spec, COMMAND];
  const pipx = which("pipx");
  if (pipx) return [pipx, "run", "--spec", spec, COMMAND];
  const pythons = ["python3", "python", "py"].map(which).filter(Boolean);
  const python = pythons.find(hasIt);
  if (python) return [python, ...MODULE];
  const others = pythons.length ? `, or ${pythons[0]} -m pip install '${spec}'` : " and Python 3.11 or newer";
  return fail(`it needs uv (https://docs.astral.sh/uv/) or pipx, and found neither: install one${others}`);
}

function fail(message) {
  console.error(`${COMMAND}: ${message}`);
  process.exit(NOT_RUN);
}

const [program, ...words] = start();
let child;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // A terminal sends Ctrl-C to both processes already.
  process.on(signal, () => signal === "SIGINT" && process.stdin.isTTY ? undefined : child?.kill(signal));
}
child = spawn(program, [...words, ...process.argv.slice(2)], { stdio: "inherit" });
child.on("error", (error) => fail(`${program} did not start: ${error.message}`));
child.on("exit", (status, signal) => process.exit(signal ? 128 + system.signals[signal] : status));
