// The first bytes of a content, in hexadecimal.
// In: bytes. Out: lines of an offset, sixteen bytes and what of them is printable.
const PER_LINE = 16;
export const HEX_SHOWN = 512;

export function hex(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, HEX_SHOWN); at += PER_LINE) {
    const some = [...bytes.subarray(at, Math.min(at + PER_LINE, HEX_SHOWN))];
    const digits = some.map((one) => one.toString(16).padStart(2, "0")).join(" ");
    const text = some.map((one) => (one >= 0x20 && one < 0x7f ? String.fromCharCode(one) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(PER_LINE * 3)} ${text}`);
  }
  return lines.join("\n");
}
