"""Words that carry a mark: data only, read by `core.mark`. Lower case unless said.

A word that is also an ordinary word costs little: it is in both texts or the texts differ anyway. A word that an honest
rewording adds or drops by the way costs a missed restatement, so `one`, `first` and the bare `may` are left out.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _count(start: int, step: int, text: str) -> dict[str, int]:
    """Number the groups of `text`, set apart by bars, from `start` on; the words of a group share a number."""
    groups = (group.split() for group in text.split("|"))
    return {word: start + step * place for place, words in enumerate(groups) for word in words}


SMALL_NUMBERS = _count(
    2,
    1,
    "two second twice | three third | four fourth | five fifth | six sixth | seven seventh | eight eighth | nine ninth"
    "| ten tenth | eleven | twelve dozen | thirteen | fourteen | fifteen | sixteen | seventeen | eighteen | nineteen",
)
TENS = _count(20, 10, "twenty | thirty | forty | fifty | sixty | seventy | eighty | ninety")
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}

_DAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
WORD_MARKS = {
    **{day + plural: f"date:{day}" for day in _DAYS for plural in ("", "s")},
    **dict.fromkeys(_words("dollar dollars usd"), "currency:$"),
    **dict.fromkeys(_words("euro euros eur"), "currency:€"),
    **dict.fromkeys(_words("yen jpy"), "currency:yen"),
    **dict.fromkeys(_words("yuan cny rmb"), "currency:yuan"),
    **dict.fromkeys(_words("percent pct"), "number:%"),
    **{"gbp": "currency:£", "noon": "time:12:00", "midnight": "time:00:00"},
}

MONTHS = _count(
    1,
    1,
    "january jan | february feb | march mar | april apr | may | june jun | july jul | august aug | september sept sep"
    "| october oct | november nov | december dec",
)
# Verbs and nouns in lower case, months with a capital only.
CAPITAL_MONTHS = _words("may mar march")
# Months that count without a number beside them, by their capital; May and March only after one of the prepositions.
LONE_MONTHS = frozenset(month.capitalize() for month in MONTHS if len(month) > 4 or month in {"may", "june", "july"})
MONTH_PREPOSITIONS = _words("in since until till by of last next before after from early late mid")

# Units that say nothing on their own: written or left out, the number is the number. Single letters count in lower
# case and glued only; `m`, `k` and `b` may be a metre or a million and stay part of a code.
_UNITS = """
kg kgs kilo kilos kilogram kilograms | g gram grams gramme grammes | mg milligram milligrams | lb lbs | oz ounce ounces
| km kilometre kilometres kilometer kilometers | cm centimetre centimetres centimeter centimeters | inch inches
| mm millimetre millimetres millimeter millimeters | ft feet foot | mi mile miles | metre metres meter meters
| l litre litres liter liters | ml millilitre millilitres milliliter milliliters | d day days | week weeks
| h hr hrs hour hours | min mins minute minutes | s sec secs seconds | ms millisecond milliseconds | month months
| year years yr yrs | kw | kwh | mw | mwh | hz | khz | mhz | ghz | kb | mb | gb | tb | kib | mib | gib | tib | px | rpm
| mph | kmh kph | pa | kpa | psi | mbar | celsius | fahrenheit | kelvin
"""
UNITS = {spelling: group.split()[0] for group in _UNITS.split("|") for spelling in group.split()}
ORDINALS = _words("st nd rd th")

# English, with words whose negation is inside them; contractions (`n't`) are read by their ending.
NEGATIONS = _words(
    """
    not never none nor neither without cannot nothing nobody nowhere noone unable impossible lack lacks lacking lacked
    dislike dislikes disliked disagree disagrees disagreed disabled disable disables
    cant dont doesnt didnt isnt arent wasnt werent wont couldnt shouldnt wouldnt hasnt havent hadnt
    """
)
# German, French, Spanish, Portuguese, Italian, Russian, Arabic. In capitals these are acronyms and no words.
FOREIGN_NEGATIONS = _words(
    """
    nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder
    ne pas jamais aucun aucune rien sans nunca jamás ningún ninguna ninguno nada nadie sin tampoco ni
    não nenhum nenhuma sem nem ninguém non nessun nessuno nessuna niente senza neanche
    не нет никогда никто ничего ничто без нельзя ليس ليست لم لن لا
    """
)
# `no` is *in the* in Portuguese: words that give the language away, and those of its neighbour that take it back.
PORTUGUESE = _words("o é em ao não são uma à pelo pela você")
SPANISH = _words("el los las y del una con al es su")

ROMAN = _words("II III IV VI VII VIII IX XI XII")

# Prefixes that take back the word they are joined to by a hyphen: `non-fiction`, `nicht-öffentlich`, `не-эксперт`.
PRIVATIVES = _words("non not nicht no não не")
# And those that are glued to it; read only beside a text that has the word without one.
GLUED_PRIVATIVES = ("non", "un", "in", "im", "il", "ir", "dis", "nicht", "des", "dés", "не", "без", "бес")  # noqa: RUF001 - Cyrillic
# Words that only look as if one were there: `inside` takes back no side.
UNDENYING = _words(
    """
    import imports impact impress improve improves income incomes increase increases indoor indoors inform informs inside insight insights
    instead intend intends intent invest invests unless until discount discounts discover discovers discuss display displays dispose
    disease distress infer
    """
)

# Words that any statement may have: they tell nothing about what is stated. English, then the languages of the negations above;
# those of one letter are left out by their length.
FUNCTION_WORDS = _words(
    """
    an the this that these those it its he she they them their his her him me my we us our you your who whom whose which what when where
    why how is are was were be been being am do does did done doing have has had having will would shall should can could may might must
    and or but nor so yet if then than as at by for from in into of off on onto out over to up upon with within about above across after again
    against along among around before behind below beneath beside besides between beyond during except like near outside per since through
    throughout toward towards under via while because though although however also too very more most much many some any all each every both
    either other another such same own just only even still already there here
    not no never none non without cannot
    """
) | _words(
    """
    der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden hat haben ich du er sie es wir ihr
    mein dein sein sich in im an am auf aus bei mit von vom zu zum zur für über unter nach vor als wie dass nicht kein keine auch sehr nur
    le la les un une des du de et ou mais est sont était ont je tu il elle on nous vous ils elles son sa ses ce cette ces qui que qu se
    ne pas en dans par pour sur avec sans au aux plus très
    el los las unos unas pero es son era fue ha han yo él ella su sus lo al del con sin por para como más muy no se
    os as um uma ou mas são foi ele ela seu sua ao da do das dos na no nas nos em com sem por para mais muito não
    il lo gli uno sono era ha hanno lui lei suo sua di del della dei delle da dal in nel nella con su per tra fra che più molto non si
    или но во на ко от до из за по под над при для как что это этот эта эти он она они её их был была было есть не
    من في على إلى عن مع هذا هذه التي الذي أو ثم أن لا لم
    """
)

# Words that say whom a memory is about, and that they like or hold what it tells: every memory of a person has some, so they tell as little as
# the above. English, German, French, Spanish, Portuguese, Italian, Russian, Arabic. Words that say the contrary (avoids, hates) stay content.
FRAME_WORDS = _words(
    """
    user users person persons people someone customer customers client clients
    prefer prefers preferred preferring preference preferences likes liked liking love loves loved loving enjoy enjoys enjoyed enjoying
    want wants wanted wish wishes wished appreciate appreciates appreciated appreciating values valued interested motivated fond keen rather
    favor favors favour favours favorite favorites favourite favourites
    find finds finding found feel feels feeling think thinks thinking believe believes believed
    now currently generally usually often always really
    """
) | _words(
    """
    nutzer nutzerin benutzer benutzerin anwender person kunde kundin mag möchte bevorzugt liebt schätzt findet interessiert gern gerne lieber
    utilisateur utilisatrice personne client cliente préfère aime apprécie adore souhaite trouve intéressé intéressée
    usuario usuaria persona prefiere gusta gustan encanta encantan quiere aprecia disfruta interesado interesada
    usuário usuária pessoa prefere gosta adora quer valoriza aprecia interessado interessada
    utente preferisce piace piacciono ama adora vuole apprezza interessato interessata
    пользователь пользователя пользователю человек предпочитает любит нравится ценит хочет интересуется
    المستخدم يفضل يحب يستمتع يريد يقدر
    """
)
