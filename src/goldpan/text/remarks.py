"""The purpose of a reply's sentences: explain, advise, ask back, thank, announce, close, triage.

The cues are English, as are the issues that the filters keep. Code, quotes, traces, addresses and
names of people are no sentences (`goldpan.text.prose`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from goldpan.text.lines import LineKind, classify
from goldpan.text.prose import prose_of, split_sentences

_MOST_SENTENCES = 200
_LONGEST = 1_000  # characters of a sentence that are looked at
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPAN = re.compile(r"`[^`\n]{1,200}`")
_ADDRESSED = re.compile(r"\s*@([A-Za-z0-9][A-Za-z0-9-]{0,38})\b")


def _cues(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern for sentences in lower case, which `re` searches in half the time.

    Alternatives begin with a letter, before which a look behind is the cheapest word boundary.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})")


_CURRENT = (
    r"(?:now|no longer) (?:also )?(?:compiles?|works?|builds?|passes|runs|fails?|crash(?:es)?"
    r"|reproduces?|ices?|segfaults?)\b",
    r"(?:compiles|works|builds|passes|runs) (?:\w{1,12} ){0,2}(?:now|today)\b",
    r"(?:do|does|did)(?:n'?t| not) repro(?:duce)?\b|current output\b|updated (?:code|example)\b",
    r"today,? the (?:\w{1,12} )?(?:code|error|example|message|output|program|sample)\b",
)
_TODAY = _cues(*_CURRENT)
"""How the problem stands today: that it is gone explains nothing."""

_NOTE = _cues(
    # triage
    r"triag\w+|nominat\w+|label(?:s|ed|ing|led|ling)?\b|mileston\w+|assign(?:ed|ing)?\b",
    r"priorit\w+|good first issue|help wanted|backlog",
    # duplicates and other places
    r"duplicat\w+|dupes?\s+of|in favou?r of|tracked (?:in|by|at)|superseded|moving (?:this|to)",
    r"continu\w+ (?:in|at)|moved to|transferr\w+|subsumed|see also|same as",
    # closing notes
    r"clos(?:e|es|ed|ing|able)\b|re-?open\w*|stale\b|inactiv\w+|no longer relevant|backport\w*",
    r"(?:been|is|was|got|now|already|probably|this|it|it's|be)"
    r" (?:now |already |probably |actually )?"
    r"(?:fixed|resolved|addressed|solved|merged|implemented|done|completed|landed|released)\b",
    # thanks and praise
    r"thank\w*|thx|cheers|great|awesome|nice (?:catch|work|find)|lgtm|appreciat\w+|cool\b",
    r"good (?:catch|find|job|point|idea|question|news)|sounds (?:good|great|reasonable)",
    r"(?:i )?agree\w*|perfect|excellent|congrat\w*|welcome|sorry|apolog\w+|glad|happy to",
    # announcements
    r"(?:i'?ll|i will|i can|i could|i'?m going to|let me|plan(?:ning)? to|want to)"
    r" (?:\w{1,20} ){0,2}(?:open|submit|send|work|take|look|try|check|test|fix|do|pick|prepare"
    r"|investigat\w+|create|file|report|push|write|add|get|update|post|make|pr)\b",
    r"i(?:'m| am) (?:working|looking|on it)|working on (?:it|this|a)\b|wip\b|take this\b",
    r"(?:opened|created|submitted|filed|made|pushed|posted|sent|here'?s) (?:in )?"
    r"(?:a |an |my |the )?"
    r"(?:pr|pull[ -]request|issue|patch|fix|upstream)\b",
    r"(?:pr|pull request) (?:is )?(?:up|open|here|welcome)\b|pick(?:ing)? (?:it|this) up",
    # the same here
    r"me too|same (?:here|issue|problem|error|thing)|bump\b|ping\b|confirm(?:ed)?\b",
    r"(?:can(?:'t|not)?|could(?:n't| not)?|unable to|able to) (?:re)?produce",
    r"(?:i|we)(?:'m| am| are|'ve| have)? (?:also |still )?(?:seeing|see|hit(?:ting)?|facing"
    r"|getting|having|ran into|running into|experienc\w+|encounter\w*)\b",
    r"still (?:an issue|happen\w*|present|relevant|occurs?|reproduc\w+|valid|the case)",
    r"any (?:updates?|news|progress|eta)\b",
    *_CURRENT,
    # requests
    r"(?:please|pls|kindly) (?:\w{1,20} )?(?:provide|share|post|try|test|check|attach|open|file"
    r"|describe|give|show|let|paste|report|confirm|elaborate|clarify|summari[sz]e)",
    r"need more (?:info|details)|more information|let (?:me|us) know",
)
"""One pattern for all kinds: the time goes into the places that are tried."""
_NOTE_OPENING = re.compile(
    r"^\W*(?:fixed|resolved|addressed|solved|merged|implemented|done|landed|completed)\b"
)
_THANKS = re.compile(
    r"^\W*(?:(?:very|so) )?(?:thank\w*|thx|cheers|great|awesome|nice|cool|perfect|sorry"
    r"|oh,? thank|(?:concept |approach )?n?ack\b|(?:i )?agree\w*|love\b|yes please"
    r"|same|me too|sounds|as i)\b"
)
_TRIAGE = re.compile(r"\W*triage\b")
_BRIEF = 40  # words; what opens with how the problem stands today may explain it in more
_UNSURE = _cues(
    r"i (?:guess|wonder|suspect|suppose)|not (?:\w{1,12} )?(?:sure|convinced)|unsure|no idea",
    r"maybe|perhaps|possibly|presumably|i (?:don'?t|do not) (?:know|recall|remember)|my feeling",
)
_REASON = _cues(
    r"because|since|due to|caused? by|cause of|so that|in order to|otherwise|therefore|hence|thus",
    r"the (?:reason|problem|cause|bug|difference|point|idea|purpose|intention)\b|by design",
    r"reason (?:is|for|why)|which (?:means|is why)|that'?s why|this is why|means that|i\.e\.",
    r"result(?:s|ing)? (?:in|of|from)|as a result|intention\w*|on purpose|expected|unsupported",
    r"not (?:supported|possible|intended|a bug|an issue)|no (?:reason|need|way|point|plans?)\b",
    r"does(?:n't| not)|would(?:n't| not)? (?:be|require|need|break|make)|depends on|rather than",
    r"instead|unnecessary|only\b",
)
_ADVICE = _cues(
    r"you (?:can|could|should|need|must|have to|may|might|want|don'?t)|workaround|work around",
    r"try (?:to|using|with|the|adding|setting|running)|us(?:e|ing)\b|instead of|solution|solved",
    r"fix(?:ed)? (?:it )?(?:by|is|was|would)|should (?:be|use|have|work|do|not)|simply|just\b",
    r"set(?:ting)?\b|add(?:ing)?\b|run(?:ning)?\b|install(?:ing)?\b|make sure|see the|documented",
    r"enable|disable|configure|replace|change|call\b|pass(?:ing)?\b|recommend\w*|suggest\w*",
    r"need(?:s|ed)? to|have to|the (?:right|correct|proper) way",
)
_SOLVED = _cues(
    r"solv(?:ed|es|ing) (?:it|this|that|the|my)\b|(?:did|does|do) the trick|was able to|managed to",
    r"fix(?:ed|es) (?:it|this|that|my|the (?:issue|problem|bug|error|build|compilation|crash))\b",
    r"(?:that|this|it|everything|all|now) (?:\w{1,12} )?(?:works?|worked|helps?|helped)\b",
    r"(?:get|got) (?:it|this) (?:working|to work|to compile|to build)|turn(?:s|ed) out",
    r"problem (?:is )?(?:solved|gone)|no longer (?:have|see|get|happens?|occurs?)\b",
    r"found (?:the|a) (?:cause|problem|issue|solution|reason|way)\b",
)
_STEP = re.compile(
    r"\bby (?:add|remov|delet|sett|runn|us|install|replac|go|chang|call|pass|edit|revert|downgrad"
    r"|upgrad|updat|enabl|disabl|creat|mov|renam|unsett|switch)ing\b"
    r"|^\W*(?:use|try|run|add|remove|install|set|make sure|delete|upgrade|update|downgrade|replace"
    r"|change|call|pass|enable|disable|edit|put|include|define|compile|build|link|configure|create"
    r"|move|rename|switch|export|unset|rebuild|reinstall|sudo|pip|npm|brew|apt|cargo|git)\b"
)


@dataclass(frozen=True, slots=True)
class Remarks:
    """Contents of a reply; words are those of its sentences, without code and quotes."""

    words: int
    """Words of all sentences."""
    statement_words: int
    """Words of the sentences that are neither notes nor questions."""
    question_words: int
    """Words of questions."""
    reasons: bool
    """True where a sentence gives a reason."""
    steps: bool
    """True where a sentence says what to do."""
    solved: bool
    """True where a sentence says that something solved the problem."""
    code: bool
    """True where the reply has a block of code and is no mere report of the problem's status."""
    spans: bool
    """The same for code within a line."""
    quotes: int
    """Lines that it quotes."""
    thanks: bool
    """True where the reply opens with thanks or agreement."""
    unsure: bool
    """True where a sentence that is no question makes a guess."""
    addressed: str | None
    """The login with which it opens, in lower case."""


def read_remarks(text: str) -> Remarks:
    """Return what a reply consists of; the time is linear in the text's length."""
    lines = classify(text)
    written = prose_of(lines)
    stretches = split_sentences(written, "join")[:_MOST_SENTENCES]
    sentences = [written[part.start : part.end][:_LONGEST].lower() for part in stretches]
    words = statement_words = question_words = 0
    reasons = steps = solved = unsure = False
    status = _is_status(sentences)
    for sentence in sentences:
        size = len(_WORD.findall(sentence))
        words += size
        if sentence.endswith("?"):
            question_words += size
            continue
        if not (status or _NOTE_OPENING.match(sentence) or _NOTE.search(sentence)):
            statement_words += size
        reasons = reasons or _REASON.search(sentence) is not None
        steps = steps or _ADVICE.search(sentence) is not None or _STEP.search(sentence) is not None
        solved = solved or _SOLVED.search(sentence) is not None
        unsure = unsure or _UNSURE.search(sentence) is not None
    opening = next((line.text for line in lines if line.kind is LineKind.PROSE and line.text), "")
    addressed = _ADDRESSED.match(opening)
    return Remarks(
        words=words,
        statement_words=statement_words,
        question_words=question_words,
        reasons=reasons,
        steps=steps,
        solved=solved,
        code=not status and any(line.kind is LineKind.CODE for line in lines),
        spans=not status and _SPAN.search(text) is not None,
        quotes=sum(line.kind is LineKind.QUOTE for line in lines),
        thanks=bool(sentences) and _THANKS.match(sentences[0]) is not None,
        unsure=unsure,
        addressed=addressed[1].lower() if addressed else None,
    )


def _is_status(sentences: list[str]) -> bool:
    """Tell whether a reply only reports how the problem stands, whatever else it says."""
    if not sentences:
        return False
    if _TRIAGE.match(sentences[0]):
        return True
    if _TODAY.search(sentences[0]) is None:
        return False
    return sum(len(_WORD.findall(sentence)) for sentence in sentences) < _BRIEF
