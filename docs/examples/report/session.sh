#!/bin/sh
# Usage: session.sh MCP_EXAMPLE
# What somebody might let an agent do: mend a program, compile it, install a package, use tools behind a policy, talk to
# a service, clean up, commit. It shows a token that is not one, as careless programs do. MCP_EXAMPLE is ../mcp.
set -eu
step() { printf '\033[1;34m==>\033[0m \033[1m%s\033[0m\n' "$1"; }

step 'Mending greeting.c'
sed -i 's/int i = 0; i <= argc/int i = 1; i < argc/' greeting.c
git --no-pager diff --stat
gcc -Wall -Wextra -o greeting greeting.c
xargs ./greeting <list.txt

if command -v npm >/dev/null; then
    step 'Installing a package'
    npm install --silent --offline --no-audit --no-fund --no-update-notifier --install-links ./words
    node -e 'console.log(require("words")(["Ada", "Grace"]).join("\n"))'
fi

step 'Asking the tools'
python3 "$1/agent.py" steno mcp wrap --policy "$1/policy.yaml" --label list -- python3 "$1/server.py"

step 'Telling the service'
python3 - <<'P'
import socket

with socket.create_server(("127.0.0.1", 0)) as service, socket.create_connection(service.getsockname()) as client:
    client.sendall(b"all is mended\n")
    print("told", client.getpeername()[0])
P
echo "pushing with ghp_$(printf 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')"

step 'Cleaning up'
rm old-notes.txt
printf 'greeting\nnode_modules/\n' >.gitignore
git add --all
git commit -q -m 'Greet everybody, and nobody else'
git --no-pager log --oneline
