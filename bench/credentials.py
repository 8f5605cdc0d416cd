"""What the redactor finds and what it masks by mistake, by family of rules. Run it as a script.

The positives are made here, from public facts on the formats of providers (prefix, letters, length), with
values that are nobody's. A value with a shape of its own is put into running text; one without stands beside
a name that says what it is, in each of the forms in which files, programs and tools write names and values.
Beside them stand look-alikes that are no secret.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from steno.redact import Findings, Redactor

SEED = 1
OF_EACH = 5
LETTERS = string.ascii_letters + string.digits
SMALL = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + string.digits
WORD = LETTERS + "_-"
BASE64 = LETTERS + "+/"

# Prefix, letters and length of what follows it.
SHAPED: dict[str, list[tuple[str, str, int]]] = {
    "code hosts": [
        *((prefix, LETTERS, 36) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
        ("github_pat_", LETTERS + "_", 82),
        *(
            (prefix, WORD, 20)
            for prefix in ("glpat-", "gldt-", "glrt-", "glft-", "glffct-", "glsoat-", "GR1348941")
        ),
        ("glptt-", HEX, 40),
        ("glcbt-64_", WORD, 20),
        ("glimt-", WORD, 25),
        ("glagent-", WORD, 50),
        ("gloas-", WORD, 64),
        ("glrt-t1_", WORD, 40),
        ("_gitlab_session=", SMALL, 32),
        ("sgp_", HEX, 40),
        ("sgp_local_", HEX, 40),
        ("ATATT3", WORD, 186),
        ("ATBB", LETTERS, 32),
    ],
    "packages": [
        ("npm_", LETTERS, 36),
        ("pypi-AgEIcHlwaS5vcmc", WORD, 60),
        ("rubygems_", HEX, 48),
        ("CLOJARS_", SMALL, 60),
        ("AKCp", LETTERS, 69),
        ("cmVmd", LETTERS, 59),
        ("dckr_pat_", WORD, 27),
    ],
    "clouds": [
        *((prefix, string.ascii_uppercase + "234567", 16) for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
        ("ABSK", BASE64, 120),
        ("AIza", WORD, 35),
        ("ya29.", WORD, 60),
        ("GOCSPX-", WORD, 28),
        ("abc8Q~", WORD, 32),
        ("dop_v1_", HEX, 64),
        ("doo_v1_", HEX, 64),
        ("dor_v1_", HEX, 64),
        ("dapi", HEX, 32),
        ("LTAI", LETTERS, 20),
        ("v1.0-0123456789abcdef01234567-", HEX, 146),
        ("sha256~", WORD, 43),
        ("HRKU-AA", WORD, 58),
        ("fo1_", WORD, 43),
        ("fm1a_", BASE64, 120),
        ("fm1r_", BASE64, 120),
        ("fm2_", BASE64, 120),
        ("pscale_tkn_", WORD, 43),
        ("pscale_pw_", WORD, 43),
        ("pscale_oauth_", WORD, 43),
        ("sbp_", HEX, 40),
        ("tskey-auth-", WORD, 30),
        ("AQVN", WORD, 37),
        ("4b1d", LETTERS, 38),
        ("tk-us-", WORD, 48),
    ],
    "models": [
        ("sk-ant-api03-", WORD, 95),
        ("sk-ant-admin01-", WORD, 95),
        ("sk-proj-", WORD, 156),
        ("sk-svcacct-", WORD, 124),
        ("sk-", LETTERS, 48),
        ("hf_", LETTERS, 34),
        ("api_org_", string.ascii_letters, 34),
        ("gsk_", LETTERS, 52),
        ("xai-", LETTERS, 80),
        ("pplx-", LETTERS, 48),
        ("r8_", LETTERS, 37),
        ("nvapi-", WORD, 64),
        ("csk-", LETTERS, 48),
        ("lsv2_pt_", HEX, 32),
        ("tvly-", LETTERS, 32),
        ("jina_", LETTERS, 60),
        ("pcsk_", LETTERS, 60),
        ("sk-or-v1-", HEX, 64),
    ],
    "payments": [
        *((prefix, LETTERS, 24) for prefix in ("sk_live_", "sk_test_", "rk_live_", "rk_prod_", "sk_prod_")),
        ("whsec_", LETTERS, 32),
        ("sq0atp-", WORD, 22),
        ("sq0csp-", WORD, 43),
        ("EAAA", WORD, 60),
        ("shpat_", HEX, 32),
        ("shpca_", HEX, 32),
        ("shppa_", HEX, 32),
        ("shpss_", HEX, 32),
        ("EZAK", LETTERS, 54),
        ("EZTK", LETTERS, 54),
        ("FLWSECK_TEST-", "abcdefgh0123456789", 32),
        ("shippo_live_", HEX, 40),
        ("duffel_live_", WORD, 43),
        ("access-production-01234567-89ab-cdef-0123-", HEX, 12),
    ],
    "messages": [
        ("xoxb-123456789012-123456789012-", LETTERS, 24),
        ("xoxp-123456789012-123456789012-123456789012-", HEX, 32),
        ("xapp-1-A0123456789-1234567890123-", HEX, 64),
        ("xoxe-1-", CAPITALS, 146),
        ("SG.", WORD, 66),
        ("key-", HEX, 32),
        ("xkeysib-" + HEX * 4 + "-", LETTERS, 16),
        ("SK", HEX, 32),
        ("123456789:AA", WORD, 33),
        ("EAAM", LETTERS, 120),
        ("https://hooks.slack.com/services/T01234567/B01234567/", LETTERS, 24),
        ("123456789012345|", LETTERS, 27),
        ("MTIzNDU2Nzg5MDEyMzQ1Njc4.G1a2b3.", WORD, 38),
    ],
    "operations": [
        ("glsa_", LETTERS, 40),
        ("glc_", BASE64, 64),
        ("eyJrIjoi", LETTERS, 80),
        ("NRAK-", CAPITALS, 27),
        ("NRII-", SMALL, 32),
        ("sntryu_", HEX, 64),
        ("sntrys_eyJpYXQiO", LETTERS, 120),
        ("dt0c01." + "A1" * 12 + ".", CAPITALS, 64),
        ("PMAK-", HEX, 59),
        ("pul-", HEX, 40),
        ("hvs.", WORD, 95),
        ("hvb.", WORD, 150),
        ("ABcd1234efGH56.atlasv1.", WORD, 64),
        ("ico-", LETTERS, 32),
        ("dp.pt.", SMALL, 43),
        ("dp.st.dev.", LETTERS, 43),
        ("ops_eyJ", LETTERS, 260),
        ("API-", CAPITALS, 26),
        ("lin_api_", LETTERS, 40),
        ("ntn_12345678901", LETTERS, 35),
        ("figd_", WORD, 43),
        ("rdme_", SMALL, 70),
        ("pnu_", LETTERS, 36),
        ("p8e-", SMALL, 32),
        ("tfp_", WORD, 59),
        ("squ_", HEX, 40),
        ("fio-u-", WORD, 64),
        ("dnkey-", WORD, 79),
        ("s-s4t2ud-", HEX, 64),
        ("sm_aat_", LETTERS, 16),
        ("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    ],
}
PROVIDERS = [
    "adafruit",
    "airtable",
    "algolia",
    "asana",
    "beamer",
    "bittrex",
    "cloudflare",
    "codecov",
    "cohere",
    "confluent",
    "contentful",
    "datadog",
    "discord",
    "dropbox",
    "droneci",
    "etsy",
    "facebook",
    "fastly",
    "finicity",
    "finnhub",
    "flickr",
    "freshbooks",
    "gitter",
    "heroku",
    "hubspot",
    "intercom",
    "jfrog",
    "kraken",
    "launchdarkly",
    "lob",
    "mapbox",
    "mattermost",
    "messagebird",
    "netlify",
    "nytimes",
    "okta",
    "plaid",
    "rapidapi",
    "sendbird",
    "sentry",
    "snyk",
    "sonar",
    "squarespace",
    "sumologic",
    "travis",
    "twitch",
    "twitter",
    "yandex",
    "zendesk",
]
FORMS: dict[str, str] = {
    "ini": "{i}Token={s}",
    "ini, quoted": '{i}Token="{s}"',
    "ini, blanks": "{i}Token = {s}",
    "environment": "export {I}_TOKEN={s}",
    "json": '{{\n    "{i}_token": "{s}"\n}}',
    "json in json": '{{\\"{i}_token\\": \\"{s}\\"}}',
    "yaml": "{i}_token: {s}",
    "yaml, quoted": "{i}_token: '{s}'",
    "yaml, literal": "{i}_token: |\n  {s}",
    "yaml, folded": "{i}_token: >-\n  {s}",
    "xml": "<{i}Token>{s}</{i}Token>",
    "xml, lines": "<{i}Token>\n    {s}\n</{i}Token>",
    "c#": 'string {i}Token = "{s}";',
    "go": 'var {i}Token string = "{s}"',
    "go, short": '{i}Token := "{s}"',
    "go, bytes": '{i}Token := []byte("{s}")',
    "typescript": "const {i}Token: string = '{s}';",
    "rust": 'let {i}_token: &str = "{s}";',
    "swift": 'let {i}Token: String? = "{s}"',
    "python, typed": '{i}_token: str | None = "{s}"',
    "c, array": 'char {i}_token[] = "{s}";',
    "c, macro": '#define {I}_TOKEN "{s}"',
    "c, call": 'setenv("{I}_TOKEN", "{s}", 1);',
    "go, raw": "{i}Token := `{s}`",
    "kotlin": 'var {i}Token = "{s}"',
    "php": '${i}Token .= "{s}"',
    "php, null": '${i}Token ??= "{s}"',
    "python": "{i}_token = '{s}'",
    "java": 'System.setProperty("{I}_TOKEN", "{s}")',
    "csv": "{i}Token,{s},",
    "logstash": '  "{i}Token" => "{s}"',
    "make": '{I}_TOKEN := "{s}"',
    "make, posix": '{I}_TOKEN ::= "{s}"',
    "make, 3": '{I}_TOKEN :::= "{s}"',
    "make, default": '{I}_TOKEN ?= "{s}"',
    "make, append": '{I}_TOKEN += "{s}"',
    "option": "{i} --token {s} --verbose",
    "option =": "{i} --api-key={s}",
    "header": "curl -H 'Authorization: Bearer {s}' https://example.test",
    "query": "GET /{i}?api_key={s}&x=1",
    "kubernetes": "- name: {I}_TOKEN\n  value: {s}",
    "nuget": '<add key="{i}Password" value="{s}" />',
    "netrc": "machine {i} login joe password {s}",
    "url": "https://joe:{s}@{i}.example.test/",
    "dockerfile": "ENV {I}_TOKEN {s}",
    "two words": '{I}_PASSWORD="{s} and more"',
    "diff": '+{i}_token: "{s}"',
    "grep -n": "conf/a.yml:12:{i}_token: {s}",
    "kubernetes, diff": "+- name: {I}_TOKEN\n+  value: {s}",
    "kubernetes, grep -n": "12:- name: {I}_TOKEN\n13:  value: {s}",
    "two words, ini": "{i}_password = {s} and1 more",
    "cat -n": "    12\t{I}_TOKEN={s}",
}
NO_SECRETS: dict[str, list[str]] = {
    "code hosts": [
        "ghp_short",
        "see glpat-docs and glrt-runner",
        "github_pat_x",
        "commit " + HEX * 2 + "01234567",
    ],
    "packages": [
        '"integrity": "sha512-' + "aB3+" * 21 + '=="',
        "npm_config_registry=https://registry.npmjs.org/",
        "pypi-publish",
    ],
    "clouds": [
        "AKIA is a prefix",
        "arn:aws:iam::123456789012:role/x",
        "sha256:" + HEX * 4,
        "4b1d0",
        "v1.0-beta",
        "dapi-server",
    ],
    "models": [
        "sk-learn and sk-image",
        "hf_hub_download(x)",
        "import gsk_tools",
        "xai-explain",
        "r8_version = 3",
    ],
    "payments": ["sk_live_ is a prefix", "EAAA", "task_live_reload", "access-production-logs"],
    "messages": ["SG.method(x)", "key-binding and key-value", "SKELETON", "12:AAPL rose"],
    "operations": ["API-KEY", "pul-request", "hvs.py", "ico-file", "dp.pt.x", "ops_event"],
    "names": [
        '"cookie": "^0.7.1",',
        '    "jsonwebtoken": "9.0.2",',
        'cookie@^0.7.1, cookie@~0.7.2:\n  version "0.7.2"',
        "  cookie@0.7.2:\n    resolution: {integrity: sha512-abc}",
        '[[package]]\nname = "cookie"\nversion = "0.18.1"',
        'cookie = ">=0.16,<1.0"',
        '"input_token": "NextToken"',
        '"limit_key": "MaxResults", "input_token": "nextToken"',
        '"cookie": "workspace:*",',
        "passwd:         files systemd",
        "token = get_token()",
        "def login(user: str, password: str) -> None:",
        "password: str | None = None,",
        "for key in keys:",
        "PASSWORD=$DB_PASSWORD",
        "pageToken: Optional. A page token, received from a previous",
        'BEGIN = "-----BEGIN PRIVATE KEY-----"\ncode(x)\nmore(y)',
        "Token: #f8f8f2",
        "max_tokens: 4096",
        "token_type: bearer",
        "primary_key: user_id",
        "KEY=VALUE",
        "token: string = defaultToken,",
        "password: SecretStr = Field(default=None)",
        "password = first or second",
        '#define PARAM_PRIVATE_KEY "priv"',
        'map.put("token", "name")',
        "--auth-local peer",
    ],
}


class Row(NamedTuple):
    """One line of the table."""

    family: str
    planted: int
    found: int
    harmless: int
    masked: int
    missed: list[str]

    @property
    def recall(self) -> float:
        return self.found / self.planted

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.masked)


def _positives(chance: random.Random) -> dict[str, list[tuple[str, str, str]]]:
    """By family: what it is, a text and the value in it."""

    def value(letters: str, count: int) -> str:
        return "".join(chance.choice(letters) for _ in range(count - 2)) + "7" + chance.choice(letters)

    found: dict[str, list[tuple[str, str, str]]] = {}
    for family, kinds in SHAPED.items():
        found[family] = [
            (prefix, form.format(prefix + secret), secret)
            for prefix, letters, count in kinds
            for secret in (value(letters, count) for _ in range(OF_EACH))
            for form in (
                "got {} there",
                json.dumps({"type": "text", "text": "all\n{}\n"}).replace("{", "{{", 1)[:-1] + "}}",
                "+x({!r})",
            )
        ]
    found["names"] = [
        (form, pattern.format(i=name, I=name.upper(), s=secret), secret)
        for form, pattern in FORMS.items()
        for name in chance.sample(PROVIDERS, 12)
        for secret in (value(chance.choice((LETTERS, SMALL, HEX)), chance.choice((24, 32, 40))),)
    ]
    return found


def measure() -> Iterator[Row]:
    redactor = Redactor(findings=Findings())

    def masks(text: str) -> str:
        return redactor.mask((text + "\n").encode(), "bench").decode()

    for family, texts in _positives(random.Random(SEED)).items():
        missed = [kind for kind, text, secret in texts if secret in masks(text)]
        no_secrets = NO_SECRETS[family]
        masked = sum(masks(text) != text + "\n" for text in no_secrets)
        yield Row(family, len(texts), len(texts) - len(missed), len(no_secrets), masked, missed)


def print_table(keep: Callable[[dict[str, object]], None] | None = None) -> None:
    columns = f"{'planted':>9}{'recall':>9}{'look-alikes':>13}{'masked':>8}{'precision':>11}"
    print(f"\n{'family':<14}{columns}  missed")
    for row in measure():
        missed = ", ".join(f"{kind} {row.missed.count(kind)}" for kind in dict.fromkeys(row.missed))
        found = f"{row.planted:>9}{row.recall:>9.1%}"
        print(
            f"{row.family:<14}{found}{row.harmless:>13}{row.masked:>8}{row.precision:>11.1%}  {missed}",
            flush=True,
        )
        if keep is not None:
            keep({"family": row.family, "recall": row.recall, "precision": row.precision})


if __name__ == "__main__":
    print_table()
