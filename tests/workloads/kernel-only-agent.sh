# needs: bash cat env
# The fixture of assay-runner: read one file, write one, execute one stable binary; with PORT connect to it.
mkdir -p agent
[ -e agent/input.txt ] || echo question >agent/input.txt
cat agent/input.txt
echo answer >agent/output.txt
/usr/bin/env true
if [ -n "${PORT-}" ]; then
    exec 3<>"/dev/tcp/127.0.0.1/$PORT" && exec 3>&-
fi
