# needs: sh
sh -c 'kill -TERM $$'
echo $?
(timeout -s KILL 0.1 sleep 9; exit $?) 2>/dev/null
echo $?
sh -c 'trap "exit 3" INT; kill -INT $$; sleep 1'
echo $?
