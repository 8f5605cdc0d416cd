# needs: bash
sleep 0.05 &
first=$!
(exit 7) &
wait $!
echo $?
wait $first
echo $?
coproc cat
echo hi >&"${COPROC[1]}"
cat=$COPROC_PID
read -r -u "${COPROC[0]}" word
echo "$word"
exec {COPROC[1]}>&-
wait "$cat"
