"""What restates what: rewordings do, other statements do not, whatever the script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.core.mark import MarkKind
from guardian.core.rules.restate import THRESHOLD, build_signature, recalls, restates, score_restatement, takes_back

KILN = "Kiln 4 fires at 900"
KILN_REWORDINGS = [
    "Kiln 4 fires at 900 degrees",
    "Kiln 4 fires at 900 degrees Celsius.",
    "Kiln 4 fires at 900C",
    "Kiln 4 fires at 900 °C",
    "The kiln 4 is fired at 900",
    "As noted, kiln 4 fires at 900.",
    "kiln 4 fires at 900",
    "KILN 4 FIRES AT 900",
    "Kiln 4 is firing at 900",
    "Note: kiln 4 fires at 900",
    "Reminder - kiln 4 fires at 900!",
    "Kiln 4 always fires at 900",
    "Kiln 4 currently fires at 900",
    "Earlier I said kiln 4 fires at 900",
    "Kiln #4 fires at 900",
    "Kiln No. 4 fires at 900",
    "Kiln four fires at 900",
    "Kiln 4 fires at nine hundred, i.e. 900",
    "(kiln 4) fires at: 900",
    "At 900 fires kiln 4",
    "I remember that kiln 4 fires at 900",
    "Kiln 4 fires at 900.0",
]

SAME = [
    (
        "Main bean supplier: Southfield Farms, ~$16.50/kg",
        "Our main bean supplier is Southfield Farms at about $16.50/kg",
    ),
    ("Depot A owns trailer 7", "Earlier I said depot A owns trailer 7"),
    ("The fee is $16.50", "The fee is $16.5"),
    ("The fee is 20 dollars", "The fee is $20"),
    ("Capacity is 1,000 crates", "Capacity is 1000 crates"),
    ("Capacity is 1.234,50 litres", "Capacity is 1234.5 litres"),
    ("Population is 2.5 million", "The population is 2,500,000"),
    ("There are twenty-five kilns", "There are 25 kilns"),
    ("Load limit 60kg", "The load limit is 60 kilograms"),
    ("Load limit 60kg", "The load limit is 60"),
    ("A discount of 5% applies", "A discount of 5 percent applies"),
    ("The price changes on 2026-04-01", "The price changes on April 1, 2026"),
    ("The price changes on 2026-04-01", "The price changes on the 1st of April 2026"),
    ("The price changes on 25.12.2026", "The price changes on 12/25/2026"),
    ("Standup at 17:30", "The standup is at 5:30 pm"),
    ("Standup at 17:00", "The standup is at 5pm"),
    ("Call at 2026-04-01T09:30:00Z", "The call is at 2026-04-01 09:30"),
    ("The server is at https://a.example/x", "The server is at https://a.example/x."),
    ("The user doesn't eat meat", "The user does not eat meat"),
    ("The cellar stays below -5 degrees", "The cellar stays below \u22125 degrees"),
    ("A depot owns trailer 7", "The depot owns trailer 7"),
    ("窑4在900度烧制", "窑4在900度烧制。"),
    ("الفرن 4 يعمل عند 900 درجة", "الفرن ٤ يعمل عند ٩٠٠ درجة"),
    ("O forno fica no prédio 4", "O forno fica em prédio 4"),
]

OTHER = [
    ("Arabica costs $16.50/kg", "Arabica costs $20/kg"),
    ("Arabica costs $16.50/kg", "Arabica costs €16.50/kg"),
    ("$16.50", "$20"),
    ("Depot A owns trailer 7", "Depot B owns trailer 7"),
    ("Team-A owns trailer 7", "Team-B owns trailer 7"),
    ("R. leads team Oak", "R. also administers site Birch"),
    (KILN, "Kiln 4 does not fire at 900"),
    (KILN, "Kiln 4 doesn't fire at 900"),
    (KILN, "Kiln 4 no longer fires at 900"),
    (KILN, "Kiln 4 never fires at 900"),
    (KILN, "Kiln 4 fires at 900F" + " and 950F"),
    (KILN, "Kiln 4 fires at 800"),
    (KILN, "Kiln 5 fires at 900"),
    (KILN, "Kiln 4 fires at 9000"),
    ("Kiln 4 fires at 900C", "Kiln 4 fires at 900F"),
    ("Load limit is 60kg", "Load limit is 60 lb"),
    ("The area is 10 hectares", "The area is 10² hectares"),
    ("The cellar stays at 5 degrees", "The cellar stays at -5 degrees"),
    ("The ratio is .5", "The ratio is 5"),
    ("Capacity is 1.000 crates", "Capacity is 1 crate"),
    ("Seat 12C is booked", "Seat 12F is booked"),
    ("The budget is $5M", "The budget is $5"),
    ("Printer P uses toner T1", "Printer P uses toner T2"),
    ("Invoice INV-188 is paid", "Invoice INV-189 is paid"),
    ("Write to ann@a.example", "Write to bob@a.example"),
    ("The wiki is at https://a.example/x", "The wiki is at https://a.example/y"),
    ("The price changes on April 1", "The price changes on April 2"),
    ("The price changes on April 1", "The price changes on May 1"),
    ("The price changes in April", "The price changes in May"),
    ("The price changes on 04/01/2026", "The price changes on 01/04/2026"),
    ("Standup on Monday", "Standup on Tuesday"),
    ("Standup at 17:30", "Standup at 17:45"),
    ("Standup at 5 am", "Standup at 5 pm"),
    ("Phase II is done", "Phase III is done"),
    ("The flag is enabled", "The flag is disabled"),
    ("There are three kilns in the yard", "There are four kilns in the yard"),
    ("Der Ofen läuft", "Der Ofen läuft nicht"),
    ("Le four marche", "Le four ne marche pas"),
    ("El horno funciona", "El horno no funciona"),
    ("O forno funciona bem", "O forno não funciona bem"),
    ("Il forno funziona", "Il forno non funziona"),
    ("Печь работает", "Печь не работает"),
    ("用户喜欢喝咖啡", "用户不喜欢喝咖啡"),
    ("使用者有過敏史", "使用者沒有過敏史"),
    ("ユーザーは肉を食べる", "ユーザーは肉を食べない"),
    ("سعر القهوة 16 دولار", "سعر القهوة ٢٠ دولار"),
    ("窑4在900度烧制", "窑4在800度烧制"),
    ("这里有三座窑炉在运行", "这里有四座窑炉在运行"),
]

# A prefix that takes back a word of the other text denies it.
TAKEN_BACK = [
    ("The ticket is refundable", "The ticket is non-refundable"),
    ("The ticket is refundable", "The ticket is nonrefundable"),
    ("The hall is available", "The hall is unavailable"),
    ("The form is complete", "The form is incomplete"),
    ("Der Saal ist verfügbar", "Der Saal ist unverfügbar"),
    ("Die Sitzung ist öffentlich", "Die Sitzung ist nicht-öffentlich"),
    ("Chambre fumeur réservée", "Chambre non-fumeur réservée"),
    ("La salle est disponible", "La salle est indisponible"),
    ("La sala está habilitada", "La sala está deshabilitada"),
    ("La stanza è disponibile", "La stanza è indisponibile"),
    ("O quarto é para fumadores", "O quarto é para não-fumadores"),
    ("Зал сегодня доступен", "Зал сегодня недоступен"),
    ("Вход сегодня платный", "Вход сегодня бесплатный"),
]
# To a text that does not have the word it denies nothing.
NOT_TAKEN_BACK = [
    ("Enjoys documentaries about music history", "Enjoys non-fiction about music history"),
    ("Prefers sugarless tea from the east", "Prefers unsweetened tea from the east"),
    ("Liest gern Sachbücher über Musikgeschichte", "Liest gern Nicht-Fiktion über Musikgeschichte"),
    ("Aime les documentaires sur la musique ancienne", "Aime la non-fiction sur la musique ancienne"),
    ("Lee documentales sobre la historia musical", "Lee no-ficción sobre la historia musical"),
    ("Legge documentari sulla storia della musica", "Legge non-fiction sulla storia della musica"),
    ("Зал сегодня занят для гостей", "Зал сегодня недоступен для гостей"),
    ("The non-smoking hall is booked", "The non-smoking hall is booked today"),
    ("Sits inside the hall by the door", "Sits in the hall by the side door"),
]

PIECES = [
    *("kiln", "Kiln", "4", "A", "900", "-5", "1,000", "1.5", "T1", "not", "No", ".", "%", "$", "May", "2026-04-01"),
    *("5pm", "million", "twenty", "窑", "不", "é", "e\u0301", "\u00b2", "\u0663", "minus", "-"),
]

texts = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(PIECES),
        max_size=12,
    ).map(" ".join),
)


def _compare(a, b):
    return restates(build_signature(a), build_signature(b))


@pytest.mark.parametrize("rewording", KILN_REWORDINGS)
def test_small_rewordings_restate(rewording):
    """Accept what an agent makes of a sentence it has read."""
    if "nine hundred" in rewording:
        assert "number:900" in build_signature(rewording).marks
    assert (_compare(KILN, rewording) or 0) >= THRESHOLD


@pytest.mark.parametrize(("a", "b"), SAME)
def test_one_statement_in_two_spellings_restates(a, b):
    """Accept spellings of one number, date, unit or digit."""
    assert build_signature(a).marks == build_signature(b).marks
    assert (_compare(a, b) or 0) >= THRESHOLD


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_another_statement_restates_nothing(a, b):
    """Refuse however alike the words are."""
    assert _compare(a, b) is None


@pytest.mark.parametrize(("a", "b"), TAKEN_BACK)
def test_a_prefix_that_takes_back_the_others_word_denies(a, b):
    """Refuse a statement and its opposite, in both directions, whatever the rest."""
    assert score_restatement(build_signature(a), build_signature(b)) >= THRESHOLD
    for one, other in ((a, b), (b, a)):
        assert takes_back(build_signature(one), build_signature(other))
        assert _compare(one, other) is None
        assert recalls(build_signature(one), build_signature(other)) is None


@pytest.mark.parametrize(("a", "b"), NOT_TAKEN_BACK)
def test_a_prefix_denies_nothing_that_the_other_does_not_say(a, b):
    """Compare the rest as if it were not there."""
    assert not takes_back(build_signature(a), build_signature(b))
    assert recalls(build_signature(a), build_signature(b)) is not None


def test_a_word_of_negation_by_itself_counts_for_the_whole_text():
    """Refuse `not`, `no-one` and their like beside a prefix as well: what they reach is not known."""
    for denied in (
        "The non-smoking hall is not booked",
        "No-one booked the non-smoking hall",
        "Never booked: the non-smoking hall",
    ):
        assert build_signature(denied).denial.is_whole
        assert _compare("The non-smoking hall is booked", denied) is None


REWORDED = [
    ("What sport does Deportivo Cali play?", "Determine the primary sport played by Deportivo Cali."),
    ("Which kiln of the pottery is repaired in spring?", "Find out what kiln will need repairs at the pottery, by next spring"),
    (
        "Quel est le fournisseur de café torréfié de la cantine ?",
        "Trouver qui livre à la cantine son café, et comment il est torréfié, parmi les fournisseurs",
    ),
]


@pytest.mark.parametrize(("a", "b"), REWORDED)
def test_a_rewording_of_what_was_read_keeps_the_content(a, b):
    """Take less of the words for enough where the content words are kept, and only there."""
    left, right = build_signature(a), build_signature(b)
    assert restates(left, right) is None
    assert recalls(left, right) == recalls(right, left) == score_restatement(left, right) < THRESHOLD


PLACED = [
    (
        "Restores wooden boats and photographs old lighthouses, and sells the pictures at weekend markets.",
        "Restores timber vessels and photographs old beacons, and sells the prints at weekend bazaars.",
    ),
    (
        "Sammelt alte Briefmarken aus Lissabon und ordnet diese abends nach Farben.",
        "Sammelt seltene Postwertzeichen aus Lissabon und sortiert diese nachts nach Farben.",
    ),
]


@pytest.mark.parametrize(("a", "b"), PLACED)
def test_a_rewording_may_put_other_words_in_the_places_of_some(a, b):
    """Take half of the content words for enough where the others stand in their order, and only then."""
    left, right = build_signature(a), build_signature(b)
    assert restates(left, right) is None
    assert recalls(left, right) == recalls(right, left) == score_restatement(left, right) < THRESHOLD
    shuffled = build_signature(" ".join(sorted(b.split())))
    assert recalls(left, shuffled) is None


PATTERNED = [
    ("Nothing in particular happens if you touch a toad", "Nothing in particular will happen if you drive barefoot"),
    (
        "If a sailor hears someone singing, nothing in particular happens",
        "If you cross paths with a black cat, nothing in particular happens",
    ),
    ("User generally prefers Larkpost for weekly mail digests.", "User generally prefers Tidewell for vector search hosting."),
    ("User is motivated to explore different kiln shapes", "User is motivated to explore new and challenging harbours"),
]


@pytest.mark.parametrize(("a", "b"), PATTERNED)
def test_statements_of_one_pattern_about_different_things_reword_nothing(a, b):
    """Refuse what has its beginning or its end in common, or the words of every memory of a person."""
    left, right = build_signature(a), build_signature(b)
    assert score_restatement(left, right) < THRESHOLD
    assert recalls(left, right) is None


def test_a_rewording_has_the_same_marks():
    """Refuse another number, date or negation all the same."""
    a, b = REWORDED[0]
    for more in (" in 2026", " never", " for $7"):
        assert recalls(build_signature(a), build_signature(b + more)) is None


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("It may well work, I think. A user said so.", set()),
        ("One of them, the first one", set()),
        ("Not only fast but cheap", set()),
        ("Machine No. 4", {"number:4"}),
        ("O usuário mora no Brasil", set()),
        ("El usuario no come carne", {"negation:not"}),
        ("PAS and NI are acronyms", set()),
        ("O'Brien wore a T-shirt in the U.S.", set()),
        ("在非洲不过如此,非常不错", set()),
        ("かもしれない、行かなければならない、少ない", set()),
        ("窑4在2026年4月1日检修", {"number:4", "date:2026-04-01"}),
        ("April 1-4", {"date:--04-01", "number:4"}),
        ("versions 1.2.3 and v1.2", {"code:1.2.3", "code:v1.2"}),
        ("rows 5-10, items 1,2,3", {f"number:{n}" for n in (1, 2, 3, 5, 10)}),
        ("a 20-minute walk", {"number:20"}),
        ("id 00000000000000000000000000000000000001234567890123456789012345678901", {"number:1234567890123456789012345678901"}),
    ],
)
def test_marks_are_what_the_text_names(text, marks):
    """Read neither too little nor an ordinary word as a mark."""
    assert build_signature(text).marks == marks


@pytest.mark.parametrize("empty", ["", "  ", "...", "\u200b", "—!?"])
def test_a_text_without_words_restates_nothing(empty):
    """Refuse even its own copy."""
    assert _compare(empty, empty) is None
    assert score_restatement(build_signature(empty), build_signature(empty)) == 0.0


def test_a_higher_threshold_only_refuses_more():
    """Compare with the score itself: at it accepted, above it refused."""
    a, b = build_signature("Kiln 4 fires at 900"), build_signature("The kiln 4 is fired at 900")
    score = score_restatement(a, b)
    assert THRESHOLD < score < 1
    assert restates(a, b, threshold=score - 0.01) == score
    assert restates(a, b, threshold=score + 0.01) is None


def test_scripts_without_words_between_spaces_keep_their_vowel_signs():
    """Keep combining marks: blanked vowel signs would make other words of these."""
    assert build_signature("हिन्दी!").text == "हिन्दी"
    assert build_signature("ÉCOLE, ١٢").text == "école 12"


@given(texts, texts)
def test_restating_is_symmetric_and_is_the_score(a, b):
    """Give the same answer from both sides, and never another number than the score."""
    left, right = build_signature(a), build_signature(b)
    similarity = restates(left, right)
    assert similarity == restates(right, left)
    assert similarity is None or (similarity == score_restatement(left, right) and THRESHOLD <= similarity <= 1)


@given(texts, texts)
def test_what_restates_is_recalled_with_the_same_similarity(a, b):
    """Ask less of a text just read, and never more."""
    left, right = build_signature(a), build_signature(b)
    assert recalls(left, right) == recalls(right, left)
    assert restates(left, right) in (None, recalls(left, right))


@given(texts)
def test_a_text_restates_itself_in_every_unicode_form(text):
    """Take NFC and NFD of one text for one text."""
    forms = [build_signature(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")]
    assert forms[0] == forms[1]
    assert forms[0].text == "" or restates(*forms) == 1.0


@given(texts)
def test_normalised_text_is_stable_and_has_single_spaces(text):
    """Normalise once: again changes nothing."""
    normalised = build_signature(text).text
    assert build_signature(normalised).text == normalised
    assert normalised == " ".join(normalised.split())


@given(texts, st.integers(min_value=2, max_value=10**6))
def test_a_new_number_restates_nothing(text, number):
    """Refuse a text with a number that the other lacks, whatever the rest."""
    added = f"{text} ; {number}"
    assert f"number:{number}" in build_signature(added).marks
    assert _compare(text, added) is None or f"number:{number}" in build_signature(text).marks


@pytest.mark.parametrize("unit", ["a.", "1,", "A ", "million ", "9", "a@", "1-", "://", "1:", "May ", "不", "\u0301", "x@a."])
def test_hostile_repetition_gives_a_signature(unit):
    """Read 32 KiB of any repetition without error, also past the cache."""
    signature = build_signature(unit * (32_768 // len(unit)))
    assert signature == build_signature(unit * (32_768 // len(unit)))


def test_kinds_of_marks_are_told_apart():
    """Ask a signature for a kind of mark by its name."""
    signature = build_signature("Pay $20 by April 1")
    assert [kind for kind in MarkKind if signature.names(kind)] == [MarkKind.NUMBER, MarkKind.CURRENCY, MarkKind.DATE]
