"""Secrets that are known by their shape: web tokens, URLs with userinfo, options of programs, and tokens."""

from __future__ import annotations

from steno.redact.rule import Example, Rule
from steno.redact.tokens import BASE64, CODED_BLANK, ESCAPED_BLANK, LEFT, TOKENS, WORD, fake

# All that may stand before the `@`, raw or escaped; a slash, a quote or a blank ends the authority.
_USERINFO = rb"[^\x00-\x20\x7f/?#\"'`<>\\\[\]|]"
_AROUND = rb"[ \t]*"

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
        hint=rb":(?:\\+[/ux]|%2)|://[^\s\"]*\\u",
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
        description="Slack, Discord and Teams webhook addresses",
        before=rb"webhook\.office\.com/webhookb2/|hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/[0-9]+/",
        value=rb"[A-Za-z0-9_@+/-]{20,}",
        partial=rb"[A-Za-z0-9_@+/-]+",
        hint=rb"hooks\.slack|discord(?:app)?\.com|webhook\.office",
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
        hint=rb"(?::|%3[aA]|[ux](?:00)?3[aA])AA",
        examples=(Example(b"bot 123456789:AA" + fake(WORD, 33), fake(WORD, 33)),),
        counterexamples=(b"at 1234567890:AAPL rose",),
    ),
    Rule(
        name="discord-token",
        description="Discord bot tokens: three parts, the first of them the id in base64",
        before=rb"\b[MNO][A-Za-z0-9]{23,27}\.",
        value=rb"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        partial=rb"[A-Za-z0-9_.-]+",
        trigger=rb"\b[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.",
        needs_digit=True,
        hint=rb"(?:\b|\\[bfnrt]|%[0-9A-Fa-f]{2}|\\(?:u00|x)[0-9A-Fa-f]{2})[MNO][A-Za-z0-9]{23,27}\.",
        examples=(
            Example(
                b"bot N" + fake(WORD, 23) + b"." + fake(WORD, 6) + b"." + fake(WORD, 38),
                fake(WORD, 6) + b"." + fake(WORD, 38),
            ),
        ),
        counterexamples=(b"NotAModuleButAVeryLongNameX.method.call",),
    ),
    Rule(
        name="azure-account-key",
        description="`AccountKey=`, `SharedAccessKey=` of Azure connection strings",
        before=rb"(?:AccountKey|SharedAccessKey|SharedSecretValue)=",
        value=rb"[A-Za-z0-9+/]{20,}={0,2}",
        partial=rb"[A-Za-z0-9+/]+={0,2}",
        hint=rb"AccountKey|SharedAccessKey|SharedSecretValue",
        examples=(
            Example(
                b"AccountName=x;AccountKey=" + fake(BASE64, 44) + b"==;Endpoint=y", fake(BASE64, 44) + b"=="
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
        hint=rb"sig(?:=|%|\\)|X-Amz-Signature|X-Goog-Signature",
        examples=(Example(b"/c?sv=2024&sig=" + fake(WORD, 43) + b"%3D&se=1", fake(WORD, 43) + b"%3D"),),
        counterexamples=(b"/c?sig=none&x=1",),
    ),
    Rule(
        name="aws-secret-key",
        description="AWS secret access keys, by the name that stands before them",
        before=rb"(?i:secret_?access_?key)[\"']?" + _AROUND + rb"[:=]" + _AROUND + rb"[\"']?",
        value=rb"[A-Za-z0-9+/]{40}",
        partial=rb"[A-Za-z0-9+/]+",
        hint=rb"(?i:secret_?access_?key)",
        examples=(
            Example(b"aws_secret_access_key = " + fake(BASE64, 40), fake(BASE64, 40)),
            Example(b'"SecretAccessKey": "' + fake(BASE64, 40) + b'"', fake(BASE64, 40)),
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
        hint=rb"(?i:bearer)",
        examples=(Example(b"sent Bearer " + fake(WORD, 24) + b" to it", fake(WORD, 24)),),
        counterexamples=(b"the bearer authenticationscheme is used", b"Bearer token"),
    ),
)

_NAMED = rb"(?i:token|secret|password|passwd|api_?key)"
_LISTED = rb"(?i:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)"
_FIELDS = (
    Rule(
        name="header-list",
        description='headers as JSON that have a list as value: `"Authorization": ["Bearer x"]`',
        before=rb"\"" + _LISTED + rb"\"[ \t]*:[ \t]*\[[ \t]*\"(?:(?i:bearer|basic|token)[ \t]+)?",
        value=rb"(?:[^\"\\\r\n]|\\[^\r\n])+",
        partial=rb"(?:[^\"\\\r\n]|\\[^\r\n])+\\?",
        hint=_LISTED + rb"[\\\"%]",
        examples=(
            Example(b'{"Authorization":["Bearer x"]}', b"x"),
            Example(b'"Set-Cookie": [ "sid=31d4; Path=/" ]', b"sid=31d4; Path=/"),
        ),
        counterexamples=(b'"Authorization": []', b'"Accept": ["text/html"]'),
    ),
    Rule(
        name="csv-field",
        description="the field after one that is named as a secret, without a blank: `xToken,abc…,`",
        before=_NAMED + rb",",
        value=rb"[A-Za-z0-9_+/=-]{15,}",
        partial=rb"[A-Za-z0-9_+/=-]+",
        needs_digit=True,
        hint=_NAMED + rb"(?:,|%2[cC])[A-Za-z0-9_+/=-]{8}",
        trigger=_NAMED + rb",[A-Za-z0-9_+/=-]{15}",
        examples=(Example(b"fooToken," + fake(WORD, 24) + b",", fake(WORD, 24)),),
        counterexamples=(b"f(token,other_name_of_a_thing)", b"token,secret,password"),
    ),
    Rule(
        name="registry-auth",
        description='`"auth": "<base64>"` of Docker, `_auth=<base64>` of npm',
        before=rb"(?:\"auth\"[ \t]*:[ \t]*\"|\b_auth[ \t]*=[ \t]*\"?)",
        value=rb"[A-Za-z0-9+/]{8,}={0,2}",
        needs_digit=True,
        partial=rb"[A-Za-z0-9+/]+={0,2}",
        hint=rb"auth[\\\"=% \t]",
        examples=(Example(b'{"auths":{"h":{"auth":"dTpwdzE5"}}}', b"dTpwdzE5"),),
        counterexamples=(b'"auth": "required"', b'"auth": {"user": "joe"}'),
    ),
)

# Other arguments between a program and its option, on one command line.
_OTHERS = rb"[ \t](?:[^\r\n|;]*?[ \t])?"
_SECRET_ELEMENT = rb"(?i:password|passwd|passphrase|secret|token|api[_-]?key|secret[_-]?key)"
_PROGRAMS = (
    Rule(
        name="xml-lines",
        description="the line below the opening of an XML element that is named as a secret",
        before=rb"<[A-Za-z0-9_.:-]*" + _SECRET_ELEMENT + rb">[ \t]*\r?\n[ \t]*",
        value=rb"[^\s<>][^<>\r\n]*",
        partial=rb"[^<>\r\n]+",
        hint=_SECRET_ELEMENT + rb"(?:>|\\|%3)",
        trigger=_SECRET_ELEMENT + rb">[ \t]*\r?\n",
        examples=(Example(b"<fooToken>\n    hunter2\n</fooToken>", b"hunter2"),),
        counterexamples=(b"<token>\n  <name>x</name>\n</token>", b"<password>\n</password>"),
    ),
    Rule(
        name="yaml-block",
        description="the line below a YAML key with `|` or `>` that is named as a secret",
        before=_SECRET_ELEMENT + rb"[\"']?:[ \t]+[|>][+-]?[0-9]?[ \t]*\r?\n[ \t]*",
        value=rb"[^\s-][^\r\n]*",
        partial=rb"[^\r\n]+",
        hint=_SECRET_ELEMENT + rb"[\"'\\]*(?::|%3|\\u003)",
        examples=(Example(b"  api_token: |\n    hunter2-x9\n", b"hunter2-x9"),),
        counterexamples=(b"token: |\n  What the token is for\n", b"password: |\n  $PASSWORD\n"),
    ),
    Rule(
        name="name-and-value",
        description="`name: DB_PASSWORD` and `value: x`, on one line or two, as JSON, YAML or XML",
        before=rb"\b(?i:name|key)[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9_.-]*"
        + _SECRET_ELEMENT
        + rb"[\"']?,?[ \t]*(?:\r?\n[ \t]*)?[\"']?\b(?i:value)[\"']?[ \t]*[:=][ \t]*[\"']?",
        value=rb"[^\s\"',<>{}\[\]$][^\s\"',<>{}\[\]]*",
        partial=rb"[^\s\"',<>{}\[\]]+",
        hint=_SECRET_ELEMENT + rb"(?:[^A-Za-z0-9\n][^\n]{0,20}(?i:value)|[\"']?,?[ \t]*\r?$)",
        needs_digit=True,
        # Before the second of two lines there may be a prefix, which a view takes away.
        trigger=_SECRET_ELEMENT + rb"[\"']?,?[ \t]*(?:\r?\n[^\n\"'=]*)?[\"']?\b(?i:value)",
        examples=(
            Example(b"- name: DB_PASSWORD\n  value: hunter2", b"hunter2"),
            Example(b'{"name": "API_TOKEN", "value": "x1y2"}', b"x1y2"),
            Example(b'<add key="ClearTextPassword" value="hunter2" />', b"hunter2"),
        ),
        counterexamples=(b"- name: DB_PASSWORD\n  valueFrom:", b'<input name="password" value="Password">'),
    ),
    Rule(
        name="xml-element",
        description="the text of an XML element that is named as a secret",
        before=rb"<[A-Za-z0-9_.:-]*" + _SECRET_ELEMENT + rb">",
        value=rb"[^<>\r\n]+",
        after=rb"</",
        partial=rb"[^<>\r\n]+<?",
        hint=_SECRET_ELEMENT + rb"(?:>|\\|%3)",
        trigger=_SECRET_ELEMENT + rb">[^<>\r\n]",
        examples=(Example(b"<server><password>hunter2</password></server>", b"hunter2"),),
        counterexamples=(
            b"<password></password>",
            b"<keyboard>us</keyboard>",
            b"<password>${env.PW}</password>",
        ),
    ),
    Rule(
        name="sql-password",
        description="`PASSWORD 'x'` and `IDENTIFIED BY 'x'` in SQL",
        before=rb"\b(?:(?i:with[ \t]+password|set[ \t]+password)|PASSWORD|IDENTIFIED[ \t]+BY"
        rb"|(?i:user[ \t][^\r\n;]{1,80}[ \t]identified[ \t]+by))[ \t]+'",
        value=rb"[^'\r\n]+",
        after=rb"'",
        partial=rb"[^'\r\n]+",
        hint=rb"(?i:password|identified)(?:[ \t%+\\])",
        trigger=rb"(?i:password|identified[ \t]+by)[ \t]+'",
        examples=(
            Example(b"ALTER USER joe WITH PASSWORD 'hunter2';", b"hunter2"),
            Example(b"create user joe identified by 'hunter2'", b"hunter2"),
        ),
        counterexamples=(b"ALTER USER joe WITH PASSWORD '';", b"the password 'field' is shown"),
    ),
    Rule(
        name="curl-user",
        description="the password of `curl -u user:password` and `--user`, `--proxy-user`",
        before=rb"\b(?:curl|wget|http|https|xh)"
        + _OTHERS
        + rb"(?:-u|-U|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"']+:",
        value=rb"[^\s\"']+",
        partial=rb"[^\s\"']+",
        hint=CODED_BLANK + rb"(?:-[uU]|--(?:proxy-)?user)|(?:curl|wget|https?|xh)" + ESCAPED_BLANK,
        trigger=rb"[ \t](?:-[uU]|--(?:proxy-)?user)[ \t=]*[\"']?[^\s:\"']+:",
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
        hint=rb"(?:(?:mysql|mariadb)[a-z-]*|sshpass|redis-cli|login)"
        + CODED_BLANK
        + rb"|(?:docker|podman|helm|az|oc)"
        + ESCAPED_BLANK
        + rb"|"
        + ESCAPED_BLANK
        + rb"-[pa]",
        trigger=rb"(?:(?:mysql|mariadb)[a-z-]*|sshpass|redis-cli|login)[ \t]",
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
        hint=rb"PRIVATE[ +%\\]",
        examples=(
            Example(
                b"-----BEGIN PRIVATE KEY-----\\nRVhBTVBMRQ==\\n-----END PRIVATE KEY-----\\n",
                b"\\nRVhBTVBMRQ==\\n",
            ),
        ),
        counterexamples=(b"-----BEGIN PUBLIC KEY-----\\nRVhBTVBMRQ==\\n-----END PUBLIC KEY-----",),
    ),
)

# What may end a line whose value stands on the next: such a line is not judged before the next has come.
OPENS_NEXT_LINE = (
    rb"(?:<[A-Za-z0-9_.:-]*" + _SECRET_ELEMENT + rb">|" + _SECRET_ELEMENT + rb"[\"']?:[ \t]+[|>][+-]?[0-9]?|"
    rb"\b(?i:name|key)[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9_.-]*" + _SECRET_ELEMENT + rb"[\"']?,?)"
)

SHAPES: tuple[Rule, ...] = (*TOKENS, *_COMPOSED, *_FIELDS, *_PROGRAMS)
