"""The token formats of providers: a public prefix, then letters of a class.

In: nothing. Out: `TOKENS`, a tuple of rules with patterns, and the pieces patterns are made of. Never: names.
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

LEFT = rb"\b"

_FAKE_LETTERS = b"EXAMPLEexample0123456789NOTREALabcdef"


def fake(letters: bytes, count: int) -> bytes:
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
    body = fake(letters, least)
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
        (b"sq0atp-", b"sq0csp-", b"EAAAE", b"EAAAl"),
        WORD_DASH,
        22,
        left=LEFT,
    ),
    _prefixed("sourcegraph-token", "Sourcegraph tokens `sgp_`", (b"sgp_",), rb"[0-9a-fA-F_]", 40, left=LEFT),
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
    _prefixed("prefect-key", "Prefect keys `pnu_`", (b"pnu_",), WORD, 36, left=LEFT),
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

TOKENS: tuple[Rule, ...] = (*_CODE_HOSTS, *_CLOUDS, *_MODELS, *_SERVICES, *_NEWER)
