"""What holds for every command: help, robot mode, errors and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lore import Lore

from loreline.__main__ import help_page
from loreline.faces.cli.main import COMMANDS, run

NAMES = [name for section in COMMANDS.values() for name in section]


def test_the_ready_made_help_page_is_what_click_would_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run(["--help"])
    assert capsys.readouterr().out == help_page()


def test_help_comes_without_importing_click() -> None:
    code = (
        "import sys; sys.argv = ['lore', '--help']; import loreline.__main__ as m; m.main();"
        " assert 'click' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == help_page()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(lore: Lore, name: str) -> None:
    done = lore(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: lore {name}")
    for option in ("--robot", "--config", "--database"):
        assert option in done.out


@pytest.mark.parametrize("words", [["-J", "count", "mrs"], ["count", "-J", "mrs"], ["count", "mrs", "--robot"]])
def test_robot_mode_is_taken_in_any_position(mirrored: Lore, words: list[str]) -> None:
    done = mirrored(*words)
    assert done.data["total"] == 32
    assert done.out.count("\n") == 1
    assert done.answer["meta"]["warnings"] == []
    assert done.answer["meta"]["elapsed_ms"] >= 0


def test_config_is_taken_in_any_position(mirrored: Lore, lore: Lore) -> None:
    config = str(mirrored.folder / "loreline.toml")
    for words in (["--config", config, "count", "mrs"], ["count", "mrs", "--config", config]):
        assert lore(*words).out == "32\n"


def test_an_unknown_command_names_the_nearest(lore: Lore) -> None:
    done = lore("snyc")
    assert done.code == 2
    assert "Did you mean 'sync'?" in done.err
    assert done.out == ""


def test_a_robot_is_told_errors_on_stdout_as_json(lore: Lore) -> None:
    done = lore("-J", "sync", "--frobnicate")
    assert done.code == 2
    assert done.answer["ok"] is False
    assert done.answer["error"]["code"] == "usage"


def test_a_missing_choice_is_told_in_one_line(lore: Lore) -> None:
    done = lore("count")
    assert done.code == 2
    assert [line.partition(":")[0] for line in done.err.splitlines()] == ["error", "hint"]
    assert "references" in done.err
    assert "\n" not in lore("-J", "count").answer["error"]["message"]


def test_arguments_that_are_no_text_are_refused_and_told(mirrored: Lore) -> None:
    odd = "\udcff"  # as Python takes the byte FF
    for words in (["show", odd], ["list", "issues", "-S", odd], ["list", "issues", "-l", odd]):
        assert mirrored(*words).code == 13
        assert mirrored("-J", *words).answer["error"]["code"] == "invalid_value"
    assert mirrored("-J", "--config", odd, "sync").answer["error"]["message"].endswith("\ufffd")


def test_without_configuration_sync_says_what_to_do(lore: Lore) -> None:
    done = lore("sync")
    assert done.code == 3
    assert "hint: run lore init" in done.err


def test_before_the_first_sync_reading_says_what_to_run(ready: Lore) -> None:
    done = ready("list", "issues")
    assert done.code == 17
    assert "run lore sync" in done.err


def test_an_unknown_key_names_the_nearest(ready: Lore) -> None:
    path = ready.folder / "loreline.toml"
    path.write_text(path.read_text().replace("retries", "retires"))
    done = ready("doctor")
    assert done.code == 4
    assert "did you mean 'retries'?" in done.out


def test_a_key_in_the_wrong_place_and_a_misspelt_variable_are_told(ready: Lore) -> None:
    path = ready.folder / "loreline.toml"
    text = path.read_text()
    path.write_text("concurency = 3\n" + text)
    assert "did you mean 'concurrency' under [sync]?" in ready("sync").err
    path.write_text(text)
    ready.environ["LORELINE_DATABSE"] = "elsewhere.db"
    done = ready("sync")
    assert done.code == 4
    assert "did you mean LORELINE_DATABASE?" in done.err


def test_a_pipe_that_closes_early_is_no_error(mirrored: Lore) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "loreline", "show", "mr", "6"],
        cwd=mirrored.folder,
        env=mirrored.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_disk_that_is_full_is_told_as_such(mirrored: Lore) -> None:
    for words in (["list", "mrs"], ["-J", "list", "mrs"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "loreline", *words],
                cwd=mirrored.folder,
                env=mirrored.environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=60,
            )
        assert done.returncode == 10
        assert "error: the disk is full" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_terminal_that_knows_little_gets_what_it_can_show_and_a_robot_everything(mirrored: Lore) -> None:
    poor = Lore(mirrored.folder, mirrored.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    done = poor("show", "mr", "6")
    assert done.code == 0, done
    assert "refresh-rotation ? main" in done.out
    words = ("-J", "show", "mr", "5")
    assert poor(*words).data == mirrored(*words).data


def test_no_colour_reaches_a_pipe_and_no_color_is_heeded(mirrored: Lore) -> None:
    assert "\x1b" not in mirrored("show", "mr", "6").out
    assert "\x1b[" in mirrored.on_terminal("list", "mrs")
    plain = Lore(mirrored.folder, mirrored.environ | {"NO_COLOR": "1"})
    assert "\x1b[3" not in plain.on_terminal("list", "mrs")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(lore: Lore, shell: str) -> None:
    done = lore("completions", shell)
    assert done.code == 0
    assert "_LORE_COMPLETE" in done.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.out, text=True, check=True)


def test_completion_offers_the_commands(lore: Lore) -> None:
    lore.environ |= {"_LORE_COMPLETE": "bash_complete", "COMP_WORDS": "lore s", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['lore']; from loreline.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=lore.environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert {"plain,sync", "plain,show", "plain,sync-status", "plain,simulator"} <= set(done.stdout.split())


def test_version_is_the_packages(lore: Lore) -> None:
    from loreline import __version__

    assert lore("version").out == f"lore {__version__}\n"
    assert lore("-J", "version").data["version"] == __version__
    assert lore("--version").out == f"{__version__}\n"
    assert os.linesep not in __version__


def test_a_hostile_working_folder_runs_nothing(in_hostile_folder: Lore) -> None:
    for words in (("sync", "-q"), ("list", "issues"), ("search", "token"), ("completions", "bash")):
        done = in_hostile_folder(*words)
        assert done.code == 0, done
    assert not (in_hostile_folder.folder / "pwned").exists()
