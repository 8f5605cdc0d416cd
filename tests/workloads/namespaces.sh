# needs: unshare mount
# A copy, because the original may be set-user-id.
cp "$(command -v mount)" mount.copy
unshare -Ur sh -c 'id -u'
unshare -Urm sh -c 'mkdir m && ./mount.copy -t tmpfs none m && echo x > m/x && cat m/x'
echo rc=$?
rm mount.copy
