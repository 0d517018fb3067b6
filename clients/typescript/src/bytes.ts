// React Native has no TextEncoder on old engines, and no base64 of bytes, so both are here.

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The bytes of a text in UTF-8. A lone surrogate becomes U+FFFD, as `fetch` sends it. */
export function utf8(text: string): Uint8Array {
  // A unit of UTF-16 takes at most 3 bytes.
  const bytes = new Uint8Array(3 * text.length);
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    let point = text.codePointAt(index) ?? 0;
    if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point < 0x80) {
      bytes[count++] = point;
      continue;
    }
    if (point < 0x800) {
      bytes[count++] = 0xc0 | (point >> 6);
    } else {
      if (point < 0x10000) {
        bytes[count++] = 0xe0 | (point >> 12);
      } else {
        index++;
        bytes[count++] = 0xf0 | (point >> 18);
        bytes[count++] = 0x80 | ((point >> 12) & 63);
      }
      bytes[count++] = 0x80 | ((point >> 6) & 63);
    }
    bytes[count++] = 0x80 | (point & 63);
  }
  return bytes.slice(0, count);
}

/** Base64 with padding, on one line. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const count = bytes.length - index;
    const group =
      ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    text += ALPHABET.charAt(group >> 18) + ALPHABET.charAt((group >> 12) & 63);
    text += count > 1 ? ALPHABET.charAt((group >> 6) & 63) : "=";
    text += count > 2 ? ALPHABET.charAt(group & 63) : "=";
  }
  return text;
}

/** Base64 in the alphabet that URLs do not escape. */
export function urlSafe(text: string): string {
  return text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}
