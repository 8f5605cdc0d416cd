"""Secrets that are known by their shape: the token formats of providers, web tokens, URLs with userinfo.

In: nothing. Out: `SHAPES`, a tuple of rules with patterns. Never: key names; those are in
`steno.redact.names`, and what stands beside them is read by `steno.redact.pairs`.
"""

from __future__ import annotations

import re

from steno.redact.rule import Example, Rule

WORD = rb"[A-Za-z0-9]"
WORD_DASH = rb"[A-Za-z0-9_-]"
WORD_LINE = rb"[A-Za-z0-9_]"
HEX = rb"[0-9a-f]"
UPPER = rb"[A-Z0-9]"
BASE64 = rb"[A-Za-z0-9+/]"

COLOUR = rb"(?:\x1b\[[0-9;]*[mK])"
# A token may follow a colour sequence, an escaped line break in a JSON string or a percent escape, all of
# which end in a letter or digit, where `\b` alone would see no boundary.
LEFT = rb"(?:\b|" + COLOUR + rb"|\\[nrt]|%[0-9A-Fa-f][0-9A-Fa-f])"

_FAKE_LETTERS = b"EXAMPLEexample0123456789NOTREALabcdef"


def _fake(letters: bytes, count: int) -> bytes:
    """A value of the right form that is nobody's secret."""
    allowed = b"".join(re.findall(letters, _FAKE_LETTERS))
    return (allowed * (count // len(allowed) + 1))[:count]


def _prefixed(
    name: str,
    description: str,
    prefixes: tuple[bytes, ...],
    letters: bytes,
    least: int,
    *,
    left: bytes = b"",
    counterexamples: tuple[bytes, ...] = (),
) -> Rule:
    """A provider's format: one of some public prefixes, then at least so many letters of a class."""
    before = left + b"(?:" + b"|".join(prefix.replace(b".", rb"\.") for prefix in prefixes) + b")"
    body = _fake(letters, least)
    return Rule(
        name=name,
        description=description,
        before=before,
        value=letters + b"{%d,}" % least,
        partial=letters + b"+",
        trigger=before + letters + b"{4}",
        examples=tuple(Example(b"got " + prefix + body + b" ok", body) for prefix in prefixes),
        counterexamples=(*(prefix + body[:3] for prefix in prefixes), *counterexamples),
    )


_CODE_HOSTS = (
    _prefixed(
        "github-token",
        "GitHub tokens `ghp_`, `gho_`, `ghu_`, `ghs_`, `ghr_`",
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
        WORD,
        30,
    ),
    _prefixed("github-pat", "GitHub fine-grained tokens `github_pat_`", (b"github_pat_",), WORD_LINE, 22),
    _prefixed(
        "gitlab-token",
        "GitLab tokens `glpat-` and its relatives",
        (b"glpat-", b"gldt-", b"glrt-", b"glptt-", b"glsoat-", b"glcbt-", b"glft-", b"glimt-", b"glagent-"),
        rb"[A-Za-z0-9_.-]",
        18,
        left=LEFT,
    ),
    _prefixed(
        "npm-token",
        "npm tokens `npm_`",
        (b"npm_",),
        WORD,
        30,
        left=LEFT,
        counterexamples=(b"npm_config_registry_and_other_settings",),
    ),
    _prefixed("pypi-token", "PyPI tokens `pypi-`", (b"pypi-",), WORD_DASH, 50, left=LEFT),
    _prefixed(
        "docker-token", "Docker tokens `dckr_pat_`, `dckr_oat_`", (b"dckr_pat_", b"dckr_oat_"), WORD_DASH, 20
    ),
    _prefixed("rubygems-token", "RubyGems tokens `rubygems_`", (b"rubygems_",), HEX, 40, left=LEFT),
    _prefixed(
        "atlassian-token", "Atlassian tokens `ATATT3`", (b"ATATT3",), rb"[A-Za-z0-9_=-]", 40, left=LEFT
    ),
)

_CLOUDS = (
    _prefixed(
        "aws-key-id",
        "AWS key ids `AKIA`, `ASIA` and relatives",
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA"),
        rb"[A-Z2-7]",
        16,
        left=LEFT,
        counterexamples=(b"MALAKIAEXAMPLEEXAMPLEEXAMPLE",),
    ),
    _prefixed("google-api-key", "Google API keys `AIza`", (b"AIza",), WORD_DASH, 30, left=LEFT),
    _prefixed("google-oauth", "Google access tokens `ya29.`", (b"ya29.",), WORD_DASH, 20, left=LEFT),
    _prefixed("google-client-secret", "Google client secrets `GOCSPX-`", (b"GOCSPX-",), WORD_DASH, 20),
    _prefixed(
        "azure-client-secret",
        "Azure client secrets, the part after `xxx8Q~`",
        (b"8Q~", b"7Q~"),
        rb"[A-Za-z0-9._~-]",
        31,
    ),
    _prefixed(
        "digitalocean-token", "DigitalOcean tokens `dop_v1_`", (b"dop_v1_", b"doo_v1_", b"dor_v1_"), HEX, 60
    ),
    _prefixed(
        "vault-token",
        "Vault tokens `hvs.`, `hvb.`, `hvr.`",
        (b"hvs.", b"hvb.", b"hvr."),
        WORD_DASH,
        24,
        left=LEFT,
    ),
    _prefixed("databricks-token", "Databricks tokens `dapi`", (b"dapi",), HEX, 32, left=LEFT),
    _prefixed("tailscale-key", "Tailscale keys `tskey-`", (b"tskey-",), WORD_DASH, 20, left=LEFT),
    _prefixed("supabase-token", "Supabase tokens `sbp_`", (b"sbp_",), HEX, 40, left=LEFT),
)

_MODELS = (
    _prefixed("anthropic-key", "Anthropic keys `sk-ant-`", (b"sk-ant-",), WORD_DASH, 16),
    _prefixed(
        "openai-key",
        "OpenAI keys `sk-proj-` and relatives, OpenRouter keys",
        (b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-or-v1-"),
        WORD_DASH,
        20,
    ),
    _prefixed(
        "sk-key",
        "Keys `sk-` of OpenAI and others",
        (b"sk-",),
        WORD,
        20,
        left=LEFT,
        counterexamples=(b"a risk-averse taskforce, disk-utilisationreportgenerator",),
    ),
    _prefixed("huggingface-token", "Hugging Face tokens `hf_`", (b"hf_",), WORD, 20, left=LEFT),
    _prefixed("groq-key", "Groq keys `gsk_`", (b"gsk_",), WORD, 30, left=LEFT),
    _prefixed("xai-key", "xAI keys `xai-`", (b"xai-",), WORD, 30, left=LEFT),
    _prefixed("replicate-token", "Replicate tokens `r8_`", (b"r8_",), WORD, 30, left=LEFT),
)

_SERVICES = (
    _prefixed(
        "slack-token",
        "Slack tokens `xoxb-` and relatives, `xapp-`",
        (
            b"xoxa-",
            b"xoxb-",
            b"xoxc-",
            b"xoxd-",
            b"xoxe-",
            b"xoxe.",
            b"xoxo-",
            b"xoxp-",
            b"xoxr-",
            b"xoxs-",
            b"xapp-",
        ),
        rb"[A-Za-z0-9%.-]",
        10,
        left=LEFT,
    ),
    _prefixed(
        "stripe-key",
        "Stripe keys `sk_live_`, `rk_live_`, `sk_test_`, `rk_test_` and `whsec_`",
        (b"sk_live_", b"rk_live_", b"sk_test_", b"rk_test_", b"whsec_"),
        rb"[A-Za-z0-9+/=]",
        10,
        left=LEFT,
    ),
    _prefixed("sendgrid-key", "SendGrid keys `SG.`", (b"SG.",), rb"[A-Za-z0-9_.-]", 50, left=LEFT),
    _prefixed(
        "shopify-token",
        "Shopify tokens `shpat_` and relatives",
        (b"shpat_", b"shpca_", b"shppa_", b"shpss_"),
        rb"[0-9a-fA-F]",
        32,
    ),
    _prefixed(
        "grafana-token",
        "Grafana tokens `glsa_`, `glc_`",
        (b"glsa_", b"glc_"),
        rb"[A-Za-z0-9_+/=]",
        32,
        left=LEFT,
    ),
    _prefixed(
        "sentry-token",
        "Sentry tokens `sntrys_`, `sntryu_`",
        (b"sntrys_", b"sntryu_"),
        rb"[A-Za-z0-9_+/=]",
        32,
    ),
    _prefixed("linear-key", "Linear keys `lin_api_`", (b"lin_api_",), WORD, 32),
    _prefixed("notion-token", "Notion tokens `ntn_`", (b"ntn_",), WORD, 40, left=LEFT),
    _prefixed("postman-key", "Postman keys `PMAK-`", (b"PMAK-",), rb"[0-9a-f-]", 40, left=LEFT),
    _prefixed("newrelic-key", "New Relic keys `NRAK-`", (b"NRAK-",), UPPER, 27, left=LEFT),
    _prefixed("age-key", "age keys `AGE-SECRET-KEY-1`", (b"AGE-SECRET-KEY-1",), UPPER, 50),
)

# All that may stand before the `@`, raw or escaped; a slash, a quote or a blank ends the authority.
_USERINFO = rb"[^\x00-\x20\x7f/?#\"'`<>\\\[\]|]"
_AROUND = rb"(?:" + COLOUR + rb"|[ \t])*"

_COMPOSED = (
    Rule(
        name="jwt",
        description="JSON Web Tokens: `eyJ`, dot, payload, dot, signature",
        before=rb"eyJ",
        value=rb"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}",
        partial=rb"[A-Za-z0-9_.-]+",
        trigger=rb"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]",
        examples=(
            Example(
                b"cookie eyJhbGciOiJub25lIn0.eyJzdWIiOiJleGFtcGxlIn0.c2lnbmF0dXJl end",
                b"hbGciOiJub25lIn0.eyJzdWIiOiJleGFtcGxlIn0.c2lnbmF0dXJl",
            ),
        ),
        counterexamples=(b"eyJhbGciOiJub25lIn0 alone is a header", b"eyJ.a.b"),
    ),
    Rule(
        name="url-userinfo",
        description="user, password or token before the `@` of a URL or connection string",
        before=rb"[A-Za-z][A-Za-z0-9+.-]*://",
        value=_USERINFO + rb"+",
        after=rb"@",
        partial=_USERINFO + rb"+",
        trigger=rb"://" + _USERINFO + rb"+@",
        examples=(
            Example(b"git clone https://user:hunter2@example.test/r.git", b"user:hunter2"),
            Example(b"https://tok@example.test/", b"tok"),
            Example(b"DATABASE_URL=postgres://u:pw@db/name", b"u:pw"),
            Example(b"redis://:pw@h:6379", b":pw"),
            Example(b"amqp://guest:gu%40st@mq//", b"guest:gu%40st"),
            Example(b"mongodb+srv://app:p@ss@cluster0.example.test/db", b"app:p@ss"),
        ),
        counterexamples=(
            b"https://example.test/@user/page",
            b"https://example.test/?mail=me@example.test",
            b"ssh://git@example.test/r.git",
            b"see https://example.test or write to me@example.test",
        ),
    ),
    Rule(
        name="slack-webhook",
        description="Slack and Discord webhook addresses",
        before=rb"hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/[0-9]+/",
        value=rb"[A-Za-z0-9_/-]{20,}",
        partial=rb"[A-Za-z0-9_/-]+",
        examples=(
            Example(
                b"curl https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
                b"T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            ),
        ),
        counterexamples=(b"see https://hooks.slack.com/services/ for more",),
    ),
    Rule(
        name="telegram-token",
        description="Telegram bot tokens, the part after `digits:AA`",
        before=rb"[0-9]{8,10}:AA",
        value=rb"[A-Za-z0-9_-]{33}",
        partial=rb"[A-Za-z0-9_-]+",
        examples=(Example(b"bot 123456789:AA" + _fake(WORD, 33), _fake(WORD, 33)),),
        counterexamples=(b"at 1234567890:AAPL rose",),
    ),
    Rule(
        name="azure-account-key",
        description="`AccountKey=`, `SharedAccessKey=` of Azure connection strings",
        before=rb"(?:AccountKey|SharedAccessKey|SharedSecretValue)=",
        value=rb"[A-Za-z0-9+/]{20,}={0,2}",
        partial=rb"[A-Za-z0-9+/]+={0,2}",
        examples=(
            Example(
                b"AccountName=x;AccountKey=" + _fake(BASE64, 44) + b"==;Endpoint=y", _fake(BASE64, 44) + b"=="
            ),
        ),
        counterexamples=(b"AccountKey=;",),
    ),
    Rule(
        name="signed-url",
        description="signatures of pre-signed URLs: `sig=` (Azure), `X-Amz-Signature=`, `X-Goog-Signature=`",
        before=rb"(?:[?&;]sig|X-Amz-Signature|X-Goog-Signature)=",
        value=rb"[A-Za-z0-9%+/=_-]{20,}",
        partial=rb"[A-Za-z0-9%+/=_-]+",
        examples=(Example(b"/c?sv=2024&sig=" + _fake(WORD, 43) + b"%3D&se=1", _fake(WORD, 43) + b"%3D"),),
        counterexamples=(b"/c?sig=none&x=1",),
    ),
    Rule(
        name="aws-secret-key",
        description="AWS secret access keys, by the name that stands before them",
        before=rb"(?i:secret_?access_?key)\\*[\"']?" + _AROUND + rb"[:=]" + _AROUND + rb"\\*[\"']?",
        value=rb"[A-Za-z0-9+/]{40}",
        partial=rb"[A-Za-z0-9+/]+",
        examples=(
            Example(b"aws_secret_access_key = " + _fake(BASE64, 40), _fake(BASE64, 40)),
            Example(b'"SecretAccessKey": "' + _fake(BASE64, 40) + b'"', _fake(BASE64, 40)),
        ),
        counterexamples=(b"aws_secret_access_key = None",),
    ),
    Rule(
        name="bearer-token",
        description="what follows the word Bearer, when it is long enough and holds a digit",
        before=LEFT + rb"(?i:bearer)[ \t]+",
        value=rb"[A-Za-z0-9_.~+/=-]{16,}",
        needs_digit=True,
        partial=rb"[A-Za-z0-9_.~+/=-]+",
        examples=(Example(b"sent Bearer " + _fake(WORD, 24) + b" to it", _fake(WORD, 24)),),
        counterexamples=(b"the bearer authenticationscheme is used", b"Bearer token"),
    ),
)

# Other arguments between a program and its option, on one command line.
_OTHERS = rb"[ \t](?:[^\r\n|;]*?[ \t])?"
_PROGRAMS = (
    Rule(
        name="curl-user",
        description="the password of `curl -u user:password` and `--user`, `--proxy-user`",
        before=rb"\b(?:curl|wget|http|https|xh)"
        + _OTHERS
        + rb"(?:-u|-U|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"']+:",
        value=rb"[^\s\"']+",
        partial=rb"[^\s\"']+",
        examples=(Example(b"curl -s -u joe:hunter2 https://example.test", b"hunter2"),),
        counterexamples=(b"docker run -u 1000:1000 image", b"curl -s https://example.test"),
    ),
    Rule(
        name="program-option",
        description="passwords of `mysql -pX`, `sshpass -p X`, `redis-cli -a X`, `docker login -p X`",
        before=rb"\b(?:(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)" + _OTHERS + rb"-p"
        rb"|sshpass[ \t]+-p[ \t]*|redis-cli" + _OTHERS + rb"-a[ \t]+"
        rb"|(?:docker|podman|helm|az|oc)" + _OTHERS + rb"login" + _OTHERS + rb"-p[ \t]+)[\"']?",
        value=rb"[^\s\"']+",
        partial=rb"[^\s\"']+",
        examples=(
            Example(b"mysql -u root -phunter2 db", b"hunter2"),
            Example(b"sshpass -p hunter2 ssh host", b"hunter2"),
            Example(b"redis-cli -h db -a hunter2 ping", b"hunter2"),
            Example(b"docker login -u joe -p hunter2 registry.example.test", b"hunter2"),
        ),
        counterexamples=(b"mysql -u root -p", b"docker run -p 80:80 image", b"mkdir -p build/x"),
    ),
    Rule(
        name="private-key-line",
        description="a private key on one line, with escaped line breaks",
        before=rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        value=rb"[^\r\n]+?",
        after=rb"-----END ",
        partial=rb"[^\r\n]+",
        examples=(
            Example(
                b"-----BEGIN PRIVATE KEY-----\\nRVhBTVBMRQ==\\n-----END PRIVATE KEY-----\\n",
                b"\\nRVhBTVBMRQ==\\n",
            ),
        ),
        counterexamples=(b"-----BEGIN PUBLIC KEY-----\\nRVhBTVBMRQ==\\n-----END PUBLIC KEY-----",),
    ),
)

SHAPES: tuple[Rule, ...] = (*_CODE_HOSTS, *_CLOUDS, *_MODELS, *_SERVICES, *_COMPOSED, *_PROGRAMS)
