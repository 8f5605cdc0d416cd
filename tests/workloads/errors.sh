# needs: bash
cat /absent
ls /absent
nosuchprogram
echo $?
/etc/passwd
echo $?
exit 77
