# needs: strace
strace -f -o log sh -c 'cat /etc/passwd >/dev/null; true'
echo rc=$?
grep -q '/etc/passwd.*= [0-9]' log && echo seen
grep -c 'exited with 0' log
rm log
