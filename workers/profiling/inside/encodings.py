"""Finds the encoding of a text file: by its byte order mark, by validity, and for old encodings by its letters."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Encoding:
    """A codec's name as Python and pandas know it. `broken` when a few bytes are invalid and must be replaced.

    `guessed` when any bytes are valid in it, so that only the letters speak for it.
    """

    name: str
    broken: bool = False
    guessed: bool = False

    def decode(self, data: bytes) -> str:
        """Text, with the replacement character where bytes are invalid or cut."""
        return data.decode(self.name, errors="replace").lstrip("\ufeff")


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ASIAN = ("gb18030", "cp950", "cp932", "euc_jp", "cp949")
"""Of a standard and what Windows made of it, the latter: ① and ㈱ are in no other."""
_LIKE_ASIAN = 0.6
"""The score from which letters are Chinese, Japanese or Korean. Of 854 small tables of other languages, made of names
of places and holidays, one has more; all 35 Chinese ones do, and all words of the tests in these encodings."""
_ONE_BYTE = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("cp866", "koi8-u", "iso8859-2", "iso8859-7"),
)
_BEFORE_WINDOWS = ("cp850", "cp852", "mac-roman")
"""Encodings of DOS and of old Macs. In them, letters stand where Windows has signs."""
_MANY_SIGNS_IN_WORDS = 0.15
_NEVER_AT_A_WORD = frozenset("‚†‡‹›˜¤¬¨¸\ufffd")
"""Signs of cp1252 that no word begins or ends with, as it may with quotation marks, "€" and "°"."""
_LATIN_ENDS = "\u024f"
_MOST_MIXED = 0.3
_LIKELIER = 1.5
"""How much likelier than cp1252, which is everywhere, another encoding of Windows must be."""
_FEW_BROKEN = 0.005
"""Share of invalid bytes up to which a text is still UTF-8 with damage rather than something else."""

_ASCII = bytes(range(128))
_TELLING = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*")
_TELLING_SIZE = 32_768

_COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方"
    "多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明"
    "性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位"
    "次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感"
    "建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色"
    "销售额产品日期客户订单数量价格单价合计金额地区城市姓名编号类型状态时间年龄性别收入成本利润北京上海广州深圳店铺渠道备注电话"
    "這個們來為國說時會對發後過種經學沒動還進樣開從實軍無長機應戰頭體論處義幾認條氣題產訂單價額類狀態時間齡別備註電話區縣總銷"
    "東亜会社売上高注文顧客商品番号氏名住所円税込"
)
_COMMON_HANGUL = frozenset(
    "이다는을를에의가고하은로도지사기시인서자한리어나정아대수일스전부보상조과주해그라제구장성원선비만공중동금매출액날짜지역고객상품수량가격합계이름번호서울산광"
)


def detect(samples: Sequence[bytes], whole: bool) -> Encoding:
    """The encoding of a file from samples of it, the first from its start. `whole`: the samples are all of it."""
    head = samples[0] if samples else b""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name)
    if wide := _unmarked_wide(head):
        return Encoding(wide)
    invalid = sum(_invalid_utf8(sample, at_end=whole) for sample in samples)
    if invalid == 0:
        return Encoding("utf-8")
    beyond_ascii = sum(len(sample.translate(None, _ASCII)) for sample in samples)
    if invalid <= _FEW_BROKEN * sum(map(len, samples)) and invalid * 10 <= beyond_ascii:
        return Encoding("utf-8", broken=True)
    telling = _telling_lines(samples)
    scores = {name: _score(telling, name, whole=whole) for name in _ASIAN}
    best = max(_ASIAN, key=lambda name: scores[name])
    found = Encoding(best) if scores[best] >= _LIKE_ASIAN else Encoding(_one_byte(telling), guessed=True)
    return replace(found, broken=any(_decoded(sample, found.name, whole=whole) is None for sample in samples))


def _one_byte(telling: bytes) -> str:
    """The encoding with one byte for each letter that suits these lines best: any bytes are valid in most of them."""
    western = telling.decode("cp1252", errors="replace")
    has_odd_words = _signs_in_words(western) > _MANY_SIGNS_IN_WORDS
    if not has_odd_words and not any(letter.isalpha() for letter in western if letter > "\x7f"):
        return "cp1252"  # only signs, such as € and °
    candidates = (*_ONE_BYTE, *_BEFORE_WINDOWS) if has_odd_words else _ONE_BYTE
    likely = _likelihoods(telling, candidates)
    if not likely:
        return "latin-1"
    best = max(likely, key=lambda name: likely[name])
    is_close = not has_odd_words and likely.get("cp1252", 0) * _LIKELIER >= likely[best]
    if is_close or telling.decode(best, errors="replace") == western:
        best = "cp1252"
    return best


def _likelihoods(data: bytes, candidates: Sequence[str]) -> dict[str, float]:
    """How likely each of these encodings is, by the pairs of letters of some fifty languages.

    A reading all in capitals counts as the same in small letters: few of the texts that taught the pairs have capitals.
    """
    likely = _chardet(data, candidates)
    for name in list(likely):
        text = data.decode(name, errors="ignore")
        if _mixes_scripts(text):
            del likely[name]
        elif (small := _without_capitals(text)) != text:
            likely[name] = max(likely[name], _chardet(small.encode(name, errors="ignore"), [name]).get(name, 0))
    return likely


def _mixes_scripts(text: str) -> bool:
    """Whether many letters of another script touch one of ASCII. No word has both, but München read so has."""
    others = [index for index, letter in enumerate(text) if letter > _LATIN_ENDS and letter.isalpha()]
    mixed = sum(any(each.isascii() and each.isalpha() for each in text[max(0, at - 1) : at + 2]) for at in others)
    return mixed > _MOST_MIXED * len(others)


def _without_capitals(text: str) -> str:
    """The text in small letters where its letters beyond ASCII are all capitals, else the text as it is."""
    beyond = "".join(letter for letter in text if letter > "\x7f")
    return text.lower() if beyond.isupper() else text


def _chardet(data: bytes, candidates: Sequence[str]) -> dict[str, float]:
    import chardet  # noqa: PLC0415  (its tables take memory, and most files need none of it)

    found = chardet.detect_all(
        data, include_encodings=candidates, ignore_threshold=True, compat_names=False, prefer_superset=True
    )
    likely: dict[str, float] = {}
    for each in found:
        if each["encoding"]:
            likely.setdefault(codecs.lookup(each["encoding"]).name, each["confidence"])
    return likely


def _signs_in_words(western: str) -> float:
    """The share of characters beyond ASCII that are signs where a word has a letter."""
    beyond = [index for index, letter in enumerate(western) if letter > "\x7f"]
    odd = 0
    for index in beyond:
        sign = western[index]
        before, after = western[index - 1 : index].isalpha(), western[index + 1 : index + 2].isalpha()
        is_inside = before and after and sign != "’"
        is_at_the_edge = (before or after) and sign in _NEVER_AT_A_WORD
        odd += not sign.isalpha() and (is_inside or is_at_the_edge)
    return odd / max(len(beyond), 1)


def _telling_lines(samples: Sequence[bytes]) -> bytes:
    """The first lines that hold more than ASCII. In a large file they may be few and late."""
    lines = (match.group() for sample in samples for match in _TELLING.finditer(sample))
    found, size = [], 0
    for line in lines:
        found.append(line[:_TELLING_SIZE])
        size += len(found[-1])
        if size >= _TELLING_SIZE:
            break
    return b"\n".join(found)


def _unmarked_wide(head: bytes) -> str | None:
    """UTF-16 without its mark: every other byte of Latin text is zero."""
    sample = head[:4096]
    if len(sample) < 4 or sample.count(0) < len(sample) // 5:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 4 * even:
        return "utf-16-le"
    return "utf-16-be" if even > 4 * odd else None


def _invalid_utf8(data: bytes, *, at_end: bool) -> int:
    """How many bytes are no UTF-8. A character that the sample's borders cut in two does not count."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(data[start:], final=at_end)
    return text.count("\ufffd") - data.count("\ufffd".encode())


def _score(sample: bytes, name: str, *, whole: bool) -> float:
    """How much the letters beyond ASCII look like a language: 1 for common ones, below 0 for impossible ones."""
    text = _decoded(sample, name, whole=whole)
    if text is None:
        return -1.0
    letters = [index for index, letter in enumerate(text) if letter > "\x7f"]
    if not letters:
        return 0.0
    return sum(_weigh(text, index, name) for index in letters) / len(letters)


def _decoded(sample: bytes, name: str, *, whole: bool) -> str | None:
    """The sample as text, None when it is not valid. A part of a file may begin and end inside a character."""
    for front in range(1 if whole else 2):
        for back in range(1 if whole else 4):
            try:
                return sample[front : len(sample) - back].decode(name)
            except UnicodeDecodeError:
                continue
    return None


def _weigh(text: str, index: int, name: str) -> float:
    letter = text[index]
    code = ord(letter)
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if before <= "\x7f" and after <= "\x7f" and letter.encode(name)[-1:].isalpha():
        return 0.3  # a sign before a letter, such as °C, is read as one character
    if letter in _COMMON_HAN:
        return 1.0 if name != "cp949" else 0.2
    if 0xAC00 <= code <= 0xD7A3:
        if name != "cp949":
            return -0.5
        if letter in _COMMON_HANGUL:
            return 1.0
        return 0.7 if _is_in_the_standard(letter) else _RARE_HANGUL
    if 0x3040 <= code <= 0x30FF:
        return 1.0 if name in ("cp932", "euc_jp") else 0.1
    if 0xFF61 <= code <= 0xFF9F:
        return 0.1
    if 0x4E00 <= code <= 0x9FFF:
        return 0.6 if _is_first_level(letter, name) else 0.1
    if unicodedata.category(letter) in ("Co", "Cn", "Cc"):
        return -1.0
    return 0.5 if 0x3000 <= code <= 0x303F or 0xFF00 <= code <= 0xFF60 else 0.0


_RARE_HANGUL = 0.1
"""Of Windows' 11,172 syllables Korean writes the 2,350 of the standard. Kanji read as Korean become any of them."""


def _is_in_the_standard(syllable: str) -> bool:
    lead, trail = syllable.encode("cp949")
    return lead >= 0xB0 and trail >= 0xA1


_FIRST_LEVEL = {
    "gb18030": (0xB0, 0xD7),
    "cp950": (0xA4, 0xC6),
    "cp932": (0x88, 0x97),
    "euc_jp": (0xB0, 0xCF),
    "cp949": (0x100, 0x100),
}
"""The lead bytes of each standard's everyday characters."""


def _is_first_level(letter: str, name: str) -> bool:
    encoded = letter.encode(name)
    low, high = _FIRST_LEVEL[name]
    return len(encoded) == 2 and low <= encoded[0] <= high and (name != "gb18030" or encoded[1] >= 0xA1)
