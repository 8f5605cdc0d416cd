# needs: python3
mkdir demo demo-1.dist-info
echo 'answer = 42' > demo/__init__.py
printf 'Metadata-Version: 2.1\nName: demo\nVersion: 1\n' > demo-1.dist-info/METADATA
printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' > demo-1.dist-info/WHEEL
printf 'demo/__init__.py,,\ndemo-1.dist-info/RECORD,,\n' > demo-1.dist-info/RECORD
"$PYTHON" - <<'PYTHON'
import pathlib, zipfile
with zipfile.ZipFile("demo-1-py3-none-any.whl", "w") as wheel:
    for path in sorted(pathlib.Path(".").glob("demo*/*")):
        wheel.write(path)
PYTHON
"$PYTHON" -m venv --without-pip env
"$PYTHON" -m pip --python env/bin/python install -q --no-index --no-cache-dir --disable-pip-version-check ./demo-1-py3-none-any.whl
echo rc=$?
(cd / && "$OLDPWD/env/bin/python" -c 'import demo; print(demo.answer)')
rm -rf env demo*
