"""Every command is in the README, and every command line that is shown could be typed."""

import re
import shlex

import click
import pytest
from tests.docs.pages import PAGES, README, ROOT, name, prose, rows, typed

from loreline import settings
from loreline.__main__ import help_page
from loreline.faces.cli.invocation import Invocation
from loreline.faces.cli.main import lore

_ASSIGNMENT = re.compile(r"[A-Z_]+=")


def listed_commands():
    """The commands of `lore --help`, as it is printed."""
    sections = help_page().split("Options:", 1)[1].split("\n\n")[1:]
    lines = (line for section in sections for line in section.splitlines())
    return {match[1] for line in lines if (match := re.match(r"  ([a-z][a-z-]*) {2,}\S", line))}


def command_lines():
    """Each `lore …` of each page's console blocks, as words; what it is piped into is left out."""
    for page in PAGES:
        for line in typed(page):
            words = shlex.split(line)
            while words and _ASSIGNMENT.match(words[0]):
                del words[0]
            if words and words[0].rpartition("/")[2] == "lore":
                end = next((place for place, word in enumerate(words) if word in {"|", ">", ">>", "&&"}), len(words))
                yield pytest.param(words[1:end], id=f"{name(page)} {line}")


def parse(words):
    """As the command line would be parsed, up to where the command would start; its context."""
    context = lore.make_context("lore", list(words), obj=Invocation())
    found, command, rest = lore.resolve_command(context, [*context._protected_args, *context.args])
    assert command is not None
    return command.make_context(found, rest, parent=context)


def test_the_help_lists_what_the_program_has():
    assert listed_commands() == set(lore.list_commands(click.Context(lore)))


def test_every_command_of_the_help_is_in_the_readme_and_none_else():
    told = {match[1] for row in rows(README) if (match := re.fullmatch(r"`lore ([a-z-]+)`", row[0]))}
    assert told == listed_commands()


@pytest.mark.parametrize("words", list(command_lines()))
def test_a_command_line_that_is_shown_parses(words):
    parse(words)


def test_a_command_line_that_is_wrong_does_not_parse():
    with pytest.raises(click.NoSuchOption):
        parse(["sync", "--frobnicate"])
    with pytest.raises(click.UsageError):
        parse(["frobnicate"])


def test_every_option_of_a_command_in_prose_exists():
    known = {option for command in listed_commands() for option in options(command)} | {"--help"}
    for page in PAGES:
        for quoted in re.findall(r"`((?:lore [a-z-]+ )?--[^`]*)`", prose(page)):
            named = set(re.findall(r"--[a-z][a-z-]*", quoted)) - {"--randomly-seed"}
            assert named <= known, (name(page), quoted)


def options(command_name):
    command = lore.get_command(click.Context(lore), command_name)
    return [option for parameter in command.params for option in parameter.opts if option.startswith("--")]


@pytest.mark.parametrize("table", [settings.Settings, settings.Instance, settings.Sync])
def test_every_key_of_the_settings_is_explained(table):
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert not [field for field in table.__struct_fields__ if f"`{field}`" not in text]


@pytest.mark.parametrize("table", [settings.Instance, settings.Sync])
def test_every_key_stands_with_its_default_and_its_name_in_the_environment(table):
    prefix = f"LORELINE_{table.__name__.upper()}_"
    told = {row[0].strip("`"): row for row in rows(ROOT / "docs" / "configuration.md") if len(row) == 5}
    defaults = dict(zip(reversed(table.__struct_fields__), reversed(table.__struct_defaults__), strict=False))
    for field in table.__struct_fields__:
        assert told[field][4] == f"`{prefix}{field.upper()}`"
        assert told[field][2].strip("`") == shown(defaults.get(field, "required"))


def shown(default):
    if default is None:
        return "none"
    if default == ():
        return "[]"
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) and default != "required" else str(default)
