# SPDX-License-Identifier: MIT
"""The manual page and the completions say what the command does."""
import pathlib
import re
import shlex
import shutil
import subprocess

import command
from command import HANG, PAWL, CommandTest, environment, pawl

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MANUAL = (TOP / "cli/pawl.1").read_text()
BASH = TOP / "cli/completion/pawl.bash"
ZSH = TOP / "cli/completion/_pawl"
COMMANDS = ("board", "demo", "explain", "next", "run", "store", "top")


def options_of(subcommand):
    return sorted(set(re.findall(r"(?<!\S)--[a-z-]+", pawl(subcommand, "--help")[1])))


def plain(roff):
    """A line of an example as it is shown."""
    for escaped, shown in ((r"\&", ""), (r"\-", "-"), (r"\(aq", "'"), (r"\e", "\\")):
        roff = roff.replace(escaped, shown)
    return roff


def completed(*words):
    """The completions of bash for the last of these words."""
    script = f"source {shlex.quote(str(BASH))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; " \
             '_pawl; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, cwd=TOP)
    assert done.stderr == b"", done.stderr
    return sorted(done.stdout.decode().split())


def page_of(name):
    """The manual page that has this name: the installed pages of its other names refer to it."""
    for path in (TOP / "docs/man").glob("*.3"):
        page = path.read_text()
        if name in re.findall(r"\w+", page.split(".SH NAME\n")[1].split(r"\-")[0]):
            return page
    raise AssertionError(f"no manual page is called {name}")


class Manual(CommandTest):
    def test_its_examples_are_true(self):
        examples = re.findall(r"^\.EX\n\$ (.*)\n((?:.*\n)*?)\.EE$", MANUAL, re.M)
        self.assertEqual(len(examples), 3)
        for line, out in examples:
            shell = plain(line).replace("pawl ", f"{shlex.quote(PAWL)} ")
            done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=HANG, env=environment())
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(plain(out), done.stdout.decode(), line)

    def test_it_has_every_option(self):
        told = set(plain(option) for option in re.findall(r"^\.BI? (\\-\\-[a-z\\-]+)", MANUAL, re.M))
        known = {option for name in COMMANDS for option in options_of(name)}
        self.assertEqual(told | {"--help"}, known)

    def test_it_is_good_roff(self):
        if not shutil.which("man"):
            self.skipTest("there is no man")
        for page in [*sorted((TOP / "docs/man").glob("*.[1-9]")), *(TOP / "module/docs").glob("*.[1-9]")]:
            done = subprocess.run(["man", "-l", "--warnings", "-P", "cat", str(page)], capture_output=True, timeout=HANG)
            self.assertEqual((done.returncode, done.stderr.decode()), (0, ""), page)

    def test_every_public_header_has_a_page_with_all_of_its_functions(self):
        headers = sorted((TOP / "include/pawl").glob("*.h"))
        self.assertGreaterEqual(len(headers), 14)
        for header in headers:
            page = page_of("pawl" if header.stem == "pawl" else f"pawl_{header.stem}")
            self.assertIn(f"#include <pawl/{header.name}>", page)
            for function in re.findall(r"^PAWL_API .*?(\w+)\(", header.read_text(), re.M):
                self.assertIn(function, page, header.name)


class Completion(CommandTest):
    def test_bash_knows_commands_and_options(self):
        self.assertEqual(completed("pawl", ""), sorted(["--help", "--version", "help", *COMMANDS]))
        self.assertEqual(completed("pawl", "ex"), ["explain"])
        self.assertEqual(completed("pawl", "help", ""), [*COMMANDS])
        self.assertEqual(completed("pawl", "help", "run", ""), [])
        for name in COMMANDS:
            self.assertEqual(completed("pawl", name, "--"), options_of(name))
        self.assertEqual(completed("pawl", "explain", "--w"), ["--wheel-size"])
        self.assertEqual(completed("pawl", "demo", "--count", ""), [])
        self.assertEqual(completed("pawl", "board", "--server", ""), [])

    def test_bash_completes_files_where_there_are_files(self):
        self.assertEqual(completed("pawl", "run", "READ"), ["README.md"])
        self.assertEqual(completed("pawl", "explain", "--svg", "READ"), ["README.md"])
        self.assertEqual(completed("pawl", "board", "--token-file", "READ"), ["README.md"])
        self.assertEqual(completed("pawl", "top", "READ"), ["README.md"])
        self.assertEqual(completed("pawl", "store", ""), ["check", "list", "repair", "stat"])
        self.assertEqual(completed("pawl", "store", "check", "docs/gui"), ["docs/guide"])
        self.assertEqual(completed("pawl", "store", "list", "--queue", ""), [])
        self.assertEqual(completed("pawl", "explain", "READ"), [])

    def test_zsh_knows_the_same_options(self):
        text = ZSH.read_text()
        for name in COMMANDS:
            part = text[text.index(f"_pawl_{name}()"):].split("\n}")[0]
            self.assertEqual(sorted(re.findall(r"'\*?(--[a-z-]+)\[", part)), options_of(name))

    def test_zsh_understands_it(self):
        if not shutil.which("zsh"):
            self.skipTest("there is no zsh")
        done = subprocess.run(["zsh", "-n", str(ZSH)], capture_output=True, timeout=HANG)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


command.main()
