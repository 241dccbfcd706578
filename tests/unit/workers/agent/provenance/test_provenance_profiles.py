"""A number of a file's profile proves a figure only where the sentence says what the number is."""

from __future__ import annotations

import pytest
from provenance_kit import states, traced

from core.steps import Briefed, ColumnNote, FileAbstract, Level, TableNote

REGION = ColumnNote(
    name="region",
    dtype="object",
    unique=38,
    samples=("North", "South", "West"),
    levels=(Level(value="North", rows=57), Level(value="South", rows=1_844), Level(value="West", rows=29)),
)
AMOUNT = ColumnNote(
    name="amount",
    dtype="int64",
    unique=71,
    missing=0.1,
    samples=("40", "32", "87"),
    spread=("40", "45.5", "51", "63", "98"),
)
WAIT = ColumnNote(name="wait_minutes", dtype="int64", unique=53, spread=("17", "19", "36", "58", "2841"))
CITY = ColumnNote(name="Kunde", dtype="object", unique=46)
TABLE = TableNote(
    name="t",
    rows=130,
    columns=(REGION, AMOUNT, WAIT, CITY),
    head="region | amount\nNorth | 40\nSouth | 32\nWest | 87",
    more_names=tuple(f"x{letter}" for letter in "abcdefghijklmn"),
)
FILE = Briefed(files=(FileAbstract(path="a.csv", format="csv", size=1, sha256="0" * 64, tables=(TABLE,)),))


@pytest.mark.parametrize(
    "report",
    [
        "There were 130 orders.",
        "Es waren 130 Bestellungen.",
        "一共有130笔订单。",
        "全部で130件の注文がありました。",
        "Le fichier contient 130 lignes et 18 colonnes.",
        "La tabla tiene 130 filas y 18 columnas.",
        "The file has 18 columns for 130 days.",
        "该文件有130行、18列。",
        "À 13 des 130 commandes, il n'y a pas de montant (10 %).",
        "Bei 13 der 130 Bestellungen ist der Betrag nicht angegeben.",
        "130行中13行未填写金额。",
        "13 von 130 Bestellungen haben keinen Betrag (10 %).",
        "À 13 des 130 commandes, il manque le montant (10 %).",
        "A 13 de los 130 pedidos les falta el importe (10 %).",
        "13条记录缺失金额，占10%。",
        "13件（10 %）は金額がありません。",
    ],
)
def test_a_count_of_rows_columns_or_missing_values_that_is_told_as_one_is_given(report: str) -> None:
    assert set(states(report, FILE).values()) == {"given"}


@pytest.mark.parametrize(
    "report",
    [
        "Amounts range from 40 to 98.",
        "Half of the wait lies between 19 and 58 minutes.",
        "There are 38 regions.",
        "Wir haben 46 Kunden.",
        "## Amount\n\n- smallest value: 40\n- and then: 98",
        "| column | min | median | max |\n|---|---|---|---|\n| amount | 40 | 51 | 98 |",
    ],
)
def test_a_value_of_a_column_that_the_sentence_or_its_heading_names_is_given(report: str) -> None:
    assert set(states(report, FILE).values()) == {"given"}


@pytest.mark.parametrize(
    "report",
    [
        "The South: **32**.",
        "The West sold 87 and the North 40.",
        "North has 57 orders, West 29.",
        "| region | orders |\n|---|---|\n| North | 57 |\n| West | 29 |",
    ],
)
def test_a_value_of_a_sample_row_and_the_rows_of_a_value_are_given_where_these_are_named(report: str) -> None:
    assert set(states(report, FILE).values()) == {"given"}


@pytest.mark.parametrize(
    "report",
    [
        "Die mittlere Wartezeit (Median) beträgt 36 Minuten.",
        "等待时间的中位数为36分钟。",
        "待ち時間の中央値は36分です。",
        "Le temps d'attente médian est de 36 minutes.",
        "La mediana de espera es de 36 minutos.",
        "Der höchste Betrag ist 98.",
        "最高金额为98。",
        "| Spalte | min | Median |\n|---|---|---|\n| Wartezeit | 17 | 36 |",
        "Im Süden waren es 1.844.",
        "Am längsten dauerte es 2.841 Minuten.",
    ],
)
def test_a_translated_name_is_enough_where_the_statistic_is_named_or_the_digits_are_many(report: str) -> None:
    assert set(states(report, FILE).values()) == {"given"}


@pytest.mark.parametrize(
    "report",
    [
        "The file has about 1.2 million rows.",
        "Die Datei hat rund 1,2 Mio. Zeilen.",
        "El archivo tiene unas 1,2 millones de filas.",
        "Le fichier compte environ 1,2 million de lignes.",
        "该文件约有120.4万行。",
        "ファイルには約120万行あります。",
        "The file has 1,204k orders.",
    ],
)
def test_a_count_of_rows_in_thousands_or_millions_is_given(report: str) -> None:
    table = TableNote(name="t", rows=1_204_331, columns=())
    many = Briefed(files=(FileAbstract(path="a.csv", format="csv", size=1, sha256="0" * 64, tables=(table,)),))
    assert set(states(report, many).values()) == {"given"}
    assert set(states(report, FILE).values()) == {"unsourced"}


@pytest.mark.parametrize(
    "report",
    [
        "Prices from 40 to 98.",
        "Die Beträge reichen von 40 bis 98.",
        "Les montants vont de 40 à 98.",
        "Los importes van de 40 a 98.",
        "金额从40到98。",
        "金額は40から98までです。",
        "The amounts are 40–98.",
    ],
)
def test_both_ends_of_a_column_in_one_range_are_given(report: str) -> None:
    assert set(states(report, FILE).values()) == {"given"}


@pytest.mark.parametrize("report", ["Es stieg von 17 auf 98.", "Es reicht von 17 bis 98.", "Es reicht von 40 bis 58."])
def test_ends_of_two_columns_are_no_range(report: str) -> None:
    assert set(states(report, FILE).values()) == {"unsourced"}


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("We lost 58 customers.", "58"),
        ("Churn was 98 %.", "98 %"),
        ("Profit rose to €98.", "€98"),
        ("63 tickets are open.", "63"),
        ("Only 71 people answered.", "71"),
        ("Sie kostete 32 €.", "32 €"),
        ("The 18 stores are closed.", "18"),
        ("In 53 cases it failed.", "53"),
        ("Revenue was 130 €.", "130 €"),
        ("Revenue grew by 130 %.", "130 %"),
        ("North sold 57 %.", "57 %"),
        ("The median amount is 87.", "87"),
        ("The mean amount is 51.", "51"),
    ],
)
def test_a_number_that_stands_in_a_profile_for_something_else_proves_nothing(report: str, figure: str) -> None:
    assert states(report, FILE)[figure] == "unsourced"


def test_a_model_that_says_where_a_figure_is_from_needs_no_name() -> None:
    assert states("Der Betrag beginnt bei 45,5 [=q:45.5].", FILE)["45,5"] == "given"
    assert states("Der Betrag beginnt bei 45,5.", FILE)["45,5"] == "unsourced"


def test_an_output_backs_its_figure_before_a_profile_does() -> None:
    found = traced("The South made 32.", "region  amount\nNorth   40\nSouth   32\n", FILE)
    assert [one.state for one in found.figures] == ["sourced"]
