"""Text tables as they come in real life: encodings, separators, number styles, dirty headers, sizes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from core.steps import FileAbstract, FileProblem
from workers.profiling.inside.encodings import detect

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]

CHINESE = "日期;产品;销售额\n2023-01-01;苹果手机;1200\n2023-01-02;笔记本电脑;5300\n2023-01-03;无线耳机;260\n"
TRADITIONAL = "日期,產品,銷售額\n2023-01-01,蘋果手機,1200\n2023-01-02,筆記型電腦,5300\n2023-01-03,無線耳機,260\n"
JAPANESE = "日付,商品,売上\n2023-01-01,りんごジュース,1200\n2023-01-02,みかんのジャム,5300\n2023-01-03,お茶,260\n"
KOREAN = "날짜,상품,매출액\n2023-01-01,사과 주스,1200\n2023-01-02,오렌지 잼,5300\n2023-01-03,녹차,260\n"
GERMAN = "Datum;Straße;Umsatz\n2023-01-01;Müllerstraße;1200\n2023-01-02;Jägerweg;5300\n2023-01-03;Größe Allee;260\n"
RUSSIAN = "Дата;Товар;Продажи\n2023-01-01;Яблочный сок;1200\n2023-01-02;Ноутбук;5300\n2023-01-03;Наушники;260\n"


def loaded(abstract: FileAbstract) -> pd.DataFrame:
    """What the abstract's own line of Python gives."""
    frame = eval(abstract.read_hint, {"pd": pd})
    assert isinstance(frame, pd.DataFrame)
    return frame


@pytest.mark.parametrize(
    ("text", "encoding", "codec"),
    [
        (CHINESE, "gbk", "gb18030"),
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "utf-8-sig", "utf-8-sig"),
        (CHINESE, "utf-16", "utf-16"),
        (GERMAN, "utf-16-le", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (TRADITIONAL, "big5", "cp950"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (KOREAN, "euc_kr", "cp949"),
        (GERMAN, "cp1252", "cp1252"),
        (RUSSIAN, "cp1251", "cp1251"),
    ],
)
def test_the_encoding_is_found_and_the_hint_loads_the_file(
    describe: Describe, folder: Path, text: str, encoding: str, codec: str
) -> None:
    (folder / "data.csv").write_bytes(text.encode(encoding))
    (abstract,), problems = describe("data.csv")
    assert not problems
    assert abstract.encoding == codec
    header = text.splitlines()[0].replace(";", ",").split(",")
    assert [column.name for column in abstract.tables[0].columns] == header
    frame = loaded(abstract)
    assert list(frame.columns) == header
    assert frame[header[1]].tolist() == [line.replace(";", ",").split(",")[1] for line in text.splitlines()[1:]]
    assert frame[header[2]].sum() == 6760


def test_a_few_damaged_bytes_leave_a_file_utf_8(describe: Describe, folder: Path) -> None:
    data = ("name,city\n" + "".join(f"Zoë {n},Köln\n" for n in range(500))).encode()
    (folder / "data.csv").write_bytes(data.replace("Zoë 250".encode(), b"Zo\xeb 250"))
    (abstract,), _ = describe("data.csv")
    assert abstract.encoding == "utf-8"
    assert "damaged" in abstract.note
    assert len(loaded(abstract)) == 500


def test_a_non_ascii_byte_deep_in_the_file_is_seen(describe: Describe, folder: Path) -> None:
    rows = "".join(f"{n},plain\n" for n in range(50_000))
    (folder / "data.csv").write_bytes(f"id,name\n{rows}50000,Müller\n".encode("cp1252"))
    (abstract,), _ = describe("data.csv")
    assert abstract.encoding == "cp1252"
    assert loaded(abstract)["name"].iloc[-1] == "Müller"


@pytest.mark.parametrize(("separator", "kind"), [(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "csv")])
def test_the_separator_is_found(describe: Describe, folder: Path, separator: str, kind: str) -> None:
    rows = [["region", "amount", "note"], ["North", "1", "a b"], ["South", "2", "c d"]]
    (folder / "data.csv").write_text("\n".join(separator.join(row) for row in rows) + "\n")
    (abstract,), _ = describe("data.csv")
    assert (abstract.separator, abstract.format) == (separator, kind)
    assert loaded(abstract).shape == (2, 3)


def test_columns_set_apart_by_blanks_are_found(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("name   x    y\na     1.5   2\nbb    2.5   3\nccc   3.5   4\n")
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["y"].tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("text", "header", "total"),
    [
        ("region;amount\n" + "North;10,5\n" * 20, ["region", "amount"], 210),
        ("a;b\n" + "1,5;2,5\n" * 20, ["a", "b"], 50),
        ("name;amount\n" + "Smith, John;10,5\n" * 20, ["name", "amount"], 210),
        ("Sales of the year\n\na;b\n" + "1,5;2,5\n" * 20, ["a", "b"], 50),
    ],
)
def test_a_comma_inside_numbers_or_words_separates_no_columns(
    describe: Describe, folder: Path, text: str, header: list[str], total: float
) -> None:
    (folder / "data.csv").write_text(text)
    (abstract,), problems = describe("data.csv")
    assert not problems
    assert [column.name for column in abstract.tables[0].columns] == header
    assert loaded(abstract)[header[1]].sum() == total


def test_semicolons_with_decimal_commas_and_thousands_points_give_numbers(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("Ort;Umsatz;Anteil\nA;1.234,50;0,25\nB;12.000,00;0,75\nC;7,5;1,0\n")
    (abstract,), _ = describe("data.csv")
    assert [column.dtype for column in abstract.tables[0].columns] == ["str", "float64", "float64"]
    assert loaded(abstract)["Umsatz"].sum() == pytest.approx(13242.0)


def test_dates_with_points_are_never_read_as_numbers_with_thousands_points(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("Datum;Umsatz\n01.03.2022;1.234,56\n02.03.2022;234,50\n31.12.2022;17,00\n")
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["Datum"].tolist() == ["01.03.2022", "02.03.2022", "31.12.2022"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Stadt;Einwohner\nBerlin;3.677\nBonn;331.885\nZell;945\n", "Einwohner"),
        ("Ort\tWert\nA\t12.345\nB\t7.001\n", "Wert"),
        ("Ort;Wert\nA;12,345\nB;7,001\n", "Wert"),
        ("Ort;Wert;Preis\nA;12.345;1.5\nB;7.001;2.5\n", ""),  # a point is a decimal one here
        ("Ort;Wert\nA;12.345\nB;0.001\n", ""),
        ("Ort;Wert\nA;12.345\nB;1234.001\n", ""),
        ("Ort;Wert\nA;12.345\nB;1234\n", ""),
        ("Ort;Wert;Tag\nA;12.345;01.02.2024\nB;7.001;02.02.2024\n", "Wert"),
        ("Ort;Wert;Netz\nA;12.345;10.0.0.1\nB;7.001;10.0.0.2\n", "Wert"),
        ("Ort;Wert;Liste\nA;12,345;1,2,3\nB;7,001;1,2\n", "Wert"),
        ("Ort,Wert\nA,12.345\nB,7.001\n", ""),
        ("Ort;Wert\nA;1,234,567\nB;7,001\n", ""),
    ],
)
def test_a_mark_that_may_be_of_decimals_or_of_thousands_is_said_so(
    describe: Describe, folder: Path, text: str, names: str
) -> None:
    (folder / "data.csv").write_text(text)
    (abstract,), _ = describe("data.csv")
    assert ("twelve" in abstract.note, f"In {names} each" in abstract.note) == (bool(names), bool(names))


def test_a_number_with_two_points_tells_what_points_are(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("Ort;Umsatz;Menge\nA;1.234.567;3.500\nB;853.100;12\nC;12;7.250\n")
    (abstract,), _ = describe("data.csv")
    assert "twelve" not in abstract.note
    frame = loaded(abstract)
    assert (frame["Umsatz"].sum(), frame["Menge"].sum()) == (2_087_679, 10_762)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("country,code\nNamibia,NA\nGermany,DE\nFrance,FR\n", "code (NA)"),
        ("who,discount\na,None\nb,Low\nc,High\n", "discount (None)"),
        ("who,amount\na,NA\nb,1\nc,2\n", ""),
        ("who,city\na,NA\nb,Bonn\nc,Rome\n", ""),
        ("who,level\na,None\nb,None\nc,High\n", ""),  # a flag that is set or not
    ],
)
def test_a_word_that_is_read_as_missing_and_may_be_a_value_is_named(
    describe: Describe, folder: Path, text: str, names: str
) -> None:
    (folder / "data.csv").write_text(text)
    (abstract,), _ = describe("data.csv")
    assert ("may be values" in abstract.note, f": {names}." in abstract.note) == (bool(names), bool(names))


def test_one_column_of_several_words_keeps_all_of_them(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("name\n" + "".join(f"item {n}\n" for n in range(9)))
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["name"].tolist() == [f"item {n}" for n in range(9)]


def test_quoted_thousands_commas_give_numbers(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text('region,amount\nN,"1,234.50"\nS,"2,000"\nE,17\n')
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["amount"].tolist() == [1234.5, 2000.0, 17.0]


def test_dirty_numbers_stay_text_and_are_shown_as_they_are(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text('region,amount\nN,"1,234.50"\nS,n/a?\nE,$17\n')
    (abstract,), _ = describe("data.csv")
    amount = abstract.tables[0].columns[1]
    assert amount.dtype == "str"
    assert "1,234.50" in amount.samples
    assert loaded(abstract)["amount"].tolist() == ["1,234.50", "n/a?", "$17"]


def test_codes_with_leading_zeros_stay_codes(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("zip,n\n01067,1\n80331,2\n")
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["zip"].tolist() == ["01067", "80331"]


def test_duplicate_column_names_are_named(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("id,amount,amount\n1,2,3\n4,5,6\n")
    (abstract,), _ = describe("data.csv")
    assert [column.name for column in abstract.tables[0].columns] == ["id", "amount", "amount.1"]
    assert "amount" in abstract.note
    assert "more than once" in abstract.note


def test_title_and_blank_lines_above_the_header_are_skipped(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("Sales report 2023\n\n,,\nregion,amount,n\nN,1,2\nS,3,4\n,,\nE,5,6\n")
    (abstract,), _ = describe("data.csv")
    assert [column.name for column in abstract.tables[0].columns] == ["region", "amount", "n"]
    assert "above the header" in abstract.note
    assert loaded(abstract)["amount"].sum() == 9


def test_a_trailing_separator_does_not_shift_the_columns(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("region,amount\nN,1,\nS,3,\n")
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract).to_dict("list") == {"region": ["N", "S"], "amount": [1, 3]}


def test_mixed_line_ends_and_quoted_line_ends_are_read(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_bytes(b'name,text\r\na,"two\r\nlines"\nb,one\r\nc,last')
    (abstract,), _ = describe("data.csv")
    assert abstract.tables[0].rows == 3
    assert loaded(abstract)["name"].tolist() == ["a", "b", "c"]


def test_lines_with_too_many_fields_are_skipped_and_said(describe: Describe, folder: Path) -> None:
    rows = "".join(f"{n},x\n" for n in range(40))
    (folder / "data.csv").write_text(f"id,name\n{rows}40,x,extra,fields\n41,x\n")
    (abstract,), _ = describe("data.csv")
    assert "more fields" in abstract.note
    assert len(loaded(abstract)) == 41


def test_lines_that_are_skipped_or_filled_are_counted(describe: Describe, folder: Path) -> None:
    rows = "".join(f"{n},x,{n}\n" for n in range(20))
    (folder / "odd.csv").write_text(f"a,b,c\n{rows}1,x,y,2\n3,x,y,4\n5,broken\n\nSource: the ministry\n")
    (abstract,), _ = describe("odd.csv")
    assert "2 lines have more fields than the header" in abstract.note
    assert "2 lines have fewer fields than the header, the first is “5,broken”" in abstract.note
    assert abstract.tables[0].rows == 22
    (abstract,), _ = describe("odd.csv", whole=10, head=1_000, block=10)
    assert "Some lines have more fields" in abstract.note
    (folder / "even.csv").write_text("a,b\n1,2,\n3,4\n5,6,\n7,8,\n")
    (abstract,), _ = describe("even.csv")
    assert "fields" not in abstract.note


def test_a_broken_line_behind_the_looked_at_part_is_survived(describe: Describe, folder: Path) -> None:
    rows = "".join(f"{n},x\n" for n in range(5_000))
    (folder / "data.csv").write_text(f"id,name\n{rows}1,x,extra,fields\n")
    (abstract,), _ = describe("data.csv")
    assert "more fields" in abstract.note
    assert len(loaded(abstract)) == 5_000


def test_a_table_without_a_header_gets_numbered_columns(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("1,2.5,N\n2,3.5,S\n3,4.5,E\n")
    (abstract,), _ = describe("data.csv")
    assert "no header" in abstract.note
    assert loaded(abstract).shape == (3, 3)


def test_years_as_column_names_are_a_header(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("region,2021,2022\nN,1,2\nS,3,4\n")
    (abstract,), _ = describe("data.csv")
    assert [column.name for column in abstract.tables[0].columns] == ["region", "2021", "2022"]


def test_a_header_alone_is_a_table_without_rows(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("region,amount\n")
    (abstract,), problems = describe("data.csv")
    assert not problems
    assert abstract.tables[0].rows == 0
    assert len(loaded(abstract)) == 0


def test_one_column_is_a_table(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("amount\n1\n2\n3\n")
    (abstract,), _ = describe("data.csv")
    assert loaded(abstract)["amount"].sum() == 6


def test_sixty_columns_are_described_and_the_rest_is_counted(describe: Describe, folder: Path) -> None:
    pd.DataFrame([range(75)], columns=[f"c{n}" for n in range(75)]).to_csv(folder / "data.csv", index=False)
    (abstract,), _ = describe("data.csv")
    assert len(abstract.tables[0].columns) == 60
    assert "15 more" in abstract.note
    assert loaded(abstract).shape == (1, 75)


def test_a_column_is_described_by_type_gaps_samples_and_distinct_values(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text("id,city\n1,Köln\n2,\n3,Köln\n4,Bonn\n")
    (abstract,), _ = describe("data.csv")
    table = abstract.tables[0]
    city = table.columns[1]
    assert (table.rows, city.dtype, city.missing, city.unique, city.samples) == (4, "str", 0.25, 2, ("Köln", "Bonn"))
    assert table.head.splitlines()[:3] == ["id | city", "1 | Köln", "2 | "]
    assert abstract.sha256 == hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()
    assert abstract.size == (folder / "data.csv").stat().st_size


def test_long_cells_are_cut(describe: Describe, folder: Path) -> None:
    (folder / "data.csv").write_text(f"id,text\n1,{'x' * 5000}\n2,y\n")
    (abstract,), _ = describe("data.csv")
    assert len(abstract.tables[0].columns[1].samples[0]) == 60
    assert len(abstract.tables[0].head) < 200


@pytest.fixture
def ledger(folder: Path) -> tuple[int, int]:
    """A larger table whose late rows differ from its first: its rows and its distinct regions."""
    chance = random.Random(7)
    with (folder / "big.csv").open("w", encoding="gb18030") as file:
        file.write("编号;地区;金额\n")
        for number in range(60_000):
            region = "北京" if number < 30_000 else "上海"
            file.write(f"{number};{region};{chance.random() * 1000:.2f}\n")
    return 60_000, 2


def test_a_large_table_is_sampled_all_over_and_its_rows_are_counted(
    describe: Describe, ledger: tuple[int, int]
) -> None:
    rows, regions = ledger
    (abstract,), problems = describe("big.csv", whole=200_000, head=50_000, block=20_000)
    assert not problems
    table = abstract.tables[0]
    assert table.sampled
    assert table.rows == rows
    assert abstract.encoding == "gb18030"
    assert table.columns[1].unique == regions, "the blocks reach the second half"
    assert table.columns[0].unique is not None
    assert table.columns[0].unique < rows, "not read whole"
    assert "Large file" in abstract.note
    assert len(loaded(abstract)) == rows


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_large_table_in_wide_characters_is_sampled(describe: Describe, folder: Path, encoding: str) -> None:
    text = "city;n\n" + "".join(f"Köln {n};{n}\n" for n in range(20_000))
    (folder / "big.csv").write_bytes(text.encode(encoding))
    (abstract,), problems = describe("big.csv", whole=100_000, head=40_000, block=10_000)
    assert not problems
    assert abstract.tables[0].rows == 20_000
    assert abstract.tables[0].columns[1].dtype == "int64", "every block is decoded on its character borders"


def test_rows_of_a_large_table_with_quoted_line_ends_are_not_claimed(describe: Describe, folder: Path) -> None:
    text = "n,text\n" + "".join(f'{n},"two\nlines"\n' for n in range(20_000))
    (folder / "big.csv").write_text(text)
    (abstract,), _ = describe("big.csv", whole=100_000, head=40_000, block=10_000)
    assert abstract.tables[0].sampled
    assert abstract.tables[0].rows is None
    lines = [f"{n},{'x' * 8}\n" for n in range(20_000)]
    lines[6_000] = '6000,"two\nlines"\n'  # between the parts that are looked at
    (folder / "big.csv").write_text("n,text\n" + "".join(lines))
    (abstract,), _ = describe("big.csv", whole=100_000, head=40_000, block=10_000)
    assert abstract.tables[0].rows is None


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_blank_lines_of_a_large_table_are_no_rows(describe: Describe, folder: Path, end: str, encoding: str) -> None:
    lines = ["a title", "", "n,text", *(f'{n},"x"' for n in range(20_000)), "", ""]
    lines.insert(9_000, "")
    (folder / "big.csv").write_bytes(end.join(lines).encode(encoding))
    (abstract,), _ = describe("big.csv", whole=100_000, head=40_000, block=10_000)
    assert abstract.tables[0].sampled
    assert abstract.tables[0].rows == 20_000


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("gb18030", "姓名,城市\n张三,北京\n李四,上海\n"),
        ("gb18030", "日期,温度℃\n1,2\n"),
        ("gb18030", "商品名称\n羽绒服\n牛仔裤\n"),
        ("gb18030", "省份,GDP\n黑龙江,1\n内蒙古,2\n"),
        ("cp950", "姓名,城市\n張三,臺北\n李四,高雄\n"),
        ("cp932", "名前,都市\n田中,東京\n鈴木,大阪\n"),
        ("cp932", "社名,数量\n㈱田中,①\n髙橋商店,②\n"),
        ("cp932", "商品,種類\nコーヒー,ｱｲｽ\n"),
        ("cp932", "日時,設置場所,温度(℃),湿度(%)\n1,倉庫A,24.1,60\n2,冷蔵庫1,4.0,55\n"),
        ("cp932", "部署,勤怠区分\n総務課,有給休暇\n製造課,欠勤\n"),
        ("euc_jp", "名前,都市\n田中さん,東京\n鈴木さん,大阪\n"),
        ("cp949", "이름,도시\n김철수,서울\n이영희,부산\n"),
        ("cp949", "상품명,별명\n펲시,똠방각하\n샾쇼핑백,찦차\n"),
        ("cp1252", "Prénom,Ville\nHélène,Besançon\nFrançois,Orléans\n"),
        ("cp1252", "Preis €;Menge\n1;2\n"),
        ("cp1252", "“Quoted” – text’s\n"),
        ("cp1252", "id,temperature\n1,10°C\n2,50°F\n"),
        ("cp1252", "id,size\n1,±A\n2,¼l\n"),
        ("cp1251", "Имя,Город\nИван,Москва\nОльга,Казань\n"),
        ("cp1251", "ГОРОД,СУММА\nМОСКВА,1\n"),
        ("cp866", "город,сумма\nМосква,1\nСанкт-Петербург,2\n"),
        ("koi8-u", "Город,Сумма\nМосква,1\nКазань,2\n"),
        ("cp1250", "Miasto;Sprzedaż\nŁódź;1\nKraków;2\nCzęstochowa;3\n"),
        ("cp1250", "Město;Tržby\nPlzeň;1\nČeské Budějovice;2\n"),
        ("cp1253", "Πόλη;Πωλήσεις\nΑθήνα;1\nΠάτρα;2\n"),
        ("cp1254", "Şehir;Satış\nİstanbul;1\nEskişehir;2\n"),
        ("cp1255", "עיר;מכירות\nירושלים;1\nתל אביב;2\n"),
        ("cp1256", "المدينة;المبيعات\nالقاهرة;1\nالرياض;2\n"),
        ("cp1257", "Miestas;Kiekis\nŠiauliai;1\nPanevėžys;2\nKėdainiai;3\n"),
        ("cp874", "เมือง;ยอดขาย\nกรุงเทพ;1\nเชียงใหม่;2\n"),
        ("cp850", "Stadt;Umsatz\nMünchen;1\nKöln;2\nDüsseldorf;3\n"),
        ("cp1252", "Stadt;Umsatz\nMünchen;1\nKöln;2\nDüsseldorf;3\n"),
        ("cp1252", "Filiale;Umsatz\nKöln;1.234,00 €\nMünchen;5,00 €\n"),
        ("cp1252", "By;Beløb\nÅrhus;1\nTromsø;2\n"),
        ("cp1252", "Quarter;Revenue £m\nQ1;5\n"),
    ],
)
def test_a_few_words_are_enough_to_tell_the_encoding(codec: str, text: str) -> None:
    assert detect([text.encode(codec)], whole=True).name == codec


@pytest.mark.parametrize(
    ("codec", "is_guess"),
    [("cp1250", True), ("cp1253", True), ("cp1252", True), ("utf-8", False), ("utf-16", False), ("gb18030", False)],
)
def test_an_encoding_that_only_letters_speak_for_is_called_a_guess(
    describe: Describe, folder: Path, codec: str, is_guess: bool
) -> None:
    words = {"cp1250": "Łódź", "cp1253": "Αθήνα", "cp1252": "Nîmes"}.get(codec, "北京上海")
    (folder / "a.csv").write_bytes(f"city,n\n{words},1\n{words},2\n".encode(codec))
    (abstract,), _ = describe("a.csv")
    assert ("is a guess" in abstract.note) == is_guess
    if codec == "cp1250":
        assert not any("\u0400" <= letter <= "\u04ff" for letter in abstract.tables[0].head)


@pytest.mark.parametrize("rows", [b"5 \x80,1\n6 \x9d,2\n", b"M\xfcnchen,1\n" * 4_000 + b"Caf\x9d,1\n"])
def test_bytes_that_the_encoding_does_not_have_keep_no_file_from_loading(
    describe: Describe, folder: Path, rows: bytes
) -> None:
    (folder / "a.csv").write_bytes(b"name,n\n" + rows)
    (abstract,), problems = describe("a.csv")
    assert not problems
    assert len(loaded(abstract)) == rows.count(b"\n")


def test_samples_show_the_different_ways_in_which_values_are_written(describe: Describe, folder: Path) -> None:
    amounts = [f"{n}.00" for n in range(400)]
    amounts[300], amounts[350] = "$79.80", '"1,234.50"'
    (folder / "data.csv").write_text("id,amount\n" + "".join(f"{n},{value}\n" for n, value in enumerate(amounts)))
    (abstract,), _ = describe("data.csv")
    assert {"0.00", "$79.80", "1,234.50"} <= set(abstract.tables[0].columns[1].samples)
