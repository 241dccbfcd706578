"""Settings are read once, refused when unknown, and secrets among them are never shown."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from core.errors import SettingsError
from core.node_file import write_node_file
from core.settings import (
    Settings,
    dictionary_folder,
    environment_names,
    load_settings,
    mcp_secrets,
    model_key,
    source_url,
)
from core.settings_page import example_toml, settings_markdown
from core.team_settings import PriceSettings

EXAMPLE = Path(__file__).parents[3] / "threadbook.example.toml"
PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_nothing_set_gives_a_working_local_configuration(tmp_path: Path) -> None:
    settings = load_settings({}, tmp_path)
    assert settings.home == tmp_path / ".threadbook"
    assert settings.database_url == f"sqlite:///{tmp_path}/.threadbook/threadbook.db"
    assert settings.files == str(tmp_path / ".threadbook" / "files")
    assert settings.model_choice == "offline"
    assert settings.node_id
    assert settings.limits.max_cells == 20


def test_the_environment_wins_over_the_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_MODEL=from-file\nREDIS_URL=redis://file/1\n")
    settings = load_settings({"OPENAI_MODEL": "from-environment"}, tmp_path)
    assert settings.openai_model == "from-environment"
    assert settings.redis_url == "redis://file/1"


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_the_names_that_the_requirement_files_of_others_use_are_taken(tmp_path: Path, place: str) -> None:
    given = {"OPENAI_API_URL": "http://127.0.0.1:9/v1", "OPENAI_API_MODEL": "other"}
    (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in given.items() if place == ".env"))
    settings = load_settings(given if place == "environment" else {}, tmp_path)
    assert (settings.openai_base_url, settings.openai_model) == ("http://127.0.0.1:9/v1", "other")
    assert load_settings({**given, "OPENAI_MODEL": "ours"}, tmp_path).openai_model == "ours"


def test_the_driver_of_the_file_store_finds_what_dotenv_gives_it_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY", "PGPASSFILE"):
        monkeypatch.setenv(name, "")  # what is set meanwhile is gone after the test
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    lines = ["AWS_ENDPOINT_URL=http://127.0.0.1:8333", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "PGPASSFILE=p"]
    (tmp_path / ".env").write_text("\n".join(lines))
    load_settings(cwd=tmp_path)
    found = [
        os.environ[name] for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PGPASSFILE")
    ]
    assert found == ["http://127.0.0.1:8333", "mine", "s", ""]


def test_a_path_of_a_setting_may_begin_at_the_home_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "url").write_text("sqlite:///shop.db")
    toml = '[memory]\nfolder = "~/memory"\n[sources.shop]\nurl_file = "~/url"\ndictionary = "~/words"\n'
    (tmp_path / "team.toml").write_text(toml)
    below = tmp_path / "below"
    below.mkdir()
    settings = load_settings({"THREADBOOK_HOME": "~/kept", "THREADBOOK_CONFIG": "~/team.toml"}, below)
    assert (settings.home, settings.memory_folder) == (tmp_path / "kept", tmp_path / "memory")
    assert source_url(settings, "shop").get_secret_value() == "sqlite:///shop.db"
    assert dictionary_folder(settings, "shop") == tmp_path / "words"


def test_a_path_at_the_home_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^~nobody-here/kept: .*Write it out"):
        load_settings({"THREADBOOK_HOME": "~nobody-here/kept"}, tmp_path)


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    settings = load_settings({"OPENAI_API_KEY": "", "DATABASE_URL": ""}, tmp_path)
    assert settings.openai_api_key is None
    assert settings.database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    ("environment", "choice"),
    [
        ({"OPENAI_API_KEY": "sk-abcdefgh"}, "openai"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "openai"),
        ({"OPENAI_API_KEY": "sk-abcdefgh", "THREADBOOK_MODEL": "offline"}, "offline"),
        ({"THREADBOOK_MODEL": "scripted:replies.json"}, "scripted:replies.json"),
        ({}, "offline"),
    ],
)
def test_the_model_follows_the_key_unless_it_is_chosen(
    tmp_path: Path, environment: dict[str, str], choice: str
) -> None:
    assert load_settings(environment, tmp_path).model_choice == choice


def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"THREADBOOK_HOMES.*nearest.*'THREADBOOK_HOME'"):
        load_settings({"THREADBOOK_HOMES": "x"}, tmp_path)


def test_an_unknown_variable_of_ours_in_dotenv_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("THREADBOOK_FILE=a\n")
    with pytest.raises(SettingsError, match="THREADBOOK_FILES"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize("name", ["threadbook_home", "Redis_Url", "slack_bot_token", "openai_modl"])
def test_a_name_of_ours_in_small_letters_is_refused_with_the_one_that_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / ".env").write_text(f"{name}=a\n")
    meant = "OPENAI_MODEL" if name == "openai_modl" else name.upper()
    with pytest.raises(SettingsError, match=rf"^\.env: unknown setting '{name}'; .* is '{meant}'\.$"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize(
    "line", ["SLACK_BOT_TOKEN='xoxb-1", "SLACK_BOT_TOKEN: xoxb-1", "SLACK_BOT_TOKEN xoxb-1", "export REDIS_URL"]
)
def test_a_line_of_dotenv_that_sets_nothing_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"# ours\n{line}\nTHREADBOOK_HOME=here\n")
    with pytest.raises(SettingsError, match=r"\.env, line 2: write (SLACK_BOT_TOKEN|REDIS_URL)=VALUE") as refused:
        load_settings({}, tmp_path)
    assert "xoxb-1" not in str(refused.value)


def test_lines_of_dotenv_that_others_cannot_write_are_none_of_our_business(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A DIARY\nSLACK_BOT_TOKEN=xoxb-1\n")
    assert load_settings({}, tmp_path).slack_bot_token


@pytest.mark.parametrize("name", [".env", "threadbook.toml"])
@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_of_settings_that_is_not_utf_8_is_refused_by_name(tmp_path: Path, name: str, encoding: str) -> None:
    (tmp_path / name).write_bytes("# für alle\n".encode(encoding))
    with pytest.raises(SettingsError, match=rf"{re.escape(name)} is not UTF-8 .* Save it as UTF-8"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize(("name", "text"), [(".env", "OPENAI_MODEL=m\n"), ("threadbook.toml", "[sandbox]\n")])
def test_the_mark_that_windows_puts_before_utf_8_is_no_part_of_a_setting(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8-sig"))
    assert load_settings({}, tmp_path).openai_model == ("m" if name == ".env" else "gpt-4.1")


@pytest.mark.parametrize("name", [".env", "threadbook.toml"])
def test_a_file_of_settings_that_this_user_may_not_read_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / name).write_text("")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(SettingsError, match=rf"{re.escape(name)} cannot be read: Permission denied"):
        load_settings({}, tmp_path)


def test_variables_of_others_are_none_of_our_business(tmp_path: Path) -> None:
    assert load_settings({"PATH": "/bin", "SLACK_CHANNEL": "x", "OPENAI_ORG": "y"}, tmp_path)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[limit]\nmax_cells = 1\n", "'limit'.*nearest known one is 'limits'"),
        ("[limits]\nmax_cell = 1\n", "'max_cell'.*nearest known one is 'max_cells'"),
        ("[channels.C1]\nstrict = true\n", r"\[channels.C1\].*'strict'.*'strict_mention'"),
        ("[limits]\nmax_cells = 0\n", "limits.max_cells: must be more than 0"),
        ("[limits]\ncell_timeout_s = inf\n", "limits.cell_timeout_s: .*less than 1000000000"),
        ("[limits]\nmemory_mb = 99999999999999\n", "limits.memory_mb: .*less than 2147483648"),
        ("[limits]\nmax_cells = 'many'\n", "limits.max_cells: must be a whole number, without quotes"),
        ("limits = 3\n", r"limits must be a table"),
        ("[access]\nadmins = 'U1'\n", r'access.admins: must be a list, written as \["…"\]\.'),
        ("[limits\n", "not valid TOML"),
        ("[model]\nmode = 'loud'\n", "model.mode: .*'native' or 'fenced'"),
        ("[sandbox]\nminimum = 'weak'\n", "sandbox.minimum"),
        ("[prices.'gpt-4.1']\ninputs = 2\n", r"\[prices.\"gpt-4.1\"\].*'inputs'.*'input'"),
        ("[prices.gpt]\ninput = 2\n", "prices.gpt.output: is missing"),
        ("[prices]\ngpt = 2\n", r"gpt must be a table, written as \[prices.gpt\]"),
        ("[budget]\nturn_token = 2\n", "'turn_token'.*'turn_tokens'"),
    ],
)
def test_a_fault_in_the_teams_file_is_named_with_its_place(tmp_path: Path, toml: str, message: str) -> None:
    (tmp_path / "threadbook.toml").write_text(toml)
    with pytest.raises(SettingsError, match=message):
        load_settings({}, tmp_path)


def test_all_unknown_keys_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({"THREADBOOK_A": "1", "THREADBOOK_B": "2"}, tmp_path)
    assert "THREADBOOK_A" in str(caught.value)
    assert "THREADBOOK_B" in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "dangling link"])
def test_a_team_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "threadbook.toml"
    path.mkdir() if kind == "folder" else path.symlink_to("gone")
    with pytest.raises(SettingsError, match=r"threadbook.toml is there, but it is not a file"):
        load_settings({}, tmp_path)


def test_a_named_team_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not a file"):
        load_settings({"THREADBOOK_CONFIG": "elsewhere.toml"}, tmp_path)


def test_a_named_team_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text("[workers]\ncount = 2\n")
    assert load_settings({"THREADBOOK_CONFIG": "team.toml"}, tmp_path).workers.count == 2


def test_a_channel_is_strict_when_its_table_says_so(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(
        "[channels.C1]\nstrict_mention = true\n[channels.C2]\nstrict_mention = false\n"
    )
    settings = load_settings({}, tmp_path)
    assert [settings.strict_mention(channel) for channel in ("C1", "C2", "C3")] == [True, False, False]


def test_a_second_way_to_set_a_thing_is_refused_with_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text("[slack]\nstrict_mention_channels = ['C1']\n")
    with pytest.raises(SettingsError, match=r"\[slack\]: 'strict_mention_channels'.*\[channels.ID\]"):
        load_settings({}, tmp_path)
    (tmp_path / "threadbook.toml").unlink()
    with pytest.raises(SettingsError, match=r"environment: 'THREADBOOK_FILE_HOSTS'.*`file_hosts` under \[slack\]"):
        load_settings({"THREADBOOK_FILE_HOSTS": "a.example"}, tmp_path)
    (tmp_path / ".env").write_text("THREADBOOK_FILE_HOSTS=a.example\n")
    with pytest.raises(SettingsError, match=r".env: 'THREADBOOK_FILE_HOSTS'.*`file_hosts` under \[slack\]"):
        load_settings({}, tmp_path)


def test_the_old_name_of_the_node_is_accepted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_settings({"THREADBOOK_HOST_ID": "n1"}, tmp_path).node_id == "n1"
    assert "THREADBOOK_HOST_ID is now called THREADBOOK_NODE_ID" in capsys.readouterr().err
    assert load_settings({"THREADBOOK_HOST_ID": "n1", "THREADBOOK_NODE_ID": "n1"}, tmp_path).node_id == "n1"
    (tmp_path / ".env").write_text("THREADBOOK_HOST_ID=n2\n")
    assert load_settings({}, tmp_path).node_id == "n2"
    capsys.readouterr()
    (tmp_path / ".env").unlink()
    load_settings({"THREADBOOK_NODE_ID": "n1"}, tmp_path)
    assert capsys.readouterr().err == ""


def test_the_old_and_the_new_name_with_different_values_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("THREADBOOK_HOST_ID=n2\n")
    with pytest.raises(SettingsError, match="THREADBOOK_HOST_ID and THREADBOOK_NODE_ID are set to different values"):
        load_settings({"THREADBOOK_NODE_ID": "n1"}, tmp_path)


@pytest.mark.parametrize(("name", "value"), [("REDIS_URL", "localhost:6379"), ("DATABASE_URL", "mysql://u:pw@h/x")])
def test_an_address_of_the_wrong_kind_is_refused_by_name_and_not_shown(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: must be") as caught:
        load_settings({name: value}, tmp_path)
    assert value not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("REDIS_URL", "redis+sentinel://h:26379/mymaster", "Sentinel"),
        ("REDIS_URL", "redis-cluster://h:6379", "Cluster"),
        ("DATABASE_URL", "mysql+pymysql://u:pw@h/x", "MariaDB"),
        ("DATABASE_URL", "mariadb://u:pw@h/x", "MariaDB"),
    ],
)
def test_a_server_that_is_not_supported_is_refused_in_a_sentence(
    tmp_path: Path, name: str, value: str, says: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: .*{says}") as caught:
        load_settings({name: value}, tmp_path)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "redis://:pw@rd/x@h:6379/0",
        "redis://:pw#rd@h:6379/0",
        "rediss://:pw@rd#x@h:6379",
        "redis://h:port",
        "redis://[::1/0",
    ],
)
def test_a_password_that_breaks_the_address_of_redis_is_refused_with_the_way_to_write_it(
    tmp_path: Path, value: str
) -> None:
    with pytest.raises(SettingsError, match=r"^REDIS_URL: .*write @ as %40") as caught:
        load_settings({"REDIS_URL": value}, tmp_path)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "redis://:p%40w@h:6379/0",
        "redis://h",
        "rediss://u:p:w@[::1]:6379/1",
        "unix:///a@b.sock",
        "unix://u:pw@/r.sock?db=1",
    ],
)
def test_an_address_of_redis_that_can_be_read_is_taken(tmp_path: Path, value: str) -> None:
    assert load_settings({"REDIS_URL": value}, tmp_path).redis_url == value


def test_a_price_is_per_million_tokens_and_cached_ones_may_cost_less() -> None:
    price = PriceSettings(input=2.0, cached=0.5, output=8.0)
    assert price.micros(prompt_tokens=1_000, cached_tokens=400, completion_tokens=100) == 1_200 + 200 + 800
    assert PriceSettings(input=2.0, output=8.0).micros(1_000, 400, 0) == 2_000


def test_a_budget_in_money_needs_the_models_price(tmp_path: Path) -> None:
    team = tmp_path / "threadbook.toml"
    team.write_text("[budget]\nday_cost = 5\n")
    assert load_settings({}, tmp_path).budget.day_cost == 5  # the offline analyst costs nothing
    with pytest.raises(SettingsError, match=r'budget.day_cost: .*\[prices."gpt-4.1"\]'):
        load_settings({"OPENAI_API_KEY": "k"}, tmp_path)
    team.write_text("[budget]\nday_cost = 5\n[prices.'gpt-4.1']\ninput = 2\noutput = 8\n")
    assert load_settings({"OPENAI_API_KEY": "k"}, tmp_path).prices["gpt-4.1"].output == 8


def test_secrets_do_not_print(tmp_path: Path) -> None:
    environment = {
        "SLACK_BOT_TOKEN": "xoxb-1-secret",
        "SLACK_APP_TOKEN": "xapp-1-secret",
        "SLACK_SIGNING_SECRET": "signing-secret",
        "OPENAI_API_KEY": "sk-secret",
        "REDIS_URL": "redis://:redis-secret@host/0",
        "DATABASE_URL": "postgresql://me:database-secret@host/db",
    }
    settings = load_settings(environment, tmp_path)
    shown = repr(settings) + str(settings)
    assert not [value for value in settings.secrets() if value in shown]
    assert set(settings.secrets()) == {
        "xoxb-1-secret",
        "xapp-1-secret",
        "signing-secret",
        "sk-secret",
        "redis-secret",
        "database-secret",
    }


def test_a_refused_value_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({"SLACK_API_URL": "token-pasted-here"}, tmp_path)
    assert "SLACK_API_URL" in str(caught.value)
    assert "token-pasted-here" not in str(caught.value)


TOKENS = (
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_CLIENT_ID",
    "SLACK_CLIENT_SECRET",
    "OPENAI_API_KEY",
)


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_read_without_the_line_end_that_echo_puts_behind_it(tmp_path: Path, name: str) -> None:
    settings = load_settings({name: " sesame-street\n"}, tmp_path)
    (value,) = [value for _, value in settings if value in (SecretStr("sesame-street"), "sesame-street")]
    assert value


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("sesame street", "its character 7 is none that a token can have"),
        ("sésame-street", "its character 2 is none"),
        ("  \n", "it holds only spaces"),
    ],
)
def test_what_can_be_no_token_is_refused_by_name_and_not_shown(tmp_path: Path, name: str, value: str, why: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: .*{why}") as caught:
        load_settings({name: value}, tmp_path)
    assert "street" not in str(caught.value)


def test_the_key_of_a_further_model_is_a_token_too(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text('[models.big]\nmodel = "big"\nkey_env = "BIG_KEY"\n')
    settings = load_settings({}, tmp_path)
    assert model_key(settings, "big", {"BIG_KEY": "sk-1\n"}, tmp_path) == SecretStr("sk-1")
    with pytest.raises(SettingsError, match=r"^BIG_KEY: its character 5 is none") as caught:
        model_key(settings, "big", {"BIG_KEY": "sk-1é"}, tmp_path)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "real"),
    [
        ("https://slack.com/api/", True),
        ("https://www.slack.com/api", True),
        ("https://slack-gov.com/api/", True),
        ("https://slack.proxy.corp.example/api/", True),
        ("http://10.0.0.7:8080/api/", True),
        ("http://0.0.0.0:8080/api/", True),
        ("https://localhost.evil.example/api/", True),
        ("https://127.0.0.1.evil.example/api/", True),
        ("http://127.0.0.1:8123/api/", False),
        ("http://127.8.8.8/api/", False),
        ("http://[::1]:8123/api/", False),
        ("http://LOCALHOST:8123/api/", False),
        ("http://slack.localhost/api/", False),
    ],
)
def test_slack_is_real_unless_it_is_on_this_machine(tmp_path: Path, url: str, real: bool) -> None:
    settings = load_settings({"SLACK_API_URL": url}, tmp_path)
    assert settings.is_real_slack is real
    assert settings.slack_api_url.endswith("/")


@pytest.mark.parametrize("folder", ["", "..", "sessions"])
def test_no_toolchain_shows_sessions_what_the_home_holds(tmp_path: Path, folder: str) -> None:
    home = tmp_path / "home"
    (home / "sessions").mkdir(parents=True)
    (tmp_path / "threadbook.toml").write_text(f'[sandbox]\ntoolchains = ["{home / folder}"]\n')
    with pytest.raises(SettingsError, match="would show sessions what lies in"):
        load_settings({"THREADBOOK_HOME": str(home)}, tmp_path)


def test_a_toolchain_that_this_node_lacks_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "rust").mkdir()
    named = f'["{tmp_path / "rust"}", "{tmp_path / "go"}"]'
    (tmp_path / "threadbook.toml").write_text(f"[sandbox]\ntoolchains = {named}\n")
    assert load_settings({}, tmp_path).toolchains == (tmp_path / "rust",)
    (tmp_path / "threadbook.toml").write_text('[sandbox]\ntoolchains = ["rust"]\n')
    with pytest.raises(SettingsError, match="toolchains"):
        load_settings({}, tmp_path)


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load_settings({}, tmp_path)
    with pytest.raises(ValidationError):
        settings.openai_model = "other"  # type: ignore[misc]


def test_the_page_of_settings_is_the_generated_one() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(settings_markdown(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == settings_markdown(), "UPDATE_GOLDEN=1 writes docs/settings.md again"


def test_the_example_of_the_teams_file_is_the_generated_one() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        EXAMPLE.write_text(example_toml(), encoding="utf-8")
    assert EXAMPLE.read_text(encoding="utf-8") == example_toml(), "UPDATE_GOLDEN=1 writes the file again"


def test_the_example_of_the_teams_file_has_every_table_of_the_page_and_changes_nothing() -> None:
    headers = re.findall(r"^### `\[(.+)\]`$", settings_markdown(), re.MULTILINE)
    names = {"ID": "C0123456789", '"MODEL"': '"gpt-4.1"', "NAME": "sales"}
    text = EXAMPLE.read_text(encoding="utf-8")
    for header in headers:
        named = header.replace("models.NAME", "models.small").replace("mcp.NAME", "mcp.tickets")
        wanted = ".".join(names.get(part, part) for part in named.split("."))
        assert f"#[{wanted}]" in text
    assert tomllib.loads(text) == {}


def test_every_line_of_the_example_of_the_teams_file_can_be_used(tmp_path: Path) -> None:
    used = re.sub(r"^#(?=[\[\w])", "", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (tmp_path / "threadbook.toml").write_text(used, encoding="utf-8")
    settings = load_settings({}, tmp_path)
    assert settings.limits == load_settings({}, tmp_path / "nowhere").limits
    assert settings.sources["sales"].url_env == "SALES_DATABASE_URL"
    assert settings.channels["C0123456789"].strict_mention


def test_every_name_of_the_environment_is_in_its_example_and_every_line_can_be_used(tmp_path: Path) -> None:
    text = (EXAMPLE.parent / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^(?:# )?([A-Z][A-Z0-9_]*)=", text, re.MULTILINE))
    assert environment_names().keys() - named == set()
    (tmp_path / "threadbook.toml").write_text("")
    for used in (text, re.sub(r"^# (?=[A-Z][A-Z0-9_]*=)", "", text, flags=re.MULTILINE)):
        (tmp_path / ".env").write_text(used, encoding="utf-8")
        assert load_settings({}, tmp_path).redis_url == "redis://127.0.0.1:6379/0"
    assert load_settings({}, tmp_path).slack_bot_token is None, "an example holds no secret"


def test_every_setting_says_what_it_means() -> None:
    page = settings_markdown()
    fields = Settings.model_fields
    assert all(field.description for field in fields.values() if field.alias)
    assert all(f"`{field.alias}`" in page for field in fields.values() if field.alias)
    assert "None |" not in page


def test_every_token_and_key_is_held_as_a_secret() -> None:
    held = {
        name for name, field in Settings.model_fields.items() if SecretStr in getattr(field.annotation, "__args__", ())
    }
    named = {name for name in Settings.model_fields if name.endswith(("_token", "_secret", "_key", "_keys"))}
    assert held == named


def test_a_channel_has_the_limits_that_it_sets_and_else_those_of_all(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(
        "[limits]\nmemory_mb = 1000\nprocesses = 20\n"
        "[channels.C1.limits]\nmemory_mb = 4000\ncell_timeout_s = 600\n[channels.C2.limits]\nprocesses = 10\n"
    )
    settings = load_settings({}, tmp_path)
    shown = ("memory_mb", "processes", "cell_timeout_s", "descriptors")
    of = {channel: tuple(settings.session_limits(channel)[name] for name in shown) for channel in ("C1", "C2", "C3")}
    assert of == {"C1": (4000, 20, 600, 256), "C2": (1000, 10, 120, 256), "C3": (1000, 20, 120, 256)}
    assert tuple(settings.largest_session_limits()[name] for name in shown) == (4000, 20, 600, 256)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("memory_gb = 4", r"\[channels.C1.limits\]: unknown setting 'memory_gb'; the nearest known one is 'memory_mb'"),
        ("max_cells = 4", r"unknown setting 'max_cells'"),
        ("memory_mb = 0", r"channels.C1.limits.memory_mb: must be more than 0"),
        ("descriptors = 10", r"channels.C1.limits.descriptors: must be at least 224"),
    ],
)
def test_a_wrong_limit_of_a_channel_is_refused_where_it_stands(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f"[channels.C1.limits]\n{text}\n")
    with pytest.raises(SettingsError, match=fault):
        load_settings({}, tmp_path)


def test_the_limits_of_a_channel_are_a_table(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text("[channels.C1]\nlimits = 5\n")
    with pytest.raises(SettingsError, match=r"limits must be a table, written as \[channels.C1.limits\]"):
        load_settings({}, tmp_path)


def test_a_shell_is_there_only_where_a_team_wants_it(tmp_path: Path) -> None:
    assert load_settings({}, tmp_path).sandbox.bash is False
    (tmp_path / "threadbook.toml").write_text("[sandbox]\nbash = true\n")
    assert load_settings({}, tmp_path).sandbox.bash is True


@pytest.mark.parametrize("name", ["os system", "../os", "1st", "os;", ""])
def test_a_list_of_modules_holds_names_of_modules(tmp_path: Path, name: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f"[sandbox]\nimports = ['{name}']\n")
    with pytest.raises(SettingsError, match="imports"):
        load_settings({}, tmp_path)


def test_a_home_folder_keeps_its_nodes_name_under_another_hostname(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "container-1")
    first = load_settings({"THREADBOOK_HOME": "volume"}, tmp_path)
    assert first.node_id == "container-1"
    first.home.mkdir()
    write_node_file(first.home, first.node_id, "i1")
    monkeypatch.setattr("socket.gethostname", lambda: "container-2")
    assert load_settings({"THREADBOOK_HOME": "volume"}, tmp_path).node_id == "container-1"
    assert load_settings({"THREADBOOK_HOME": "elsewhere"}, tmp_path).node_id == "container-2"
    assert load_settings({"THREADBOOK_HOME": "volume", "THREADBOOK_NODE_ID": "n1"}, tmp_path).node_id == "n1"


SALES = '[sources.sales]\nurl_env = "SALES_URL"\n'


def test_the_url_of_a_source_is_read_when_it_is_asked_for_and_is_no_setting(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(SALES)
    url = "postgresql://reader:planted-password@db.internal/sales"
    settings = load_settings({"SALES_URL": url}, tmp_path)
    assert source_url(settings, "sales", {"SALES_URL": url}, tmp_path).get_secret_value() == url
    assert "planted-password" not in repr(settings) + settings.model_dump_json()


def test_the_url_of_a_source_may_stand_in_dotenv_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(SALES + '[sources.web]\nurl_file = "web.url"\n')
    (tmp_path / ".env").write_text("SALES_URL=sqlite:///sales.db\n")
    (tmp_path / "web.url").write_text("duckdb:///web.duckdb\n")
    settings = load_settings({}, tmp_path)
    assert source_url(settings, "sales", {}, tmp_path).get_secret_value() == "sqlite:///sales.db"
    assert source_url(settings, "web", {}, tmp_path).get_secret_value() == "duckdb:///web.duckdb"


@pytest.mark.parametrize(
    ("toml", "name", "named"),
    [
        (SALES, "sales", "SALES_URL"),
        (SALES, "sale", "Sources: sales"),
        ('[sources.sales]\nurl_file = "gone.url"\n', "sales", "gone.url"),
    ],
)
def test_a_missing_url_or_source_is_named(tmp_path: Path, toml: str, name: str, named: str) -> None:
    (tmp_path / "threadbook.toml").write_text(toml)
    with pytest.raises(SettingsError, match=named):
        source_url(load_settings({}, tmp_path), name, {}, tmp_path)


TICKETS = '[mcp.tickets]\nurl = "https://tickets.example.com/mcp"\ntoken_env = "TICKETS_TOKEN"\ntools = ["search"]\n'


def test_what_a_server_of_tools_is_given_is_read_when_it_is_called_and_is_no_setting(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text(TICKETS)
    given = {"TICKETS_TOKEN": "planted-token"}
    settings = load_settings(given, tmp_path)
    assert mcp_secrets(settings, "tickets", given, tmp_path) == given
    assert "planted-token" not in repr(settings) + settings.model_dump_json()
    with pytest.raises(SettingsError, match="TICKETS_TOKEN is empty"):
        mcp_secrets(settings, "tickets", {}, tmp_path)
    (tmp_path / ".env").write_text("TICKETS_TOKEN=from-dotenv\n")
    assert mcp_secrets(settings, "tickets", {}, tmp_path) == {"TICKETS_TOKEN": "from-dotenv"}


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ('tools = ["a"]', "either command"),
        ('url = "https://x.example"\ncommand = ["x"]\ntools = ["a"]', "either command"),
        ('url = "file:///etc/passwd"\ntools = ["a"]', r"http\(s\)"),
        ('url = "http://x.example"\ntoken_env = "T"\ntools = ["a"]', "over https"),
        ('url = "https://x.example"\nenv = ["T"]\ntools = ["a"]', "token_env"),
        ('command = ["x"]\ntoken_env = "T"\ntools = ["a"]', "through env"),
        ('command = ["x"]\ntools = []', "tools"),
        ('command = ["x"]\ntools = ["a"]\nmax_kb = 100000', "max_kb"),
    ],
)
def test_a_server_of_tools_that_cannot_be_meant_is_refused(tmp_path: Path, keys: str, why: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f"[mcp.tickets]\n{keys}\n")
    with pytest.raises(SettingsError, match=why):
        load_settings({}, tmp_path)


@pytest.mark.parametrize("keys", ["", 'url_env = "A"\nurl_file = "b"\n'])
def test_a_source_names_one_place_for_its_url(tmp_path: Path, keys: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f"[sources.sales]\n{keys}")
    with pytest.raises(SettingsError, match=r"sources\.sales.*url_env or url_file"):
        load_settings({}, tmp_path)


def test_a_url_written_into_the_teams_file_is_refused_without_repeating_it(tmp_path: Path) -> None:
    (tmp_path / "threadbook.toml").write_text('[sources.sales]\nurl = "postgresql://me:planted-password@host/db"\n')
    with pytest.raises(SettingsError) as caught:
        load_settings({}, tmp_path)
    assert "url_env" in str(caught.value) or "url_file" in str(caught.value)
    assert "planted-password" not in str(caught.value)


def test_a_layout_of_reports_is_the_channels_own_where_it_has_one(tmp_path: Path) -> None:
    text = '[report]\nsections = [" Summary ", "Findings"]\n[channels.C1.report]\nsections = []\n[channels.C2.access]\n'
    (tmp_path / "threadbook.toml").write_text(text, "utf-8")
    settings = load_settings({}, tmp_path)
    assert settings.report_sections("C9") == settings.report_sections("C2") == ("Summary", "Findings")
    assert settings.report_sections("C1") == ()


@pytest.mark.parametrize(
    "sections",
    ['["Summary", "1. SUMMARY:"]', '["# Summary"]', '["…"]', '["a\\nb"]', f'["{"a" * 81}"]', str(["a"] * 13)],
)
def test_a_layout_that_no_report_could_have_is_refused(tmp_path: Path, sections: str) -> None:
    (tmp_path / "threadbook.toml").write_text(f"[report]\nsections = {sections}\n", "utf-8")
    with pytest.raises(SettingsError, match=r"report\.sections"):
        load_settings({}, tmp_path)
