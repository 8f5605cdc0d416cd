#!/bin/sh
# Usage: prepare.sh DIR
# A small repository in DIR, for session.sh to work in: a C program with a bug, a package, a list, some old notes.
set -eu
mkdir -p "$1/words"
cd "$1"
cat >greeting.c <<'C'
#include <stdio.h>

/* Greets everybody on the list, one line each. */
int main(int argc, char **argv)
{
    for (int i = 0; i <= argc; i++)
        printf("hello %s\n", argv[i]);
    return 0;
}
C
echo '{"name": "words", "version": "1.0.0", "main": "words.js"}' >words/package.json
echo 'module.exports = (names) => names.map((name) => `Dear ${name},`);' >words/words.js
echo '{"name": "letters", "version": "1.0.0", "private": true}' >package.json
printf 'Ada\nGrace\n' >list.txt
echo 'nobody needs these any more' >old-notes.txt
git init -q -b main .
git add .
git commit -q -m 'A greeting'
