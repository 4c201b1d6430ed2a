"""GitHub's limits: how much may be asked, how many requests at once, and whether it answers at all.

REST and GraphQL are budgeted apart, by token and resource, for everything that asks. All times
are GitHub's own: a local clock that is wrong by hours changes no waiting, since the offset is read
off each reply's ``Date``.

GitHub asks for requests one after another, and for at most 60 s of its processor time a minute
for GraphQL, 90 s in all, to be estimated from response times (documentation of the GraphQL
API's rate limits). So a run begins with one request, more follow while all is well, and a
secondary limit or a choking server halves their number.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self

from goldpan.core.errors import AuthenticationError
from goldpan.core.http import Backoff
from goldpan.miners.replies import Resource


@dataclass(frozen=True, slots=True)
class Pace(Backoff):
    """How patiently to ask; in seconds unless the name says otherwise."""

    secondary: float = 60.0
    """The first pause after a secondary limit that names none."""
    margin: float = 1.0
    """Added to every wait for a reset, against rounding."""
    token: float = 5.0
    """The first pause of a token that was refused; GitHub refuses good ones now and then."""
    patience: float = 3_600.0
    """How long nothing but failures is waited out."""
    per_minute: int = 800
    """Requests a minute and token; GitHub allows 900 REST points."""


FAILURES_TO_DOUBT = 3
"""Failures in a row after which GitHub itself is doubted."""


class ServerHealth:
    """GitHub's availability, by its answers and failures."""

    def __init__(self) -> None:
        self.has_answered = False
        """True once GitHub has answered."""
        self.failures = 0
        """How often in a row it failed since its last answer."""
        self.lock = asyncio.Lock()
        """Held by the task that finds out for all whether it answers again."""
        self._since = 0.0

    @property
    def is_doubtful(self) -> bool:
        """True after so many failures in a row that GitHub itself may be down."""
        return self.failures >= FAILURES_TO_DOUBT

    def record_answer(self) -> None:
        """Note an answer."""
        self.has_answered, self.failures = True, 0

    def record_failure(self) -> None:
        """Note a failure."""
        if not self.failures:
            self._since = time.monotonic()
        self.failures += 1

    def failing_for(self) -> float:
        """Return the seconds since the first failure in a row."""
        return time.monotonic() - self._since if self.failures else 0.0


MINUTE = 60.0
PROCESSOR_SECONDS: Mapping[str, float] = {"graphql": 60.0, "core": 90.0}
"""GitHub's processor time a minute and user that the requests of an API may take, estimated
from response times; GraphQL's time counts for both."""


class Flow:
    """A gate whose width follows the answers: additive increase, multiplicative decrease."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = 1.0
        self._under_way = 0
        self._left = asyncio.Event()

    async def __aenter__(self) -> Self:
        while self._under_way >= int(self.width):
            self._left.clear()
            await self._left.wait()
        self._under_way += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._under_way -= 1  # before anything that could be cancelled
        self._left.set()

    def eased(self) -> None:
        """Note a good answer: a round of them allows one request more."""
        self.width = min(float(self.most), self.width + 1 / self.width)

    def choked(self) -> None:
        """Note a secondary limit, or a server that could not answer."""
        self.width = max(1.0, self.width / 2)


@dataclass(slots=True)
class Load:
    """The response times of a token's requests of the last minute, by API."""

    _spent: deque[tuple[float, str, float]] = field(default_factory=deque)

    def add(self, resource: str, now: float, seconds: float) -> None:
        """Note a request that was answered (or given up) after so many seconds."""
        self._spent.append((now, resource, seconds))

    def wait(self, resource: str, now: float) -> float:
        """Return for how long no further request of this API should be sent."""
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        return max(
            (
                self._wait(kinds, PROCESSOR_SECONDS[limit], now)
                for limit, kinds in (("graphql", ("graphql",)), ("core", ("graphql", "core")))
                if resource in kinds
            ),
            default=0.0,
        )

    def _wait(self, kinds: tuple[str, ...], allowed: float, now: float) -> float:
        over = sum(seconds for _, kind, seconds in self._spent if kind in kinds) - allowed
        if over < 0:
            return 0.0
        for at, kind, seconds in self._spent:
            if kind in kinds:
                over -= seconds
                if over < 0:
                    return at + MINUTE - now
        return 0.0


@dataclass(slots=True)
class Allowance:
    """The remaining budget of one token for one resource; unknown until the first reply."""

    limit: int | None = None  # requests or points an hour
    remaining: int | None = None  # as the server last said
    under_way: int = 0  # requests sent and not yet answered
    reset: float = 0.0  # server time


@dataclass(slots=True, eq=False)
class Token:
    """One access token (or none at all) with what is known of it."""

    secret: str | None = field(repr=False)
    budgets: dict[Resource, Allowance] = field(
        default_factory=lambda: {"core": Allowance(), "graphql": Allowance()}
    )
    load: Load = field(default_factory=Load)
    paused_until: float = 0.0  # server time
    free_at: float = 0.0  # monotonic
    valid: bool = True
    worked: bool = False
    """True once GitHub has accepted the token."""
    refusals: int = 0
    """How often in a row GitHub refused it."""

    @property
    def identity(self) -> str:
        """Tells tokens apart in the archive, where ETags are kept; reveals nothing of them."""
        return hashlib.sha256(self.secret.encode()).hexdigest()[:8] if self.secret else ""

    @property
    def name(self) -> str:
        """A way to speak of the token that does not reveal it."""
        return f"the token ending in …{self.secret[-4:]}" if self.secret else "no token"


class TokenPool:
    """Hands out the token that may ask next, waiting while none may."""

    def __init__(
        self, secrets: Sequence[str], pace: Pace, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.tokens = [Token(secret) for secret in secrets] or [Token(None)]
        self._pace = pace
        self._note = note
        self._skew = 0.0
        self._announced_until = 0.0
        self._refused = ""

    @property
    def named(self) -> list[Token]:
        """The tokens; none where requests go without one."""
        return [token for token in self.tokens if token.secret]

    def now(self) -> float:
        """Return the server's time as seconds since 1970."""
        return time.time() + self._skew

    async def acquire(self, resource: Resource, owner: str = "") -> Token:
        """Return a token that has budget, after waiting as long as it takes.

        With an `owner`, a token's identity, that one is waited for as long as it is valid.
        Raises `AuthenticationError` when no valid token is left.
        """
        while True:
            valid = [token for token in self.tokens if token.valid]
            if not valid:
                raise AuthenticationError(
                    f"GitHub accepts none of the tokens given ({self._refused})",
                    "Put one that it accepts in GITHUB_TOKEN and run the same command again: "
                    "it resumes where it stopped",
                )
            valid = [token for token in valid if token.identity == owner] or valid
            token = min(valid, key=lambda token: (self._wait(token, resource), token.free_at))
            wait = self._wait(token, resource)
            if wait <= 0:
                pause = token.free_at - time.monotonic()
                token.free_at = max(token.free_at, time.monotonic()) + 60 / self._pace.per_minute
                token.budgets[resource].under_way += 1
                if pause > 0:
                    try:
                        await asyncio.sleep(pause)
                    except asyncio.CancelledError:
                        token.budgets[resource].under_way -= 1
                        raise
                return token
            self._announce(token, wait, resource)
            await asyncio.sleep(min(wait, 60.0))

    def owns(self, identity: str) -> bool:
        """Tell whether a valid token of that identity is in the pool."""
        return any(token.valid and token.identity == identity for token in self.tokens)

    def limit(self, resource: Resource) -> int | None:
        """Return the hourly limit of all tokens together; None until GitHub announces one."""
        limits = [token.budgets[resource].limit for token in self.tokens if token.valid]
        announced = [limit for limit in limits if limit is not None]
        return max(announced) * len(limits) if announced else None

    def accepted(self, token: Token) -> None:
        """Note that GitHub took the token."""
        token.worked, token.refusals = True, 0

    def refused(self, token: Token, reason: str, tries: int) -> None:
        """Pause a token that GitHub refused, and set it aside after so many refusals in a row.

        Good tokens are refused now and then (PyGithub#1753), so one that worked before is given
        longer to recover.
        """
        token.refusals += 1
        self._refused = reason
        if token.refusals > tries:
            if token.valid:
                token.valid = False
                if any(other.valid for other in self.tokens):
                    self._note(f"GitHub does not accept {token.name} ({reason}); going on without")
            return
        first = self._pace.token if token.worked else min(self._pace.token, 1.0)
        self.pause(token, first * 2 ** (token.refusals - 1))

    def replace(self, secrets: tuple[str, ...]) -> bool:
        """Take newly made tokens in place of those that are not valid; tell if there are any."""
        present = {token.secret for token in self.tokens}
        added = [Token(secret) for secret in secrets if secret not in present]
        if added:
            self.tokens = [token for token in self.tokens if token.valid] + added
        return bool(added)

    def release(self, token: Token, resource: Resource, seconds: float = 0.0) -> None:
        """Note that a request made with an acquired token ended after so many seconds."""
        token.budgets[resource].under_way -= 1
        token.load.add(resource, time.monotonic(), seconds)

    def observe(self, token: Token, resource: Resource, headers: Mapping[str, str]) -> None:
        """Read the limits in a reply's headers."""
        if date := headers.get("date"):
            with contextlib.suppress(ValueError):
                self._skew = parsedate_to_datetime(date).timestamp() - time.time()
        named = headers.get("x-ratelimit-resource", resource)
        if named not in token.budgets:
            return
        budget = token.budgets["graphql" if named == "graphql" else "core"]
        limit = _integer(headers.get("x-ratelimit-limit"))
        budget.limit = limit if limit is not None else budget.limit
        remaining = _integer(headers.get("x-ratelimit-remaining"))
        reset = _integer(headers.get("x-ratelimit-reset"))
        if remaining is None or reset is None:
            return
        if reset > budget.reset or budget.remaining is None:
            budget.remaining, budget.reset = remaining, float(reset)
        else:  # replies overtake each other: within one window the lowest is the newest
            budget.remaining = min(budget.remaining, remaining)

    def exhausted(
        self, token: Token, resource: Resource, headers: Mapping[str, str], times: int
    ) -> None:
        """Note that a reply said that the primary limit is used up, so many times in a row.

        Where it does not say until when, or that there is something left, it is asked again
        after a pause.
        """
        remaining = _integer(headers.get("x-ratelimit-remaining"))
        reset = _integer(headers.get("x-ratelimit-reset"))
        budget = token.budgets[resource]
        if remaining == 0 and reset is not None and reset + self._pace.margin > self.now():
            budget.remaining, budget.reset = 0, float(reset)
        else:
            budget.remaining = None
            self.pause(token, min(self._pace.secondary * 2.0 ** min(times, 10), 900.0))

    def pause(self, token: Token, seconds: float) -> None:
        """Leave a token alone after a secondary limit."""
        token.paused_until = max(token.paused_until, self.now() + seconds)

    def _wait(self, token: Token, resource: Resource) -> float:
        budget = token.budgets[resource]
        now = self.now()
        wait = max(0.0, token.paused_until - now, token.load.wait(resource, time.monotonic()))
        if budget.remaining is not None and budget.remaining <= budget.under_way:
            if budget.reset + self._pace.margin <= now:
                budget.remaining = None
            else:
                wait = max(wait, budget.reset + self._pace.margin - now)
        return wait

    def _announce(self, token: Token, wait: float, resource: Resource) -> None:
        until = time.monotonic() + wait
        if wait <= 5 or until <= self._announced_until + 5:
            return
        self._announced_until = until
        kind = "GraphQL" if resource == "graphql" else "REST"
        clock = time.strftime("%H:%M:%S", time.localtime(time.time() + wait))
        why = (
            f"GitHub refused {token.name}"
            if token.refusals
            else "GitHub asks to slow down"
            if token.paused_until > self.now()
            else "GitHub's answers are slow, and it allows one minute of work a minute"
            if token.load.wait(resource, time.monotonic()) > 0
            else f"GitHub's {kind} limit is used up"
        )
        self._note(f"{why}: waiting {wait:,.0f} s, until {clock}")


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
