"""Check digits and other rules that tell a real number from one that only looks like it."""

from __future__ import annotations

from datetime import date

_IBANS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21
LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24
SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
IBAN_LENGTHS = {code[:2]: int(code[2:]) for code in _IBANS.split()}
"""Characters of an IBAN by country."""


def luhn(digits: str) -> bool:
    """Whether the check digit of a card number is right."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = int(char) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban(text: str) -> bool:
    """Whether an IBAN without blanks has its country's length and the right check digits (ISO 7064, mod 97-10)."""
    text = text.upper()
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isascii() or not text.isalnum():
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


_CARD_LENGTHS = (
    (("4",), (13, 16, 19)),
    (("34", "37"), (15,)),
    (("36", "38", "39", *(str(n) for n in range(300, 306))), (14,)),
    ((*(str(n) for n in range(51, 56)), *(str(n) for n in range(2221, 2721))), (16,)),
    (("6011", "65", *(str(n) for n in range(644, 650))), (16, 17, 18, 19)),
    (tuple(str(n) for n in range(3528, 3590)), (16, 17, 18, 19)),
    (("62",), (16, 17, 18, 19)),
    (("5018", "5020", "5038", "5893", "6304", "6759", "6761", "6762", "6763"), tuple(range(12, 20))),
)


def card(digits: str) -> bool:
    """Whether digits are the number of a payment card: an issuer's first digits and length, and Luhn."""
    fits = any(digits.startswith(starts) and len(digits) in lengths for starts, lengths in _CARD_LENGTHS)
    return fits and len(set(digits)) > 1 and luhn(digits)


def us_social_security(digits: str) -> bool:
    """Whether nine digits may be a Social Security number. It has no check digit, but groups that are never given."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def chinese_resident(text: str) -> bool:
    """Whether 18 characters are a resident identity number: a day of birth and the check character (mod 11-2)."""
    try:
        born = date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    check = sum(int(char) * weight for char, weight in zip(text[:17], weights, strict=True)) % 11
    return 1850 <= born.year <= 2100 and "10X98765432"[check] == text[17].upper()


def spanish_dni(text: str) -> bool:
    """Whether a DNI or NIE without dashes has the right letter at its end."""
    digits = {"X": "0", "Y": "1", "Z": "2"}.get(text[0].upper(), text[0]) + text[1:8]
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == text[8].upper()


def british_insurance(text: str) -> bool:
    """Whether a National Insurance number without blanks has a prefix that is given."""
    return text[:2].upper() not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")


def swiss_insurance(digits: str) -> bool:
    """Whether thirteen digits are an AHV number (EAN-13 check digit)."""
    total = sum(int(char) * (3 if place % 2 else 1) for place, char in enumerate(digits[:12]))
    return (10 - total % 10) % 10 == int(digits[12])


def french_insurance(digits: str) -> bool:
    """Whether fifteen digits are a NIR: sex, month, and the key (97 minus the rest by 97)."""
    month = int(digits[3:5])
    return digits[0] in "12" and (1 <= month <= 12 or month >= 20) and 97 - int(digits[:13]) % 97 == int(digits[13:])


def brazilian_cpf(digits: str) -> bool:
    """Whether eleven digits are a CPF (two check digits, mod 11)."""
    if len(set(digits)) == 1:
        return False
    for length in (9, 10):
        rest = sum(int(char) * (length + 1 - place) for place, char in enumerate(digits[:length])) * 10 % 11 % 10
        if rest != int(digits[length]):
            return False
    return True


def italian_fiscal(text: str) -> bool:
    """Whether a codice fiscale has the right check letter."""
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    total = 0
    for place, char in enumerate(text[:15].upper()):
        value = int(char) if char.isdigit() else ord(char) - 65
        total += value if place % 2 else odd[value]
    return chr(65 + total % 26) == text[15].upper()


_CODES = """
1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91
92 93 94 95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240
241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291
297 298 299 350 351 352 353 354 355 356 357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389
420 421 423 500 501 502 503 504 505 506 507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677
678 679 680 681 682 683 685 686 687 688 689 690 691 692 800 808 850 852 853 855 856 870 880 881 882 883 886 888 960 961
962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 992 993 994 995 996 998
"""
_CALLING_CODES = frozenset(_CODES.split())


def international_phone(digits: str) -> bool:
    """Whether digits behind a plus are a telephone number (E.164): a calling code and 8 to 15 digits in all.

    America and Russia have 11.
    """
    if digits[0] in "17":
        return len(digits) == 11
    return 8 <= len(digits) <= 15 and any(digits[:length] in _CALLING_CODES for length in (1, 2, 3))
