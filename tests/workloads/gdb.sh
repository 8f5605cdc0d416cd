# needs: gdb gcc
echo 'int main(void) { return 0; }' > main.c
gcc -g -o prog main.c
gdb -nx -batch -ex 'break main' -ex run -ex cont ./prog 2>&1 | grep -o -E 'Breakpoint 1, main|exited normally'
rm prog
