"""The recipe of JavaScript installs by the lock and runs tests as the project's own script does.

Package managers and runners are scripts here, which write down how they were called.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from goldpan.execution.command import CommandLimits
from goldpan.execution.outcomes import Outcome
from goldpan.execution.recipe import RunRecipe, load_recipes
from goldpan.execution.reports import read_report

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js: install node"),
]
CALLED = '#!/bin/sh\necho "${0##*/} $*" >> "$LOG"\n'
RUNNER = '#!/bin/sh\necho "MODE=$MODE$NODE_EXTRA_CA_CERTS $*" >> "$LOG"\n'
MODULE = """#!/usr/bin/env node
const called = ["gc", typeof gc, ...process.argv.slice(2)].join(" ") + "\\n"
require("fs").appendFileSync(process.env.LOG, called)
"""


@pytest.fixture
def recipe() -> RunRecipe:
    return next(recipe for recipe in load_recipes() if recipe.name == "npm")


class Checkout:
    """A checkout whose programs are scripts."""

    def __init__(self, root: Path, recipe: RunRecipe) -> None:
        self.root, self.recipe = root / "testbed", recipe
        self.home, self.log, self.report = root / "home", root / "log", root / "report"
        for folder in (self.root, self.home):
            folder.mkdir()
        self.write({"package.json": "{}"})

    def write(self, files: dict[str, str]) -> None:
        """Write files, scripts as programs."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)

    def scripts(self, **scripts: str) -> None:
        """Declare the project's own scripts."""
        self.write({"package.json": json.dumps({"scripts": scripts})})

    def build(self) -> list[str]:
        """Return the calls of package managers that building makes."""
        self.write({f"bin/{name}": CALLED for name in ("npm", "pnpm", "yarn")})
        ways = self.recipe.builds(str(self.root), str(self.home), "2020-02-02T00:00:00Z")
        self.run(ways[0][0])
        return self.calls

    def test(self, way: str, *files: str) -> dict[str, Outcome]:
        """Return what one way of running tests reports."""
        commands = self.recipe.test_commands("", str(self.report), files)
        number = next(at for at, command in enumerate(commands) if way in command)
        self.run(commands[number])
        content = self.report.read_bytes() if self.report.exists() else b""
        return read_report(content, self.recipe.format_of(number)) if content else {}

    def run(self, command: Sequence[str]) -> None:
        """Run a command of the recipe below the usual limit of memory."""
        variables = {**self.recipe.variables(str(self.home)), "HOME": str(self.home)}
        path = f"{self.root}/bin:{os.environ['PATH']}"
        subprocess.run(
            ["prlimit", f"--as={CommandLimits().memory}", *command],
            cwd=self.root,
            env={**variables, "PATH": path, "LOG": str(self.log)},
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        """What programs wrote down."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def checkout(tmp_path: Path, recipe: RunRecipe) -> Checkout:
    return Checkout(tmp_path, recipe)


@pytest.mark.parametrize(
    ("files", "calls"),
    [
        ({}, ["npm install", "--no-package-lock --before=2020-02-02T00:00:00Z"]),
        ({"package-lock.json": "{}"}, ["npm ci"]),
        ({"yarn.lock": "# yarn lockfile v1\n"}, ["yarn@1", "yarn install --frozen-lockfile"]),
        ({"yarn.lock": "__metadata:\n  version: 6\n\na:\n  version: 9.0\n"},
         ["@yarnpkg/cli-dist@3", "yarn install"]),
        ({"yarn.lock": "__metadata:\n  version: 8\n",
          "package.json": '{"packageManager": "yarn@4.1.0"}'},
         ["@yarnpkg/cli-dist@4.1.0", "yarn install"]),
        ({"pnpm-lock.yaml": "lockfileVersion: '6.0'\n"}, ["pnpm@8", "pnpm install --frozen"]),
        ({"pnpm-lock.yaml": "lockfileVersion: 5.3\n"}, ["pnpm@6", "pnpm install --frozen"]),
        ({"pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
          "package.json": '{\n  "packageManager": "pnpm@9.1.2+sha512.ab"\n}'},
         ["pnpm@9.1.2", "pnpm install --frozen"]),
    ],
)  # fmt: skip
def test_the_lock_names_the_package_manager(
    checkout: Checkout, files: dict[str, str], calls: list[str]
) -> None:
    checkout.write(files)
    made = "\n".join(checkout.build())
    assert all(call in made for call in calls), made
    assert ("--before" in made) == any("--before" in call for call in calls)


def test_peers_that_do_not_fit_are_let_pass(checkout: Checkout) -> None:
    checkout.write({"package-lock.json": "{}"})
    strict = f"{CALLED}case $* in *legacy-peer-deps) exit 0;; *) exit 1;; esac\n"
    checkout.write({"bin/npm": strict})
    ways = checkout.recipe.builds("", "", "")
    checkout.run(ways[0][0])
    assert [call.split()[-1] for call in checkout.calls] == ["--no-fund", "--legacy-peer-deps"]


@pytest.mark.parametrize(
    ("script", "given"),
    [
        ("mocha test/", "MODE= --reporter xunit"),
        ("MODE=x mocha --require a/env --reporter spec --check-leaks test/",
         "MODE=x --require a/env --check-leaks --reporter xunit"),
        ("eslint . && cross-env MODE='a b' nyc --reporter=html _mocha -t 5 --watch",
         "MODE=a b -t 5 --reporter xunit"),
        ("node --expose-gc node_modules/.bin/mocha.js --config=c.json",
         "gc function --config=c.json --reporter xunit"),
        ("MODE=$HOME mocha", "MODE= --reporter xunit"),
        ("mocha --compilers js:babel-register --recursive",
         "MODE= --compilers js:babel-register --recursive --reporter xunit"),
    ],
)  # fmt: skip
def test_options_of_the_projects_own_script_are_kept(
    checkout: Checkout, script: str, given: str
) -> None:
    checkout.scripts(test=script)
    checkout.write({"node_modules/.bin/mocha": RUNNER, "node_modules/.bin/mocha.js": MODULE})
    checkout.test("mocha", "test/a.js")
    assert checkout.calls == [f"{given} -O output={checkout.report} test/a.js"]


def test_all_tests_are_those_of_the_projects_own_script(checkout: Checkout) -> None:
    checkout.scripts(test="mocha -r a.js --reporter spec test 'lib/**/*.js'")
    checkout.write({"node_modules/.bin/mocha": RUNNER, "a.js": "", "test/a.js": ""})
    checkout.test("mocha")
    assert checkout.calls[0].endswith(f" output={checkout.report} test lib/**/*.js")


def test_what_the_tests_are_of_is_built_with_the_fix(checkout: Checkout) -> None:
    checkout.write({"node_modules/.bin/mocha": RUNNER, "bin/npm": CALLED})
    checkout.scripts(test="mocha", build="tsc")
    checkout.test("mocha")
    checkout.scripts(test="npm run build && mocha", build="tsc")
    checkout.test("mocha")
    assert [call.split()[0] for call in checkout.calls] == ["MODE=", "npm", "MODE="]


def test_names_of_files_are_no_patterns_to_jest(checkout: Checkout) -> None:
    checkout.write({"node_modules/.bin/jest": RUNNER})
    checkout.test("jest", "a/[id]/(b)/c.test.ts")
    (call,) = checkout.calls
    assert call.endswith(r" a/\[id\]/\(b\)/c\.test\.ts")


def test_webassembly_runs_below_the_limit_of_memory(checkout: Checkout) -> None:
    vitest = f"""{MODULE}
const memory = new WebAssembly.Memory({{initial: 1}}), report = process.argv[4].split("=")[1]
const file = {{name: "/testbed/a.ts", assertionResults: [{{title: "adds", status: "passed"}}]}}
require("fs").writeFileSync(report, JSON.stringify({{testResults: [file]}}))
"""
    checkout.write({"node_modules/.bin/vitest": vitest})
    assert checkout.test("vitest", "a.ts") == {"a.ts > adds": "passed"}


def test_reports_of_an_old_mocha_are_what_it_prints(checkout: Checkout) -> None:
    mocha = "#!/bin/sh\necho noise\necho 'not ok 1 it subtracts'\necho 'ok 2 it adds'\n"
    checkout.write({"node_modules/.bin/mocha": mocha})
    assert checkout.test("mocha") == {}
    assert checkout.test("mocha-tap") == {"it subtracts": "failed", "it adds": "passed"}


def test_lab_writes_junit_xml(checkout: Checkout) -> None:
    lab = (
        '#!/bin/sh\necho \'<testsuite><testcase classname="a" name="adds"/></testsuite>\' > "$4"\n'
    )
    checkout.write({"node_modules/.bin/lab": lab})
    assert checkout.test("lab", "a.js") == {"a.adds": "passed"}


@pytest.mark.parametrize("way", ["jasmine", "jasmine-reporter"])
def test_jasmine_reports_by_a_helper_or_a_reporter(checkout: Checkout, way: str) -> None:
    results = [
        {"fullName": "it adds\n#2", "status": "passed"},
        {"fullName": "it waits", "status": "pending"},
        {"fullName": "it fails", "status": "failed"},
    ]
    jasmine = f"""{MODULE}
const [[, config], [option, file]] = process.argv.slice(2).map(word => word.split("="))
const report = reporter => {{
  for (const result of {json.dumps(results)}) reporter.specDone(result)
}}
if (option === "--helper") global.jasmine = {{getEnv: () => ({{addReporter: report}})}}
const Reporter = require(file)
if (option === "--reporter") report(new Reporter())
"""
    checkout.scripts(test="jasmine --config=jasmine.json")
    checkout.write({"node_modules/.bin/jasmine": jasmine})
    outcomes = {"it adds \\#2": "passed", "it waits": "skipped", "it fails": "failed"}
    assert checkout.test(way, "spec/a.js") == outcomes


@pytest.mark.parametrize(
    ("way", "printed", "outcomes"),
    [
        ("ava", "TAP version 13\n# a › adds\nok 1 - a › adds\n# a › waits\nok 2 - a › waits # SKIP",
         {"a › adds": "passed", "a › waits": "skipped"}),
        ("tap", "# Subtest: a.js\n    # Subtest: adds\n        not ok 1 - 2\n        1..1\n"
         "    not ok 1 - adds\n    1..1\nnot ok 1 - a.js\n1..1\n",
         {"a.js > adds > 2": "failed", "a.js > adds": "failed", "a.js": "failed"}),
        ("tape", "# adds\nok 1 small\nnot ok 2 large\n# subtracts\nok 3 small\n# tests 3",
         {"adds > small": "passed", "adds > large": "failed", "subtracts > small": "passed"}),
    ],
)  # fmt: skip
def test_what_these_runners_print_is_their_report(
    checkout: Checkout, way: str, printed: str, outcomes: dict[str, Outcome]
) -> None:
    runner = f"{RUNNER}cat <<'END'\n{printed}\nEND\n"
    checkout.scripts(test=f"nyc {way} --require a/env 'test/**/*.js'")
    checkout.write({f"node_modules/.bin/{way}": runner})
    assert checkout.test(way, "a.js") == outcomes
    kept = {"ava": "--tap", "tap": "--require a/env", "tape": "--require a/env"}[way]
    assert checkout.calls == [f"MODE= {kept} a.js"]
