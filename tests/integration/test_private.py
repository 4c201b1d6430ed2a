"""Private data is found and replaced, and what only looks like it is left alone."""

from __future__ import annotations

import base64
import re
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.redaction import (
    ALLOWED_EMAILS,
    EMAIL,
    IP_ADDRESS,
    SECRETS_ONLY,
    PrivateRules,
    find_private,
    may_be_private,
    redact,
)
from tests.real_texts import needs_real_texts, real_texts

# Secrets are put together here, so that no scanner takes this file for a leak.
DRAWN = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3"
GITHUB = "ghp_" + DRAWN[:36]
GITHUB_FINE = "github_pat_" + DRAWN[:22] + "_" + DRAWN
AWS = "AKIA" + "Z7QK2M4X8T1R5P9W"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
NESTED_HEADER = base64.urlsafe_b64encode(b'{"a":' + b"[" * 1_400).decode().rstrip("=")
BASE64 = "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi8aAbCdEfGhIjK"
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BASE64}\n{BASE64}==\n-----END RSA PRIVATE KEY-----"
HEX40 = "3f786850e387550fdab836ed7e6dc881de23001b"

FEW_DIGITS = "kTzQwXbNvR7pLmJdFgHs"

SECRETS = [
    ("github-token", GITHUB),
    ("github-token", GITHUB_FINE),
    ("gitlab-token", "glpat-" + DRAWN[:20]),
    ("aws-key", AWS),
    ("azure-key", "AccountKey=" + (DRAWN * 2)[:86] + "=="),
    ("discord-token", "M" + DRAWN[:23] + "." + DRAWN[3:9] + "." + DRAWN[5:32]),
    ("jwt", JWT),
    ("mailchimp-key", HEX40[:32] + "-us12"),
    ("npm-token", "npm_" + DRAWN[:36]),
    ("openai-key", "sk-" + DRAWN[:20] + "T3BlbkFJ" + DRAWN[20:40]),
    ("openai-key", "sk-proj-" + DRAWN[:40]),
    ("anthropic-key", "sk-ant-" + "api03-" + DRAWN[:40]),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + DRAWN + DRAWN),
    ("sendgrid-key", "SG." + DRAWN[:22] + "." + DRAWN[:43]),
    ("slack-token", "xoxb-" + "731596248013-8264019375862-" + DRAWN[:24]),
    ("slack-token", "https://hooks.slack.com/services/T0" + "3K5M7P9/B01R3T5V7/" + DRAWN[:24]),
    ("square-key", "sq0csp-" + DRAWN[:43]),
    ("square-key", "EAAA" + (DRAWN * 2)[:60]),
    ("mailgun-key", "key-" + HEX40[:32]),
    ("mailgun-key", HEX40[:32] + "-" + HEX40[8:16] + "-" + HEX40[24:32]),
    ("stripe-key", "sk_live_" + DRAWN[:24]),
    ("telegram-token", "918273645:" + DRAWN[:35]),
    ("twilio-key", "SK" + HEX40[:32]),
    ("google-key", "AIza" + DRAWN[:35]),
    ("service-token", "dckr_pat_" + DRAWN[:27]),
    ("service-token", "dop_v1_" + HEX40 + HEX40[:24]),
    ("service-token", "hvs." + DRAWN + DRAWN),
    ("service-token", "lin_api_" + DRAWN[:40]),
    ("service-token", "shpat_" + HEX40[:32]),
    ("service-token", "sk_test_" + DRAWN[:24]),
    ("service-token", "ya29." + DRAWN + "-" + DRAWN),
    ("service-token", "ATATT3" + DRAWN + DRAWN),
    ("service-token", "GOCSPX-" + DRAWN[:28]),
    ("service-token", "pplx-" + DRAWN),
    ("service-token", "sk-or-v1-" + HEX40 + HEX40[:24]),
    ("service-token", "xkeysib-" + HEX40 + HEX40[:24] + "-" + DRAWN[:16]),
    *(("service-token", name + DRAWN[:40]) for name in ("figd_", "whsec_", "pcsk_", "CCIPAT_")),
    *(("service-token", name + HEX40) for name in ("sbp_", "lsv2_pt_", "napi_", "sm_pat_")),
    ("service-token", "LTAI" + FEW_DIGITS),
    ("service-token", "hvs." + FEW_DIGITS),
    ("openai-key", "sk-" + HEX40[:32]),
    ("huggingface-token", "hf_" + DRAWN[:34]),
    ("private-key", KEY),
    ("private-key", KEY.replace("RSA ", "").replace("\n", "\\n")),
    (
        "private-key",
        KEY.replace("-\n", "-\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F1E\n\n", 1),
    ),
    ("private-key", KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    ("private-key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BASE64}\n{BASE64}"),
]
EMAILS = ["alice@gmail.com", "a.b+c@mail.co.uk", "rené@société.fr", "1+x@h.dev", "o'nil_2@x-y.org"]
IPS = ["93.184.216.34", "146.75.74.49", "2a00:1450:4001:81b::200e", "2600:1f18:1:2:3:4:5:6"]


def is_marked(text: str) -> bool:
    return bool(may_be_private(pa.array([text])).to_pylist() == [True])


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_secrets(kind: str, secret: str) -> None:
    for around in ("{}", "see {} here", "`{}`", "- 密钥：{}。", "({})\r\n"):
        text = around.format(secret)
        assert is_marked(text)
        redacted = redact(text)
        assert redacted.counts == {f"secret:{kind}": 1}
        assert f"<SECRET:{kind}>" in redacted.text
        assert not any(secret[at : at + 12] in redacted.text for at in range(12, len(secret) - 12))
        assert find_private(text, SECRETS_ONLY) == find_private(text)


LOGIN = DRAWN[20:36]
ENCODED = base64.b64encode(f"deploy:{LOGIN}".encode()).decode()
REDACTED = {
    "SECRET:assigned": (
        f"API_KEY=«{HEX40}»",
        f"api_key: «{FEW_DIGITS}»",
        "api_key=«9a50f8a8e9bb8bdb5eba456bf92d5d98»",
        f"APP_KEY=base64:«{DRAWN[:43]}=»",
        f"secret_key_base: «{HEX40 * 3}»",
        f"ALGOLIA_ADMIN_KEY=«{HEX40[:32]}»",
        f"SECRET_KEY = '«django-insecure-x8@#k2!9pq(w7e^r5t&{DRAWN[:30].lower()}»'",
        f'"client_secret": "«{DRAWN}»",',
        f"auth-token: «{DRAWN}».",
        f"aws_secret_access_key = «{DRAWN[:40]}»",
        f"Authorization: Bearer «{DRAWN}»",
    ),
    "SECRET:password": (
        f"PGPASSWORD=«{DRAWN[:14]}» psql",
        "mysql -u root -p«Tr0ub4d» db",
        "docker login -u bob -p «Tr0ub4d»",
        "machine github.com\n  login me\n  password «hUnter2x»",
        # Public reports on other finders of secrets: what stands without quotes was missed.
        "Server=h;User ID=me@h;Password=«S@fe123»;",
        "Source=c\\r;Uid=u;Pwd=«R3port!Sec»;",
        "username = u\npassword = «8Th#1*@96%dX»\n",
        "jdbc:db://h/a?user=u&password=«Tr0ub4d»",
        "wget --password=«Tr0ub4d» http://h",
        # What settings, JSON and code say, however short it is.
        f"password = '«{DRAWN[:16]}»'",
        'db:\n  password: "«Tr0ub4dor&3»"',
        '{"user": "u", "password": "«s3cr3tPw!»"}',
        "login(user='u', passwd='«hUnter2x»')",
        ":password => '«Zx81spec!»'",
        "  datasource:\n    password: «Zx81spec!»\n",
        "DB_PASSWORD=«Zx81spec!»\nspring.db.password=«Zx82spec!»",
        "//registry.npmjs.org/:_password=«Y29ycmVjdEhvcnNlOTk=»",
        '_password="«Y29ycmVjdEhvcnNlOTk=»"',
        "machine h login u password «Tr0ub4d»",
        f"curl -u deploy:«{LOGIN}» https://x.io/",
        f"curl -sSLu'deploy:«{LOGIN} x»' y",
        f'curl -X PUT \\\n  --user="deploy:«{LOGIN}»" h',
        f'["curl", "-u", "deploy:«{LOGIN}»"]',
        f"curl.exe --proxy-user deploy:«{LOGIN}»",
        f"Authorization: Basic «{ENCODED}»",
        f"setRequestHeader('authorization', 'basic «{ENCODED}»')",
        f'"auths": {{"h": {{"auth": "«{ENCODED}»"}}}}',
        f"//npm.acme.io/:_auth=«{ENCODED}»",
    ),
    "SECRET:webhook": (
        f"https://discord.com/api/webhooks/918273645546372819/«{DRAWN[:34]}{DRAWN[:34]}»",
        f"https://hooks.slack.com/workflows/«T0/A1/{DRAWN[:24]}»",
    ),
    "SECRET:azure-key": (f"https://x.blob.core.windows.net/c?sp=r&sig=«{DRAWN[:43]}%3D»",),
    "SECRET:private-key": (
        f"client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{DRAWN}»",
    ),
    "SECRET:service-token": (
        f"AGE-SECRET-KEY-«1{(DRAWN + DRAWN)[:58].upper()}»",
        f"Authorization: key=«AAAAx7bQ2kE:APA91b{DRAWN + DRAWN + DRAWN + DRAWN}»",
        f"token «access_token$production$x7zq9k2m4n6b8v0c${HEX40[:32]}»",
    ),
    "SECRET:github-token": (f"token=«{GITHUB}».", f"https://me:«{GITHUB}»@github.com"),
    "SECRET:telegram-token": (
        "https://api/bot«5839204716:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawQ»/send",
    ),
    "SECRET:url-password": (
        "https://me:«hunter2x»@host.com/p",
        f"https://«{HEX40}»@github.com/o/r",
        f"https://«{HEX40}»:x-oauth-basic@github.com/o/r",
        f"db://u:«{DRAWN[:8]}/{DRAWN[8:12]}#?»@h:1/",
        "postgres://u:«p@ss/w0rd»@db/x",
        "mysql+x://u:«a/b@c:d»@h/db",
        "redis://:«k7/Lm@2x»@a:1,rediss://:«q8@x/9w1»@b:2",
    ),
    "EMAIL": (
        "mail «alice@gmail.com».",
        "(mailto:«alice%40gmail.com»)",
        "https://a.io/?to=«alice%40gmail.com»&x=1",
        "<«alice@gmail.com»>",
        "[«a@b.org»](mailto:«a@b.org»)",
        "联系«alice@gmail.com»谢谢",
        "o'«neil@x.org»",
        "?url=http://h:8080&email=«x@acme.io»",
        "'http://h:8443','«me@acme.io»'",
        "«ME@ACME.IO» «Me@Gmail.Com»",
        "«me@xn--bcher-kva.xn--p1ai»",
    ),
    "IP_ADDRESS": (
        "from «93.184.216.34»:443 to",
        "[«2a00:1450:4001:81b::200e»]:443",
        "host «5.9.12.3»",
    ),
}
"""Texts by what takes the place of the parts in marks."""


@pytest.mark.parametrize(
    ("kind", "marked"), [(kind, text) for kind, texts in REDACTED.items() for text in texts]
)
def test_redacted_texts(kind: str, marked: str) -> None:
    text = re.sub("[«»]", "", marked)
    assert redact(text).text == re.sub("«.*?»", f"<{kind}>", marked)
    assert is_marked(text)


def test_a_key_leaves_its_lines() -> None:
    start = f"PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 1\n{DRAWN}\n"
    end = f"\nPrivate-MAC: {HEX40}\n"
    redacted = redact(f"{start}Private-Lines: 2\n{BASE64}\n{BASE64}=={end}").text
    assert redacted == f"{start}<SECRET:private-key>\n\n{end}"
    quoted = f"> {KEY}".replace("\n", "\r\n> ")
    assert redact(quoted).text == "> <SECRET:private-key>\r\n> \r\n> \r\n> "


@pytest.mark.parametrize(
    "text",
    [
        "ghp_" + "x" * 36,
        "AKIAIOSFODNN7EXAMPLE",
        "sk-ant-api03-your-key-goes-here-your-key-goes-here",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        f"-----BEGIN PGP SIGNATURE-----\n\n{BASE64}\n{BASE64}\n-----END PGP SIGNATURE-----",
        f"-----BEGIN PUBLIC KEY-----\n{BASE64}\n-----END PUBLIC KEY-----",
        f"commit {HEX40}",
        f"Secret Key: 0x{HEX40}{HEX40[:24]}",
        f"private_key = {HEX40}{HEX40[:24]}",
        f"pubkey: 02{HEX40}{HEX40[:24]}",
        f"sha256:{HEX40}{HEX40[:24]}",
        "eyJhbGciOi is how they begin",
        "eyJub3QganNvbg.eyJub3QganNvbg.x",
        f"{NESTED_HEADER}.{NESTED_HEADER}.x",
        "password: correct-horse-battery-staple",
        "password = hashlib.sha256(x)",
        "password=test1234A1b2()",
        "Please login with your password here",
        "dapi_connection_settings_v2_x1",
        "token = get_token_from_environment(name)",
        "api_key = sha256WithRSAEncryption; auth_key=EC2KeyPairIDForUSEast1",
        "token = getUserById2ForPage10; app_secret: OAuth2TokenURLForV1",
        "api_key: ${{ secrets.MY_API_KEY_NUMBER_1 }}",
        f"--credential=/var/folders/ny/{DRAWN[:20]}/T/x",
        "secret_key=SECP256K1_CONTEXT_SIGN_FLAGS",
        "postgres://postgres:postgres@localhost:5432/db",
        "https://user:<password>@host.com",
        "http://[::1]:8080/a:b@c",
        "git@github.com:owner/name.git",
        "ssh://git@host.com/x and https://me@host.com/y",
        "noreply@github.com and no-reply@accounts.google.com",
        "Co-authored-by: A <123+a@users.noreply.github.com>",
        "me@example.com, you@sub.example.org, x@host.test, root@box.local",
        "logo@2x.png gcc@9 pkg@1.2.3 actions/checkout@v5 user@host:~$",
        "owner/name@1a2b3c4d memset@GLIBC_2.2.5 r=r@entry=0x7f q@k.transpose(1)",
        "?CheckLowS@CPubKey@@SA_NAEBV?$vector@EV?$allocator@E@std@@@std@@@Z",
        "127.0.0.1 10.0.0.1 192.168.1.1:80 172.16.5.4 169.254.1.1 0.0.0.0 255.255.255.255",
        "192.0.2.1 198.51.100.2 203.0.113.7 224.0.0.1 8.8.8.8 1.1.1.1",
        f"mask-proj-{DRAWN}",
        "ping 5.9.12.3 1.2.3.4 4.0.0.0 91.45.0.0",
        "v93.184.216.34 version 93.184.216.34 Chrome/93.184.216.34 300.1.2.3",
        "§3.2.2.1 #4.10.3.2 1.3.132.0.10 clang-1403.0.22.14.1 lib.so.93.184.216.34.x",
        "fe80::1 ::1 2001:db8::1 fd00::1 12:34:56 aa:bb:cc:dd:ee:ff std::vector a::b 2024:01:02",
        "",
        "Server=h;Password={password};User=u",
        "?user=u&password=settings.Pass1",
        "\npassword = getPass1(user)\n",
        "pwd; password: required1; login as User2",
        "password: \"${DB_PASSWORD1}\"\npassword: '{{ vault.Pw1 }}'\npassword: <Your1st>",
        '{"password": "Password2", "pwd": "string", "passwd": ""}',
        "password: \"[A-Za-z0-9]{8,}\"\npassword: '1.2.3-RC1'\npassword: Optional[str1]",
        'password: "Must have 1 Number!"\nold_password = validated_data1\npasswd: /etc/Pw1/x',
        "run --password=$PASSWORD1 --pwd=",
        "y_hat = X@theta.values",
        "err = (A @ B).T, C@D.grad, u@v.mT, self.M@self.v.data + b",
        "systemctl enable syncthing@jane.service --now; foo@1.socket x@y.target",
        "npm i left-pad@next.canary @scope/pkg@latest.rc yarn add x@beta.alpha",
        "uses: o/n/.github/workflows/w.yml@main.stable",
        "org.acme.Widget@value.toString",
        "sprite@2x.webp bundle@1.js.map clip@3.mov",
        'f"postgres://{user}:{password}@{host}:{port}/" and mysql://$dbuser:$dbpass@$dbhost',
        "http://u:%PASSWD%@h http://u:%(passwort)s@h http://u:${{PW_OF_DB}}@h amqp://u:••••••••@h",
        "postgres://localhost:5432/db?user=a@b redis://h:6379/0,me@x amqp://h:5672/%2f",
        "http://localhost:3000/user@scope/pkg?x=http://10.0.0.1:2375,y",
        "git+https://github.com:org/Repo1@v1.2 file://C:/Users/Foo1/x@y.txt",
        'curl -u "$USER:$TOKEN_OF_CI" x; curl -u user:password y; curl -u admin: z',
        "docker run -u node:nogroup x; curl -o x http://h:9200/_search; curl --url http://a:b/c",
        "Authorization: Basic dXNlcjpwYXNz, basic functionality, Basic OAuth2Authentication",
        '"auth": "required" and _auth=enabledByDefault',
    ],
)
def test_nothing_private(text: str) -> None:
    assert find_private(text) == ()


PASSWORDS = ["Wq7&tLm2x", "aB3$dE5fG7", "k7L'm,Qp=2x", "p!ss*W0r(9)", "x;+Y8tq2"]
PASSWORDS += ["Vq7p@Lm@2x", "pä55-ß中9", "8675309114"]


LOGINS = [
    "https://jdoe:{}@git.acme.io/r.git",
    "postgresql+psycopg2://app:{}@[2001:db8::1]:5432/db?sslmode=off&mail=a",
    "redis://:{}@cache:6379/0",
    "smb://CORP;jdoe:{}@srv/share",
    "mongodb+srv://a%40b:{}@h1:27017,h2:27017/?w=1",
    "jdbc:mysql://${{USER}}:{}@db",
    "smtp://jane@acme.io:{}@smtp.acme.io:465",
]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("login", LOGINS)
def test_passwords_of_addresses_whatever_their_characters(login: str, password: str) -> None:
    text = f"it uses `{login.format(password)}` since 2.0"
    assert is_marked(text)
    redacted = redact(text).text
    assert redacted == f"it uses `{login.format('<SECRET:url-password>')}` since 2.0"


ADDRESSES = [*(("email", email) for email in EMAILS), *(("ip-address", number) for number in IPS)]


@pytest.mark.parametrize(("kind", "address"), ADDRESSES)
def test_addresses(kind: str, address: str) -> None:
    text = f"it answers from {address} only"
    (finding,) = find_private(text)
    assert is_marked(text)
    assert finding.kind == kind
    assert address.endswith(text[finding.start : finding.end])
    assert kind == "email" or (finding.start, finding.end) == (16, 16 + len(address))


def test_rules_say_what_counts() -> None:
    text = f"{GITHUB} alice@gmail.com 93.184.216.34"
    assert redact(text, SECRETS_ONLY).counts == {"secret:github-token": 1}
    assert redact(text, PrivateRules((EMAIL, IP_ADDRESS))).counts == {"email": 1, "ip-address": 1}
    assert redact(text, PrivateRules(())).text == text
    ours = PrivateRules(allowed_emails=(*ALLOWED_EMAILS, "*@gmail.com"))
    assert "email" not in redact(text, ours).counts
    assert redact("noreply@github.com", PrivateRules(allowed_emails=())).counts == {"email": 1}


def test_findings_do_not_tell_the_secret() -> None:
    findings = find_private(f"my key is {GITHUB} or {KEY} of alice@gmail.com")
    assert len(findings) == 3
    assert all(word not in repr(findings) for word in (GITHUB, BASE64, "alice"))
    assert [finding.start for finding in findings] == sorted(finding.start for finding in findings)


def test_what_a_replacement_uncovers_is_replaced_too() -> None:
    """Without the address, the key is no longer a part of a longer word."""
    redacted = redact("SK" + HEX40[:32] + "a" * 64 + "@gmail.com")
    assert redacted.text == "<SECRET:twilio-key><EMAIL>"
    assert redacted.counts == {"email": 1, "secret:twilio-key": 1}


PRIVATE = st.sampled_from([*(secret for _, secret in SECRETS), *EMAILS, *IPS])
PARTS = st.sampled_from([*"@.:-_=/ \n'\"<>()[]", "\r\n", "> "])
OPENINGS = "password token= ://u: ://: bearer https:// eyJ AKIA ghp_ com a B7 1 2001: 1.2.3.4 xoxb-"
HINTS = st.sampled_from(
    [*OPENINGS.split(), "api_key: ", "curl -u a:", "Basic ", '"auth": "', "Secret Key=", HEX40]
) | st.sampled_from("éKſ中\0")


MADE = st.lists(PRIVATE | PARTS | HINTS, max_size=14).map("".join)


DRAWN_BY_FORMAT = st.from_regex(r"(pass|api_key|token|SECRET KEY)[:=] ?[A-Za-z0-9+/]{14,40}")


UTF8 = MADE | DRAWN_BY_FORMAT | st.text(st.characters(codec="utf-8"), max_size=60)


@given(st.lists(UTF8, max_size=5))
def test_no_finding_without_a_mark(texts: list[str]) -> None:
    for rules in (PrivateRules(), SECRETS_ONLY, PrivateRules((EMAIL, IP_ADDRESS))):
        marks = may_be_private(pa.array(texts, pa.string()), rules).to_pylist()
        for text, mark in zip(texts, marks, strict=True):
            assert mark or not find_private(text, rules)


@given(UTF8 | st.text(st.characters(), max_size=60))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert find_private(once.text) == ()
    assert once.text.count("\n") == text.count("\n")
    assert bool(once.counts) == (once.text != text) == bool(find_private(text))


@given(UTF8)
def test_findings_are_ordered_and_apart(text: str) -> None:
    at = 0
    for finding in find_private(text):
        assert at <= finding.start < finding.end <= len(text)
        at = finding.end


def test_marks_of_nulls_and_chunks() -> None:
    chunks = pa.chunked_array([["a@b.org", None], ["nothing"]], pa.string())
    assert may_be_private(chunks).to_pylist() == [True, False, False]
    assert may_be_private(pa.array([], pa.string())).to_pylist() == []
    nothing = PrivateRules(())
    assert may_be_private(chunks, nothing).to_pylist() == [False] * 3


class TestRealTexts:
    pytestmark = needs_real_texts

    @pytest.mark.nightly
    def test_all_findings_were_read_and_are_right(self) -> None:
        """Hashes, keys and signatures are everywhere here, and none passes for a secret."""
        texts = real_texts()
        marks = may_be_private(pa.array(texts)).to_pylist()
        counts: Counter[str] = Counter()
        for text, mark in zip(texts, marks, strict=True):
            findings = find_private(text)
            assert mark or not findings
            counts.update(finding.kind for finding in findings)
        assert sum(marks) < 0.01 * len(texts)
        assert counts == {"email": 28, "ip-address": 8}
