"""The token formats of providers: a public prefix, then letters of a class; and pieces of such patterns."""

from __future__ import annotations

import re
from functools import cache

from steno.redact.rule import Example, Rule

WORD = rb"[A-Za-z0-9]"
WORD_DASH = rb"[A-Za-z0-9_-]"
WORD_LINE = rb"[A-Za-z0-9_]"
HEX = rb"[0-9a-f]"
UPPER = rb"[A-Z0-9]"
BASE64 = rb"[A-Za-z0-9+/]"

LEFT = rb"\b"
# A blank of which a backslash or percent escape may have been made.
CODED_BLANK = rb"(?:[ \t+]|\\t|%20|%09|\\u00(?:20|09)|\\x(?:20|09))"
ESCAPED_BLANK = rb"(?:\\t|%20|%09|\\u00(?:20|09)|\\x(?:20|09))"

_FAKE_LETTERS = b"EXAMPLEexample0123456789NOTREALabcdef"


def fake(letters: bytes, count: int) -> bytes:
    """A value of the right form that is nobody's secret."""
    allowed = _allowed(letters)
    return (allowed * (count // len(allowed) + 1))[:count]


@cache
def _allowed(letters: bytes) -> bytes:
    return b"".join(re.findall(letters, _FAKE_LETTERS))


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
    hint = b"(?:" + b"|".join(prefix.replace(b".", rb"\.") for prefix in prefixes) + b")"
    before = left + hint
    body = fake(letters, least)
    return Rule(
        name=name,
        description=description,
        before=before,
        value=letters + b"{%d,}" % least,
        partial=letters + b"+",
        trigger=before + letters + b"{4}",
        hint=hint.replace(b"=", rb"(?:=|%3[dD])") + rb"[A-Za-z0-9+/=_.~%\\-]{4}",
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
        (
            b"glpat-",
            b"gldt-",
            b"glrt-",
            b"glrtr-",
            b"glptt-",
            b"glsoat-",
            b"glcbt-",
            b"glft-",
            b"glffct-",
            b"glimt-",
            b"glagent-",
            b"gloas-",
            b"glwt-",
            b"GR1348941",
            b"_gitlab_session=",
        ),
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
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"A3TX"),
        rb"[A-Z0-9]",
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
        tuple(b"%dQ~" % digit for digit in range(10)),
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
        (b"sk_live_", b"rk_live_", b"sk_test_", b"rk_test_", b"sk_prod_", b"rk_prod_", b"whsec_"),
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
    _prefixed("linear-key", "Linear keys `lin_api_`, `lin_oauth_`", (b"lin_api_", b"lin_oauth_"), WORD, 32),
    _prefixed("notion-token", "Notion tokens `ntn_`", (b"ntn_",), WORD, 40, left=LEFT),
    _prefixed("postman-key", "Postman keys `PMAK-`", (b"PMAK-",), rb"[0-9a-f-]", 40, left=LEFT),
    _prefixed(
        "newrelic-key",
        "New Relic keys `NRAK-`, `NRII-`, `NRJS-`",
        (b"NRAK-", b"NRII-", b"NRJS-"),
        rb"[A-Za-z0-9-]",
        19,
        left=LEFT,
    ),
    _prefixed("age-key", "age keys `AGE-SECRET-KEY-1`", (b"AGE-SECRET-KEY-1",), UPPER, 50),
)

_NEWER = (
    _prefixed(
        "onepassword-token",
        "1Password service account tokens `ops_`",
        (b"ops_eyJ",),
        rb"[A-Za-z0-9+/=_-]",
        60,
        left=LEFT,
    ),
    _prefixed("bedrock-key", "Amazon Bedrock keys `ABSK`", (b"ABSK",), rb"[A-Za-z0-9+/=]", 100, left=LEFT),
    _prefixed("perplexity-key", "Perplexity keys `pplx-`", (b"pplx-",), WORD, 40, left=LEFT),
    _prefixed(
        "doppler-token",
        "Doppler tokens `dp.pt.`, `dp.st.` and relatives",
        (b"dp.pt.", b"dp.st.", b"dp.ct.", b"dp.sa.", b"dp.scim.", b"dp.audit."),
        rb"[A-Za-z0-9_.-]",
        40,
        left=LEFT,
    ),
    _prefixed(
        "fly-token",
        "Fly.io tokens `fo1_`, `fm1_`, `fm2_`",
        (b"fo1_", b"fm1a_", b"fm1r_", b"fm2_"),
        rb"[A-Za-z0-9_+/=-]",
        40,
        left=LEFT,
    ),
    _prefixed("pulumi-token", "Pulumi tokens `pul-`", (b"pul-",), HEX, 40, left=LEFT),
    _prefixed(
        "square-token",
        "Square tokens `EAAA`, `sq0atp-`, `sq0csp-`",
        (b"sq0atp-", b"sq0csp-", b"EAAA"),
        WORD_DASH,
        22,
        left=rb"(?:[^A-Za-z0-9+/_-]|\A)",
    ),
    _prefixed(
        "sourcegraph-token",
        "Sourcegraph tokens `sgp_`",
        (b"sgp_local_", b"sgp_"),
        rb"[0-9a-fA-F_]",
        40,
        left=LEFT,
    ),
    _prefixed(
        "bedrock-session-key",
        "short-lived Amazon Bedrock keys `bedrock-api-key-`",
        (b"bedrock-api-key-",),
        rb"[A-Za-z0-9+/=]",
        40,
        left=LEFT,
    ),
    _prefixed("artifactory-key", "Artifactory keys `AKCp`", (b"AKCp",), WORD, 60, left=LEFT),
    _prefixed("artifactory-token", "Artifactory reference tokens `cmVmd`", (b"cmVmd",), WORD, 56, left=LEFT),
    _prefixed(
        "planetscale-token",
        "PlanetScale tokens `pscale_tkn_` and relatives",
        (b"pscale_tkn_", b"pscale_pw_", b"pscale_oauth_"),
        rb"[A-Za-z0-9=._-]",
        32,
        left=LEFT,
    ),
    _prefixed("heroku-token", "Heroku tokens `HRKU-AA`", (b"HRKU-AA",), WORD_DASH, 58, left=LEFT),
    _prefixed("alibaba-key", "Alibaba Cloud key ids `LTAI`", (b"LTAI",), WORD, 16, left=LEFT),
    _prefixed("clojars-token", "Clojars tokens `CLOJARS_`", (b"CLOJARS_",), rb"[a-z0-9]", 60, left=LEFT),
    _prefixed("adobe-secret", "Adobe client secrets `p8e-`", (b"p8e-",), WORD, 32, left=LEFT),
    _prefixed(
        "dynatrace-token", "Dynatrace tokens `dt0c01.`", (b"dt0c01.",), rb"[A-Za-z0-9.]", 60, left=LEFT
    ),
    _prefixed("easypost-key", "EasyPost keys `EZAK`, `EZTK`", (b"EZAK", b"EZTK"), WORD, 54, left=LEFT),
    _prefixed("prefect-key", "Prefect keys `pnu_`, `pnb_`", (b"pnu_", b"pnb_"), WORD, 36, left=LEFT),
    _prefixed("readme-key", "ReadMe keys `rdme_`", (b"rdme_",), rb"[a-z0-9]", 70, left=LEFT),
    _prefixed("openshift-token", "OpenShift tokens `sha256~`", (b"sha256~",), WORD_DASH, 43, left=LEFT),
    _prefixed(
        "cloudflare-ca-key", "Cloudflare origin keys `v1.0-`", (b"v1.0-",), rb"[0-9a-f-]", 160, left=LEFT
    ),
    _prefixed("brevo-key", "Brevo keys `xkeysib-`", (b"xkeysib-",), rb"[0-9a-zA-Z-]", 70, left=LEFT),
    _prefixed(
        "terraform-token",
        "Terraform Cloud tokens, the part after `.atlasv1.`",
        (b".atlasv1.",),
        rb"[A-Za-z0-9_=-]",
        60,
    ),
)

_MORE = (
    Rule(
        name="onepassword-key",
        description="1Password secret keys `A3-`",
        before=rb"\bA3-",
        value=rb"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        partial=rb"[A-Z0-9-]+",
        hint=rb"A3-",
        trigger=rb"\bA3-[A-Z0-9]{6}-",
        examples=(
            Example(
                b"key A3-EXAMP1-EXAMPLE2345-EXAM3-EXAM4-EXAM5 ok", b"EXAMP1-EXAMPLE2345-EXAM3-EXAM4-EXAM5"
            ),
        ),
        counterexamples=(b"paper A3-SIZED, A3-210-297",),
    ),
    Rule(
        name="harness-token",
        description="Harness tokens `pat.`, `sat.` with three parts",
        before=rb"\b(?:pat|sat)\.",
        value=rb"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
        partial=rb"[A-Za-z0-9_.-]+",
        hint=rb"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.",
        needs_digit=True,
        trigger=rb"\b(?:pat|sat)\.[A-Za-z0-9_-]{8}",
        examples=(
            Example(
                b"got pat." + fake(WORD, 22) + b"." + fake(WORD, 24) + b"." + fake(WORD, 20),
                fake(WORD, 22) + b"." + fake(WORD, 24) + b"." + fake(WORD, 20),
            ),
        ),
        counterexamples=(b"pat.method.call",),
    ),
    Rule(
        name="authress-key",
        description="Authress service keys `sc_`, `ext_` with `.acc_` in them",
        before=rb"\b(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-]",
        value=rb"[a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
        partial=rb"[A-Za-z0-9+/_=.-]+",
        hint=rb"\.acc[_-]",
        trigger=rb"\.acc[_-][a-z0-9-]{10}",
        examples=(
            Example(
                b"sc_example1.abcd.acc_" + fake(rb"[a-z0-9-]", 12) + b"." + fake(WORD, 30),
                fake(rb"[a-z0-9-]", 12) + b"." + fake(WORD, 30),
            ),
        ),
        counterexamples=(b"ext_module.load.acc_total",),
    ),
    Rule(
        name="facebook-token",
        description="Facebook tokens: the application's id, a bar, then the token; `EAAM`, `EAAC`",
        before=rb"\b[0-9]{15,16}(?:\||%7C)|\bEAA[MC]",
        value=rb"[A-Za-z0-9_-]{27,}",
        partial=rb"[A-Za-z0-9_-]+",
        hint=rb"[0-9]{15}(?:\||%7|\\[ux])|EAA[MC]",
        needs_digit=True,
        trigger=rb"[0-9](?:\||%7C)[A-Za-z0-9_-]{27}|\bEAA[MC][A-Za-z0-9]{8}",
        examples=(Example(b"got 123456789012345|" + fake(WORD, 27), fake(WORD, 27)),),
        counterexamples=(b"| 123456789012345|some_other_column |",),
    ),
    Rule(
        name="jwt-base64",
        description="web tokens that were encoded once more: `ZXlK`",
        before=rb"\bZXlK",
        value=rb"[A-Za-z0-9/_+-]{40,}={0,2}",
        partial=rb"[A-Za-z0-9/_+=-]+",
        hint=rb"ZXlK",
        examples=(Example(b"got ZXlK" + fake(WORD, 60), fake(WORD, 60)),),
        counterexamples=(b"ZXlKhort",),
    ),
    Rule(
        name="twilio-key",
        description="Twilio keys and tokens `SK`, 32 hexadecimal digits",
        before=rb"\bSK",
        value=rb"[0-9a-f]{32}\b",
        partial=rb"[0-9a-f]{1,32}",
        hint=rb"SK[0-9a-f]",
        trigger=rb"\bSK[0-9a-f]{6}",
        examples=(Example(b"sid SK" + fake(HEX, 32) + b" ok", fake(HEX, 32)),),
        counterexamples=(b"SKELETON SK0123",),
    ),
    Rule(
        name="mailgun-key",
        description="Mailgun keys `key-`, 32 hexadecimal digits",
        before=rb"\bkey-",
        value=rb"[0-9a-f]{32}\b",
        partial=rb"[0-9a-f]{1,32}",
        hint=rb"key-[0-9a-f]",
        trigger=rb"\bkey-[0-9a-f]{6}",
        examples=(Example(b"use key-" + fake(HEX, 32) + b" now", fake(HEX, 32)),),
        counterexamples=(b"key-binding, key-0123",),
    ),
    Rule(
        name="plaid-token",
        description="Plaid access tokens `access-production-` and relatives",
        before=rb"\baccess-(?:sandbox|development|production)-",
        value=rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        partial=rb"[0-9a-f-]+",
        hint=rb"access-(?:sandbox|development|production)-",
        examples=(
            Example(
                b"access-production-01234567-89ab-cdef-0123-456789abcdef",
                b"01234567-89ab-cdef-0123-456789abcdef",
            ),
        ),
        counterexamples=(b"access-production-logs",),
    ),
    *(
        _prefixed(name, description, prefixes, letters, least, left=LEFT)
        for name, description, prefixes, letters, least in (
            ("adafruit-key", "Adafruit keys `aio_`", (b"aio_",), WORD, 28),
            (
                "bitbucket-token",
                "Bitbucket tokens `ATBB`, `ATCTT3`, `BBDC-`",
                (b"ATBB", b"ATCTT3", b"BBDC-"),
                rb"[A-Za-z0-9_=+/-]",
                32,
            ),
            ("buildkite-token", "Buildkite tokens `bkua_`", (b"bkua_",), HEX, 40),
            ("cerebras-key", "Cerebras keys `csk-`", (b"csk-",), WORD, 32),
            ("circleci-token", "CircleCI tokens `CCIPAT_`", (b"CCIPAT_",), WORD_LINE, 32),
            ("clickhouse-key", "ClickHouse Cloud keys `4b1d`", (b"4b1d",), WORD, 38),
            ("contentful-token", "Contentful tokens `CFPAT-`", (b"CFPAT-",), WORD_DASH, 40),
            (
                "defined-networking-token",
                "Defined Networking tokens `dnkey-`",
                (b"dnkey-",),
                rb"[A-Za-z0-9=_-]",
                60,
            ),
            ("dropbox-token", "Dropbox tokens `sl.`", (b"sl.",), rb"[A-Za-z0-9=_-]", 100),
            (
                "duffel-token",
                "Duffel tokens `duffel_live_`, `duffel_test_`",
                (b"duffel_live_", b"duffel_test_"),
                rb"[A-Za-z0-9_=-]",
                43,
            ),
            ("e2b-key", "E2B keys `e2b_`", (b"e2b_",), HEX, 40),
            ("figma-token", "Figma tokens `figd_`", (b"figd_",), WORD_DASH, 40),
            (
                "flutterwave-key",
                "Flutterwave keys `FLWSECK`",
                (b"FLWSECK_TEST-", b"FLWSECK-"),
                rb"[A-Za-z0-9]",
                12,
            ),
            ("frameio-token", "Frame.io tokens `fio-u-`", (b"fio-u-",), rb"[A-Za-z0-9_=-]", 64),
            ("grafana-old-key", "Grafana keys of old `eyJrIjoi`", (b"eyJrIjoi",), rb"[A-Za-z0-9=]", 70),
            ("honeycomb-key", "Honeycomb keys `hcaik_`", (b"hcaik_",), WORD, 58),
            (
                "huggingface-organization-token",
                "Hugging Face organization tokens `api_org_`",
                (b"api_org_",),
                WORD,
                34,
            ),
            (
                "hubspot-token",
                "HubSpot tokens `pat-na1-`, `pat-eu1-`",
                (b"pat-na1-", b"pat-eu1-"),
                rb"[0-9A-Fa-f-]",
                36,
            ),
            ("infracost-key", "Infracost keys `ico-`", (b"ico-",), WORD, 32),
            ("intra42-secret", "Intra42 secrets `s-s4t2`", (b"s-s4t2ud-", b"s-s4t2af-"), HEX, 64),
            ("jina-key", "Jina keys `jina_`", (b"jina_",), WORD_DASH, 40),
            ("langfuse-key", "Langfuse keys `sk-lf-`", (b"sk-lf-",), rb"[0-9a-f-]", 36),
            (
                "langsmith-key",
                "LangSmith keys `lsv2_pt_`, `lsv2_sk_`",
                (b"lsv2_pt_", b"lsv2_sk_"),
                rb"[0-9a-f_]",
                32,
            ),
            ("neon-key", "Neon keys `napi_`", (b"napi_",), WORD, 40),
            ("netlify-token", "Netlify tokens `nfp_`", (b"nfp_",), WORD, 36),
            ("nvidia-key", "NVIDIA keys `nvapi-`", (b"nvapi-",), WORD_DASH, 40),
            ("octopus-key", "Octopus Deploy keys `API-`", (b"API-",), UPPER, 26),
            ("pinecone-key", "Pinecone keys `pcsk_`", (b"pcsk_",), WORD_LINE, 40),
            ("posthog-key", "PostHog keys `phx_`", (b"phx_",), WORD, 40),
            ("render-key", "Render keys `rnd_`", (b"rnd_",), WORD, 28),
            ("scalingo-token", "Scalingo tokens `tk-us-`", (b"tk-us-",), WORD_DASH, 48),
            (
                "settlemint-token",
                "SettleMint tokens `sm_aat_`, `sm_pat_`, `sm_sat_`",
                (b"sm_aat_", b"sm_pat_", b"sm_sat_"),
                WORD,
                16,
            ),
            (
                "shippo-token",
                "Shippo tokens `shippo_live_`, `shippo_test_`",
                (b"shippo_live_", b"shippo_test_"),
                rb"[0-9a-fA-F]",
                40,
            ),
            ("sonar-token", "Sonar tokens `squ_`, `sqp_`, `sqa_`", (b"squ_", b"sqp_", b"sqa_"), HEX, 40),
            ("supabase-key", "Supabase keys `sb_secret_`", (b"sb_secret_",), WORD_DASH, 30),
            ("tavily-key", "Tavily keys `tvly-`", (b"tvly-",), WORD_DASH, 30),
            ("typeform-token", "Typeform tokens `tfp_`", (b"tfp_",), rb"[A-Za-z0-9_.=-]", 40),
            ("yandex-key", "Yandex keys `AQVN`", (b"AQVN",), WORD_DASH, 35),
        )
    ),
)

TOKENS: tuple[Rule, ...] = (*_CODE_HOSTS, *_CLOUDS, *_MODELS, *_SERVICES, *_NEWER, *_MORE)
