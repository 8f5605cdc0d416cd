# needs: tar
mkdir d && echo x > d/f && ln -s f d/l && ln d/f d/h && chmod 640 d/f
tar cf t d && rm -r d && tar xvf t && tar df t
echo rc=$?
rm t
