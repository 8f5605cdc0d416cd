# needs: make gcc
for n in 1 2 3 4 5 6; do echo "int part$n(void) { return $n; }" > part$n.c; done
echo 'int main(void) { return 0; }' > main.c
cat > Makefile <<'MAKEFILE'
prog: main.o part1.o part2.o part3.o part4.o part5.o part6.o
	gcc -o $@ $^
%.o: %.c
	gcc -c -o $@ $<
MAKEFILE
make -s -j4 && make -s -j4 && ./prog && echo made
rm -f prog
