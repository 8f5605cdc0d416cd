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
read -r -u "${COPROC[0]}" word
echo "$word"
