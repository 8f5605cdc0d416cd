# needs: git
git init -q -b main a && cd a || exit
echo 1 > f && git add f && git commit -q -m 1
git checkout -q -b side && echo 2 > g && git add g && git commit -q -m 2
git checkout -q main && echo 3 > h && git add h && git commit -q -m 3
git checkout -q side && git rebase -q main && git log --oneline
cd ..
git clone -q a b && git -C b status -s && git -C b log --stat --format=%s
