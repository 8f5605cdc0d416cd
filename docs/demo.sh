#!/bin/sh
# Usage: demo.sh ENVIRONMENT
# Installs Steno into ENVIRONMENT, without the test tools, and shows it at work in a repository of its own: an agent
# edits, leaks a token, fails; the record tells.
set -eu
environment=$1
checkout=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}

missing=
command -v git >/dev/null || missing="$missing git"
command -v "${CC:-gcc}" >/dev/null || missing="$missing gcc"
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
if ! command -v "$python" >/dev/null; then
    missing="$missing python3 python3-venv"
elif ! "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    missing="$missing python3-venv"
fi
if [ -n "$missing" ]; then
    echo "steno: missing:$missing; run: apt-get install$missing (Python must be 3.11 or newer)" >&2
    exit 1
fi
if ! mkdir -p "$environment" 2>/dev/null || ! [ -w "$environment" ]; then
    echo "steno: cannot write to $environment; run: make demo DEMO=\$HOME/.cache/steno-demo" >&2
    exit 1
fi

# What was installed from older sources is installed again.
if [ ! -e "$environment/.ready" ] || [ -n "$(find "$checkout/src" "$checkout/native" "$checkout/pyproject.toml" \
    -newer "$environment/.ready" -type f -not -name '*.pyc' -not -path '*/native/build/*' | head -n 1)" ]; then
    echo "steno: installing Steno into $environment (half a minute)" >&2
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$checkout"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$checkout"
    : >"$environment/.ready"
fi
PATH=$(cd "$environment" && pwd)/bin:$PATH
export PATH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export STENO_HOME="$scratch/runs"
mkdir "$scratch/notes" && cd "$scratch/notes"
git init -q -b main
printf 'milk\nbread\n' >list.txt
git add . && git -c user.name=demo -c user.email=demo@example.org commit -qm "a list"
cat >agent.sh <<'AGENT'
#!/bin/sh
echo eggs >>list.txt
echo "pushing with ghp_0123456789abcdefghijABCDEFGHIJ012345"
exit 3
AGENT
chmod +x agent.sh

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}
show steno run -- ./agent.sh || true # the agent fails, as it should
show steno show @last
show steno files @last --diff
show steno play @last
show steno verify @last
show steno undo @last
show cat list.txt
steno show @last --json | grep -q '"observer": *"none"' || exit 0
echo "steno: nothing of the kernel was recorded; run: $environment/bin/steno doctor" >&2
exit 1
