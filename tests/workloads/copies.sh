# needs: cp rsync
mkdir d && seq 1000 > d/f && ln -s f d/l && ln d/f d/h
cp -a d e && diff -r d e
rsync -a d/ r && rsync -avn d/ r | head -2
rm -r d
