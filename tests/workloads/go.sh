# needs: go
printf 'package main\nfunc main() { println(42) }\n' > h.go
GOCACHE=$PWD/cache go run h.go
echo rc=$?
rm -rf cache
