"""GitHub's rate limits: one budget a token and resource, shared by everything that asks.

REST and GraphQL are budgeted apart. All times are GitHub's own: a local clock that is wrong by
hours changes no waiting, since the offset is read off each reply's ``Date``.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal

from goldpan.errors import AuthenticationError

Resource = Literal["core", "graphql"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How patiently to ask; in seconds unless the name says otherwise."""

    backoff: float = 1.0
    """The first pause after a failure; doubled each time, with jitter."""
    longest: float = 60.0
    """No pause between tries is longer."""
    secondary: float = 60.0
    """The first pause after a secondary limit that names none."""
    margin: float = 1.0
    """Added to every wait for a reset, against rounding."""
    per_minute: int = 800
    """Requests a minute and token; GitHub allows 900 REST points."""


@dataclass(slots=True)
class Budget:
    """What one token may still ask of one resource; unknown until the first reply."""

    remaining: int | None = None  # as the server last said
    under_way: int = 0  # requests sent and not yet answered
    reset: float = 0.0  # server time


@dataclass(slots=True, eq=False)
class Token:
    """One access token (or none at all) with what is known of it."""

    secret: str | None = field(repr=False)
    budgets: dict[Resource, Budget] = field(
        default_factory=lambda: {"core": Budget(), "graphql": Budget()}
    )
    paused_until: float = 0.0  # server time
    free_at: float = 0.0  # monotonic
    valid: bool = True

    @property
    def name(self) -> str:
        """A way to speak of the token that does not reveal it."""
        return f"the token ending in …{self.secret[-4:]}" if self.secret else "no token"


class TokenPool:
    """Hands out the token that may ask next, waiting while none may."""

    def __init__(
        self, secrets: tuple[str, ...], pace: Pace, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.tokens = [Token(secret) for secret in secrets] or [Token(None)]
        self._pace = pace
        self._note = note
        self._skew = 0.0
        self._told = 0.0

    def now(self) -> float:
        """Return the server's time as seconds since 1970."""
        return time.time() + self._skew

    async def acquire(self, resource: Resource) -> Token:
        """Return a token that has budget, after waiting as long as it takes.

        Raises `AuthenticationError` when no valid token is left.
        """
        while True:
            valid = [token for token in self.tokens if token.valid]
            if not valid:
                raise AuthenticationError(
                    "GitHub accepts none of the tokens given (401)",
                    "Make a new one at Settings > Developer settings, and put it in GITHUB_TOKEN",
                )
            token = min(valid, key=lambda token: (self._wait(token, resource), token.free_at))
            wait = self._wait(token, resource)
            if wait <= 0:
                token.budgets[resource].under_way += 1
                pause = token.free_at - time.monotonic()
                token.free_at = max(token.free_at, time.monotonic()) + 60 / self._pace.per_minute
                if pause > 0:
                    await asyncio.sleep(pause)
                return token
            self._tell(wait, resource)
            await asyncio.sleep(min(wait, 60.0))

    def release(self, token: Token, resource: Resource) -> None:
        """Note that a request made with an acquired token has ended, answered or not."""
        token.budgets[resource].under_way -= 1

    def observe(self, token: Token, resource: Resource, headers: Mapping[str, str]) -> None:
        """Learn from a reply's headers."""
        if date := headers.get("date"):
            with contextlib.suppress(ValueError):
                self._skew = parsedate_to_datetime(date).timestamp() - time.time()
        named = headers.get("x-ratelimit-resource", resource)
        if named not in token.budgets:
            return
        budget = token.budgets["graphql" if named == "graphql" else "core"]
        remaining = _integer(headers.get("x-ratelimit-remaining"))
        reset = _integer(headers.get("x-ratelimit-reset"))
        if remaining is None or reset is None:
            return
        if reset > budget.reset or budget.remaining is None:
            budget.remaining, budget.reset = remaining, float(reset)
        else:  # replies overtake each other: within one window the lowest is the newest
            budget.remaining = min(budget.remaining, remaining)

    def exhausted(self, token: Token, resource: Resource) -> None:
        """Note that a reply said that the primary limit is used up."""
        budget = token.budgets[resource]
        budget.remaining = 0
        if budget.reset <= self.now():
            budget.reset = self.now() + self._pace.secondary

    def pause(self, token: Token, seconds: float) -> None:
        """Leave a token alone after a secondary limit."""
        token.paused_until = max(token.paused_until, self.now() + seconds)

    def _wait(self, token: Token, resource: Resource) -> float:
        budget = token.budgets[resource]
        now = self.now()
        wait = max(0.0, token.paused_until - now)
        if budget.remaining is not None and budget.remaining <= budget.under_way:
            if budget.reset + self._pace.margin <= now:
                budget.remaining = None
            else:
                wait = max(wait, budget.reset + self._pace.margin - now)
        return wait

    def _tell(self, wait: float, resource: Resource) -> None:
        until = time.monotonic() + wait
        if wait > 5 and until > self._told + 5:
            self._told = until
            kind = "GraphQL" if resource == "graphql" else "REST"
            clock = time.strftime("%H:%M:%S", time.localtime(time.time() + wait))
            self._note(f"GitHub's {kind} limit is used up: waiting {wait:,.0f} s, until {clock}")


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
