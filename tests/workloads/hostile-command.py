"""Puts markup wherever a command can put text: names, links, contents, arguments, terminal, tool calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

steno, *vectors = sys.argv[1:]
for number, text in enumerate(vectors):
    Path(text.replace("/", "\u2215")).write_text(f"{text}\nconst a = `${{1}}`; // {text}\n")
    Path(f"link-{number}").symlink_to(text)
    subprocess.run(["/bin/true", text], check=True)
    print(text)
Path(os.fsdecode(b"not utf-8 \xff\xfe <b>.js")).write_bytes(b"\xff\xfe<script>alert(5)</script>\n")
Path("new\nline\x1b[31m").touch()
Path("x" * 250).touch()
# a title, a link of the terminal, a jump out of the screen, a line without an end
sys.stdout.write("\x1b]0;<script>alert(6)</script>\x07")
sys.stdout.write("\x1b]8;;javascript:alert(7)\x1b\\a link\x1b]8;;\x1b\\\r\n")
sys.stdout.write("\x1b[9999;9999H\x1b[1;31m<img src=x onerror=alert(8)>\x1b[0m\r\n")
sys.stdout.write("y" * 5000 + "\r\n")
sys.stdout.flush()
for said in ("0.json", "1.json"):
    subprocess.run([steno, "hook", "claude"], input=Path(said).read_bytes(), check=True)
