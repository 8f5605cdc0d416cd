"""The list of all rules, as data: those with patterns, and those that are read by name.

A rule in `NAMED` has no pattern, because what it means depends on the name, the separator and what stands
around; its examples say what is meant.
"""

from __future__ import annotations

from steno.redact.rule import Example, Rule
from steno.redact.shapes import SHAPES

_COLOURED = b'\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"hunter2"\x1b[0m'

_PAIR = Rule(
    name="secret-pair",
    description="the value of a name that says secret: assignments, JSON, YAML, environment and ini files",
    examples=(
        Example(b'"password": "x"', b"x"),
        Example(b"password: hunter2", b"hunter2"),
        Example(b"  api_key: abc123  # comment", b"abc123"),
        Example(b"passphrase: correct horse battery staple", b"correct horse battery staple"),
        Example(b"export X_TOKEN=abc", b"abc"),
        Example(b"API_KEY=abc", b"abc"),
        Example(b"KEY=abc123def", b"abc123def"),
        Example(b'KEY="quoted value"', b"quoted value"),
        Example(b'key="quoted value"', b"quoted value"),
        Example(b"DB_PASS=swordfish", b"swordfish"),
        Example(b"PGPASSWORD=swordfish psql", b"swordfish"),
        Example(b"const apiKey = 'abc-def-123';", b"abc-def-123"),
        Example(b'{"accessToken":"abc","n":1}', b"abc"),
        Example(b"'client-secret': 'it\\'s mine'", b"it\\'s mine"),
        Example(b'{"password": "a\\"b c"}', b'a\\"b c'),
        Example(b'{"body":"{\\"password\\": \\"x y\\"}"}', b"x y"),
        Example(b'{"body":"{\\"in\\":\\"{\\\\\\"token\\\\\\": \\\\\\"abc\\\\\\"}\\"}"}', b"abc"),
        Example(_COLOURED, b"hunter2"),
        Example(b"Server=db;User=sa;Password=swordfish;Timeout=5", b"swordfish"),
        Example(b"mount -o username=joe,password=swordfish,uid=0", b"swordfish"),
        Example(b"password = hunter2", b"hunter2"),
        Example(b"//registry.example.test/:_authToken=abcdef", b"abcdef"),
        Example(b"credentials: abc:def", b"abc:def"),
        Example(b"+  secret: s3cr3t", b"s3cr3t"),
        Example(b'var accessToken string = "abc-def-123"', b"abc-def-123"),
        Example(b"const accessToken: string = 'abc-def-123';", b"abc-def-123"),
        Example(b'let access_token: &str = "abc-def-123";', b"abc-def-123"),
        Example(b'static TOKEN: &\'static str = "abc-def-123";', b"abc-def-123"),
        Example(b'let accessToken: String? = "abc-def-123"', b"abc-def-123"),
        Example(b'password: str | None = "hunter2"', b"hunter2"),
        Example(b'char access_token[] = "abc-def-123";', b"abc-def-123"),
        Example(b'secret := []byte("abc-def-123")', b"abc-def-123"),
        Example(b"password = correct horse 2 battery", b"correct horse 2 battery"),
    ),
    counterexamples=(
        b"MONKEY: banana",
        b"keyboard=us",
        b"tokenizer: fast",
        b"keyword=1",
        b"hotkeys: on",
        b"token = get_token()",
        b"key: str",
        b"for key in keys:",
        b"password=None",
        b'secret=os.environ["X"]',
        b"items.sort(key=lambda x: x[0])",
        b'{"key": value}',
        b"f(key=value, token=tok)",
        b"def login(user: str, password: str) -> None:",
        b"self.token = self.config.token",
        b'"max_tokens": 4096, "input_tokens": 12',
        b'"token_type": "bearer"',
        b"PASSWORD=$DB_PASSWORD",
        b'headers = {"Authorization": f"Bearer {token}"}',
        b"password: ********",
        b"token=[REDACTED:secret-pair:12]",
        b"API_KEY_FILE=/run/secrets/key",
        b"SSH_AUTH_SOCK=/tmp/ssh-x/agent.1",
        b"PWD=/home/joe",
        b'print("token=" + repr(token))',
        b"primary_key: user_id",
        b"author: Joe",
        b"bypass: yes",
        b"compass=north",
        b"Invalid token: unexpected end",
        b"token: string = defaultToken,",
        b"password: str = field(default=None)",
        b'password: str | None = None, key: str = "name",',
        b'tokens[0] = "first"',
        b"password: string;",
        b"    password: URLPatternComponentResult;",
        b"    password: new Definition('password', {",
        b"withCredentials: kEnumerableProperty",
        b"load(credentials=s3_credentials or None)",
        b"private_key: Ed25519PrivateKey | Ed448PrivateKey",
        b'"password": "string",',
        '"cookie": "\U0001f36a",'.encode(),
        b"token_number: Incomplete",
        b'"api_key_provided": "api_key" in options',
        b"ROOT_KEY = '__root__'",
        b"raw token=z\x14shlex: raw token=EOF)",
        b'{"Proxy-Authorization": "Basic <username>:<password>"}',
        b"password = first or second",
        b"password = read_password 8",
    ),
)

NAMED: tuple[Rule, ...] = (
    _PAIR,
    Rule(
        name="header",
        description="headers: `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, `X-Api-Key`",
        examples=(
            Example(b"Authorization: Bearer x", b"x"),
            Example(b"> Proxy-Authorization: Basic dTpw", b"dTpw"),
            Example(b"curl -H 'Authorization: Bearer x' https://example.test", b"x"),
            Example(b'curl -H "X-Api-Key: abc" https://example.test', b"abc"),
            Example(b"Cookie: a=b; sid=31d4", b"a=b; sid=31d4"),
            Example(b"< set-cookie: sid=31d4; Path=/; HttpOnly", b"sid=31d4; Path=/; HttpOnly"),
            Example(b"authorization: Custom a, b=c", b"Custom a, b=c"),
        ),
        counterexamples=(
            b"the Cookie: header is explained below",
            b"authorization: str = None",
            b"Accept: text/html",
        ),
    ),
    Rule(
        name="option",
        description="`--token X`, `--password=X`, `--api-key X` on a command line in a text",
        examples=(
            Example(b"run --token abc -v", b"abc"),
            Example(b"run --password=hunter2", b"hunter2"),
            Example(b"run --key X", b"X"),
            Example(b"run --api-key 'a b c' now", b"a b c"),
            Example(b'["run", "--token", "abc"]', b"abc"),
        ),
        counterexamples=(
            b"usage: run [--token TOKEN] [--verbose]",
            b"use --token to name it",
            b"run --key /etc/ssl/server.key",
            b"run --keyboard us",
            b"run --password --verbose",
        ),
    ),
    Rule(
        name="query-parameter",
        description="`?access_token=x&`, `&api_key=x` in URLs and forms",
        examples=(
            Example(b"GET /x?access_token=abc&y=1 HTTP/1.1", b"abc"),
            Example(b"https://example.test/?a=1&api_key=abc%20d#top", b"abc%20d"),
        ),
        counterexamples=(b"GET /x?page=2&sort=key", b"/x?token=$TOKEN"),
    ),
    Rule(
        name="netrc",
        description="`.netrc` entries, on one line or on several",
        examples=(
            Example(b"machine example.test login joe password hunter2", b"hunter2"),
            Example(b"  password hunter2", b"hunter2"),
            Example(b"machine h login joe password swordfish account x", b"swordfish"),
        ),
        counterexamples=(b"password combination.", b"password must be changed"),
    ),
    Rule(
        name="variable",
        description="`ENV NAME value`, `setenv NAME value`, `set -x NAME value`",
        examples=(
            Example(b"ENV API_TOKEN abc", b"abc"),
            Example(b"setenv DB_PASSWORD hunter2", b"hunter2"),
            Example(b"set -gx GITHUB_TOKEN abc", b"abc"),
        ),
        counterexamples=(b"ENV KEYBOARD us", b"ENV PATH /usr/bin"),
    ),
    Rule(
        name="definition",
        description='`#define X_TOKEN "x1"` of C',
        examples=(
            Example(b'#define API_TOKEN "abc-def-123"', b"abc-def-123"),
            Example(b'#  define DB_PASSWORD\t"hunter2"', b"hunter2"),
        ),
        counterexamples=(
            b'#define PARAM_PRIVATE_KEY "priv"',
            b'#define TOKEN_PATH "/run/token1"',
            b"#define TOKEN_KEY OTHER_KEY",
        ),
    ),
    Rule(
        name="property-call",
        description='calls with a name and a value: `setProperty("X_TOKEN", "x1")`',
        examples=(
            Example(b'System.setProperty("X_TOKEN", "hunter2");', b"hunter2"),
            Example(b'System.setProperty("db.password", "correct horse 2");', b"correct horse 2"),
            Example(b"setenv('API_KEY', 'abc-def-123', 1)", b"abc-def-123"),
        ),
        counterexamples=(
            b'map.put("token", "name")',
            b'setProperty("X_TOKEN", token)',
            b'set("max_tokens", "4096")',
            b'put("password", "Enter your password, please.")',
        ),
    ),
    Rule(
        name="private-key",
        description="private key blocks over several lines: PEM, OpenSSH, PGP",
        examples=(
            Example(
                b"-----BEGIN OPENSSH PRIVATE KEY-----\nRVhBTVBMRUVYQU1QTEVFWEFNUExF\n"
                b"-----END OPENSSH PRIVATE KEY-----",
                b"RVhBTVBMRUVYQU1QTEVFWEFNUExF",
            ),
            Example(
                b"-----BEGIN PGP PRIVATE KEY BLOCK-----\r\nVersion: 1\r\n\r\n"
                b"RVhBTVBMRUVYQU1QTEVFWEFNUExF\r\n=AbCd\r\n"
                b"-----END PGP PRIVATE KEY BLOCK-----",
                b"Version: 1\r\n\r\nRVhBTVBMRUVYQU1QTEVFWEFNUExF\r\n=AbCd",
            ),
        ),
        counterexamples=(
            b"-----BEGIN PUBLIC KEY-----\nRVhBTVBMRUVYQU1QTEVFWEFNUExF\n-----END PUBLIC KEY-----",
            b'if line == "-----BEGIN PRIVATE KEY-----":\n    return read(line)\n',
        ),
    ),
)

RULES: tuple[Rule, ...] = (*SHAPES, *NAMED)

__all__ = ["NAMED", "RULES", "SHAPES", "Example", "Rule"]
