#!/bin/sh
# Steno at work, in a repository of its own: an agent edits, leaks a token, fails; the record tells.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export STENO_HOME="$scratch/runs"
mkdir "$scratch/notes" && cd "$scratch/notes"
git init -q -b main
printf 'milk\nbread\n' >list.txt
git add . && git -c user.name=demo -c user.email=demo@example.org commit -qm "a list"

say() { printf '\n$ %s\n' "$*"; }

say steno run -- ./agent.sh
cat >agent.sh <<'AGENT'
#!/bin/sh
echo eggs >>list.txt
echo "pushing with ghp_0123456789abcdefghijABCDEFGHIJ012345"
exit 3
AGENT
chmod +x agent.sh
steno run -- ./agent.sh || true
say steno show @last
steno show @last
say steno play @last
steno play @last
say steno verify @last
steno verify @last
