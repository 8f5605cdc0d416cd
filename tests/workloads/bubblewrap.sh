# needs: bwrap
bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp sh -c 'ls /tmp | wc -l; echo x > /tmp/x; cat /tmp/x'
echo rc=$?
