# needs: gcc
for n in 1 2 3; do echo "int part$n(void) { return $n; }" > part$n.c; done
echo 'int part1(void); int main(void) { return part1(); }' > main.c
gcc -Wall -o prog ./*.c
./prog
echo rc=$?
gcc -c nothing.c
echo rc=$?
rm -f prog
