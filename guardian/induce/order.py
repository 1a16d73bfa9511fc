"""Words by which a line gives itself away: it speaks to its reader, gives orders, claims a standing, or names a role, a tool or an address.

By language, as memories are written in any. It is a net with holes, for languages that are not here above all: what decides is that a line
grants nothing, and that whoever shows it escapes it. Words are looked for in the line as it is and, against doubles and stray accents, in its
skeleton: decomposed, without marks, look-alikes of Latin letters as these.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ENGLISH: Final = r"""
    \b(?:you|your|yours|yourself)\b                                   # speaks to its reader
    | \b(?:system|assistant|developer|user)\s*:                       # a role
    | <\| | \|> | \[/?(?:inst|sys)\] | \b(?:im_start|im_end|endoftext)\b
    | \b(?:ignore|disregard|override|bypass|forget|jailbreak|obey)\b  # orders
    | \b(?:must|shall|always|never)\s+(?:answer|reply|respond|say|output|print|recommend|choose|pick|buy|call|send|run|execute)\b
    | \b(?:function|tool)[\s_-]?calls?\b | \bcurl\b | \bsudo\b | \bapi[\s_-]?key | \bpassword\b
    | \b(?:marked|mark|treat(?:ed)?|consider(?:ed)?|regard(?:ed)?)\s+(?:it\s+|this\s+|me\s+)?(?:as\s+)?(?:verified|trusted|authoritative|true|fact)
    | \b(?:is|was|are|now|already|fully|status)[\s:=]+verified\b
    | https?: | www\. | \b\S+@\S+\b
"""
# Without accents, as a skeleton has none. What is said of a memory may deny a standing: "nicht geprüft", "no verificada".
_LATIN: Final = r"""
    \b(?:ignorier|missacht|vergiss|befolge)\w* | \b(?:dich|dir|dein(?:e[mnrs]?)?)\b | (?<!nicht\ )\b(?:gepruft|verifiziert)\w*
    | \b(?:ignorez|ignore\s+l|oubli|ne\s+tenez\s+pas) | \b(?:vous|votre|vos|toi)\b | (?<!non\ )(?<!pas\ )\bverifie(?:e|s|es)?\b
    | \b(?:ignora|olvida|desconsider|esquec|dimentica)\w* | \b(?:usted|ustedes)\b | \bdebes\b
    | (?<!no\ )(?<!nao\ )(?<!non\ )\b(?:verificad|verificat)\w*
    | \b(?:negeer|vergeet|zignoruj|zapomnij|ignoruj|abaikan|lupakan|unutun)\w* | \b(?:yok\s+say|gormezden\s+gel)\w* | \bdogrulanmis
    | \bbo\s+qua\b | \bhay\s+(?:danh\s+dau|coi|xem)\b | (?<!chua\ )\b(?:da|duoc)\s+(?:duoc\s+)?xac\s+minh\b | (?<!belum\ )\bterverifikasi\b
"""
# Patterns of plain phrases; a denial before or behind one lets it pass.
_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "russian": ("забудь", "игнориру", "не обращай", "подчиняйся", "считай", "(?<!не )(?<!не)проверенн", "(?<!не )(?<!не)подтверждённ", "(?<!не )(?<!не)подтвержденн"),
    "ukrainian": ("забудь", "ігнору", "вважай", "(?<!не )(?<!не)перевірен"),
    "greek": ("αγνόησ", "αγνοήσ", "ξέχασ", "ξεχάσ", "θεώρησ", "(?<!μη )επαληθευμέν"),
    "arabic": ("تجاهل", "انس كل", "واعتبر", "عليك أن", "أنت", "(?<!غير )مؤكد", "(?<!غير )موثق", "تم التحقق"),
    "persian": ("نادیده بگیر", "فراموش کن", "باید پاسخ", "تأیید شده است"),
    "hebrew": ("התעלם", "תתעלם", "תשכח", "סמן את", "עליך", "(?<!לא )(?<!בלתי )מאומת"),
    "hindi": ("अनदेखा कर", "नज़रअंदाज़ कर", "भूल जा", "आपको", "मानें", "(?<!अ)सत्यापित(?! नहीं)"),
    "bengali": ("উপেক্ষা কর", "ভুলে যা", "আপনাকে"),
    "thai": ("เพิกเฉย", "ละเว้นคำสั่ง", "ลืมคำสั่ง", "คุณต้อง", "(?<!ไม่)ได้รับการยืนยัน"),
    "chinese": (
        "忽略", "无视", "無視", "忘记", "忘記", "忘掉", "你", "您", "标记为", "標記為", "视为事实", "視為事實", "必须回答", "必須回答",
        "已验证", "已驗證", "已经验证", "已核实", "已核實", "已被验证", "已经核实",
    ),
    "japanese": ("無視", "忘れて", "忘れろ", "従って", "従え", "してください", "て下さい", "しなさい", "あなた", "(?:検証|確認)済み(?!で(?:は)?な)"),
    "korean": ("무시하", "잊어", "따르십시오", "따르세요", "하십시오", "하세요", "당신", "검증된 것으로", "검증됨"),
    "roles": (
        "系统:", "系統:", "用户:", "用戶:", "助手:", "システム:", "ユーザー:", "アシスタント:", "시스템:", "사용자:",
        "система:", "пользователь:", "σύστημα:", "النظام:", "مערכת:",
    ),
}  # fmt: skip
# Small letters that look like Latin ones; capitals are folded before.
_DOUBLES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝмтвкнгαορνικτυχϲɡɑıɪɴɢᴏʀᴇ",
    "aeopcyxijshdqwmtbkhraopviktuxcgaiingore",
)


def strip_marks(text: str) -> str:
    """Give a text decomposed and folded, without combining marks."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in folded if unicodedata.category(char) not in {"Mn", "Me"}).replace("đ", "d")


_PHRASES: Final = "|".join(phrase for phrases in _OTHERS.values() for phrase in phrases).casefold()
_SPOKEN: Final = re.compile(_PHRASES)
_BARE_SPOKEN: Final = re.compile(strip_marks(_PHRASES))
_LATIN_ORDERS: Final = re.compile(f"{_ENGLISH} | {_LATIN}", re.IGNORECASE | re.VERBOSE)


def gives_orders(text: str) -> bool:
    """Tell whether a line, in NFKC, does any of that."""
    if text.isascii():
        return _LATIN_ORDERS.search(text) is not None
    bare = strip_marks(text)
    doubled = bare.translate(_DOUBLES)
    return bool(
        _SPOKEN.search(text.casefold())
        or _BARE_SPOKEN.search(bare)
        or _LATIN_ORDERS.search(bare)
        or _LATIN_ORDERS.search(doubled)
    )
